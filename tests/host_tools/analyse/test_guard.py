"""`inv analyse --check`: a figure that is worse than the table's is told; and today's kernels are not worse."""

from dataclasses import replace
from pathlib import Path

import pytest

from host_tools.analyse import figures, guard, machine_code, phone_compilers, phone_gpus
from host_tools.base.errors import JudgementFailed, Misuse, QuadraError, ToolMissing
from host_tools.request import models
from host_tools.tasks import analyse
from tests.host_tools.analyse.test_analyse_for_real import REAL

ROW = guard.Row("net", "mali-g610", "conv2d", 1000, 2, 2)
NAMES = guard.GPUS["gles"].split(",")


@pytest.mark.parametrize(
    ("now", "words"),
    [
        ([ROW], []),
        ([replace(ROW, slots=999, spills=0)], []),
        ([replace(ROW, slots=2_000_000)], ["net, mali-g610, conv2d: 2.00 M slots, 0.00 M before"]),
        ([replace(ROW, spills=3)], ["net, mali-g610, conv2d: 3 spills and fills, 2 before"]),
        ([replace(ROW, threads=1)], ["net, mali-g610, conv2d: a kernel has 1 waves or threads, 2 before"]),
        ([], ["net, mali-g610, conv2d: it is in one of the two only"]),
    ],
)
def test_what_is_worse_is_told(now, words):
    assert guard.worse([ROW], now) == words


def test_a_row_sums_up_the_kernels_of_an_op():
    gpu = phone_gpus.GPUS[0]
    code = machine_code.read(gpu.kind, (Path(__file__).parent / "recorded" / "adreno.txt").read_text())
    kernels = [figures.KernelFigures("conv2d_1", "", code), figures.KernelFigures("depthwise_conv2d_2", "no", None)]
    dense, depthwise = guard.rows_of("net", [figures.Figures(gpu, "26", "f32", "t", kernels)])
    assert (dense.op, dense.threads, dense.spills) == ("conv2d", 16, 0)
    assert (depthwise.op, depthwise.threads) == ("depthwise_conv2d", 0)


def test_a_row_of_opencl_has_its_texts_digest_and_a_name_of_its_own():
    gpu = phone_gpus.GPUS[0]
    kernels = [figures.KernelFigures("conv2d_1", "no", None, [], text) for text in ("b", "a", "b")]
    found = figures.Figures(gpu, "26", "f16", "t", kernels, api="opencl")
    (row,) = guard.rows_of("net", [found])
    assert row.name == f"net, {gpu.name}, OpenCL f16, conv2d" and row.texts
    assert guard.Table("26", (row,)).to_json() == guard.Table("26", (guard.Row(**row.to_json()),)).to_json()
    assert "texts" not in ROW.to_json() and row.to_json()["api"] == "opencl"
    same = [("conv2d_7", "a"), ("conv2d_split_8", "b"), ("add_1", "c")]
    assert guard.changed([row], "net", gpu.name, "f16", same) == []
    for other in (same[1:], [("conv2d_7", "x"), *same]):
        assert guard.changed([row], "net", gpu.name, "f16", other) == [f"{row.name}: its texts have changed"]
    assert guard.changed([row, ROW], "net", gpu.name, "f32", []) == []


def test_the_table_has_every_model_and_gpu_and_api():
    table = guard.read()
    models = (*guard.MODELS, guard.LAYER)
    gles = [row for row in table.rows if row.api == "gles"]
    assert {(row.model, row.gpu) for row in gles} == {(model, gpu) for model in models for gpu in NAMES}
    winograd = [(row.gpu, row.op) for row in table.rows if row.model == guard.LAYER]
    ops = ("winograd_source", "winograd_products", "winograd_result")
    assert winograd == [(gpu, op) for gpu in NAMES for op in ops]
    opencl = {(row.model, row.gpu, row.precision) for row in table.rows if row.api == "opencl" and row.texts}
    gpus = guard.GPUS["opencl"].split(",")
    assert opencl == {(model, gpu, one) for model in guard.MODELS for gpu in gpus for one in ("f32", "f16")}
    assert len(gles) + 2 * 2 * len(guard.MODELS) == len(table.rows)
    assert table.mesa
    assert guard.Table(table.mesa, table.rows).to_json() == guard.TABLE.read_text(encoding="utf-8")


def test_no_convolution_of_the_table_spills():
    assert [row.name for row in guard.read().rows if row.spills] == []


class _Console:
    def print(self, *words, **options):
        pass


def _installed(monkeypatch, version):
    tool = phone_compilers.Installed(Path(), phone_compilers.ARCHITECTURES["adreno"], version)
    monkeypatch.setattr(phone_compilers, "require", lambda vendor, api: tool)


def test_another_version_of_mesa_is_not_compared(monkeypatch):
    _installed(monkeypatch, "1.0")
    with pytest.raises(ToolMissing, match=r"are of Mesa 1\.0, the table of"):
        analyse.check("", None, False, _Console())


def test_a_table_of_some_gpus_is_not_kept():
    for gpu, backend in ((NAMES[0], ""), ("", "opencl")):
        with pytest.raises(Misuse, match="of all its GPUs and APIs"):
            analyse.check(gpu, None, True, _Console(), backend)


def test_a_figure_that_is_worse_fails_the_check(monkeypatch):
    table = guard.read()
    _installed(monkeypatch, table.mesa)
    monkeypatch.setattr(analyse, "ask", lambda *asked: [])
    monkeypatch.setattr(models, "is_here", lambda name: True)
    more = [replace(row, slots=row.slots + 1_000_000) for row in table.rows]
    monkeypatch.setattr(guard, "rows_of", lambda model, found: [row for row in more if row.model == model])
    with pytest.raises(JudgementFailed, match=r"M slots"):
        analyse.check("", None, False, _Console())


def test_without_opencls_compiler_a_text_that_has_changed_fails_the_check(monkeypatch):
    def require(vendor, api):
        raise ToolMissing("ask", "it is not there")

    monkeypatch.setattr(phone_compilers, "require", require)
    monkeypatch.setattr(models, "is_here", lambda name: True)
    monkeypatch.setattr(analyse, "_made", lambda *asked: analyse.Question([], []))
    with pytest.raises(JudgementFailed, match="OpenCL f16, conv2d: its texts have changed"):
        analyse.check("adreno-740", None, False, _Console(), "opencl")
    monkeypatch.setattr(guard, "changed", lambda *asked: [])
    analyse.check("adreno-740", None, False, _Console(), "opencl")
    with pytest.raises(ToolMissing):
        analyse.check("adreno-740", None, False, _Console())


@pytest.mark.parametrize("gpu", [NAMES[0], pytest.param(NAMES[1], marks=pytest.mark.slow)])
def test_todays_kernels_are_not_worse(monkeypatch, library, gpu):
    """Mali's compiler runs under an emulator: minutes, where it was not asked before."""
    monkeypatch.setenv("QUADRA_TOOLS_DIR", str(REAL))
    (one,) = phone_gpus.named(gpu)
    tool = phone_compilers.installed(one.vendor)
    if not tool:
        pytest.skip(f"the compiler for {gpu} is not installed: {phone_compilers.INSTALL}")
    if tool.version != guard.read().mesa:
        pytest.skip(f"the table is of Mesa {guard.read().mesa}, the compiler for {gpu} of {tool.version}")
    for name in guard.MODELS:
        try:
            models.find(name)
        except QuadraError as error:
            pytest.skip(f"{name} is not here: {error}")
    analyse.check(gpu, library, False, _Console(), "gles")


def test_todays_opencl_kernels_are_not_worse(monkeypatch, library):
    """Where their compiler is not there, their texts are those of the table."""
    monkeypatch.setenv("QUADRA_TOOLS_DIR", str(REAL))
    for name in guard.MODELS:
        try:
            models.find(name)
        except QuadraError as error:
            pytest.skip(f"{name} is not here: {error}")
    try:
        analyse.check(guard.GPUS["opencl"], library, False, _Console(), "opencl")
    except ToolMissing as error:
        pytest.skip(str(error))
