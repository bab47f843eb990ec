"""Every table of the toolkit, with long names and large numbers, on terminals of 80 to 120 columns and in a pipe."""

import ast
import io
import os
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs
from rich.console import Console
from rich.text import Text

from host_tools.analyse import beside, figures_table, roofline_table
from host_tools.analyse.beside import Pair
from host_tools.analyse.figures import KernelFigures
from host_tools.base import terminal, text_table
from host_tools.base.errors import JudgementFailed, RunFailed
from host_tools.base.readable import HANDLER
from host_tools.base.short_names import NAME
from host_tools.base.text_table import Table
from host_tools.build import apk_check
from host_tools.debug import model_advice
from host_tools.dev import driver_matrix, lint
from host_tools.drivers import driver_table, results
from host_tools.judge import compare, judged, judged_cases, plan_diff, run_diff
from host_tools.judge.bench_figures import Asked, Bench, Row, Runner
from host_tools.judge.limits import Limits
from host_tools.judge.plan_diff import KernelDiff, Line
from host_tools.judge.regression.history import History
from host_tools.parity import vector_parity
from host_tools.phone.adb.choice import Found
from host_tools.phone.state.glance import Glance
from host_tools.record import plan_view, printed as documents, profile, run_list, schema, verdicts
from host_tools.record.replayed import DispatchFacts, Replayed, TensorFacts
from host_tools.show import (
    bench_table,
    bisect_table,
    compare_table,
    determinism_table,
    device_parity_table,
    generate_table,
    over_inputs_table,
    plan_diff_table,
    plan_table,
    replay_table,
    run_account,
    run_diff_table,
    run_junit,
    verdicts_table,
)
from host_tools.show.regression import table as regression_table
from host_tools.tasks import (
    advise as advise_task,
    caches,
    devices,
    doctor,
    drivers,
    list_models,
    overflow as overflow_task,
    parity as parity_task,
    runs,
)
from tests.host_tools import run_folders
from tests.host_tools.analyse import test_beside, test_roofline
from tests.host_tools.judge import regress_cases, test_run_diff
from tests.host_tools.measure import test_bench
from tests.host_tools.record import cache_files, plans
from tests.host_tools.test_folders import SOURCES

LONG = "MobilenetV1/MobilenetV1/Conv2d_12_pointwise/Relu6;" + "model/block_13_expand_BN/FusedBatchNormV3_1;" * 5
HOSTILE = "\x1b[31m[bold]\x9b2J\udc80;日本語" + "x" * 120 + "12345678"
MODEL = "a_model_with_a_long_name_257_quantised_int8"
DEVICE = "Adreno (TM) 740 of a Snapdragon 8 Gen 2, driver V@0676.42"
FLOATS = np.linspace(-1.5e7, 3.25e7, 12, dtype=np.float32).reshape(1, 3, 4)
_TOKEN = re.compile(r"\d[\d.]*(?:e[+-]?\d+)?")
_EXACT = re.compile(r"[+-]?\d+\.\d+(?:e[+-]?\d+)?")
CASES: list[Callable[[Path, Console], object]] = []


def case(show: Callable[[Path, Console], object]) -> Callable[[Path, Console], object]:
    """A function that shows tables, given a folder and a console."""
    CASES.append(show)
    return show


def _judged(folder: Path, error: float = 2.5e6, **files) -> judged.Judged:
    row = {"dtype": "float32", "shape": [1, 3, 4], "scale": 0.0, "zero_point": 0}
    outputs = [{"name": name, **row} for name in (LONG, HOSTILE, "short")]
    arrays = [FLOATS + np.float32(error), FLOATS, FLOATS]
    tensors = {"inputs": [], "outputs": outputs, "cpu_outputs": outputs, "xnnpack_outputs": outputs}
    made = run_folders.make(folder, arrays, [FLOATS] * 3, name=MODEL, tensors=tensors, environment={}, **files)
    return judged.judge(made)


def _figures() -> tuple[test_beside.Figures, test_beside.Figures]:
    ours, peer = test_beside.figures(123_456_789_012, False), test_beside.figures(234_567_890_123)
    ours.kernels[0].entry = "winograd_transform_of_the_outputs_12"
    return ours, peer


@case
def kernels_beside_the_stock_delegates(folder: Path, console: Console) -> None:
    ours, peer = _figures()
    beside.show([Pair(MODEL, ours, peer, 7, 7), Pair(LONG, ours, peer, 3, 7), Pair("m", ours, peer, 7, 7)], console)


@case
def figures_of_kernels(folder: Path, console: Console) -> None:
    found, _ = _figures()
    found.kernels.append(KernelFigures("conv2d_3", "does not compile: 0:12 no such thing\n" * 3 + "at all", None))
    found.kernels += [replace(found.kernels[0], entry=HOSTILE.replace("\udc80", ""))]
    figures_table.show(found, console)


@case
def rooflines_of_dispatches(folder: Path, console: Console) -> None:
    found = test_roofline.model(
        test_roofline.dispatch(HOSTILE.replace("\udc80", ""), 10**12, test_roofline.Once(10**9, 10**10, 10**8)),
        test_roofline.dispatch("060_from_slices", 10**6, test_roofline.Once(1, 10**9, 10**8), is_complete=False),
    )
    roofline_table.show(found, LONG, console, 1)


@case
def what_is_in_an_apk(folder: Path, console: Console) -> None:
    apk = folder / "app.apk"
    apk.write_bytes(b"")
    found = (
        "libquadra.so, libQuadraRunner.so, 1234567.25 bytes, aligned to 16384: "
        + "org/quadra/app/Runner, " * 5
        + "no more"
    )
    apk_check.show(
        apk, [apk_check.Finding("libraries of arm64-v8a", found), apk_check.Finding("dex", "no", False)], console
    )


@case
def a_run(folder: Path, console: Console) -> None:
    init = {"interpreter_us": 1234567, "allocate_us": 300, "first_invoke_us": 3456789, "total_us": 123456789}
    timings = {
        **run_folders.TIMINGS,
        "init_us": dict.fromkeys(
            ("quadra_cold", "quadra_warm", "xnnpack", "shipped_opencl_cold", "shipped_opencl"), init
        ),
        "samples_us": {"quadra": [1234567, 1345678], "xnnpack": [123456, 123457], "shipped_opencl": [345, 346]},
        "driver_compiled": 3,
    }
    run_account.account(_judged(folder, timings=timings), console)


@case
def outputs_beside_xnnpack(folder: Path, console: Console) -> None:
    made = _judged(folder).comparison
    assert made
    compare_table.show(replace(made, xnnpack_relative=(1.2e-7, 3.4e-5, 5.6e-3)), console)


@case
def runs_at_several_places(folder: Path, console: Console) -> None:
    made = _judged(folder)
    run_account.table([made, made]).show(console)
    ended = [run_account.Ended("emulator-5554", made), run_account.Ended(HOSTILE, None, RunFailed("run", LONG, "wait"))]
    run_account.several(ended, console)


@case
def the_list_of_runs(folder: Path, console: Console) -> None:
    entry = run_list.Entry(
        folder / "20261126-174551-261-x", "run", MODEL, "host", "right", 1.7e9, 123456, "opencl", "f32"
    )
    other = replace(
        entry, path=folder / "regress-20261126-174551-261-x", subject="nightly", place=HOSTILE, result="inconclusive"
    )
    strange = replace(entry, path=folder / "20261126-174551-261-y", subject=HOSTILE, backend=HOSTILE, result="damaged")
    runs.show([entry, other, replace(entry, bytes=12345678901), strange], console)


@case
def what_runs_where(folder: Path, console: Console) -> None:
    node = run_folders.REPORT["nodes"][0]
    reason = f"tensor '{LONG}' has 123456789 numbers, more than 65536.5; {LONG}"
    nodes = [{**node, "index": i, "on": on, "reason": reason} for i, on in enumerate(["cpu", "gpu", "cpu"])]
    made = run_folders.make(folder, report={**run_folders.REPORT, "nodes": nodes})
    verdicts_table.show(verdicts.read(made.read(schema.Verdicts)), console)


@case
def a_plan(folder: Path, console: Console) -> None:
    numbers = [plans.arg("Float", float_value=1.0 / 3), plans.arg("Int", int_value=-123456789)] * 4
    dispatch = plans.dispatch(12, "add", 1, 2, *numbers, nodes=range(100, 140))
    changed = plans.changed(
        dispatches=[{**dispatch, "name": "012_conv2d_winograd_transform", "global": [1024, 1024, 64]}],
        tensors__0__name=LONG, tensors__1__name=HOSTILE.replace("\udc80", ""), tensors__0__shape=[16, 1024, 1024, 2048],
        buffers__0__bytes=5_000_000_000,
    )  # fmt: skip
    plan_table.show(plan_view.read(plans.write(changed, folder / "plan.quadra")), console)


@case
def a_profile(folder: Path, console: Console) -> None:
    one = profile.Dispatch(
        12, "012_conv2d_winograd_transform", "conv2d_winograd", tuple(range(100, 140, 2)), "CONV_2D + RELU6 + ADD + MUL",
        (1024, 1024, 64), (16, 16, 4), 1234567.25, 123_456_789_012,
    )  # fmt: skip
    other = replace(one, name=HOSTILE, kernel=LONG, partition=3, time_us=0.25)
    profile.show(profile.Profile((one, other), 1e7, 1e6, 20), console, 20)


def _bench(folder: Path, place: str, peers: tuple[str, ...], **sizes: int) -> Bench:
    us = {"median": 1234567.0, "minimum": 1234566.0, "processor": 123456.0}
    runner = {"steady": {1: us, 2: us}, "cold": us, "warm": us, "second": us, "nodes_taken": 1234, "nodes": 1235}
    names = ("quadra", *(name.replace("-", "_") for name in peers))
    rows = [
        Row(
            MODEL, backend, unsure=True, sizes=sizes,
            runners={key: Runner(right=True, relative_error=1.25e-7, **runner) for key in names},
        )
        for backend in ("opencl", "gles")
    ]  # fmt: skip
    rows.append(Row("another", "gles", error=f"it failed: {LONG}"))
    asked = Asked((MODEL, "another"), ("opencl", "gles"), peers, 50, place, (1, 2))
    return Bench(folder, asked, rows, {"path": "libquadra.so", "bytes": 500_000}, "a processor", 2, 0.5)


@case
def benches(folder: Path, console: Console) -> None:
    bytes_of = ("cold_peak_rss", "peak_rss", "private", "activation", "lower_bound", "constant", "file_constant")
    sizes = {"programs": 123, "dispatches": 1234, **{f"{name}_bytes": 123_456_789_012 for name in bytes_of}}
    bench_table.show(_bench(folder, "host", ("xnnpack",), **sizes), console)
    bench_table.show(_bench(folder, "host", ("xnnpack", "litert-gpu"), **sizes), console)
    bench_table.show(_bench(folder, "jvm", ("xnnpack", "shipped-opencl", "shipped-gles")), console)
    bench_table.show(test_bench.of(folder, test_bench.row("a", 1.234), limit=1.3), console)


@case
def a_bisection(folder: Path, console: Console) -> None:
    row = schema.BisectRow(
        partition=0, dispatch="012_conv2d_winograd", nodes=list(range(100, 120)), ops="CONV_2D + RELU6", tensor=7, name=LONG,
        max_error=1.25e-5, mean_error=3.5e-7, relative=0.018, cosine=0.999999, problem="off", alone=0.25, alone_problem="off",
    )  # fmt: skip
    plain = schema.BisectRow(partition=0, dispatch="001_pack", nodes=[], ops="", tensor=1, name=HOSTILE, compared=False)
    found = schema.Bisect(
        tolerance=0.01, ops=40, compared=30, rows=[plain] * 9 + [row] * 20, kind="kernel", row=9, sentence="a kernel"
    )
    bisect_table.show(run_folders.make(folder), found, console)


@case
def equal_inferences(folder: Path, console: Console) -> None:
    output = schema.DifferentOutput(
        index=0, name=LONG, inferences=1234, numbers=65536, different=231, max_error=1.25e-5
    )
    other = schema.DifferentOutput(
        index=1, name=HOSTILE, inferences=9999, numbers=65536, different=65536, max_error="nan"
    )
    row = schema.DifferentDispatch(
        first_in=1234, partition=0, dispatch="012_conv2d_winograd", nodes=list(range(100, 120)), ops="CONV_2D + RELU6",
        tensor=7, inferences=2345, numbers=16777216, different=65537, max_error=0.0,
    )  # fmt: skip
    found = schema.Determinism(ok=False, sentence=LONG, outputs=[output, other], copied=10000, dispatches=[row] * 3)
    determinism_table.show(found, console)


@case
def tokens(folder: Path, console: Console) -> None:
    calls = documents.Calls(
        tokens=1024, calls=1000, wall_us=10**9, processor_us=10**9, median_us=10**6, tokens_per_s=12345.6
    )
    many = {"chosen": [], "start_us": 123456789, "steady_bytes": 1 << 41, "peak_bytes": 1 << 42, "before_bytes": 1}
    runtimes = [
        documents.Generated(runtime=name, prefill=calls, decode=calls, **many) for name in ("quadra", "builtin")
    ]
    found = documents.GenerateDocument(
        model=MODEL, backend="opencl", precision="f32_f16", device=LONG, nodes=909, nodes_on_gpu=909, prompt=[1],
        runtimes=runtimes, agreement=documents.Agreement(tolerance=1e-2, largest_difference=1.25e-3, equal=1234),
        moved=documents.Moved(copied_bytes=1, host_copied_bytes=1, cache_bytes=1, logits_bytes=1, constant_bytes=1),
    )  # fmt: skip
    generate_table.show(found, console)


@case
def two_plans(folder: Path, console: Console) -> None:
    found = plan_diff.PlanDiff(same_kernels=1234)
    found.words = [Line("target", "mali-g76", LONG)]
    found.memory = [Line("activations", "123456789 bytes", "")]
    found.kernels = [KernelDiff("conv2d", "conv2d_123", "conv2d_124", 123, 45), KernelDiff(LONG, "", "b_12")]
    found.dispatches = [Line("012_conv2d: work-items", "1024×1024×64", "1024×1024×128")]
    found.tensors = [Line(f"tensor {LONG}", "", "1×2×3×3 float, slices, 96 bytes")] * 30
    plan_diff_table.show(found, console)


@case
def a_regression(folder: Path, console: Console) -> None:
    with History(folder / "history.sqlite") as history:
        launches = regress_cases.launches
        good = regress_cases.case(history, launches(1, 20), launches(2, 20), key=f"{MODEL}/opencl/f32_f16")
        worse = regress_cases.case(history, launches(1, 20), launches(3, 20, 123.0), device=DEVICE)
    regression_table.show(regress_cases.session(folder, [good, worse]), console)


@case
def a_replay(folder: Path, console: Console) -> None:
    tensor = TensorFacts(
        7, LONG, [1, 1024, 1024, 2048], "Half", compared=True, max_error=1.25e-5, relative=0.018, worst_at=[0, 1],
    )  # fmt: skip
    wrong = TensorFacts(8, HOSTILE, [1, 4], "Float", compared=True, problem="is off", max_error=1e9, relative=1234.5)
    dispatches = [
        DispatchFacts(i, f"{i:03d}_conv2d_winograd", "conv2d_winograd_transform", "k", list(range(100, 120)), [one], us)
        for i, (one, us) in enumerate([(tensor, [1234567.5]), (wrong, [0.25]), (tensor, [123.0])])
    ]
    found = Replayed(DEVICE, dispatches=dispatches)
    replay_table.tensors(found, "cpu", console)
    replay_table.times(found, console, 2)
    rows = [replay_table.PartitionRow(12, range(123, 456), found, f"012_conv2d makes '{LONG}', which is off by 0.25")]
    replay_table.partitions(rows, console)
    error = compare.OutputError(0, "a", "float32", (1, 1024, 1024, 2048), 1.0, 1.25e-5, relative=3.5e-7, different=3)
    replay_table.outputs([(LONG, "the run's output", error), (HOSTILE, "cpu", None)], console)


@case
def two_runs(folder: Path, console: Console) -> None:
    samples = [1234567, 1234568, 1234569, 1234570, 1234571]
    sides = [test_run_diff.side(folder, samples=[s * k for s in samples], error=k / 8) for k in (1, 2)]
    found = run_diff.diff(*sides)
    outputs = [structs.replace(one, name=LONG) for one in found.outputs]
    run_diff_table.show(structs.replace(found, outputs=outputs), console)


@case
def advice(folder: Path, console: Console) -> None:
    reason = "a kernel of its own that only moves 123456789 numbers, 2.25 KiB"
    rows = [
        model_advice.Advice(kind, "", 1234, "TRANSPOSE_CONV", LONG, 0.123, reason, "a RESHAPE")
        for kind in ("split", "move")
    ]
    advise_task.show(run_folders.make(folder).spec(), rows, "", console)


@case
def cached_files(folder: Path, console: Console) -> None:
    made = folder / "cache"
    made.mkdir()
    plan = plans.write(plans.PLAN, folder / "one").read_bytes()
    key = cache_files.KEY.replace('"small"', '"adreno-740-with-images-and-halves"')
    for name, content in (("my_model", cache_files.content(plan, key=key)), ("bad", b"QUADRAP\n")):
        path = made / f"{name}_{'0123456789abcdef' * 2}.quadra"
        path.write_bytes(content)
        os.utime(path, (1e9, 1e9))
    caches.do(["list", str(made)], "", 0, console)


@case
def connected_devices(folder: Path, console: Console) -> None:
    there = [
        Found("192.168.178.123:5555", "unauthorized", "Pixel 9 Pro Fold"),
        Found("emulator-5554", "device", busy=LONG),
    ]
    gpu = "Qualcomm, Adreno (TM) 740, OpenGL ES 3.2 V@0676.53 (GIT@c5a2b9f, I2ce7b2d6c1, 1698999999) (Date:11/03/23)"
    seen = {
        "emulator-5554": Glance("15", "SM8550", gpu, "severe", 48.5, 100),
        HOSTILE: Glance(HOSTILE, HOSTILE, HOSTILE, HOSTILE, 1e9, 0),
    }
    devices.table([*there, Found(HOSTILE, "device", virtual=True, name="a")], seen).show(console)
    devices.do(["faults"], devices.Options(), console)


@case
def needs_of_this_machine(folder: Path, console: Console) -> None:
    doctor._print_table(
        [doctor.Check("Python", "3.11.2", True), doctor.Check("2 GB of disk", f"1.5 GB, {LONG}", False)]
    )


@case
def other_drivers(folder: Path, console: Console) -> None:
    row = replace(
        driver_table.find("angle"), name="rusticl-26-of-debian", lacks=LONG, too_slow_for=LONG, megabytes=123456
    )
    states = [drivers.State(row, word, HOSTILE, LONG) for word in (drivers.HERE, drivers.TO_FETCH, drivers.MISSING)]
    drivers.show(states, console)


@case
def checks_of_the_sources(folder: Path, console: Console) -> None:
    lint.show([lint.Outcome(check, "", 12345) for check in lint.checks().values()], console)


@case
def large_numbers_of_a_model(folder: Path, console: Console) -> None:
    rows = [
        schema.Range(tensor=i, name=name, node=0, largest=1.23456e38) for i, name in enumerate((LONG, HOSTILE, "a"))
    ]
    found = schema.Ranges(ops=["CONV_2D"], tensors=rows)
    overflow_task.show(run_folders.make(folder).spec(), found, console, 20)


@case
def many_inputs_and_metrics(folder: Path, console: Console) -> None:
    row = schema.OutputOverInputs(
        index=0, name=LONG, dtype="float32", range=1.0, max_error=1.23456e38, mean_error="nan", rms_error=0.0,
        quantiles={"0.99": 1.23456e-38}, cosine=0.99999999, psnr_db="inf", different=1, relative=[1e-9, 1.0], allowed=[1e-4, 1e-4],
        wrong=[1], problem=HOSTILE,
    )  # fmt: skip
    over_inputs_table.show(schema.OverInputs(ok=False, names=[LONG, HOSTILE], outputs=[row] * 2), console)
    own = schema.MetricRow(
        name=f"/{LONG}.py:f", mean=1.23456e-38, least=-1e38, most="inf", at_least=0.5, values=[1.0, 2.0]
    )
    over_inputs_table.show_metrics(schema.Metrics(names=[LONG, HOSTILE], metrics=[own]), console)


@case
def all_ops(folder: Path, console: Console) -> None:
    backends, precisions, storages = ("opencl", "gles"), ("f32", "f32_f16", "f16"), ("buffer", "image")
    cells = [{"backend": b, "precision": p, "storage": s} for b in backends for p in precisions for s in storages]
    head = {"ops": ["BIDIRECTIONAL_SEQUENCE_LSTM", "ADD"], "cells": cells, "total": 4}
    parity_task.show(
        vector_parity.read([head, {"op": "ADD", **cells[3], "case": "c", "wrong": "off by [1]"}] * 1), console
    )


@case
def drivers_and_what_their_tests_found(folder: Path, console: Console) -> None:
    found = driver_matrix.Matrix(absent={"rusticl": HOSTILE})
    for name in (driver.name for driver in driver_table.DRIVERS):
        row = results.Results(results.Origin(name, "1f" * 32, DEVICE), wall_s=123_456.7)
        for outcome, kind, precision in product(results.OUTCOMES, results.KINDS, ("f32", "f16")):
            cases = [results.Case(LONG, outcome, HOSTILE)] * 1_234
            row.tests[f"{outcome} {kind} {precision}"] = results.Record(f"{LONG}[{MODEL}]", kind, precision, cases)
        found.rows.append(row)
    driver_matrix.show(found, console)


@case
def cases_on_a_device(folder: Path, console: Console) -> None:
    column = "gles/f32_f16/image"
    rows = [judged_cases.Row(name, "vector", "ADD", column, "wrong", "off by [1]") for name in (LONG, HOSTILE)]
    found = judged_cases.Found({"manufacturer": "a", "model": DEVICE}, {}, {}, rows=rows, absent={column: ""})
    found.absent = {"opencl/f32/buffer": HOSTILE}
    found.tried = [judged_cases.Tried(LONG, column, ("storage buffer",), ("storage buffer", LONG))]
    found.cost = dict.fromkeys(("runs", "processes", "programs", "pushed_bytes", "pulled_bytes", "seconds"), 123_456)
    device_parity_table.show(judged_cases.document(found), console)


@case
def models_here_and_elsewhere(folder: Path, console: Console) -> None:
    for name in ("here", "again"):
        (folder / name).mkdir()
        (folder / name / f"{MODEL}_{'x' * 120}.tflite").write_bytes(b"TFL3" * 123_456)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("QUADRA_MODELS_DIR", f"{folder}/here:{folder}/again")
        patch.setenv("QUADRA_DOWNLOADS_DIR", str(folder / "fetched"))
        list_models.show(console)


def _sites() -> Iterator[str]:
    """Where the toolkit makes tables: `module.function`."""
    for module, source in SOURCES.items():
        if "host_tools.base.text_table" not in source or module == text_table.__name__:
            continue
        for function in ast.walk(ast.parse(source)):
            if isinstance(function, ast.FunctionDef):
                calls = (node for node in ast.walk(function) if isinstance(node, ast.Call))
                if any(isinstance(call.func, ast.Name) and call.func.id == "Table" for call in calls):
                    yield f"{module}.{function.name}"


SITES = sorted(_sites())


@pytest.fixture(scope="module")
def shown(tmp_path_factory) -> dict[str, list[Table]]:
    """The tables that the cases show, by where they are made."""
    made: dict[int, str] = {}
    found: dict[str, list[Table]] = defaultdict(list)
    begin, show = Table.__init__, Table.show

    def noted(self, *given, **named):
        caller = sys._getframe(1)
        made[id(self)] = f"{caller.f_globals['__name__']}.{caller.f_code.co_name}"
        begin(self, *given, **named)

    def kept(self, console):
        found[made[id(self)]].append(self)
        show(self, console)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Table, "__init__", noted)
        patch.setattr(Table, "show", kept)
        for one in CASES:
            one(tmp_path_factory.mktemp(one.__name__), Console(width=80, file=io.StringIO()))
    return found


def test_every_table_of_the_toolkit_is_among_them(shown):
    assert sorted(shown) == SITES


def test_nothing_else_makes_tables():
    others = [
        module for module, source in SOURCES.items() if re.search(r"\brich\.table\b|from rich import .*table", source)
    ]
    assert not others


def printed(table: Table, width: int) -> list[str]:
    file = io.StringIO()
    table.show(Console(file=file, width=width))
    return file.getvalue().splitlines()


def plain(cell: str) -> str:
    return Text.from_markup(cell, emoji=False).plain


@pytest.mark.parametrize("width", [80, 100, 120, terminal.ENDLESS])
@pytest.mark.parametrize("site", SITES)
def test_a_table_fits_and_its_numbers_are_whole(site, width, shown):
    for table in shown[site]:
        lines = printed(table, width)
        layout = text_table._Layout(table, Console(width=width))
        assert all(Text(line).cell_len <= width for line in lines), lines
        assert not [line for line in lines if re.search(r"\d ?…|… ?\d", line)]
        assert all(table.columns[i].rank for i in layout.left_out)
        rest = " ".join(lines).partition("no room for")[0]
        there, needed = Counter(_TOKEN.findall(rest)), Counter()
        for row in table.rows:
            for index, cell in enumerate(row):
                column = table.columns[index]
                if index not in layout.left_out and not column.middle:
                    needed.update(_TOKEN.findall(plain(cell)))
        assert not needed - there, lines


def test_the_column_that_says_where_a_node_runs_is_as_narrow_as_its_words(tmp_path):
    console = Console(width=80, record=True, file=io.StringIO(), force_terminal=True)
    what_runs_where(tmp_path, console)
    head = next(line for line in console.export_text().splitlines() if line.startswith("op "))
    assert head.split() == ["op", "nodes", "on", "reason"], "in one line"


@pytest.mark.parametrize("site", SITES)
def test_a_pipe_has_every_cell_whole_on_one_line(site, shown):
    for table in shown[site]:
        lines = printed(table, terminal.ENDLESS)
        for row in table.rows:
            for column, cell in zip(table.columns, row):
                for line in plain(cell).split("\n"):
                    written = line.encode("utf-8", HANDLER).decode().translate(text_table._CONTROL)
                    written = text_table._without_middle(Text(written), NAME).plain if column.middle else written
                    assert written in text_table._NOTHING or any(written in one for one in lines), written


KERAS = "".join(f"StatefulPartitionedCall/model/block_{i}_expand/BatchNorm/FusedBatchNormV3;" for i in range(6))


def test_a_name_of_hundreds_of_letters_makes_no_long_line_in_a_log(tmp_path):
    """What `run`, `compare`, `diff`, `replay` and a file for a CI server say of its output, which is wrong."""
    row = {"dtype": "float32", "shape": [1, 3, 4], "scale": 0.0, "zero_point": 0}
    outputs = [{"name": name, **row} for name in (f"{KERAS}Relu", f"{KERAS}Relu6")]
    tensors = {"inputs": [], "outputs": outputs, "cpu_outputs": outputs, "xnnpack_outputs": outputs}
    here = Path(os.path.relpath(tmp_path))
    made = judged.judge(run_folders.make(here, [FLOATS, FLOATS * 2], [FLOATS, FLOATS], tensors=tensors, environment={}))
    file = io.StringIO()
    console = Console(file=file, width=terminal.ENDLESS, highlight=False)
    run_account.account(made, console)
    assert made.comparison
    error = made.comparison.outputs[1]
    row_over = schema.OutputOverInputs(
        index=0, name=KERAS, dtype="float32", range=1.0, max_error=1.0, mean_error=0.0, rms_error=0.0, quantiles={},
        cosine=1.0, psnr_db=0.0, different=1, relative=[1.0], allowed=[0.1], wrong=[0], problem="is off",
    )  # fmt: skip
    over_inputs_table.show(schema.OverInputs(ok=False, names=["a"], outputs=[row_over]), console)
    pair = documents.OutputPair(name=KERAS, a=0.1, b=0.2, a_right=True, b_right=True, same_bits=False)
    run_diff_table._outputs([pair], console)
    replay_table.outputs([(KERAS, "the run's output", error)], console)
    said = [*file.getvalue().splitlines(), *compare.problems(made.comparison)]
    said += Limits(error=1e-6).problems(made)
    with pytest.raises(JudgementFailed) as caught:
        made.check()
    said += str(caught.value).splitlines()
    said += run_junit.text([run_account.Ended("host", made)], Limits()).split("<")
    assert not [line for line in said if len(line) > 160 and not re.search("/(report.html|runs|latest)", line)]
    assert sum("StatefulPartitionedCall/" in line for line in said) >= 9


@pytest.mark.parametrize("site", SITES)
def test_no_column_of_numbers_may_be_folded(site, shown):
    for table in shown[site]:
        for index, column in enumerate(table.columns):
            cells = [plain(row[index]).strip() for row in table.rows if index < len(row)]
            if column.least and any(cells):
                assert not all(_EXACT.fullmatch(cell) for cell in cells if cell), column
