"""`inv install` and `inv uninstall`: the test app, on several devices at the same time."""

from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from host_tools.base.errors import DeviceError
from host_tools.build import artifacts
from host_tools.phone.adb import lock, parallel
from host_tools.phone.adb.adb_device import Device
from host_tools.phone.adb.choice import choose
from host_tools.phone.app import install_app

_Tell = Callable[[str], None]


def install(on: str, apk: Path | None, console: Console, *, fresh: bool = False, shipped: bool = False) -> None:
    """Installs the test app where that very APK is not there. fresh: uninstalls what is there first. shipped: with TFLite's
    stock GPU delegate."""
    devices = choose(on)
    made = {}
    for device in (one for one in devices if not one.unusable):
        try:
            abi = install_app.abi_of(device)
        except DeviceError as error:
            device.unusable = error
        else:
            made[device.serial] = apk or artifacts.apk(abi, artifacts.android(abi), shipped)

    def work(device: Device, tell: _Tell) -> str:
        return "installed" if install_app.install(device, made[device.serial], tell, fresh) else "was there already"

    _each(devices, work, "install", console)


def uninstall(on: str, console: Console) -> None:
    """Uninstalls the test app where it is there."""

    def work(device: Device, tell: _Tell) -> str:
        return "uninstalled" if install_app.uninstall(device, tell) else "was not there"

    _each(choose(on), work, "uninstall", console)


def _each(devices: Sequence[Device], work: Callable[[Device, _Tell], str], title: str, console: Console) -> None:
    def leased(device: Device, show: parallel.Show) -> str:
        with lock.lease(device.serial, f"{title} the test app"):
            return work(device, lambda text: show(text, 0, 0))

    outcomes = parallel.each(devices, leased, title)
    for outcome in outcomes:
        if outcome.value:
            console.print(f"{escape(outcome.device.serial)}  {install_app.PACKAGE} {outcome.value}")
    parallel.check(outcomes)
