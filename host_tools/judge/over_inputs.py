"""Judges a run with many inputs: each by itself, and each output over all of them. over_inputs.json has the result."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from host_tools.base.units import counted
from host_tools.judge import compare
from host_tools.judge.compare import Comparison, OutputError
from host_tools.judge.tolerances import Tolerance
from host_tools.record import run_folder, schema
from host_tools.record.run_folder import RunFolder

SHARES = (0.5, 0.9, 0.99, 0.999)
_STEP = 0.005  # of the decimal logarithm: a quantile is up to 1.2 % too large
_EDGES = 10.0 ** np.arange(-45.0, 40.0, _STEP)
_NAMED = 3  # inputs in a sentence


def folders(folder: RunFolder) -> list[RunFolder]:
    """The run itself, and the runs of its further inputs."""
    return [folder, *(RunFolder(path) for path in sorted((folder.path / "set").glob("[0-9]*")) if path.is_dir())]


def names(folder: RunFolder) -> list[str]:
    """Those of the inputs."""
    return [one.spec().inputs.label for one in folders(folder)]


def judge(
    folder: RunFolder, first: Comparison, tolerances: Mapping[str, Tolerance] | None = None, *, keep: bool = True
) -> schema.OverInputs:
    """Compares each input's outputs. first: the comparison of the run's own. keep: write over_inputs.json."""
    called = names(folder)
    sums: list[_Sums] = []
    for index, one in enumerate(folders(folder)):
        compared = compare.compare(one, tolerances) if index else first
        pairs = list(zip(one.arrays("outputs"), one.arrays("cpu_outputs"), compared.outputs))
        sums = sums or [_Sums(row) for _, _, row in pairs]
        for into, pair in zip(sums, pairs):
            into.add(*pair)
    rows = [one.row(called) for one in sums]
    found = schema.OverInputs(ok=not any(row.problem for row in rows), names=called, outputs=rows)
    if keep:
        run_folder.write_json(folder.path / schema.OverInputs.FILE, found)
    return found


@dataclass
class _Sums:
    """One output, input by input."""

    output: OutputError
    count: int = 0
    error: float = 0.0
    square: float = 0.0
    most: float = 0.0
    low: float = float("inf")
    high: float = float("-inf")
    different: int = 0
    cosines: list[float] = field(default_factory=list)
    judged: list[OutputError] = field(default_factory=list)
    histogram: np.ndarray = field(default_factory=lambda: np.zeros(_EDGES.size + 1, np.int64))

    def add(self, ours: np.ndarray, theirs: np.ndarray, judged: OutputError) -> None:
        self.judged.append(judged)
        self.different += judged.different
        if ours.shape != theirs.shape or not theirs.size:
            return
        a, b = ours.astype(np.float64).ravel(), theirs.astype(np.float64).ravel()
        with np.errstate(invalid="ignore"):
            errors = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
        errors = np.where(np.isnan(errors), np.inf, errors)
        finite, numbers = errors[np.isfinite(errors)], b[np.isfinite(b)]
        self.count += errors.size
        self.error += float(finite.sum())
        self.square += float(np.square(errors).sum())
        self.most = max(self.most, float(errors.max()))
        if numbers.size:
            self.low, self.high = min(self.low, float(numbers.min())), max(self.high, float(numbers.max()))
        self.cosines.append(cosine(a, b))
        self.histogram += np.bincount(np.searchsorted(_EDGES, errors), minlength=_EDGES.size + 1)

    def row(self, names: Sequence[str]) -> schema.OutputOverInputs:
        number, nothing = schema.number, self.output.labels or not self.count
        span = (self.high - self.low) or abs(self.high) or 1.0
        mean_square = self.square / self.count if self.count else 0.0
        psnr = 10 * np.log10(span**2 / mean_square) if mean_square else float("inf")
        known = [one for one in self.cosines if one == one]
        nan = float("nan")
        return schema.OutputOverInputs(
            index=self.output.index,
            name=self.output.name,
            dtype=self.output.dtype,
            labels=self.output.labels,
            range=number(span if self.count else 0.0),
            max_error=number(self.most),
            mean_error=number(nan if nothing else self.error / self.count),
            rms_error=number(nan if nothing else mean_square**0.5),
            quantiles={} if nothing else {f"{share:g}": number(self._quantile(share)) for share in SHARES},
            cosine=number(nan if nothing or not known else min(known)),
            psnr_db=number(nan if nothing else float(psnr)),
            different=self.different,
            relative=[number(one.relative) for one in self.judged],
            allowed=[number(one.allowed) for one in self.judged],
            wrong=[index for index, one in enumerate(self.judged) if not one.ok],
            problem=self._problem(names),
        )

    def _quantile(self, share: float) -> float:
        """The edge below which so many errors are; never more than the largest."""
        index = int(np.searchsorted(np.cumsum(self.histogram), share * self.count))
        return 0.0 if index == 0 else min(float(_EDGES[index]), self.most) if index < _EDGES.size else self.most

    def _problem(self, names: Sequence[str]) -> str:
        wrong = [(one.relative, names[index], one) for index, one in enumerate(self.judged) if not one.ok]
        if not wrong:
            return ""
        worst = max(wrong, key=lambda each: each[0])
        if len(self.judged) == 1:
            return worst[2].problem
        others = [name for _, name, _ in wrong if name != worst[1]][:_NAMED]
        more = f", and {'it is wrong with ' if len(wrong) > 1 else ''}{', '.join(others)}" if others else ""
        more += " …" if len(wrong) > _NAMED + 1 else ""
        return f"is wrong with {len(wrong)} of {counted(len(self.judged), 'input')}: with {worst[1]} it {worst[2].problem}{more}"


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    """Similarity of two flat arrays; NaN where one is zero or not finite. Scaled first: squares of large numbers are not finite."""
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        return float("nan")
    largest = [float(np.abs(one).max()) for one in (a, b)]
    if not all(largest):
        return 1.0 if not any(largest) else float("nan")
    x, y = a / largest[0], b / largest[1]
    return min(1.0, float(np.dot(x, y) / np.sqrt(np.dot(x, x) * np.dot(y, y))))
