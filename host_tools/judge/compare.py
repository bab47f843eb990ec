"""Judges the outputs of a run against those of the CPU interpreter. Works on run folders only.

The measure of a float output is its range on the CPU (largest minus smallest value; for an output with one value,
its magnitude): an error of 1e-4 means a ten-thousandth of that. Some outputs magnify rounding: XNNPACK, or a change of
the last bit of the inputs, moves them by as much. Three times the larger of these two is then allowed, but never more
than a hundredth of the range. Of a quantised model, where each tensor is rounded, other kernels round other numbers up:
one and a half times that distance is allowed then, at least one step of a quantised output. The measure of other
integers (labels, indices) is how many of them differ: none may, but in a quantised model as many as above.

XNNPACK opens the tolerance only as far as rounding explains its distance from the reference (`is_explained`). Of floats
that is a thousandth of the range. Kernels that round activations to 8 bits, as XNNPACK does where weights are integers,
may be off by a twentieth, by a step of a quantised output, or by three times what that rounding does to the reference's
own kernels, the latter two as root mean squares. Beyond that one of the two computes something else: this opens nothing,
and is a finding of its own. So is an output that the last bit of the inputs moves by more than a thousandth.

The largest error of a quantised model is where a few roundings met, which happens to all kernels, and elsewhere. So an
output beyond that limit is right, too, where XNNPACK is no nearer on the mean: to the CPU's, or to the floats that the
model's integers stand for (`float_outputs`), which the CPU's own integers only come near. Quadra's mean distance (of
labels, how many differ) may be one and a half times XNNPACK's, and less than a step; its largest three times. XNNPACK has
no kernels of 16 bits, and is the CPU's own there. So the largest error may be half of what rounding does to the CPU's own
numbers, as root mean square: how far these are from the floats that the integers stand for.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from host_tools.base.errors import Misuse
from host_tools.base.short_names import short
from host_tools.base.units import counted
from host_tools.judge.tolerances import Tolerance, excess, of_output, text as text_of
from host_tools.record import run_folder, schema
from host_tools.record.run_folder import RunFolder

TOLERANCE = {"f32": 1e-4, "f32_f16": 1e-2, "f16": 1e-2}
_NOISE_FACTOR, _NOISE_LIMIT = 3.0, 1e-2
UNSURE = "at the limit of float32 precision: XNNPACK, or a change of the last bit of the inputs, moves it as far"
_QUANTISED_FACTOR, _QUANTISED_LIMIT = 1.5, 0.5
_ROUNDING_SHARE = 0.5  # of what rounding does to a quantised model on the CPU
_FLOAT_ROUNDING, _INTEGER_ROUNDING = 1e-3, 5e-2  # the largest error, of the range, that rounding explains
_CPU, _FLOATS = "the CPU's numbers", "what floats give"  # views of what a quantised model should make
_NAMELESS = schema.Tensor(name="", dtype="", shape=[])
_NUMBERS = schema.Tensor(name="", dtype="", shape=[], scale=1.0)  # no labels: how far they are apart says something
_STEP_ALLOWED = 1  # of a quantised output: rounding may fall to the other side


@dataclass(frozen=True)
class OutputError:
    """How far one output is from the CPU's. Errors are absolute, in the output's own unit."""

    index: int
    name: str
    dtype: str
    shape: tuple[int, ...]
    range: float = 0.0
    max_error: float = 0.0
    mean_error: float = 0.0
    rms_error: float = 0.0  # root mean square
    relative: float = 0.0  # max_error / range; of labels, how many of them differ
    allowed: float = 0.0  # what relative may be
    worst_at: tuple[int, ...] = ()
    worst_value: float = 0.0
    worst_expected: float = 0.0
    different: int = 0  # elements that are not equal
    nan: int = 0
    inf: int = 0
    cpu_nan: int = 0
    cpu_inf: int = 0
    problem: str = ""  # empty: right
    labels: bool = False  # integers without a scale
    tolerance: tuple[float, ...] = ()  # that it was judged by instead of the rule: absolute, and of the CPU's number
    beyond: int = 0  # numbers that are further off than `tolerance` allows
    right_by: str = ""  # why it is right beyond what is allowed

    @property
    def ok(self) -> bool:
        return not self.problem


@dataclass(frozen=True)
class Comparison:
    """The judgement of a run."""

    run: str
    precision: str
    reference: str
    outputs: tuple[OutputError, ...]
    xnnpack_relative: tuple[float, ...]  # XNNPACK's own distance from the reference; empty when not known
    findings: tuple[str, ...] = ()  # about the reference: sentences
    limit: float = 0.0  # of errors that was given, instead of the rule; 0: none

    @property
    def ok(self) -> bool:
        return all(output.ok for output in self.outputs)

    @property
    def unsure(self) -> bool:
        """Whether a float output is right because of UNSURE alone."""
        floats = (o for o in self.outputs if o.ok and o.dtype == "float32" and not o.tolerance)
        return not self.limit and any(output.relative > TOLERANCE[self.precision] for output in floats)

    def to_json(self) -> dict[str, Any]:
        outputs = [{**{k: _plain(v) for k, v in asdict(o).items()}, "ok": o.ok} for o in self.outputs]
        peers = [schema.number(v) for v in self.xnnpack_relative]
        return {
            "schema_version": 1,
            "ok": self.ok,
            "reference": self.reference,
            "outputs": outputs,
            "xnnpack_relative": peers,
            "findings": list(self.findings),
        }


def compare(folder: RunFolder, tolerances: Mapping[str, Tolerance] | None = None) -> Comparison:
    """Compares outputs/ with cpu_outputs/ and writes compare.json. tolerances: by output, instead of the request's."""
    spec = folder.spec()
    tolerances = spec.tolerances if tolerances is None else tolerances
    reference = folder.optional(schema.Reference) or schema.Reference()
    if reference.error and not folder.has("cpu_outputs"):
        raise Misuse(
            f"compare the run {folder.path.name}",
            f"there is no CPU result to compare with: {reference.error}",
            "choose a model that the CPU interpreter can run",
        )
    precision = spec.options.get("precision") or "f32"
    tolerance = TOLERANCE[precision]
    ours, theirs, tensors = folder.arrays("outputs"), folder.arrays("cpu_outputs"), folder.tensors("outputs")
    if not len(ours) == len(theirs) == len(tensors):
        raise _arrays_missing(folder, f"it has {len(ours)} outputs, {len(theirs)} of the CPU, and {len(tensors)} names")
    peers: tuple[float, ...] = ()
    if folder.has("xnnpack_outputs"):
        arrays = folder.arrays("xnnpack_outputs")
        peers = tuple(measure(i, t, a, b, 1.0).relative for i, (t, a, b) in enumerate(zip(tensors, arrays, theirs)))
        if len(arrays) != len(ours):
            raise _arrays_missing(folder, f"it has {len(ours)} outputs, {len(arrays)} of XNNPACK")
    moves = tuple(map(float, reference.last_bit_moves)) or (0.0,) * len(ours)
    for listed in (moves, reference.rounding or moves):
        if len(listed) != len(ours):
            raise _arrays_missing(folder, f"it has {len(ours)} outputs, {len(listed)} of them in reference.json")
    explained = (
        [is_explained(reference, i, *one) for i, one in enumerate(zip(tensors, arrays, theirs))] if peers else []
    )
    opening = [
        peer if is_so and (reference.quantised or peer <= _FLOAT_ROUNDING) else 0.0
        for peer, is_so in zip(peers, explained)
    ]
    noises = [max(filter(np.isfinite, pair), default=0.0) for pair in zip(opening or moves, moves)]
    # An output of halfs is rounded to these, and so is what the CPU makes on the way to it.
    own = [max(tolerance, TOLERANCE["f16"]) if t.dtype == "float16" else tolerance for t in tensors]
    if reference.quantised and reference.rounding:
        by = [_ROUNDING_SHARE * float(one) for one in reference.rounding]
        own = [
            least if peer else max(least, by[i]) for i, (least, peer) in enumerate(zip(own, peers or (0.0,) * len(own)))
        ]
    limits = [allowed(least, noise, reference.quantised) for least, noise in zip(own, noises)]
    differing = [allowed(0.0, share, True) if reference.quantised else 0.0 for share in opening or (0.0,) * len(ours)]
    rows = tuple(measure(i, t, a, b, limits[i], differing[i]) for i, (t, a, b) in enumerate(zip(tensors, ours, theirs)))
    if spec.max_error:
        rows = tuple(_limited(row, spec.max_error) for row in rows)
    elif reference.quantised and peers:
        views = {_CPU: theirs} | ({_FLOATS: folder.arrays("float_outputs")} if folder.has("float_outputs") else {})
        if any(len(view) != len(ours) for view in views.values()):
            raise _arrays_missing(folder, f"it has {len(ours)} outputs, and another number of float_outputs")
        rows = tuple(
            row
            if row.ok or not explained[i]
            else _on_the_mean(row, tensors[i], ours[i], arrays[i], {k: v[i] for k, v in views.items()})
            for i, row in enumerate(rows)
        )
    rows = tuple(_within(row, ours[i], theirs[i], tolerances) for i, row in enumerate(rows))
    from_xnnpack = [0.0 if is_so else distance(ours[i], arrays[i]) for i, is_so in enumerate(explained)]
    found = _findings(reference, rows, peers, explained, from_xnnpack, moves) + _flat(rows, theirs)
    result = Comparison(folder.path.name, precision, reference.kernels, rows, peers, found, spec.max_error)
    run_folder.write_json(folder.path / "compare.json", result.to_json())
    return result


def _limited(row: OutputError, max_error: float) -> OutputError:
    """An output judged by a limit alone."""
    limited = replace(row, allowed=max_error)
    return replace(limited, problem=_problem(limited)) if limited.range else limited


def _within(row: OutputError, ours: np.ndarray, theirs: np.ndarray, tolerances: Mapping[str, Tolerance]) -> OutputError:
    """An output judged by its own tolerance, if it has one."""
    tolerance = of_output(tolerances, row.name)
    if tolerance is None or ours.shape != theirs.shape or ours.dtype != theirs.dtype or not theirs.size:
        return row
    found = excess(ours, theirs, tolerance)
    relative = row.max_error / row.range
    # `allowed` is such that `relative` is within it if and only if each number is within the tolerance.
    allowed = relative / found.share if found.share else tolerance[0] / row.range
    judged = replace(
        row, relative=relative, allowed=allowed, labels=False, right_by="", tolerance=tolerance, beyond=found.beyond
    )
    if not found.beyond:
        return replace(judged, problem="")
    at = f"at {list(found.at)} it is {float(ours[found.at]):.6g}, the CPU's {float(theirs[found.at]):.6g}"
    numbers = f"in {found.beyond} of {counted(theirs.size, 'number')}"
    return replace(judged, problem=f"is off by more than {text_of(tolerance)} {numbers}: {at}")


def _arrays_missing(folder: RunFolder, came_back: str) -> Misuse:
    return Misuse(f"compare the run {folder.path.name}", came_back, "arrays are missing: run the model again")


def is_explained(
    reference: schema.Reference, index: int, tensor: schema.Tensor, ours: np.ndarray, theirs: np.ndarray
) -> bool:
    """Whether rounding explains how far a CPU runtime's output is from the reference's."""
    row = measure(index, tensor, ours, theirs, 1.0, 1.0)
    if row.problem:
        return False
    rounds = _rounds(reference)
    moves = float(reference.last_bit_moves[index]) if reference.last_bit_moves else 0.0
    limit = _INTEGER_ROUNDING if rounds or row.labels else _FLOAT_ROUNDING
    if row.relative <= max(limit, allowed(0.0, moves, False)):
        return True
    step = _STEP_ALLOWED / row.range if tensor.scale else 0.0
    own = float(reference.rounding[index]) if reference.rounding else 0.0
    return rounds and spread(tensor, ours, theirs) <= max(step, _NOISE_FACTOR * own)


def _rounds(reference: schema.Reference) -> bool:
    """Whether a CPU runtime rounds activations to integers where it runs the model."""
    return reference.quantised or bool(reference.rounding)


def _findings(
    reference: schema.Reference,
    rows: tuple[OutputError, ...],
    peers: tuple[float, ...],
    explained: list[bool],
    from_xnnpack: list[float],
    moves: tuple[float, ...],
) -> tuple[str, ...]:
    found = []
    apart = [(peer, row) for row, peer in zip(rows, peers) if not explained[row.index]]
    if apart:
        by, worst = max(apart, key=lambda one: one[0])
        differ = f"in {by:.2g} of the integers" if worst.labels else f"by {by:.2g} of the range"
        found.append(
            f"XNNPACK and the reference kernels ({reference.kernels}) differ {differ} of {_outputs(apart, worst)}, more than"
            " rounding explains: one of them computes something else, as where a composite's decomposition is another"
            f" function. Quadra is {worst.relative:.1e} from the reference kernels, {from_xnnpack[worst.index]:.1e} from"
            f" XNNPACK; the tolerance stays {worst.allowed:.0e}"
        )
    moved = [(move, row) for row, move in zip(rows, moves) if not reference.quantised and move > _FLOAT_ROUNDING]
    if moved:
        by, worst = max(moved, key=lambda one: one[0])
        found.append(
            f"a change of the last bit of the inputs moves the reference's own result by {by:.2g} of the range of"
            f" {_outputs(moved, worst)}: it magnifies rounding, and errors up to the tolerance, {worst.allowed:.0e}, say little"
        )
    return tuple(found)


def _flat(rows: tuple[OutputError, ...], theirs: list[np.ndarray]) -> tuple[str, ...]:
    """The outputs of many numbers that are all equal: right ops and many wrong ones give them alike."""
    flat = [
        (row, array.flat[0])
        for row, array in zip(rows, theirs)
        if array.size > 1 and not row.labels and (array == array.flat[0]).all()
    ]
    if not flat:
        return ()
    row, value = flat[0]
    others = ", ".join(str(one.index) for one, _ in flat[1:9])
    same = f"; outputs {others}{' …' if len(flat) > 9 else ''} are as flat" if others else ""
    return (
        f"all numbers of output {row.index} ({short(row.name)}) on the CPU are {float(value):.4g}{same}. Wrong ops may not show there:"
        " other inputs (`--inputs`), or trained weights, tell more",
    )


def _outputs(among: list[tuple[float, OutputError]], worst: OutputError) -> str:
    others = [str(row.index) for _, row in among if row is not worst]
    more = f", by less of {', '.join(others[:8])}{' …' if len(others) > 8 else ''}" if others else ""
    return f"output {worst.index} ({short(worst.name)}){more}"


def _on_the_mean(
    row: OutputError,
    tensor: schema.Tensor,
    ours: np.ndarray,
    xnnpack: np.ndarray,
    views: dict[str, np.ndarray],
) -> OutputError:
    """A wrong output of a quantised model, as right where it is as near to one of these views as XNNPACK."""
    for name, view in views.items():
        mine, others = (measure(row.index, tensor, one, view, 1.0, 1.0) for one in (ours, xnnpack))
        if mine.problem or others.problem:
            continue
        apart = [one.relative if row.labels else one.mean_error for one in (mine, others)]
        near = apart[0] <= _QUANTISED_FACTOR * apart[1]
        if not row.labels:
            near = near and mine.relative <= _NOISE_FACTOR * others.relative
            near = near and not (tensor.scale and apart[0] >= _STEP_ALLOWED)
        if near:
            what = (
                f"differs from {name} in {apart[0]:.2g} of its integers"
                if row.labels
                else (f"is {apart[0]:.2g} from {name} on the mean")
            )
            return replace(row, problem="", right_by=f"{what}, XNNPACK {apart[1]:.2g}")
    return row


def measure(
    index: int,
    tensor: schema.Tensor,
    ours: np.ndarray,
    theirs: np.ndarray,
    tolerance: float,
    differing: float = 0.0,
) -> OutputError:
    """The error of one output; `tensor` is its row of tensors.json. Of labels, the share `differing` may differ."""
    found = OutputError(index, tensor.name, theirs.dtype.name, tuple(theirs.shape))
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        problem = f"is {ours.dtype} {list(ours.shape)}, the CPU's is {theirs.dtype} {list(theirs.shape)}"
        return replace(found, problem=problem)
    if not theirs.size:
        return found
    a, b = ours.astype(np.float64), theirs.astype(np.float64)
    same_kind = np.isfinite(a) & np.isfinite(b)
    equal = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):  # infinity less infinity
        error = np.where(equal, 0.0, np.where(same_kind, np.abs(a - b), np.inf))
    worst = np.unravel_index(int(np.argmax(error)), error.shape)
    span, different = _range(b), int((~equal).sum())
    found = replace(
        found,
        range=span,
        max_error=float(error[worst]),
        mean_error=float(error[np.isfinite(error)].mean()) if np.isfinite(error).any() else float("inf"),
        rms_error=float(np.sqrt(np.square(error).mean())),
        relative=different / equal.size if _are_labels(tensor, theirs) else float(error[worst]) / span,
        allowed=differing if _are_labels(tensor, theirs) else _allowed(tensor, span, tolerance),
        labels=_are_labels(tensor, theirs),
        worst_at=tuple(int(i) for i in worst),
        worst_value=float(a[worst]),
        worst_expected=float(b[worst]),
        different=different,
        nan=int(np.isnan(a).sum()),
        inf=int(np.isinf(a).sum()),
        cpu_nan=int(np.isnan(b).sum()),
        cpu_inf=int(np.isinf(b).sum()),
    )
    return replace(found, problem=_problem(found))


def measure_peer(
    reference: schema.Reference, index: int, tensor: schema.Tensor, ours: np.ndarray, theirs: np.ndarray, allowed: float
) -> OutputError:
    """As `measure`. Where the reference has floats instead of integer weights, a peer may round activations to meet these."""
    row = measure(index, tensor, ours, theirs, allowed)
    rounds = bool(reference.rounding) and not reference.quantised
    if not row.ok and rounds and is_explained(reference, index, tensor, ours, theirs):
        return replace(row, problem="", right_by="is as far off as rounding the activations explains")
    return row


def distance(ours: np.ndarray, theirs: np.ndarray) -> float:
    """The largest error of ours, of the range of theirs; infinite where they cannot be compared."""
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return float("inf")
    return measure(0, _NUMBERS, ours, theirs, 1.0).relative


def spread(tensor: schema.Tensor, ours: np.ndarray, theirs: np.ndarray) -> float:
    """The root mean square of ours less theirs, of the range of theirs; of labels the share that differs. Infinite where they
    cannot be compared."""
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return float("inf")
    row = measure(0, tensor, ours, theirs, 1.0, 1.0)
    return row.relative if row.labels else row.rms_error / row.range if row.different else 0.0


def allowed(tolerance: float, noise: float, quantised: bool) -> float:
    """What an error may be of a range, where others that nobody calls wrong differ by `noise`."""
    factor, most = (_QUANTISED_FACTOR, _QUANTISED_LIMIT) if quantised else (_NOISE_FACTOR, _NOISE_LIMIT)
    return max(tolerance, min(factor * noise, most))


def problem(ours: np.ndarray, theirs: np.ndarray, tolerance: float) -> str:
    """What is wrong with numbers of no run; empty: nothing."""
    return measure(0, _NAMELESS, ours, theirs, tolerance).problem


def _problem(found: OutputError) -> str:
    counts = (("NaN", found.nan, found.cpu_nan), ("inf", found.inf, found.cpu_inf))
    strange = [f"{ours} {word}" for word, ours, cpu in counts if ours > cpu]
    if strange:
        return "has " + " and ".join(strange) + " where the CPU has numbers"
    if not found.relative <= found.allowed and found.labels:
        return f"differs in {found.relative:.2g} of its integers, the tolerance is {found.allowed:.2g}"
    if not found.relative <= found.allowed:
        return f"is off by {found.relative:.2g} of its range, the tolerance is {found.allowed:.2g}"
    return ""


def _range(reference: np.ndarray) -> float:
    finite = reference[np.isfinite(reference)]
    if not finite.size:
        return 1.0
    return float(finite.max() - finite.min()) or float(np.abs(finite).max()) or 1.0


def _are_labels(tensor: schema.Tensor, reference: np.ndarray) -> bool:
    """Integers whose distance says nothing: classes, indices, truths."""
    return reference.dtype.kind != "f" and not tensor.scale


def _allowed(tensor: schema.Tensor, span: float, tolerance: float) -> float:
    """The tolerance; of a quantised output at least one step."""
    return max(tolerance, _STEP_ALLOWED / span) if tensor.scale else tolerance


def _plain(value: Any) -> Any:
    """As compare.json has it."""
    return schema.number(value) if isinstance(value, float) else list(value) if isinstance(value, tuple) else value


def problems(result: Comparison) -> list[str]:
    return [f"output {o.index} ({short(o.name)}) {o.problem}" for o in result.outputs if not o.ok]
