"""Apps of a virtual device that were never an APK: for tests of files and of run-as."""

from host_tools.virtual_device.device import VirtualDevice
from host_tools.virtual_device.installed_app import Installed


def install(phone: VirtualDevice, package: str) -> None:
    """Makes the package known, debuggable, and its private folder."""
    made = installed(package)
    phone.apps[package] = made
    (phone.root / made.data.lstrip("/")).mkdir(parents=True, exist_ok=True)


def installed(package: str, runner: str = "", uid: int = 10123) -> Installed:
    """What the package manager knows of it. `runner`: the class of its Instrumentation."""
    return Installed(
        package=package,
        version_code=1,
        version_name="0.1.0",
        target_sdk=34,
        debuggable=True,
        test_only=False,
        signer="aa",
        instrumentations=[[runner, package]],
        classes=[],
        libraries={},
        class_list="",
        uid=uid,
        folder=f"/data/app/~~a==/{package}-b==",
        abi="x86_64",
    )
