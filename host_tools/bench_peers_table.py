"""A bench of peers as tables for the terminal."""

from typing import Dict, List, Optional, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from host_tools import bench_page, compare, peers, report, times, verdicts
from host_tools.bench_peers import COLD, KINDS, QUADRA, STEADY, WARM, Bench, Mean, Row, Runner

WHAT = {STEADY: "one inference", COLD: "cold start", WARM: "warm start"}
XNNPACK_NOTE = (
    "XNNPACK is the one in Android's TFLite runtime; without --peer `inv bench` takes that of this machine's interpreter"
)


def show(result: Bench, console: Console) -> None:
    """Times, errors and verdicts of all; starts; means with goals; what failed; where the page is."""
    console.print("[bold]One inference[/]  [dim]ms: medians, 1 thread; ratios: Quadra's time over the peer's[/]")
    beside = ("XNNPACK error", "ms", "ratio", "shipped nodes", "error", "ms", "ratio", "min", "cpu")
    console.print(_table(result, ("GPU nodes", "error", "ms", *beside), _steady_cells))
    if any(row.unsure for row in result.rows):
        console.print(f"[dim]* {compare.UNSURE}[/]")
    console.print("\n[bold]Starts[/]  [dim]ms to the end of the first inference; cold: the driver's cache is empty[/]")
    columns = ("cold", "shipped", "ratio", "cpu", "warm", "shipped", "ratio", "XNNPACK")
    console.print(_table(result, columns, _start_cells))
    for line in failures(result):
        console.print(f"[red]✗[/] {escape(line)}")
    console.print()
    console.print(_means(result))
    if peers.XNNPACK in result.asked.peers:
        console.print(f"[dim]{XNNPACK_NOTE}[/]")
    console.print()
    for backend, device in result.devices.items():
        console.print(f"{verdicts.APIS[backend]:10}{escape(device)}")
    if result.busy:
        load = f"load {result.load:.1f} on {result.cpus} CPUs"
        console.print(f"[yellow]the machine was busy[/] ({load}): believe processor time, then minima")
    console.print(f"library   {report.size_text(result.library['bytes'])}  {escape(result.library['path'])}")
    console.print(f"page      {escape(str(result.folder / bench_page.FILE))}")
    console.print(f"figures   {escape(str(result.folder / 'bench.json'))}")


def failures(result: Bench) -> List[str]:
    """A sentence for each row without figures, and for each peer that did not run."""
    lines = []
    for row in result.rows:
        head = f"{row.model} on {verdicts.APIS[row.backend]}"
        if row.error:
            lines.append(f"{head}: {row.error}")
        lines += [f"{head}: {peers.label(key)} did not run: {r.error}" for key, r in row.runners.items() if r.error]
    return lines


def goal_words(mean: Mean) -> str:
    """The goal and how it stands; nothing where there is none."""
    if mean.goal is None:
        return ""
    if mean.what == STEADY:
        return f"{1 / mean.values['median']:.1f} times as fast; goal: {1 / mean.goal:g}"
    return f"goal {mean.goal:g} or less"


def over_words(mean: Mean) -> str:
    models = "" if mean.whole else ", all models"
    return f"{WHAT[mean.what]} over {peer_words(mean.peer)}{models}"


def peer_words(key: str) -> str:
    """A peer by its key; which XNNPACK it is, too."""
    return "Android's XNNPACK" if key == peers.XNNPACK else "the shipped delegate"


def _table(result: Bench, columns: Sequence[str], cells) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("model", no_wrap=True)
    table.add_column("on", no_wrap=True)
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    last = ""
    for row in result.rows:
        head = ["" if row.model == last else escape(row.model), verdicts.APIS[row.backend]]
        last = row.model
        table.add_row(*head, *(["[red]failed[/]"] if row.error else cells(row)))
    return table


def _steady_cells(row: Row) -> List[str]:
    ours, xnnpack, shipped = (_runner(row, key) for key in (QUADRA, peers.XNNPACK, row.shipped))
    return [
        nodes(ours),
        error(ours) + ("*" if row.unsure else ""),
        ms(ours.steady),
        error(xnnpack),
        ms(xnnpack.steady),
        times.ratio_text(row.over(peers.XNNPACK)),
        "[red]failed[/]" if shipped.error else nodes(shipped),
        error(shipped),
        ms(shipped.steady),
        *[times.ratio_text(row.over(row.shipped, STEADY, kind)) for kind in KINDS[STEADY]],
    ]


def _start_cells(row: Row) -> List[str]:
    ours, xnnpack, shipped = (_runner(row, key) for key in (QUADRA, peers.XNNPACK, row.shipped))
    return [
        ms(ours.cold),
        ms(shipped.cold),
        *[times.ratio_text(row.over(row.shipped, COLD, kind)) for kind in KINDS[COLD]],
        ms(ours.warm),
        ms(shipped.warm),
        times.ratio_text(row.over(row.shipped, WARM)),
        ms(xnnpack.warm),
    ]


def _runner(row: Row, key: str) -> Runner:
    return row.runners.get(key, Runner())


def nodes(runner: Runner) -> str:
    return "–" if runner.nodes_taken is None else f"{runner.nodes_taken}/{runner.nodes}"


def error(runner: Runner) -> str:
    if runner.right is None:
        return "–"
    text = f"{runner.relative_error:.0e}"
    return text if runner.right else f"[red]{text}[/]"


def ms(found: Dict[str, float], kind: str = "median") -> str:
    us: Optional[float] = found.get(kind)
    return times.ms(us) if us else "–"


def _means(result: Bench) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("geometric mean", "", "models", "of medians", "of minima", "of processor time", ""):
        table.add_column(column, justify="right" if column[:1] in ("m", "o") else "left", no_wrap=True)
    last = ""
    for mean in result.means():
        api = "" if mean.backend == last else verdicts.APIS[mean.backend]
        last = mean.backend
        values = [times.ratio_text(mean.values.get(kind)) for kind in KINDS[STEADY]]
        table.add_row(api, over_words(mean), str(mean.models), *values, _verdict(mean))
    return table


def _verdict(mean: Mean) -> str:
    if mean.goal is None:
        return ""
    return f"{goal_words(mean)}: {'[green]met[/]' if mean.met else '[red]missed[/]'}"
