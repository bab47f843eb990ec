"""`inv bisect`: runs a model with all its tensors kept, finds the first op that is wrong, and cuts it out.

The folder of the run gets bisect.json and bisect/: the op as a model, and its inputs.
"""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import structs

from host_tools.base.errors import JudgementFailed, Misuse, QuadraError
from host_tools.base.short_names import short
from host_tools.judge import compare, judged, tensor_errors
from host_tools.judge.tensor_errors import HALF_MAX, Tensors
from host_tools.places import on_host
from host_tools.places.attempt import Attempt
from host_tools.places.place import Place, Show
from host_tools.record import run_folder, schema, spec as specs
from host_tools.record.kept_tensors import Kept
from host_tools.record.run_folder import RunFolder
from host_tools.record.spec import RunSpec
from host_tools.request import delegate_options, from_arguments, signatures
from host_tools.request.run_options import RunOptions
from host_tools.request.submodel import Cutter, Part, as_model_has
from host_tools.run import requested

_NAME = 32  # columns of a tensor's name in a sentence

FOLDER = "bisect"
MODEL = f"{FOLDER}/wrong_op.tflite"
INPUTS = f"{FOLDER}/inputs"
_MOST_ALONE = 400  # ops that the CPU runs by themselves
_WIDER = 3  # times that a part which is right by itself is cut with more of what comes before it


@dataclass(frozen=True)
class Other:
    """What `--against` names instead of the CPU."""

    words: str
    spec: RunSpec
    place: Place


def asked(options: RunOptions, against: str) -> Iterator[tuple[RunSpec, Place, Other | None]]:
    """What is looked into, one after the other: the run, where, and what to compare it with; None: the CPU."""
    for one in from_arguments.each(options):
        spec, place = _one(one)
        changes: dict[str, Any] = dict(parse_against(against))
        yield spec, place, Other(against, *_one(replace(one, **changes))) if changes else None


def _one(options: RunOptions) -> tuple[RunSpec, Place]:
    spec, places = from_arguments.spec_of(options), requested.places(options)
    if len(places) != 1:
        raise Misuse(f"read --on {options.on!r}", f"it means {len(places)} places", "give one")
    return spec, places[0]


def parse_against(words: str) -> dict[str, str]:
    """`backend=gles,precision=f16` as a dict; `cpu` or nothing: empty."""
    known = ("backend", "precision", "target", "on", "library")
    pairs = [pair.partition("=") for pair in words.split(",") if pair and pair != "cpu"]
    for key, _, value in pairs:
        if key not in known or not value:
            came_back = f"{key!r} is not one of {', '.join(known)} with a value"
            raise Misuse("read --against", came_back, "e.g. --against backend=gles")
    return {key: value for key, _, value in pairs}


def run(
    spec: RunSpec, place: Place, other: Other | None, show: Show, tolerance: float = 0.0
) -> tuple[RunFolder, schema.Bisect]:
    """Runs, compares, cuts. tolerance: of a tensor's range; 0: that of the precision (judge/compare.py)."""
    session = _Session(place, show, tolerance or compare.TOLERANCE[spec.options.get("precision") or "f32"])
    mine = session.keep(spec, place)
    theirs = session.keep(other.spec, other.place) if other else None
    found = session.find(mine, theirs, other.words if other else "cpu")
    if found.row >= 0:
        session.cut(mine, found)
    if found.reproduced is False:
        found.kind = "unknown"
        found.sentence += "; cut out, it is right: rounding, or a fault that needs what is around it"
    run_folder.write_json(mine.folder.path / schema.Bisect.FILE, found)
    return mine.folder, found


def own_errors(spec: RunSpec, place: Place, show: Show) -> dict[int, float]:
    """By node, how far its result is from what the CPU makes of the GPU's own inputs, of the result's range."""
    session = _Session(place, show, tolerance=1e30)
    run = session.keep(spec, place)
    rows = tensor_errors.rows(run, run.reference(), session.tolerance)
    session.alone(run, rows, [row.tensor for row in rows if row.nodes])
    return {node: float(row.alone) for row in rows if row.alone is not None for node in row.nodes}


def fail_if_wrong(found: schema.Bisect) -> None:
    """JudgementFailed unless all is right."""
    if found.kind not in ("none", "model"):
        raise JudgementFailed("find the wrong op", found.sentence, found.command or "see the table")


class _Session:
    """The runs and comparisons of one search."""

    def __init__(self, place: Place, show: Show, tolerance: float) -> None:
        self.place, self.show, self.tolerance = place, show, tolerance

    def keep(self, spec: RunSpec, place: Place) -> Tensors:
        """One run with all tensors kept, and the CPU's beside them."""
        place.prepare()
        kept = structs.replace(spec, keep_tensors=True, repetitions=1, peers=(), profile=False, cold=False)
        folder = place.run(place.aim(kept), self.show)
        judged.Judged(folder).check_backend()
        self.show("run the CPU with all tensors kept")
        self._cpu(folder, "all")
        return tensor_errors.read(folder)

    def _cpu(self, folder: RunFolder, what: str, *words: str) -> None:
        argv, env = on_host.python_command("host_tools.places.cpu_tensors", what, folder.path, *words)
        Attempt(folder.path, folder.spec(), self.show).start(f"cpu_tensors {what}", argv, env)

    def alone(self, run: Tensors, rows: list[schema.BisectRow], tensors: Sequence[int]) -> int:
        """The first row of `tensors` that is wrong by itself; -1: none is."""
        if not tensors:
            return -1
        self.show("run suspected ops by themselves on the CPU")
        self._cpu(run.folder, "alone", repr(self.tolerance), ",".join(map(str, tensors[:_MOST_ALONE])))
        return tensor_errors.judge_alone(run, rows, self.tolerance)

    def find(self, run: Tensors, other: Tensors | None, against: str) -> schema.Bisect:
        reference = {one.tensor: one.numbers() for one in other.kept} if other else run.reference()
        rows = tensor_errors.rows(run, reference, self.tolerance)
        first = self.alone(run, rows, tensor_errors.suspects(rows))
        ops, compared = tensor_errors.coverage(run.folder, rows)
        found = schema.Bisect(against=against, tolerance=self.tolerance, ops=ops, compared=compared, rows=rows,
                              kind="none", row=first, sentence="")  # fmt: skip
        if found.row >= 0:
            found.kind, found.sentence = self._kind(run, rows, found.row)
        elif any(row.problem for row in rows):
            found.kind, found.sentence = self._accumulated(run, rows, other, against)
        else:
            found.kind, found.sentence = self._none_wrong(run, rows)
        return found

    def _kind(self, run: Tensors, rows: list[schema.BisectRow], index: int) -> tuple[schema.Fault, str]:
        """What kind of fault the row is, and why."""
        row = rows[index]
        where = f"{_where(row)} {row.alone_problem}"
        if not row.nodes:
            where = (
                f"the input '{short(row.name, _NAME)}' is corrupted on upload ({row.dispatch}): it {row.alone_problem}"
            )
        where += ", on its own inputs"
        precision = run.folder.spec().options.get("precision") or "f32"
        if precision == "f32":
            return ("kernel" if row.nodes else "input"), where + "; its kernel computes with floats"
        largest = tensor_errors.largest_alone(run, row.tensor)
        floats = _Session(self.place, self.show, self.tolerance)
        spec = run.folder.spec()
        exact = floats.keep(structs.replace(spec, options={**spec.options, "precision": "f32"}), self.place)
        of_floats = tensor_errors.rows(exact, {}, self.tolerance)
        if any(r.tensor == row.tensor for r in of_floats) and floats.alone(exact, of_floats, [row.tensor]) < 0:
            over = f": {largest:.6g} on the CPU, and float16's maximum is {HALF_MAX:g}" if largest > HALF_MAX else ""
            return "precision", f"{where}; with precision=f32 it is right{over}"
        return ("kernel" if row.nodes else "input"), where + "; with precision=f32 it is wrong, too"

    def _accumulated(
        self, run: Tensors, rows: list[schema.BisectRow], other: Tensors | None, against: str
    ) -> tuple[schema.Fault, str]:
        """Of a run whose tensors differ, though each of its ops is right on its own inputs."""
        off = [row for row in rows if row.problem]
        count = f"{len(off)} tensors are off, first" if len(off) > 1 else "one tensor is off,"
        where = f"{count} {_where(off[0])}, which {off[0].problem}"
        if other:
            mine = tensor_errors.rows(other, {}, self.tolerance)
            theirs = self.alone(other, mine, tensor_errors.suspects(mine))
            if theirs >= 0:
                bad = mine[theirs]
                told = f"of {against} {_where(bad)} {bad.alone_problem}, on its own inputs"
                return "accumulated", f"no op of this run is wrong by itself, but {told}; of this run {where}"
        known = [row for row in rows if row.alone is not None]
        worst = max(known, key=lambda row: float(row.alone or 0.0), default=None)
        most = f" (the largest error of one is {float(worst.alone or 0):.2g}, of {worst.dispatch})" if worst else ""
        if not other and judged.judge(run.folder).ok:
            each = f"the outputs are within their tolerances, and each op is right on its own inputs{most}"
            return "none", f"{each}. Rounding errors add up between the ops and stay harmless: {where}"
        return "accumulated", f"each op is right on its own inputs{most}, but their errors add up: {where}"

    def _none_wrong(self, run: Tensors, rows: list[schema.BisectRow]) -> tuple[schema.Fault, str]:
        index, counts = tensor_errors.not_finite(run)
        if index >= 0:
            row = rows[index]
            what = f"the CPU's own result has {counts} from {_nodes(row)} on ({row.ops or 'input'}, '{short(row.name, _NAME)}')"
            return "model", f"{what}; the GPU agrees: the model or its inputs are at fault"
        outputs = judged.judge(run.folder)
        if outputs.ok is False:
            told = "; ".join(compare.problems(outputs.comparison)) if outputs.comparison else ""
            return "unknown", f"all compared tensors are right, but {told}: is it wrong every time?"
        if not any(row.compared or row.alone is not None for row in rows):
            return "unknown", f"there was nothing to compare with: {run.folder.read(schema.CpuTensors).error}"
        return "none", "every compared tensor is right"

    def cut(self, run: Tensors, found: schema.Bisect) -> None:
        """The wrong op as a model; runs it, and if it is right by itself, with more of what comes before it."""
        spec = run.folder.spec()
        values = {one.tensor: one for one in reversed(run.kept)}
        inputs = run.folder.arrays("inputs")
        content = Path(spec.model.path).read_bytes()
        entry = signatures.entry(content, spec.signature)
        cutter = Cutter(content, spec.model.name, entry.subgraph)
        given = dict(zip((tensor for _, tensor in entry.inputs), inputs))
        known = set(values)
        target = found.rows[found.row].tensor
        if not found.rows[found.row].nodes and target in given:  # an input: with the first op that reads it
            reader = (
                r.tensor for r in found.rows if r.nodes and target in cutter.before(r.tensor, known - {r.tensor}).inputs
            )
            target = next(reader, target)
        known.discard(target)
        for _ in range(_WIDER + 1):
            part = cutter.before(target, known)
            if not part.nodes:
                return
            self._write(run, cutter, part, values, given)
            found.model = MODEL
            found.command = _command(run.folder, spec)
            found.reproduced = self._reproduces(run.folder, spec)
            if found.reproduced or not set(part.inputs) & known:
                return
            known -= set(part.inputs)

    def _write(self, run: Tensors, cutter: Cutter, part: Part, values: dict[int, Kept],
               given: dict[int, np.ndarray]) -> None:  # fmt: skip
        arrays = []
        for tensor in part.inputs:
            if tensor in given:
                arrays.append(given[tensor])
                continue
            fact, one = run.facts[tensor], values[tensor]
            array = as_model_has(one.numbers(), np.dtype(fact.dtype), fact.scale, fact.zero_point)
            arrays.append(array.reshape(fact.shape))
        model = cutter.cut(part, {tensor: array.shape for tensor, array in zip(part.inputs, arrays)})
        run_folder.write_arrays(run.folder.path / INPUTS, arrays)
        (run.folder.path / MODEL).write_bytes(model)

    def _reproduces(self, folder: RunFolder, spec: RunSpec) -> bool:
        self.show("run the wrong op by itself")
        model = str(folder.path / MODEL)
        made = from_arguments.make_spec(model, arrays=_inputs(folder), repetitions=1, peers=())
        small = structs.replace(
            spec, model=made.model, inputs=made.inputs, options=delegate_options.of_part(spec.options), repetitions=1,
            peers=(), keep_tensors=False, signature="",
        )  # fmt: skip
        try:
            return judged.judge(self.place.run(self.place.aim(specs.checked(small)), self.show)).ok is False
        except QuadraError:
            return False


def _where(row: schema.BisectRow) -> str:
    return f"{row.dispatch} ({row.ops or 'input'}, {_nodes(row)}, '{short(row.name, _NAME)}')"


def _nodes(row: schema.BisectRow) -> str:
    words = ", ".join(map(str, row.nodes))
    return f"node{'s' if len(row.nodes) > 1 else ''} {words}" if words else "no node"


def _inputs(folder: RunFolder) -> str:
    """Of what was cut out; empty: it computes from constants alone."""
    return str(folder.path / INPUTS) if any((folder.path / INPUTS).glob("*.npy")) else ""


def _command(folder: RunFolder, spec: RunSpec) -> str:
    words = ["./inv", "run", str(folder.path / MODEL)]
    if inputs := _inputs(folder):
        words += ["--inputs", inputs]
    for name in ("backend", "precision", "target"):
        if spec.options.get(name):
            words += [f"--{name}", spec.options[name]]
    if more := delegate_options.words(delegate_options.of_part(spec.options)):
        words += ["--options", more]
    if spec.place != "host":
        words += ["--on", spec.device or spec.place]
    return shlex.join(words)
