"""Equal inferences for a person: whether they were equal, which outputs differ, and the dispatches that began it."""

from rich.console import Console
from rich.markup import escape

from host_tools.base.text_table import Table, identifier, number, text
from host_tools.base.units import ranges_text
from host_tools.record import schema


def show(found: schema.Determinism, console: Console) -> None:
    colour = "green" if found.ok else "red"
    console.print(f"[{colour}]{escape(found.sentence)}[/]", highlight=False)
    if found.outputs:
        table = Table([identifier("output"), number("differs in"), number("numbers"), number("largest difference")])
        for output in found.outputs:
            table.add_row(escape(output.name), str(output.inferences), *cells(output))
        table.show(console)
    if found.dispatches:
        console.print(f"\nthe first to differ, in {found.copied} inferences with copies of all tensors:")
        table = Table([
            text("dispatch"), text("nodes", 1, least=8), text("ops", 1), number("first in"), number("differs in"),
            number("numbers"), number("largest difference"),
        ])  # fmt: skip
        for row in found.dispatches:
            words = [row.dispatch, ranges_text(row.nodes) or "–", row.ops or "input"]
            table.add_row(*map(escape, words), str(row.first_in), str(row.inferences), *cells(row))
        table.show(console)


def cells(row: schema.Spread) -> list[str]:
    """How many numbers, and by how much."""
    if not row.numbers:
        return ["–", "–"]
    largest = float(row.max_error)
    return [f"{row.different} of {row.numbers}", f"{largest:.2g}" if largest else "0, other bits"]
