"""`inv bench`: Quadra beside XNNPACK on this machine, with one and two threads; or, in Android's runtime (--on jvm, on a
device, or on those of a lab), beside XNNPACK and TFLite's stock GPU delegate, all in one process, with one thread.

Every model and backend leaves a run folder, from which all figures are taken: an interrupted bench is resumed with
those that it has.
"""

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from host_tools.base import interrupt, settings, terminal
from host_tools.base.errors import Misuse
from host_tools.base.progress import progress
from host_tools.base.units import counted
from host_tools.judge.bench_figures import Asked, Bench
from host_tools.measure import bench_request, device_lanes, lab_places
from host_tools.measure.bench_request import Words
from host_tools.measure.bench_rows import Figures, Finished, Lane, RowMaker, families
from host_tools.measure.cell_queue import All, Deal, Shared
from host_tools.measure.lab_places import There
from host_tools.places import where
from host_tools.places.place import Place, Show, some_ready
from host_tools.record import machine, peer_names, run_names, verdicts
from host_tools.request import from_arguments, models
from host_tools.show import bench_page


def measured(words: Words, library: Path | None) -> Bench:
    """The bench that the words ask for, with its files written."""
    wanted, absent = bench_request.asked(words)
    if absent:
        _say(f"left out, because they are not here: {', '.join(absent)}; `{models.FETCH}` fetches them")
    _say(_intended(wanted))
    with _places(words, wanted, library) as (places, there), progress("bench") as show, interrupt.once():
        return measure(wanted, places, show, bench_page.write, words.resume, there)


def _intended(wanted: Asked) -> str:
    """What the bench is going to do. How long it takes is known once the first row is measured: a busy machine and a
    driver that compiles for minutes make each figure given here wrong."""
    count = len(wanted.models)
    named = ", ".join(map(from_arguments.label, wanted.models)) if count <= 3 else f"{count} models"
    apis = " and ".join(verdicts.APIS[backend] for backend in wanted.backends)
    peers = "; ".join(peer_names.label(peer) for peer in wanted.peers)
    inferences = counted(wanted.repetitions, "inference")
    what = f"bench: {named} on {apis}, beside {peers}: {inferences} each"
    rows = count * len(wanted.kinds)
    soon = " The first of them says how long the rest takes." if rows > 1 else ""
    return f"{what}, {counted(rows, 'row')}.{soon} Ctrl-C keeps what was measured until then"


def _say(text: str) -> None:
    terminal.say(text, sys.stderr)


def _places(
    words: Words, wanted: Asked, library: Path | None
) -> AbstractContextManager[tuple[Sequence[Place], There | None]]:
    """The devices of a lab and whether one of them is there, or the one place."""
    if words.lab:
        return lab_places.of(words.lab, words.on, library, _say)
    places = where.parse(wanted.device or wanted.place, library)
    if len(places) > 1:
        named, each = ", ".join(place.name for place in places), "`./inv regress --on` measures on several"
        raise Misuse(
            f"bench with --on {wanted.device}", f"this is {counted(len(places), 'place')}: {named}", f"name one; {each}"
        )
    if wanted.device:
        bench_request.check_device(words.resume, places[0].name)
    return nullcontext((places, None))


def measure(
    asked: Asked,
    places: Sequence[Place],
    show: Show,
    keep: Callable[[Bench], Any],
    resume: str = "",
    there: There | None = None,
) -> Bench:
    """Runs every model on each backend; a model that fails is a row with its reason. `keep` gets the bench after each:
    an interrupted one is not lost. resume: the folder of such a bench, by name or path: its complete runs with these
    libraries are taken. there: the places are devices of a lab, of which each model gets one; it says whether one is there.
    """
    if asked.device:
        asked = replace(asked, device=places[0].name)
    failed = some_ready(places, asked.peers)
    places = [place for place in places if place.name not in failed]
    folder = bench_request.folder_of(resume) if resume else _new_folder(asked.models)
    facts = {place.name: machine.library_facts(place.delegate()) for place in places}
    digests = {one["sha256"] for one in facts.values()}
    finished = Finished.of(folder, digests)
    library = next(iter(facts.values())) if len(digests) == 1 else {}  # one for each ABI: the run folders name them
    if peer_names.LITERT in asked.peers:
        library = {**library, "litert_gpu": machine.litert_accelerator()}
    figures = Figures(folder, asked, library, keep)
    maker = RowMaker(asked, folder, finished)
    deal: Deal[Any] = All(families(asked.models))
    if there:
        left = [one for one in families(asked.models) if not figures.kept(one, maker)]
        deal = Shared(left, [place.name for place in places], there, maker.begun_on)
        for name, error in failed.items():
            deal.leave(name, " ".join(f"{error.tried}: {error.came_back}".split()))
    shows = device_lanes.shows(show, [place.name for place in places])
    try:
        device_lanes.run_all([Lane(place, deal, maker, figures, bool(there), one) for place, one in zip(places, shows)])
    except KeyboardInterrupt:
        if figures.rows:
            _say(f"kept: {folder}; to go on: the same command with --resume {folder.name}")
        raise
    if isinstance(deal, Shared):
        figures.close(deal.notes)
    return figures.bench()


def _new_folder(words: Sequence[str]) -> Path:
    """Named by the time, and by the model if there is only one."""
    name = time.strftime("bench-%Y%m%d-%H%M%S", time.gmtime())
    measured = {models.find(from_arguments.split(word)[0]).name for word in words}
    if len(measured) == 1:
        name += f"-{run_names.part_of_name(measured.pop()) or 'model'}"
    return settings.make_folder(settings.read().runs_dir / name, "QUADRA_RUNS_DIR")
