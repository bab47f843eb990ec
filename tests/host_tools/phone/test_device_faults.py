"""Faults at every step of adb's protocol, in random order: no corrupt or half-visible file on either side, an end in
time, and an error that says what it was."""

import collections
import contextlib
import hashlib
import os
import random
import signal
import sys
from collections import Counter
from pathlib import Path

import pytest

from host_tools.base.errors import (
    DeviceError,
    DeviceFull,
    DeviceLost,
    DeviceNotFound,
    DeviceRefused,
    DeviceTimedOut,
    DeviceUnusable,
    ReplyNotUnderstood,
    TransferFailed,
)
from host_tools.phone.adb import lock, virtual_server
from host_tools.phone.adb.adb_device import Device
from host_tools.phone.files import pull, transfer
from host_tools.virtual_device import faults
from host_tools.virtual_device.device import VirtualDevice
from tests.host_tools.installed import install
from tests.host_tools.patience import Patience

PACKAGE = "org.example.app"
DEADLINE_S = 3.0
IDLE_S = 0.8
KILL = "server:kill"  # a fault of this machine: the adb server is killed

# What a fault may end in, besides a good end: another try may have made up for it.
_GONE = {DeviceLost, DeviceUnusable, DeviceNotFound, DeviceTimedOut}
_DAMAGED = {TransferFailed, ReplyNotUnderstood}
ALLOWED = {
    "stall": {DeviceTimedOut},
    "drop": _GONE,
    "offline": _GONE,
    "reboot": _GONE,
    "unauthorized": {DeviceUnusable, DeviceLost},
    "kill": {DeviceLost},
    "hot": set(),
    "split": {DeviceTimedOut},  # 64 KB that come byte by byte take their time
    "truncate": _DAMAGED,
    "corrupt": _DAMAGED,
    "wrong_size": _DAMAGED,
    "crash": _DAMAGED | {DeviceLost},
    "full": {DeviceFull},
    "refuse": {DeviceRefused},
    "hostile": _DAMAGED | {DeviceRefused, DeviceLost},
}
# A name that is another one is not found; while adb's server connects, it says nothing.
ALSO = {
    "shell.output": {"corrupt": {DeviceRefused}},
    "message": {"corrupt": _GONE, "hostile": _GONE, "unauthorized": _GONE},
    # A stream that is opened as the connection ends is closed, and adb has no other word for one that is refused.
    "connect": {"unauthorized": _GONE, "hostile": _GONE, "stall": {DeviceRefused}},
}
LASTING = ("stall", "offline", "unauthorized", "reboot")  # dear in time, so drawn less often


# What each operation meets on its way, besides what all of them do.
EVERY = ("connect", "auth", "message", "server")
SHELL = ("open.shell", "shell.output", "shell.exit")
SEND, RECEIVE = ("sync.send", "sync.send.data", "sync.send.done"), ("sync.recv", "sync.recv.data")
STEPS = {
    "push": (*EVERY, *SHELL, *SEND, *SEND, "open.sync", "sync.list", "sync.stat"),
    "pull": (*EVERY, *SHELL),
    "receive": (*EVERY, *SHELL, *RECEIVE, *RECEIVE, "open.sync"),
    "stat": (*EVERY, "open.sync", "sync.stat"),
    "list": (*EVERY, "open.sync", "sync.list"),
    "shell": (*EVERY, *SHELL),
    "write": (*EVERY, *SHELL, "files.write"),
}


def kinds(step: str) -> list[str]:
    return ["kill"] if step == "server" else [*faults.ANYWHERE, *faults.STEPS[step][1]]


class Bench:
    """A phone with an app, files to bring there and back, and what must hold after everything."""

    def __init__(self, folder: Path, phone: VirtualDevice, chance: random.Random) -> None:
        self.folder, self.phone, self.chance = folder, phone, chance
        self.pool = []
        for index in range(6):
            path = folder / f"{index}.bin"
            path.write_bytes(chance.randbytes(chance.choice([0, 10, 1000, 66_000, 140_000])))
            self.pool.append(path)
        install(phone, PACKAGE)
        self.app = phone.root / f"data/data/{PACKAGE}/files"
        self.app.mkdir()
        for index in range(3):
            (self.app / f"{index}.npy").write_bytes(chance.randbytes(chance.choice([0, 5, 70_000])))
        self.store = phone.root / transfer.STORE.lstrip("/")
        self.local = folder / "run"
        self.local.mkdir()

    def operate(self, device: Device, name: str) -> None:
        if name == "push":
            transfer.push(device, self.chance.sample(self.pool, 2), timeout_s=DEADLINE_S)
        elif name == "pull":
            pull.pull_app(device, PACKAGE, "files", self.local, timeout_s=DEADLINE_S)
        elif name == "receive":
            device.receive("/data/local/tmp/big", self.local / "big", 1 << 20, timeout_s=DEADLINE_S)
        elif name == "write":
            line = "echo whole > /data/local/tmp/written"
            device.shell(["sh", "-c", line], timeout_s=DEADLINE_S, repeatable=True)
        elif name == "stat":
            device.stat("/data/local/tmp/big", timeout_s=DEADLINE_S)
        elif name == "list":
            device.list("/data/local/tmp", timeout_s=DEADLINE_S)
        else:
            device.shell(["echo", "x"], timeout_s=DEADLINE_S, repeatable=True)

    def check(self) -> None:
        """Under its own name every file is whole; nothing lies where nothing belongs."""
        for path in self.store.iterdir() if self.store.exists() else ():
            whole = hashlib.sha256(path.read_bytes()).hexdigest() == path.name.split(".")[0]
            assert whole or path.name.startswith(transfer.PART), path.name
        for path in self.local.iterdir():
            there = self.app / path.name if path.suffix else self.phone.root / "data/local/tmp/big"
            assert path.read_bytes() == there.read_bytes(), path.name
        assert not list(self.folder.rglob("*escaped*")) and not Path("/tmp/escaped").exists()
        assert lock.holder(self.phone.serial) == ""

    def tidy(self) -> None:
        """Makes the next operation work anew."""
        shaken = any(fault.step in ("message", "connect") for fault in self.phone.faults.all())
        self.phone.faults.clear()
        if shaken:
            Device(self.phone.serial, virtual=True).connect()  # adb's server keeps what a damaged handshake told it
        for path in [*self.local.iterdir(), *(self.store.iterdir() if self.store.exists() else ())]:
            if self.chance.random() < 0.7:
                path.unlink()


def inject(bench: Bench, step: str, kind: str) -> str:
    """Plants the fault, with random numbers; what it was."""
    chance = bench.chance
    if kind == "kill":
        pid = virtual_server._recorded(virtual_server._file(virtual_server.port(), "json"))
        if pid:
            os.kill(pid, signal.SIGKILL)
        return KILL
    value = ""
    if kind == "stall":
        value = chance.choice(["", "=0.2", "=1.2"])
    elif kind in ("offline", "reboot"):
        value = f"={chance.choice([0.1, 0.3, 0.6])}"
    elif kind == "hostile":
        value = f"={chance.randrange(16)}"
    times = "x*" if chance.random() < 0.08 and kind not in ("offline", "unauthorized") else ""
    text = f"{step}:{kind}{value}@{chance.choice([1, 1, 1, 2, 3])}{times}"
    bench.phone.faults.add(text)
    if step in ("connect", "auth"):
        bench.phone.drop_all()  # or nobody would connect again
    return text


def one(bench: Bench) -> tuple[str, str, str, float]:
    """One operation with one fault; what it was and how it ended."""
    chance = bench.chance
    name = chance.choice(["push", "push", *STEPS])
    step = chance.choice(STEPS[name])
    kind = chance.choice(kinds(step))
    if kind in LASTING and chance.random() < 0.5:
        kind = chance.choice(kinds(step))
    device = Device(bench.phone.serial, virtual=True)
    device.idle_s = IDLE_S
    text = inject(bench, step, kind)
    end = "good"
    try:
        with Patience() as clock:
            bench.operate(device, name)
    except DeviceError as error:
        end = type(error).__name__
        allowed = ALLOWED[kind] | ALSO.get(step, {}).get(kind, set())
        assert type(error) in allowed, f"{name} with {text}: {end}: {error}"
        assert error.serial == bench.phone.serial and error.step, f"{name} with {text}: {end}: {error}"
    assert clock.took_s < DEADLINE_S + 2, f"{name} with {text} took {clock.took_s:.1f} s"
    bench.check()
    return kind, name, end, clock.took_s


def storm(folder: Path, count: int, seed: int) -> tuple[dict[str, Counter[str]], float, int]:
    """So many operations, each with a fault; how they ended by kind of fault, and the longest one."""
    ends: dict[str, Counter[str]] = collections.defaultdict(collections.Counter)
    longest, met = 0.0, 0
    with VirtualDevice(folder / "root") as phone:
        bench = Bench(folder, phone, random.Random(seed))
        (phone.root / "data/local/tmp/big").write_bytes(bench.chance.randbytes(150_000))
        for index in range(count):
            try:
                kind, _, end, took = one(bench)
            except AssertionError as error:
                raise AssertionError(f"seed {seed}, operation {index}: {error}") from error
            met += any(fault.done for fault in phone.faults.all()) or kind == "kill"
            bench.tidy()
            ends[kind][end] += 1
            longest = max(longest, took)
        clean = Device(phone.serial, virtual=True)
        transfer.push(clean, bench.pool)
        assert not list(bench.store.glob(f"{transfer.PART}*")), "a half file stays after the next push"
    return ends, longest, met


def show(ends: dict[str, Counter[str]], longest: float, met: int) -> None:
    for kind, counts in sorted(ends.items()):
        print(f"{kind:14}", ", ".join(f"{count} {end}" for end, count in counts.most_common()))
    print(f"faults met: {met}; longest operation: {longest:.2f} s of {DEADLINE_S:g} + 2 s")


def test_every_kind_of_fault_has_its_errors():
    steps = {step for all_steps in STEPS.values() for step in all_steps}
    assert {kind for step in steps for kind in kinds(step)} <= set(ALLOWED)
    transport = {step for step in faults.STEPS if step.split(".")[0] in ("connect", "auth", "message", "shell", "sync")}
    assert transport <= steps


@pytest.mark.parametrize(("name", "step"), [(n, s) for n in ("push", "pull", "receive", "list") for s in sorted({*STEPS[n]})
                                             if s != "server"])  # fmt: skip
def test_a_stall_for_ever_at_any_step_costs_the_deadline_and_2_s(adb, tmp_path, monkeypatch, name, step):
    monkeypatch.setattr(sys.modules[__name__], "DEADLINE_S", 0.25)
    with VirtualDevice(tmp_path / "root") as phone:
        bench = Bench(tmp_path, phone, random.Random(1))
        (phone.root / "data/local/tmp/big").write_bytes(bytes(1000))
        phone.faults.add(f"{step}:stallx*")
        with contextlib.suppress(DeviceTimedOut, DeviceUnusable), Patience() as clock:
            bench.operate(Device(phone.serial, virtual=True), name)
        assert clock.took_s < 0.25 + 2
        bench.check()


def test_a_sample_of_faults_in_random_order(adb, tmp_path):
    show(*storm(tmp_path, 120, seed=1))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
def test_10000_faults_in_random_order(adb, tmp_path, seed):
    show(*storm(tmp_path, 1000, seed))
