"""`inv run`: a spec at one place or at several, judged, with a report of each run."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from host_tools.base.errors import JudgementFailed, QuadraError, worst
from host_tools.base.progress import progress
from host_tools.judge import judged, own_metrics
from host_tools.judge.judged import Judged
from host_tools.judge.limits import NO_LIMITS, Limits
from host_tools.phone.adb import parallel
from host_tools.phone.adb.adb_device import Device
from host_tools.places import complete_inputs
from host_tools.places.on_phone import DevicePlace
from host_tools.places.place import Place, Show, prepared
from host_tools.record.run_folder import RunFolder
from host_tools.record.spec import RunSpec
from host_tools.request import signatures
from host_tools.run import determinism_search
from host_tools.show import run_junit, run_pages
from host_tools.show.run_account import Ended

Requests = tuple[Sequence[RunSpec], Sequence[Place]]
Asked = Callable[[], Requests]  # what the command line asks for; it may be Misuse


@dataclass(frozen=True)
class Wanted:
    """limits: that each run has to keep. junit: a file that gets the results as JUnit XML, also where it fails."""

    limits: Limits = NO_LIMITS
    junit: Path | None = None


_NOTHING_MORE = Wanted()


def run(
    asked: Asked, wanted: Wanted = _NOTHING_MORE, tell: Callable[[Sequence[Ended]], object] = lambda ended: None
) -> list[Judged]:
    """Runs at each place; raises the worst of what went wrong. tell: gets the results before that."""
    with _as_junit(wanted) as ended:
        ended += _at_each(*asked())
        tell(ended)
        return _outcome(ended, wanted.limits)


@contextlib.contextmanager
def _as_junit(wanted: Wanted) -> Iterator[list[Ended]]:
    """Yields a list for the results, and writes them at the end, however that comes."""
    ended: list[Ended] = []
    error: QuadraError | None = None
    try:
        yield ended
    except QuadraError as found:
        error = found
        raise
    finally:
        if wanted.junit:
            run_junit.write(ended, wanted.limits, wanted.junit, error)


def _outcome(ended: Sequence[Ended], limits: Limits) -> list[Judged]:
    runs = [one.judged for one in ended if one.judged]
    errors = [one.error for one in ended if one.error]
    try:
        checked(runs)
        for one in runs:
            limits.check(one)
    except JudgementFailed as error:
        errors.append(error)
    if found := worst(errors):
        raise found
    return runs


def _at_each(specs: Sequence[RunSpec], places: Sequence[Place]) -> list[Ended]:
    """The result of each at each place. One that fails does not keep the others from running."""
    failed = prepared(places, specs[0].peers)
    ready = [place for place in places if place.name not in failed]
    ended = [Ended(name, None, error) for name, error in failed.items()]
    for spec in specs:
        ended += _at_all(spec, ready) if len(ready) > 1 else [_at_one(spec, place) for place in ready]
    at, names = {spec.signature: index for index, spec in enumerate(specs)}, [place.name for place in places]
    return sorted(ended, key=lambda one: (at.get(one.signature, 0), names.index(one.place)))


def _at_one(spec: RunSpec, place: Place) -> Ended:
    try:
        return Ended(place.name, run_and_judge(spec, place), signature=spec.signature)
    except QuadraError as error:
        return Ended(place.name, None, error, spec.signature)


def run_and_judge(spec: RunSpec, place: Place) -> Judged:
    """Runs, compares, writes the report. Failing on wrong outputs is up to the caller."""
    with progress(f"run {spec.label} on {spec.options['backend']}") as show:
        return run_shown(spec, place, show)


def run_shown(spec: RunSpec, place: Place, show: Show, more: Sequence[own_metrics.Metric] = ()) -> Judged:
    """The same, telling `show` what goes on. more: metrics besides those that the spec names."""
    outputs = (
        [name for name, _ in signatures.entry(Path(spec.model.path).read_bytes(), spec.signature).outputs]
        if spec.metrics
        else []
    )
    wanted = own_metrics.checked([*map(own_metrics.parse, spec.metrics), *more], outputs)
    try:
        folder = place.run(place.aim(spec), show)
        complete_inputs.complete(folder, place, show)
    except QuadraError as error:
        if error.kept:
            with contextlib.suppress(QuadraError):  # a page of what there was
                run_pages.write(judged.judge(RunFolder(error.kept)))
        raise
    if spec.same_inferences:
        determinism_search.find(folder, place, show)
    show("compare")
    found = judged.judge(folder)
    if wanted and found.comparison:
        show("compute the metrics")
        own_metrics.measure(folder, wanted)
    show("write the report")
    run_pages.write(found)
    return found


def checked(runs: Sequence[Judged]) -> list[Judged]:
    """All of them; raises the first failed judgement after all were looked at, other errors at once."""
    wrong = []
    for one in runs:
        try:
            one.check()
        except JudgementFailed as error:
            wrong.append(error)
    if wrong:
        raise wrong[0]
    return list(runs)


def _at_all(spec: RunSpec, places: Sequence[Place]) -> list[Ended]:
    """Devices at the same time; after them, one after the other, what shares this machine's processor."""
    phones = {one.device.serial: one for one in places if isinstance(one, DevicePlace)}

    def work(device: Device, show: parallel.Show) -> Judged:
        return run_shown(spec, phones[device.serial], lambda text: show(text, 0, 0))

    outcomes = parallel.each([one.device for one in phones.values()], work, f"run {spec.label}")
    ended = [Ended(phones[one.device.serial].name, one.value, one.error, spec.signature) for one in outcomes]
    return ended + [_at_one(spec, place) for place in places if not isinstance(place, DevicePlace)]
