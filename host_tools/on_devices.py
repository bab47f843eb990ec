"""The tasks that work on devices: run, install, pull. On several at the same time, with one account of all."""

import time
from pathlib import Path
from types import ModuleType
from typing import Any, Callable, Dict, List, Optional, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from host_tools import compare, device_account, report, run as runs, run_folder, settings, spec as specs, times, verdicts
from host_tools.device import app, choose, interrupt, lock, parallel, readiness, received, remote_folder
from host_tools.device.parallel import Outcome
from host_tools.errors import AppMissing, JudgementFailed, Misuse, QuadraError
from host_tools.place import device as device_place
from host_tools.progress import progress
from host_tools.run_folder import RunFolder

_STAMP = len("20261121-101530-042")  # what a run is called by
_COLUMNS = ("came of it", "largest error", "median ms", "over XNNPACK", "temperature", "run")
SpecOf = Callable[..., specs.RunSpec]  # takes place and device


def run(
    on: str, spec_of: SpecOf, library: Optional[Path], console: Console, apk: Optional[Path] = None, place: ModuleType = device_place
) -> List[RunFolder]:
    """Runs on the devices that `on` means; prints what came of it; raises the first error, or a failed judgement.

    place: who runs it there, the app or (place.device_shell) the runner in the shell.
    """
    devices = choose(on)
    wanted = _different_ids(devices, spec_of)
    prepared = {}
    for device in devices:  # before any of them is kept waiting by another's build
        built = library or place.library(device)
        made = place.made_for(device, built, wanted[device.serial], apk)
        prepared[device.serial] = {"library": built, "device": device, **made}
    if len(devices) == 1:
        folder = runs.run_and_judge(wanted[devices[0].serial], **prepared[devices[0].serial])
        runs.account(folder, console)
        runs.judge(folder)
        return [folder]

    def work(device: Any, show: parallel.Show) -> RunFolder:
        return runs.run_shown(wanted[device.serial], lambda text: show(text, 0, 0), **prepared[device.serial])

    outcomes = parallel.each(devices, work, f"run {wanted[devices[0].serial].model.name}")
    account(outcomes, console)
    return _judged(outcomes)


def table(folders: Sequence[RunFolder]) -> Table:
    """A row per run: of several models on one device."""
    made = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("model", "ran on", "nodes", *_COLUMNS):
        made.add_column(column, overflow="fold")
    for folder in folders:
        found = verdicts.read(folder.json("verdicts.json"))
        api = verdicts.APIS.get(found.backend, found.backend)
        made.add_row(escape(folder.spec().model.name), api, f"{found.gpu} of {found.gpu + found.cpu} on the GPU", *_cells(folder))
    return made


def account(outcomes: Sequence[Outcome[RunFolder]], console: Console) -> None:
    """A row per device."""
    rows = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("device", *_COLUMNS):
        rows.add_column(column, overflow="fold")
    for outcome in outcomes:
        if outcome.error:
            rows.add_row(escape(outcome.device.serial), f"[red]{type(outcome.error).__name__}[/]", "", "", "", "", "")
        else:
            rows.add_row(escape(outcome.device.serial), *_cells(outcome.value))
    console.print(rows)
    accounts = [device_account.of(outcome.value) for outcome in outcomes if outcome.value]
    for route in {one.route for one in accounts if one and one.route}:
        console.print(route)
    for outcome in outcomes:
        if outcome.error:
            console.print(f"[red]{escape(outcome.device.serial)}[/] {escape(str(outcome.error))}")


def _cells(folder: RunFolder) -> List[str]:
    timings, ratio = folder.json("timings.json"), times.ratio(folder.json("timings.json"))
    result = compare.compare(folder) if folder.has("cpu_outputs") else None
    error = max((o.relative for o in result.outputs), default=0.0) if result else None
    return [
        "[yellow]not judged[/]" if result is None else "[green]right[/]" if result.ok else "[red]WRONG[/]",
        "–" if error is None else f"{error:.1e}",
        times.ms(times.steady(timings)["quadra"].median),
        times.ratio_text(ratio and ratio.median),
        escape(device_account.heat(folder.json("environment.json"))),
        escape(folder.path.name[:_STAMP]),
    ]


def _judged(outcomes: Sequence[Outcome[RunFolder]]) -> List[RunFolder]:
    folders, wrong = parallel.values(outcomes), []
    for folder in folders:
        try:
            runs.judge(folder)
        except JudgementFailed as error:
            wrong.append(error)
    if wrong:
        raise wrong[0]
    return folders


def _different_ids(devices: Sequence[Any], spec_of: SpecOf) -> Dict[str, specs.RunSpec]:
    """Their names count milliseconds: no two may be of the same."""
    found: Dict[str, specs.RunSpec] = {}
    for device in devices:
        spec = spec_of(place="device", device=device.serial)
        while any(spec.run_id == other.run_id for other in found.values()):
            time.sleep(0.001)
            spec = spec_of(place="device", device=device.serial)
        found[device.serial] = spec
    return found


def install(on: str, apk: Optional[Path], console: Console, *, fresh: bool = False, shipped: bool = False, remove: bool = False) -> None:
    """Installs the test app, where that very APK is not there already; remove: takes it away."""
    devices = choose(on)
    made = {}
    for device in devices if not remove else ():
        made[device.serial] = apk or app.apk_for(device, device_place.library(device), shipped)

    def work(device: Any, show: parallel.Show) -> str:
        tell = lambda text: show(text, 0, 0)  # noqa: E731
        with lock.lease(device.serial, "install the test app"):
            if remove:
                return "removed" if app.uninstall(device, tell) else "was not there"
            return "installed" if app.install(device, made[device.serial], tell, fresh) else "was there already"

    outcomes = parallel.each(devices, work, "install")
    for outcome in outcomes:
        if outcome.value:
            console.print(f"{escape(outcome.device.serial)}  {app.PACKAGE} {outcome.value}")
    parallel.values(outcomes)


def pull(on: str, run_id: str, cache: bool, console: Console) -> List[RunFolder]:
    """Brings runs that were broken off on devices, each into a run folder of its own, and removes them there."""
    folders: List[RunFolder] = []
    for device in choose(on):
        with progress(f"pull from {device.serial}") as show, interrupt.once(), lock.lease(device.serial, "pull"):
            readiness.put_right(device)
            found = [one for one in remote_folder.left(device) if one.run_id.startswith(run_id)]
            if not found and not app.installed_digest(device):
                raise AppMissing("pull", f"{app.PACKAGE} is not on it", "run something there first", serial=device.serial)
            app.stop(device)  # who started it is gone
            if run_id and not found:
                raise Misuse(f"pull the run {run_id}", "none of that name lies there", "`./inv pull` without a name brings all")
            folders += [_pull_one(one, show) for one in found]
            if cache:
                _pull_cache(device, folders, show, console)
    for folder in folders:
        console.print(f"{escape(folder.path.name)}  {folder.status()['state']}  {escape(str(folder.path))}")
    if not folders and not cache:
        console.print("no broken-off run lies there")
    return folders


def _pull_one(remote: remote_folder.RemoteFolder, show: Callable[[str], None]) -> RunFolder:
    """The host's half of the folder is there, or was on another machine: then the device's spec.json begins it."""
    run_id = remote.run_id
    partial = settings.read().runs_dir / (run_folder.PARTIAL + run_id)
    if not partial.is_dir():
        try:
            spec = specs.from_json(remote_folder.spec_of(remote), f"spec.json of {run_id}")
        except Misuse:
            spec = specs.RunSpec(run_id, specs.ModelRef("unknown", "", "0" * 64), place="device", device=remote.device.serial)
        if spec.run_id != run_id:
            raise Misuse(f"pull {run_id}", "its spec.json is of another run", f"remove {remote.path} on the device")
        partial = run_folder.start(spec, settings.read().runs_dir)
    try:
        remote.pull(partial, show)
    except QuadraError as error:
        said = {"exit_code": error.exit_code, "parts": list(error.args)}
        run_folder.finish(partial, "interrupted", "pull", said)
        raise
    received.damaged(partial)
    folder = run_folder.finish(partial, "interrupted", "run")
    remote.remove()
    report.write(folder)
    return folder


def _pull_cache(device: Any, folders: List[RunFolder], show: Callable[[str], None], console: Console) -> None:
    """All of the app's code cache: into the run that was pulled last, or beside the runs."""
    runs_dir = settings.read().runs_dir
    to = folders[-1].path if folders else settings.make_folder(runs_dir / f"cache-{lock.file_name(device.serial)}", "QUADRA_RUNS_DIR")
    count = remote_folder.RemoteFolder(device, "").pull_cache(to, remote_folder.CACHE, show)
    console.print(f"{count} cache files  {escape(str(to / remote_folder.CACHE_HERE))}")
