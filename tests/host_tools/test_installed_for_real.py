"""quadra-tools from its wheel, in a new environment without a clone, against a virtual device over the real adb."""

import json
import os
import shutil
import subprocess
import sys
import threading
import venv
import xml.etree.ElementTree as ET
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from host_tools.base import child_process, settings
from host_tools.dev import release
from tests.host_tools.free_port import free_port
from tests.host_tools.test_installed import POSIX_MODULES
from tests.model_builder import one_convolution

pytestmark = pytest.mark.slow
INV = [sys.executable, "-P", "-m", "host_tools.tasks.command_line"]
_DEADLINE_S = 900.0
# In the environment's site-packages: to the toolkit, the modules of POSIX are not there, and Windows' locks are.
WITHOUT_POSIX = f"""
import builtins, fcntl, os, subprocess, sys, types
if os.environ.get("WITHOUT_POSIX"):
    usual = builtins.__import__
    def imported(name, globals=None, *more, **named):
        if name in {sorted(POSIX_MODULES)} and (globals or {{}}).get("__name__", "").startswith("host_tools"):
            raise ModuleNotFoundError("No module named " + repr(name), name=name)
        return usual(name, globals, *more, **named)
    def locking(handle, mode, count):
        fcntl.lockf(handle, fcntl.LOCK_EX | (0 if mode == 1 else fcntl.LOCK_NB), count)
    builtins.__import__ = imported
    sys.modules["msvcrt"] = types.SimpleNamespace(LK_LOCK=1, LK_NBLCK=2, locking=locking)
"""


class Installed:
    """The command `quadra` in an environment where nothing else is on PATH, in a folder of its own."""

    def __init__(self, folder, python):
        self.folder, self.python = folder, python
        self.env = {"PATH": str(python.parent), "HOME": str(folder), "ANDROID_ADB_SERVER_PORT": str(free_port())}
        self.env |= {"ADB_USB": "0", "LANG": "C.UTF-8"}

    def __call__(self, *words, status=0, **env):
        argv = [self.python.with_name("quadra"), *map(str, words)]
        done = subprocess.run(
            argv, cwd=self.folder, env={**self.env, **env}, capture_output=True, text=True, timeout=_DEADLINE_S
        )
        assert done.returncode == status, f"quadra {words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout if status == 0 else done.stderr


@pytest.fixture(scope="module")
def quadra(tmp_path_factory):
    """The wheel as `./inv release` makes it, and what pip brings from PyPI with it."""
    folder = tmp_path_factory.mktemp("installed")
    made = release.toolkit(release.build(), folder)
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    child_process.run([python, "-m", "pip", "install", "--no-input", f"{made}[virtual-device]"], timeout_s=_DEADLINE_S)
    (packages,) = (folder / "venv" / "lib").glob("python3*/site-packages")
    (packages / "sitecustomize.py").write_text(WITHOUT_POSIX)
    (folder / "work").mkdir()
    (folder / "work" / "small.tflite").write_bytes(one_convolution())
    installed = Installed(folder / "work", python)
    yield installed
    adb = child_process.run([python, "-c", "import adbutils; print(adbutils.adb_path())"], timeout_s=60).stdout.strip()
    child_process.run([adb, "-P", installed.env["ANDROID_ADB_SERVER_PORT"], "kill-server"], timeout_s=60, check=False)


@pytest.fixture(scope="module")
def serial(tmp_path_factory):
    """A virtual device, whose process belongs to the clone. To adb it is a phone of the network."""
    env = {"QUADRA_DEVICES_DIR": str(tmp_path_factory.mktemp("devices")), "QUADRA_ADB_PORT": str(free_port())}
    env = {**os.environ, "PYTHONPATH": str(settings.ROOT), **env}
    started = subprocess.run([*INV, "device", "start"], cwd=settings.ROOT, env=env, capture_output=True, text=True)
    assert started.returncode == 0, started.stderr
    yield started.stdout.strip()
    subprocess.run([*INV, "device", "stop"], cwd=settings.ROOT, env=env, timeout=60, check=True)


def test_nothing_of_the_clone_is_there(quadra):
    code = "import sys, host_tools.base.installed as i; print(i.INSTALLED, i.PACKAGE, *sys.path, sep='\\n')"
    told = child_process.run([quadra.python, "-P", "-c", code], cwd=quadra.folder, timeout_s=60).stdout.split("\n")
    assert told[0] == "True" and not [path for path in told if path.startswith(str(settings.ROOT))]
    assert "Available tasks" in quadra() and " fuzz " not in quadra() and "`quadra --help TASK`" in quadra()


@pytest.mark.parametrize("without", ["", "1"], ids=["", "without POSIX"])
def test_a_run_on_a_device_and_its_report(quadra, serial, without):
    told = json.loads(quadra("run", "small.tflite", "--on", serial, "--runs=3", "--json", WITHOUT_POSIX=without))
    (run,) = told["runs"]
    assert run["result"] == "right" and run["place"] == serial and run["nodes_on_gpu"] == 1
    assert str(quadra.folder / "runs") in quadra("report", WITHOUT_POSIX=without)
    assert "right" in quadra("compare", WITHOUT_POSIX=without)
    assert "dispatch" in quadra("plan", "show", WITHOUT_POSIX=without)
    page = quadra.folder / "runs" / "latest" / "report.html"
    assert f"quadra run {quadra.folder}/small.tflite" in page.read_text() and "./inv" not in page.read_text()
    assert "its only node on the GPU" in quadra("support", "small.tflite", "--target=mali-g76", WITHOUT_POSIX=without)
    assert "small" in quadra("advise", "small.tflite", WITHOUT_POSIX=without)
    assert "nothing overflows" in quadra("overflow", "small.tflite", WITHOUT_POSIX=without)


def test_a_program_runs_a_model_on_a_device(quadra, serial):
    code = "import quadra_tools as q; r = q.run('small.tflite', on={!r}, runs=3); r.check(max_cpu_nodes=0); print(r.ok, r.place)"
    argv = [quadra.python, "-c", code.format(serial)]
    told = child_process.run(argv, cwd=quadra.folder, env=quadra.env, timeout_s=_DEADLINE_S).stdout
    assert told == f"True {serial}\n"


def test_a_bench_on_a_device(quadra, serial):
    told = json.loads(quadra("bench", "small.tflite", "--on", serial, "--backend=gles", "--runs=3", "--json"))
    (row,) = told["rows"]
    assert told["device"] == serial and told["peers"] == ["xnnpack", "shipped-gles"] and not row["error"]
    assert all(
        row["runners"][key]["right"] and row["runners"][key]["steady"]["1"]
        for key in ("quadra", "xnnpack", "shipped_gles")
    )
    assert row["runners"]["quadra"]["nodes_taken"] == row["runners"]["quadra"]["nodes"] == 1
    code = "import quadra_tools as q; b = q.bench('small.tflite', on={!r}, backend='gles', peers=('xnnpack',), runs=3); print(b.document.device)"
    argv = [quadra.python, "-c", code.format(serial)]
    told = child_process.run(argv, cwd=quadra.folder, env=quadra.env, timeout_s=_DEADLINE_S).stdout
    assert told == f"{serial}\n"


def test_the_shell_bisect_and_a_regression_run(quadra, serial):
    told = json.loads(quadra("run", "small.tflite", "--on", serial, "--via=shell", "--runs=3", "--json"))
    assert told["runs"][0]["result"] == "right"
    assert "every compared tensor is right" in quadra("bisect", "small.tflite", "--on", serial)
    quadra("diff", *sorted(path.name for path in (quadra.folder / "runs").glob("2*-small"))[:2])
    suite = "launches = 2\nmore = 0\nrepetitions = 3\nprofile = false\n[[cells]]\nmodels = ['small.tflite']\nbackends = ['gles']\n"
    (quadra.folder / "small.toml").write_text(suite)
    quadra("regress", "small.toml", "--on", serial)
    (junit,) = (quadra.folder / "runs").glob("**/*.xml")
    assert list(ET.parse(junit).iter("testcase"))


def test_what_is_not_there_is_named_with_what_to_do(quadra, serial):
    for words in (["device", "start", "--name=another"], ["run", "small.tflite", "--on=jvm"]):
        said = quadra(*words, status=73, JAVA_HOME="/nowhere")
        assert "Java 17 to 21 (JAVA_HOME=/nowhere has no bin/java)" in said
        assert "apt-get install default-jre-headless" in said and "quadra-tools[virtual-device]" in said
    quadra("run", "small.tflite", "--on", serial, "--runs=3")  # of which `replay` takes the plan
    assert "clone the repository" in quadra("build", status=73)
    assert "clone the repository" in quadra("parity", "ADD", status=73)
    assert "pip install 'quadra-tools[lab]'" in quadra("lab", "worker", status=73)
    assert "pip install 'quadra-tools[host]'" in quadra("replay", status=73)
    (quadra.folder / "other.so").write_bytes(b"another library")
    assert "clone the repository" in quadra("run", "small.tflite", "--on", serial, "--library=other.so", status=73)


@pytest.fixture(scope="module")
def own(quadra, tmp_path_factory):
    """A virtual device whose process belongs to the installed toolkit. On its PATH there is a linker, for PoCL, and no Java, no
    compiler and none of Android's tools. Others' parts come from what this clone fetched, served as a Maven repository."""
    tools = tmp_path_factory.mktemp("tools")
    (tools / "ld").symlink_to(shutil.which("ld"))
    fetched = partial(SimpleHTTPRequestHandler, directory=settings.read().tools_dir / "maven")
    central = ThreadingHTTPServer(("127.0.0.1", 0), fetched)
    threading.Thread(target=central.serve_forever, daemon=True).start()
    settings_ = {"PATH": f"{quadra.env['PATH']}:{tools}", "QUADRA_ADB_PORT": str(free_port())}
    settings_["QUADRA_MAVEN_URL"] = f"http://127.0.0.1:{central.server_port}"
    here = Installed(quadra.folder, quadra.python)
    here.env = {**quadra.env, **settings_}
    here.serial = here("device", "start").strip()
    yield here
    assert here("device", "stop") == "virtual stopped\n" and "virtual: virtual" not in here("device", "list")
    central.shutdown()
    central.server_close()


def test_a_virtual_device_without_a_clone(own):
    assert own.serial in own("device", "list")
    for words in (["--on=virtual"], ["--on=virtual", "--via=shell"], [f"--on={own.serial}"], ["--on=jvm"]):
        (run,) = json.loads(own("run", "small.tflite", *words, "--runs=3", "--json"))["runs"]
        assert run["result"] == "right" and run["nodes_on_gpu"] == 1, words
    own("run", "small.tflite", "--on=virtual", "--runs=3", "--peer=shipped-gles", "--backend=gles")
    assert "its only node on the GPU" in own("support", "small.tflite")
    found = json.loads(own("parity", "GELU", "--on=virtual", "--json"))
    assert [row["op"] for row in found["ops"]] == ["GELU"] and not found["not_right"] and found["totals"]["right"] > 3


def test_another_app_on_it_over_another_adb(own):
    """An adb server that knows nothing of virtual devices. A device takes the APK that it has, and says what another one needs."""
    code = "import adbutils; print(adbutils.adb_path())"
    adb = child_process.run([own.python, "-c", code], timeout_s=60).stdout.strip()
    command = [adb, "-P", own.env["ANDROID_ADB_SERVER_PORT"]]
    child_process.run([*command, "connect", own.serial], timeout_s=60)
    other = own.folder / "other.apk"
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("AndroidManifest.xml", b"no manifest")
    told = child_process.run([*command, "-s", own.serial, "install", other], timeout_s=120, check=False)
    assert "apt-get install aapt" in told.stdout + told.stderr
    (run,) = json.loads(own("run", "small.tflite", "--on", own.serial, "--runs=3", "--json"))["runs"]
    assert run["result"] == "right" and run["place"] == "virtual"


def test_doctor_looks_at_what_there_is(quadra):
    told = quadra("doctor")
    assert "a delegate for this machine" in told and "bazel" not in told


def test_adb_comes_with_it(quadra):
    code = "import adbutils; print(adbutils.adb_path())"
    path = child_process.run([quadra.python, "-c", code], timeout_s=60).stdout.strip()
    assert path.startswith(str(quadra.python.parents[1]))
