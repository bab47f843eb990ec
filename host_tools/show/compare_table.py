"""The judgement of a run's outputs for a person."""

from rich.console import Console
from rich.markup import escape

from host_tools.base.short_names import short
from host_tools.base.text_table import Table, identifier, number, text, word
from host_tools.judge import compare


def show(result: compare.Comparison, console: Console) -> None:
    """A row per output, and the judgement."""
    table = Table([
        identifier("output"), number("shape", 3), number("range", 4), number("largest error"), number("relative"),
        number("tolerance", 1), number("XNNPACK error", 1), text("worst at", 2), word(""),
    ])  # fmt: skip
    for output in result.outputs:
        peer = f"{result.xnnpack_relative[output.index]:.1e}" if result.xnnpack_relative else "–"
        table.add_row(
            escape(output.name),
            "×".join(map(str, output.shape)),
            f"{output.range:.4g}",
            f"{output.max_error:.2e}",
            f"{output.relative:.1e}",
            f"{output.allowed:.0e}",
            peer,
            _place(output),
            "[green]right[/]" if output.ok else "[red]WRONG[/]",
        )
    table.show(console)
    for sentence in result.findings:
        console.print(f"[yellow]note[/] {escape(sentence)}")
    for output in result.outputs:
        if output.right_by:
            console.print(f"[dim]output {output.index} {output.right_by}[/]")
        elif (
            result.unsure
            and output.ok
            and not output.tolerance
            and output.dtype.startswith("float")
            and output.relative > compare.TOLERANCE[result.precision]
        ):
            console.print(f"[dim]output {output.index}: {compare.UNSURE}[/]")
        if not output.ok:
            console.print(f"[red]output {output.index}[/] ({escape(short(output.name))}) {escape(output.problem)}")


def _place(output: compare.OutputError) -> str:
    if not output.different:
        return "equal everywhere"
    return f"{list(output.worst_at)}: {output.worst_value:.5g}, CPU {output.worst_expected:.5g}"
