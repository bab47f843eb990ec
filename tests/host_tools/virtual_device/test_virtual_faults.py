"""Every fault at every step happens, and none outlives its end: afterwards the device is as good as before."""

import contextlib
import os
import random
import threading
import time

import pytest

from host_tools.base.errors import Misuse
from host_tools.virtual_device import faults, wire
from host_tools.virtual_device.device import VirtualDevice
from host_tools.virtual_device.wire import BadMessage
from tests.host_tools.wire_client import Closed, Host

TMP = "/data/local/tmp"
ELSEWHERE = ("install", "instrument", "app.start", "app.run")  # met by the package manager and by apps
FAILURES = (Closed, EOFError, OSError, BadMessage, AssertionError, ValueError, KeyError)


@pytest.fixture
def device(tmp_path):
    with VirtualDevice(tmp_path / "root") as one:
        yield one
        assert not [note for note in one.log if note.what == "bug"]


def _everything(device, wait_s):
    """Meets each step once; the first thing that fails is raised."""
    data = random.Random(3).randbytes(150_000)
    with Host(device.port, wait_s) as host:
        assert host.push(f"{TMP}/folder/a", data) == b"OKAY"
        assert host.pull(f"{TMP}/folder/a") == data
        assert host.shell(f"cat {TMP}/folder/a") == (data, b"", 0)
        assert host.shell(f"echo x > {TMP}/b") == (b"", b"", 0)
        path = f"{TMP}/folder".encode()
        listing = host.open("sync:")
        listing.write(b"LIST" + len(path).to_bytes(4, "little") + path)
        assert b"DENT" in listing.read(20) and listing.read(1) == b"."
        status = host.open("sync:")
        status.write(b"STAT" + len(path).to_bytes(4, "little") + path)
        assert status.read(16)[:4] == b"STAT"
        assert host.open("exec:echo y").rest() == b"y\n"
        with pytest.raises((EOFError, OSError)):
            host.open("reboot:").rest()
            while True:
                host.open("exec:true")


@pytest.mark.parametrize("step", [step for step in faults.STEPS if step not in ELSEWHERE])
def test_each_fault_of_the_step_happens_and_ends(device, step):
    device.boot_s = 0.0
    idle = threading.active_count()
    for kind in (*faults.ANYWHERE, *faults.STEPS[step][1]):
        fault = device.faults.add(f"{step}:{kind}")
        for patience_s in (0.08, 0.08, 0.08, 0.2, 0.5, 1, 2, 4):  # a busy machine may be slower than the first ones
            if not fault.done:
                with contextlib.suppress(*FAILURES):
                    _everything(device, patience_s)
        assert fault.done, f"{fault} never happened"
        assert _soon(lambda: _is_idle(device, idle))  # it has seen that the host is gone
        device.faults.clear()
        _everything(device, 2)


def test_a_stall_ends_with_the_stream_the_fault_or_its_time(device):
    device.faults.add("open.shell:stall=0.2")
    with Host(device.port) as host:
        started = time.monotonic()
        assert host.shell("echo a")[0] == b"a\n"
        assert time.monotonic() - started >= 0.2
        device.faults.add("open.shell:stall")
        threading.Timer(0.2, device.faults.clear).start()
        assert host.shell("echo b")[0] == b"b\n"
        device.faults.add("shell.exit:stall")
        stream = host.open("shell,v2,raw:echo c")
        stream.read(7)
        stream.close()
    assert _soon(lambda: not [t for t in threading.enumerate() if t.name.startswith("shell,v2")])


def test_only_the_nth_time_and_so_often(device):
    device.faults.add("open.exec:refuse@2x2")
    with Host(device.port) as host:
        came = []
        for _ in range(5):
            try:
                came.append(host.open("exec:true").rest() == b"")
            except Closed:
                came.append(False)
    assert came == [True, False, False, True, True]


def test_a_dropped_push_leaves_nothing_and_a_dead_device_leaves_a_part(device):
    data = os.urandom(200_000)
    for kind, left in (("drop", False), ("crash", True)):
        device.faults.add(f"sync.send.data:{kind}@3")
        with Host(device.port) as host, pytest.raises((EOFError, OSError)):
            host.push(f"{TMP}/{kind}", data)
        assert _soon(lambda: (device.root / f"data/local/tmp/{kind}").exists() == left)


def test_a_full_device_says_so_until_it_is_cleared(device):
    device.faults.add("sync.send.data:full@2")
    with Host(device.port) as host:
        assert host.push(f"{TMP}/a", os.urandom(200_000)) == b"write failed: No space left on device"
        assert host.push(f"{TMP}/b", b"b") == b"couldn't create file: No space left on device"
        _, err, status = host.shell(f"echo x > {TMP}/c; mkdir {TMP}/d")
        assert status == 1 and err.count(b"No space left on device") == 2
        device.faults.clear()
        assert host.push(f"{TMP}/b", b"b") == b"OKAY"


def test_offline_and_unauthorized_last_until_they_are_cleared(device):
    for kind in ("offline", "unauthorized"):
        device.faults.add(f"open.exec:{kind}")
        with Host(device.port) as host, pytest.raises((EOFError, OSError)):
            host.open("exec:true")
        if kind == "offline":
            with pytest.raises(OSError):
                Host(device.port, 0.2)
        else:
            with Host(device.port) as host:
                assert host.greeting.name() == "AUTH"
                host.send(wire.Message(wire.AUTH, wire.AUTH_PUBLIC_KEY, 0, b"key"))
                host.socket.settimeout(0.2)
                with pytest.raises(TimeoutError):
                    wire.receive(host.socket)
                device.faults.clear()
                assert wire.receive(host.socket).name() == "CNXN"
        device.faults.clear()
        with Host(device.port) as host:
            assert host.greeting.name() == "CNXN"


def test_heat_shows_in_the_thermal_service_and_goes(device):
    device.faults.add("open.exec:hot=0.3")
    with Host(device.port) as host:
        host.open("exec:true").rest()
        assert b"Thermal Status: 3\n" in host.shell("dumpsys thermalservice")[0]
        time.sleep(0.35)
        assert b"Thermal Status: 0\n" in host.shell("dumpsys thermalservice")[0]


def test_a_reboot_has_a_new_boot_id_and_keeps_files(device):
    with Host(device.port) as host:
        before = host.shell("cat /proc/sys/kernel/random/boot_id")[0]
        host.push(f"{TMP}/kept", b"kept")
        host.open("reboot:")
        with pytest.raises((EOFError, OSError)):
            for _ in range(200):  # a busy machine closes later
                host.open("exec:true")
                time.sleep(0.02)
    with Host(device.port) as host:
        assert host.shell("cat /proc/sys/kernel/random/boot_id")[0] != before
        assert host.shell(f"cat {TMP}/kept")[0] == b"kept"


@pytest.mark.parametrize(
    "text",
    ["", "nowhere:drop", "connect:slow", "sync.send:drop=1", "sync.send", "auth:stall=-1", "auth:stall=x", "a:b:c"],
)
def test_a_fault_that_there_is_not_is_refused(text):
    with pytest.raises(Misuse):
        faults.parse(text)


def test_a_fault_prints_as_it_is_asked_for():
    for text in ("sync.send.data:stall@2x1", "app.run:slow=1.1@1x*", "open.*:drop@1x3"):
        assert str(faults.parse(text)) == text
    assert str(faults.parse("app.run:wrong_kernel")) == "app.run:wrong_kernel@1x*"


def _is_idle(device, threads):
    """Whether nobody is connected, and the services of those who were have ended: one of them might still write a file."""
    return not device._connections and threading.active_count() <= threads


def _soon(condition, seconds=10.0):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


@pytest.mark.parametrize("count", [60, pytest.param(3000, marks=pytest.mark.slow)])
def test_faults_in_random_order_leave_nothing_behind(device, count):
    """No thread, no open file, and after each the device does all that it should."""
    device.boot_s = 0.0
    chance = random.Random(7)
    chosen = [(s, k) for s in faults.STEPS if s not in ELSEWHERE for k in (*faults.ANYWHERE, *faults.STEPS[s][1])]
    threads, files = threading.active_count(), len(os.listdir("/proc/self/fd"))
    happened = 0
    for _ in range(count):
        step, kind = chance.choice(chosen)
        value = f"={chance.randrange(8)}" if kind == "hostile" else ""
        fault = device.faults.add(f"{step}:{kind}{value}@{chance.randrange(1, 4)}")
        with contextlib.suppress(*FAILURES):
            _everything(device, 0.08)
        assert _soon(lambda: _is_idle(device, threads))
        happened += bool(fault.done)
        device.faults.clear()
        _everything(device, 5)
    assert happened > count / 3
    assert _soon(lambda: threading.active_count() <= threads and len(os.listdir("/proc/self/fd")) <= files)
