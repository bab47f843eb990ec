"""inv run --via shell: the native runner on a device, by adb; judged like every run, and never mistaken for the app's."""

import contextlib
import os
import signal
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs
from rich.console import Console

from host_tools.base.errors import (
    DeviceLost,
    DeviceRebooted,
    DeviceRefused,
    DeviceTimedOut,
    JudgementFailed,
    Misuse,
    RunFailed,
)
from host_tools.judge import compare, judged
from host_tools.phone.adb.adb_device import Device
from host_tools.places import on_phone_shell, where
from host_tools.places.on_phone_shell import PhoneShell
from host_tools.record import device_condition, reading, run_folder, schema
from host_tools.request import from_arguments
from host_tools.request.run_options import RunOptions
from host_tools.run import node_support
from host_tools.show import report, run_account
from host_tools.tasks import pull_runs, run as run_task
from host_tools.virtual_device.device import VirtualDevice
from tests.host_tools.places.test_native_runner import model, parts  # noqa: F401 (fixtures)
from tests.host_tools.record import schema_check

LONG = 10**8  # inferences: nobody waits for the last
SHELL = "/data/local/tmp/quadra/shell"


@pytest.fixture
def phone(tmp_path, adb):
    with VirtualDevice(tmp_path / "root") as one:
        one.boot_s = 0
        yield one
        assert not [note for note in one.log if note.what == "bug"]


def started(phone, parts, model, show=lambda text: None, program=None, device=None, **fields):
    """A run by the runner of `parts`, or by `program`."""
    fields = {"repetitions": 4, **fields}
    spec = from_arguments.make_spec(str(model), place="device", device=phone.serial, route="shell", **fields)
    device = device or Device(phone.serial, virtual=True)
    return PhoneShell(device, parts[2], runner=program or parts[0]).run(spec, show)


def left(phone):
    """Folders of runs that lie on the device."""
    folder = phone.root / SHELL.lstrip("/")
    return [path.name for path in folder.iterdir()] if folder.is_dir() else []


def last_run(tmp_path):
    return run_folder.find("latest", tmp_path / "runs")


def test_a_run_is_right_and_says_which_route_it_took(phone, parts, model):
    folder = started(phone, parts, model, profile=True)
    assert compare.compare(folder).ok and folder.is_complete() and folder.has("profile.json")
    environment = folder.json("environment.json")
    assert (environment["route"], folder.spec().route) == ("shell", "shell")
    assert schema_check.wrong(folder.path) == []
    assert environment["device"]["serial"] == phone.serial and environment["cpus"] > 0
    assert environment["thermal"]["readings"] and environment["packages"]["tensorflow-lite"]
    assert {len(samples) for samples in folder.json("timings.json")["samples_us"].values()} == {4}
    assert "(TfLiteXNNPackDelegate) node" in (folder.path / "log.txt").read_text()
    assert left(phone) == [] and not folder.has("quadra_runner")
    assert device_condition.FROM_SHELL in report.render(judged.judge(folder)).replace("&#39;", "'")
    console = Console(width=200, record=True, file=open("/dev/null", "w"))
    run_account.account(judged.judge(folder), console)
    assert "never pooled with an app's" in console.export_text()


def test_what_lies_there_is_not_sent_again(phone, parts, model):
    store = phone.root / "data/local/tmp/quadra/store"
    started(phone, parts, model)
    first = {path.name: path.stat().st_mtime_ns for path in store.iterdir()}
    started(phone, parts, model)
    second = {path.name: path.stat().st_mtime_ns for path in store.iterdir()}
    assert len(first) == 6 and first.items() <= second.items()
    assert [Path(name).suffix for name in second.keys() - first.keys()] == [".json"]  # what was asked


def test_the_task_prints_and_judges(phone, parts, model, monkeypatch):
    monkeypatch.setattr(on_phone_shell.artifacts, "runner", lambda abi: parts[0])

    spec = from_arguments.make_spec(
        str(model), repetitions=3, route="shell", **from_arguments.destination(phone.serial)
    )
    console = Console(width=200, record=True, file=open("/dev/null", "w"))
    (done,) = run_task.run(lambda: ([spec], where.parse(phone.serial, parts[2], route="shell")), console)
    assert "right" in console.export_text() and done.folder.spec().device == phone.serial
    run_account.several([run_account.Ended("one", done)], console)
    assert device_condition.FROM_SHELL in console.export_text()


def test_what_the_runner_says_reaches_the_user(phone, parts, model, tmp_path):
    with pytest.raises(Misuse, match="it is not one of|takes|precision") as met:
        broken = from_arguments.make_spec(str(model), place="device", device=phone.serial, route="shell")
        broken = structs.replace(broken, options={"precision": "f64"})
        PhoneShell(Device(phone.serial, virtual=True), parts[2], runner=parts[0]).run(broken)
    assert met.value.tried == "make the delegate" and left(phone) == []
    assert last_run(tmp_path).status().state == "failed"


def test_a_wrong_kernel_is_found(phone, parts, model):
    phone.faults.add("app.run:wrong_kernel=1.5")
    folder = started(phone, parts, model, backend="opencl")
    with pytest.raises(JudgementFailed):
        judged.judge(folder).check()


def test_a_program_that_does_not_start_is_refused(phone, parts, model):
    with pytest.raises(DeviceRefused, match="the shell does not start it"):
        started(phone, parts, model, program=parts[1])
    assert left(phone) == []


def test_a_runner_that_hangs_is_stopped(phone, parts, model, tmp_path):
    with pytest.raises(DeviceTimedOut, match="did not end within 3 s.*measure"):
        started(phone, parts, model, repetitions=LONG, deadline_s=3.0)
    assert left(phone) == []
    kept = last_run(tmp_path)
    assert kept.status().stage == "measure" and kept.has("outputs") and kept.has("verdicts.json")


def test_a_reboot_is_told_as_one(phone, parts, model):
    def show(text):
        if text == "measure":
            threading.Timer(0.2, phone.reboot, [0.0]).start()

    with pytest.raises((DeviceRebooted, DeviceLost)):
        started(phone, parts, model, show, repetitions=LONG, deadline_s=30.0)


def test_ctrl_c_in_another_thread_keeps_what_there_is_and_tidies_up(phone, parts, model, tmp_path):
    device = Device(phone.serial, virtual=True)

    def show(text):
        if text == "measure":
            threading.Timer(0.2, device.stop).start()

    with pytest.raises(KeyboardInterrupt):
        started(phone, parts, model, show, device=device, repetitions=LONG)
    kept = last_run(tmp_path)
    assert kept.status().state == "interrupted" and kept.has("outputs") and left(phone) == []


def test_a_run_that_was_left_there_is_brought_by_pull(phone, model, tmp_path):
    """Seen red: without the app on the device, and not looked for in the shell's folder."""
    spec = from_arguments.make_spec(str(model), place="device", device=phone.serial, route="shell")
    there = phone.root / SHELL.lstrip("/") / spec.run_id
    (there / "outputs").mkdir(parents=True)
    run_folder.write_json(there / "spec.json", spec.to_json())
    np.save(there / "outputs" / "000.npy", np.zeros(4, np.float32))
    console = Console(width=200, record=True, file=open("/dev/null", "w"))
    (folder,) = pull_runs.pull(phone.serial, spec.run_id[:20], False, console)
    assert folder.spec() == spec and folder.status().state == "interrupted" and folder.has("outputs")
    assert left(phone) == [] and spec.run_id in console.export_text()


def test_a_crash_names_the_signal_and_the_stage(phone, parts, model, tmp_path):
    def show(text):
        if text == "measure":
            end_runner(phone, signal.SIGKILL)  # PoCL catches others

    with pytest.raises(RunFailed, match="ended by SIGKILL at the stage 'measure'"):
        started(phone, parts, model, show, repetitions=LONG)
    assert last_run(tmp_path).status().state == "crashed"


def end_runner(phone, number):
    for words in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # another process, which has ended
            if str(phone.root).encode() in words.read_bytes():
                os.kill(int(words.parent.name), number)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"peers": ("shipped-opencl",)}, "the runner in a shell knows xnnpack only"),
        ({"place": "host", "device": ""}, "--via shell is for devices"),
        ({"route": "air"}, "not one of"),
    ],
)
def test_what_cannot_be_asked(fields, words, model):
    with pytest.raises(Misuse, match=words):
        from_arguments.make_spec(str(model), **{"place": "device", "device": "x", "route": "shell", **fields})


def test_a_target_is_refused(phone, parts, model):
    with pytest.raises(Misuse, match="a device makes the plan for itself"):
        started(phone, parts, model, target="generic")


def test_a_route_survives_the_file(model, tmp_path):
    spec = from_arguments.make_spec(str(model), place="device", device="x", route="shell")
    run_folder.write_json(tmp_path / "spec.json", spec.to_json())
    assert run_folder.RunFolder(tmp_path).spec().route == "shell"


def test_support_asks_a_device_for_its_gpu(phone, parts, model, monkeypatch):
    monkeypatch.setattr(on_phone_shell.artifacts, "runner", lambda abi: parts[0])
    monkeypatch.setattr(on_phone_shell.artifacts, "android", lambda abi: parts[2])
    options = RunOptions(model=str(model), backend="", on=phone.serial, via="shell")
    spec, report, found = node_support.of_options(options)
    told = Path(spec.options["target"])
    assert told.name == "target.json" and found.target == reading.json_file(told, schema.Target).name
    assert found.cpu == 0 and {node.on for node in report.nodes} == {"gpu"} and left(phone) == []
    with pytest.raises(Misuse, match="names another"):
        node_support.of_options(replace(options, target="mali-g76"))
    with pytest.raises(Misuse, match="one device"):
        node_support.of_options(replace(options, on=f"{phone.serial},host", via=""))
