"""Shows on stderr that something long is alive: a spinner on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from host_tools.base.units import size_text

if TYPE_CHECKING:
    from rich.status import Status

_LINE_EVERY_S = 15.0
_QUIET_S = 2.0  # a step that only looked, as a build of what is there, says nothing


@dataclass(eq=False)
class _Step:
    """A step off a terminal that is not over."""

    title: str
    started: float
    latest: str = ""
    alone: bool = False  # it leaves its lines by itself

    def show(self, text: str) -> None:
        self.latest = text

    def line(self) -> str:
        return f"· {self.title}: {time.monotonic() - self.started:.0f} s  {self.latest[:100]}".rstrip()


_steps: list[_Step] = []  # one in the other: the outermost first
_spinners: list[Status] = []  # the same, on a terminal


@contextmanager
def alone() -> Iterator[None]:
    """On a terminal: what is shown meanwhile has the last lines for itself, two would write over each other."""
    outer = _spinners[-1] if _spinners else None
    if outer:
        outer.stop()
    try:
        yield
    finally:
        if outer and outer in _spinners:
            outer.start()


@contextmanager
def _told(step: _Step) -> Iterator[None]:
    """Until it is over, a line every 15 seconds, of the innermost step; the outermost one's thread prints it."""
    over = threading.Event()

    def tell() -> None:
        while not over.wait(_LINE_EVERY_S):
            now = _steps[:]
            if now and now[0] is step and not now[-1].alone:
                print(now[-1].line(), file=sys.stderr, flush=True)

    _steps.append(step)
    teller = threading.Thread(target=tell, daemon=True, name="progress")
    teller.start()
    try:
        yield
    finally:
        _steps.remove(step)
        over.set()
        teller.join()


@contextmanager
def lines(title: str) -> Iterator[Callable[[str], None]]:
    """Off a terminal, as progress(), without a line at the end: of what says by itself what came of it."""
    step = _Step(title, time.monotonic())
    with _told(step):
        yield step.show


@contextmanager
def progress(title: str) -> Iterator[Callable[[str], None]]:
    """Yields show(text): what is happening right now. Off a terminal, steps of less than two seconds
    leave no trace, and longer ones a line every 15 seconds, also while nothing new is shown; of steps in each other the
    innermost leaves it."""
    from rich.console import Console  # here and below: processes without a terminal of their own need not load it
    from rich.markup import escape

    console = Console(stderr=True)
    if console.is_terminal:
        with alone(), console.status(escape(title)) as status:
            _spinners.append(status)
            try:
                yield lambda text: status.update(f"{escape(title)}  [dim]{escape(text[:90])}[/]")
            finally:
                _spinners.remove(status)
        return
    step = _Step(title, time.monotonic())
    with _told(step):
        yield step.show
    if time.monotonic() - step.started >= _QUIET_S:
        step.latest = ""
        print(step.line(), file=sys.stderr, flush=True)


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
        with alone(), Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task(escape(title), total=total)
            yield lambda done: bar.update(task, completed=min(done, total))
        return
    step = _Step(title, time.monotonic(), alone=True)
    last = [step.started]

    def show(done: int) -> None:
        now = time.monotonic()
        if now - last[0] >= _LINE_EVERY_S:
            last[0] = now
            line(f"{size_text(min(done, total))} of {size_text(total)}, {now - step.started:.0f} s")

    def line(text: str) -> None:
        print(f"· {title}: {text}", file=sys.stderr, flush=True)

    line(size_text(total))
    _steps.append(step)
    try:
        yield show
    finally:
        _steps.remove(step)
    line(f"done, {time.monotonic() - step.started:.0f} s")


def counted(show: Callable[[str], None]) -> Callable[[str, int, int], None]:
    """For who tells what is done and how much of it, where `show` takes words."""
    return lambda what, done, total: show(f"{what}: {done >> 20} of {total >> 20} MiB" if total >> 20 else what)
