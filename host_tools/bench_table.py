"""A bench as tables for the terminal."""

from typing import Any, List, Optional, Sequence, Tuple

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from host_tools import bench_page, compare, report, times, verdicts
from host_tools.bench import GOAL, KINDS, THREADS, Bench, Row


def show(result: Bench, console: Console) -> None:
    """Times, starts, means, what failed, and where the page is. Two backends of a model stand one below the other."""
    console.print("[bold]One inference[/]  [dim]ms: medians at 1 thread; ratios: Quadra over XNNPACK[/]")
    time_columns = ("GPU nodes", "error", "Quadra ms", "XNNPACK ms", "1 thread", "min", "cpu", "2 threads", "min")
    console.print(_table(result, (*time_columns, "shipped", "of it"), _time_cells))
    if any(row.unsure for row in result.rows):
        console.print(f"[dim]* {compare.UNSURE}[/]")
    console.print("\n[bold]Starts and size[/]  [dim]to the end of the first inference, 1 thread; memory in MiB[/]")
    start_columns = ("cold ms", "cpu", "shipped cold", "warm ms", "XNNPACK ms", "programs", "dispatches")
    console.print(_table(result, (*start_columns, "peak", "peak cold", "activations", "bound"), _start_cells))
    for row in result.rows:
        if row.error:
            console.print(f"[red]{escape(row.model)}[/] on {verdicts.APIS[row.backend]}: {escape(row.error)}")
    console.print()
    _show_means(result, console)
    for backend in result.backends:
        console.print(f"{verdicts.APIS[backend]:10}{escape(result.devices[backend])}")
    if result.busy:
        console.print(
            f"[yellow]the machine was busy[/] (load {result.load:.1f} on {result.cpus} CPUs): "
            "believe processor time, then minima"
        )
    console.print(f"library   {report.size_text(result.library['bytes'])}  {escape(result.library['path'])}")
    console.print(f"page      {escape(str(result.folder / bench_page.FILE))}")
    console.print(f"figures   {escape(str(result.folder / 'bench.json'))}")


def _table(result: Bench, columns: Sequence[str], cells: Any) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("model", no_wrap=True)
    if len(result.backends) > 1:
        table.add_column("on", no_wrap=True)
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    last = ""
    for row in result.rows:
        head = ["" if row.model == last else escape(row.model)]
        last = row.model
        if len(result.backends) > 1:
            head.append(verdicts.APIS[row.backend])
        table.add_row(*head, *(["[red]failed[/]"] if row.error else cells(row)))
    return table


def _time_cells(row: Row) -> List[str]:
    error = f"{row.relative_error:.0e}{'*' if row.unsure else ''}"
    return [
        f"{row.nodes_gpu}/{row.nodes_gpu + row.nodes_cpu}",
        "–" if row.right is None else error if row.right else f"[red]{error}[/]",
        times.ms(row.quadra_us[1]),
        times.ms(row.xnnpack_us[1]) if row.xnnpack_us else "–",
        *[times.ratio_text(by.get(1)) for by in (row.ratio, row.ratio_min, row.ratio_cpu)],
        *[times.ratio_text(by.get(2)) for by in (row.ratio, row.ratio_min)],
        times.ratio_text(row.shipped_ratio),
        times.ratio_text(row.over_shipped()),
    ]


def _start_cells(row: Row) -> List[str]:
    shipped_ms = row.shipped.get(f"{row.backend}_cold_ms")
    return [
        times.ms(row.cold_us),
        times.ms(row.cold_cpu_us),
        f"{shipped_ms:.0f}" if shipped_ms else "–",
        times.ms(row.warm_us),
        times.ms(row.xnnpack_start_us),
        str(row.programs),
        str(row.dispatches),
        f"{row.peak_rss_bytes / 2**20:.0f}",
        f"{row.cold_peak_rss_bytes / 2**20:.0f}",
        f"{row.activation_bytes / 2**20:.2f}",
        f"{row.lower_bound_bytes / 2**20:.2f}",
    ]


def _show_means(result: Bench, console: Console) -> None:
    """Geometric means over XNNPACK's times, and beside the shipped delegate's."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("geometric mean", "", "models", "of medians", "of minima", "of processor time", ""):
        table.add_column(column, justify="right" if column[:1] in ("m", "o") else "left", no_wrap=True)
    for backend in result.backends:
        for row in _mean_rows(result, backend):
            table.add_row(*row)
    console.print(table)
    for backend in result.backends:
        beside = result.beside_shipped(backend)
        if beside:
            console.print(
                f"{verdicts.APIS[backend]} on the {beside.models} models that the shipped GPU delegate ran, too: "
                f"{times.ratio_text(beside.ratio)} of XNNPACK's time, "
                f"the shipped {times.ratio_text(beside.shipped_ratio)}"
            )
    console.print()


def _mean_rows(result: Bench, backend: str) -> List[Tuple[str, ...]]:
    api, rows = verdicts.APIS[backend], []
    for threads in THREADS:
        means = [times.ratio_text(result.mean(backend, threads, kind)) for kind in KINDS]
        goal = GOAL.get(backend) if threads == 1 else None
        models = str(sum(threads in r.ratio for r in result.of(backend)))
        what = f"over XNNPACK, {threads} thread{'s' if threads > 1 else ''}"
        rows.append((api if threads == 1 else "", what, models, *means, _verdict(result.mean(backend, 1), goal)))
    beside = result.beside_shipped(backend)
    if beside:
        means = [times.ratio_text(beside.quotient[kind]) for kind in KINDS]
        verdict = _verdict(beside.quotient["ratio"], beside.goal)
        rows.append(("", "over the shipped GPU delegate", str(beside.models), *means, verdict))
    return rows


def _verdict(value: float, goal: Optional[float]) -> str:
    if goal is None:
        return ""
    return f"goal {goal:g} or less: {'[green]met[/]' if value <= goal else '[red]missed[/]'}"
