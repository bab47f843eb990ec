"""Draws what a model found into its input picture, for reports."""

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw

from host_tools.request import views

Outputs = Sequence[np.ndarray]
Drawn = tuple[Image.Image | None, list[tuple[str, str]]]  # None: there is nothing to see; (label, value)
_WIDTH = 420
_ACCENT = (62, 166, 255)
_SECOND = (255, 176, 59)


@dataclass(frozen=True)
class Picture:
    """A picture of a report: a data URL and what it shows."""

    title: str
    url: str
    width: int
    height: int


@dataclass(frozen=True)
class Scene:
    """All that the report shows of a run's input and outputs. rows: (label, Quadra's value, the CPU's)."""

    pictures: tuple[Picture, ...]
    heading: str = ""
    rows: tuple[tuple[str, str, str], ...] = ()


def scene(
    view: views.View,
    picture: Image.Image,
    input_shape: Sequence[int],
    ours: list[np.ndarray],
    theirs: list[np.ndarray],
    scale: float = 0.0,
) -> Scene:
    """The input, what Quadra made of it, what the CPU made of it, and the difference where that is a picture."""
    base = picture.convert("RGB").resize((_WIDTH, max(1, round(picture.height * _WIDTH / picture.width))))
    kind = views.kind_of(view, ours)
    shown = [_as_jpeg("input", base)]
    if not kind:
        return Scene(tuple(shown))
    draw = _DRAWERS[kind]
    picture_of_ours, rows_of_ours = draw(view, base, input_shape, ours, scale)
    if picture_of_ours is not None:
        shown.append(_as_jpeg("Quadra", picture_of_ours))
    rows_of_theirs: list[tuple[str, str]] = []
    if theirs:
        picture_of_theirs, rows_of_theirs = draw(view, base, input_shape, theirs, scale)
        if picture_of_theirs is not None:
            shown.append(_as_jpeg("CPU", picture_of_theirs))
        if kind in ("mask", "classes"):
            shown.append(_difference(kind, view, base.size, ours, theirs))
    return Scene(tuple(shown), _HEADINGS[kind], _side_by_side(rows_of_ours, rows_of_theirs))


def _draw_mask(
    view: views.View, base: Image.Image, input_shape: Sequence[int], outputs: Outputs, scale: float
) -> Drawn:
    plane = views.mask(view, outputs)
    alpha = Image.fromarray((plane * 255).astype(np.uint8)).resize(base.size, Image.Resampling.BILINEAR)
    # The background goes dark and loses its colour; the foreground stays as it is, under a tint.
    dark = Image.blend(base.convert("L").convert("RGB"), Image.new("RGB", base.size, (16, 22, 34)), 0.72)
    tinted = Image.blend(base, Image.new("RGB", base.size, _ACCENT), 0.28)
    return Image.composite(tinted, dark, alpha), [("foreground", f"{plane.mean():.4%} of the picture")]


def _draw_classes(
    view: views.View, base: Image.Image, input_shape: Sequence[int], outputs: Outputs, scale: float
) -> Drawn:
    plane = views.classes(outputs)
    colours = _colours(int(plane.max()) + 1)
    layer = Image.fromarray(colours[plane]).resize(base.size, Image.Resampling.NEAREST)
    strength = Image.fromarray(np.where(plane > 0, 170, 60).astype(np.uint8)).resize(
        base.size, Image.Resampling.NEAREST
    )
    rows = [(f"{name} ({index})", f"{share:.3%}") for index, name, share in views.class_shares(view, plane)[:8]]
    return Image.composite(layer, base, strength), rows


def _draw_boxes(
    view: views.View, base: Image.Image, input_shape: Sequence[int], outputs: Outputs, scale: float
) -> Drawn:
    found = views.detections(outputs, int(input_shape[2]))
    result = base.copy()
    pen = ImageDraw.Draw(result)
    rows = []
    for number, one in enumerate(found, 1):
        box = [one.left * base.width, one.top * base.height, one.right * base.width, one.bottom * base.height]
        if box[0] <= box[2] and box[1] <= box[3]:
            pen.rectangle(box, outline=_ACCENT, width=3)
        for x, y in one.points:
            _dot(pen, x * base.width, y * base.height, 4, _SECOND)
        centre = f"{(one.left + one.right) / 2:.3f}, {(one.top + one.bottom) / 2:.3f}"
        size = f"{one.right - one.left:.3f} × {one.bottom - one.top:.3f}"
        rows.append((f"detection {number}", f"score {one.score:.4f} at {centre}, size {size}"))
    return result, rows or [("detections", "none over a score of 0.5")]


def _draw_points(
    view: views.View, base: Image.Image, input_shape: Sequence[int], outputs: Outputs, scale: float
) -> Drawn:
    places = views.points(view, outputs, int(input_shape[2]), int(input_shape[1]))
    result = base.copy()
    pen = ImageDraw.Draw(result)
    radius = 1.5 if len(places) > 100 else 4
    for x, y in places:
        _dot(pen, float(x) * base.width, float(y) * base.height, radius, _ACCENT)
    return result, [("points", str(len(places)))]


def _draw_picture(
    view: views.View, base: Image.Image, input_shape: Sequence[int], outputs: Outputs, scale: float
) -> Drawn:
    values = np.clip(np.nan_to_num(outputs[0])[0], 0, 1)
    return Image.fromarray((values * 255).astype(np.uint8)).resize(base.size), []


def _draw_scores(
    view: views.View, base: Image.Image, input_shape: Sequence[int], outputs: Outputs, scale: float
) -> Drawn:
    rows = [
        (f"place {place}", f"{views.label(view, index)}: {score:.4f}")
        for place, (index, score) in enumerate(views.best(outputs, scale), 1)
    ]
    return None, rows


_DRAWERS = {
    "mask": _draw_mask,
    "classes": _draw_classes,
    "boxes": _draw_boxes,
    "points": _draw_points,
    "picture": _draw_picture,
    "scores": _draw_scores,
}
_HEADINGS = {
    "mask": "Foreground",
    "classes": "Classes, by their share of the picture",
    "boxes": "Detections, in shares of the picture's sides",
    "points": "Points",
    "picture": "Picture",
    "scores": "Best classes",
}


def _difference(kind: str, view: views.View, size: tuple[int, int], ours: Outputs, theirs: Outputs) -> Picture:
    if kind == "classes":
        a, b = views.classes(ours), views.classes(theirs)
        plane = (a != b).astype(np.float64) if a.shape == b.shape else np.ones((8, 8))
        title = f"difference: {int(plane.sum())} pixels"
    else:
        plane = np.abs(views.mask(view, ours) - views.mask(view, theirs))
        largest = float(plane.max())
        title = f"difference, largest {largest:.1e}"
        plane = plane / largest if largest else plane
    colours = np.stack([plane * 255, plane * 150, 24 + plane * 20], axis=-1).astype(np.uint8)
    return _as_jpeg(title, Image.fromarray(colours).resize(size, Image.Resampling.NEAREST))


def _side_by_side(ours: list[tuple[str, str]], theirs: list[tuple[str, str]]) -> tuple[tuple[str, str, str], ...]:
    other = dict(theirs)
    labels = [label for label, _ in ours] + [label for label, _ in theirs if label not in dict(ours)]
    return tuple((label, dict(ours).get(label, "–"), other.get(label, "–")) for label in labels)


def _dot(pen: ImageDraw.ImageDraw, x: float, y: float, radius: float, colour: tuple[int, int, int]) -> None:
    if abs(x) < 1e5 and abs(y) < 1e5:  # wrong outputs may point anywhere
        pen.ellipse([x - radius, y - radius, x + radius, y + radius], fill=colour)


def _colours(count: int) -> np.ndarray:
    """A colour per class, far apart in hue; class 0 is the background."""
    hues = (np.arange(max(count, 2)) * 0.618034) % 1.0
    parts = np.abs((hues[:, None] * 6 + np.array([0, 4, 2])) % 6 - 3) - 1
    table: np.ndarray = (np.clip(parts, 0, 1) * 200 + 55).astype(np.uint8)
    table[0] = (16, 22, 34)
    return table


def _as_jpeg(title: str, picture: Image.Image) -> Picture:
    stream = io.BytesIO()
    picture.save(stream, "JPEG", quality=88)
    text = base64.b64encode(stream.getvalue()).decode("ascii")
    return Picture(title, f"data:image/jpeg;base64,{text}", picture.width, picture.height)
