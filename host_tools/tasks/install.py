"""`inv install`: the test app onto devices, at the same time."""

from pathlib import Path

from rich.console import Console
from rich.markup import escape

from host_tools.phone.adb import lock, parallel
from host_tools.phone.adb.adb_device import Device
from host_tools.phone.adb.choice import choose
from host_tools.phone.app import app
from host_tools.places import phone_app


def install(
    on: str, apk: Path | None, console: Console, *, fresh: bool = False, shipped: bool = False, remove: bool = False
) -> None:
    """Installs the test app, where that very APK is not there already; remove: takes it away."""
    devices = choose(on)
    made = {}
    for device in devices if not remove else ():
        abi = app.abi_of(device)
        made[device.serial] = apk or phone_app.apk_for(abi, phone_app.library(abi), shipped)

    def work(device: Device, show: parallel.Show) -> str:
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
