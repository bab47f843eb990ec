"""What the outputs of a model mean to people: masks, classes, boxes, points, labels."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from host_tools.request.catalogue import catalogue

_TABLE = Path(__file__).with_name("model_views.toml")
# Detectors of MediaPipe: anchors per cell of each feature map, by the number of anchors. Anchors are cell centres.
_ANCHOR_GRIDS = {896: ((16, 2), (8, 6)), 2016: ((24, 2), (12, 6)), 2254: ((28, 2), (14, 2), (7, 6)), 2304: ((48, 1),)}
_MIN_SCORE, _MAX_OVERLAP = 0.5, 0.3


@dataclass(frozen=True)
class View:
    """How to show a model. kind: mask, classes, boxes, points, picture, or empty: by the shapes."""

    value_range: tuple[float, float] = (-1.0, 1.0)
    kind: str = ""
    labels: tuple[str, ...] = ()
    logits: bool = False
    stride: int = 3
    mask_output: int = 0


@dataclass(frozen=True)
class Detection:
    """A box in shares of the picture's sides: 0..1 from the left and the top."""

    score: float
    left: float
    top: float
    right: float
    bottom: float
    points: tuple[tuple[float, float], ...]


def of_model(name: str, sha256: str = "") -> View:
    """The view of a model that the table knows, by its name or, where its file is called otherwise, by the digest of a
    catalogue model; the default for others."""
    table = _table()
    known = [name, *(entry.name for entry in catalogue().values() if entry.sha256 == sha256)]
    rows = [table["models"].get(word.rsplit("/", 1)[-1]) for word in known]
    row: dict[str, Any] = next(filter(None, rows), {})
    low, high = row.get("range", (-1, 1))
    return View(
        value_range=(float(low), float(high)),
        kind=row.get("view", ""),
        labels=tuple(table["labels"].get(row.get("labels", ""), ())),
        logits=row.get("logits", False),
        stride=row.get("stride", 3),
        mask_output=row.get("mask_output", 0),
    )


def kind_of(view: View, outputs: Sequence[np.ndarray]) -> str:
    """The view's kind, if the outputs fit it; else what their shapes suggest; empty: nothing to draw."""
    fits = [kind for kind, test in _TESTS.items() if outputs and test(view, outputs)]
    if view.kind in fits:
        return view.kind
    return next((kind for kind in fits if kind in ("classes", "mask", "boxes", "scores")), "")


def mask(view: View, outputs: Sequence[np.ndarray]) -> np.ndarray:
    """[h, w] of 0..1: the foreground's probability."""
    plane = _finite(outputs[view.mask_output])[0, :, :, 0]
    if view.logits or plane.min() < -0.01 or plane.max() > 1.01:
        plane = _sigmoid(plane)
    shown: np.ndarray = np.clip(plane, 0, 1)
    return shown


def classes(outputs: Sequence[np.ndarray]) -> np.ndarray:
    """[h, w]: the class of each pixel."""
    output = outputs[0]
    if output.dtype.kind in "iu" and output.ndim == 3:
        plane: np.ndarray = np.clip(output[0], 0, 255).astype(np.int64)
    else:
        plane = np.argmax(_finite(output)[0], axis=-1)
    return plane


def class_shares(view: View, plane: np.ndarray) -> list[tuple[int, str, float]]:
    """(class, label, share of the pixels), largest first."""
    found, counts = np.unique(plane, return_counts=True)
    rows = [(int(i), label(view, int(i)), float(n) / plane.size) for i, n in zip(found, counts)]
    return sorted(rows, key=lambda row: -row[2])


def label(view: View, index: int) -> str:
    return view.labels[index] if 0 <= index < len(view.labels) else f"class {index}"


def detections(outputs: Sequence[np.ndarray], side: int) -> list[Detection]:
    """Boxes over the score limit, the best first, overlapping ones dropped. side: of the model's input, in pixels."""
    boxes, scores = _finite(outputs[0])[0], _sigmoid(_finite(outputs[1])[0, :, 0])
    anchors = _anchors(len(boxes))
    kept: list[Detection] = []
    for index in np.argsort(-scores):
        if scores[index] < _MIN_SCORE:
            break
        found = _decode(boxes[index] / side, anchors[index], float(scores[index]))
        if all(_overlap(found, other) < _MAX_OVERLAP for other in kept):
            kept.append(found)
    return kept[:20]


def points(view: View, outputs: Sequence[np.ndarray], width: int, height: int) -> np.ndarray:
    """[n, 2] in shares of the picture's sides."""
    flat = _finite(outputs[0]).reshape(-1, view.stride)[:, :2]
    shares: np.ndarray = flat / np.array([width, height], flat.dtype)
    return shares


def best(outputs: Sequence[np.ndarray], scale: float, count: int = 5) -> list[tuple[int, float]]:
    """(class, score) of a classifier, the best first."""
    scores = _finite(outputs[0]).reshape(-1).astype(np.float64) * (scale or 1.0)
    return [(int(i), float(scores[i])) for i in np.argsort(-scores)[:count]]


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads(_TABLE.read_text(encoding="utf-8"))


@cache
def _anchors(count: int) -> np.ndarray:
    centres = []
    for cells, per_cell in _ANCHOR_GRIDS[count]:
        axis = (np.arange(cells) + 0.5) / cells
        y, x = np.meshgrid(axis, axis, indexing="ij")
        centres.append(np.repeat(np.stack([x.ravel(), y.ravel()], axis=1), per_cell, axis=0))
    return np.concatenate(centres)


def _decode(row: np.ndarray, anchor: np.ndarray, score: float) -> Detection:
    x, y = row[0] + anchor[0], row[1] + anchor[1]
    half_w, half_h = row[2] / 2, row[3] / 2
    pairs = row[4:].reshape(-1, 2) + anchor
    places = tuple((float(px), float(py)) for px, py in pairs)
    return Detection(score, float(x - half_w), float(y - half_h), float(x + half_w), float(y + half_h), places)


def _overlap(a: Detection, b: Detection) -> float:
    """Intersection over union."""
    w = min(a.right, b.right) - max(a.left, b.left)
    h = min(a.bottom, b.bottom) - max(a.top, b.top)
    inner = max(w, 0.0) * max(h, 0.0)
    total = (a.right - a.left) * (a.bottom - a.top) + (b.right - b.left) * (b.bottom - b.top) - inner
    return inner / total if total > 0 else 0.0


def _sigmoid(values: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-np.clip(values.astype(np.float64), -60, 60)))


def _finite(values: np.ndarray) -> np.ndarray:
    return np.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0) if values.dtype.kind == "f" else values


def _plane(output: np.ndarray) -> bool:
    return output.ndim == 4 and min(output.shape[1:3]) >= 8


def _is_mask(view: View, outputs: Sequence[np.ndarray]) -> bool:
    index = view.mask_output
    return index < len(outputs) and _plane(outputs[index]) and outputs[index].shape[3] == 1


def _is_classes(view: View, outputs: Sequence[np.ndarray]) -> bool:
    output = outputs[0]
    if output.dtype.kind in "iu" and output.ndim == 3:
        return min(output.shape[1:]) >= 8 and output.dtype.itemsize > 1
    return _plane(output) and 2 <= output.shape[3] <= 256 and output.shape[3] != 3


def _is_boxes(view: View, outputs: Sequence[np.ndarray]) -> bool:
    if len(outputs) != 2 or outputs[0].ndim != 3 or outputs[1].ndim != 3:
        return False
    boxes, scores = outputs[0].shape, outputs[1].shape
    return (
        boxes[1] == scores[1] and boxes[1] in _ANCHOR_GRIDS and scores[2] == 1 and boxes[2] >= 4 and boxes[2] % 2 == 0
    )


def _is_points(view: View, outputs: Sequence[np.ndarray]) -> bool:
    return outputs[0].dtype.kind == "f" and outputs[0].size % view.stride == 0 and outputs[0].size >= 2 * view.stride


def _is_picture(view: View, outputs: Sequence[np.ndarray]) -> bool:
    return _plane(outputs[0]) and outputs[0].shape[3] == 3


def _is_scores(view: View, outputs: Sequence[np.ndarray]) -> bool:
    return len(outputs) == 1 and outputs[0].ndim == 2 and outputs[0].shape[1] >= 5


_TESTS = {
    "mask": _is_mask,
    "classes": _is_classes,
    "boxes": _is_boxes,
    "points": _is_points,
    "picture": _is_picture,
    "scores": _is_scores,
}
