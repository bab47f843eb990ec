"""Two runs side by side: each difference is told, nothing else is, and times come with how far to trust them."""

import io

import numpy as np
import pytest
from rich.console import Console

from host_tools.base.errors import Misuse
from host_tools.judge import judged, run_diff
from host_tools.record import plan_view, printed, schema
from host_tools.show import run_diff_table
from tests.host_tools import run_folders
from tests.host_tools.record import plans

RIGHT = np.linspace(0, 1, 12, dtype=np.float32)


def side(tmp_path, *, plan=plans.PLAN, samples=None, error=0.0, **given):
    """A judged run. samples: of Quadra, in us; error: of the output, of its range."""
    timings = {**run_folders.TIMINGS, "driver_compiled": given.pop("compiled", 0)}
    if samples:
        timings["samples_us"] = {"quadra": samples, "xnnpack": [2000, 2100, 1900, 2050, 1950]}
    given = {"timings": timings, **given}
    folder = run_folders.make(tmp_path, [RIGHT + np.float32(error)], [RIGHT], **given)
    (folder.path / "partition_0").mkdir()
    plans.write(plan, folder.path / "partition_0" / plan_view.FILE)
    return judged.judge(folder)


def shown(found: printed.DiffDocument, plans: bool = False) -> str:
    console = Console(width=200, file=io.StringIO())
    run_diff_table.show(found, console, plans=plans)
    assert schema.unknown(printed.DiffDocument, schema.plain(found)) == []
    return " ".join(console.file.getvalue().split())


def test_two_runs_that_are_alike_differ_in_nothing(tmp_path):
    found = run_diff.diff(side(tmp_path), side(tmp_path))
    assert not found.differ and not found.conditions and found.outputs[0].same_bits and found.same_delegate
    said = shown(found)
    assert "verdicts: the same for every node" in said and "plans: equal" in said and "different" not in said


def test_what_outputs_may_be_off_by_is_a_condition(tmp_path):
    found = run_diff.diff(side(tmp_path), side(tmp_path, max_error=1e-9))
    assert found.conditions == "tolerance: the usual in A, 1e-09 of the range in B" and found.outputs[0].same_bits


def test_each_difference_is_told(tmp_path):
    report = run_folders.REPORT
    node = {**report["nodes"][0], "on": "cpu", "partition": -1, "reason": "it is too large"}
    other = {**report, "nodes": [node, *report["nodes"][1:]]}
    changed = plans.changed(target="another")
    found = run_diff.diff(
        side(tmp_path), side(tmp_path, plan=changed, report=other, error=0.1, precision="f16", compiled=3)
    )
    assert found.differ and [(n.node, n.a, n.b) for n in found.nodes] == [("0:0", "GPU", "CPU: it is too large")]
    assert [(c.what, c.b) for c in found.plans[0].words] == [("target", "another")]
    (output,) = found.outputs
    assert (output.a_right, output.b_right, output.same_bits) == (True, False, False) and output.b == pytest.approx(0.1)
    assert (
        "kernels that the driver compiled: 0 in A, 3 in B" in found.conditions
        and "precision=f16 in B" in found.conditions
    )
    said = shown(found)
    for words in (
        "CPU: it is too large",
        "plans of partition 0: different (properties 1)",
        "right WRONG different",
        "different conditions",
    ):
        assert words in said, words
    assert said.index("WRONG") < said.index("plans of partition"), "what one asked comes first"
    assert "target another" not in said and "another" in shown(found, plans=True)


def test_times_have_an_effect_size_and_confidence_or_too_few_samples(tmp_path):
    before = [1000, 1010, 990, 1005, 995, 1001]
    found = run_diff.diff(side(tmp_path, samples=before), side(tmp_path, samples=[round(1.2 * us) for us in before]))
    assert not found.differ, "times alone are no difference"
    times = {row.what: row for row in found.times}
    row = times["inference"]
    assert (
        18 < row.low_percent < row.percent < row.high_percent < 22
        and row.p < 0.01
        and row.percent == pytest.approx(20, abs=1)
    )
    start, control = times["start"], times["XNNPACK's inference"]
    assert (start.percent, start.p, start.a_samples) == (None, None, 1) and control.percent == 0 and control.p == 1
    said = shown(found)
    assert "too few samples" in said and "+20.0 %" in said and "one launch" in said
    few = run_diff.diff(side(tmp_path, samples=[1, 2, 3]), side(tmp_path, samples=[10, 20, 30]))
    assert next(row for row in few.times if row.what == "inference").p is None


def test_many_samples_are_thinned_and_not_waited_for(tmp_path):
    long = [1000 + n % 7 for n in range(5000)]
    found = run_diff.diff(side(tmp_path, samples=long), side(tmp_path, samples=long))
    row = next(row for row in found.times if row.what == "inference")
    assert row.a_samples == 5000 and row.p > 0.9


def test_thinned_samples_have_both_orders_of_turns(tmp_path):
    """Who runs first changes each time, and may cost time: the same order alone would be another time."""
    in_turns = [1000, 1200] * 50
    found = run_diff.diff(side(tmp_path, samples=in_turns[:20]), side(tmp_path, samples=in_turns))
    (row,) = (one for one in found.times if one.what == "inference")
    assert row.percent == pytest.approx(0, abs=0.01) and row.a_samples == 20 and row.b_samples == 100


def test_runs_of_different_models_are_refused(tmp_path):
    with pytest.raises(Misuse, match="A ran a_model, B another"):
        run_diff.diff(side(tmp_path), side(tmp_path, name="another", sha256="1" * 64))


def test_plans_that_one_side_did_not_keep_are_told(tmp_path):
    one, other = side(tmp_path), side(tmp_path)
    (other.folder.path / "partition_0" / plan_view.FILE).unlink()
    found = run_diff.diff(one, other)
    assert not found.differ and "A kept 1, B 0" in shown(found)
