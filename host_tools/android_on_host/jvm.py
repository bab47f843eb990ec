"""A Java process that is a phone's to the app: the command line, class path and libraries that it needs.

Inside are Android's own TFLite runtime (the x86_64 library of the AAR) and Quadra's library for Android x86_64; the
libraries of host_tools/android_on_host/bionic make both load here.
"""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from host_tools.android_on_host import bionic
from host_tools.base import cpu_drivers, digests, settings
from host_tools.base.errors import Misuse
from host_tools.build import artifacts, java, maven, stock_delegate

ABI = "x86_64"
_NEEDED = "libquadra.so"  # the name that the Java API loads
_JVM = (*java.BRIEF, "-Dfile.encoding=UTF-8")  # little runs beside what is measured


class Machine:
    """Everything that a Java process needs to be a phone's, in words for its command line."""

    def __init__(self, library: Path, shipped: bool = False) -> None:
        self.named = _named(library)
        runtime = maven.aar_file("tensorflow-lite", f"jni/{ABI}/libtensorflowlite_jni.so")
        self.libraries = [library, runtime]
        self.class_path = [artifacts.host_classes(), *artifacts.java_path(), *java.host_libraries()]
        if shipped:
            self.libraries.append(stock_delegate.library(ABI))
            self.class_path += maven.class_path(*stock_delegate.ALIASES)
        self.compat = bionic.folder_for(self.libraries)

    def command(self, main: str, properties: dict[str, str], arguments: Sequence[object] = ()) -> list[object]:
        own = {"quadra.version": maven.version("quadra-name"), "java.library.path": self._library_path()}
        told = {**java.robolectric_properties(), **own, **properties}
        words = [f"-D{key}={value}" for key, value in told.items()]
        path = os.pathsep.join(map(str, self.class_path))
        return [java.tool("java"), *_JVM, *words, "-cp", path, main, *arguments]

    def environment(self, threads: int, cache: Path) -> dict[str, str]:
        return {
            "LD_LIBRARY_PATH": str(self.compat),
            **stock_delegate.SHOWN_DEVICE,
            **cpu_drivers.settings(threads),
            **cpu_drivers.caches(cache),
        }

    def _library_path(self) -> str:
        return os.pathsep.join(str(path.parent) for path in (self.named, *self.libraries[1:]))


def _named(library: Path) -> Path:
    """The library under the name that Java loads it by."""
    if not library.is_file():
        raise Misuse(f"load {library}", "there is no such file", "omit --library to build one")
    if library.name == _NEEDED:
        return library
    folder = settings.make_folder(
        settings.read().tools_dir / "named" / digests.sha256_of(library)[:16], "QUADRA_TOOLS_DIR"
    )
    if not (folder / _NEEDED).exists():
        shutil.copyfile(library, folder / f".{os.getpid()}")
        (folder / f".{os.getpid()}").replace(folder / _NEEDED)
    return folder / _NEEDED
