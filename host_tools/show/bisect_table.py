"""The tensors of a run against a reference, op by op, and the first op that is wrong."""

from rich.console import Console
from rich.markup import escape

from host_tools.base.text_table import Table, identifier, number, text, word
from host_tools.base.units import counted, ranges_text
from host_tools.record import schema
from host_tools.record.run_folder import RunFolder

_BEFORE, _AFTER = 3, 8  # rows shown around the wrong one


def show(folder: RunFolder, found: schema.Bisect, console: Console, everything: bool = False) -> None:
    """The rows around the wrong one (all of them: everything), coverage, what is wrong and how to run it alone."""
    spec = folder.spec()
    words = ", ".join(f"{key} {value}" for key, value in spec.options.items() if value)
    console.print(f"[bold]{escape(spec.label)}[/], {escape(words)}, against {escape(found.against)}")
    console.print(
        f"  {found.compared} of {counted(found.ops, 'op')} on the GPU compared; the tolerance is {found.tolerance:g} of a range"
    )
    console.print("  [dim]ops that run as one kernel are compared by their last result[/]\n")
    _table(found, everything).show(console)
    colour = {"none": "green", "model": "yellow"}.get(found.kind, "red")
    console.print(f"\n[{colour}]{_WORDS[found.kind]}[/]: {escape(found.sentence)}", highlight=False)
    if found.command:
        came = {True: "which is wrong, too", False: "which is right by itself", None: "not run"}[found.reproduced]
        console.print(f"the op by itself, {came}:\n  {escape(found.command)}", highlight=False, soft_wrap=True)
    console.print(f"run folder  {escape(str(folder.path))}", highlight=False, soft_wrap=True)


_WORDS = {
    "none": "nothing is wrong",
    "kernel": "a kernel is wrong",
    "precision": "the precision is insufficient",
    "model": "the model is at fault",
    "input": "an input is corrupted on upload",
    "accumulated": "errors accumulate",
    "unknown": "not found",
}


def _table(found: schema.Bisect, everything: bool) -> Table:
    table = Table([
        text("dispatch"), text("nodes", 1, least=8), text("ops", 1), identifier("tensor", 2), number("largest error", 3),
        number("mean", 4), number("relative"), number("cosine", 3), number("alone"), word(""),
    ])  # fmt: skip
    centre = found.row if found.row >= 0 else next((i for i, row in enumerate(found.rows) if row.problem), 0)
    first, last = (0, len(found.rows)) if everything else (max(0, centre - _BEFORE), centre + _AFTER)
    if first:
        table.add_row("…", f"{first} more")
    for index, row in enumerate(found.rows[first:last], first):
        table.add_row(*_cells(row, index == found.row))
    if last < len(found.rows):
        table.add_row("…", f"{len(found.rows) - last} more")
    return table


def _cells(row: schema.BisectRow, first: bool) -> list[str]:
    words = [
        escape(row.dispatch),
        ranges_text(row.nodes) or "–",
        escape(row.ops) or "[dim]input[/]",
        escape(row.name),
    ]
    if row.compared:
        numbers = (row.max_error, row.mean_error, row.relative)
        words += [f"{float(n):.1e}" for n in numbers] + [undefined(row.cosine)]
    else:
        words += ["–", "–", "–", "–"]
    alone = "–" if row.alone is None else f"{float(row.alone):.1e}"
    verdict = "[green]right[/]" if row.compared or row.alone is not None else "[dim]not compared[/]"
    if row.problem:
        verdict = "[yellow]off[/]" if row.alone is None else "[yellow]off, right alone[/]"
    if row.alone_problem:
        verdict = "[red]WRONG[/]"
    return [*words, alone, f"{verdict}{' [bold red]← first[/]' if first else ''}"]


def undefined(value: schema.Real) -> str:
    """A cosine; said where it is not defined."""
    number = float(value)
    return f"{number:.6f}" if number == number else "undefined"
