"""Many inputs of one run, tolerances and metrics of a user's: judged from what run folders have."""

import shutil

import numpy as np
import pytest

from host_tools.base.errors import JudgementFailed, Misuse
from host_tools.judge import compare, judged, over_inputs, own_metrics, rejudge
from host_tools.record import run_folder, schema
from host_tools.record.run_folder import RunFolder
from tests.host_tools import run_folders
from tests.host_tools.record import schema_check

CPU = np.linspace(0, 1, 12, dtype=np.float32).reshape(1, 3, 4)


def with_inputs(tmp_path, *others, outputs=CPU, cpu=CPU) -> RunFolder:
    """A run whose first input gave `outputs`; of `others` each is what a further one gave."""
    folder = run_folders.make(tmp_path / "runs", [outputs], [cpu])
    for index, array in enumerate(others, 1):
        one = run_folders.make(tmp_path / "further", [array], [cpu], name=f"input{index}")
        spec = one.json("spec.json")
        spec["inputs"].update(kind="arrays", arrays=f"/inputs/cat_{index}.npz")
        run_folder.write_json(one.path / "spec.json", spec)
        (folder.path / "set").mkdir(exist_ok=True)
        one.path.rename(folder.path / "set" / f"{index:05d}")
    shutil.rmtree(tmp_path / "further", ignore_errors=True)
    return folder


def test_one_verdict_is_over_all_inputs(tmp_path):
    near, far = CPU + np.float32(1e-6), CPU.copy()
    far[0, 0, 0] = 0.5
    found = judged.judge(with_inputs(tmp_path, near, far))
    assert found.comparison.ok and found.ok is False and found.largest_error == pytest.approx(0.5)
    (row,) = found.over.outputs
    assert row.wrong == [2] and found.over.names == ["seed 1", "cat_1", "cat_2"]
    assert row.problem.startswith("is wrong with 1 of 3 inputs: with cat_2 it is off by 0.5 of its range")
    with pytest.raises(JudgementFailed, match="with cat_2"):
        found.check()
    assert schema_check.wrong(found.folder.path) == []


def test_statistics_are_those_of_all_numbers(tmp_path):
    generator = np.random.default_rng(3)
    others = [CPU + generator.normal(0, 1e-3, CPU.shape).astype(np.float32) for _ in range(50)]
    (row,) = judged.judge(with_inputs(tmp_path, *others)).over.outputs
    errors = np.abs(np.array([CPU, *others], np.float64) - CPU)
    assert row.max_error == pytest.approx(errors.max()) and row.mean_error == pytest.approx(errors.mean())
    assert row.rms_error == pytest.approx(np.sqrt((errors**2).mean()))
    assert row.psnr_db == pytest.approx(-10 * np.log10((errors**2).mean()), rel=1e-6)
    for share in over_inputs.SHARES[:3]:
        exact = np.quantile(errors, share, method="inverted_cdf")
        assert exact <= row.quantiles[f"{share:g}"] * (1 + 1e-9) and row.quantiles[f"{share:g}"] <= exact * 1.012
    cosines = [np.dot(a.ravel(), CPU.ravel()) / np.linalg.norm(a) / np.linalg.norm(CPU) for a in others]
    assert row.cosine == pytest.approx(min(cosines), rel=1e-6)


def test_equal_outputs_have_no_error_and_labels_no_distance(tmp_path):
    (row,) = judged.judge(with_inputs(tmp_path, CPU)).over.outputs
    assert (row.psnr_db, row.cosine, row.max_error, row.quantiles["0.999"]) == ("inf", pytest.approx(1), 0, 0)
    labels = np.int32([[3, 4]])
    (row,) = judged.judge(with_inputs(tmp_path / "b", np.int32([[3, 5]]), outputs=labels, cpu=labels)).over.outputs
    assert row.labels and row.psnr_db == "nan" and row.relative == [0, 0.5] and row.wrong == [1]


@pytest.mark.parametrize(
    ("tolerance", "ok"),
    [("0.011,0", True), ("0.009,0", False), ("0,0.021", True), ("0,0.019", False), ("output0=0.005,0.0101", True)],
)
def test_a_tolerance_is_absolute_plus_a_share_of_each_number(tmp_path, tolerance, ok):
    cpu = np.float32([[0.0, 0.5, 1.0]])
    found = rejudge.again(run_folders.make(tmp_path, [cpu + np.float32([[0, 0.01, 0]])], [cpu]), [tolerance])
    (row,) = found.comparison.outputs
    assert row.ok is ok is (row.relative <= row.allowed) and row.beyond == (not ok)
    if not ok:
        assert "in 1 of 3 numbers: at [0, 1] it is 0.51, the CPU's 0.5" in row.problem


def test_a_tolerance_keeps_what_is_no_number_wrong(tmp_path):
    cpu = np.float32([[0.0, np.inf, np.nan, 1.0]])
    folder = run_folders.make(tmp_path, [np.float32([[0.0, np.inf, np.nan, np.nan]])], [cpu])
    (row,) = rejudge.again(folder, ["9,9"]).comparison.outputs
    assert row.beyond == 1 and not row.ok
    assert rejudge.again(run_folders.make(tmp_path, [cpu], [cpu]), ["0,0"]).ok


def test_an_output_without_a_tolerance_is_judged_as_usual(tmp_path):
    folder = run_folders.make(tmp_path, [CPU + 1e-3, CPU + np.float32(1e-3)], [CPU, CPU])
    found = rejudge.again(folder, ["output0=0.01,0"])
    assert [row.ok for row in found.comparison.outputs] == [True, False]
    with pytest.raises(Misuse, match="no such output"):
        rejudge.again(folder, ["nothing=1,1"])
    assert compare.compare(folder).outputs[0].ok is False, "the request has no tolerance"


def test_metrics_are_of_each_input_and_limits_of_their_mean(tmp_path):
    cpu = np.float32([[0.1, 0.7, 0.2], [0.5, 0.3, 0.2]])
    other = np.float32([[0.8, 0.7, 0.2], [0.5, 0.3, 0.2]])
    (tmp_path / "own.py").write_text(
        "def far(ours, cpu, name):\n    return abs(ours['output0'] - cpu['output0']).max()\n"
    )
    folder = with_inputs(tmp_path, other, outputs=cpu, cpu=cpu)
    wanted = ["top1=0.8", "top5:output0=0.9", "iou=0.5..0.99", f"{tmp_path}/own.py:far=..0.5"]
    found = rejudge.again(folder, ["1,0"], wanted)
    values = {row.name.rpartition("/")[2]: (row.values, row.problem) for row in found.metrics.metrics}
    assert values["top1"] == ([1.0, 0.5], "is 0.75, and must be at least 0.8") and values["top5:output0"] == (
        [1, 1],
        "",
    )
    assert values["own.py:far"][0] == [0, pytest.approx(0.7)] and values["own.py:far"][1] == ""
    assert found.ok
    with pytest.raises(JudgementFailed, match="top1 is 0.75, and must be at least 0.8"):
        found.check()
    assert schema_check.wrong(folder.path) == [] and rejudge.again(folder, ["1,0"]).metrics == found.metrics


def test_masks_overlap(tmp_path):
    cpu = np.float32([0, 0, 1, 1]).reshape(1, 2, 2, 1)
    ours = np.float32([0, 1, 1, 1]).reshape(1, 2, 2, 1)
    found = rejudge.again(run_folders.make(tmp_path, [ours], [cpu]), ["1,0"], ["iou"])
    assert found.metrics.metrics[0].mean == pytest.approx((1 / 2 + 2 / 3) / 2)


@pytest.mark.parametrize(
    ("metric", "reason"),
    [
        ("top2", "is no metric"),
        ("top1=high", "is no limit"),
        ("top1=..", "is no limit"),
        ("top1:nothing", "no such output"),
        ("/no/such.py:f", "there is no file"),
        ("OWN:nothing", "has no function of that name"),
        ("OWN:fails", r"ZeroDivisionError: division by zero \(own.py:2\)"),
        ("OWN:text", "it returned 'a'"),
    ],
)
def test_a_metric_that_cannot_be_computed_is_misuse(tmp_path, metric, reason):
    own = tmp_path / "own.py"
    own.write_text("def fails(*a):\n    return 1 / 0\ndef text(*a):\n    return 'a'\n")
    with pytest.raises(Misuse, match=reason):
        rejudge.again(run_folders.make(tmp_path, [CPU]), [], [metric.replace("OWN", str(own))])


def test_a_folder_from_elsewhere_runs_no_code(tmp_path):
    folder = run_folders.make(tmp_path, [CPU])
    (tmp_path / "evil.py").write_text("raise SystemExit('run')")
    spec = folder.json("spec.json")
    run_folder.write_json(folder.path / "spec.json", {**spec, "metrics": [f"{tmp_path}/evil.py:f"]})
    assert judged.judge(folder).metrics is None and rejudge.again(folder).metrics is None
    assert folder.read(schema.Compared).ok


def test_what_a_metric_is_called_by_a_program(tmp_path):
    found = rejudge.again(
        run_folders.make(tmp_path, [CPU]), [], [own_metrics.Metric("mine", lambda a, b, name: len(name))]
    )
    assert found.metrics.metrics[0].values == [len("seed 1")]
