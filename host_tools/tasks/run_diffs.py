"""`inv diff`: two runs side by side."""

from collections.abc import Callable, Sequence

from rich.console import Console

from host_tools.judge import judged, run_diff
from host_tools.record import printed
from host_tools.record.run_folder import RunFolder
from host_tools.show import run_diff_table


def show(
    words: Sequence[str], top: int, plans: bool, as_json: bool, console: Console, find: Callable[[str], RunFolder]
) -> bool:
    """Prints what differs; whether anything but times does."""
    first, second = (judged.judge(find(word)) for word in words)
    found = run_diff.diff(first, second)
    if as_json:
        print(printed.text(found))
    else:
        run_diff_table.show(found, console, top, plans)
    return found.differ
