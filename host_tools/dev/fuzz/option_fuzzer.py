"""Mutated options of the delegate: key/value strings, environment variables, target files. On models that are whole, the
library works and is right, or says what is wrong: it does not crash, and it answers in time."""

import json
import random
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from host_tools.dev.fuzz import model_fuzzer, seeds
from host_tools.dev.fuzz.finding import Finding, minimise
from host_tools.dev.fuzz.fuzz_process import Answer, Ended, Request
from host_tools.dev.fuzz.fuzzer import Fuzzer
from host_tools.request.from_arguments import TARGETS

_TRIES = 60
_DEADLINE_S = 20.0
_MODELS = (
    "vector-graph-chain",
    "vector-graph-squeeze_excite",
    "vector-graph-residual",
    "vector-conv_2d-sparse_float16_weights",
)
OPTIONS: dict[str, tuple[str, ...]] = {
    "backend": ("auto", "opencl", "gles", "null", "null", "null", "vulkan", "opencl "),
    "precision": ("f32", "f32_f16", "f16", "F32", "f64"),
    "dump_dir": ("dump", "dump/a/b", "/proc/quadra", "/dev/null/x", "dump/" + "d" * 300),
    "profile": ("0", "1", "2", "true", "maybe"),
    "max_delegated_partitions": ("0", "1", "2", "1000", "1001", "-1", "0x1", "1e3", " 1"),
    "quantized_models_allowed": ("0", "1", "2", "no"),
    "dump_tensors": ("0", "1", "2", "no"),
    "is_precision_loss_allowed": ("-1", "0", "1", "2"),
    "inference_preference": ("fast_single_answer", "balanced", "1", "3"),
    "inference_priority1": ("auto", "min_latency", "min_memory_usage", "3", "4"),
    "inference_priority2": ("auto", "max_precision", "min_latency", "1"),
    "inference_priority3": ("auto", "max_precision", "min_memory_usage"),
    "min_nodes_per_partition": ("0", "1", "2", "1000000", "-1"),
    "small_partitions_allowed": ("0", "1", "2"),
    "first_delegate_node_index": ("0", "1", "2", "2147483647", "2147483648"),
    "last_delegate_node_index": ("0", "1", "-1", "2147483647"),
    "serialization_dir": ("", "dump", "dump/a/b", "/proc/quadra", "/dev/null"),
    "model_token": ("", "a", "../a", "t" * 200),
    "float32_nodes": ("", "0", "1-3,7", "0-99999", "3-1", "1,", "x"),
    "tuning": ("none", "fast", "exhaustive", "1", "3", ""),
    "self_check": ("0", "1", "2", "yes"),
    "states": ("", "+", "=", "x", "x+=", "a=b", "+" * 300, "%s"),
    "cache_limit_mib": ("0", "1", "1048576", "1048577", "-1"),
    "opencl_library": ("", "/nowhere/libOpenCL.so", "/dev/null", "/", "libc.so.6", "libEGL.so.1"),
    "egl_library": ("", "/nowhere/libEGL.so", "/dev/null", "/", "libc.so.6", "libOpenCL.so.1"),
    "debug": ("0", "1", "5", "6", "-1"),
    "target": ("/nowhere.json", "/", "/dev/null", "/proc/self/mem", "."),
}
OTHER_KEYS = {"experimental_flags": ("0", "1", "3", "6", "15", "16"), "max_partitions": ("0", "1")}
# Any of these may round as half does.
_PRECISION = ("precision", "is_precision_loss_allowed", *(f"inference_priority{i}" for i in (1, 2, 3)))
_STRINGS = ("", " ", "\0", "auto\0x", "\n", "%s%n%d", "a" * 100000, "\U0001f600" * 300, "-1", "1.5", "1e99", "nan", "9" * 40,
            "-9223372036854775808", "18446744073709551616", "../" * 2000)  # fmt: skip
NUMBERS = ("max_work_group_size", "local_memory_bytes", "max_buffer_bytes", "buffer_alignment_bytes", "max_image_buffer_width",
           "image_pitch_alignment", "image_base_alignment", "image_row_bytes",
           "max_storage_blocks", "max_image_units", "max_output_resources", "max_texture_units", "vector_width",
           "vector_registers", "enough_work_items", "winograd_channels", "winograd_tiles",
           "trips_per_second", "flat_group", "flush_every")  # fmt: skip
LISTS = {"max_work_group": 3, "max_image2d": 2, "max_groups": 3}
FLAGS = ("supports_fp16", "reads_buffers_as_images", "has_timer_queries", "shares_sums", "one_program",
         "separate_buffers", "whole_buffers", "shares_host_memory", "compiles_at_dispatch")  # fmt: skip
WORDS = ("name", "why", "vendor", "api", "opencl_version", "device_name", "driver", "api_version", "storage",
         "image_memory")  # fmt: skip
OTHERS = ("extensions", "quirks")
QUIRKS = ("compiler_starts_slowly", "storage_blocks_are_read_slowly", "images_over_parts_of_buffers_are_wrong",
          "image_pitch_is_told_in_bytes", "lanes_lie_along_x_only", "half_arithmetic_is_emulated",
          "timer_queries_count_nothing", "machine_code_is_made_at_dispatch", "compiler_crashes_in_threads",
          "memory_checker_sees_whole_buffers", "parts_of_buffers_are_slow")  # fmt: skip
_INTEGERS = (0, 1, 2, 3, 5, 7, 8, 12, 16, 100, 127, 1000, 4096, 65535, 65536, (1 << 30) + 1, (1 << 31) - 1, 1 << 31,
             (1 << 32) - 1, 1 << 40, (1 << 63) - 1, 1 << 64, -1, -(1 << 31), -(1 << 63))  # fmt: skip
_ODD: tuple[Any, ...] = (0.5, 1e300, -0.0, "", "4", None, True, [], [1], {}, {"a": {"b": []}}, [[[]]])
_WORDS = ("", "opencl", "gles", "cpu", "arm", "qualcomm", "nvidia", "buffer", "image2d", "3.0", "0", "%s", "n" * 70000, "\0",
          "\ud800")  # fmt: skip
_TEXTS = (
    "[" * 100000,
    '{"a":' * 100000,
    "}",
    "\0",
    " " * 1000000,
    '"',
    "\\u12",
    "1e99999",
    "/*",
    "[1,2",
    "tru",
    "-",
    "\xff",
)


@dataclass(frozen=True)
class Change:
    """One thing that is asked otherwise. kind: option, env, target (a key of the file), without (that key), text (of the file)."""

    kind: str
    name: str
    value: Any = None

    def __str__(self) -> str:
        text = repr(self.value)
        return f"{self.kind} {self.name} {text if len(text) < 60 else text[:57] + '...'}".rstrip()


@dataclass(frozen=True)
class Case:
    """A whole model, and how the delegate is asked to run it."""

    name: str
    model: str
    raw: bytes
    target: str  # the file that target changes start from
    changes: tuple[Change, ...]

    def file(self) -> bytes | None:
        """The mutated target file; None: nothing is changed there."""
        changes = [change for change in self.changes if change.kind in ("target", "without", "text")]
        if not changes:
            return None
        keys = json.loads((TARGETS / f"{self.target}.json").read_text())
        for change in changes:
            if change.kind == "target":
                keys[change.name] = change.value
            elif change.kind == "without":
                keys.pop(change.name, None)
        text = json.dumps(keys)
        for change in changes:
            if change.kind == "text":
                cut = int(change.name) % (len(text) + 1)
                text = text[:cut] + change.value + text[cut:]
        return text.encode("utf-8", "surrogatepass")

    def options(self, target: Path) -> dict[str, str]:
        """What the delegate is created with. Plans are made for nothing, unless a backend is asked for."""
        mutated = {change.name: change.value for change in self.changes if change.kind == "option"}
        path = {"target": str(target)} if self.file() is not None else {}
        return {"backend": "null", **path, **mutated}

    def env(self) -> dict[str, str]:
        return {change.name: change.value for change in self.changes if change.kind == "env"}

    def files(self) -> dict[str, bytes]:
        target = self.file()
        return {"model.tflite": self.raw, **({} if target is None else {"target.json": target})}

    def words(self) -> dict[str, Any]:
        """What case.json says; from_folder reads it."""
        told = [[change.kind, change.name, change.value] for change in self.changes]
        return {"model": self.model, "target": self.target, "changes": told}

    def __str__(self) -> str:
        return f"{self.model}, target {self.target}: {'; '.join(map(str, self.changes))}"


class Options(Fuzzer):
    """The fuzzer of options. counts: what came of the cases."""

    def __init__(self, library: Path) -> None:
        super().__init__(library)
        (self._process,) = self._processes
        self._expected: dict[bytes, Answer] = {}

    def cases(self, seed: int) -> Iterator[Case]:
        """Cases without end; the same for the same seed."""
        files = seeds.load()
        targets = sorted(path.stem for path in TARGETS.glob("*.json"))
        names, number = [name for name in _MODELS if name in files], 0
        while True:
            chosen = random.Random(f"{seed}/{number}")
            model = chosen.choice(names)
            yield Case(f"{seed}-{number}", model, files[model], chosen.choice(targets), tuple(_changes(chosen)))
            number += 1

    def minimise(self, finding: Finding) -> Finding:
        """The same finding with as few changes as show it."""

        def same(changes: list[Change]) -> Finding | None:
            found = self._try(replace(finding.case, changes=tuple(changes)), Counter())
            return found if found and (found.kind, found.place) == (finding.kind, finding.place) else None

        return same(minimise(finding.case.changes, lambda some: bool(same(some)), _TRIES)) or finding

    def _try(self, case: Case, counts: Counter[str]) -> Finding | None:
        counts["cases"] += 1
        target, text = self._home / "target.json", case.file()
        if text is not None:
            target.write_bytes(text)
        expected = self._alone(case.raw)
        if isinstance(expected, Ended):
            counts[f"a {expected.kind} of the interpreter alone"] += 1
            return None
        request = Request(case.raw, str(self._library), case.options(target), case.env())
        got = self._process.run(request, _DEADLINE_S)
        shutil.rmtree(self._home / "dump", ignore_errors=True)
        if isinstance(got, Ended):
            return Finding(case, got.kind, got.place, f"{case}\n{got.text}")
        came = "answered with an error" if got.error else "run"
        counts["planned, for no device" if got.on_gpu and got.backend == "null" else came] += 1
        asked = {name.lower().removeprefix("quadra_") for name in (*request.options, *request.env)}
        precise = asked.isdisjoint(_PRECISION)
        wrong = model_fuzzer.difference(expected, got) if got.outputs and precise else ""
        return Finding(case, "wrong", got.backend, f"{case}\n{wrong}") if wrong else None

    def _alone(self, raw: bytes) -> Answer | Ended:
        if raw not in self._expected:
            found = self._process.run(Request(raw, twice=True), _DEADLINE_S)
            if isinstance(found, Ended):
                return found  # a busy machine may have been why: it is asked again
            self._expected[raw] = found
        return self._expected[raw]


def from_folder(folder: Path, words: dict[str, Any]) -> Case:
    """The case of a finding that was kept."""
    changes = tuple(Change(*one) for one in words["changes"])
    return Case(folder.name, words["model"], (folder / "model.tflite").read_bytes(), words["target"], changes)


def _changes(chosen: random.Random) -> list[Change]:
    made = []
    if chosen.random() < 0.75:
        made += [_of_target(chosen) for _ in range(chosen.choice([1, 1, 2, 3, 6]))]
    if not made or chosen.random() < 0.4:
        made += [_of_options(chosen) for _ in range(chosen.choice([1, 1, 2, 4]))]
    if chosen.random() < 0.1:
        made.append(Change("option", "backend", chosen.choice(["opencl", "gles", "auto"])))
    return made


def _of_options(chosen: random.Random) -> Change:
    name = chosen.choice(
        [*OPTIONS, *OTHER_KEYS, "backend", "precision", "max_delegated_partitions", "", "speed", "BACKEND", "a" * 5000]
    )
    value = chosen.choice([*{**OPTIONS, **OTHER_KEYS}.get(name, ()), chosen.choice(_STRINGS)])
    if chosen.random() < 0.3 and name and "\0" not in value:
        return Change("env", f"QUADRA_{name.upper()}", value)
    return Change("option", name, value)


def _of_target(chosen: random.Random) -> Change:
    kind = chosen.randrange(20)
    if kind == 0:
        return Change("text", str(chosen.randrange(1000)), chosen.choice(_TEXTS))
    if kind == 1:
        return Change("without", chosen.choice([*NUMBERS, *LISTS, *WORDS]))
    name = chosen.choice([*NUMBERS, *NUMBERS, *LISTS, *LISTS, *FLAGS, *WORDS, *OTHERS, "colour"])
    return Change("target", name, chosen.choice(_ODD) if kind == 2 else _value(name, chosen))


def _value(name: str, chosen: random.Random) -> Any:
    if name in NUMBERS:
        return chosen.choice(_INTEGERS)
    if name in LISTS:
        count = LISTS[name] + chosen.choice([0, 0, 0, 0, 0, 0, -1, 1])
        return [chosen.choice(_INTEGERS) for _ in range(count)]
    if name in FLAGS:
        return chosen.random() < 0.5
    if name == "extensions":
        return [chosen.choice(["cl_khr_fp16", "GL_EXT_texture_buffer", *_WORDS]) for _ in range(3)]
    if name == "quirks":
        return {chosen.choice([*QUIRKS, "", "unknown"]): chosen.choice([True, True, False, 1])}
    return chosen.choice(_WORDS)
