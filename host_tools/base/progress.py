"""Shows on stderr that something long is alive: a spinner on a terminal, now and then a line elsewhere."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from host_tools.base.units import size_text

_LINE_EVERY_S = 15.0
_QUIET_S = 2.0  # a step that only looked, as a build of what is there, says nothing


@contextmanager
def progress(title: str) -> Iterator[Callable[[str], None]]:
    """Yields show(text): what is happening right now. Off a terminal, steps of less than two seconds
    leave no trace, and longer ones a line every 15 seconds, also while nothing new is shown."""
    from rich.console import Console  # here and below: processes without a terminal of their own need not load it
    from rich.markup import escape

    console = Console(stderr=True)
    started = time.monotonic()
    if console.is_terminal:
        with console.status(escape(title)) as status:
            yield lambda text: status.update(f"{escape(title)}  [dim]{escape(text[:90])}[/]")
        return
    latest, over = [""], threading.Event()

    def show(text: str) -> None:
        latest[0] = text

    def tell() -> None:
        while not over.wait(_LINE_EVERY_S):
            line = f"· {title}: {time.monotonic() - started:.0f} s  {latest[0][:100]}"
            print(line.rstrip(), file=sys.stderr, flush=True)

    teller = threading.Thread(target=tell, daemon=True, name="progress")
    teller.start()
    try:
        yield show
    finally:
        over.set()
        teller.join()
    if time.monotonic() - started >= _QUIET_S:
        print(f"· {title}: {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)


@contextmanager
def transfer(title: str, total: int) -> Iterator[Callable[[int], None]]:
    """Yields show(done): how many of `total` bytes are here. A bar on a terminal; elsewhere lines: how much there is to come,
    now and then how much is here, and how long it took."""
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if console.is_terminal:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(binary_units=True),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task(escape(title), total=total)
            yield lambda done: bar.update(task, completed=min(done, total))
        return
    started = time.monotonic()
    last = [started]

    def show(done: int) -> None:
        now = time.monotonic()
        if now - last[0] >= _LINE_EVERY_S:
            last[0] = now
            line(f"{size_text(min(done, total))} of {size_text(total)}, {now - started:.0f} s")

    def line(text: str) -> None:
        print(f"· {title}: {text}", file=sys.stderr, flush=True)

    line(size_text(total))
    yield show
    line(f"done, {time.monotonic() - started:.0f} s")


def counted(show: Callable[[str], None]) -> Callable[[str, int, int], None]:
    """For who tells what is done and how much of it, where `show` takes words."""
    return lambda what, done, total: show(f"{what}: {done >> 20} of {total >> 20} MiB" if total >> 20 else what)
