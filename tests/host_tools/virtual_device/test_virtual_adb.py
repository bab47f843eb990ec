"""The real adb and adbutils treat the virtual device as a phone."""

import concurrent.futures
import hashlib
import os
import random
import re
import subprocess
import time
from pathlib import Path

import adbutils
import pytest

from host_tools.virtual_device.device import VirtualDevice
from tests.host_tools.free_port import free_port

ADB = Path(adbutils.__file__).parent / "binaries" / "adb"


class Adb:
    """The real adb with a server of its own."""

    def __init__(self, home: Path) -> None:
        self.port = free_port()
        names = {"ADB_MDNS": "0", "ADB_EMU": "0", "ADB_USB": "0", "ANDROID_ADB_SERVER_PORT": str(self.port)}
        self._env = {**os.environ, **names, "HOME": str(home)}

    def __call__(self, *words: object, data: bytes = b"", timeout: float = 30) -> subprocess.CompletedProcess:
        argv = [str(ADB), *map(str, words)]
        return subprocess.run(argv, input=data, capture_output=True, env=self._env, timeout=timeout)

    def text(self, *words: object) -> str:
        done = self(*words)
        assert done.returncode == 0, done
        return done.stdout.decode()


@pytest.fixture(scope="module")
def adb(tmp_path_factory):
    one = Adb(tmp_path_factory.mktemp("home"))
    one("start-server")
    yield one
    one("kill-server")


@pytest.fixture
def device(adb, tmp_path):
    with VirtualDevice(tmp_path / "root") as one:
        assert "connected to" in adb.text("connect", one.serial)
        yield one
        adb("disconnect", one.serial)


def test_it_is_listed_as_a_phone(adb, device):
    line = next(one for one in adb.text("devices", "-l").splitlines() if one.startswith(device.serial))
    assert " device product:quadra_x86_64 model:Virtual_device device:virtual" in line


def test_a_command_has_output_errors_and_a_status(adb, device):
    done = adb("-s", device.serial, "shell", "echo out; echo err >&2; exit 42")
    assert (done.stdout, done.stderr, done.returncode) == (b"out\n", b"err\n", 42)
    done = adb("-s", device.serial, "shell", "-x", "echo out; echo err >&2; exit 42")
    assert (done.stdout, done.returncode) == (b"out\nerr\n", 0)


def test_input_reaches_the_command(adb, device):
    data = bytes(range(256)) * 1000
    done = adb("-s", device.serial, "shell", "cat", data=data)
    assert done.stdout == data
    adb("-s", device.serial, "exec-in", "cat > /data/local/tmp/in", data=data)
    read = b""
    for _ in range(100):  # adb's exec-in ends when all is sent, not when the command has ended
        read = adb("-s", device.serial, "exec-out", "cat", "/data/local/tmp/in").stdout
        if len(read) >= len(data):
            break
        time.sleep(0.1)
    assert len(read) == len(data) and read == data


def test_files_and_folders_go_there_and_back(adb, device, tmp_path):
    tree = tmp_path / "tree"
    (tree / "sub").mkdir(parents=True)
    (tree / "empty").touch()
    (tree / "sub" / "größe 1; $(x)").write_bytes(random.Random(1).randbytes(3_000_000))
    adb.text("-s", device.serial, "push", tree, "/data/local/tmp/")
    again = adb("-s", device.serial, "push", "--sync", tree, "/data/local/tmp/")
    assert b"0 files pushed, 2 skipped" in again.stdout + again.stderr
    adb.text("-s", device.serial, "pull", "/data/local/tmp/tree", tmp_path / "back")
    for path in (p for p in tree.rglob("*") if p.is_file()):
        assert (tmp_path / "back" / path.relative_to(tree)).read_bytes() == path.read_bytes()


def test_a_big_file_arrives_whole(adb, device, tmp_path):
    data = random.Random(2).randbytes(40_000_000)
    (tmp_path / "big").write_bytes(data)
    adb.text("-s", device.serial, "push", tmp_path / "big", "/data/local/tmp/big")
    said = adb.text("-s", device.serial, "shell", "sha256sum", "/data/local/tmp/big")
    assert said.split()[0] == hashlib.sha256(data).hexdigest()
    adb.text("-s", device.serial, "pull", "/data/local/tmp/big", tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == data


def test_the_log_is_read_and_cleared(adb, device):
    device.logcat.add("I", "one", "hello")
    device.logcat.add("I", "two", "hello")
    done = adb("-s", device.serial, "logcat", "-d", "-s", "one")
    assert re.fullmatch(rb"--------- beginning of main\n[-0-9 :.]+     1     1 I one     : hello\n", done.stdout), done
    assert (done.stderr, done.returncode) == (b"", 0)
    assert adb.text("-s", device.serial, "logcat", "-c") == adb.text("-s", device.serial, "logcat", "-d") == ""


def test_what_the_device_refuses_is_refused(adb, device, tmp_path):
    (tmp_path / "a").write_text("a")
    done = adb("-s", device.serial, "push", tmp_path / "a", "/system/a")
    assert done.returncode == 1 and b"remote couldn't create file: Read-only file system" in done.stderr
    done = adb("-s", device.serial, "pull", "/data/local/tmp/none", tmp_path / "b")
    assert done.returncode == 1 and b"No such file or directory" in done.stderr


def test_adbutils_drives_it(adb, device, tmp_path):
    client = adbutils.AdbClient("127.0.0.1", adb.port, socket_timeout=10)
    phone = client.device(device.serial)
    assert phone.prop.model == "Virtual device"
    assert phone.shell2(["sh", "-c", "exit 7"], v2=True).returncode == 7
    phone.sync.push(b"text", "/data/local/tmp/f")
    assert phone.sync.stat("/data/local/tmp/f").size == 4
    assert [e.path for e in phone.sync.iter_directory("/data/local/tmp")] == [".", "..", "f"]
    assert phone.sync.read_bytes("/data/local/tmp/f") == b"text"


def test_eight_devices_at_once(adb, tmp_path):
    data = random.Random(5).randbytes(2_000_000)
    (tmp_path / "file").write_bytes(data)
    devices = [VirtualDevice(tmp_path / f"root{i}", name=f"d{i}").start() for i in range(8)]

    def use(device):
        adb.text("connect", device.serial)
        adb.text("-s", device.serial, "push", tmp_path / "file", "/data/local/tmp/file")
        adb.text("-s", device.serial, "pull", "/data/local/tmp/file", tmp_path / device.name)
        return adb.text("-s", device.serial, "shell", "getprop", "ro.serialno").strip()

    try:
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            numbers = list(pool.map(use, devices))
        assert len(set(numbers)) == 8
        assert all((tmp_path / device.name).read_bytes() == data for device in devices)
    finally:
        for device in devices:
            device.stop()


def test_a_device_that_starts_again_comes_back_by_itself(adb, device):
    device.boot_s = 0.3
    adb("-s", device.serial, "reboot")
    done = adb("-s", device.serial, "wait-for-device", "shell", "getprop", "sys.boot_completed")
    assert done.stdout == b"1\n"


def test_a_user_says_yes_to_this_computer(adb, device):
    device.faults.add("open.shell:unauthorized=1")
    assert adb("-s", device.serial, "shell", "true").returncode != 0
    states = set()
    end = time.monotonic() + 10
    while "device" not in states and time.monotonic() < end:
        time.sleep(0.05)
        states |= {line.split()[1] for line in adb.text("devices").splitlines() if line.startswith(device.serial)}
    assert {"unauthorized", "device"} <= states
    assert adb.text("-s", device.serial, "shell", "echo yes") == "yes\n"


@pytest.mark.parametrize(
    "fault, words, said",
    [
        ("sync.send.data:full", ("push", "FILE", "/data/local/tmp/f"), b"remote write failed: No space left on device"),
        ("sync.send.data:drop", ("push", "FILE", "/data/local/tmp/f"), b"failed to read copy response: EOF"),
        ("sync.send.done:hostile=1", ("push", "FILE", "/data/local/tmp/f"), b"unexpected response from daemon"),
        ("sync.recv.data:wrong_size", ("pull", "/data/local/tmp/f", "BACK"), b"msg.data.size too large"),
        ("sync.list:hostile", ("pull", "/data/local/tmp", "BACK"), b""),
        ("open.shell:refuse", ("shell", "true"), b"error: closed"),
        ("shell.exit:crash", ("shell", "true"), b""),
    ],
)
def test_the_real_adb_notices(adb, device, tmp_path, fault, words, said):
    (tmp_path / "file").write_bytes(bytes(300_000))
    adb.text("-s", device.serial, "push", tmp_path / "file", "/data/local/tmp/f")
    device.faults.add(fault)
    named = {"FILE": tmp_path / "file", "BACK": tmp_path / "back"}
    done = adb("-s", device.serial, *(named.get(word, word) for word in words))
    assert done.returncode != 0 and said in done.stderr


@pytest.mark.parametrize("fault, path", [("sync.send.data:truncate", "push"), ("sync.recv.data:corrupt", "pull")])
def test_what_the_real_adb_does_not_notice(adb, device, tmp_path, fault, path):
    """Why the toolkit compares digests."""
    data = bytes(300_000)
    (tmp_path / "file").write_bytes(data)
    device.faults.add(fault)
    adb.text("-s", device.serial, "push", tmp_path / "file", "/data/local/tmp/f")
    adb.text("-s", device.serial, "pull", "/data/local/tmp/f", tmp_path / "back")
    assert (tmp_path / "back").read_bytes() != data
