"""Runs models with the Quadra delegate in a worker process, so that a crash is a failed test and no more."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from host_tools.base import cpu_drivers
from host_tools.base.settings import ROOT
from host_tools.dev import sanitize
from host_tools.drivers.driver import Entry
from tests.judge import mismatch

TARGETS = ROOT / "host_tools" / "request" / "targets"
REPORTS = Path(tempfile.gettempdir()) / f"quadra-sanitizers-{os.getpid()}"  # what sanitizers wrote in this session
UNOPTIMISED = cpu_drivers.UNOPTIMISED
TOLERANCE = {"f32": 1e-5, "f32_f16": 1e-2, "f16": 1e-2}


class WorkerDied(Exception):
    """The process that ran the model ended: a crash, or no answer in time."""


class Refused(AssertionError):
    """A node went to the CPU, or all did, where a test wants the GPU."""


@dataclass
class Outcome:
    """What came of a request: outputs per round (none for a round that failed), the delegate's report, the text of the
    first exception if any, and what `tests/driver_faults.cc` counted if that was asked for."""

    outputs: list[list[np.ndarray]] = field(default_factory=list)
    report: dict[str, Any] | None = None
    error: str = ""
    driver: dict[str, Any] | None = None

    @property
    def nodes(self) -> list[dict[str, Any]]:
        return (self.report or {}).get("nodes", [])

    def on_cpu(self) -> list[str]:
        return [f"{node['index']} {node['op']}: {node['reason']}" for node in self.nodes if node["on"] != "gpu"]

    def check(
        self,
        expected: list[np.ndarray],
        tolerance: float | list[float] = TOLERANCE["f32"],
        everything_on_gpu: bool = True,
        least_range: float = 1e-30,
    ) -> None:
        """Asserts that the (last) outputs are the expected ones, and where the nodes ran. A list of tolerances has one
        for each output."""
        assert not self.error, self.error
        if everything_on_gpu and self.on_cpu():
            raise Refused(f"left to the CPU: {self.on_cpu()}")
        tolerances = tolerance if isinstance(tolerance, list) else [tolerance] * len(expected)
        for output, (got, want, most) in enumerate(zip(self.outputs[-1], expected, tolerances, strict=True)):
            wrong = mismatch(got, want, most, least_range)
            assert not wrong, f"output {output}: {wrong}"


def options(target: str = "", backend: str = "opencl", **given: str) -> dict[str, str]:
    """Delegate options with a target by its name; an empty name asks the device. What can run on the GPU does, however
    little it is."""
    path = {"target": str(TARGETS / f"{target}.json")} if target else {}
    return {"backend": backend, "small_partitions_allowed": "1", **path, **given}


def environment(library: Path) -> dict[str, str]:
    """What the toolkit tells drivers, with a cache in the checkout: a second run is quicker, and no run depends on what
    lies in the user's home. And what a library needs that was built with sanitizers."""
    cache = ROOT / ".cache" / "drivers"
    cache.mkdir(parents=True, exist_ok=True)
    return {**cpu_drivers.settings(threads=2), **cpu_drivers.caches(cache), **sanitize.environment(library, REPORTS)}


class Quadra:
    """A worker process with the delegate's library, on the usual drivers or those that `entry` leads to; started when
    needed, again after a crash."""

    module = "tests.delegate_worker"

    def __init__(self, library: Path, entry: Entry | None = None, **env: str) -> None:
        """entry: how the process finds another driver than the usual one."""
        self.library, self._entry = library, entry or Entry()
        self._env = {**environment(library), **self._entry.env, **env}
        self._process: subprocess.Popen | None = None
        self._log = tempfile.TemporaryFile()

    def run(
        self,
        model: bytes,
        *rounds: list[np.ndarray] | None,
        timeout_s: float = 120,
        resolver: str = "BUILTIN_REF",
        env: dict[str, str] | None = None,
        counter: Path | None = None,
        **given: str,
    ) -> Outcome:
        """Loads `model` with the delegate and invokes it once per list of inputs; None sets its variables to zero
        instead. `resolver` names the CPU kernels
        that serve what the delegate leaves; `env` is added to the worker's environment for this one request. With a
        `counter`, the library of tests/driver_faults.cc, a round that fails does not keep the next from being tried."""
        request = {
            "library": str(self.library),
            "model": model,
            "options": {**self._entry.options, **given},
            "rounds": rounds,
            "resolver": resolver,
            "env": env or {},
            "counter": str(counter or ""),
        }
        return Outcome(**self._ask(request, timeout_s))

    def close(self) -> None:
        if self._process:
            self._process.stdin.close()
            self._process.wait()
            self._process.stdout.close()
            self._process = None

    def _ask(self, request: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        process = self._start()
        timeout_s *= sanitize.slower(self.library)
        watchdog = threading.Timer(timeout_s, process.kill)
        watchdog.start()
        try:
            pickle.dump(request, process.stdin)
            process.stdin.flush()
            return pickle.load(process.stdout)
        except (EOFError, BrokenPipeError, pickle.UnpicklingError) as error:
            raise WorkerDied(self._obituary(timeout_s)) from error
        finally:
            watchdog.cancel()

    def _start(self) -> subprocess.Popen:
        if self._process is None:
            self._log.seek(0)
            self._log.truncate()
            self._process = subprocess.Popen(
                self._entry.command([sys.executable, "-X", "faulthandler", "-m", self.module]),
                cwd=ROOT,
                env={**os.environ, **self._env},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
            )
        return self._process

    def _obituary(self, timeout_s: float) -> str:
        status = self._process.wait()
        self._process = None
        cause = signal.Signals(-status).name if status < 0 else f"exit status {status}"
        if status == -signal.SIGKILL:
            cause += f" (no answer in {timeout_s:g} s?)"
        return f"the process ended: {cause}\n{self.log()[-3000:]}"

    def log(self) -> str:
        """What the worker printed so far."""
        self._log.seek(0)
        return self._log.read().decode(errors="replace")
