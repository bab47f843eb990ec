"""The device's package manager: what is installed, what may be, and where its files are.

An APK lies at /data/app/~~KEY==/PACKAGE-KEY==/base.apk, its libraries for this device beside it, its data at
/data/data/PACKAGE. When the device's process has died, what was installed is gone, and its data are still there.
"""

import errno
import os
import secrets
import shutil
import tempfile
import threading
import zipfile
from pathlib import Path

from host_tools.build import apk_reader
from host_tools.build.apk_reader import Apk, Refused
from host_tools.virtual_device.installed_app import APK_NAME, Installed
from host_tools.virtual_device.state import State
from host_tools.virtual_device.users import SYSTEM_PID

_FIRST_UID = 10110
_LEAST_TARGET = 23  # Android 14 takes nothing that was made for less
_PRIVATE = ("cache", "code_cache", "files")


class Packages:
    """Safe to use from several threads: one package is changed at a time."""

    def __init__(self, device: State) -> None:
        self.device, self._apps = device, device.apps
        self._lock = threading.RLock()
        for left in self.real("/data/app").iterdir():
            shutil.rmtree(left, ignore_errors=True)

    def all(self) -> list[Installed]:
        with self._lock:
            return sorted(self._apps.values(), key=lambda one: one.package)

    def real(self, path: str) -> Path:
        """Where a path of the package manager's own is on the host."""
        return self.device.root / path.lstrip("/")

    def new_place(self) -> Path:
        """A folder for an APK that is to be installed."""
        return Path(tempfile.mkdtemp(prefix="vmdl", suffix=".tmp", dir=self.real("/data/app")))

    def install(self, place: Path, *, test_only: bool, downgrade: bool) -> Installed:
        """Takes the APK in this place; Refused leaves everything as it was. The flags are what `pm` is to allow."""
        try:
            apk = apk_reader.read(place / APK_NAME, int(self.device.properties["ro.build.version.sdk"]))
            if apk.test_only and not test_only:
                raise Refused("INSTALL_FAILED_TEST_ONLY", "Failed to install test-only apk. Did you forget to add -t?")
            with self._lock:
                self._check_update(apk, downgrade)
                return self._commit(place, apk, self._abi(apk))
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            raise no_room() from error

    def uninstall(self, package: str) -> bool:
        """Whether it was there."""
        with self._lock:
            one = self._apps.pop(package, None)
            if one is None:
                return False
            self.device.processes.end(package, "pkg removed")
            self.device.evidence.forget(package)
            shutil.rmtree(self.real(one.folder).parent, ignore_errors=True)
            shutil.rmtree(self.real(one.data), ignore_errors=True)
        self.device.logcat.add("I", "PackageManager", f"Package {package} was removed", pid=SYSTEM_PID)
        return True

    def clear(self, package: str) -> bool:
        """Empties the package's data."""
        with self._lock:
            one = self._apps.get(package)
            if one is None:
                return False
            self.device.processes.end(package, "clear data")
            shutil.rmtree(self.real(one.data), ignore_errors=True)
            self._make_data(one)
        return True

    def _abi(self, apk: Apk) -> str:
        """The ABI that the package will have here."""
        ours = self.device.properties["ro.product.cpu.abilist"].split(",")
        fitting = [abi for abi in ours if abi in apk.libraries]
        if apk.libraries and not fitting:
            raise Refused("INSTALL_FAILED_NO_MATCHING_ABIS", "Failed to extract native libraries, res=-113")
        return fitting[0] if fitting else ""

    def _check_update(self, apk: Apk, downgrade: bool) -> None:
        if apk.target_sdk < _LEAST_TARGET:
            text = f"App package must target at least SDK version {_LEAST_TARGET}, but found {apk.target_sdk}"
            raise Refused("INSTALL_FAILED_DEPRECATED_SDK_VERSION", text)
        old = self._apps.get(apk.package)
        if old and apk.signer != old.signer:
            text = f"Existing package {apk.package} signatures do not match newer version; ignoring!"
            raise Refused("INSTALL_FAILED_UPDATE_INCOMPATIBLE", text)
        if old and apk.version_code < old.version_code and not (downgrade and old.debuggable):
            text = (
                f"Downgrade detected: Update version code {apk.version_code} is older than current {old.version_code}"
            )
            raise Refused("INSTALL_FAILED_VERSION_DOWNGRADE", text)

    def _commit(self, place: Path, apk: Apk, abi: str) -> Installed:
        old = self._apps.get(apk.package)
        folder = f"/data/app/~~{secrets.token_urlsafe(16)}==/{apk.package}-{secrets.token_urlsafe(16)}=="
        uid = old.uid if old else max([_FIRST_UID, *(one.uid for one in self._apps.values())]) + 1
        made = Installed(**vars(apk), uid=uid, folder=folder, abi=abi)
        self.device.room()
        if abi:
            _unpack(place, abi, apk.libraries[abi])
        os.chmod(place, 0o755)
        os.chmod(place / APK_NAME, 0o644)
        self.real(folder).parent.mkdir()
        place.rename(self.real(folder))
        if old:
            self.device.processes.end(apk.package, "installPackageLI")
            shutil.rmtree(self.real(old.folder).parent, ignore_errors=True)
            shutil.rmtree(self.real(f"{old.data}/code_cache"), ignore_errors=True)  # as every update does
        self._make_data(made)
        self._apps[made.package] = made
        self.device.processes.prepare(made)
        self.device.logcat.add("I", "PackageManager", f"Package {made.package} codePath is {folder}", pid=SYSTEM_PID)
        return made

    def _make_data(self, one: Installed) -> None:
        for name in ("", *_PRIVATE):
            place = self.real(f"{one.data}/{name}")
            place.mkdir(parents=True, exist_ok=True)
            os.chmod(place, 0o771 if name == "files" else 0o700)


def no_room() -> Refused:
    return Refused("INSTALL_FAILED_INSUFFICIENT_STORAGE", "Failed to override installation location")


def _unpack(place: Path, abi: str, names: list[str]) -> None:
    """A phone maps stored libraries from the APK; here they are loaded from files."""
    folder = place / "lib" / abi
    folder.mkdir(parents=True)
    with zipfile.ZipFile(place / APK_NAME) as archive:
        for name in names:
            (folder / name).write_bytes(archive.read(f"lib/{abi}/{name}"))
            os.chmod(folder / name, 0o755)
