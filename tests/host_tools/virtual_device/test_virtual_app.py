"""am instrument on the virtual device: its words, how an app can end, and the evidence. Most tests have a stand-in
for the Java process; one runs the real APK."""

import json
import os
import re
import shutil
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

from host_tools.android_on_host import jvm
from host_tools.base import settings
from host_tools.base.errors import FetchFailed
from host_tools.build import apk, apk_facts, maven, stock_delegate
from host_tools.places import on_jvm
from host_tools.virtual_device import evidence, processes
from host_tools.virtual_device.device import VirtualDevice
from tests.host_tools.installed import installed
from tests.model_builder import one_convolution
from tests.virtual import Running, ask

PACKAGE = "org.quadra.runner"
RUN = f"am instrument -r -w {{}} {PACKAGE}/.QuadraRunner"
STUB = settings.ROOT / "tests" / "stub_runner.py"


class _Stub:
    def start_words(self, properties, crash_report):
        return [sys.executable, STUB, json.dumps(properties)]

    def environment(self, threads, cache):
        return {}


@pytest.fixture
def device(tmp_path, monkeypatch):
    """A device with the app installed, whose processes are stand-ins."""
    monkeypatch.setattr(processes.Processes, "machine", lambda *_: _Stub())
    one = VirtualDevice(tmp_path / "root")
    made = installed(PACKAGE, processes.RUNNER, 10111)
    (one.root / made.folder.lstrip("/")).mkdir(parents=True)
    one.apps[PACKAGE] = made
    one.packages._make_data(made)
    yield one
    one.processes.end_all("the test is over")


def statuses(text):
    return re.findall(r"^INSTRUMENTATION_STATUS: stage=(.*)$", text, re.MULTILINE)


def log_of(device, buffer=""):
    return [f"{e.priority} {e.tag}: {e.text}" for e in device.logcat.since() if buffer in ("", e.buffer)]


def test_a_run_tells_its_stages_as_they_come_and_then_its_result(device):
    answer = ask(device, RUN.format("-e do go"))
    assert answer.out == (
        "INSTRUMENTATION_STATUS: stage=start\nINSTRUMENTATION_STATUS_CODE: 0\n"
        "INSTRUMENTATION_STATUS: stage=measure\nINSTRUMENTATION_STATUS_CODE: 0\n"
        "INSTRUMENTATION_RESULT: state=complete\nINSTRUMENTATION_CODE: -1\n"
    )
    assert answer.status == 0
    lines = log_of(device, "main")
    assert lines[0] == "I System.out: stage: start" and lines[1].startswith("I tflite: Replacing 3 out of 3 node(s)")
    exits = ask(device, f"dumpsys activity exit-info {PACKAGE}").out
    assert "reason=10 (USER REQUESTED) subreason=21 (FORCE STOP)" in exits and "finished inst" in exits


def test_a_run_that_fails_says_why_with_the_devices_paths(device):
    answer = ask(device, RUN.format("-e do fail -e folder /data/local/tmp/x"))
    assert "INSTRUMENTATION_RESULT: error=read the folder /data/local/tmp/x: no\n" in answer.out
    assert "INSTRUMENTATION_RESULT: exit_code=2\n" in answer.out and answer.out.endswith("INSTRUMENTATION_CODE: 0\n")
    assert answer.status == 0 and str(device.root) not in answer.out


def test_what_is_not_there_is_said_as_android_does(device):
    answer = ask(device, f"am instrument -r -w {PACKAGE}/.Nobody")
    assert f"Error=Unable to find instrumentation info for: ComponentInfo{{{PACKAGE}/{PACKAGE}.Nobody}}" in answer.out
    assert "INSTRUMENTATION_STATUS_CODE: -1\n" in answer.out
    assert f"INSTRUMENTATION_FAILED: {PACKAGE}/.Nobody" in answer.err
    assert "No instrumentation found for: org.nobody" in ask(device, "am instrument -w org.nobody").err
    assert 'Argument expected after "x"' in ask(device, "am instrument -e x").err
    assert "Unknown option: --fly" in ask(device, "am instrument --fly").err


ENDS = [
    ("exception", "shortMsg=java.lang.IllegalStateException", evidence.CRASH, "FATAL EXCEPTION: Instr: "),
    ("abort", "shortMsg=Native crash", evidence.NATIVE_CRASH, "signal 6 (SIGABRT)"),
    ("exit", "shortMsg=java.lang.RuntimeException", evidence.CRASH, "the process ended with 9"),
]


def last_exit(device):
    return device.evidence.exit_info(PACKAGE).partition("#1:")[0]


@pytest.mark.parametrize("do, said, reason, logged", ENDS)
def test_an_app_that_dies_leaves_what_a_phone_would(do, said, reason, logged, device):
    answer = ask(device, RUN.format(f"-e do {do}"))
    assert f"INSTRUMENTATION_RESULT: {said}" in answer.out and answer.out.endswith("INSTRUMENTATION_CODE: 0\n")
    assert f" reason={reason} " in last_exit(device)
    crash = "\n".join(log_of(device, "crash"))
    assert logged in crash and PACKAGE in crash
    assert f"Process {PACKAGE} (pid " in "\n".join(log_of(device, "system"))
    assert ("F DEBUG: backtrace:" in crash) == (do == "abort")


FAULTS = [
    ("app.run:crash", "longMsg=Native crash: Segmentation fault", evidence.NATIVE_CRASH),
    ("app.start:crash", "longMsg=Native crash: Segmentation fault", evidence.NATIVE_CRASH),
    ("app.run:anr=0.1", "shortMsg=Process crashed.", evidence.ANR),
    ("app.run:uninstall", "shortMsg=Process crashed.", evidence.USER_REQUESTED),
]


@pytest.mark.parametrize("fault, said, reason", FAULTS)
def test_a_planted_fault_ends_the_app_in_its_own_way(fault, said, reason, device):
    device.faults.add(fault)
    answer = ask(device, RUN.format(""))
    assert f"INSTRUMENTATION_RESULT: {said}\n" in answer.out and "CODE: -1" not in answer.out
    assert answer.out.endswith("INSTRUMENTATION_CODE: 0\n") and answer.status == 0
    assert f" reason={reason} " in last_exit(device)
    if "anr" in fault:
        assert f"E ActivityManager: ANR in {PACKAGE}" in log_of(device)
    if "uninstall" in fault:
        assert ask(device, f"pm path {PACKAGE}").status == 1
    else:
        assert ask(device, RUN.format("")).out.endswith("INSTRUMENTATION_CODE: -1\n"), "and the next run is well"


def test_a_system_that_crashes_and_answers_that_attack(device):
    device.faults.add("instrument:crash")
    answer = ask(device, RUN.format(""))
    assert answer.out.endswith("INSTRUMENTATION_ABORTED: System has crashed.\n") and answer.status == 0
    for i in range(7):
        device.faults.add(f"instrument:hostile={i}")
        assert ask(device, RUN.format("")).status == 0
    device.faults.add("instrument:uninstall")
    assert "Unable to find instrumentation info" in ask(device, RUN.format("")).out


def wait_for(condition, seconds=20.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def started(device, running):
    wait_for(lambda: b"stage=measure" in b"".join(running.out))
    return device.processes.of(PACKAGE)[0]


def test_force_stop_and_the_end_of_the_host_end_the_process(device):
    running = Running(device, RUN.format("-e do wait"))
    process = started(device, running)
    assert ask(device, f"pidof {PACKAGE}").out == f"{process.pid}\n" and PACKAGE in ask(device, "ps -A").out
    assert (
        ask(device, f"kill {process.pid}").err == f"kill: {process.pid}: Operation not permitted\n" and process.alive()
    )
    ask(device, f"am force-stop {PACKAGE}")
    assert ask(device, f"pidof {PACKAGE}").status == 1
    assert "shortMsg=Process crashed." in running.end().out and not process.alive()
    running = Running(device, RUN.format("-e do wait"))
    process = started(device, running)
    running.cancelled.set()
    running.end()
    wait_for(lambda: not process.alive())
    assert "its host went state=" in last_exit(device)


def test_an_update_a_reboot_and_a_second_run_end_the_process(device):
    for how in (lambda: device.reboot(0), lambda: device.packages.clear(PACKAGE), lambda: ask(device, RUN.format(""))):
        running = Running(device, RUN.format("-e do wait"))
        process = started(device, running)
        how()
        assert "shortMsg=Process crashed." in running.end().out and not process.alive()


def test_the_report_of_javas_runtime_becomes_a_tombstone(device):
    process = processes.AppProcess(device, device.apps[PACKAGE])
    process.crash_report.write_text(
        "# SIGSEGV (0xb) at pc=0x00007f, pid=1, tid=2\n\nNative frames: (J=compiled Java code)\n"
        "C  [libquadra.so+0x1a2b3]  quadra::Run(int)+0x13\nC  [libtensorflowlite_jni.so+0x44]\n\n"
        "siginfo: si_signo: 11 (SIGSEGV), si_code: 1 (SEGV_MAPERR), si_addr: 0x0000000000000010\n"
    )
    assert evidence.signal_of(process, 134) == 11
    device.evidence.native(process, 11)
    text = "\n".join(log_of(device, "crash"))
    assert "signal 11 (SIGSEGV), code 1 (SEGV_MAPERR), fault addr 0x0000000000000010" in text
    assert (
        f"#00 pc 000000000001a2b3  /data/app/~~a==/{PACKAGE}-b==/lib/x86_64/libquadra.so (quadra::Run(int)+0x13)"
        in text
    )
    assert not process.crash_report.exists()


# --- The real APK


@pytest.fixture(scope="module")
def android():
    """Quadra's library for Android x86_64 (QUADRA_ANDROID_LIBRARY, or built), or a reason to skip."""
    try:
        maven.artifacts(
            [
                *maven.bundle("robolectric"),
                *maven.bundle("tflite"),
                *stock_delegate.ALIASES,
                "junit",
                "android-all",
                "dalvik-dx",
            ]
        )
    except FetchFailed as error:
        pytest.skip(str(error))
    given = os.environ.get("QUADRA_ANDROID_LIBRARY")
    return on_jvm.Jvm(Path(given) if given else None).delegate()


@pytest.fixture(scope="module")
def phone(android, tmp_path_factory):
    """A device with the real APK, and a folder prepared for a run."""
    folder = tmp_path_factory.mktemp("phone")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(apk, "LIBRARIES", folder / "gradle")
        made = apk.make({jvm.ABI: android}, folder / "runner.apk")
    device = VirtualDevice(folder / "root")
    tmp = device.root / "data/local/tmp"
    shutil.copyfile(made.path, tmp / "runner.apk")
    assert ask(device, "pm install -r -t /data/local/tmp/runner.apk").out == "Success\n"
    (tmp / "m.tflite").write_bytes(one_convolution())
    yield device
    device.processes.end_all("the test is over")


def run_real(device, backend="opencl", repetitions=4, **more):
    """(am's answer, largest difference of the outputs from XNNPACK's, the folder)."""
    files = device.root / f"data/data/{PACKAGE}/files"
    shutil.rmtree(files / "run", ignore_errors=True)
    (files / "run/inputs").mkdir(parents=True)
    spec = {"schema_version": 1, "model": {"name": "m", "path": "/of/the/host.tflite", "sha256": ""}, "profile": False}
    spec |= {"options": {"backend": backend}, "repetitions": repetitions, "threads": 1, "peers": ["xnnpack"], **more}
    (files / "run/spec.json").write_text(json.dumps(spec))
    np.save(files / "run/inputs/000.npy", np.random.default_rng(1).random((1, 8, 8, 4), np.float32))
    answer = ask(device, RUN.format(f"-e folder /data/data/{PACKAGE}/files/run -e model /data/local/tmp/m.tflite"))
    ours, theirs = (np.load(files / f"run/{group}/000.npy") for group in ("outputs", "xnnpack_outputs"))
    return answer, np.abs(ours - theirs).max(), files / "run"


def test_the_installed_apk_runs_with_its_own_classes_and_libraries(phone):
    answer, error, folder = run_real(phone, sustained_s=1)
    assert answer.out.endswith("INSTRUMENTATION_RESULT: state=complete\nINSTRUMENTATION_CODE: -1\n"), answer
    assert statuses(answer.out)[:3] == ["start", "load the delegate", "give the model's nodes to quadra"]
    assert error < 1e-5
    (window,) = json.loads((folder / "sustained.json").read_text())["windows"]
    assert window["inferences"] > 2 and window["battery_ua"] == -415000
    facts = json.loads((folder / "environment.json").read_text())
    assert facts["device"]["model"] == "Virtual device" and facts["device"]["abis"] == ["x86_64"]
    assert facts["packages"][PACKAGE] == maven.version("quadra-name")
    assert any("Replacing 1 out of 1 node(s)" in line for line in log_of(phone, "main"))
    assert any((phone.root / f"data/data/{PACKAGE}/code_cache").iterdir()), "the driver keeps its kernels there"
    assert not list((phone.root / "data/system").glob("scratch-*"))
    assert settings.ROOT.as_posix() not in answer.out


def test_classes_are_those_of_a_dex_whose_sums_are_right(phone, tmp_path):
    made = phone.root / "data/local/tmp/runner.apk"
    assert {*processes._NEEDED} <= apk_facts.classes(made) == {*phone.apps[PACKAGE].classes}
    with zipfile.ZipFile(made) as archive:
        content = bytearray(archive.read("classes.dex"))
    content[-1] ^= 1
    for damaged in (bytes(content), b"dex\n035\0", b""):
        with zipfile.ZipFile(tmp_path / "damaged.apk", "w") as archive:
            archive.writestr("classes.dex", damaged)
        assert not apk_facts.classes(tmp_path / "damaged.apk")


def test_an_apk_of_other_classes_does_not_run(phone):
    one = phone.apps[PACKAGE]
    phone.processes.machine(one)  # it is being made since the APK was installed
    kept, one.class_list = one.class_list, one.class_list.replace("a", "b")
    phone.processes._machines.clear()
    answer = ask(phone, RUN.format(""))
    one.class_list = kept
    assert "shortMsg=java.lang.ClassNotFoundException" in answer.out and answer.out.endswith(
        "INSTRUMENTATION_CODE: 0\n"
    )
    assert "inv apk" in answer.out and "FATAL EXCEPTION" in "\n".join(log_of(phone, "crash"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault, said", [(fault, said) for fault, said, _ in FAULTS if fault.endswith(("crash", "anr=0.1"))]
)
def test_a_fault_of_the_real_app_comes_before_its_end(fault, said, phone):
    phone.faults.add(fault)
    answer = ask(phone, RUN.format(f"-e folder /data/data/{PACKAGE}/files/run -e model /data/local/tmp/m.tflite"))
    assert f"INSTRUMENTATION_RESULT: {said}\n" in answer.out and answer.out.endswith("INSTRUMENTATION_CODE: 0\n")


@pytest.mark.slow
def test_a_full_device_is_told(phone):
    run_real(phone)
    phone.faults.add("app.run:full")
    answer = ask(phone, RUN.format(f"-e folder /data/data/{PACKAGE}/files/run -e model /data/local/tmp/m.tflite"))
    phone.faults.clear()
    assert "No space left on device" in answer.out and "exit_code=77" in answer.out


@pytest.mark.slow
@pytest.mark.parametrize("backend", ("opencl", "gles"))
def test_a_wrong_kernel_is_wrong_and_a_slow_gpu_is_slow(backend, phone):
    assert run_real(phone, backend)[1] < 1e-4
    phone.faults.add("app.run:wrong_kernel")
    assert run_real(phone, backend)[1] > 0.1
    phone.faults.clear()

    def least():
        _, error, folder = run_real(phone, backend, repetitions=300)
        assert error < 1e-4
        return min(json.loads((folder / "timings.json").read_text())["samples_us"]["quadra"])

    well = min(least() for _ in range(3))
    phone.faults.add("app.run:slow=3")
    slow = min(least() for _ in range(3))
    phone.faults.clear()
    assert slow > 1.5 * well
