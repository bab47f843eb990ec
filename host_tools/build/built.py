"""What runs need, built when it is asked for: host_tools/build/artifacts.py in a clone."""

import hashlib
import threading
from pathlib import Path

from host_tools.base import digests
from host_tools.base.android import TFLITE
from host_tools.build import apk as packager, apk_facts, bazel, java, maven

_MAKING = threading.Lock()
classes_of = packager.classes_of
app_classes = java.app_classes


def library() -> Path:
    """The delegate for this machine."""
    return bazel.library()


def phone_library() -> Path:
    """The same as phones get it, without the kernels for CPUs."""
    return bazel.phone_library()


def accelerator() -> Path:
    """The accelerator for LiteRT's CompiledModel for this machine, in a folder with the delegate."""
    return bazel.accelerator()


def android(abi: str) -> Path:
    """The delegate for devices of this ABI."""
    return bazel.android([abi])[abi].path


def android_accelerator(abi: str) -> Path:
    """The accelerator for LiteRT's CompiledModel, for devices of this ABI."""
    return bazel.accelerators([abi])[abi]


def runner(abi: str) -> Path:
    """The program that runs a model from a device's shell."""
    return bazel.runners([abi])[abi]


def runtime(abi: str) -> Path:
    """TensorFlow Lite for that program."""
    return maven.aar_file("tensorflow-lite", f"jni/{abi}/{TFLITE}")


def apk(abi: str, delegate: Path, shipped: bool = False) -> Path:
    """An APK for devices of this ABI with this delegate, and with the one that TFLite ships where `shipped`; made once."""
    digest = hashlib.sha256(digests.sha256_of(delegate).encode())
    digest.update(apk_facts.class_list(java.app_classes()).encode() + packager.manifest(False).encode())
    digest.update(f"{maven.version('tensorflow-lite')} {maven.version('dalvik-dx')}".encode())
    kind = f"quadra-runner-{abi}{'-peers' if shipped else ''}"
    made = packager.BUILT / f"{kind}-{digest.hexdigest()[:16]}.apk"
    with _MAKING:  # one for all devices that run at the same time
        if not made.is_file():
            packager.make({abi: delegate}, made, peers=shipped)
            for old in packager.BUILT.glob(f"{kind}-{'[0-9a-f]' * 16}.apk"):
                if old != made:
                    old.unlink(missing_ok=True)
    return made


def host_classes() -> Path:
    """Folder of the classes that start the app's on this machine's Java."""
    return java.compile_java(java.sources(java.TEST_MODULE), java.test_class_path(), "the Java of --on jvm")


def java_path() -> list[Path]:
    """The classes of the app. The delegate's are those of the AAR."""
    return [java.delegate_jar(), java.app_classes()]
