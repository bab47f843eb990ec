"""`inv run`, from what it is asked for to tables or JSON."""

from collections.abc import Sequence

from rich.console import Console

from host_tools.base.errors import QuadraError
from host_tools.judge.judged import Judged
from host_tools.record import printed
from host_tools.run import model_runs
from host_tools.run.model_runs import Asked, Wanted
from host_tools.show import run_account, run_document
from host_tools.show.run_account import Ended

_NOTHING_MORE = Wanted()


def run(asked: Asked, console: Console, wanted: Wanted = _NOTHING_MORE) -> list[Judged]:
    """Runs at each place and prints the result; raises the worst of what went wrong."""
    return model_runs.run(asked, wanted, lambda ended: _show(ended, console))


def run_as_json(asked: Asked, wanted: Wanted = _NOTHING_MORE) -> int:
    """The same, printed as one JSON document, also where it fails; the exit status."""
    ended: list[Ended] = []
    error: QuadraError | None = None
    try:
        model_runs.run(asked, wanted, ended.extend)
    except QuadraError as found:
        error = found
    print(printed.text(run_document.of(ended, error)))
    return error.exit_code if error else 0


def _show(ended: Sequence[Ended], console: Console) -> None:
    if len({one.place for one in ended}) == 1:
        for one in ended:
            if one.judged:
                run_account.account(one.judged, console)
                console.print()
    if len(ended) > 1:
        run_account.several(ended, console)
