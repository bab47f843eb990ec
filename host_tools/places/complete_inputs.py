"""The further inputs of a run with many, at places that have not computed them in the run itself: on a device by one process for each
batch (inputs_on_phone), elsewhere each as a run of one inference at that place."""

import shutil
import time

from host_tools.base.errors import DeviceError, QuadraError, RunFailed
from host_tools.places import further_inputs, inputs_on_phone
from host_tools.places.on_phone import Phone
from host_tools.places.on_phone_shell import PhoneShell
from host_tools.places.place import Place, Show
from host_tools.record import schema
from host_tools.record.run_folder import RunFolder
from host_tools.request import input_sets

_PAUSE_S = 2.0


def complete(folder: RunFolder, place: Place, show: Show) -> None:
    """Runs those that are not there yet. An error leaves the others, and the run folder that has them is its `kept`."""
    if not folder.spec().input_set:
        return
    try:
        if isinstance(place, (Phone, PhoneShell)):
            _by_one_process(folder, place, show)
        elif not (folder.path / input_sets.SET).is_dir():
            _one_by_one(folder, place, show)
    except QuadraError as error:
        error.kept = folder.path
        raise


def _by_one_process(folder: RunFolder, place: Phone | PhoneShell, show: Show) -> None:
    """At a place that takes many in one process. A device that was lost on the way is tried again, as long as it gets on."""
    wanted = {
        further_inputs.folder_of(folder.path, index).name: one
        for index, one in enumerate(further_inputs.specs(folder.spec()), 1)
    }
    before = -1
    while missing := {name: one for name, one in wanted.items() if not _is_there(folder, name)}:
        there = len(wanted) - len(missing)
        try:
            inputs_on_phone.run(place, folder, missing, show)
        except DeviceError as error:
            count = sum(_is_there(folder, name) for name in wanted)
            error.came_back += f"; {count + 1} of {len(wanted) + 1} inputs were computed, which are kept"
            if not error.retry or there <= before:
                raise
            time.sleep(_PAUSE_S)
        else:
            if not any(_is_there(folder, name) for name in missing):
                came_back = f"the process ended without outputs; {there + 1} of {len(wanted) + 1} inputs were computed"
                raise RunFailed(
                    f"run many inputs on {place.name}",
                    came_back,
                    "the same command again; log.txt in the run folder has what was said",
                )
        before = there


def _is_there(folder: RunFolder, name: str) -> bool:
    return (folder.path / input_sets.SET / name / schema.Status.FILE).exists()


def _one_by_one(folder: RunFolder, place: Place, show: Show) -> None:
    spec, runs = folder.spec(), folder.path / f".{input_sets.SET}"
    try:
        for index, one in enumerate(wanted := further_inputs.specs(spec), 1):

            def shown(text: str, at: str = f"input {index + 1} of {len(wanted) + 1}") -> None:
                show(f"{at}: {text}")

            made = place.run(place.aim(one), shown, runs)
            (folder.path / input_sets.SET).mkdir(exist_ok=True)
            made.path.rename(further_inputs.folder_of(folder.path, index))
    finally:
        shutil.rmtree(runs, ignore_errors=True)
