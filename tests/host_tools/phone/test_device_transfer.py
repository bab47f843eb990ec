"""Files to a device and back, through the real adb, against a virtual device: whole or not at all, sent once."""

import hashlib
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from host_tools.base import portable, settings
from host_tools.base.errors import (
    AppMissing,
    DeviceBusy,
    DeviceError,
    DeviceFull,
    DeviceNotFound,
    DeviceRefused,
    DeviceTimedOut,
    DeviceUnusable,
    Misuse,
    TransferFailed,
)
from host_tools.phone.adb import choice, lock, parallel, virtual_server
from host_tools.phone.adb.adb_device import Device
from host_tools.phone.adb.server_connection import Deadline
from host_tools.phone.files import pull, transfer
from host_tools.virtual_device.device import VirtualDevice
from tests.host_tools.free_port import free_port
from tests.host_tools.installed import install

PACKAGE = "org.example.app"
HOME = f"/data/data/{PACKAGE}"


@pytest.fixture
def phone(tmp_path, adb):
    with VirtualDevice(tmp_path / "root") as made:
        yield made


@pytest.fixture
def device(phone):
    return Device(phone.serial, virtual=True)


@pytest.fixture
def app(phone, device):
    """Files of an app that run-as may look into."""
    install(phone, PACKAGE)
    folder = phone.root / HOME.lstrip("/") / "files" / "run"
    (folder / "outputs").mkdir(parents=True)
    for name, data in FILES.items():
        (folder / name).write_bytes(data)
    return folder


FILES = {"status.json": b"{}", "outputs/000.npy": bytes(range(256)) * 1000, "outputs/with space": b"", "x" * 120: b"x"}


def file(tmp_path: Path, data: bytes, name: str = "model.tflite") -> Path:
    path = tmp_path / name
    path.write_bytes(data)
    return path


def stored(phone) -> dict:
    folder = phone.root / transfer.STORE.lstrip("/")
    return {p.name: p.read_bytes() for p in folder.iterdir()} if folder.exists() else {}


def test_a_file_lies_under_its_digest_and_is_sent_once(phone, device, tmp_path):
    data = os.urandom(300_000)
    path = file(tmp_path, data)
    name = hashlib.sha256(data).hexdigest() + ".tflite"
    first, second = transfer.push(device, [path]), transfer.push(device, [path])
    assert first.remote == second.remote == {path: f"{transfer.STORE}/{name}"}
    assert (first.sent_bytes, second.sent_bytes, second.kept_bytes) == (len(data), 0, len(data))
    assert stored(phone) == {name: data}
    info = device.stat(f"{transfer.STORE}/{name}")
    assert info.is_file and info.mode & 0o777 == 0o444
    assert device.stat(transfer.STORE).mode & 0o777 == 0o755


def test_files_of_one_content_are_sent_once_and_names_never_reach_the_device(phone, device, tmp_path):
    one, other = file(tmp_path, b"same", "a;reboot.tflite"), file(tmp_path, b"same", "$(id).tflite")
    pushed = transfer.push(device, [one, other])
    assert len(stored(phone)) == 1 and len(set(pushed.remote.values())) == 1


def test_a_file_that_was_changed_on_the_device_is_sent_again(phone, device, tmp_path):
    path = file(tmp_path, b"12345")
    transfer.push(device, [path])
    changed = next((phone.root / transfer.STORE.lstrip("/")).iterdir())
    changed.write_bytes(b"54321")
    os.utime(changed, (1, 1))
    assert transfer.push(device, [path]).sent_bytes == 5
    assert changed.read_bytes() == b"12345"


def test_what_another_computer_pushed_is_compared_not_sent(phone, device, tmp_path):
    path = file(tmp_path, b"12345")
    transfer.push(device, [path])
    for known in (settings.read().devices_dir / ".stores").iterdir():
        known.unlink()
    assert transfer.push(device, [path]).kept_bytes == 5


def test_half_files_of_a_process_that_was_killed_go_with_the_next_push(phone, device, tmp_path):
    transfer.push(device, [file(tmp_path, b"1")])
    left = phone.root / transfer.STORE.lstrip("/") / ".part-0123"
    left.write_bytes(b"half")
    transfer.push(device, [file(tmp_path, b"2")])
    assert not left.exists() and len(stored(phone)) == 2


@pytest.mark.parametrize(
    "fault", ["sync.send.data:drop@2", "sync.send.data:corrupt", "sync.send.data:truncate", "sync.send.done:truncate",
              "sync.send.done:crash", "shell.exit:crash", "shell.output:truncate"],
)  # fmt: skip
def test_a_fault_that_passes_costs_a_try_and_is_written_down(phone, device, tmp_path, fault):
    data = os.urandom(200_000)
    phone.faults.add(fault)
    pushed = transfer.push(device, [file(tmp_path, data)], timeout_s=20)
    assert pushed.retries >= 1 and device.events
    assert list(stored(phone).values()) == [data]


def test_a_stall_costs_its_idle_time_and_a_try(phone, device, tmp_path):
    device.idle_s = 0.3
    phone.faults.add("sync.send.done:stall")
    pushed = transfer.push(device, [file(tmp_path, b"data")], timeout_s=20)
    assert [event.error for event in device.events if event.step == "send"] == ["DeviceTimedOut"]
    assert pushed.wall_s < 5 and list(stored(phone).values()) == [b"data"]


def test_a_device_that_stalls_for_ever_costs_the_deadline(phone, device, tmp_path):
    started = time.monotonic()
    phone.faults.add("sync.send.data:stallx*")
    with pytest.raises(DeviceTimedOut) as told:
        transfer.push(device, [file(tmp_path, b"data")], timeout_s=0.5)
    assert time.monotonic() - started < 2.5
    assert told.value.serial == phone.serial and told.value.step == "send"


def test_a_full_device_says_so_and_keeps_no_half_file(phone, device, tmp_path):
    phone.faults.add("sync.send:full")
    with pytest.raises(DeviceFull):
        transfer.push(device, [file(tmp_path, os.urandom(300_000))])
    assert stored(phone) == {}


def test_resuming_costs_at_most_one_file(phone, device, tmp_path):
    paths = [file(tmp_path, os.urandom(50_000), f"{n}.bin") for n in range(4)]
    phone.faults.add("sync.send.data:refuse@3x*")
    with pytest.raises(DeviceError):
        transfer.push(device, paths)
    phone.faults.clear()
    assert transfer.push(device, paths).sent_bytes <= 2 * 50_000


def test_200_mb_that_lie_there_cost_no_data_and_less_than_a_second(phone, device, tmp_path):
    path = tmp_path / "large.bin"
    with open(path, "wb") as stream:
        stream.truncate(200_000_000)
    name = transfer.sha256(path) + ".bin"
    folder = phone.root / transfer.STORE.lstrip("/")
    folder.mkdir(parents=True)
    os.link(path, folder / name)
    transfer.push(device, [path])  # compares it: it was not sent from here
    began = time.process_time()  # the wall says more about what else this machine does
    pushed = transfer.push(device, [path])
    assert (pushed.sent_bytes, pushed.kept_bytes) == (0, 200_000_000)
    assert time.process_time() - began < 1.0


def test_a_missing_file_is_misuse(device, tmp_path):
    with pytest.raises(Misuse, match="no such file"):
        transfer.push(device, [tmp_path / "absent"])


def test_a_file_comes_whole_or_not_at_all(phone, device, tmp_path):
    transfer.push(device, [file(tmp_path, b"12345")])
    remote = f"{transfer.STORE}/{next(iter(stored(phone)))}"
    got = tmp_path / "got"
    assert device.receive(remote, got, 1000) == hashlib.sha256(b"12345").hexdigest() and got.read_bytes() == b"12345"
    got.unlink()
    phone.faults.add("sync.recv.data:corruptx*")
    with pytest.raises(TransferFailed, match="another SHA-256"):
        device.receive(remote, got, 1000, timeout_s=10)
    assert not got.exists() and not list(tmp_path.glob(".part-*"))


def test_a_folder_of_the_app_comes_with_every_file_checked(phone, device, app, tmp_path):
    into = tmp_path / "run"
    pulled = pull.pull_app(device, PACKAGE, "files/run", into)
    assert {p.relative_to(into).as_posix(): p.read_bytes() for p in pulled.files} == FILES
    again = pull.pull_app(device, PACKAGE, "files/run", into)
    assert (again.bytes, again.kept_files) == (0, len(FILES))


def test_a_pull_that_broke_off_brings_only_what_is_missing(phone, device, app, tmp_path):
    into = tmp_path / "run"
    pull.pull_app(device, PACKAGE, "files/run", into, only=["outputs/000.npy"])
    assert [p.name for p in into.rglob("*.npy")] == ["000.npy"]
    rest = pull.pull_app(device, PACKAGE, "files/run", into)
    assert rest.kept_files == 1 and rest.bytes == sum(map(len, FILES.values())) - 256_000


def test_an_app_that_is_not_installed_and_a_folder_that_is_not_there_are_told_apart(device, app, tmp_path):
    with pytest.raises(AppMissing):
        pull.pull_app(device, "org.example.other", "files/run", tmp_path / "x")
    with pytest.raises(DeviceRefused, match="No such file"):
        pull.pull_app(device, PACKAGE, "files/absent", tmp_path / "x")


def test_a_server_that_dies_is_started_again_and_the_device_connected(phone, device, adb):
    assert device.shell(["echo", "1"], timeout_s=10).stdout == "1\n"
    assert virtual_server.stop(adb)
    assert device.shell(["echo", "2"], timeout_s=10).stdout == "2\n"
    assert [event.error for event in device.events] == ["restart", "reconnect"] * 2


def test_a_server_of_a_process_that_was_killed_is_used_and_stopped_by_the_next(adb):
    code = (
        "import time\nfrom host_tools.phone.adb import virtual_server\nfrom host_tools.phone.adb.server_connection import Deadline\n"
        "virtual_server.up(Deadline(10))\nprint('up', flush=True)\ntime.sleep(60)\n"
    )
    first, second = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=settings.ROOT) for _ in range(2)
    ]
    for child in (first, second):
        assert child.stdout.readline() == b"up\n"
        child.stdout.close()
    first.kill()
    first.wait()
    assert virtual_server.up(Deadline(5)) is False, "it is still there, for the second"
    virtual_server.leave()
    assert virtual_server.answers(adb), "somebody uses it"
    second.kill()
    second.wait()
    assert virtual_server.up(Deadline(5)) is False
    virtual_server.leave()
    assert not virtual_server.answers(adb)


def test_a_port_that_another_program_holds_is_told(tmp_path, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as other:
        monkeypatch.setenv("QUADRA_ADB_PORT", str(other.getsockname()[1]))
        monkeypatch.setenv("QUADRA_DEVICES_DIR", str(tmp_path))
        with pytest.raises(DeviceError, match="QUADRA_ADB_PORT"):
            virtual_server.up(Deadline(5))
        virtual_server.leave()


@pytest.mark.skipif(not portable.is_root(), reason="starts a process of another user, which needs root")
def test_a_server_of_another_user_is_told(tmp_path, monkeypatch):
    port = free_port()
    serve = (
        "import socket\n"
        f"with socket.create_server(('127.0.0.1', {port})) as server:\n"
        "    print('up', flush=True)\n"
        "    while True:\n"
        "        peer, _ = server.accept()\n"
        "        peer.recv(64), peer.sendall(b'OKAY00040029'), peer.close()\n"
    )
    monkeypatch.setenv("QUADRA_ADB_PORT", str(port))
    monkeypatch.setenv("QUADRA_DEVICES_DIR", str(tmp_path))
    with subprocess.Popen(
        ["/usr/bin/python3", "-c", serve], stdout=subprocess.PIPE, user=65534, group=65534, cwd="/"
    ) as other:
        try:
            assert other.stdout.readline() == b"up\n"
            with pytest.raises(DeviceError, match=r"(?s)another user .*\(nobody\).*QUADRA_ADB_PORT"):
                virtual_server.up(Deadline(5))
        finally:
            other.kill()
            virtual_server.leave()


def test_a_device_that_is_not_there_is_told_with_what_to_do(device, phone):
    phone.stop()
    with pytest.raises(DeviceNotFound, match="device start"):
        choice.choose(phone.serial)
    with pytest.raises(DeviceNotFound, match="USB debugging"):
        choice.choose("R58M1234567")
    with pytest.raises(Misuse):
        choice.choose("; reboot")


def test_unauthorized_is_not_absent(phone, device):
    phone.faults.add("auth:unauthorized")
    with pytest.raises(DeviceUnusable, match="allow USB debugging"):
        device.shell(["id"], timeout_s=15)


def test_nothing_of_a_server_stays_in_adbs_own_folder(adb):
    virtual_server.up(Deadline(10))
    virtual_server.leave()
    assert not (Path.home() / ".android" / f"adb.{adb}").exists()


def test_a_device_is_leased_to_one_at_a_time_and_the_other_is_told_who(adb):
    with lock.lease("serial", "run a model"):
        assert "run a model" in lock.holder("serial")
        with pytest.raises(DeviceBusy, match=f"process {os.getpid()}.*run a model"):
            with lock.lease("serial", "push"):
                pass
    assert lock.holder("serial") == ""
    with lock.lease("serial", "push"):
        pass


def test_a_process_that_is_killed_leaves_no_lock(adb):
    code = "import time; from host_tools.phone.adb import lock\nwith lock.lease('s', 'x'):\n print('held', flush=True); time.sleep(60)"
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=settings.ROOT)
    assert child.stdout.readline() == b"held\n"
    assert "x" in lock.holder("s")
    child.kill()
    child.wait()
    child.stdout.close()
    assert lock.holder("s") == ""


def test_ctrl_c_in_a_push_leaves_no_half_file_no_lock_and_no_server(phone, adb, tmp_path):
    data = file(tmp_path, os.urandom(100_000))
    phone.faults.add("sync.send.done:stall")
    code = (
        "import signal, sys\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"  # ignored in the background
        "from pathlib import Path\nfrom host_tools.phone.adb import lock, parallel\nfrom host_tools.phone.files import transfer\n"
        "from host_tools.phone.adb.adb_device import Device\n"
        "def work(device, show):\n with lock.lease(device.serial, 'push'):\n"
        "  return transfer.push(device, [Path(sys.argv[2])])\n"
        "parallel.each([Device(sys.argv[1], virtual=True)], work, 'push')\n"
    )
    argv = [sys.executable, "-c", code, phone.serial, str(data)]
    child = subprocess.Popen(argv, cwd=settings.ROOT, stderr=subprocess.PIPE)
    end = time.monotonic() + 20
    while not any(name.startswith(".part-") for name in stored(phone)) and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(0.1)
    started = time.monotonic()
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=20)
    assert time.monotonic() - started < 4 and b"KeyboardInterrupt" in said
    assert stored(phone) == {} and lock.holder(phone.serial) == ""
    assert not virtual_server.answers(adb)


def interrupt_at_random_moments(phone, app, tmp_path, count: int) -> int:
    """Pushes and pulls, each time with a Ctrl-C at another moment; how many came while they worked.

    What was on its way to the device may become a half file after all: then the next push removes it.
    """
    chance, came = random.Random(1), 0
    paths = [file(tmp_path, chance.randbytes(60_000), f"{n}.bin") for n in range(3)]
    into = tmp_path / "run"

    def work(device, show):
        with lock.lease(device.serial, "work", wait_s=2):
            transfer.push(device, paths)
            pull.pull_app(device, PACKAGE, "files/run", into)

    def ctrl_c(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, ctrl_c)
    try:
        for _ in range(count):
            transfer.clear(Device(phone.serial, virtual=True))
            shutil.rmtree(into, ignore_errors=True)
            try:
                signal.setitimer(signal.ITIMER_REAL, chance.uniform(0.001, 0.12))
                parallel.each([Device(phone.serial, virtual=True)], work, "work")
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                came += 1
            assert lock.holder(phone.serial) == ""
            if any(name.startswith(transfer.PART) for name in stored(phone)):
                transfer.push(Device(phone.serial, virtual=True), paths)  # it became a file after it was removed
            assert all(hashlib.sha256(data).hexdigest() == name[:64] for name, data in stored(phone).items())
            found = {p.relative_to(into).as_posix(): p.read_bytes() for p in into.rglob("*") if p.is_file()}
            assert all(FILES[name] == data for name, data in found.items())
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return came


def test_ctrl_c_at_some_moments(phone, device, app, tmp_path):
    assert interrupt_at_random_moments(phone, app, tmp_path, 30) > 3


@pytest.mark.slow
def test_ctrl_c_at_1000_moments(phone, device, app, tmp_path):
    assert interrupt_at_random_moments(phone, app, tmp_path, 1000) > 100


def test_several_devices_work_at_the_same_time_and_one_error_stays_its_own(tmp_path, adb):
    with VirtualDevice(tmp_path / "1") as one, VirtualDevice(tmp_path / "2") as two:
        path = file(tmp_path, b"x" * 1000)
        two.faults.add("sync.send:full")
        meet = threading.Barrier(2, timeout=20)

        def work(device, show):
            meet.wait()
            return transfer.push(device, [path], show)

        outcomes = parallel.each([Device(one.serial, virtual=True), Device(two.serial, virtual=True)], work, "push")
        assert outcomes[0].value.sent_bytes == 1000 and outcomes[0].error is None
        assert isinstance(outcomes[1].error, DeviceFull)
        with pytest.raises(DeviceFull):
            parallel.check(outcomes)


def test_an_error_that_nobody_expected_stops_all(phone):
    def work(device, show):
        if device.serial == "a":
            raise ZeroDivisionError
        device.shell(["sleep", "30"], timeout_s=40)

    started = time.monotonic()
    with pytest.raises(ZeroDivisionError):
        first = SimpleNamespace(serial="a", unusable=None, stop=lambda: None)
        parallel.each([first, Device(phone.serial, virtual=True)], work, "x")
    assert time.monotonic() - started < 5
