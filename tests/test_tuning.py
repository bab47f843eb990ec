"""Tuning tries groups of work-items at the start and keeps the fastest: in the plan, and in the cache of compiled models.
Numbers stay the same bits. Drivers' times are made up from the group here (tests/driver_faults.cc, tests/egl/faults.c)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from tests import cpu
from tests.delegate import TARGETS, UNOPTIMISED, Outcome, Quadra, options
from tests.faults import egl, opencl  # noqa: F401 (fixtures, which skip where there is no driver)
from tests.model_builder import Model
from tests.test_lifetime import run

BACKENDS = ["opencl", "gles"]
IMAGE = (1, 9, 7, 8)
FEED = np.random.default_rng(2).normal(size=IMAGE).astype(np.float32)
TOLERANCE = 1e-4
Group = tuple[int, int, int]


def model(softmax: bool = False) -> bytes:
    """One dispatch of each kernel; the softmax shares memory in a group of 32."""
    m = Model()
    weights = np.random.default_rng(3).normal(size=(8, 3, 3, 8)).astype(np.float32)
    y = m.conv2d(m.input(IMAGE), weights, np.zeros(8, np.float32), activation="RELU")
    m.output(m.softmax(m.reshape(y, (1, 1, 1, 9 * 7 * 8))) if softmax else y)
    return m.bytes()


def made_up_us(group: Group) -> int:
    x, y, z = group
    return 1 + (7 * x + 13 * y + 29 * z) % 101


@dataclass
class Start:
    """What came of a start, and which groups of each kernel the driver was asked to time."""

    outcome: Outcome
    tried: dict[str, set[Group]] = field(default_factory=dict)

    @property
    def partition(self):
        [partition] = self.outcome.report["partitions"]
        return partition

    @property
    def groups(self) -> dict[str, Group]:
        return {one["kernel"]: tuple(one["local"]) for one in self.partition["dispatches"]}

    @property
    def bits(self) -> list[bytes]:
        return [output.tobytes() for output in self.outcome.outputs[0]]


def hash_of(text: str) -> int:
    """As tests/egl/faults.c has it: of what is behind the group's size."""
    value = 5381
    for byte in text[text.index(") in;") :].encode():
        value = (value * 33 + byte) & 0xFFFFFFFF
    return value


@pytest.fixture
def start(library, egl, opencl, tmp_path):
    """start(backend, raw, few=a word of the kernels that take 16 work-items, option=...): on a phone's target, in a new
    process."""
    starts = iter(range(100))

    def run(backend: str, raw: bytes = model(), few: str = "", env: dict[str, str] | None = None, **more: str) -> Start:
        folder = tmp_path / f"start_{next(starts)}"
        log = folder.with_suffix(".txt")
        given = {"dump_dir": str(folder), **more} if backend == "gles" else more
        if backend == "opencl":
            env = {
                "DRIVER_FAULTS_GPU": "1",
                "DRIVER_FAULTS_TIMES": "1",
                "DRIVER_FAULTS_FEW": few or "none",
                **(env or {}),
            }
            given["opencl_library"] = str(opencl)
        else:
            faults = f"renderer=Timed times_by_group={log}" + (f" few_items={few}" if few else "")
            env = {"EGL_FAULTS": faults, **(env or {})}
            given["egl_library"] = str(egl)
        worker = Quadra(library, **UNOPTIMISED)
        try:
            counter = opencl if backend == "opencl" else None
            outcome = worker.run(raw, [FEED], env=env, counter=counter, **options("mali-g76-buffers", backend, **given))
        finally:
            worker.close()
        assert not outcome.error, outcome.error + worker.log()
        tried = opencl_tried(outcome) if backend == "opencl" else gles_tried(folder, log)
        return Start(outcome, tried)

    return run


def opencl_tried(outcome: Outcome) -> dict[str, set[Group]]:
    tried: dict[str, set[Group]] = {}
    for line in outcome.driver["groups"]:
        entry, *sides = line.split()
        kernel = re.fullmatch(r"(.+)_[0-9a-f]{8}", entry)[1]
        tried.setdefault(kernel, set()).add(tuple(map(int, sides)))
    return tried


def gles_tried(folder: Path, log: Path) -> dict[str, set[Group]]:
    names = {hash_of(path.read_text()): path.stem[4:] for path in folder.glob("partition_0/kernels/*.comp")}
    tried: dict[str, set[Group]] = {}
    for line in log.read_text().splitlines() if log.exists() else ():
        number, *sides = map(int, line.split())
        tried.setdefault(names[number], set()).add(tuple(sides))
    return tried


@pytest.mark.parametrize(
    ("backend", "tuning"),
    [
        ("opencl", "fast"),
        pytest.param("opencl", "exhaustive", marks=pytest.mark.slow),  # a driver that compiles each group anew
        ("gles", "fast"),
        ("gles", "exhaustive"),
    ],
)
def test_the_plan_has_the_fastest_of_the_groups_that_were_tried(start, backend, tuning):
    plain, tuned = start(backend), start(backend, tuning=tuning)
    tuned.outcome.check(cpu.run(model(), [FEED]), TOLERANCE)
    assert tuned.bits == plain.bits
    assert plain.tried == {} and plain.partition["timings_us"]["tune"] == 0
    assert set(tuned.tried) == set(tuned.groups) == set(plain.groups) and len(tuned.groups) == 3
    for kernel, group in tuned.groups.items():
        assert plain.groups[kernel] in tuned.tried[kernel] and len(tuned.tried[kernel]) > 2, (kernel, tuned.tried)
        assert made_up_us(group) == min(map(made_up_us, tuned.tried[kernel])), (kernel, group, tuned.tried[kernel])
    assert tuned.groups != plain.groups
    assert tuned.partition["timings_us"]["tune"] > 0 and tuned.partition["notes"] == []


@pytest.mark.parametrize("backend", BACKENDS)
def test_exhaustive_tries_more_than_fast(start, backend):
    few, all_ = start(backend, tuning="fast"), start(backend, tuning="exhaustive")
    assert sum(map(len, few.tried.values())) < sum(map(len, all_.tried.values()))
    assert all(16 <= np.prod(group) <= 512 for group in all_.tried["conv2d"]), all_.tried


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_group_that_shares_memory_is_not_tried(start, backend):
    raw = model(softmax=True)
    plain, tuned = start(backend, raw), start(backend, raw, tuning="exhaustive")
    kernel = next(kernel for kernel in plain.groups if "softmax" in kernel)
    assert tuned.groups[kernel] == plain.groups[kernel] == (32, 1, 1)
    assert tuned.tried[kernel] == {(32, 1, 1)} and tuned.bits == plain.bits


@pytest.mark.parametrize(("backend", "few"), [("opencl", "conv2d"), ("gles", "kernel_x")])
def test_a_group_that_the_driver_refuses_is_passed_over(start, backend, few):
    plain, tuned = start(backend), start(backend, few=few, tuning="exhaustive")
    assert all(np.prod(group) <= 16 for group in tuned.tried["conv2d"]), tuned.tried
    assert made_up_us(tuned.groups["conv2d"]) == min(map(made_up_us, tuned.tried["conv2d"]))
    assert any(np.prod(group) > 16 for group in tuned.tried["to_slices"])
    assert tuned.bits == plain.bits


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_second_start_takes_the_groups_from_the_cache(start, tmp_path, backend):
    how = {"tuning": "exhaustive", "serialization_dir": str(tmp_path / "kept")}
    first, second = start(backend, **how), start(backend, **how)
    assert first.partition["cache"] == "miss: none is kept; saved" and second.partition["cache"].startswith("hit")
    assert first.partition["timings_us"]["tune"] > 0 and second.partition["timings_us"]["tune"] == 0
    assert second.tried == {} and second.groups == first.groups and second.bits == first.bits
    other = start(backend, serialization_dir=how["serialization_dir"])
    assert other.partition["cache"].startswith("miss") and other.groups != first.groups


def test_groups_outlive_an_update_of_the_driver(start, tmp_path):
    """And binaries do not."""
    how = {"tuning": "exhaustive", "serialization_dir": str(tmp_path / "kept")}
    first = start("opencl", **how)
    update = {"DRIVER_FAULTS_VERSION": "9"}
    second, third = (start("opencl", env=update, **how) for _ in range(2))
    assert second.partition["cache"] == "hit, but 3 of 3 programs were compiled: the driver is another one; saved"
    assert second.tried == {} and second.groups == first.groups and second.bits == first.bits
    assert third.partition["cache"] == "hit"


@pytest.mark.parametrize("backend", BACKENDS)
def test_real_times_change_no_bit(quadra, backend):
    plain, *tuned = (
        quadra.run(model(), [FEED], **options("mali-g76-buffers", backend, tuning=tuning))
        for tuning in ("none", "fast", "exhaustive")
    )
    for outcome in tuned:
        outcome.check(plain.outputs[0], 0)
        assert outcome.report["partitions"][0]["timings_us"]["tune"] > 0


def test_nothing_points_to_the_memory_of_tuning_any_more(library, opencl):
    """Where kernels work on the caller's memory, they did on tuning's: no buffer is left over it, inferences are right."""
    run(
        library,
        f"""
TARGET = {str(TARGETS / "mali-g76.json")!r}
faults = ctypes.CDLL({str(opencl)!r})
faults.QuadraFaultsReport.restype = ctypes.c_char_p
def buffers(tuning):
    faults.QuadraFaultsBegin()
    interpreter, delegate = opened("opencl", opencl_library={str(opencl)!r}, tuning=tuning, target=TARGET)
    live = json.loads(faults.QuadraFaultsReport())["live"]["clMemObject"]
    [partition] = report(library, delegate)["partitions"]
    right(interpreter)
    return live, partition["timings_us"]["tune"] > 0, partition["notes"]
plain, tuned = buffers("none"), buffers("fast")
assert (plain[1:], tuned[1:]) == ((False, []), (True, []))
assert plain[0] == tuned[0], (plain, tuned)
""",
        "opencl",
        env={"DRIVER_FAULTS": "clGetEventProfilingInfo@*=-7"},
    )
