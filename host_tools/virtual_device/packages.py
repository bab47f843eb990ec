"""The device's package manager: what is installed, what may be, and where its files are.

An APK lies at /data/app/~~KEY==/PACKAGE-KEY==/base.apk, its libraries for this device beside it, its data at
/data/data/PACKAGE. What is installed is written to /data/system/packages.json and read again at the next start.
"""

import base64
import errno
import hashlib
import itertools
import json
import os
import shutil
import threading
import time
import zipfile
from collections.abc import Collection
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from host_tools.virtual_device import apk_reader
from host_tools.virtual_device.apk_reader import Apk, Refused

if TYPE_CHECKING:
    from host_tools.virtual_device.device import VirtualDevice

_FIRST_UID = 10110
_LEAST_TARGET = 23  # Android 14 takes nothing that was made for less
_PRIVATE = ("cache", "code_cache", "files")
_STATE = "data/system/packages.json"
SYSTEM_PID = 1206  # of Android's system server, in the log


@dataclass(frozen=True)
class Wishes:
    """The words of `pm install` that matter here."""

    replace: bool = True
    downgrade: bool = False
    test_only: bool = False
    abi: str = ""


@dataclass
class Installed:
    """An installed package."""

    package: str
    uid: int
    debuggable: bool
    version_code: int
    version_name: str
    min_sdk: int
    target_sdk: int
    signer: str
    sha256: str
    folder: str  # /data/app/…
    abi: str  # of its libraries on this device; empty: it has none
    instrumentations: list[list[str]] = field(default_factory=list)
    components: list[list[str]] = field(default_factory=list)
    classes: list[str] = field(default_factory=list)
    class_list: str = ""
    first_installed_s: float = 0.0
    updated_s: float = 0.0

    @property
    def apk(self) -> str:
        return f"{self.folder}/base.apk"

    @property
    def libraries(self) -> str:
        return f"{self.folder}/lib/{self.abi}"

    @property
    def data(self) -> str:
        return f"/data/data/{self.package}"


class Packages:
    """Safe to use from several threads: one package is changed at a time."""

    def __init__(self, device: "VirtualDevice") -> None:
        self.device = device
        self._lock = threading.RLock()
        self._numbers = itertools.count(int(time.time()) % 900_000_000 + 1)
        self._load()

    def all(self) -> list[Installed]:
        with self._lock:
            return sorted(self.device.apps.values(), key=lambda one: one.package)

    def get(self, package: str) -> Installed | None:
        return self.device.apps.get(package)

    def real(self, path: str) -> Path:
        """Where a path of the package manager's own is on the host."""
        return self.device.root / path.lstrip("/")

    def session(self) -> "Session":
        """A place for an APK that is to be installed."""
        number = next(self._numbers)
        return Session(number, self.real(f"/data/app/vmdl{number}.tmp"))

    def abandon(self, session: "Session") -> None:
        shutil.rmtree(session.folder, ignore_errors=True)

    def install(self, session: "Session", wishes: Wishes) -> Installed:
        """Takes the session's APK; Refused leaves everything as it was. The session is over either way."""
        try:
            apk = apk_reader.read(session.apk, int(self.device.properties["ro.build.version.sdk"]))
            with self._lock:
                abi = self._check(apk, wishes)
                return self._commit(session, apk, abi)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            raise no_room() from error
        finally:
            self.abandon(session)

    def uninstall(self, package: str, keep_data: bool = False) -> bool:
        """Whether it was there."""
        with self._lock:
            one = self.device.apps.pop(package, None)
            if one is None:
                return False
            self._save()
            self.device.processes.end(package, "pkg removed")
            shutil.rmtree(self.real(one.folder).parent, ignore_errors=True)
            if not keep_data:
                shutil.rmtree(self.real(one.data), ignore_errors=True)
        self.device.logcat.add("I", "PackageManager", f"Package {package} was removed", pid=SYSTEM_PID)
        return True

    def clear(self, package: str) -> bool:
        """Empties the package's data."""
        with self._lock:
            one = self.get(package)
            if one is None:
                return False
            self.device.processes.end(package, "clear data")
            shutil.rmtree(self.real(one.data), ignore_errors=True)
            self._make_data(one)
        return True

    def _check(self, apk: Apk, wishes: Wishes) -> str:
        """What depends on this device. Returns the ABI that the package will have here."""
        if apk.target_sdk < _LEAST_TARGET:
            text = f"App package must target at least SDK version {_LEAST_TARGET}, but found {apk.target_sdk}"
            raise Refused("INSTALL_FAILED_DEPRECATED_SDK_VERSION", text)
        if apk.test_only and not wishes.test_only:
            raise Refused("INSTALL_FAILED_TEST_ONLY", "Failed to install test-only apk. Did you forget to add -t?")
        old = self.get(apk.package)
        if old:
            self._check_update(apk, old, wishes)
        ours = [abi for abi in self.device.properties["ro.product.cpu.abilist"].split(",") if abi]
        if wishes.abi:
            ours = [abi for abi in ours if abi == wishes.abi]
        fitting = [abi for abi in ours if abi in apk.libraries]
        if (apk.libraries and not fitting) or (wishes.abi and not ours):
            raise Refused("INSTALL_FAILED_NO_MATCHING_ABIS", "Failed to extract native libraries, res=-113")
        return fitting[0] if fitting else ""

    def _check_update(self, apk: Apk, old: Installed, wishes: Wishes) -> None:
        if not wishes.replace:
            text = f"Attempt to re-install {apk.package} without first uninstalling."
            raise Refused("INSTALL_FAILED_ALREADY_EXISTS", text)
        if apk.signer != old.signer:
            text = f"Existing package {apk.package} signatures do not match newer version; ignoring!"
            raise Refused("INSTALL_FAILED_UPDATE_INCOMPATIBLE", text)
        if apk.version_code < old.version_code and not (wishes.downgrade and old.debuggable):
            text = (
                f"Downgrade detected: Update version code {apk.version_code} is older than current {old.version_code}"
            )
            raise Refused("INSTALL_FAILED_VERSION_DOWNGRADE", text)

    def _commit(self, session: "Session", apk: Apk, abi: str) -> Installed:
        old = self.get(apk.package)
        key = _key(f"{apk.sha256}{session.number}")
        folder = f"/data/app/~~{_key(key)}==/{apk.package}-{key}=="
        now = time.time()
        made = Installed(
            apk.package, old.uid if old else self._new_uid(), apk.debuggable, apk.version_code, apk.version_name,
            apk.min_sdk, apk.target_sdk, apk.signer, apk.sha256, folder, abi, [list(i) for i in apk.instrumentations],
            [list(c) for c in apk.components], sorted(apk.classes), apk.class_list,
            old.first_installed_s if old else now, now,
        )  # fmt: skip
        self.device.files.room()
        _unpack(session.apk, session.folder / "lib" / abi, apk.libraries.get(abi, ()), abi)
        place = self.real(folder)
        place.parent.mkdir(parents=True)
        os.chmod(session.apk, 0o644)
        session.folder.rename(place)
        if old:
            self.device.processes.end(apk.package, "installPackageLI")
            shutil.rmtree(self.real(old.folder).parent, ignore_errors=True)
            shutil.rmtree(self.real(f"{old.data}/code_cache"), ignore_errors=True)  # as every update does
        self._make_data(made)
        self.device.apps[made.package] = made
        self._save()
        self.device.processes.prepare(made)
        self.device.logcat.add("I", "PackageManager", f"Package {made.package} codePath is {folder}", pid=SYSTEM_PID)
        return made

    def _make_data(self, one: Installed) -> None:
        for name in ("", *_PRIVATE):
            place = self.real(f"{one.data}/{name}")
            place.mkdir(parents=True, exist_ok=True)
            os.chmod(place, 0o771 if name == "files" else 0o700)

    def _new_uid(self) -> int:
        return max([_FIRST_UID, *(one.uid for one in self.device.apps.values())]) + 1

    def _load(self) -> None:
        """What is installed; what an install left that did not end goes."""
        state = self.real(_STATE)
        if state.exists():
            rows = json.loads(state.read_text(encoding="utf-8"))["packages"]
            self.device.apps.update({row["package"]: Installed(**row) for row in rows})
        kept = {self.real(one.folder).parent for one in self.device.apps.values()}
        for place in self.real("/data/app").glob("*"):
            if place not in kept:
                shutil.rmtree(place, ignore_errors=True)

    def _save(self) -> None:
        state = self.real(_STATE)
        state.parent.mkdir(parents=True, exist_ok=True)
        rows = [asdict(one) for one in self.device.apps.values()]
        partial = state.with_suffix(".new")
        partial.write_text(json.dumps({"packages": rows}, indent=1), encoding="utf-8")
        partial.replace(state)


class Session:
    """An APK on its way in."""

    def __init__(self, number: int, folder: Path) -> None:
        self.number, self.folder = number, folder
        self.apk = folder / "base.apk"
        folder.mkdir(parents=True)

    def open(self) -> BinaryIO:
        return open(self.apk, "wb")


def no_room() -> Refused:
    return Refused("INSTALL_FAILED_INSUFFICIENT_STORAGE", "Failed to override installation location")


def _unpack(apk: Path, folder: Path, names: Collection[str], abi: str) -> None:
    """A phone maps stored libraries from the APK; here they are loaded from files."""
    if not names:
        return
    folder.mkdir(parents=True)
    with zipfile.ZipFile(apk) as archive:
        for name in names:
            (folder / name).write_bytes(archive.read(f"lib/{abi}/{name}"))
            os.chmod(folder / name, 0o755)


def _key(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest())[:22].decode()
