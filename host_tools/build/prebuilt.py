"""What runs need, as it lies in the wheel: host_tools/build/artifacts.py in an installed toolkit. host_tools/dev/release.py puts it there."""

import platform
import sys
import tempfile
import zipfile
from pathlib import Path

from host_tools.base import digests, settings
from host_tools.base.android import ABIS, ACCELERATOR, DELEGATE, RUNNER, TFLITE
from host_tools.base.errors import ToolMissing, needs_clone
from host_tools.base.installed import PREBUILT
from host_tools.build import apk_facts

APK, AAR, MADE_BY = "quadra-runner.apk", "quadra-gpu-delegate.aar", "made_by.txt"
# For Android's code on this machine: the class files that the APK was made of, those that start them here, and what stands in
# for Android's C library, for the x86_64 libraries that are in the wheel.
APP_CLASSES, HOST_CLASSES, BIONIC = "java/app", "java/host", "bionic"
CASES = "cases"  # of `parity --on`: host_tools/parity/device_parity_session.py has the names of its folders
READ_APK = "apk.json"  # what a virtual device reads of the APK with tools that this machine may not have
THIS_MACHINE = f"{sys.platform}-{platform.machine()}"


def library() -> Path:
    """The delegate for this machine."""
    return accelerator().with_name(DELEGATE)


def phone_library() -> Path:
    raise needs_clone("run the library that phones get on this machine")


def accelerator() -> Path:
    """The accelerator for LiteRT's CompiledModel for this machine, in a folder with the delegate."""
    found = PREBUILT / THIS_MACHINE / ACCELERATOR
    if not found.is_file():
        there = ", ".join(sorted(path.parent.name for path in PREBUILT.glob(f"*/{ACCELERATOR}"))) or "no system"
        raise ToolMissing(
            "find a delegate for this machine",
            f"this quadra-tools has one for {there}, and none for {THIS_MACHINE}",
            "ask a device: `quadra run MODEL --on any` says which nodes its GPU runs; or do this on Linux",
        )
    return found


def android(abi: str) -> Path:
    """The delegate for devices of this ABI."""
    return _unpacked(AAR, f"jni/{abi}/{DELEGATE}")


def android_accelerator(abi: str) -> Path:
    """The accelerator for LiteRT's CompiledModel, for devices of this ABI."""
    return _unpacked(AAR, f"jni/{abi}/{ACCELERATOR}")


def runner(abi: str) -> Path:
    """The program that runs a model from a device's shell."""
    _known(abi)
    return PREBUILT / abi / RUNNER


def runtime(abi: str) -> Path:
    """TensorFlow Lite for that program."""
    return _unpacked(APK, f"lib/{abi}/{TFLITE}")


def apk(abi: str, delegate: Path, shipped: bool = False) -> Path:
    """The test app's APK, which has the delegates of all ABIs, and the one that TFLite ships."""
    _known(abi)
    if digests.sha256_of(delegate) != digests.sha256_of(android(abi)):
        raise needs_clone(f"make an APK with {delegate}")
    return PREBUILT / APK


def app_classes() -> Path:
    """Folder of the compiled delegate and runner: the classes that went into the APK."""
    return PREBUILT / APP_CLASSES


def host_classes() -> Path:
    """Folder of the classes that start the app's on this machine's Java."""
    return PREBUILT / HOST_CLASSES


def java_path() -> list[Path]:
    """The classes of the app."""
    return [app_classes()]


def classes_of(listed: str) -> Path | None:
    """Folder of the class files that an APK's list has, byte for byte; None: it is another APK than the one that is here."""
    return app_classes() if apk_facts.class_list(app_classes()) == listed else None


def _unpacked(archive: str, member: str) -> Path:
    """A file of an archive, unpacked once for each release."""
    _known(member.split("/")[1])
    source = PREBUILT / archive
    kept = settings.read().tools_dir / "prebuilt" / digests.sha256_of(source)[:16]
    path = kept / member
    if not path.is_file():
        settings.make_folder(path.parent, "QUADRA_TOOLS_DIR")
        with tempfile.TemporaryDirectory(dir=path.parent) as scratch, zipfile.ZipFile(source) as opened:
            part = Path(scratch) / path.name
            part.write_bytes(opened.read(member))
            part.replace(path)
    return path


def _known(abi: str) -> None:
    if abi not in ABIS:
        there = ", ".join(ABIS)
        raise ToolMissing(f"find a delegate for a device of {abi}", f"there is one for {there}", "take another device")
