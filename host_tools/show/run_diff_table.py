"""Two runs side by side, for the terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape

from host_tools.base import installed
from host_tools.base.text_table import Table, identifier, number, text, word
from host_tools.base.units import counted
from host_tools.judge.plan_diff import Line
from host_tools.judge.regression import metrics
from host_tools.record.printed import Change, DiffDocument, OutputPair, PlanChange, TimeChange
from host_tools.show import plan_diff_table

_ONE_LAUNCH = (
    "Each side is one launch, whose inferences are not independent: another launch may differ by more."
    " `./inv regress` compares launches."
)


def show(found: DiffDocument, console: Console, top: int = 20, plans: bool = False) -> None:
    """Verdicts, outputs, times, memory, then what is otherwise in the plans: a line each, or with `plans` tables.

    top: at most so many rows of each kind (0: all).
    """
    for side, path, sentence in zip("AB", (found.a, found.b), found.verdicts):
        console.print(f"{side}  {path}\n   {sentence}", markup=False, soft_wrap=True)
    if found.conditions:
        console.print(f"[yellow]different conditions[/]: {escape(found.conditions)}")
    console.print(f"{'the same' if found.same_delegate else 'different'} libquadra.so\n")
    _nodes(found, console, top)
    console.print()
    if found.outputs:
        _outputs(found.outputs, console)
    if found.times:
        _times(found.times, console)
    _plans(found, console, top if plans else None)


def _nodes(found: DiffDocument, console: Console, top: int) -> None:
    if not found.nodes:
        console.print("verdicts: the same for every node")
    rows = [Line(f"{node.node} {node.op}", node.a, node.b) for node in found.nodes]
    plan_diff_table.lines("verdicts", rows, console, top)


def _plans(found: DiffDocument, console: Console, top: int | None) -> None:
    if found.plan_note:
        console.print(f"[yellow]plans[/]: {escape(found.plan_note)}")
    if not found.plans:
        console.print("plans: equal" if not found.plan_note else "plans: equal, as far as both are there")
    for plan in found.plans:
        _plan(plan, console, top)
    if found.plans and top is None:
        console.print("[dim]--plans shows what differs in them[/]")


def _plan(plan: PlanChange, console: Console, top: int | None) -> None:
    """top: None: only how much differs."""
    kinds = (
        ("properties", plan.words), ("kernels", plan.kernels), ("dispatches", plan.dispatches), ("tensors", plan.tensors),
    )  # fmt: skip
    counts = ", ".join(f"{title} {len(changes)}" for title, changes in kinds if changes)
    console.print(
        f"plans of partition {plan.partition}: different"
        + (f" ({counts}); " if counts else "; ")
        + f"{counted(plan.same_kernels, 'kernel')} the same"
    )
    plan_diff_table.lines("memory", _lines(plan.memory), console, top or 0)
    if top is None:
        return
    for title, changes in kinds:
        plan_diff_table.lines(title, _lines(changes), console, top)


def _lines(changes: Sequence[Change]) -> list[Line]:
    return [Line(change.what, change.a, change.b) for change in changes]


def _outputs(pairs: Sequence[OutputPair], console: Console) -> None:
    table = Table(
        [identifier("output"), number("error in A"), number("error in B"), word("A"), word("B"), word("bits")]
    )
    for pair in pairs:
        errors = ("–" if error is None else f"{float(error):.1e}" for error in (pair.a, pair.b))
        words = {None: "[yellow]not judged[/]", True: "[green]right[/]", False: "[red]WRONG[/]"}
        bits = "same" if pair.same_bits else "[yellow]different[/]"
        table.add_row(escape(pair.name), *errors, words[pair.a_right], words[pair.b_right], bits)
    table.show(console)
    console.print("[dim]errors relative to the output's range[/]\n")


def _times(rows: Sequence[TimeChange], console: Console) -> None:
    table = Table([
        text("time"), number("A"), number("B"), number("B relative to A"), word("90 % interval"), number("p"), word("samples", 1),
    ])  # fmt: skip
    for row in rows:
        sides = [metrics.number(value, row.unit) for value in (row.a, row.b)]
        unit = row.unit.removeprefix("us").removeprefix(" of ")
        what = f"{row.what}, {unit}" if unit else row.what
        samples = f"{row.a_samples}, {row.b_samples}"
        if row.percent is None or row.low_percent is None or row.high_percent is None or row.p is None:
            plain = f"({100 * (row.b / row.a - 1):+z.1f} %)" if row.a else ""
            table.add_row(what, *sides, plain, "[dim]too few samples[/]", "", samples)
            continue
        interval = f"{row.low_percent:+z.1f} to {row.high_percent:+z.1f} %"
        p = "< 0.001" if row.p < 1e-3 else f"{row.p:.3f}"
        table.add_row(what, *sides, f"{row.percent:+z.1f} %", interval, p, samples)
    table.show(console)
    console.print(f"[dim]{installed.said(_ONE_LAUNCH)}[/]")
