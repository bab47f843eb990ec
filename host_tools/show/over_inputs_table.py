"""Many inputs of a run, and a user's metrics: tables for the terminal."""

from collections.abc import Iterator

from rich.console import Console
from rich.markup import escape

from host_tools.base.short_names import short
from host_tools.base.text_table import Table, identifier, number, text, word
from host_tools.base.units import counted
from host_tools.judge.judged import Judged
from host_tools.record import schema
from host_tools.record.schema import Real
from host_tools.show import compare_table


def show_judged(judged: Judged, console: Console) -> None:
    """The judgement of a run's outputs, and the metrics."""
    if judged.over:
        show(judged.over, console)
    elif judged.comparison:
        compare_table.show(judged.comparison, console)
    if judged.metrics:
        console.print()
        show_metrics(judged.metrics, console)


def show(found: schema.OverInputs, console: Console) -> None:
    """A row per output over all inputs."""
    table = Table([
        identifier("output"), number("largest error"), number("of range"), number("mean", 2), number("99 % below", 1), number("cosine", 1),
        number("PSNR dB", 1), text("largest with", 3), word(""),
    ])  # fmt: skip
    for row in found.outputs:
        largest, name = worst(found, row)
        table.add_row(
            escape(row.name), *cells(row, largest), escape(name), "[red]WRONG[/]" if row.problem else "[green]right[/]"
        )
    console.print(f"[bold]{counted(len(found.names), 'input')}[/], each judged against the CPU, all of them together:")
    table.show(console)
    for row in found.outputs:
        if row.problem:
            console.print(f"[red]output {row.index}[/] ({escape(short(row.name))}) {escape(row.problem)}")


def cells(row: schema.OutputOverInputs, largest: float) -> Iterator[str]:
    """Largest error, the same of the range, mean, a quantile, cosine, PSNR."""
    yield _text(row.max_error, ".2e")
    yield f"{largest:.1e}"
    yield _text(row.mean_error, ".1e")
    yield _text(row.quantiles.get("0.99", "nan"), ".1e")
    yield _text(row.cosine, ".7g")
    yield _text(row.psnr_db, ".1f")


def worst(found: schema.OverInputs, row: schema.OutputOverInputs) -> tuple[float, str]:
    """The largest error of an output, of that input's range, and the input."""
    errors = [float(one) for one in row.relative]
    index = max(range(len(errors)), key=lambda one: errors[one])
    return errors[index], found.names[index] if errors[index] else ""


def show_metrics(found: schema.Metrics, console: Console) -> None:
    """A row per metric."""
    table = Table(
        [text("metric"), number("mean"), number("least"), number("most"), text("limits"), text("least with"), word("")]
    )
    for row in found.metrics:
        result = (
            ""
            if row.at_least is None and row.at_most is None
            else "[red]missed[/]"
            if row.problem
            else "[green]kept[/]"
        )
        table.add_row(escape(row.name), *metric_cells(found, row), result)
    table.show(console)


def metric_cells(found: schema.Metrics, row: schema.MetricRow) -> Iterator[str]:
    """Mean, least, most, limits, and the input with the least value."""
    for value in (row.mean, row.least, row.most):
        yield _text(value, ".4g")
    least = [f"at least {float(row.at_least):g}"] if row.at_least is not None else []
    yield ", ".join([*least, *([f"at most {float(row.at_most):g}"] if row.at_most is not None else [])])
    values = [float(one) for one in row.values]
    yield found.names[values.index(min(values))] if len(values) > 1 and min(values) < max(values) else ""


def _text(value: Real, form: str) -> str:
    found = float(value)
    return "–" if found != found else "inf" if found == float("inf") else format(found, form)
