"""Planted errors are found, at their place; right outputs pass; what cannot be judged is said."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from host_tools.base.errors import JudgementFailed, Misuse
from host_tools.judge import compare, judged, peers
from host_tools.judge.limits import Limits
from host_tools.record import run_folder
from tests.host_tools import run_folders

RIGHT = np.linspace(-5, 5, 200, dtype=np.float32).reshape(1, 5, 10, 4)


def compared(tmp_path, ours, theirs=RIGHT, **how):
    return compare.compare(run_folders.make(tmp_path, [ours], [theirs], **how))


def test_equal_outputs_are_right(tmp_path):
    result = compared(tmp_path, RIGHT.copy())
    assert result.ok and result.outputs[0].max_error == 0 and result.outputs[0].different == 0


@pytest.mark.parametrize(
    ("theirs", "said"),
    [
        (np.full((1, 100), 0.01, np.float32), "are 0.01. Wrong ops"),  # softmax of a model that nobody trained
        (np.append(np.full(99, 0.01, np.float32), np.float32(0.02)), ""),
        (np.full(1, 0.01, np.float32), ""),  # one number is no pattern
        (RIGHT, ""),
    ],
)
def test_an_output_that_says_nothing_is_told(tmp_path, theirs, said):
    result = compared(tmp_path, theirs.copy(), theirs)
    assert result.ok and [said in one for one in result.findings] == [True] * bool(said)


@pytest.mark.parametrize("place", [(0, 0, 0, 0), (0, 2, 7, 1), (0, 4, 9, 3)])
def test_one_wrong_element_is_found_where_it_is(tmp_path, place):
    ours = RIGHT.copy()
    ours[place] += 0.01  # a thousandth of the range of 10
    result = compared(tmp_path, ours)
    output = result.outputs[0]
    assert not result.ok
    assert output.worst_at == place and output.different == 1
    assert output.relative == pytest.approx(1e-3, rel=1e-3)
    assert output.worst_expected == pytest.approx(RIGHT[place])


def test_the_limit_depends_on_the_precision(tmp_path):
    ours = RIGHT + np.float32(0.005)
    assert not compared(tmp_path / "f32", ours).ok
    assert compared(tmp_path / "f16", ours, precision="f16").ok


@pytest.mark.parametrize(
    ("off", "how", "limit", "right"),
    [
        (0.005, {}, 1e-3, True),  # more than the rule allows
        (0.005, {}, 1e-4, False),
        (0.005, {"precision": "f16"}, 1e-4, False),  # less than the rule allows
        (0.0, {}, 1e-9, True),
        (np.nan, {}, 1e9, False),
    ],
)
def test_a_limit_that_is_given_is_the_only_rule(tmp_path, off, how, limit, right):
    result = compared(tmp_path, RIGHT + np.float32(off), max_error=limit, **how)
    assert (result.ok, result.outputs[0].allowed, result.unsure) == (right, limit, False)


def test_what_is_wrong_by_a_limit_is_looked_for_with_that(tmp_path):
    for limit, words in ((0.0, "and options names"), (1e-3, "and options and --tolerance 0.001 names")):
        folder = run_folders.make(tmp_path / str(limit), [RIGHT + np.float32(0.1)], [RIGHT], max_error=limit)
        with pytest.raises(JudgementFailed, match=words):
            judged.judge(folder).check()


def test_a_limit_counts_the_steps_of_a_quantised_output_and_labels(tmp_path):
    numbers = np.arange(100, dtype=np.int8)
    other = numbers.copy()
    other[7] += 1
    for scale, share in ((0.1, 1 / 99), (0.0, 1 / 100)):
        for factor, right in ((1.01, True), (0.99, False)):
            folder = tmp_path / f"{scale}{factor}"
            assert compared(folder, other, numbers, scale=scale, max_error=factor * share).ok is right, (scale, factor)


@pytest.mark.parametrize(("bad", "word"), [(np.nan, "1 NaN"), (np.inf, "1 inf"), (-np.inf, "1 inf")])
def test_strange_numbers_are_wrong_and_counted(tmp_path, bad, word):
    ours = RIGHT.copy()
    ours[0, 1, 2, 3] = bad
    result = compared(tmp_path, ours)
    assert not result.ok and word in result.outputs[0].problem
    assert result.outputs[0].worst_at == (0, 1, 2, 3)


def test_the_same_nan_on_both_sides_is_right(tmp_path):
    theirs = RIGHT.copy()
    theirs[0, 0, 0, 0] = np.nan
    assert compared(tmp_path, theirs.copy(), theirs).ok


def test_a_nan_at_another_place_is_wrong(tmp_path):
    ours, theirs = RIGHT.copy(), RIGHT.copy()
    ours[0, 0, 0, 1], theirs[0, 0, 0, 0] = np.nan, np.nan
    assert not compared(tmp_path, ours, theirs).ok


def test_one_value_is_measured_by_its_magnitude(tmp_path):
    theirs = np.array([[200.0]], np.float32)
    assert compared(tmp_path / "a", theirs + np.float32(0.01), theirs).ok
    assert not compared(tmp_path / "b", theirs + np.float32(0.03), theirs).ok


def test_a_quantised_output_may_be_off_by_one_step(tmp_path):
    theirs = np.arange(0, 250, dtype=np.uint8).reshape(1, 250)
    assert compared(tmp_path / "a", theirs + np.uint8(1), theirs, scale=0.5).ok
    assert not compared(tmp_path / "b", theirs + np.uint8(2), theirs, scale=0.5).ok


def with_xnnpack(tmp_path, ours, xnnpack):
    folder = run_folders.make(tmp_path, [ours], [RIGHT])
    run_folder.write_arrays(folder.path / "xnnpack_outputs", [xnnpack])
    return compare.compare(folder)


def test_where_xnnpack_is_far_off_too_three_times_that_is_allowed(tmp_path):
    noisy = RIGHT + np.float32(0.009)  # XNNPACK off by almost a thousandth of the range
    result = with_xnnpack(tmp_path / "a", RIGHT + np.float32(0.026), noisy)
    assert result.ok and result.outputs[0].allowed == pytest.approx(2.7e-3, rel=1e-3) and not result.findings
    assert not with_xnnpack(tmp_path / "b", RIGHT + np.float32(0.028), noisy).ok


@pytest.mark.parametrize("far", [0.011, 3.0, np.nan])
def test_xnnpack_opens_nothing_where_rounding_does_not_explain_its_error_and_that_is_a_finding(tmp_path, far):
    result = with_xnnpack(tmp_path, RIGHT + np.float32(0.005), RIGHT + np.float32(far))
    assert not result.ok and result.outputs[0].allowed == 1e-4
    [finding] = result.findings
    assert "XNNPACK and the reference kernels (builtin) differ by" in finding and "stays 1e-04" in finding
    value = json.loads((run_folder.find("latest", tmp_path).path / "compare.json").read_text())
    assert value["findings"] == [finding]


def test_a_finding_names_the_worst_output_and_the_others(tmp_path):
    folder = run_folders.make(tmp_path, [RIGHT] * 4)
    others = [RIGHT + np.float32(far) for far in (1, 2, 0, 0.5)]
    run_folder.write_arrays(folder.path / "xnnpack_outputs", others)
    [finding] = compare.compare(folder).findings
    assert "differ by 0.2 of the range of output 1 (output1), by less of 0, 3, more than" in finding
    assert "Quadra is 0.0e+00 from the reference kernels, 2.0e-01 from XNNPACK; the tolerance" in finding


def test_an_output_that_the_last_bit_moves_far_explains_xnnpack_and_is_a_finding(tmp_path):
    def result(moves):
        reference = {"kernels": "builtin", "rewrites": [], "last_bit_moves": moves}
        folder = run_folders.make(tmp_path / str(moves), [RIGHT], reference=reference)
        run_folder.write_arrays(folder.path / "xnnpack_outputs", [RIGHT + np.float32(0.05)])  # 5e-3
        return compare.compare(folder)

    [finding] = result([2e-3]).findings
    assert finding.startswith("a change of the last bit of the inputs moves the reference's own result by 0.002 of the")
    [finding] = result([9e-4]).findings
    assert finding.startswith("XNNPACK and the reference kernels")
    assert result([2e-3]).outputs[0].allowed == pytest.approx(6e-3)


def test_where_the_last_bit_of_the_inputs_moves_it_three_times_that_is_allowed(tmp_path):
    def result(name, error, moves):
        reference = {"kernels": "builtin", "rewrites": [], "last_bit_moves": moves}
        ours = RIGHT + np.float32(error)
        return compare.compare(run_folders.make(tmp_path / name, [ours], [RIGHT], reference=reference))

    assert result("a", 0.029, [1e-3]).ok
    assert not result("b", 0.031, [1e-3]).ok
    assert not result("c", 0.029, []).ok
    assert not result("d", 0.2, [1.0]).ok, "never over a hundredth"


def test_what_is_right_for_that_reason_alone_is_told(tmp_path):
    assert with_xnnpack(tmp_path / "a", RIGHT + np.float32(0.002), RIGHT + np.float32(0.002)).unsure
    assert not with_xnnpack(tmp_path / "b", RIGHT.copy(), RIGHT + np.float32(0.002)).unsure
    assert not with_xnnpack(tmp_path / "c", RIGHT + np.float32(0.2), RIGHT.copy()).unsure, "that is wrong"


def test_a_broken_xnnpack_does_not_allow_everything(tmp_path):
    far = RIGHT + np.float32(5)
    result = with_xnnpack(tmp_path / "a", RIGHT + np.float32(0.2), far)
    assert not result.ok and result.outputs[0].allowed == 1e-4
    strange = np.full_like(RIGHT, np.nan)
    assert not with_xnnpack(tmp_path / "b", RIGHT + np.float32(0.002), strange).ok


def test_labels_must_be_equal(tmp_path):
    theirs = np.zeros((1, 4, 4), np.int64)
    ours = theirs.copy()
    ours[0, 3, 3] = 1
    assert compared(tmp_path / "a", theirs.copy(), theirs).ok
    assert not compared(tmp_path / "b", ours, theirs).ok


def test_labels_of_a_quantised_model_may_differ_half_as_often_again_as_xnnpacks(tmp_path):
    theirs = np.zeros((1, 10, 10), np.int64)

    def differing(count):
        labels = theirs.copy()
        labels.reshape(-1)[:count] = 7
        return labels

    def result(name, count, quantised):
        reference = {"kernels": "reference", "rewrites": [], "last_bit_moves": [], "quantised": quantised}
        folder = run_folders.make(tmp_path / name, [differing(count)], [theirs], reference=reference)
        run_folder.write_arrays(folder.path / "xnnpack_outputs", [differing(4)])
        return compare.compare(folder)

    assert result("a", 6, quantised=True).ok
    far = result("b", 7, quantised=True)
    assert not far.ok and far.outputs[0].problem == "differs in 0.07 of its integers, the tolerance is 0.06"
    assert not result("c", 1, quantised=False).ok


STEPS = np.arange(0, 200, dtype=np.uint8).reshape(1, 200)


def off(pairs):
    """STEPS, with so many numbers off by so much."""
    found, at = STEPS.copy(), 0
    for count, by in pairs:
        found[0, at : at + count] += np.uint8(by)
        at += count
    return found


def of_a_quantised_model(tmp_path, ours, xnnpack, floats=None, cpu=STEPS, scale=0.5):
    reference = {"kernels": "builtin", "rewrites": [], "last_bit_moves": [], "quantised": True}
    folder = run_folders.make(tmp_path, [ours], [cpu], reference=reference, scale=scale)
    run_folder.write_arrays(folder.path / "xnnpack_outputs", [xnnpack])
    if floats is not None:
        run_folder.write_arrays(folder.path / "float_outputs", [floats])
    return compare.compare(folder)


def test_a_quantised_output_is_right_where_xnnpack_is_no_nearer_on_the_mean(tmp_path):
    """XNNPACK: 8 numbers off by 2, a mean of 0.08 steps. The largest error alone would be another chance's."""
    xnnpack = off([(8, 2)])
    result = of_a_quantised_model(tmp_path / "a", off([(3, 5)]), xnnpack)
    assert result.ok and result.outputs[0].relative > result.outputs[0].allowed
    assert result.outputs[0].right_by == "is 0.075 from the CPU's numbers on the mean, XNNPACK 0.08"
    assert not of_a_quantised_model(tmp_path / "b", off([(5, 5)]), xnnpack).ok, "one and a half times at most"
    assert not of_a_quantised_model(tmp_path / "c", off([(1, 7)]), xnnpack).ok, "none thrice as far"
    far = of_a_quantised_model(tmp_path / "d", off([(180, 5), (20, 20)]), off([(160, 10)]))
    assert not far.ok, "nobody is a step off on the mean"


def of_rounding(tmp_path, ours, cpu, xnnpack, quantised=False, rounding=(), scale=0.0):
    reference = {"kernels": "builtin", "rewrites": [], "quantised": quantised, "rounding": list(rounding)}
    folder = run_folders.make(tmp_path, [ours], [cpu], reference=reference, scale=scale)
    run_folder.write_arrays(folder.path / "xnnpack_outputs", [xnnpack])
    tensors = folder.json("tensors.json")
    run_folder.write_json(folder.path / "tensors.json", {**tensors, "xnnpack_outputs": tensors["outputs"]})
    return folder, compare.compare(folder)


def test_kernels_that_round_activations_are_explained_up_to_a_twentieth_and_open_nothing_for_floats(tmp_path):
    """The reference has the weights as floats: XNNPACK alone rounds."""
    ours = RIGHT + np.float32(0.002)
    folder, result = of_rounding(tmp_path / "a", ours, RIGHT, RIGHT + np.float32(0.4), rounding=[0.01])
    assert not result.ok and result.outputs[0].allowed == 1e-4 and not result.findings
    [xnnpack] = [peer for peer in peers.judge(folder, result) if peer.name == "xnnpack"]
    assert xnnpack.ok and xnnpack.relative[0] == pytest.approx(0.04, rel=1e-3)
    far = RIGHT + np.float32(0.6)
    folder, result = of_rounding(tmp_path / "b", RIGHT, RIGHT, far, rounding=[0.01])
    assert len(result.findings) == 1 and not peers.judge(folder, result)[0].ok
    _, result = of_rounding(tmp_path / "c", RIGHT, RIGHT, far, rounding=[0.021])
    assert not result.findings, "the reference's own kernels are a third as far off where they round"


def test_xnnpack_opens_nothing_of_a_quantised_model_where_rounding_does_not_explain_it(tmp_path):
    """One number of 200 that is far off is two roundings that met; a step on the mean square is explained."""
    _, result = of_rounding(tmp_path / "a", off([(1, 18)]), STEPS, off([(1, 14)]), quantised=True, scale=0.5)
    assert result.ok and result.outputs[0].allowed == pytest.approx(21 / 199) and not result.findings
    garbage = STEPS[:, ::-1].copy()
    _, result = of_rounding(tmp_path / "b", garbage, STEPS, garbage, quantised=True, scale=0.5)
    assert not result.ok and result.outputs[0].allowed == pytest.approx(1 / 199) and result.findings
    one_hot, other = np.zeros((1, 200), np.uint8), np.zeros((1, 200), np.uint8)
    one_hot[0, 3] = other[0, 4] = 255
    _, result = of_rounding(tmp_path / "c", other, one_hot, other, quantised=True, scale=1 / 256)
    assert not result.ok and result.findings, "another class is no rounding"


def test_half_of_the_cpus_own_rounding_is_right_where_xnnpack_is_the_cpu(tmp_path):
    ours = off([(1, 2)])  # of a range of 199
    for rounding, is_right in ((0.024, True), (0.012, False), (0.0, False)):
        path = tmp_path / f"{rounding}"
        _, result = of_rounding(path, ours, STEPS, STEPS, quantised=True, rounding=[rounding], scale=1.0)
        assert result.ok == is_right, result.outputs


def test_floats_and_labels_of_a_quantised_model_are_explained_by_what_rounding_does_to_them(tmp_path):
    swapped = RIGHT.copy()
    swapped[0, :2] += np.float32(2)
    for rounding, explained in ((0.05, True), (0.03, False)):  # XNNPACK's is sqrt(0.4) * 0.2 = 0.126
        _, result = of_rounding(tmp_path / str(rounding), RIGHT, RIGHT, swapped, quantised=True, rounding=[rounding])
        assert (not result.findings) == explained
        assert result.outputs[0].allowed == (pytest.approx(0.3, rel=1e-3) if explained else 1e-4)
    cpu, labels = np.zeros((1, 100), np.int64), np.zeros((1, 100), np.int64)
    labels[0, :20] = 7
    for rounding, explained in ((0.07, True), (0.06, False)):
        path = tmp_path / f"labels{rounding}"
        _, result = of_rounding(path, labels, cpu, labels, quantised=True, rounding=[rounding])
        assert (not result.findings) == explained and result.ok == explained
        assert result.outputs[0].allowed == pytest.approx(0.3 * explained)


def test_a_quantised_output_may_be_right_by_the_floats_that_the_integers_stand_for(tmp_path):
    floats, xnnpack = off([(20, 4)]), off([(10, 2)])
    assert not of_a_quantised_model(tmp_path / "a", floats, xnnpack).ok
    result = of_a_quantised_model(tmp_path / "b", floats, xnnpack, floats)
    assert result.ok and result.outputs[0].right_by == "is 0 from what floats give on the mean, XNNPACK 0.3"
    assert not of_a_quantised_model(tmp_path / "c", off([(0, 0), (40, 9)]), xnnpack, floats).ok
    assert not of_a_quantised_model(tmp_path / "d", floats.astype(np.int8), xnnpack, floats).ok


def test_labels_may_be_right_by_the_floats_too(tmp_path):
    cpu, floats = np.zeros((1, 100), np.int64), np.zeros((1, 100), np.int64)
    floats[0, :9] = 3
    xnnpack = cpu.copy()
    xnnpack[0, :4] = 3
    result = of_a_quantised_model(tmp_path / "a", floats, xnnpack, floats, cpu, scale=0)
    assert (
        result.ok and result.outputs[0].right_by == "differs from what floats give in 0 of its integers, XNNPACK 0.05"
    )
    assert not of_a_quantised_model(tmp_path / "b", floats, xnnpack, None, cpu, scale=0).ok
    assert not of_a_quantised_model(tmp_path / "c", floats + 1, xnnpack, floats, cpu, scale=0).ok


def test_another_number_of_float_outputs_is_said(tmp_path):
    of_a_quantised_model(tmp_path, off([(1, 9)]), STEPS, STEPS)
    folder = run_folder.find("latest", tmp_path)
    run_folder.write_arrays(folder.path / "float_outputs", [STEPS, STEPS])
    with pytest.raises(Misuse, match="arrays are missing"):
        compare.compare(folder)


@pytest.mark.parametrize("ours", [RIGHT[:, :4], RIGHT.astype(np.float64)])
def test_another_shape_or_type_is_wrong(tmp_path, ours):
    result = compared(tmp_path, ours)
    assert not result.ok and "the CPU's is float32 [1, 5, 10, 4]" in result.outputs[0].problem


def test_an_empty_output_is_right(tmp_path):
    empty = np.zeros((1, 0), np.float32)
    assert compared(tmp_path, empty.copy(), empty).ok


def test_the_judgement_is_written_as_plain_json(tmp_path):
    ours = RIGHT.copy()
    ours[0, 0, 0, 0] = np.nan
    folder = run_folders.make(tmp_path, [ours], [RIGHT])
    compare.compare(folder)
    value = json.loads((folder.path / "compare.json").read_text(), parse_constant=pytest.fail)
    assert value["ok"] is False and value["outputs"][0]["nan"] == 1


def test_a_wrong_run_ends_with_status_1(tmp_path):
    folder = run_folders.make(tmp_path, [RIGHT + 1], [RIGHT])
    with pytest.raises(JudgementFailed, match="output0") as caught:
        judged.judge(folder).check()
    assert caught.value.exit_code == 1
    assert "inv bisect" in caught.value.do_next and "f32" not in caught.value.do_next
    spec = folder.json("spec.json")
    run_folder.write_json(folder.path / "spec.json", {**spec, "options": {**spec["options"], "precision": "f16"}})
    with pytest.raises(JudgementFailed, match="(?s)next: run it with --precision f32.*--float32-nodes.*inv bisect"):
        judged.judge(folder).check()


@pytest.mark.parametrize("field", ["last_bit_moves", "rounding"])
def test_a_reference_of_other_outputs_is_no_judgement(tmp_path, field):
    folder = run_folders.make(tmp_path, [RIGHT], reference={"kernels": "builtin", field: [0.1, 0.2]})
    run_folder.write_arrays(folder.path / "xnnpack_outputs", [RIGHT])
    with pytest.raises(Misuse, match="1 outputs, 2 of them in reference.json"):
        compare.compare(folder)


def test_a_missing_output_is_no_judgement(tmp_path):
    folder = run_folders.make(tmp_path, [RIGHT, RIGHT])
    (folder.path / "cpu_outputs" / "001.npy").unlink()
    with pytest.raises(Misuse, match="2 outputs, 1 of the CPU"):
        compare.compare(folder)


def test_a_run_without_reference_says_why(tmp_path):
    folder = run_folders.make(tmp_path, reference={"kernels": "builtin", "rewrites": [], "error": "nobody knows MyOp"})
    for file in (folder.path / "cpu_outputs").iterdir():
        file.unlink()
    (folder.path / "cpu_outputs").rmdir()
    with pytest.raises(Misuse, match="nobody knows MyOp"):
        compare.compare(folder)
    judged.judge(folder).check()  # nothing to judge: no failure


def test_a_limit_below_a_step_of_a_quantised_output_says_so():
    def told(**fields):
        outputs = [compare.OutputError(0, "scores", shape=(1, 4), range=0.18, relative=0.021, allowed=0.021, **fields)]
        judged = SimpleNamespace(comparison=SimpleNamespace(outputs=outputs), over=None)
        [said] = Limits(error=1e-3)._of_errors(judged)
        return said

    far = "output 0 (scores) is off by 0.021 of its range, more than 0.001"
    assert told(dtype="uint8") == f"{far}; its tolerance, at least a step of its quantization, is 0.021"
    assert told(dtype="uint8", problem="is off") == told(dtype="int32", labels=True) == told(dtype="float32") == far
