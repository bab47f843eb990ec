"""`inv bench`, from its words to a table or JSON."""

from pathlib import Path

from rich.console import Console

from host_tools.base.errors import QuadraError
from host_tools.judge import bench_figures
from host_tools.measure.bench_request import Words
from host_tools.measure.bench_session import measured
from host_tools.record import printed
from host_tools.show import bench_table


def run(words: Words, library: Path | None, console: Console) -> None:
    """Measures, prints tables, judges."""
    result = measured(words, library)
    bench_table.show(result, console)
    bench_figures.fail_if_wrong(result)


def run_as_json(words: Words, library: Path | None) -> int:
    """The same, printed as one JSON document, also where it fails; the exit status."""
    document = printed.BenchDocument()
    try:
        result = measured(words, library)
        document = bench_figures.document(result)
        bench_figures.fail_if_wrong(result)
    except QuadraError as error:
        document.error, document.exit_status = printed.failure(error), error.exit_code
    print(printed.text(document))
    return document.exit_status
