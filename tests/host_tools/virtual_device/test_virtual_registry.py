"""Named devices: their processes start, are found, end, and never outlive their folders."""

import io
import json
import os
import shutil
import signal
import socket
import threading
import time

import pytest
from rich.console import Console

from host_tools.base.errors import DeviceError, DeviceNotFound, Misuse
from host_tools.tasks import command_line, devices
from host_tools.virtual_device import faults, registry
from tests.host_tools.wire_client import Host

_REFUSED = (
    "open.exec:refuse@1x1: the next time at open.exec (exec: is requested), "
    "the request fails with a device error; met 0 times so far, happened 0 times"
)


@pytest.fixture(autouse=True)
def devices_dir(tmp_path, monkeypatch):
    folder = tmp_path / "devices"
    monkeypatch.setenv("QUADRA_DEVICES_DIR", str(folder))
    yield folder
    for record in registry.records():
        registry.stop(record.name)


def _port(serial):
    return int(serial.rpartition(":")[2])


def _ended(pid, seconds=5.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if os.waitpid(pid, os.WNOHANG)[0]:
                return True
        except ChildProcessError:
            return not os.path.exists(f"/proc/{pid}")
        time.sleep(0.02)
    return False


def test_a_fault_says_what_happens_when_and_how_often():
    def told(text: str, meets: int = 0) -> str:
        fault = faults.parse(text)
        for _ in range(meets):
            fault.due(fault.step.replace("*", "shell"))
        return fault.sentence().partition(": ")[2]

    shell = "at open.shell (a shell or a command is requested), "
    assert told("open.shell:stall") == f"the next time {shell}it hangs for ever; met 0 times so far, happened 0 times"
    assert told("open.shell:stall=5", 1) == f"no more {shell}it hangs for 5 seconds; met 1 time so far, happened 1 time"
    assert told("open.*:stall@3x*").startswith("from the 3. time at open.*, until it is cleared, it hangs for ever;")
    assert told("open.*:stall@3x*", 2).startswith("from the next time at open.*, until it is cleared, it hangs")
    assert told("open.shell:stallx3", 1).startswith(f"from the next time {shell}2 times in a row, it hangs")
    assert "until it is cleared, every kernel takes 1.1 times as long; met" in told("app.run:slow")
    assert "new ones get no answer until cleared; met" in told("connect:offline")
    assert "new ones get no answer, for 5 seconds; met" in told("connect:offline=5")
    assert f"{shell}a malicious reply, number 3; met" in told("open.shell:hostile=3")
    for kind in faults.KINDS:
        step = next(s for s, (_, kinds) in faults.STEPS.items() if kind in (*faults.ANYWHERE, *kinds))
        assert "VALUE" not in told(f"{step}:{kind}"), kind


def test_a_device_starts_answers_and_stops(devices_dir):
    serial = registry.start("one", planted=["open.exec:refuse"])
    with Host(_port(serial)) as host:
        assert host.shell("getprop ro.product.model")[0] == b"Virtual device\n"
        host.push("/data/local/tmp/kept", b"kept")
    assert registry.start("one") == serial and registry.running() == {"one": serial}
    assert registry.planted("one") == [_REFUSED]
    registry.plant("one", "none")
    registry.plant("one", "sync.send:drop@3")
    (dropped,) = registry.planted("one")
    assert dropped.startswith("sync.send:drop@3x1: the 3. time from now at sync.send (before a file is rec")
    record = registry.find("one")
    assert (devices_dir / "one").stat().st_mode & 0o077 == 0
    assert registry.stop("one") and not (devices_dir / "one").exists() and _ended(record.pid)
    assert not registry.stop("one") and registry.running() == {} and registry.records() == []


def test_two_starts_at_once_are_one_device(devices_dir):
    serials = []
    threads = [threading.Thread(target=lambda: serials.append(registry.start("both"))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(serials) == 3 and len(set(serials)) == 1


def test_a_process_that_was_killed_is_told_apart_and_replaced(devices_dir):
    serial = registry.start("hurt")
    pid = registry.find("hurt").pid
    with Host(_port(serial)) as host:
        host.push("/data/local/tmp/kept", b"kept")
    os.kill(pid, signal.SIGKILL)
    assert _ended(pid)
    assert not registry.find("hurt").alive() and registry.running() == {}
    with pytest.raises(DeviceNotFound, match="its process has died"):
        registry.plant("hurt", "sync.send:drop")
    assert registry.start("hurt") == serial  # the same port, too
    with Host(_port(serial)) as host:
        assert host.pull("/data/local/tmp/kept") == b"kept"


def test_a_device_ends_when_its_folder_is_taken_away(devices_dir):
    registry.start("orphan")
    pid = registry.find("orphan").pid
    shutil.rmtree(devices_dir / "orphan")
    assert _ended(pid)


def test_a_device_ends_when_another_record_lies_in_its_place(devices_dir):
    registry.start("robbed")
    record = registry.find("robbed")
    path = devices_dir / "robbed" / registry.RECORD
    path.write_text(json.dumps({**json.loads(path.read_text()), "pid": 1}))
    assert _ended(record.pid)
    assert path.exists()


def test_a_request_that_is_none_is_not_answered(devices_dir):
    registry.start("asked")
    record = registry.find("asked")
    for line in ("nowhere:drop", "\0", "\x1b" * 70000):
        with pytest.raises(DeviceError, match="does not answer"):
            record.ask(line)
    with socket.create_connection(("127.0.0.1", record.control)) as asking:
        asking.sendall(b"\xff\xfe\n")
        assert asking.makefile("rb").readline() == b""
    assert record.ask() == []
    (devices_dir / "asked" / registry.RECORD).write_bytes(b'{"name": "asked", "port": "x"}')
    assert registry.find("asked") is None


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "-x", "a b", "x" * 65, "a\0b"])
def test_a_name_that_is_no_folder_name_is_refused(name):
    with pytest.raises(Misuse):
        registry.start(name)


def test_faults_that_there_are_not_are_refused_before_anything_starts(devices_dir):
    with pytest.raises(Misuse):
        registry.start("never", planted=["nowhere:drop"])
    assert not devices_dir.exists()


def _shown(*words, name="shown", planted=()):
    console = Console(width=200, file=io.StringIO())
    devices.do(words, devices.Options(name, tuple(planted)), console)
    return console.file.getvalue()


def test_the_task_says_what_it_did(devices_dir, capsys, adb):
    _shown("start")
    serial = registry.find("shown").serial
    assert capsys.readouterr().out == f"{serial}\n"
    assert serial in _shown("list")
    _shown("fault")
    _shown("fault", "open.exec:refuse", "sync.recv:drop@2")
    _shown("fault", "none")
    dropped = (
        "sync.recv:drop@2x1: the 2. time from now at sync.recv (before a file is sent), "
        "the connection ends, as when a cable is pulled; met 0 times so far, happened 0 times"
    )
    assert capsys.readouterr().out == f"no faults\n{_REFUSED}\n{dropped}\nno faults\n"
    os.kill(registry.find("shown").pid, signal.SIGKILL)
    assert _ended(registry.find("shown").pid) and "its process has died" in _shown("list")
    _shown("stop", name="all")
    _shown("stop")
    assert capsys.readouterr().out == "shown stopped\nshown was not running\n"
    said = _shown("faults")
    assert all(step in said for step in faults.STEPS) and all(kind in said for kind in faults.KINDS)
    for words, hint in (
        (["restart"], "one of: list, start"),
        (["stop", "two"], "device stop --name two"),
        (["fault", "--fault", "open.exec:refuse"], "--fault is an option of start"),
    ):
        assert command_line.main(["device", *words]) == 2 and hint in capsys.readouterr().err
