"""Apps of a virtual device that were never an APK: for tests of files and of run-as."""

from host_tools.virtual_device.device import VirtualDevice
from host_tools.virtual_device.packages import Installed


def install(phone: VirtualDevice, package: str) -> None:
    """Makes the package known, debuggable, and its private folder."""
    facts = {
        "debuggable": True,
        "version_code": 1,
        "version_name": "1",
        "min_sdk": 26,
        "target_sdk": 34,
        "signer": "",
        "sha256": "",
    }
    made = Installed(package, 10123, **facts, folder=f"/data/app/{package}", abi="")
    phone.apps[package] = made
    (phone.root / made.data.lstrip("/")).mkdir(parents=True, exist_ok=True)
