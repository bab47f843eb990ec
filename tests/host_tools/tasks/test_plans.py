"""`inv plan`: its words, and what it says to others."""

import json
import re

import pytest

from host_tools.base.errors import Misuse
from host_tools.record import named_plans, profile
from host_tools.tasks import command_line, plans as plan_task
from tests.host_tools import run_folders
from tests.host_tools.record import plans


def inv(*words):
    try:
        return command_line.main(list(words))
    except SystemExit as ended:
        return ended.code or 0


@pytest.fixture
def file(tmp_path):
    return plans.write(plans.PLAN, tmp_path / "one.quadra")


def test_show_lists_a_file_and_draws_its_memory(file, tmp_path, capsys):
    assert inv("plan", "show", str(file), "--map", str(tmp_path / "m.svg")) == 0
    said = capsys.readouterr().out
    assert "4 dispatches, 3 kernels in 3 programs, OpenCL, f32, target small\n" in said and "001_add" in said
    assert (tmp_path / "m.svg").read_text().startswith("<svg")


def test_show_has_the_forty_largest_unless_asked_for_more(tmp_path, capsys):
    many = [plans.dispatch(number, "add", 1, 2, nodes=[0]) for number in range(50)]
    file = str(plans.write(plans.changed(dispatches=many), tmp_path / "many.quadra"))
    for words, first, count in (([], "… 10 more dispatches: --top 0 shows all, --in-order in the plan's order\n", 40),
                                (["--in-order", "--top", "3"], "… 47 more dispatches: --top 0 shows all\n", 3),
                                (["--top", "0"], "", 50)):  # fmt: skip
        assert inv("plan", "show", file, *words) == 0
        said = capsys.readouterr().out
        assert first in said and ("more" in said) == bool(first)
        assert len(re.findall("^0[0-9][0-9]_add", said, re.M)) == count
    assert inv("plan", "show", file, "--json") == 0
    assert len(json.loads(capsys.readouterr().out)[0]["plan"]["dispatches"]) == 50


def test_a_profiled_run_has_the_times_of_its_dispatches(tmp_path):
    run = run_folders.make(tmp_path, profile=run_folders.PROFILE)
    times = plan_task._times_us(named_plans.NamedPlan(run.path / "partition_0" / "plan.quadra", {}, run))
    assert times and times == [one.time_us for one in profile.read(run).dispatches if not one.partition]
    assert plan_task._times_us(named_plans.NamedPlan(tmp_path / "plan.quadra", {})) == []


def test_diff_says_equal_or_not_by_its_status(file, tmp_path, capsys):
    other = plans.write(plans.changed(target="another"), tmp_path / "two.quadra")
    assert inv("plan", "diff", str(file), str(file)) == 0
    assert "equal: 3 kernels" in capsys.readouterr().out
    assert inv("plan", "diff", str(file), str(other)) == 1
    assert "another" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["latest"], "`./inv plan show latest`"),
        (["diff", "one"], "it takes RUN|FILE RUN|FILE, there is only 'one'"),
        (["show", "/no/such/plan"], "find the plan '/no/such/plan'"),
        (["make"], "no MODEL is named"),
        (["make", "m", "--backend", "vulkan"], "'vulkan' is not one of opencl, gles"),
    ],
)
def test_misuse_is_told(words, said, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("QUADRA_RUNS_DIR", str(tmp_path))
    assert inv("plan", *words) == 2
    assert said in capsys.readouterr().err


def test_a_damaged_file_is_no_plan(tmp_path):
    (tmp_path / "p").write_bytes(b"x" * 100)
    with pytest.raises(Misuse, match="does not start as a QDRA value does"):
        named_plans.find(str(tmp_path / "p"))


def test_a_plan_for_another_gpu_is_made_here(model_path, library, tmp_path):
    made = {}
    for target, more in (("adreno-640", {"precision": "f32_f16"}), ("mali-g76", {"backend": "gles"})):
        out = tmp_path / f"{target}.quadra"
        options = plan_task.Options(target=target, out=str(out), **more)
        assert plan_task.make(str(model_path("selfie_segmentation")), options, library) == [out]
        made[target] = named_plans.find(str(out))[0].checked()
    adreno, mali = made["adreno-640"], made["mali-g76"]
    assert (adreno.api, adreno.target, adreno.precision) == ("opencl", "adreno-640", "f32_f16")
    assert any(b.kind == "Image" and b.cell == "Half" for b in adreno.buffers)
    assert (mali.api, mali.target) == ("gles", "mali-g76-gles")
    assert len(adreno.outputs) == 1 and len(adreno.makers()) > 50
