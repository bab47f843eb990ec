"""Damaged and cross-bred files of the cache of compiled models, read by the delegate. It does not crash, gives the numbers
that it gives without a cache, and says why it did not take the file.

In half of the cases the hashes fit, so that what is behind them is reached: the verifier of FlatBuffers, the checks of a
plan and of binaries, the loading. Such a plan may well be taken, and is another program then: it is loaded, and run only
where the plan itself is whole. What a driver makes of damaged bytes of its own is not asked: it may crash.
"""

import random
import shutil
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from host_tools.base.errors import RunFailed
from host_tools.dev.fuzz import seeds
from host_tools.dev.fuzz.finding import Finding
from host_tools.dev.fuzz.fuzz_process import Answer, Ended, Request
from host_tools.dev.fuzz.fuzzer import Fuzzer
from host_tools.record.cache_file import ENDING, HEADER_BYTES, VERDICTS, Parts

_DEADLINE_S = 20.0
_MODELS = ("vector-graph-chain", "vector-graph-squeeze_excite", "vector-graph-residual")
_BACKENDS = ("opencl", "gles")
_EDGES = (0, 1, 2, 3, 63, 64, 65, 255, 4096, 65535, 1 << 20, (1 << 31) - 1, 1 << 31, (1 << 32) - 1)


@dataclass(frozen=True)
class Case:
    """A file in the place of one that the delegate left for this model. runs: the model is invoked, too."""

    name: str
    model: str
    backend: str
    raw: bytes
    damage: str  # in words
    hashed: bool  # its hashes fit
    runs: bool
    fresh: bool  # in a process that has compiled nothing yet
    file: bytes
    verdicts: bool = False  # it is the file of the model's verdicts, not that of its plan

    def files(self) -> dict[str, bytes]:
        return {"model.tflite": self.raw, "cached.quadra": self.file}

    def words(self) -> dict[str, Any]:
        """What case.json says; from_folder reads it."""
        return {
            key: getattr(self, key) for key in ("model", "backend", "damage", "hashed", "runs", "fresh", "verdicts")
        }

    def __str__(self) -> str:
        what = "verdicts, " if self.verdicts else ""
        return f"{self.model} on {self.backend}: {what}{self.damage}{', with hashes that fit' if self.hashed else ''}"


@dataclass(frozen=True)
class _Kept:
    """What the delegate leaves for a model, and the outputs of that start."""

    name: str
    file: bytes
    outputs: list[bytes]
    verdicts: tuple[str, bytes] = ("verdicts", b"")  # name and bytes of that file


class Cache(Fuzzer):
    """The fuzzer of cache files. counts: what came of the cases."""

    def __init__(self, library: Path) -> None:
        super().__init__(library)
        (self._process,) = self._processes
        self._kept: dict[tuple[bytes, str], _Kept] = {}

    def cases(self, seed: int) -> Iterator[Case]:
        """Cases without end; the same for the same seed and library."""
        files = seeds.load()
        # So far: a driver takes its time for each.
        whole = {(_MODELS[0], backend): self._whole(files[_MODELS[0]], backend).file for backend in _BACKENDS}
        number = 0
        while True:
            chosen = random.Random(f"{seed}/{number}")
            model, backend = chosen.choice(_MODELS[: 1 + number // 40]), chosen.choice(_BACKENDS)
            whole[model, backend] = self._whole(files[model], backend).file
            other = whole[chosen.choice(sorted(whole))]
            if chosen.random() < 0.25:
                made = _of_verdicts(chosen, self._whole(files[model], backend).verdicts[1], other)
            else:
                kind = _with_hashes if chosen.random() < 0.5 else _without_hashes
                made = kind(chosen, whole[model, backend], other)
            yield replace(made, name=f"{seed}-{number}", model=model, backend=backend, raw=files[model])
            number += 1

    def minimise(self, finding: Finding) -> Finding:
        return finding

    def _try(self, case: Case, counts: Counter[str]) -> Finding | None:
        whole = self._whole(case.raw, case.backend)
        counts["cases"] += 1
        counts["hashes fit" if case.hashed else "hashes do not fit"] += 1
        if case.fresh:
            self._process.close()
        # The other file is whole, whatever the last case left of it.
        files = dict([(whole.name, whole.file), whole.verdicts])
        files[whole.verdicts[0] if case.verdicts else whole.name] = case.file
        for name, data in files.items():
            (self._home / "kept" / name).write_bytes(data)
        got = self._start(case.raw, case.backend, case.runs)
        if isinstance(got, Ended):
            return Finding(case, got.kind, got.place, f"{case}\n{got.text}")
        said = got.cached[0] if got.cached else got.error
        counts[_in_short(said)] += 1
        if case.file == whole.file:
            return None
        if not case.hashed and not case.verdicts and not said.startswith("miss: "):
            return Finding(case, "wrong", "a changed file was taken", f"{case}\nit says: {said}")
        if case.runs and [output.tobytes() for output in got.outputs] != whole.outputs:
            return Finding(case, "wrong", case.backend, f"{case}\nit says: {said}, {got.error}; other outputs")
        return None

    def _start(self, raw: bytes, backend: str, runs: bool) -> Answer | Ended:
        options = {
            "backend": backend,
            "small_partitions_allowed": "1",
            "serialization_dir": str(self._home / "kept"),
        }
        return self._process.run(Request(raw, str(self._library), options, invoke=runs), _DEADLINE_S)

    def _whole(self, raw: bytes, backend: str) -> _Kept:
        key = raw, backend
        if key not in self._kept:
            folder = self._home / "kept"
            shutil.rmtree(folder, ignore_errors=True)
            first, second = self._start(raw, backend, True), self._start(raw, backend, True)
            found = sorted(folder.iterdir(), key=lambda path: path.suffix) if folder.is_dir() else []
            hit = isinstance(second, Answer) and second.cached == ["hit"]
            if not (isinstance(first, Answer) and hit and [path.suffix for path in found] == [ENDING, VERDICTS]):
                raise RunFailed(
                    "fill a cache", f"the second start does not hit: {second}", "run the tests of the cache"
                )
            outputs = [output.tobytes() for output in first.outputs]
            plan, verdicts = found
            self._kept[key] = _Kept(plan.name, plan.read_bytes(), outputs, (verdicts.name, verdicts.read_bytes()))
        return self._kept[key]


def first_files(library: Path, models: dict[str, bytes]) -> list[bytes]:
    """The plans' files that this delegate leaves for the small models among `models`, on each backend."""
    fuzzer = Cache(library)
    try:
        return [fuzzer._whole(models[name], backend).file for name in _MODELS for backend in _BACKENDS]
    finally:
        fuzzer.close()


def from_folder(folder: Path, words: dict[str, Any]) -> Case:
    """The case of a finding that was kept. The key in its file is that of the library that made it: with another
    one it is a miss."""
    raw, file = ((folder / name).read_bytes() for name in ("model.tflite", "cached.quadra"))
    return Case(name=folder.name, raw=raw, file=file, **words)


def _in_short(said: str) -> str:
    """A reason without its numbers and names, and without what a driver says."""
    words = ": ".join(said.split("; ")[0].split(": ")[:2]).split()
    short = ["…" if any(c.isdigit() or c in "_'" for c in word) else word for word in words]
    return " ".join(word for word, last in zip(short, ["", *short]) if not word == last == "…")


def _case(damage: str, file: bytes, hashed: bool = False, runs: bool = True, fresh: bool = False) -> Case:
    return Case("", "", "", b"", damage, hashed, runs, fresh, file)


# --- hashes that do not fit: everything is seen


def _without_hashes(chosen: random.Random, file: bytes, other: bytes) -> Case:
    name = chosen.choice(sorted(_RAW))
    return _case(name, _RAW[name](chosen, file, other))


def _flipped(chosen: random.Random, file: bytes, other: bytes) -> bytes:
    data = bytearray(file)
    for _ in range(chosen.choice((1, 1, 2, 8))):
        data[chosen.randrange(len(data))] ^= 1 << chosen.randrange(8)
    return bytes(data)


def _header(chosen: random.Random, file: bytes, other: bytes) -> bytes:
    data = bytearray(file)
    struct.pack_into("<I", data, chosen.randrange(HEADER_BYTES // 4) * 4, chosen.choice(_EDGES))
    return bytes(data)


def _other_header(chosen: random.Random, file: bytes, other: bytes) -> bytes:
    return other[:HEADER_BYTES] + file[HEADER_BYTES:]


def _cut(chosen: random.Random, file: bytes, other: bytes) -> bytes:
    return file[: chosen.choice((0, 1, HEADER_BYTES - 1, HEADER_BYTES, chosen.randrange(len(file)), len(file) - 1))]


def _longer(chosen: random.Random, file: bytes, other: bytes) -> bytes:
    return file + chosen.choice((b"\0", b"\0" * 64, other))


def _blank(chosen: random.Random, file: bytes, other: bytes) -> bytes:
    start = chosen.randrange(len(file))
    end = min(len(file), start + chosen.choice((8, 64, 4096, len(file))))
    return file[:start] + chosen.choice((b"\0", b"\xff")) * (end - start) + file[end:]


def _joined(chosen: random.Random, file: bytes, other: bytes) -> bytes:
    at = chosen.randrange(min(len(file), len(other)))
    return file[:at] + other[at:]


_Raw = Callable[[random.Random, bytes, bytes], bytes]
_RAW: dict[str, _Raw] = {
    "flipped bits": _flipped,
    "a field of the header": _header,
    "another file's header": _other_header,
    "cut": _cut,
    "longer": _longer,
    "a blank stretch": _blank,
    "the end of another file": _joined,
}


# --- the file of verdicts


def _of_verdicts(chosen: random.Random, file: bytes, other: bytes) -> Case:
    """What is taken of one whose hashes fit may be other verdicts: such a model is loaded, and not run."""
    if chosen.random() < 0.3:
        return replace(_without_hashes(chosen, file, other), verdicts=True)
    parts = Parts.parse(file)
    times = chosen.choice((1, 1, 2, 4))
    judged = (_numbers if chosen.random() < 0.7 else _edited)(chosen, parts.plan, times)
    return replace(_case("numbers", replace(parts, plan=judged).pack(), True, False), verdicts=True)


# --- hashes that fit


def _with_hashes(chosen: random.Random, file: bytes, other: bytes) -> Case:
    parts, others = Parts.parse(file), Parts.parse(other)
    kind = chosen.randrange(10)
    if kind == 0:
        return _case("another key", replace(parts, key=_edited(chosen, parts.key, 1)).pack(), True)
    if kind == 1:
        return _case("another file's plan", replace(parts, plan=others.plan).pack(), True, runs=False)
    if kind == 2:
        return _case("another file's binaries", replace(parts, binaries=others.binaries).pack(), True, fresh=True)
    if kind == 3:
        binaries = chosen.choice((b"", b"\0" * 8, parts.binaries[: chosen.randrange(len(parts.binaries))]))
        return _case("cut binaries", replace(parts, binaries=binaries).pack(), True, runs=False)
    if kind == 4:
        # Its tables only: they are at the front, and the driver's bytes behind them.
        tables = min(len(parts.binaries), 48)
        binaries = _edited(chosen, parts.binaries[:tables], 2) + parts.binaries[tables:]
        return _case("binaries' tables", replace(parts, binaries=binaries).pack(), True, runs=False)
    if kind == 5:
        magic, form, order, pointer = parts.fixed
        fixed = chosen.choice(((magic, form + 1, order, pointer), (magic, form, ~order & 0xFFFFFFFF, pointer), (magic, form, order, 12 - pointer)))  # fmt: skip
        return _case("another format", replace(parts, fixed=fixed).pack(), True)
    if kind == 6:
        return _case(
            "a cut plan", replace(parts, plan=parts.plan[: chosen.randrange(len(parts.plan))]).pack(), True, False
        )
    edit = _numbers if kind < 9 else _edited
    plan = edit(chosen, parts.plan, chosen.choice((1, 1, 2, 4)))
    return _case(
        "numbers of the plan" if kind < 9 else "bytes of the plan", replace(parts, plan=plan).pack(), True, False
    )


def _edited(chosen: random.Random, data: bytes, times: int) -> bytes:
    made = bytearray(data)
    for _ in range(times):
        made[chosen.randrange(len(made))] = chosen.choice((0, 1, 0x7F, 0x80, 0xFF, chosen.randrange(256)))
    return bytes(made)


def _numbers(chosen: random.Random, plan: bytes, times: int) -> bytes:
    """Small numbers become others: indexes, offsets, sizes, counts, kinds."""
    made = bytearray(plan)
    for _ in range(times):
        for _ in range(200):
            at = chosen.randrange(len(plan) // 4) * 4
            (value,) = struct.unpack_from("<I", plan, at)
            if value < 1 << 16 or value > (1 << 32) - 256:
                near = (value + 1, value - 1, 2 * value, value // 2)
                struct.pack_into("<I", made, at, chosen.choice((*near, *_EDGES)) & 0xFFFFFFFF)
                break
    return bytes(made)
