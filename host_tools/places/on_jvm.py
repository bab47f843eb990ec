"""Runs a model as on a phone, without one: the APK's runner and Java API on a desktop's Java, under Robolectric.

What stands around them is in host_tools/android_on_host/jvm.py. OpenCL and OpenGL ES are this machine's. See docs/android.md.
"""

import hashlib
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from host_tools.android_on_host.jvm import ABI, Machine
from host_tools.base import cpu_drivers, settings
from host_tools.build import apk_facts, artifacts
from host_tools.places import environment, on_host, prepare, with_peers
from host_tools.places.attempt import add_timings, merge_cold
from host_tools.places.place import Show, quiet
from host_tools.places.this_machine import LocalAttempt, ThisMachine
from host_tools.record import peer_names, run_folder
from host_tools.record.run_folder import RunFolder
from host_tools.record.spec import RunSpec

_MAIN = "org.quadra.host.RunnerOnHost"


class Jvm(ThisMachine):
    """Android's runtime on this machine's Java. library: for Android x86_64."""

    kind = "jvm"

    def run(self, spec: RunSpec, show: Show = quiet, runs_dir: Path | None = None) -> RunFolder:
        return _run(spec, self.delegate(), show, runs_dir)

    def _built(self) -> Path:
        return artifacts.android(ABI)


def _run(spec: RunSpec, library: Path, show: Show, runs_dir: Path | None) -> RunFolder:
    """What is not here yet (Java classes, AARs) comes first."""
    config = settings.read()
    show("look for Java, Android's classes and TFLite's runtime")
    machine = Machine(library, peer_names.needs_shipped(spec.peers))
    folder = run_folder.partial(spec, runs_dir or config.runs_dir)
    attempt = JvmAttempt(folder, spec, show, machine)
    cache = folder / "driver_cache" if spec.cold else config.driver_cache_dir
    kept = folder / "kept"

    def start(mode: str, names: Sequence[str] | None) -> None:
        attempt.work(mode, cache, names)

    def work() -> None:
        settings.make_folder(cache, "QUADRA_DRIVER_CACHE_DIR")
        show("make inputs")
        prepare.prepare(spec, folder)
        # They have no kernels in common, so that one cache is empty to each, and has what all compiled afterwards.
        starts = with_peers.cold_starts(attempt, start) if spec.cold else {}
        again: dict[str, Any] = {}
        if spec.second_starts:
            again = with_peers.second_starts(attempt, lambda name, to: attempt.work("cold", cache, [name], to), kept)
            shutil.rmtree(kept, ignore_errors=True)
        compiled = cpu_drivers.compiled(cache)
        lost = with_peers.run_with_peers(attempt, start)
        add_timings(folder, {"driver_compiled": cpu_drivers.compiled(cache) - compiled, **lost, **again})
        attempt.reference()
        show("collect system information")
        _merge_environment(folder, environment.facts(library, spec.threads), machine)
        if spec.cold:
            merge_cold(folder, starts)
            shutil.rmtree(cache, ignore_errors=True)

    return attempt.finish(work, lambda: attempt.dump(cache))


class JvmAttempt(LocalAttempt):
    """Starts the runner, and what makes the reference."""

    def __init__(
        self, folder: Path, spec: RunSpec, show: Show, machine: Machine, environment: Mapping[str, str] | None = None
    ) -> None:
        """environment: of the runner, beside the machine's own."""
        super().__init__(folder, spec, show)
        self.machine, self.environment = machine, environment or {}

    def work(self, mode: str, cache: Path, names: Sequence[str] | None = None, kept: Path | None = None) -> None:
        """names: who runs beside Quadra, or starts in its place; None: whom the RunSpec names. kept: where a start keeps
        what it compiled."""
        told = {"quadra.argument.folder": str(self.folder), "quadra.argument.mode": mode}
        if names is not None:
            told["quadra.argument.peers"] = ",".join(names)
        if kept:
            told["quadra.argument.kept"] = str(kept)
        title = f"{mode} {','.join(names or ())}".strip()
        env = {**self.machine.environment(self.spec.threads, cache), **self.environment}
        self.start(title, self.machine.command(_MAIN, told), env)

    def reference(self) -> None:
        argv, env = on_host.python_command("host_tools.places.cpu_reference", self.folder)
        self.start("reference", argv, env)


def _merge_environment(folder: Path, here: dict[str, Any], machine: Machine) -> None:
    """This machine's facts with those that the runner saw from inside."""
    inside = RunFolder(folder).json("environment.json")
    seen = ("device", "thermal", "opencl_devices", "gles_devices")
    merged = {**here, **{key: inside[key] for key in seen if key in inside}}
    merged["packages"] = {**here["packages"], **inside.get("packages", {})}
    merged["runner_classes_sha256"] = hashlib.sha256(apk_facts.class_list(artifacts.app_classes()).encode()).hexdigest()
    merged["system"] = f"{inside.get('system', 'Android')} on {here['system']}"
    run_folder.write_json(folder / "environment.json", merged)
