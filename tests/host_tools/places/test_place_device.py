"""Runs on a device, against a virtual one whose app is a stand-in: what is left here and there, however the run ends.

test_demo.py has the same with the real app.
"""

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from rich.console import Console

from host_tools.base import settings, terminal
from host_tools.base.errors import (
    AppCrashedNatively,
    AppMissing,
    DeviceBusy,
    DeviceLost,
    DeviceRebooted,
    DeviceTimedOut,
    DeviceTooHot,
    Misuse,
    ReplyNotUnderstood,
)  # fmt: skip
from host_tools.build import artifacts
from host_tools.phone.adb import lock, parallel
from host_tools.phone.adb.adb_device import Device
from host_tools.phone.app import app_log, install_app, remote_folder
from host_tools.places import on_phone
from host_tools.places.on_phone import Phone
from host_tools.record import run_folder, spec as specs
from host_tools.request import from_arguments, inputs
from host_tools.tasks import pull_runs, run as run_task
from host_tools.virtual_device import processes
from host_tools.virtual_device.device import VirtualDevice
from tests.host_tools import run_folders
from tests.host_tools.installed import installed
from tests.host_tools.phone.test_device_received import ENVIRONMENT
from tests.host_tools.record import schema_check
from tests.model_builder import Model

pytestmark = pytest.mark.usefixtures("adb")
STUB = settings.ROOT / "tests" / "stub_run.py"
PRIVATE = f"data/data/{install_app.PACKAGE}"
STAGES = (
    "make inputs", "look at the device", "install the app", "push the model", "keep the device awake",
    "wait until the device is cool", "start the app: run", "start", "measure", "save the plan", "pull what it left",
    "make the CPU's reference",
)  # fmt: skip


class _Stub:
    """What starts the app's process: the stand-in, with what it leaves."""

    def __init__(self, prepared):
        self.prepared = prepared

    def start_words(self, properties, crash_report):
        return [sys.executable, STUB, json.dumps(properties), self.prepared]

    def environment(self, threads, cache):
        return {}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """x + 1."""
    m = Model()
    m.output(m.add(m.input((1, 4)), np.ones((1, 4), np.float32)))
    path = tmp_path_factory.mktemp("model") / "small.tflite"
    path.write_bytes(m.bytes())
    return path


@pytest.fixture
def prepared(tmp_path, monkeypatch):
    """What the stand-in does; prepared(do=…, at=…) changes it."""
    folder = tmp_path / "prepared"
    monkeypatch.setattr(processes.Processes, "machine", lambda *_: _Stub(folder))
    monkeypatch.setattr(artifacts, "apk", lambda *_: STUB)
    monkeypatch.setattr(install_app, "install", lambda *_, **__: False)
    row = {"name": "sum", "dtype": "float32", "shape": [1, 4], "scale": 0.0, "zero_point": 0}
    values = {"tensors": {"inputs": [{**row, "name": "x"}], "outputs": [row], "xnnpack_outputs": [row]}, "profile": run_folders.PROFILE,
              "verdicts": run_folders.REPORT, "timings": run_folders.TIMINGS, "environment": ENVIRONMENT}  # fmt: skip
    (folder / "leaves" / "partition_0").mkdir(parents=True)
    for name, value in values.items():
        (folder / "leaves" / f"{name}.json").write_text(json.dumps(value))
    (folder / "leaves" / "partition_0" / "graph.txt").write_text("a graph")
    (folder / "leaves" / "surprise.sh").write_text("nobody asked for it")
    laps = {"total_us": 9, "first_invoke_us": 4, "peak_rss_bytes": 2, "baseline_rss_bytes": 1}
    (folder / "cold.json").write_text(json.dumps(laps))

    def change(**how):
        (folder / "how.json").write_text(json.dumps(how))

    change()
    return change


def outputs(prepared_folder, value):
    for group in ("outputs", "xnnpack_outputs"):
        (prepared_folder / "leaves" / group).mkdir(exist_ok=True)
        np.save(prepared_folder / "leaves" / group / "000.npy", value)


def phone_at(root, **more):
    """A virtual device with the app on it."""
    one = VirtualDevice(root, **more)
    made = installed(install_app.PACKAGE, processes.RUNNER, 10111)
    (one.root / made.folder.lstrip("/")).mkdir(parents=True, exist_ok=True)
    (one.root / made.apk.lstrip("/")).write_bytes(b"the app")
    one.apps[install_app.PACKAGE] = made
    one.packages._make_data(made)
    return one


@pytest.fixture
def phone(tmp_path, prepared):
    with phone_at(tmp_path / "phone") as made:
        yield made


@pytest.fixture
def start(phone, model, tmp_path):
    """start(show, **fields): one run on the device."""
    library = tmp_path / "libquadra.so"
    library.write_bytes(b"a library")
    outputs(tmp_path / "prepared", np.zeros((1, 4), np.float32))

    def one(show=lambda text: None, device=None, **fields):
        where = {"place": "device", "device": phone.serial, "peers": ("xnnpack",)}
        spec = from_arguments.make_spec(str(model), **{**where, "deadline_s": 30.0, "repetitions": 3, **fields})
        return Phone(device or Device(phone.serial, virtual=True), library).run(spec, show)

    return one


def left(phone):
    """What a run may have left on the device and here: empty when all is as it was."""
    runs = phone.root / PRIVATE / remote_folder.RUNS
    config = settings.read()
    found = [path.name for path in runs.iterdir()] if runs.is_dir() else []
    found += [process.command_line for process in phone.processes.all()]
    found += [path.name for path in config.devices_dir.glob("undo-*")]
    found += [path.name for path in config.runs_dir.glob(".partial-*")]
    if phone.settings.get("stay_on_while_plugged_in") != "0":
        found.append("it stays awake")
    return found + [lock.holder(phone.serial)] * bool(lock.holder(phone.serial))


def unplugged(phone):
    """The connection is gone, and nobody told the app."""
    phone.stopping.set()
    phone._listener.close()
    phone.drop_all()


def last_run():
    return run_folder.find("latest", settings.read().runs_dir)


def test_a_run_leaves_what_every_place_leaves_and_the_device_as_it_was(start, phone, tmp_path, monkeypatch):
    monkeypatch.setattr(app_log, "now", lambda device: "01-01 00:00:00.000")  # as if all starts were within a second
    spec = start(cold=True)
    assert spec.is_complete() and left(phone) == []
    names = {path.name for path in spec.path.iterdir()}
    assert {"outputs", "cpu_outputs", "xnnpack_outputs", "timings.json", "verdicts.json", "tensors.json", "profile.json", "partition_0",
            "environment.json", "log.txt", "logcat.txt", "model.json", "reference.json", "inputs"} <= names  # fmt: skip
    assert "surprise.sh" not in names and not any(name.startswith(".") for name in names)
    environment = spec.json("environment.json")
    assert environment["device"]["serial"] == phone.serial and environment["route"] == "app"
    assert environment["thermal"]["before"] == "none" and not environment["thermal"]["throttled"]
    assert "measure" in {row["stage"] for row in environment["thermal"]["readings"]}
    timings = spec.json("timings.json")
    assert timings["init_us"]["quadra_cold"]["total_us"] == 9 and timings["cold_memory"]["peak_rss_bytes"] == 2
    log = (spec.path / "log.txt").read_text()
    assert schema_check.wrong(spec.path) == []
    assert "== cold" in log and "== run xnnpack\nstage: start\n" in log and "== reference" in log
    assert log.count("stage: start\n") == log.count("== cold") + log.count("== run"), "each start has its own lines"


@pytest.mark.parametrize("stage", STAGES)
def test_ctrl_c_at_any_stage_leaves_the_device_as_it_was(stage, start, phone, monkeypatch):
    def show(text):
        if text.startswith(stage):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        start(show)
    assert left(phone) == []
    folder = last_run()
    assert folder.status().state == "interrupted"
    if stage in STAGES[8:]:
        assert folder.has("outputs") and folder.has("timings.json"), "what the run had left by then is kept"
    if stage in STAGES[1:]:
        assert folder.json("environment.json")["device"]["serial"] == phone.serial


def test_ctrl_c_twice_while_the_app_hangs(start, phone, prepared):
    prepared(do="wait", at="measure")
    began = []

    def show(text):
        if text == "measure" and not began:
            began.append(time.monotonic())
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
        elif text.startswith("pull outputs"):  # of tidying up
            began.append(0.0)
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        start(show)
    assert time.monotonic() - began[0] < 8 and len(began) == 2 and left(phone) == []
    assert last_run().json("status.json") == {
        "schema_version": 1,
        "state": "interrupted",
        "stage": "measure",
    } and last_run().has("outputs")


@pytest.mark.parametrize(
    "fault, kind, state",
    (
        ("app.run:crash", AppCrashedNatively, "crashed"),
        ("app.run:uninstall", AppMissing, "failed"),
        ("app.run:reboot", DeviceRebooted, "failed"),
        ("app.start:crash", AppCrashedNatively, "crashed"),
    ),
)
def test_what_becomes_of_the_app_is_told_apart_and_the_folder_is_kept(fault, kind, state, start, phone, prepared):
    prepared(measures_s=5)
    phone.faults.add(fault)
    with pytest.raises(kind) as caught:
        start(peers=())
    assert type(caught.value) is kind and "kept: " in str(caught.value)
    status = last_run().status()
    assert (status.state, status.error.exit_code) == (state, kind.exit_code)
    assert fault.endswith("uninstall") or left(phone) == []


def test_a_peer_that_takes_the_app_down_is_left_out_of_the_next_try(start, phone, prepared):
    prepared(do="crash", at="start xnnpack")
    folder = start()
    assert "was ended by signal 6" in folder.json("timings.json")["xnnpack_error"] and left(phone) == []


def test_a_run_that_calls_itself_complete_and_left_nothing_is_not_believed(start, phone, prepared):
    prepared(do="lie")
    with pytest.raises(ReplyNotUnderstood, match="it left no"):
        start()
    assert left(phone) == [] and last_run().status().state == "failed"


def test_what_the_runner_itself_says_is_passed_on(start, phone, prepared):
    prepared(do="fail")
    with pytest.raises(Misuse, match="read the model: it is damaged"):
        start()
    assert left(phone) == [] and last_run().status().error.exit_code == 2


def test_an_app_that_hangs_is_stopped_at_the_deadline(start, phone, prepared):
    prepared(do="wait", at="measure")
    began = time.monotonic()
    with pytest.raises(DeviceTimedOut, match="did not end within 2 s; it was at the stage 'measure'"):
        start(deadline_s=2.0)
    assert time.monotonic() - began < 12 and left(phone) == []
    assert last_run().status().state == "timed_out" and last_run().has("outputs")


def test_a_device_that_throttles_is_measured_again_and_then_given_up(start, phone, prepared, monkeypatch):
    prepared(measures_s=1)
    real = on_phone.readiness.wait_until_cool
    monkeypatch.setattr(
        on_phone.readiness, "wait_until_cool", lambda device, show: real(device, show, wait_s=0.4, every_s=0.1)
    )
    phone.faults.add("app.run:hot")
    with pytest.raises(DeviceTooHot) as caught:
        start()
    assert caught.value.exit_code == 94 and left(phone) == [] and last_run().has("timings.json")
    environment = last_run().json("environment.json")
    assert environment["thermal"]["throttled"] and "throttled" in {
        event["error"] for event in environment["device_events"]
    }


def test_what_an_unplugged_device_has_is_pulled_when_it_is_back(start, phone, prepared, tmp_path, capsys):
    prepared(do="wait", at="measure")
    port = int(phone.serial.rpartition(":")[2])

    def unplug(text):
        if text == "measure":
            threading.Timer(0.2, unplugged, (phone,)).start()

    with pytest.raises(DeviceLost):
        start(unplug)
    assert last_run().status().state == "failed" and not last_run().has("outputs")
    shutil.rmtree(last_run().path)
    with phone_at(tmp_path / "phone", port=port) as back:
        assert left(back), "what could not be tidied up"
        pull_runs.pull(back.serial, "", False, terminal.console())
        assert left(back) == []
    assert (
        last_run().status().state == "interrupted"
        and last_run().has("outputs")
        and last_run().spec().device == phone.serial
    )


def test_a_device_that_somebody_has_is_left_alone(start, phone):
    with lock.lease(phone.serial, "another test"):
        with pytest.raises(DeviceBusy, match="another test"):
            start()
    assert not settings.read().runs_dir.exists()


def test_stopping_one_of_several_devices_stops_all_and_tidies_them_up(start, phone, prepared, tmp_path):
    prepared(do="wait", at="measure")
    with phone_at(tmp_path / "second") as second:
        devices = [Device(one.serial, virtual=True) for one in (phone, second)]
        waiting = threading.Barrier(2, timeout=20)

        with pytest.raises(KeyboardInterrupt):
            parallel.each(devices, lambda device, show: _with_serial(start, device, waiting, devices), "run")
        assert left(phone) == [] and left(second) == []
    states = {run_folder.RunFolder(path).status().state for path in settings.read().runs_dir.glob("2*")}
    assert states == {"interrupted"}


def _with_serial(start, device, waiting, devices):
    def told(text):
        if text == "measure":
            waiting.wait()
            if device is devices[0]:
                threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()

    time.sleep(0.01 * devices.index(device))  # names of runs count milliseconds
    return start(told, device=device)


def test_all_devices_run_at_the_same_time_and_one_that_fails_stops_no_other(
    model, phone, prepared, tmp_path, monkeypatch
):
    library = tmp_path / "libquadra.so"
    library.write_bytes(b"a library")
    given = inputs.make(specs.InputSpec(), inputs.of_model(model.read_bytes()))
    outputs(tmp_path / "prepared", given[0] + np.float32(1))
    text = io.StringIO()
    with phone_at(tmp_path / "second") as second:
        devices = [Device(one.serial, virtual=True) for one in (phone, second)]
        places = [Phone(device, library) for device in devices]
        places[1].name = "virtual second"
        spec = from_arguments.make_spec(str(model), repetitions=3, **from_arguments.destination("all"))
        folders = [one.folder for one in run_task.run(lambda: ([spec], places), Console(file=text, width=200))]
        assert [folder.spec().device for folder in folders] == [device.serial for device in devices]
        assert len({folder.path for folder in folders}) == 2 and text.getvalue().count(" right ") == 2
        assert "virtual second" in text.getvalue()
        assert left(phone) == left(second) == []
        prepared(measures_s=5)
        second.faults.add("app.run:crash")
        with pytest.raises(AppCrashedNatively):
            run_task.run(lambda: ([spec], places), Console(file=text, width=200))
        assert text.getvalue().count(" right ") == 3 and "AppCrashedNatively" in text.getvalue()
        assert left(phone) == left(second) == []


def test_a_target_is_not_for_devices(start):
    with pytest.raises(Misuse, match="makes the plan for itself"):
        start(target="generic")


def test_the_tasks_word_for_devices_is_read_by_the_command_line():
    done = subprocess.run([sys.executable, "-m", "host_tools.tasks.command_line", "run", "selfie_segmentation", "--on", "no such device"],
                          cwd=settings.ROOT, capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 2 and "this is not a serial" in done.stderr
