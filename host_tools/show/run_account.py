"""A short account of runs for the terminal."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.markup import escape

from host_tools.base import units
from host_tools.base.errors import QuadraError, line, skipped
from host_tools.base.text_table import Table, number, text, word
from host_tools.judge import peers
from host_tools.judge.judged import Judged
from host_tools.record import device_condition, headline, peer_names, schema, sustained, times, verdicts
from host_tools.request import inputs
from host_tools.show import compare_table, determinism_table, over_inputs_table, report, verdicts_table

_STAMP = len("20261121-101530-042")  # what a run is called by
_COLUMNS = (
    word("result"), number("largest error"), number("median ms"), word("clock", 1), number("× XNNPACK"),
    word("temperature", 1), word("run", 2),
)  # fmt: skip


@dataclass(frozen=True)
class Ended:
    """The result of one of several runs: its judgement, or why there is none."""

    place: str
    judged: Judged | None = None
    error: QuadraError | None = None
    signature: str = ""  # of the model; empty: its main graph

    @property
    def name(self) -> str:
        return f"{self.signature} on {self.place}" if self.signature else self.place


def account(judged: Judged, console: Console) -> None:
    """What ran where, how right, how fast, and where to look on."""
    folder = judged.folder
    spec, summary = folder.spec(), verdicts.read(folder.read(schema.Verdicts))
    model, given = folder.optional(schema.Model), folder.tensors("inputs")
    many = f", the first of {len(judged.over.names)}" if judged.over else ""
    console.print(f"[bold]{escape(spec.label)}[/], {escape(inputs.describe(spec.inputs, given))}{many}")
    for sentence in inputs.free_sizes(model.free_sizes if model else {}, given):
        console.print(f"  {escape(sentence)}")
    asked = spec.options.get("backend", "auto")
    through = "through LiteRT's CompiledModel: " if spec.api == "compiled" else ""
    console.print(f"  {through}{escape(summary.sentence())}")
    console.print(f"  {escape(summary.backend_sentence(asked))}  [dim]({escape(verdicts.words(summary))})[/]")
    if spec.driver:
        found = folder.optional(schema.Environment) or schema.Environment()
        console.print(f"  on the driver {escape(spec.driver)}: {escape(found.driver_source)}")
    device_condition.show(folder, console)
    for api, sentence in summary.failures:
        console.print(f"  [yellow]{escape(api)} failed[/]: {escape(sentence)}")
    for sentence in verdicts.cache_sentences(folder.read(schema.Verdicts)):
        console.print(f"  {escape(sentence)}")
    if summary.backend != "none":
        verdicts_table.show_cpu_reasons(summary, console)
    console.print()
    if judged.over:
        over_inputs_table.show(judged.over, console)
    elif judged.comparison:
        compare_table.show(judged.comparison, console)
    else:
        console.print(f"[yellow]no CPU result to compare with[/]: {escape(folder.read(schema.Reference).error)}")
    for peer in judged.peers:
        if peer.name != peer_names.XNNPACK and not peer.error:
            console.print(f"{escape(peer_names.label(peer.name))}: {escape(peers.sentence(peer))}")
    if judged.metrics:
        console.print()
        over_inputs_table.show_metrics(judged.metrics, console)
    if judged.determinism:
        console.print()
        determinism_table.show(judged.determinism, console)
    console.print()
    times.summary(folder.read(schema.Timings), folder.read(schema.Verdicts), console)
    if found_sustained := sustained.of(folder):
        console.print(f"\n{escape(found_sustained.sentence())}")
        for name, values in found_sustained.series():
            console.print(f"  {escape(name)}: {sustained.spread(values)}")
    console.print(f"\nrun folder  {escape(str(folder.path))}", soft_wrap=True)
    console.print(f"report      {escape(str(folder.path / report.FILE))}", soft_wrap=True)


def short_account(judged: Judged) -> str:
    """One sentence and where to look on."""
    told, timings = judged.folder.read(schema.Verdicts), judged.folder.read(schema.Timings)
    found, steady, ratio = verdicts.read(told), times.steady(timings).get("quadra"), times.ratio(timings, told)
    right = f"{'right' if judged.ok else 'WRONG'}, largest error {judged.largest_error:.1e} of the range"
    clock = times.clock(timings, told)
    timed = f"{units.ms(steady.by(clock))} ms ({headline.CLOCKS[clock]})" if steady else "not timed"
    if ratio:
        timed += f", {units.ratio_text(ratio.ratio)} × XNNPACK's" if ratio.reliable else f", {ratio.doubt}"
    api = verdicts.APIS.get(found.backend, found.backend)
    findings = "".join(f"\nnote        {one}" for one in judged.comparison.findings) if judged.comparison else ""
    return f"{api} ({found.device}): {found.sentence()}; {right}; {timed}{findings}\nreport      {judged.folder.path / report.FILE}"


def table(runs: Sequence[Judged]) -> Table:
    """A row per run: of several models at one place."""
    made = Table([text("model"), word("ran on", 3), text("nodes", 4), *_COLUMNS])
    for judged in runs:
        found = verdicts.read(judged.folder.read(schema.Verdicts))
        api = verdicts.APIS.get(found.backend, found.backend)
        nodes = f"{found.gpu} of {found.gpu + found.cpu} on the GPU"
        made.add_row(escape(judged.folder.spec().label), api, nodes, *_cells(judged))
    return made


def several(ended: Sequence[Ended], console: Console) -> None:
    """A row per signature and place, then what went wrong with which."""
    rows = Table([text("signature"), text("device"), *_COLUMNS])
    for one in ended:
        cells = _cells(one.judged) if one.judged else [_result(one), *[""] * (len(_COLUMNS) - 1)]
        rows.add_row(escape(one.signature), escape(one.place), *cells)
    rows.show(console)
    conditions = [device_condition.of(one.judged.folder) for one in ended if one.judged]
    for route in {one.route for one in conditions if one and one.route}:
        console.print(route)
    for one in ended:
        if one.error:
            console.print(escape(line(one.name, one.error)))


def _result(one: Ended) -> str:
    is_skipped = one.error is not None and skipped(one.error)
    return "[yellow]skipped[/]" if is_skipped else f"[red]{type(one.error).__name__}[/]"


def _cells(judged: Judged) -> list[str]:
    folder = judged.folder
    timings, told = folder.read(schema.Timings), folder.read(schema.Verdicts)
    clock, ratio = times.clock(timings, told), times.ratio(timings, told)
    steady = times.steady(timings).get("quadra")
    words = {None: "[yellow]not judged[/]", True: "[green]right[/]", False: "[red]WRONG[/]"}
    return [
        words[judged.ok],
        "–" if judged.ok is None else f"{judged.largest_error:.1e}",
        units.ms(steady.by(clock)) if steady else "–",
        clock if steady else "–",
        "[yellow]not reliable[/]" if ratio and not ratio.reliable else units.ratio_text(ratio.ratio if ratio else None),
        escape(device_condition.heat(folder.read(schema.Environment).thermal)),
        escape(folder.path.name[:_STAMP]),
    ]
