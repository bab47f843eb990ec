"""The virtual device starts Quadra's own runner when it was pushed there, and nothing else."""

import struct
import time
from pathlib import Path

import numpy as np
import pytest

from host_tools.build import bazel
from host_tools.record import run_folder
from host_tools.virtual_device import native, processes
from host_tools.virtual_device.device import VirtualDevice
from tests.host_tools.places import test_native_runner
from tests.host_tools.places.test_native_runner import model, parts, prepared  # noqa: F401 (fixtures)
from tests.host_tools.wire_client import Host

HERE = "/data/local/tmp/quadra/shell/a"
RUNNER = f"{HERE}/quadra_runner"


@pytest.fixture
def device(tmp_path):
    with VirtualDevice(tmp_path / "root") as one:
        yield one
        assert not [note for note in one.log if note.what == "bug"]


def pushed(host, name, content, mode=0o100755):
    assert host.push(name, content if isinstance(content, bytes) else Path(content).read_bytes(), mode) == b"OKAY"


def with_parts(host, parts):
    for name, path in zip((RUNNER, f"{HERE}/tflite.so", f"{HERE}/quadra.so"), parts, strict=True):
        pushed(host, name, path)


def test_a_pushed_runner_runs_a_model(device, parts, model, tmp_path):
    folder = prepared(model, tmp_path / "run")
    with Host(device.port, 60) as host:
        with_parts(host, parts)
        for file in (folder / "spec.json", folder / "inputs" / "000.npy"):
            pushed(host, f"{HERE}/{file.relative_to(folder)}", file)
        pushed(host, f"{HERE}/model.tflite", model)
        words = f"--folder {HERE} --runtime {HERE}/tflite.so --quadra {HERE}/quadra.so --model {HERE}/model.tflite"
        out, err, status = host.shell(f"{RUNNER} {words}")
        assert status == 0 and b"stage: measure\n" in out and b"QuadraDelegate" in err
        (folder / "values.npy").write_bytes(host.pull(f"{HERE}/outputs/000.npy"))
        relative = host.shell(
            f"cd {HERE}; ./quadra_runner --folder . {words[words.index('--runtime') :]} --mode verdicts"
        )
        assert relative[2] == 0
    assert np.load(folder / "values.npy").shape == (1, 8, 8, 8)


def test_what_it_says_names_files_as_the_device_does(device, parts):
    with Host(device.port, 30) as host:
        with_parts(host, parts)
        _, err, status = host.shell(f"{RUNNER} --folder {HERE} --runtime {HERE}/no.so --quadra x")
        assert status == 2 and f"read {HERE}/spec.json".encode() in err
        assert str(device.root).encode() not in err
        assert f"{HERE}/spec.json" in host.pull(f"{HERE}/error.json").decode()


def test_no_path_leads_out_of_the_device(device, parts, tmp_path):
    """Seen red: with words as they came, error.json was written beside the device."""
    outside = tmp_path / "outside"
    outside.mkdir()
    with Host(device.port, 30) as host:
        with_parts(host, parts)
        host.shell(f"mkdir {HERE}/deep")
        (device.root / HERE[1:] / "link").symlink_to(outside)
        for word in (f"../../../../../../../../../../..{outside}", f"{HERE}/link", "link", str(outside)):
            assert host.shell(f"cd {HERE}/deep; {RUNNER} --folder {word}")[2] == 2
    assert not list(outside.iterdir())


def damaged(content):
    """Its table of sections lies beyond its end."""
    return content[:40] + b"\xff" * 8 + content[48:]


REFUSED = {
    "this machine's program": (lambda _: Path("/bin/true").read_bytes(), b"no executable for Android x86_64"),
    "a library": (lambda parts: parts[2].read_bytes(), b"no executable for Android x86_64"),
    "without our note": (lambda parts: parts[0].read_bytes().replace(b"Quadra\0", b"Ardauq\0"), b"not Quadra's"),
    "damaged": (lambda parts: damaged(parts[0].read_bytes()), b"can't execute"),
    "cut off": (lambda parts: parts[0].read_bytes()[:1000], b"can't execute"),
    "only a head": (lambda _: b"\x7fELF", b"can't execute"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_other_programs_are_refused(what, device, parts):
    make, reason = REFUSED[what]
    with Host(device.port, 30) as host:
        pushed(host, f"{HERE}/program", make(parts))
        out, err, status = host.shell(f"{HERE}/program")
    assert (out, status) == (b"", 126) and err.startswith(f"/system/bin/sh: {HERE}/program: can't execute".encode())
    assert reason in err


def test_another_abi_is_refused(device):
    pushed_runner = bazel.runners(["arm64-v8a"])["arm64-v8a"]
    with Host(device.port, 30) as host:
        pushed(host, RUNNER, pushed_runner)
        assert b"no executable for Android x86_64" in host.shell(RUNNER)[1]


def test_it_must_be_executable(device, parts):
    with Host(device.port, 30) as host:
        pushed(host, RUNNER, parts[0], 0o100644)
        assert host.shell(RUNNER)[1:] == (f"/system/bin/sh: {RUNNER}: can't execute: Permission denied\n".encode(), 126)
        assert host.shell(f"chmod 755 {RUNNER}; {RUNNER}")[2] == 2


def test_a_library_that_asks_for_something_unknown_is_named(device, parts):
    with Host(device.port, 30) as host:
        with_parts(host, parts)
        pushed(host, f"{HERE}/quadra.so", Path("/lib/x86_64-linux-gnu/libz.so.1"))
        _, err, status = host.shell(f"{RUNNER} --folder {HERE} --runtime {HERE}/tflite.so --quadra {HERE}/quadra.so")
    assert status == 126 and b"it is for this machine" in err


def started(host, parts, model, tmp_path):
    """The stream of a run that nobody will wait for, once it measures."""
    folder = prepared(model, tmp_path / "run")
    spec = {**run_folder.RunFolder(folder).json("spec.json"), "repetitions": 100_000_000}
    run_folder.write_json(folder / "spec.json", spec)
    with_parts(host, parts)
    for file in (folder / "spec.json", folder / "inputs" / "000.npy"):
        pushed(host, f"{HERE}/{file.relative_to(folder)}", file)
    pushed(host, f"{HERE}/model.tflite", model)
    words = f"--folder {HERE} --runtime {HERE}/tflite.so --quadra {HERE}/quadra.so --model {HERE}/model.tflite"
    stream = host.open(f"shell,v2,raw:{RUNNER} {words}")
    said = b""
    while b"stage: measure" not in said:
        said += stream.read(1)
    return stream


def ended(device):
    end = time.monotonic() + 10
    while (_running(device) or device.processes.all()) and time.monotonic() < end:
        time.sleep(0.05)
    return not (_running(device) or device.processes.all())


def test_it_ends_when_nobody_listens(device, parts, model, tmp_path):
    with Host(device.port, 60) as host:
        started(host, parts, model, tmp_path).close()
        assert ended(device)


@pytest.mark.parametrize(
    "how, status", [(f"exec pkill -f {HERE}", 143), ("pkill -9 quadra_runner", 137), ("kill -INT {}", 130)]
)
def test_it_is_a_process_that_can_be_killed(how, status, device, parts, model, tmp_path):
    with Host(device.port, 60) as host, Host(device.port, 60) as other:
        stream = started(host, parts, model, tmp_path)
        pid = other.shell("pidof quadra_runner")[0].decode().strip()
        assert f"shell {pid} " in " ".join(other.shell("ps -A | grep quadra_runner")[0].decode().split())
        assert other.shell("pkill -f nobody")[2] == 1 and _running(device)
        assert other.shell(how.format(pid)) == (b"", b"", 0)
        assert stream.rest()[-6:] == struct.pack("<BIB", 3, 1, status)
        assert ended(device) and other.shell(f"pkill -f {HERE}")[2] == 1


def _running(device):
    """Whether a process of this machine has the device's runner among its words."""
    for words in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(device.root).encode() in words.read_bytes():
                return True
        except OSError:
            continue
    return False


def test_threads_come_from_the_spec(tmp_path):
    for text, threads in (('{"threads": 2}', 2), ('{"threads": "x"}', 1), ("[]", 1), ("{", 1)):
        (tmp_path / "spec.json").write_text(text)
        assert processes.threads(str(tmp_path)) == threads
    assert test_native_runner.ABI == native.ABI
