"""`inv install` and `inv uninstall`: the test app, or Quadra beside LiteRT's programs, on several devices at the same time."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.markup import escape

from host_tools.base.errors import DeviceError
from host_tools.build import artifacts
from host_tools.phone.adb import lock, parallel
from host_tools.phone.adb.adb_device import Device
from host_tools.phone.adb.choice import choose
from host_tools.phone.app import beside_litert, install_app

_Tell = Callable[[str], None]
_Made = TypeVar("_Made")


def install(on: str, apk: Path | None, console: Console, *, fresh: bool = False, shipped: bool = False) -> None:
    """Installs the test app where that very APK is not there. fresh: uninstalls what is there first. shipped: with TFLite's
    stock GPU delegate."""
    devices = choose(on)
    made = _made(devices, lambda abi: apk or artifacts.apk(abi, artifacts.android(abi), shipped))

    def work(device: Device, tell: _Tell) -> str:
        return "installed" if install_app.install(device, made[device.serial], tell, fresh) else "was there already"

    _each(devices, work, "install", console)


def install_beside_litert(on: str, folder: str, console: Console) -> None:
    """Puts the delegate and the accelerator for LiteRT's CompiledModel into the folder of LiteRT's programs there."""
    devices, folder = choose(on), _folder(folder)
    _look(devices, folder)
    made = _made(devices, lambda abi: [artifacts.android(abi), artifacts.android_accelerator(abi)])

    def work(device: Device, tell: _Tell) -> str:
        new = beside_litert.install(device, made[device.serial], folder, tell)
        return "LiteRT's programs load Quadra now" if new else "Quadra was there already"

    _each(devices, work, "install", console, folder)


def uninstall_beside_litert(on: str, folder: str, console: Console) -> None:
    """Takes away what install_beside_litert() put there."""
    folder = _folder(folder)

    def work(device: Device, tell: _Tell) -> str:
        gone = beside_litert.uninstall(device, folder)
        return f"LiteRT's programs are without Quadra {'again' if gone else 'already'}"

    _each(choose(on), work, "uninstall", console, folder)


def _made(devices: Sequence[Device], make: Callable[[str], _Made]) -> dict[str, _Made]:
    """The files for each device, by its serial: those that `make` gives for its ABI."""
    made = {}
    for device in (one for one in devices if not one.unusable):
        try:
            abi = install_app.abi_of(device)
        except DeviceError as error:
            device.unusable = error
        else:
            made[device.serial] = make(abi)
    return made


def _look(devices: Sequence[Device], folder: str) -> None:
    """Before a build, which takes minutes: devices without LiteRT get nothing."""
    for device in (one for one in devices if not one.unusable):
        try:
            beside_litert.look(device, folder)
        except DeviceError as error:
            device.unusable = error


def _folder(given: str) -> str:
    """The folder of LiteRT's programs: as given, else where its CLI puts them."""
    return (given or os.environ.get("LITERT_CLI_ANDROID_ROOT") or beside_litert.ROOT).rstrip("/")


def uninstall(on: str, console: Console) -> None:
    """Uninstalls the test app where it is there."""

    def work(device: Device, tell: _Tell) -> str:
        return "uninstalled" if install_app.uninstall(device, tell) else "was not there"

    _each(choose(on), work, "uninstall", console)


def _each(
    devices: Sequence[Device], work: Callable[[Device, _Tell], str], title: str, console: Console, folder: str = ""
) -> None:
    """folder: of LiteRT's programs; else it is the test app that is installed."""

    def leased(device: Device, show: parallel.Show) -> str:
        with lock.lease(device.serial, f"{title} {'Quadra beside LiteRT' if folder else 'the test app'}"):
            return work(device, lambda text: show(text, 0, 0))

    outcomes = parallel.each(devices, leased, title)
    for outcome in outcomes:
        if outcome.value:
            what = f"{folder}:" if folder else install_app.PACKAGE
            console.print(f"{escape(outcome.device.serial)}  {escape(what)} {outcome.value}", soft_wrap=True)
    parallel.check(outcomes)
