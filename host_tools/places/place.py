"""What a place is: where a run happens. Every place takes a RunSpec and leaves a run folder: same files, judged by the
same code. on_host, on_jvm, on_phone and on_phone_shell have one each; where.py says which of them a word means."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import structs

from host_tools.base.errors import QuadraError, line, worst
from host_tools.record import spec as specs
from host_tools.record.run_folder import RunFolder
from host_tools.record.spec import RunSpec

Show = Callable[[str], None]  # told what goes on
_used: set[str] = set()  # ids of runs that this process has begun
_using = threading.Lock()


class Place(Protocol):
    """One place, which runs one process at a time."""

    @property
    def kind(self) -> str:
        """As a RunSpec has it: host, jvm or device."""

    def delegate(self) -> Path:
        """The delegate that runs there; built if that is needed."""

    @property
    def name(self) -> str:
        """For people, and for the history of regressions: the same tomorrow, whatever port a device has then."""

    def prepare(self, peers: Sequence[str] = ()) -> None:
        """Builds what is missing for runs beside these peers, before anything is measured or a device kept waiting."""

    def aim(self, spec: RunSpec) -> RunSpec:
        """`spec` for this place, under an id of its own."""

    def run(self, spec: RunSpec, show: Show = ..., runs_dir: Path | None = None) -> RunFolder:
        """Runs `spec`, which must be aimed at this place; returns the finished run folder, in runs_dir (default: the setting's).

        A QuadraError where it did not finish: its `kept` is the run folder, marked.
        """

    def stop(self) -> bool:
        """Ends what goes on there, from another thread. False: it cannot; interrupt the thread that runs it."""


class NoneReady(QuadraError):
    """None of several places can be used. The exit status is that of the worst."""

    def __init__(self, failed: Mapping[str, QuadraError]) -> None:
        named = "".join(f"\n  {line(name, error)}" for name, error in failed.items())
        super().__init__("prepare the devices", f"none of {len(failed)} can be used:{named}")
        found = worst(failed.values())
        self.exit_code = found.exit_code if found else self.exit_code


def some_ready(places: Sequence[Place], peers: Sequence[str] = ()) -> dict[str, QuadraError]:
    """As prepared(); raises where none is ready."""
    failed = prepared(places, peers)
    if len(failed) == len(places) == 1:
        raise next(iter(failed.values()))
    if len(failed) == len(places):
        raise NoneReady(failed)
    return failed


def prepared(places: Sequence[Place], peers: Sequence[str] = ()) -> dict[str, QuadraError]:
    """Prepares each; why some are not ready, by name."""
    failed = {}
    for place in places:
        try:
            place.prepare(peers)
        except QuadraError as error:
            failed[place.name] = error
    return failed


def quiet(text: str) -> None:
    """A Show that shows nothing."""


def aimed(spec: RunSpec, kind: str, serial: str = "") -> RunSpec:
    """`spec` at a place, checked. Ids count milliseconds: no two of this process are the same."""
    with _using:
        while (run_id := specs.new_run_id(spec.label)) in _used:
            time.sleep(0.001)
        _used.add(run_id)
    return specs.checked(structs.replace(spec, run_id=run_id, place=kind, device=serial))
