"""A short account of runs for the terminal."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from host_tools.base import units
from host_tools.base.errors import QuadraError
from host_tools.base.terminal import plain_table
from host_tools.judge import compare, peers
from host_tools.judge.judged import Judged
from host_tools.record import device_condition, peer_names, schema, times, verdicts
from host_tools.request import inputs
from host_tools.show import report

_STAMP = len("20261121-101530-042")  # what a run is called by
_COLUMNS = ("result", "largest error", "median ms", "× XNNPACK", "temperature", "run")


@dataclass(frozen=True)
class Ended:
    """The result of a run at one of several places: its judgement, or why there is none."""

    place: str
    judged: Judged | None = None
    error: QuadraError | None = None


def account(judged: Judged, console: Console) -> None:
    """What ran where, how right, how fast, and where to look on."""
    folder = judged.folder
    spec, summary = folder.spec(), verdicts.read(folder.read(schema.Verdicts))
    console.print(f"[bold]{escape(spec.model.name)}[/], {escape(inputs.describe(spec.inputs))}")
    asked = spec.options.get("backend", "auto")
    through = "through LiteRT's CompiledModel: " if spec.api == "compiled" else ""
    console.print(f"  {through}{escape(summary.sentence())}")
    console.print(f"  {escape(summary.backend_sentence(asked))}  [dim]({escape(verdicts.words(summary))})[/]")
    device_condition.show(folder, console)
    for api, sentence in summary.failures:
        console.print(f"  [yellow]{escape(api)} failed[/]: {escape(sentence)}")
    for sentence in verdicts.cache_sentences(folder.read(schema.Verdicts)):
        console.print(f"  {escape(sentence)}")
    if summary.backend != "none":
        verdicts.show_cpu_reasons(summary, console)
    console.print()
    if judged.comparison:
        compare.show(judged.comparison, console)
    else:
        console.print(f"[yellow]no CPU result to compare with[/]: {escape(folder.read(schema.Reference).error)}")
    for peer in judged.peers:
        if peer.name != peer_names.XNNPACK and not peer.error:
            console.print(f"{escape(peer_names.label(peer.name))}: {escape(peers.sentence(peer))}")
    console.print()
    times.summary(folder.read(schema.Timings), console)
    console.print(f"\nrun folder  {escape(str(folder.path))}")
    console.print(f"report      {escape(str(folder.path / report.FILE))}")


def short_account(judged: Judged) -> str:
    """One sentence and where to look on."""
    found, timings = verdicts.read(judged.folder.read(schema.Verdicts)), judged.folder.read(schema.Timings)
    steady, ratio = times.steady(timings).get("quadra"), times.ratio(timings)
    right = f"{'right' if judged.ok else 'WRONG'}, largest error {judged.largest_error:.1e} of the range"
    timed = (f"{units.ms(steady.median)} ms" if steady else "not timed") + (
        f", {ratio.median:.1f} times XNNPACK's" if ratio else ""
    )
    api = verdicts.APIS.get(found.backend, found.backend)
    findings = "".join(f"\nnote        {one}" for one in judged.comparison.findings) if judged.comparison else ""
    return f"{api} ({found.device}): {found.sentence()}; {right}; {timed}{findings}\nreport      {judged.folder.path / report.FILE}"


def table(runs: Sequence[Judged]) -> Table:
    """A row per run: of several models at one place."""
    made = _table("model", "ran on", "nodes")
    for judged in runs:
        found = verdicts.read(judged.folder.read(schema.Verdicts))
        api = verdicts.APIS.get(found.backend, found.backend)
        nodes = f"{found.gpu} of {found.gpu + found.cpu} on the GPU"
        made.add_row(escape(judged.folder.spec().model.name), api, nodes, *_cells(judged))
    return made


def several(ended: Sequence[Ended], console: Console) -> None:
    """A row per place, then what went wrong at which."""
    rows = _table("device")
    for one in ended:
        cells = _cells(one.judged) if one.judged else [f"[red]{type(one.error).__name__}[/]", "", "", "", "", ""]
        rows.add_row(escape(one.place), *cells)
    console.print(rows)
    conditions = [device_condition.of(one.judged.folder) for one in ended if one.judged]
    for route in {one.route for one in conditions if one and one.route}:
        console.print(route)
    for one in ended:
        if one.error:
            console.print(f"[red]{escape(one.place)}[/] {escape(str(one.error))}")


def _table(*columns: str) -> Table:
    made = plain_table()
    for column in (*columns, *_COLUMNS):
        made.add_column(column, overflow="fold")
    return made


def _cells(judged: Judged) -> list[str]:
    folder = judged.folder
    timings = folder.read(schema.Timings)
    steady, ratio = times.steady(timings).get("quadra"), times.ratio(timings)
    words = {None: "[yellow]not judged[/]", True: "[green]right[/]", False: "[red]WRONG[/]"}
    return [
        words[judged.ok],
        "–" if judged.ok is None else f"{judged.largest_error:.1e}",
        units.ms(steady.median) if steady else "–",
        units.ratio_text(ratio.median if ratio else None),
        escape(device_condition.heat(folder.read(schema.Environment).thermal)),
        escape(folder.path.name[:_STAMP]),
    ]
