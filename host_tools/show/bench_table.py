"""A bench as tables for the terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape

from host_tools.base import units
from host_tools.base.text_table import Table, number, text, word
from host_tools.judge import bench_figures, compare
from host_tools.judge.bench_figures import Bench, Mean, Row
from host_tools.record import verdicts
from host_tools.show import bench_columns, bench_page
from host_tools.show.bench_columns import Column


def show(result: Bench, console: Console) -> None:
    """Times and errors of all; starts; means with the user's limits; what failed; where the page is."""
    clock = bench_columns.clock_words(result)
    console.print(
        f"[bold]One inference[/]  [dim]ms: medians of {clock}, 1 thread; ×: Quadra's relative to the peer's[/]"
    )
    _table(result, result.rows, bench_columns.inference(result)).show(console)
    if result.doubtful or result.waiting:
        console.print(f"[yellow]{escape(bench_columns.doubt_words(result))}[/]")
    if any(row.unsure for row in result.rows):
        console.print(f"[dim]* {compare.UNSURE}[/]")
    title = "Starts and size" if result.on_host else "Starts"
    console.print(f"\n[bold]{title}[/]  [dim]{bench_columns.starts_words(result)}[/]")
    _table(result, result.started, bench_columns.starts(result)).show(console)
    for line in bench_columns.failures(result):
        console.print(f"[red]✗[/] {escape(line)}")
    console.print()
    _means(result).show(console)
    shipped = [bench_columns.shipped_note(result, b) for b in result.backends]
    for note in (*shipped, bench_columns.xnnpack_note(result), bench_columns.precision_note(result)):
        if note:
            console.print(f"[dim]{note}[/]")
    console.print()
    for where, device in result.devices.items():
        console.print(f"{verdicts.APIS.get(where, where + '  '):10}{escape(device)}", soft_wrap=True)
    for index, line in enumerate(bench_columns.device_words(result)):
        console.print(f"{'' if index else 'device':10}{escape(line)}", soft_wrap=True)
    for note in result.notes:
        console.print(f"[dim]{escape(note)}[/]")
    if "path" in result.library:
        console.print(f"library   {units.size_text(result.library['bytes'])}  {escape(result.library['path'])}")
    else:
        console.print("library   one for each ABI of the devices: the run folders name them")
    peer = result.library.get("litert_gpu")
    if peer:
        console.print(f"LiteRT's  {units.size_text(peer['bytes'])}  {escape(peer['path'])}")
    console.print(f"page      {escape(str(result.folder / bench_page.FILE))}")
    console.print(f"figures   {escape(str(result.folder / bench_page.FIGURES))}")


def _table(result: Bench, rows: Sequence[Row], columns: list[Column]) -> Table:
    both = len(result.asked.kinds) > 1 or "compiled" in result.asked.apis
    figures = [number(column.title, column.rank) for column in columns]
    table = Table([text("model"), *([word("on")] if both else []), *figures])
    for index, row in enumerate(rows):
        head = [
            "" if bench_columns.repeats(rows, index) else escape(row.shown),
            *([bench_figures.way(row.kind)] if both else []),
        ]
        cells = [column.cell(row) for column in columns]
        shown = [f"[red]{cell.text}[/]" if cell.bad else cell.text for cell in cells]
        table.add_row(*head, *(["[red]failed[/]"] if row.error else shown))
    return table


def _means(result: Bench) -> Table:
    kinds = [number("ratio"), word("of", 1), number("wall-clock", 1), number("minima", 2), number("processor time", 1)]
    table = Table([text("geometric mean", least=10), text("", least=24), number("models", 2), *kinds, text("")])
    last = ""
    for mean in result.means():
        way = bench_figures.way(mean.kind)
        api, last = "" if way == last else way, way
        found = mean.headline
        values = [units.ratio_text(v) for v in (found.ratios.median, found.ratios.minimum, found.ratios.processor)]
        ratio = units.ratio_text(found.ratio) if found.reliable else "–"
        head = [api, bench_columns.over_words(mean, result), str(mean.models), ratio, found.words]
        table.add_row(*head, *values, _verdict(mean))
    return table


def _verdict(mean: Mean) -> str:
    """The user's limit, and why the mean is not reliable."""
    style = {"met": "green", "exceeded": "red"}.get(mean.verdict, "yellow")
    limit = f"[{style}]{bench_columns.limit_words(mean)}[/]" if mean.limit else ""
    doubt = bench_columns.doubt_of(mean)
    return "; ".join(filter(None, (limit, f"[yellow]{doubt}[/]" if doubt else "")))
