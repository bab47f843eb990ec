"""A plan's memory over time as a picture: who lies where in which buffer, from which dispatch to which."""

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from host_tools.base.errors import Misuse
from host_tools.base.units import size_text
from host_tools.record import run_folder
from host_tools.record.checked_plan import Plan, Tensor, buffer_bytes
from host_tools.record.named_plans import NamedPlan
from host_tools.record.verdicts import APIS
from host_tools.show import charts, report

FILE = report.MEMORY_MAP
_WIDTH, _LEFT, _RIGHT = 1084, 80, 122  # px: it fits into the page on a wide screen
_HEIGHT, _CURVE = 430, 130
_LEAST, _GAP = 7.0, 2.0  # of a buffer's band
_COLOURS = ("#2563eb", "#e08700", "#15803d", "#7c3aed", "#b91c1c", "#0e7490", "#a15c07", "#be185d")
_OTHERS = "#8a94a6"
_MOST_BANDS, _MOST_TENSORS = 2000, 20000
_LETTER, _LINE = 7.0, 14.0  # px of a name in a rectangle
_LEAST_LETTERS = 8  # a shorter piece of a name says less than the tensor's number does
_STYLE = """<style>text { font: 12px system-ui, "DejaVu Sans", sans-serif; fill: #4b5563; } .tensor { fill: #fff; font-size: 11px; }
.line { stroke: #d3d9e3; } .bound { stroke-dasharray: 5 3; }</style>"""


def write(plans: Sequence[NamedPlan], path: Path) -> None:
    """The page, or for a name that ends in .svg the picture of one plan alone. Misuse: a plan makes no sense."""
    if path.suffix == ".svg":
        if len(plans) != 1:
            raise Misuse(f"write {path}", f"there are {len(plans)} plans", "give a name that ends in .html")
        run_folder.write_text(path, svg(plans[0].checked()))
        return
    if path.suffix != ".html":
        raise Misuse(f"write {path}", "it is no name of a page or a picture", "give one that ends in .html or .svg")
    rows = [
        {"where": str(plan.path), "plan": (made := plan.checked()), "svg": svg(made), "made_by": _made_by(made)}
        for plan in plans
    ]
    run_folder.write_text(path, report.environment().get_template(FILE).render(plans=rows, apis=APIS))


def svg(plan: Plan) -> str:
    """Bands are buffers, rectangles tensors, coloured by the kernel that makes them; below, the bytes kept at each dispatch."""
    bands = _bands(plan)
    bottom = max((y + height for _, y, height in bands), default=0.0) + 10
    height = bottom + _CURVE + 96
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height:.0f}" role="img" '
        f'aria-label="memory over time">{_STYLE}'
    ]
    colours = _colours(plan)
    made_by = _made_by(plan)
    inside: dict[int, list[int]] = {}
    for number, tensor in enumerate(plan.tensors):
        inside.setdefault(_place(plan, tensor)[0], []).append(number)
    for index, y, band in bands:
        parts += _band(plan, index, y, band, {n: made_by.get(n, "") for n in inside.get(index, ())}, colours)
    parts += _curve(plan, bottom + 22)
    parts += _legend(colours, height - 12)
    return "".join(parts) + "</svg>"


def _bands(plan: Plan) -> list[tuple[int, float, float]]:
    """(buffer, y, height), as high as it has bytes: those of activations first."""
    order = ("Arena", "Image", "Io")
    shown = [(order.index(b.kind), i) for i, b in enumerate(plan.buffers) if b.kind in order and not b.lies_in]
    if len(shown) > _MOST_BANDS or len(plan.tensors) > _MOST_TENSORS:
        raise Misuse("draw a plan's memory", f"it has {len(shown)} buffers", f"at most {_MOST_BANDS} are drawn")
    sizes = {i: _size(plan, i) for _, i in shown}
    total = max(1, sum(sizes.values()))
    y, found = 8.0, []
    for _, index in sorted(shown):
        height = max(_LEAST, _HEIGHT * sizes[index] / total)
        found.append((index, y, height))
        y += height + _GAP
    return found


def _place(plan: Plan, tensor: Tensor) -> tuple[int, int, int]:
    """The buffer whose memory a tensor has, where it lies there, and how many bytes it takes: an image's rows may be longer
    than it is."""
    image = plan.buffers[tensor.buffer] if tensor.buffer >= 0 else None
    if image and image.lies_in:
        return image.lies_in - 1, image.offset, image.row_bytes * image.height
    return tensor.buffer, tensor.offset, tensor.bytes


def _size(plan: Plan, index: int) -> int:
    return buffer_bytes([plan.buffers[index]])


def _made_by(plan: Plan) -> dict[int, str]:
    """The kernel's name, by tensor."""
    return {tensor: plan.dispatches[dispatch].kernel for tensor, dispatch in plan.makers().items()}


def _colours(plan: Plan) -> dict[str, str]:
    """By kernel's name, the one that makes most bytes first; the last colour is for all others."""
    made: dict[str, int] = {}
    for tensor, kernel in _made_by(plan).items():
        made[kernel] = made.get(kernel, 0) + plan.tensors[tensor].bytes
    return dict(zip(sorted(made, key=lambda kernel: -made[kernel]), _COLOURS))


def _x(plan: Plan, dispatch: float) -> float:
    return _LEFT + dispatch / max(1, len(plan.dispatches)) * (_WIDTH - _LEFT - _RIGHT)


def _band(
    plan: Plan, index: int, y: float, height: float, inside: Mapping[int, str], colours: Mapping[str, str]
) -> list[str]:
    """inside: the tensors there, each with the kernel that makes it."""
    buffer, end = plan.buffers[index], _WIDTH - _RIGHT
    size = max(1, _size(plan, index))
    parts = [
        f'<rect x="{_LEFT}" y="{y:.1f}" width="{end - _LEFT}" height="{height:.1f}" fill="#8a94a6" fill-opacity=".12"/>'
    ]
    if height >= 12:
        middle = y + height / 2 + 4
        parts.append(f'<text x="{_LEFT - 8}" y="{middle:.1f}" text-anchor="end">b{index} {buffer.kind}</text>')
        parts.append(f'<text x="{end + 8}" y="{middle:.1f}">{size_text(size)}</text>')
    for number, kernel in inside.items():
        tensor = plan.tensors[number]
        x, until = _x(plan, tensor.first_use), _x(plan, tensor.last_use + 1)
        _, offset, taken = _place(plan, tensor)
        top = y + height * offset / size
        tall = max(1.0, height * taken / size)
        parts.append(
            f'<rect x="{x:.1f}" y="{top:.2f}" width="{until - x:.1f}" height="{tall:.2f}" '
            f'fill="{colours.get(kernel, _OTHERS)}" fill-opacity=".82" stroke="#fff" stroke-width=".6">'
            f"<title>{_plain(_words(plan, tensor, kernel))}</title></rect>"
        )
        parts += _name(number, tensor.name, (x, top, until - x, tall))
    return parts


def _name(number: int, name: str, box: tuple[float, float, float, float]) -> list[str]:
    """A tensor's name in its rectangle (x, y, width, height), along the longer side; where too few letters have room, its
    number; where that has none, nothing."""
    x, y, width, height = box
    along, across = max(width, height), min(width, height)
    letters = int((along - 6) / _LETTER)
    fits = letters >= min(len(name), _LEAST_LETTERS)
    words = charts.shorten(name, letters) if fits else f"#{number}"
    if across < _LINE or letters < len(words):
        return []
    middle = f"{x + width / 2:.1f} {y + height / 2:.1f}"
    turned = f' transform="rotate(-90 {middle})"' if height > width and len(words) * _LETTER > width - 4 else ""
    place = f'x="{x + width / 2:.1f}" y="{y + height / 2 + 4:.1f}" text-anchor="middle"'
    return [f'<text class="tensor" {place}{turned}>{_plain(words)}</text>']


def _plain(text: str) -> str:
    """Text from a plan for XML, which knows no control characters."""
    return escape("".join(letter if letter.isprintable() else "\ufffd" for letter in text))


def _words(plan: Plan, tensor: Tensor, kernel: str) -> str:
    shape = "×".join(map(str, tensor.shape))
    made = f", made by {kernel}" if kernel else ""
    _, offset, _ = _place(plan, tensor)
    size = f"{size_text(tensor.bytes)} at {offset}"
    return f"{tensor.name}: {shape} {tensor.cell.lower()}, {size}, dispatches {tensor.first_use} to {tensor.last_use}{made}"


def _curve(plan: Plan, top: float) -> list[str]:
    """Bytes kept at each dispatch, with what is reserved and what would do at least."""
    alive = plan.alive_bytes()
    most = max([plan.activation_bytes, plan.activation_bytes_lower_bound, *alive, 1])
    bottom, end = top + _CURVE, _WIDTH - _RIGHT

    def y(size: float) -> float:
        return bottom - _CURVE * size / most

    points = [f"{_LEFT},{bottom:.1f}"]
    for dispatch, size in enumerate(alive):
        points += [f"{_x(plan, dispatch):.1f},{y(size):.1f}", f"{_x(plan, dispatch + 1):.1f},{y(size):.1f}"]
    points.append(f"{end},{bottom:.1f}")
    parts = [f'<polygon points="{" ".join(points)}" fill="#2563eb" fill-opacity=".35"/>']
    parts.append(f'<line class="line" x1="{_LEFT}" x2="{end}" y1="{bottom:.1f}" y2="{bottom:.1f}"/>')
    reserved, bound = y(plan.activation_bytes), y(plan.activation_bytes_lower_bound)
    bound_text = bound + (18 if bound - reserved < 14 else 4)
    for size, kind, at, word, text_at in (
        (plan.activation_bytes, "", reserved, "peak", reserved + 4),
        (plan.activation_bytes_lower_bound, ' class="bound"', bound, "bound", bound_text),
    ):
        parts.append(f'<line{kind} x1="{_LEFT}" x2="{end}" y1="{at:.1f}" y2="{at:.1f}" stroke="#dc2626"/>')
        parts.append(f'<text x="{end + 8}" y="{text_at:.1f}">{word} {size_text(size)}</text>')
    if alive:
        fullest = max(range(len(alive)), key=alive.__getitem__)
        x = _x(plan, fullest + 0.5)
        name = _plain(charts.shorten(plan.dispatches[fullest].name, 30))
        anchor = "end" if x > _WIDTH / 2 else "start"
        text_y = y(alive[fullest]) + (-8 if y(alive[fullest]) > reserved + 20 else 16)
        parts.append(f'<circle cx="{x:.1f}" cy="{y(alive[fullest]):.1f}" r="3.5" fill="#3b82f6"/>')
        parts.append(
            f'<text x="{x + (-8 if anchor == "end" else 8):.1f}" y="{text_y:.1f}" text-anchor="{anchor}">'
            f"{size_text(alive[fullest])} kept at {name}</text>"
        )
    parts.append(f'<text x="{_LEFT - 8}" y="{top + 12:.1f}" text-anchor="end">kept</text>')
    for dispatch in map(int, filter(float.is_integer, charts.ticks(0.0, max(0, len(plan.dispatches) - 1), 10))):
        at = _x(plan, dispatch + 0.5)
        parts.append(f'<text x="{at:.1f}" y="{bottom + 17:.1f}" text-anchor="middle">{dispatch}</text>')
    return [*parts, f'<text x="{end + 8}" y="{bottom + 17:.1f}">dispatch</text>']


def _legend(colours: dict[str, str], y: float) -> list[str]:
    parts, x = [], float(_LEFT)
    for kernel, colour in [*colours.items(), ("other", _OTHERS)]:
        name = charts.shorten(kernel, 22)
        parts.append(f'<rect x="{x:.0f}" y="{y - 10:.0f}" width="11" height="11" rx="2" fill="{colour}"/>')
        parts.append(f'<text x="{x + 16:.0f}" y="{y:.0f}">{_plain(name)}</text>')
        x += 34 + 7 * len(name)
    return parts
