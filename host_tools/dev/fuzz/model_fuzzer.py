"""Mutated models: by the interpreter alone, and then with the delegate on null, OpenCL and OpenGL ES.

What the interpreter alone does not survive says nothing about the delegate. A crash or a hang that only the delegate
brings is a finding, and so are wrong numbers where the interpreter's own do not depend on rounding.
"""

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from host_tools.dev.fuzz import edits, mutations, seeds
from host_tools.dev.fuzz.edits import Edit
from host_tools.dev.fuzz.finding import Finding, minimise
from host_tools.dev.fuzz.fuzz_process import INTERPRETER, Answer, Ended, Request
from host_tools.dev.fuzz.fuzzer import Fuzzer
from host_tools.judge import compare
from host_tools.request import model_tree
from host_tools.request.from_arguments import TARGETS
from host_tools.request.model_tree import CannotPack

_ALONE_S, _WITH_S = 5.0, 20.0  # what a run may take
_TOLERANCE, _LIMIT = 1e-4, 1e-2  # of an output's range
_NOISE_FACTOR = 10.0
_HUGE = 1e30  # what comes near the end of floats overflows in another order on a GPU
_TRIES = 60  # to make a finding small
_ON_GPU = 0.3  # of the cases, on each API: their compilers take most of the time
_FLOAT32 = schema.TensorType.FLOAT32
_INTEGERS = (schema.TensorType.INT8, schema.TensorType.UINT8, schema.TensorType.INT4, schema.TensorType.INT2)
_REFUSED_ON_GPU = 0.1  # of what the interpreter refuses


@dataclass(frozen=True)
class Setup:
    """How the delegate is asked. target: a name of host_tools/request/targets; empty: the device's own."""

    backend: str
    target: str = ""
    precision: str = "f32"
    max_delegated_partitions: str = "0"

    def options(self) -> dict[str, str]:
        path = {"target": str(TARGETS / f"{self.target}.json")} if self.target else {}
        return {
            "backend": self.backend,
            "precision": self.precision,
            "max_delegated_partitions": self.max_delegated_partitions,
            "small_partitions_allowed": "1",
            **path,
        }

    def __str__(self) -> str:
        return f"{self.backend}, target {self.target or 'its own'}, {self.precision}, partitions {self.max_delegated_partitions}"


@dataclass(frozen=True)
class Case:
    """A model, and how it is run."""

    name: str
    source: str  # of the seed
    raw: bytes  # the seed's file
    changes: tuple[Edit, ...]
    setups: tuple[Setup, ...]
    seed: int  # of the inputs
    resized: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    on_gpu_too: bool = False  # also where the interpreter refuses it

    def file(self) -> bytes:
        return edits.apply(self.raw, self.changes)

    def files(self) -> dict[str, bytes]:
        return {"model.tflite": self.file()}

    def words(self) -> dict[str, Any]:
        """What case.json says; from_folder reads it."""
        resized = {str(number): list(shape) for number, shape in self.resized.items()}
        return {"setups": [asdict(one) for one in self.setups], "seed": self.seed, "resized": resized}

    def __str__(self) -> str:
        how = f"{self.source}, {'; '.join(map(str, self.changes)) or 'unchanged'}"
        return how + (f"; inputs resized to {dict(self.resized)}" if self.resized else "")


class Models(Fuzzer):
    """The fuzzer of models. counts: what came of the cases."""

    def __init__(self, library: Path) -> None:
        super().__init__(library, processes=2)
        self._alone, self._with = self._processes

    def cases(self, seed: int) -> Iterator[Case]:
        """Cases without end; the same for the same seed (and the same models)."""
        files = seeds.load()
        names, number = list(files), 0
        while True:
            chosen = random.Random(f"{seed}/{number}")
            source = chosen.choice(names)
            yield _case(f"{seed}-{number}", source, files[source], chosen)
            number += 1

    def run_case(self, case: Case) -> Finding | None:
        try:
            return super().run_case(case)
        except CannotPack:
            self.counts["not a model"] += 1
            return None

    def minimise(self, finding: Finding) -> Finding:
        """The same finding with as few edits and nodes as show it."""
        case = finding.case

        def same(smaller: Case) -> Finding | None:
            try:
                found = self._try(smaller, Counter())
            except CannotPack:
                return None
            return found if found and (found.kind, found.place) == (finding.kind, finding.place) else None

        changes = minimise(case.changes, lambda some: bool(same(replace(case, changes=tuple(some)))), _TRIES)
        case = replace(case, changes=tuple(changes))
        nodes = _nodes(case)
        kept = minimise(nodes, lambda some: bool(same(_without(case, nodes, some))), _TRIES)
        return same(_without(case, nodes, kept)) or same(case) or finding

    def _try(self, case: Case, counts: Counter[str]) -> Finding | None:
        model = case.file()
        counts["cases"] += 1
        request = Request(model, seed=case.seed, resized=case.resized, twice=True)
        alone = self._alone.run(request, _ALONE_S)
        if isinstance(alone, Ended):
            counts[f"a {alone.kind} of the interpreter alone"] += 1
            return None
        if _lacks_an_output(model):
            counts["an absent output, which the interpreter survives with no delegate"] += 1
            return None
        counts["refused by the interpreter" if alone.error else "run by the interpreter"] += 1
        for setup in case.setups:
            if alone.error and setup.backend != "null" and not case.on_gpu_too:
                continue
            one = replace(case, setups=(setup,))
            got = self._with.run(
                replace(request, library=str(self._library), options=setup.options(), twice=False), _WITH_S
            )
            if isinstance(got, Ended) and got.place == INTERPRETER:
                # Alone it writes there, too: within its arena, where no sanitizer sees it.
                counts["a report of the interpreter beside the delegate"] += 1
                return None
            if isinstance(got, Ended):
                return Finding(one, got.kind, got.place, f"{setup}\n{case}\n{got.text}")
            self._count(alone, got, setup, counts)
            wrong = self._wrong(one, request, alone, got)
            if wrong:
                return Finding(one, "wrong", setup.backend, f"{setup}\n{case}\n{wrong}")
        return None

    @staticmethod
    def _count(alone: Answer, got: Answer, setup: Setup, counts: Counter[str]) -> None:
        if got.on_gpu and got.outputs:
            counts[f"run on {setup.backend}"] += 1
        if got.error and not alone.error and setup.backend != "null":
            counts[f"refused on {setup.backend} alone"] += 1

    def _wrong(self, case: Case, request: Request, alone: Answer, got: Answer) -> str:
        """What is wrong with the numbers, where there are any that can be judged."""
        (setup,) = case.setups
        if not got.outputs or not alone.outputs or not got.on_gpu or setup.precision != "f32":
            return ""
        wrong = difference(alone, got)
        if not wrong:
            return ""
        model = model_tree.unpack(request.model)
        if not is_sound(model) or has_integer_weights(model):
            return ""
        other = self._alone.run(replace(request, kernels="BUILTIN", twice=False), _ALONE_S)
        if isinstance(other, Ended) or other.error or difference(alone, other):
            return ""  # TFLite's own kernels do not agree either
        return wrong


def from_folder(folder: Path, words: dict[str, Any]) -> Case:
    """The case of a finding that was kept."""
    resized = {int(number): tuple(shape) for number, shape in words["resized"].items()}
    setups = tuple(Setup(**one) for one in words["setups"])
    return Case(
        folder.name, folder.name, (folder / "model.tflite").read_bytes(), (), setups, words["seed"], resized, True
    )


def _lacks_an_output(raw: bytes) -> bool:
    """Whether an output of a graph is tensor -1: the interpreter's partitioning, which every delegate needs (XNNPACK,
    too), then writes before a vector. No delegate is told the outputs beforehand."""
    try:
        graphs = model_tree.unpack(raw).subgraphs or ()
        return any(int(output) < 0 for graph in graphs for output in (() if graph.outputs is None else graph.outputs))
    except Exception:  # no tree: whatever a bad offset leads to
        return False


def is_sound(model: Any) -> bool:
    """Whether each tensor has its value from one place, and before it is read: else the numbers are nobody's."""
    return all(_is_sound(model, graph) for graph in model.subgraphs)


def _is_sound(model: Any, graph: Any) -> bool:
    constants = {i for i, tensor in enumerate(graph.tensors) if model.buffers[tensor.buffer].data}
    known = constants | {*(graph.inputs or [])}
    if any(tensor.isVariable for tensor in graph.tensors) or constants & {*(graph.inputs or [])}:
        return False
    for node in graph.operators or []:
        if not {i for i in node.inputs or [] if i != -1} <= known or {*(node.outputs or [])} & known:
            return False
        known |= {*(node.outputs or [])}
    return {*(graph.outputs or [])} <= known


def has_integer_weights(model: Any) -> bool:
    """Whether a node of floats has weights of integers: TFLite's kernels round its source to 8 bits, too, and each
    error of that is larger than what is allowed here."""
    return any(
        graph.tensors[node.inputs[0]].type == _FLOAT32 and graph.tensors[node.inputs[1]].type in _INTEGERS
        for graph in model.subgraphs
        for node in graph.operators or []
        if node.inputs is not None and len(node.inputs) > 1
    )


def _case(name: str, source: str, raw: bytes, chosen: random.Random) -> Case:
    model = model_tree.unpack(raw)
    changes: list[Edit] = []
    while not changes:
        changes = mutations.some(model, raw, chosen)
    targets = ["", *sorted(path.stem for path in TARGETS.glob("*.json"))]
    setups = [Setup("null", chosen.choice(targets[1:]), chosen.choice(["f32", "f32_f16", "f16"]), _partitions(chosen))]
    setups += [_on_gpu(backend, targets, chosen) for backend in ("opencl", "gles") if chosen.random() < _ON_GPU]
    resized = _resized(model, chosen) if chosen.random() < 0.15 else {}
    on_gpu_too = chosen.random() < _REFUSED_ON_GPU
    return Case(name, source, raw, tuple(changes), tuple(setups), chosen.getrandbits(32), resized, on_gpu_too)


def _on_gpu(backend: str, targets: list[str], chosen: random.Random) -> Setup:
    precision = chosen.choice(["f32", "f32", "f32", "f32_f16", "f16"])
    return Setup(backend, chosen.choice(["", "", *targets]), precision, _partitions(chosen))


def _partitions(chosen: random.Random) -> str:
    return chosen.choice(["0", "0", "0", "1", "2"])


def _resized(model: Any, chosen: random.Random) -> dict[int, tuple[int, ...]]:
    graph = model.subgraphs[0]
    if not graph.inputs:
        return {}
    number = chosen.randrange(len(graph.inputs))
    shape = list(graph.tensors[graph.inputs[number]].shape or [])
    if shape:
        axis = chosen.randrange(len(shape))
        shape[axis] = chosen.choice([0, 1, 2, shape[axis] + 1, 2 * shape[axis], 17])
    return {number: tuple(shape)}


def _nodes(case: Case) -> list[Edit]:
    """An edit for each node that leaves it out, the last first, so that the others keep their places."""
    try:
        model = model_tree.unpack(case.file())
    except Exception:  # changed bytes may be no tree at all
        return []
    graphs = enumerate(model.subgraphs or [])
    places = [("subgraphs", g, "operators", i) for g, graph in graphs for i in range(len(graph.operators or []))]
    return [Edit("delete", place) for place in reversed(places)]


def _without(case: Case, nodes: Sequence[Edit], kept: Sequence[Edit]) -> Case:
    """The case as a file of its own that has only the nodes that `kept` names."""
    leave_out = [edit for edit in nodes if edit not in kept]
    if not leave_out:
        return case
    return replace(case, changes=(*case.changes, *leave_out)) if not _has_bytes(case) else _baked(case, leave_out)


def _has_bytes(case: Case) -> bool:
    return any(edit.kind == "byte" for edit in case.changes)


def _baked(case: Case, more: list[Edit]) -> Case:
    """Offsets of bytes are of the file as it was, so it is written before nodes go."""
    return replace(case, raw=case.file(), source=str(case), changes=tuple(more))


def difference(alone: Answer, got: Answer) -> str:
    """The first output that is wrong, in words. What is no float is not judged: a last bit may move any of it."""
    if len(alone.outputs) != len(got.outputs):
        return f"{len(got.outputs)} outputs, the interpreter alone has {len(alone.outputs)}"
    for i, (want, have) in enumerate(zip(alone.outputs, got.outputs)):
        allowed = _allowed(alone, i)
        if want.dtype != np.float32 or allowed is None:
            continue
        problem = compare.problem(have, want, allowed)
        if problem:
            return f"output {i} {problem}"
    return ""


def _allowed(alone: Answer, i: int) -> float | None:
    """What an output may be off, of its range; None: nothing can be said."""
    want, again, nudged = alone.outputs[i], alone.again[i], alone.nudged[i]
    if not np.isfinite(want).all() or np.abs(want, dtype=np.float64).max(initial=0) > _HUGE:
        return None
    if want.tobytes() != again.tobytes():
        return None
    noise = _NOISE_FACTOR * compare.distance(nudged, want)
    return max(_TOLERANCE, noise) if noise <= _LIMIT else None
