"""Metrics that a user judges outputs by, beside their errors: top-1, top-5, overlap of masks, or a Python function.

A function takes Quadra's outputs, the CPU's, both by name, and the name of the input, and returns a number:

    def accuracy(outputs, cpu_outputs, name): ...

It is the user's code and runs in this process. So only names that come from the command line or the caller are taken, never
those of a run folder, which may come from elsewhere. The limits are those of the mean over all inputs.
"""

import importlib.util
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from host_tools.base.close_names import did_you_mean
from host_tools.base.errors import Misuse
from host_tools.judge import over_inputs
from host_tools.record import run_folder, schema
from host_tools.record.run_folder import RunFolder

Arrays = Mapping[str, np.ndarray]
Function = Callable[[Arrays, Arrays, str], float]
_FORM = "write NAME, NAME=LEAST or NAME=LEAST..MOST, where NAME is one of {} (of an output: top1:OUTPUT), or FILE.py:FUNCTION"


@dataclass(frozen=True)
class Metric:
    """A function, and limits of its mean. None: no limit."""

    name: str
    function: Function
    least: float | None = None
    most: float | None = None


def parse(word: str) -> Metric:
    """`top1`, `top1=0.99`, `iou:mask=0.9`, `metric.py:error=..0.1`. Misuse: it is none of these."""
    name, sign, limits = word.rpartition("=")
    name = name if sign else word
    least, most = _limits(word, limits) if sign else (None, None)
    kind, _, output = name.partition(":")
    if kind in BUILT_IN:
        return Metric(name, partial(BUILT_IN[kind], output=output), least, most)
    path, colon, function = name.rpartition(":")
    if not (colon and path.endswith(".py")):
        raise Misuse(
            "read --metric", f"{word!r} is no metric", did_you_mean(kind, BUILT_IN, _FORM.format(", ".join(BUILT_IN)))
        )
    return Metric(name, _of_file(Path(path).expanduser().resolve(), function), least, most)


def measure(folder: RunFolder, wanted: Sequence[Metric]) -> schema.Metrics:
    """The value of each metric with each input; writes metrics.json. Misuse: a function fails."""
    rows: list[list[float]] = [[] for _ in wanted]
    names = over_inputs.names(folder)
    for one, name in zip(over_inputs.folders(folder), names):
        ours, theirs = _by_name(one, "outputs"), _by_name(one, "cpu_outputs")
        for values, metric in zip(rows, wanted):
            values.append(_value(metric, ours, theirs, name))
    found = schema.Metrics(names=names, metrics=[_row(*one) for one in zip(wanted, rows)])
    run_folder.write_json(folder.path / schema.Metrics.FILE, found)
    return found


def checked(metrics: Sequence[Metric], names: Sequence[str]) -> list[Metric]:
    """The metrics, if the outputs are named right, before anything runs."""
    for metric in metrics:
        output = metric.function.keywords["output"] if isinstance(metric.function, partial) else ""
        if output and output not in names:
            raise Misuse(f"compute {metric.name}", "the model has no such output", f"name one of: {', '.join(names)}")
    return list(metrics)


def _row(metric: Metric, values: Sequence[float]) -> schema.MetricRow:
    mean = float(np.mean(values))
    row = schema.MetricRow(
        name=metric.name,
        mean=schema.number(mean),
        least=schema.number(min(values)),
        most=schema.number(max(values)),
        at_least=None if metric.least is None else schema.number(metric.least),
        at_most=None if metric.most is None else schema.number(metric.most),
        values=[schema.number(value) for value in values],
    )
    if metric.least is not None and not mean >= metric.least:
        row.problem = f"is {mean:.4g}, and must be at least {metric.least:g}"
    if metric.most is not None and not mean <= metric.most:
        row.problem = f"is {mean:.4g}, and must be at most {metric.most:g}"
    return row


def _limits(word: str, text: str) -> tuple[float | None, float | None]:
    least, dots, most = text.partition("..")
    try:
        found = (float(least) if least else None, float(most) if most else None)
    except ValueError:
        found = (None, None)
    if found == (None, None) or (dots and not any((least, most))):
        raise Misuse("read --metric", f"{text!r} is no limit", f"write {word.rpartition('=')[0]}=0.99, or =0.5..0.9")
    return found


def _by_name(folder: RunFolder, group: str) -> dict[str, np.ndarray]:
    return dict(zip((tensor.name for tensor in folder.tensors("outputs")), folder.arrays(group)))


def _of_file(path: Path, function: str) -> Function:
    if not path.is_file():
        raise Misuse(f"load the metric {function}", f"there is no file {path}", "give the path of a Python file")
    spec = importlib.util.spec_from_file_location(f"metric_{path.stem}", path)
    assert spec and spec.loader, "a .py file has a loader"
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise _failed(f"load {path}", error, path) from error
    found = getattr(module, function, None)
    if not callable(found):
        raise Misuse(f"load the metric {function}", f"{path} has no function of that name", "name one of the file's")
    return found  # type: ignore[no-any-return]


def _value(metric: Metric, ours: Arrays, theirs: Arrays, name: str) -> float:
    tried = f"compute the metric {metric.name} of the input {name}"
    try:
        value: Any = metric.function(ours, theirs, name)
    except Misuse:
        raise
    except Exception as error:
        raise _failed(tried, error) from error
    try:
        return float(value)
    except (TypeError, ValueError):
        raise Misuse(tried, f"it returned {value!r:.100}", "return one number") from None


def _failed(tried: str, error: Exception, path: Path | None = None) -> Misuse:
    frames = [f for f in traceback.extract_tb(error.__traceback__) if path is None or f.filename == str(path)]
    at = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return Misuse(tried, f"{type(error).__name__}: {error}{at}", "correct the function")


def _output(arrays: Arrays, name: str) -> np.ndarray:
    """The named one, or the first."""
    return arrays[name] if name else next(iter(arrays.values()))


def _top(count: int, outputs: Arrays, cpu_outputs: Arrays, name: str, output: str) -> float:
    """The share of rows whose class on the CPU is among the `count` best here."""
    ours, theirs = (_output(arrays, output) for arrays in (outputs, cpu_outputs))
    if theirs.ndim == 0 or theirs.shape[-1] < 2:
        raise Misuse(f"compute top{count}", f"the output is {list(theirs.shape)}: no scores of classes", "name another")
    a, b = (array.reshape(-1, array.shape[-1]).astype(np.float64) for array in (ours, theirs))
    best = np.argsort(-a, axis=-1, kind="stable")[:, :count]
    return float((best == b.argmax(axis=-1)[:, None]).any(axis=-1).mean())


def _overlap(outputs: Arrays, cpu_outputs: Arrays, name: str, output: str) -> float:
    """Intersection over union with the CPU's mask, the mean over classes that are in either. Of one channel: where it is above the
    middle of its range on the CPU; of several the class with the highest score."""
    ours, theirs = (_output(arrays, output).astype(np.float64) for arrays in (outputs, cpu_outputs))
    if theirs.ndim and theirs.shape[-1] > 1:
        a, b = ours.argmax(axis=-1), theirs.argmax(axis=-1)
    else:
        middle = (float(theirs.min()) + float(theirs.max())) / 2
        a, b = ours > middle, theirs > middle
    classes = np.union1d(np.unique(a), np.unique(b))
    return float(np.mean([((a == one) & (b == one)).sum() / ((a == one) | (b == one)).sum() for one in classes]))


BUILT_IN: dict[str, Callable[..., float]] = {"top1": partial(_top, 1), "top5": partial(_top, 5), "iou": _overlap}


def named(name: str, function: Function) -> Metric:
    """A function that a program gives."""
    return Metric(name, function)
