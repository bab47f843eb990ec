"""Every call that the delegate makes to a driver fails, one after the other, in every way in which it can: right numbers
or an error, never wrong numbers, never a crash, a hang or an object that stays behind.

`python -m tests.driver_faults LIBRARY` runs the whole matrix and prints a table; `--life` narrows it, `--sample` takes what
the quick tests take. Exit status 1: a fault came to a bad end.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from tests import cpu
from tests.delegate import TARGETS, UNOPTIMISED, Outcome, Quadra, WorkerDied, options
from tests.faults import compile_driver_faults, compile_egl_faults, compile_empty, without_function
from tests.judge import mismatch
from tests.model_builder import Model
from tests.vectors.case import constant

SHAPE, RESIZED = (1, 4, 5, 6), (1, 6, 5, 6)
FEEDS = [constant(f"driver_faults/{i}", shape) for i, shape in enumerate([SHAPE, SHAPE, RESIZED])]
TOLERANCE = 1e-4
DEADLINE_S = 60
LIVES_OF_A_WORKER = 200  # PoCL's contexts stay; a new process frees them
GOOD = ("right", "cpu", "error")


@dataclass(frozen=True, eq=False)
class Life:
    """A way to use the driver: between them they call all functions of the tables."""

    name: str
    api: str
    options: dict[str, str] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    egl_faults: str = ""  # of the library of tests/egl, which then stands behind
    always: str = ""  # what fails anyhow: calls that are made after an error only
    nodes_on_gpu: int = 9  # without another fault


# Called after an error, so in lives where one happens anyhow.
AFTER_ERRORS = {"clGetProgramBuildInfo", "glGetProgramInfoLog", "glGetShaderInfoLog"}
_PHONE = {"target": str(TARGETS / "adreno-640.json"), "profile": "1"}
# Mesa's timers stand still, and it needs no surface: hidden, so that those calls are made.
_PLAIN_EGL = "renderer=Timed timer_ns=7000 hide=EGL_KHR_surfaceless_context"
LIVES = [
    Life("opencl", "opencl"),
    Life("opencl images", "opencl", _PHONE, {"DRIVER_FAULTS_GPU": "1"}),
    Life("opencl refuses", "opencl", always="clBuildProgram@1=-11", nodes_on_gpu=7),
    Life("gles", "gles"),
    Life("gles images", "gles", _PHONE, egl_faults=_PLAIN_EGL),
    Life("gles refuses to compile", "gles", always="glGetShaderiv@1=false"),
    Life("gles refuses to link", "gles", always="glGetProgramiv@1=false"),
]
# Groups of work-items are tried at the start, with times that are the same in every life; programs are checked there.
AT_THE_START = [
    Life(
        "opencl tuned",
        "opencl",
        {**_PHONE, "tuning": "fast"},
        {"DRIVER_FAULTS_GPU": "1", "DRIVER_FAULTS_TIMES": "1"},
    ),
    Life("gles tuned", "gles", {**_PHONE, "tuning": "fast"}, egl_faults=_PLAIN_EGL),
    Life("opencl checked", "opencl", {"self_check": "1"}),
    Life("gles checked", "gles", {"self_check": "1"}),
]
# Called for plans that have binaries, which only native tests make (tests/native/backend_test.cc), and for buffers, events
# and contexts of the caller (tests/test_bound_buffers.py, tests/test_buffer_events.py, tests/test_gl_buffers.py,
# tests/test_gl_events.py, and tests/test_states.py of a state in two buffers).
NOT_CALLED = {
    "clEnqueueCopyBuffer",
    "glBufferSubData",  # only weights in memory of their own, of 64 KB or more: no life has such yet
    "glCopyBufferSubData",
    "clCreateProgramWithBinary",
    "glProgramBinary",
    "clEnqueueBarrierWithWaitList",
    "clEnqueueMapBuffer",
    "clEnqueueUnmapMemObject",
    "clFlush",  # only plans of more than 32 dispatches: test_flushes.py
    "clGetContextInfo",
    "clGetEventInfo",
    "clGetMemObjectInfo",
    "clRetainContext",
    "eglClientWaitSyncKHR",
    "eglCreateSyncKHR",
    "eglDestroySyncKHR",
    "eglDupNativeFenceFDANDROID",
    "eglGetCurrentContext",
    "eglWaitSyncKHR",
    "glGetBufferParameteri64v",
    "glIsBuffer",
}


@dataclass(frozen=True)
class Fault:
    """The n-th call of a function fails in a way of tests/driver_faults.cc; n = 0: the library lacks the function."""

    function: str
    n: int
    way: str

    def __str__(self) -> str:
        return f"{self.function}@{self.n}={self.way}" if self.n else f"{self.function}=missing"


@dataclass(frozen=True)
class Result:
    """What came of a life with a fault: right, cpu (right, with nodes left to the CPU), error, or what is bad."""

    life: str
    fault: Fault
    verdict: str
    detail: str = ""


@cache
def model() -> bytes:
    """Three partitions with float16 weights, all of which the first one has: between them an op that Quadra lacks."""
    m = Model()
    first, second, third = (
        m.const_f16(constant(f"driver_faults/w{i}", shape) * 0.3)
        for i, shape in enumerate([(8, 3, 3, 6), (6, 1, 1, 8), (4, 3, 3, 6)])
    )
    table = m.const_f16(constant("driver_faults/table", (6,)))
    bias = [constant(f"driver_faults/b{n}", (n,)) for n in (8, 6, 4)]
    x = m.conv2d(m.input(SHAPE), first, bias[0], activation="RELU")
    y = m.add(m.conv2d(m.left_to_cpu(x), second, bias[1]), table)
    m.output(m.softmax(m.conv2d(m.left_to_cpu(y), third, bias[2])), y)
    return m.bytes()


@cache
def expected() -> list[list[np.ndarray]]:
    return [cpu.run(model(), [feed]) for feed in FEEDS]


class Driver:
    """Runs lives with faults in a worker process."""

    def __init__(self, library: Path, folder: Path) -> None:
        self._library, self._folder = library, folder
        self._faults = compile_driver_faults(folder / "libdriver_faults.so")
        self._egl = compile_egl_faults(folder / "libEGL_faults.so")
        # No other library has the functions that eglGetProcAddress is to lack.
        (folder / "empty").mkdir()
        compile_empty(folder / "empty" / "libGLESv3.so")
        self._names = count()
        self._worker: Quadra | None = None
        self._lives = 0
        self.baselines: dict[Life, Baseline] = {}

    def close(self) -> None:
        if self._worker:
            self._worker.close()
        self._worker = None

    def live(self, life: Life, fault: Fault | None = None, library: Path | None = None) -> Outcome:
        """A whole life: made, compiled, invoked twice, resized, destroyed. `library`: of library(), for lives that are to
        find what the one before left."""
        given = {**options(backend=life.api), **life.options}
        given[_LIBRARY[life.api]] = str(library or self.library(fault))
        if life.options:
            given["dump_dir"] = str(self._folder / "dump")
        env = {"DRIVER_FAULTS": f"{fault or ''} {life.always}", **life.env}
        if life.egl_faults:
            env.update(EGL_FAULTS=life.egl_faults, DRIVER_FAULTS_EGL=str(self._egl))
        return self._worker_now().run(
            model(),
            *([feed] for feed in FEEDS),
            timeout_s=DEADLINE_S,
            env=env,
            counter=Path(given[_LIBRARY[life.api]]),
            **given,
        )

    def library(self, fault: Fault | None = None) -> Path:
        """The library by a name of its own: the delegate keeps a backend for each name that it is told."""
        path = self._folder / f"lib{next(self._names)}.so"
        if fault and not fault.n and fault.function.startswith("egl"):
            return without_function(self._faults, fault.function, path)
        path.symlink_to(self._faults)
        return path

    def _worker_now(self) -> Quadra:
        if self._worker is None or self._lives == LIVES_OF_A_WORKER:
            self.close()
            env = {**UNOPTIMISED, "LD_LIBRARY_PATH": str(self._folder / "empty")}
            self._worker, self._lives = Quadra(self._library, **env), 0
        self._lives += 1
        return self._worker


_LIBRARY = {"opencl": "opencl_library", "gles": "egl_library"}


@dataclass(frozen=True)
class Baseline:
    """A life without a fault: how often each function was called, and in which ways each can fail."""

    calls: dict[str, int]
    ways: dict[str, str | None]
    live: dict[str, int]  # what the delegate keeps for the next interpreter


def baseline(driver: Driver, life: Life) -> Baseline:
    """Asserts that the life is right, on the GPU, and always the same; once for each driver."""
    if life not in driver.baselines:
        driver.baselines[life] = _baseline(driver, life)
    return driver.baselines[life]


def _baseline(driver: Driver, life: Life) -> Baseline:
    outcomes = [driver.live(life) for _ in range(2)]
    for outcome in outcomes:
        assert not outcome.error, outcome.error
        assert not wrong(outcome), wrong(outcome)
        on_gpu = len(outcome.nodes) - len(outcome.on_cpu())
        assert on_gpu == life.nodes_on_gpu, f"{life.name}: {on_gpu} nodes on the GPU: {outcome.on_cpu()}"
    first, second = (outcome.driver for outcome in outcomes)
    assert first["calls"] == second["calls"] and first["live"] == second["live"], (first, second)
    return Baseline(first["calls"], first["ways"], {kind: n for kind, n in first["live"].items() if n})


def faults(life: Life, base: Baseline, sampled: Container[str] | None = None) -> Iterator[Fault]:
    """Every call in every way. A sample, beside functions that were `sampled` before: the first call in every way, the
    last in one."""
    prefix = "cl" if life.api == "opencl" else ("egl", "gl")
    sample = sampled is not None
    for function, calls in base.calls.items():
        if not function.startswith(prefix) or (life.always and function not in AFTER_ERRORS):
            continue
        if sample and function in sampled:
            continue
        ways = (base.ways[function] or "").split()
        for n in range(1, calls + 1):
            if not sample or n in (1, calls):
                yield from (Fault(function, n, way) for way in (ways[:1] if sample and n > 1 else ways))
        if not life.always and not life.options and ways:
            yield Fault(function, 0, "missing")


def wrong(outcome: Outcome) -> str:
    """What is wrong with the numbers that came."""
    for i, (outputs, wanted) in enumerate(zip(outcome.outputs, expected())):
        for got, want in zip(outputs, wanted):
            said = mismatch(got, want, TOLERANCE)
            if said:
                return f"round {i}: {said}"
    return ""


def judged(life: Life, base: Baseline, fault: Fault, outcome: Outcome) -> Result:
    kept = {kind: n for kind, n in outcome.driver["live"].items() if n > base.live.get(kind, 0)}
    ended_twice = {kind: n for kind, n in outcome.driver["live"].items() if n < 0}
    if said := wrong(outcome):
        return Result(life.name, fault, "WRONG", said)
    if fault.n and not outcome.driver["happened"]:
        return Result(life.name, fault, "NO FAULT", "the call was not made")
    if kept or ended_twice:
        return Result(life.name, fault, "LEAK", str(kept or ended_twice))
    if outcome.error:
        clear = outcome.error.startswith("RuntimeError: ") and "Quadra: " in outcome.error
        return Result(life.name, fault, "error" if clear else "UNCLEAR", outcome.error)
    if len(outcome.outputs) != len(FEEDS):
        return Result(life.name, fault, "UNCLEAR", f"{len(outcome.outputs)} rounds and no error")
    if not all(node["reason"] for node in outcome.nodes if node["on"] != "gpu"):
        return Result(life.name, fault, "UNCLEAR", "a node was left to the CPU without a reason")
    if len(outcome.nodes) - len(outcome.on_cpu()) < life.nodes_on_gpu:
        return Result(life.name, fault, "cpu", "; ".join(outcome.report["backend_notes"]))
    return Result(life.name, fault, "right")


def results(driver: Driver, life: Life, base: Baseline, wanted: Iterable[Fault]) -> Iterator[Result]:
    """What comes of each fault."""
    for fault in wanted:
        try:
            yield judged(life, base, fault, driver.live(life, fault))
        except WorkerDied as death:
            yield Result(life.name, fault, "HANG" if "no answer in" in str(death) else "CRASH", str(death))


def show(found: list[Result], console: Console) -> None:
    """The table: functions and what came of their faults; then what is bad."""
    table = Table(title="Calls that failed, and the result", title_justify="left")
    for column in ("life", "function", "faults", *GOOD, "bad"):
        table.add_column(column, justify="left" if column in ("life", "function") else "right")
    rows: dict[tuple[str, str], Counter[str]] = {}
    for result in found:
        for row in ((result.life, result.fault.function), ("all", "")):
            rows.setdefault(row, Counter())[result.verdict if result.verdict in GOOD else "bad"] += 1
    rows["all", ""] = rows.pop(("all", ""), Counter())
    for (life, function), verdicts in rows.items():
        table.add_row(life, function, str(verdicts.total()), *(str(verdicts[word]) for word in (*GOOD, "bad")))
    console.print(table)
    for result in bad(found):
        console.print(
            f"{result.verdict}: {result.life}: {result.fault}: {result.detail}", highlight=False, markup=False
        )


def bad(found: Iterable[Result]) -> list[Result]:
    return [result for result in found if result.verdict not in GOOD]


def matrix(driver: Driver, lives: Iterable[Life], sample: bool = False) -> Iterator[Result]:
    """What comes of each fault in each life; of a sample, each function in one life."""
    seen: set[str] = set()
    for life in lives:
        base = baseline(driver, life)
        wanted = list(faults(life, base, seen if sample else None))
        seen |= {fault.function for fault in wanted if fault.n}
        yield from results(driver, life, base, wanted)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("library", type=Path)
    parser.add_argument("--life", action="append", choices=[life.name for life in LIVES])
    parser.add_argument("--sample", action="store_true", help="what the quick tests take")
    given = parser.parse_args()
    lives = [life for life in LIVES if not given.life or life.name in given.life]
    console, found = Console(width=120), []
    with tempfile.TemporaryDirectory(prefix="quadra-faults-") as folder:
        driver = Driver(given.library, Path(folder))
        try:
            for result in matrix(driver, lives, given.sample):
                found.append(result)
                if bad([result]):
                    print(result, file=sys.stderr, flush=True)
                if len(found) % 100 == 0:
                    print(f"{len(found)} faults, {len(bad(found))} bad; {result.life}", file=sys.stderr, flush=True)
        finally:
            driver.close()
    show(found, console)
    return 1 if bad(found) else 0


if __name__ == "__main__":
    sys.exit(main())
