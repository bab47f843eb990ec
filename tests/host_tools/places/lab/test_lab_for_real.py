"""A lab of two hosts with a virtual device each, as processes: a suite over both, and a host that dies meanwhile."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from host_tools.base import settings
from tests import android_parts
from tests.host_tools.free_port import free_port
from tests.model_builder import Model

pytestmark = pytest.mark.slow
INV = [sys.executable, "-P", "-m", "host_tools.tasks.command_line"]


@pytest.fixture
def started(tmp_path):
    """Starts tasks with their output in tmp_path; ends those that still run, and the virtual devices of the hosts."""
    processes = []

    def start(name, *words, **more):
        env = {**os.environ, "PYTHONPATH": str(settings.ROOT), "ADB_USB": "0", **more}
        log = open(tmp_path / f"{name}.log", "wb")
        process = subprocess.Popen([*INV, *words], cwd=settings.ROOT, env=env, stdout=log, stderr=log)
        processes.append((process, env))
        return process

    yield start
    for process, _ in processes:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
    for process, env in processes:
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
        if "QUADRA_DEVICES_DIR" in env:
            subprocess.run([*INV, "device", "stop", "--name=all"], cwd=settings.ROOT, env=env, timeout=60, check=False)


@pytest.fixture
def android():
    """Quadra's library for Android x86_64."""
    android_parts.need_classes()
    return android_parts.app_library()


def until(text, path, limit_s=90):
    end = time.monotonic() + limit_s
    while text not in (path.read_text() if path.exists() else ""):
        assert time.monotonic() < end, f"{text!r} is not in {path}: {path.read_text()}"
        time.sleep(0.1)


def test_a_suite_over_two_hosts_of_which_one_dies(started, tmp_path, android):
    models = []
    for number in range(4):
        m = Model()
        m.output(m.add(m.input((1, 8, 8, 4)), np.full((1, 8, 8, 4), number, np.float32)))
        (tmp_path / f"m{number}.tflite").write_bytes(m.bytes())
        models.append(f'"{tmp_path}/m{number}.tflite"')
    suite = tmp_path / "small.toml"
    suite.write_text(
        f"launches = 2\nmore = 0\nrepetitions = 3\nprofile = false\n[[cells]]\nmodels = [{', '.join(models)}]\n"
        'backends = ["opencl", "gles"]\n'
    )
    port = free_port()
    started("scheduler", "lab", "scheduler", f"--port={port}")
    until("scheduler ", tmp_path / "scheduler.log")
    workers = {}
    for host in ("rack1", "rack2"):
        own = {"QUADRA_DEVICES_DIR": str(tmp_path / host), "QUADRA_ADB_PORT": str(free_port())}
        assert started(f"{host}-device", "device", "start", **own).wait(60) == 0
        workers[host] = started(host, "lab", "worker", f"localhost:{port}", f"--host={host}", **own)
        until(f"{host}: virtual; scheduler", tmp_path / f"{host}.log")

    runs = tmp_path / "runs"
    here = {"QUADRA_RUNS_DIR": str(runs), "QUADRA_HISTORY": str(tmp_path / "history.sqlite")}
    words = [f"--lab=localhost:{port}", f"--library={android}"]
    caller = started("caller", "regress", str(suite), *words, **here)
    end = time.monotonic() + 200
    while not list(runs.glob("regress-*/rack2*/2*")) and time.monotonic() < end and caller.poll() is None:
        time.sleep(0.1)
    workers["rack2"].kill()
    status, out = caller.wait(300), (tmp_path / "caller.log").read_text()
    assert status == 0 and "rack2/virtual is lost: its host's worker is gone" in out, out

    (folder,) = runs.glob("regress-*")
    cells = json.loads((folder / "regress.json").read_text())["cells"]
    keys = [f"m{number}/{backend}/f32" for number in range(4) for backend in ("opencl", "gles")]
    assert [cell["key"] for cell in cells] == keys and not any(cell["error"] for cell in cells)
    for cell in cells:
        good = [launch for launch in cell["launches"] if launch["state"] == "complete"]
        assert len(good) == 2 and cell["metrics"]["error"]["verdict"] == "pass"
        assert all((folder / launch["run"] / "status.json").exists() for launch in good)
    assert "rack1/virtual" in {cell["device"] for cell in cells}
