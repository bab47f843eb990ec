"""`inv pull`: interrupted runs on devices, each into its run folder."""

from collections.abc import Callable
from dataclasses import dataclass

from rich.console import Console
from rich.markup import escape

from host_tools.base import interrupt, settings
from host_tools.base.errors import AppMissing, Misuse, QuadraError
from host_tools.judge import judged
from host_tools.phone.adb import lock, parallel
from host_tools.phone.adb.adb_device import Device
from host_tools.phone.adb.choice import choose
from host_tools.phone.app import install_app, remote_folder, start_app
from host_tools.phone.files import check_pulled
from host_tools.phone.state import readiness
from host_tools.places import one_graph
from host_tools.record import run_folder, spec as specs
from host_tools.record.run_folder import RunFolder
from host_tools.show import run_pages


def pull(on: str, run_id: str, cache: bool, console: Console) -> list[RunFolder]:
    """Brings interrupted runs on devices, each into a run folder of its own, and removes them there."""

    def work(device: Device, show: parallel.Show) -> _Pulled:
        with lock.lease(device.serial, "pull"):
            return _pull_from(device, run_id, cache, lambda text: show(text, 0, 0))

    with interrupt.once():
        outcomes = parallel.each(choose(on), work, "pull")
    folders = [folder for outcome in outcomes if outcome.value for folder in outcome.value.folders]
    for folder in folders:
        console.print(f"{escape(folder.path.name)}  {folder.status().state}  {escape(str(folder.path))}")
    for outcome in outcomes:
        if outcome.value and outcome.value.cache:
            console.print(outcome.value.cache)
        elif outcome.value and not outcome.value.folders and len(outcomes) > 1:
            console.print(f"{escape(outcome.device.serial)}  no interrupted run is there")
    parallel.check(outcomes)
    if run_id and not folders:
        do_next = "`./inv pull` without a name fetches all"
        raise Misuse(f"pull the run {run_id}", "no run of that name is there", do_next)
    if not folders and not cache and len(outcomes) == 1:
        console.print("no interrupted run is there")
    return folders


@dataclass(frozen=True)
class _Pulled:
    """What came from one device. cache: a sentence on the app's code cache; empty: nobody asked for it."""

    folders: list[RunFolder]
    cache: str


def _pull_from(device: Device, run_id: str, cache: bool, show: Callable[[str], None]) -> _Pulled:
    readiness.put_right(device)
    found = [one for one in remote_folder.left(device) if one.run_id.startswith(run_id)]
    if not found and not install_app.installed_digest(device):
        raise AppMissing(
            f"look for interrupted runs on {device.serial}",
            f"the test app, {install_app.PACKAGE}, is not installed there",
            "run something there first",
            serial=device.serial,
        )
    start_app.stop(device)  # who started it is gone
    folders = [_pull_one(one, show) for one in found]
    return _Pulled(folders, _pull_cache(device, folders, show) if cache and (folders or not run_id) else "")


def _pull_one(remote: remote_folder.RemoteFolder, show: Callable[[str], None]) -> RunFolder:
    """The host's half of the folder is there, or was on another machine: then the device's spec.json begins it."""
    run_id = remote.run_id
    partial = settings.read().runs_dir / (run_folder.PARTIAL + run_id)
    if not partial.is_dir():
        try:
            spec = remote_folder.spec_of(remote)
        except Misuse:
            spec = specs.RunSpec(
                run_id, specs.ModelRef("unknown", "", "0" * 64), place="device", device=remote.device.serial
            )
        if spec.run_id != run_id:
            raise Misuse(f"pull {run_id}", "its spec.json is of another run", f"remove {remote.path} on the device")
        partial = run_folder.start(spec, settings.read().runs_dir)
    if not run_folder.hold(partial):
        raise Misuse(f"pull {run_id}", f"another process works in {partial}", "wait until it has ended, or stop it")
    try:
        remote.pull(partial, show)
    except QuadraError as error:
        run_folder.finish(partial, "interrupted", "pull", error)
        raise
    check_pulled.damaged(partial)
    one_graph.keep(partial)
    folder = run_folder.finish(partial, "interrupted", "run")
    remote.remove()
    run_pages.write(judged.judge(folder))
    return folder


def _pull_cache(device: Device, folders: list[RunFolder], show: Callable[[str], None]) -> str:
    """All of the app's code cache: into the run that was pulled last, or beside the runs."""
    runs_dir = settings.read().runs_dir
    to = (
        folders[-1].path
        if folders
        else settings.make_folder(runs_dir / f"cache-{lock.file_name(device.serial)}", "QUADRA_RUNS_DIR")
    )
    count = remote_folder.RemoteFolder(device, "").pull_cache(to, remote_folder.CACHE, show)
    return f"{count} cache files  {escape(str(to / remote_folder.CACHE_HERE))}"
