"""What tests of Android's Java share: whether its classes can be had, and libraries that look like ours."""

import os
import struct
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from host_tools.base.errors import FetchFailed
from host_tools.build import apk, maven, stock_delegate
from host_tools.places import on_jvm


def need_classes() -> None:
    """Fetches everything in one go, once per machine; without a network the test says so and is skipped."""
    bundles = [alias for name in ("tflite", "shipped", "junit", "robolectric") for alias in maven.bundle(name)]
    try:
        maven.artifacts([*bundles, "android-all", "dalvik-dx"])
    except FetchFailed as error:
        pytest.skip(str(error))


def stand_ins(folder: Path) -> dict[str, Path]:
    """ABI/libquadra.so for each ABI: real Android libraries, TFLite's, whose segments say that they want 16 KB pages."""
    made = {}
    for abi in apk.ABIS:
        source = maven.aar_file("tensorflow-lite-gpu", f"jni/{abi}/libtensorflowlite_gpu_jni.so")
        content = bytearray(source.read_bytes())
        with open(source, "rb") as file:
            elf = ELFFile(file)
            at = [elf["e_phoff"] + i * elf["e_phentsize"] for i in range(elf["e_phnum"])]
            wide = elf.elfclass == 64
        for offset in at:
            if struct.unpack_from("<I", content, offset)[0] == 1:  # PT_LOAD
                struct.pack_into("<Q" if wide else "<I", content, offset + (48 if wide else 28), apk.PAGE_BYTES)
        made[abi] = folder / abi / apk.NAME
        made[abi].parent.mkdir(parents=True)
        made[abi].write_bytes(content)
    return made


def app_library() -> Path:
    """Quadra's library for Android x86_64 (QUADRA_ANDROID_LIBRARY, or built), once all that Maven Central has to give is
    here; or the test is skipped with the reason."""
    try:
        bundles = [alias for name in ("robolectric", "tflite") for alias in maven.bundle(name)]
        maven.artifacts([*bundles, *stock_delegate.ALIASES, "junit", "android-all"])
    except FetchFailed as error:
        pytest.skip(str(error))
    given = os.environ.get("QUADRA_ANDROID_LIBRARY")
    return on_jvm.Jvm(Path(given) if given else None).delegate()
