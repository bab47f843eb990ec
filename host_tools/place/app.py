"""Runs a model as on a phone, without one: the APK's runner and Java API on a desktop's Java, under Robolectric.

Inside are Android's own TFLite runtime (the x86_64 library of the AAR) and Quadra's library for Android x86_64; the
libraries of host_tools/bionic make both load here. OpenCL and OpenGL ES are this machine's. See docs/android.md.
"""

import contextlib
import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Dict, List, Optional, Sequence

from host_tools import apk, bazel, bionic, environment, java, maven, peers, run_folder, settings, spec as specs
from host_tools.errors import Misuse, QuadraError
from host_tools.place import companion, drivers, host, turns
from host_tools.place.child import Child, Show, add_timings, merge_cold
from host_tools.run_folder import RunFolder

ABI = "x86_64"
_NEEDED = "libquadra.so"  # the name that the Java API loads
_MAIN = "org.quadra.host.RunnerOnHost"
# Little that runs beside what is measured: one thread collects garbage, the quick compiler alone compiles.
_JVM = ("-Xshare:auto", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dfile.encoding=UTF-8")


def library() -> Path:
    """The delegate for this place; built if that is needed."""
    return bazel.android([ABI])[ABI].path


def run(
    spec: specs.RunSpec, library: Path, show: Show = lambda text: None, runs_dir: Optional[Path] = None
) -> RunFolder:
    """As host.run; `library` is for Android x86_64. What is not here yet (Java classes, AARs) comes first."""
    config = settings.read()
    show("look for Java, Android's classes and TFLite's runtime")
    machine = Machine(library, peers.needs_shipped(spec.peers))
    folder = run_folder.start(spec, runs_dir or config.runs_dir)
    child = _Child(folder, spec, show, machine)
    cache = folder / "driver_cache" if spec.cold else config.driver_cache_dir

    def start(mode: str, names: Optional[Sequence[str]]) -> None:
        child.work(mode, cache, names)

    def work() -> None:
        settings.make_folder(cache, "QUADRA_DRIVER_CACHE_DIR")
        show("make inputs")
        companion.prepare(spec, folder)
        # They have no kernels in common, so that one cache is empty to each, and has what all compiled afterwards.
        starts = turns.cold_starts(child, start) if spec.cold else {}
        compiled = drivers.compiled(cache)
        lost = turns.run_with_peers(child, start)
        add_timings(folder, {"driver_compiled": drivers.compiled(cache) - compiled, **lost})
        child.reference()
        show("gather facts of this machine")
        _merge_environment(folder, environment.facts(library, spec.threads), machine)
        if spec.cold:
            merge_cold(folder, starts)
            shutil.rmtree(cache, ignore_errors=True)

    return child.finish(work, lambda: child.dump(cache))


class Machine:
    """Everything that a Java process needs to be a phone's, in words for its command line."""

    def __init__(self, library: Path, shipped: bool = False) -> None:
        self.named = _named(library)
        runtime = maven.aar_file("tensorflow-lite", f"jni/{ABI}/libtensorflowlite_jni.so")
        self.libraries = [library, runtime]
        classes = java.compile_java(java.sources(java.TEST_MODULE), java.test_class_path(), "the Java of the app place")
        self.class_path = [classes, *java.test_class_path()]
        if shipped:
            self.libraries.append(peers.library(ABI))
            self.class_path += maven.class_path(*peers.ALIASES)
        self.compat = bionic.folder_for(self.libraries)

    def command(self, main: str, properties: Dict[str, str], arguments: Sequence[object] = ()) -> List[object]:
        own = {"quadra.version": maven.version("quadra-name"), "java.library.path": self._library_path()}
        told = {**java.robolectric_properties(), **own, **properties}
        words = [f"-D{key}={value}" for key, value in told.items()]
        path = os.pathsep.join(map(str, self.class_path))
        return [java.tool("java"), *_JVM, *words, "-cp", path, main, *arguments]

    def environment(self, threads: int, cache: Path) -> Dict[str, str]:
        return {
            "LD_LIBRARY_PATH": str(self.compat),
            **peers.SHOWN_DEVICE,
            **drivers.settings(threads),
            **drivers.caches(cache),
        }

    def _library_path(self) -> str:
        return os.pathsep.join(str(path.parent) for path in (self.named, *self.libraries[1:]))


def _named(library: Path) -> Path:
    """The library under the name that Java loads it by."""
    if not library.is_file():
        raise Misuse(f"load {library}", "there is no such file", "leave --library away to build one")
    if library.name == _NEEDED:
        return library
    folder = settings.make_folder(
        settings.read().tools_dir / "named" / specs.sha256_of(library)[:16], "QUADRA_TOOLS_DIR"
    )
    if not (folder / _NEEDED).exists():
        shutil.copyfile(library, folder / f".{os.getpid()}")
        (folder / f".{os.getpid()}").replace(folder / _NEEDED)
    return folder / _NEEDED


class _Child(Child):
    """Starts the runner, and the companion."""

    def __init__(self, folder: Path, spec: specs.RunSpec, show: Show, machine: Machine) -> None:
        super().__init__(folder, spec, show)
        self.machine = machine

    def work(self, mode: str, cache: Path, names: Optional[Sequence[str]] = None) -> None:
        """names: who runs beside Quadra, or starts in its place; None: whom the RunSpec names."""
        told = {"quadra.argument.folder": str(self.folder), "quadra.argument.mode": mode}
        if names is not None:
            told["quadra.argument.peers"] = ",".join(names)
        title = f"{mode} {','.join(names or ())}".strip()
        self.start(title, self.machine.command(_MAIN, told), self.machine.environment(self.spec.threads, cache))

    def dump(self, cache: Path) -> None:
        """As on the host: what was made of a model is worth a look above all when it failed."""
        if not any(self.folder.glob("partition_*")):
            with contextlib.suppress(QuadraError):
                self.work("dump", cache)

    def reference(self) -> None:
        argv, env = host.python_command("host_tools.place.companion", self.folder)
        self.start("reference", argv, env)


def _merge_environment(folder: Path, here: Dict, machine: Machine) -> None:
    """This machine's facts with those that the runner saw from inside."""
    inside = json.loads((folder / "environment.json").read_text(encoding="utf-8"))
    seen = ("device", "thermal", "opencl_devices", "gles_devices")
    merged = {**here, **{key: inside[key] for key in seen if key in inside}}
    merged["packages"] = {**here["packages"], **inside.get("packages", {})}
    merged["runner_classes_sha256"] = hashlib.sha256(apk.class_list(java.app_classes()).encode()).hexdigest()
    merged["system"] = f"{inside.get('system', 'Android')} on {here['system']}"
    run_folder.write_json(folder / "environment.json", merged)
