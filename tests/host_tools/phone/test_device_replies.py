"""Devices that lie. Whatever one answers: an error with a sentence in time, nothing written outside, nothing executed."""

import hashlib
import io
import shlex
import struct
import subprocess
import tarfile
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from host_tools.base.errors import DeviceTimedOut, QuadraError, ReplyNotUnderstood, TransferFailed
from host_tools.phone.adb.adb_device import Device
from host_tools.phone.files import pull
from host_tools.phone.files.unpack import Limits
from tests.host_tools.patience import Patience
from tests.host_tools.phone.fake_adb import FakeAdb, packet, printed

DEADLINE_S = 0.15
WORDS = [b"STAT", b"LST2", b"DENT", b"DNT2", b"DONE", b"DATA", b"FAIL", b"OKAY", b"\0\0\0\0"]
OPERATIONS = {
    "shell": lambda device, folder: device.shell(["id"], timeout_s=DEADLINE_S, repeatable=True),
    "stream": lambda device, folder: device.stream(["id"], timeout_s=DEADLINE_S, to=io.BytesIO(), limit_bytes=999),
    "properties": lambda device, folder: device.properties(),
    "stat": lambda device, folder: device.stat("/data", timeout_s=DEADLINE_S),
    "list": lambda device, folder: device.list("/data", timeout_s=DEADLINE_S),
    "receive": lambda device, folder: device.receive("/data/x", folder / "got", 9999, timeout_s=DEADLINE_S),
    "send": lambda device, folder: device.send(Path(__file__), "/data/x", timeout_s=DEADLINE_S),
}
FEATURES = ["shell_v2,stat_v2,ls_v2", "shell_v2", ""]
FRAMES = st.lists(
    st.one_of(
        st.binary(max_size=90),
        st.builds(packet, st.integers(0, 5), st.binary(max_size=40)),
        st.builds(lambda kind, n: struct.pack("<BI", kind, n), st.integers(0, 5), st.integers(0, 2**32 - 1)),
        st.builds(lambda w, d: w + struct.pack("<I", len(d)) + d, st.sampled_from(WORDS), st.binary(max_size=80)),
        st.builds(lambda w, n: w + struct.pack("<I", n), st.sampled_from(WORDS), st.integers(0, 2**32 - 1)),
        st.builds(lambda w, name: w + bytes(72 if w == b"DNT2" else 12) + struct.pack("<I", len(name)) + name,
                  st.sampled_from([b"DENT", b"DNT2"]), st.sampled_from([b"../x", b"a/b", b"\xff", b"x" * 300, b"ok"])),
    ),
    max_size=6,
)  # fmt: skip
HOSTILE_NAMES = st.sampled_from(
    ["../out", "/etc/x", "a/../../out", "..", ".", "-rf", "$(touch out)", "`touch out`", "a;touch out", "a\nb", "a b",
     "'q'", '"q"', "a|b", "\x1b[2J", "x" * 240, "d/" * 30 + "f", "\udcff", "ok", "outputs/000.npy", "a\\..\\b", "a\0b"]
) | st.text(min_size=1, max_size=20)  # fmt: skip


@pytest.fixture
def server(tmp_path, monkeypatch):
    made = FakeAdb()
    monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", str(made.port))
    monkeypatch.setenv("QUADRA_DEVICES_DIR", str(tmp_path / "devices"))

    def started(*words, **_):
        raise AssertionError(f"a process was started: {words}")

    monkeypatch.setattr(subprocess, "Popen", started)
    yield made
    made.close()


def attack_with_bytes(server: FakeAdb, outer: Path, count: int) -> None:
    folder = outer / "run"
    folder.mkdir()

    @settings(max_examples=count, suppress_health_check=list(HealthCheck))
    @given(st.sampled_from(sorted(OPERATIONS)), FRAMES, st.sampled_from(FEATURES), st.integers(0, 19))
    def attack(name, frames, features, hold):
        server.answer, server.features, server.hold = lambda service: b"".join(frames), features, hold == 0
        device = Device("127.0.0.1:1")
        device.properties = lambda: Device.shell(device, ["getprop"], timeout_s=DEADLINE_S)
        try:
            with Patience() as clock:
                OPERATIONS[name](device, folder)
        except QuadraError as error:
            assert str(error).isprintable() or "\n  next:" in str(error)
        assert clock.took_s < DEADLINE_S + 2
        assert {p.name for p in outer.rglob("*") if "devices" not in p.parts} <= {"run", "got"}

    attack()


def attack_with_names(server: FakeAdb, outer: Path, count: int) -> None:
    folder = outer / "run"
    folder.mkdir()
    contents: dict[str, bytes] = {}
    tampered: list[str] = []

    def told(name: str) -> bool:  # the list that came, as text: a name with a line's end in it is two names there
        return name in "\n".join(contents).encode("utf-8", "surrogateescape").decode("utf-8", "replace")

    def answer(service: str) -> bytes:
        argv = shlex.split(service.split(":", 1)[1])
        assert argv[:2] == ["run-as", "org.x"] and argv[2] in ("find", "sha256sum", "tar")
        if argv[2] == "find":
            assert argv[3:] == ["files", "-type", "f"]
            return printed("".join(f"files/{name}\n" for name in contents).encode("utf-8", "surrogateescape"))
        if argv[2] == "sha256sum":  # the words come as they are: none was taken for several, or for a command
            asked = [word.removeprefix("files/") for word in argv[3:]]
            assert all(map(told, asked))
            digests = {name: hashlib.sha256(contents.get(name, b"")).hexdigest() for name in asked}
            lines = [f"{digests[name]}  files/{name}\n" for name in asked]
            return printed("".join(lines).encode("utf-8", "surrogateescape"))
        assert argv[3:7] == ["-C", "files", "-cf", "-"] and all(map(told, argv[7:]))
        return printed(_tar(contents, tampered))

    server.answer = answer

    @settings(max_examples=count, suppress_health_check=list(HealthCheck))
    @given(st.dictionaries(HOSTILE_NAMES, st.binary(max_size=30), max_size=4), st.lists(HOSTILE_NAMES, max_size=2))
    def attack(there, more):
        contents.clear()
        contents.update(there)
        tampered[:] = more
        server.wrong.clear()
        device = Device("127.0.0.1:1")
        try:
            done = pull.pull_app(device, "org.x", "files", folder, Limits(), timeout_s=1.0)
            assert {p.relative_to(folder).as_posix() for p in done.files} == set(there)
        except QuadraError:
            pass
        assert not server.wrong
        for path in outer.rglob("*"):
            if path.is_file():
                relative = path.relative_to(folder).as_posix()  # ValueError: it lies outside
                data = path.read_bytes()
                path.unlink()
                assert contents[relative] == data
        for path in sorted((p for p in folder.rglob("*") if p.is_dir()), reverse=True):
            path.rmdir()

    attack()


def _tar(contents: dict[str, bytes], tampered: list[str]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name in [*tampered, *contents]:
            info = tarfile.TarInfo(name)
            info.size = len(contents.get(name, b""))
            archive.addfile(info, io.BytesIO(contents.get(name, b"")))
    return stream.getvalue()


def test_hostile_replies_end_in_an_error_and_touch_nothing(server, tmp_path):
    attack_with_bytes(server, tmp_path, 150)


def test_hostile_names_stay_inside_or_are_refused(server, tmp_path):
    attack_with_names(server, tmp_path, 100)


@pytest.mark.slow
def test_10000_hostile_replies(server, tmp_path):
    attack_with_bytes(server, tmp_path, 10_000)


@pytest.mark.slow
def test_10000_hostile_names(server, tmp_path):
    attack_with_names(server, tmp_path, 10_000)


def test_a_device_that_says_nothing_costs_no_more_than_the_deadline(server, tmp_path):
    server.hold = True
    for name, operation in OPERATIONS.items():
        device = Device("127.0.0.1:1")
        if name != "properties":
            started = time.monotonic()
            with pytest.raises(DeviceTimedOut) as told:
                operation(device, tmp_path)
            assert time.monotonic() - started < DEADLINE_S + 1
            assert told.value.serial == "127.0.0.1:1" and told.value.step


def test_a_device_that_drips_costs_no_more_than_the_deadline(server, tmp_path, monkeypatch):
    server.answer = lambda service: packet(1, b"x") * 3 + struct.pack("<BI", 1, 1 << 20)
    server.hold = True
    device, started = Device("127.0.0.1:1"), time.monotonic()
    with pytest.raises(DeviceTimedOut):
        device.shell(["x"], timeout_s=0.4)
    assert time.monotonic() - started < 1.4


def test_more_output_than_is_wanted_is_refused(server):
    server.answer = lambda service: packet(1, bytes(4096)) * 5 + packet(3, b"\0")
    with pytest.raises(ReplyNotUnderstood, match="more than 9999 bytes"):
        Device("127.0.0.1:1").shell(["x"], timeout_s=5, limit_bytes=9999)
    with pytest.raises(ReplyNotUnderstood, match="more than 9999 bytes"):
        Device("127.0.0.1:1").stream(["x"], timeout_s=5, to=io.BytesIO(), limit_bytes=9999)


def test_an_answer_without_a_status_is_not_an_answer(server):
    server.answer = lambda service: packet(1, b"all is well\n")
    with pytest.raises(ReplyNotUnderstood, match="ended early"):
        Device("127.0.0.1:1").shell(["x"], timeout_s=5)


def test_a_transfer_that_ends_early_is_tried_again_each_time_with_an_event(server, tmp_path):
    server.answer = lambda service: b"DATA" + struct.pack("<I", 100) + b"x" * 40
    device = Device("127.0.0.1:1")
    with pytest.raises(TransferFailed):
        device.receive("/data/x", tmp_path / "got", 1000, timeout_s=5)
    assert [event.error for event in device.events] == ["TransferFailed"] * 2
    assert not list(tmp_path.glob("*got*")) and not list(tmp_path.glob(".part*"))


def test_lines_come_as_they_are_printed_and_outputs_are_apart(server):
    lines: list[str] = []
    pieces = [(1, b"on"), (2, b"err\n"), (1, b"e\ntw\xc3"), (1, b"\xb6"), (3, b"\7")]
    server.answer = lambda service: b"".join(packet(*piece) for piece in pieces)
    reply = Device("127.0.0.1:1").shell(["x"], timeout_s=5, check=False, on_line=lines.append)
    assert (reply.stdout, reply.stderr, reply.status) == ("one\ntwö", "err\n", 7)
    assert lines == ["err", "one", "twö"]


def test_words_reach_the_device_as_they_are(server):
    server.answer = lambda service: printed(b"")
    words = ["printf", "a b", "$(id)", "`id`", "';id;'", '"', "", "-rf", "ä"]
    Device("127.0.0.1:1").shell(words, timeout_s=5)
    assert shlex.split(server.asked[0].split(":", 1)[1]) == words
