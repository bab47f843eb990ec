"""Whatever path a client names, the device stays inside its folder; and a file arrives whole or not at all."""

import os
import random
import stat
import struct

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from host_tools.virtual_device import wire
from host_tools.virtual_device.device import VirtualDevice
from host_tools.virtual_device.files import Files
from tests.host_tools.wire_client import Closed, Host

TMP = "/data/local/tmp"


@pytest.fixture(scope="module")
def device(tmp_path_factory):
    outer = tmp_path_factory.mktemp("outer")
    (outer / "secret").write_text("secret")
    with VirtualDevice(outer / "device") as one:
        one.outer = outer
        yield one
        assert not [note for note in one.log if note.what == "bug"]


NAMES = st.one_of(
    st.sampled_from(["..", ".", "", "data", "local", "tmp", "a", "up", "away", "loop"]),
    st.sampled_from(["secret", "device", "sdcard", "\0", "x" * 256]),
    st.text(max_size=8),
    st.binary(max_size=4).map(os.fsdecode),
)
PATHS = st.lists(NAMES, max_size=12).map(lambda parts: "/".join(["", "data", "local", "tmp", *parts]))


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(PATHS, st.sampled_from(["open", "write", "remove", "folder", "stat", "names", "rename", "mode"]))
def test_no_path_leaves_the_folder(device, path, action):
    files = Files(device)
    _links(device)
    try:
        real = files.real(path)
        assert os.path.realpath(real) == real and (real + "/").startswith(f"{device.root}/")
        {
            "open": lambda: files.open(path).close(),
            "write": lambda: files.open(path, "wb").close(),
            "remove": lambda: files.remove(path),
            "folder": lambda: files.make_folders(path),
            "stat": lambda: files.stat(path),
            "names": lambda: files.names(path),
            "rename": lambda: files.rename(f"{TMP}/up", path),
            "mode": lambda: files.change_mode(path, 0o777),
        }[action]()
    except OSError as error:
        assert error.errno and error.strerror
    assert sorted(os.listdir(device.outer)) == ["device", "secret"]
    assert (device.outer / "secret").read_text() == "secret"


def _links(device):
    """Links that would lead out, were they the host's."""
    folder = device.root / TMP[1:]
    for name, target in (("up", "../" * 30), ("away", str(device.outer)), ("loop", "loop")):
        if not os.path.lexists(folder / name):
            os.symlink(target, folder / name)


def test_the_same_over_the_wire(device):
    _links(device)
    with Host(device.port) as host:
        for path in (f"{TMP}/{'../' * 20}secret", f"{TMP}/away/secret", f"{TMP}/up/secret", f"{TMP}/up/../../secret"):
            assert b"failed" in host.push(path, b"x") or b"couldn't" in host.push(path, b"x")
            with pytest.raises(Closed, match="open failed"):
                host.pull(path)
        assert (
            host.push(f"{TMP}/link", b"/etc", stat.S_IFLNK | 0o777) == b"couldn't create file: Operation not permitted"
        )
    assert sorted(os.listdir(device.outer)) == ["device", "secret"]


def test_modes_times_and_sizes_are_as_adbd_makes_them(device):
    data = random.Random(4).randbytes(70_001)
    with Host(device.port) as host:
        assert host.push(f"{TMP}/new/sub/f", data, 0o100640) == b"OKAY"
        assert host.pull(f"{TMP}/new/sub/f") == data
        path = f"{TMP}/new/sub/f".encode()
        for word, size in ((b"STAT", 16), (b"STA2", 72), (b"LST2", 72)):
            stream = host.open("sync:")
            stream.write(word + struct.pack("<I", len(path)) + path)
            reply = stream.read(size)
            assert reply[:4] == word
            if size == 16:
                assert struct.unpack("<III", reply[4:]) == (0o100666, 70_001, 1700000000)
            else:
                numbers = struct.unpack("<IQQIIIIQqqq", reply[4:])
                assert numbers[0] == 0 and numbers[3] == 0o100666 and numbers[5:8] == (2000, 2000, 70_001)
        stream = host.open("sync:")
        stream.write(b"STA2" + struct.pack("<I", 5) + b"/none")
        assert struct.unpack("<I", stream.read(72)[4:8]) == (2,)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=60),
            st.sampled_from([b"SEND", b"SND2", b"DATA", b"DONE", b"RECV", b"STAT", b"LST2", b"LIST", b"QUIT"]),
            st.integers(0, 2**32 - 1).map(lambda n: struct.pack("<I", n)),
            st.integers(0, 40).map(lambda n: struct.pack("<I", n)),
            st.just(b"/data/local/tmp/x,33188"),
        ),
        max_size=10,
    ).map(b"".join)
)
def test_what_is_no_request_is_refused(device, data):
    with Host(device.port) as host:
        stream = host.open("sync:")
        if data:
            stream.write(data)
        stream.close()
        assert host.shell("echo fine")[0] == b"fine\n"


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(
        st.one_of(
            st.builds(
                wire.Message,
                st.sampled_from([wire.CNXN, wire.AUTH, wire.OPEN, wire.OKAY, wire.CLSE, wire.WRTE, 0, 0x4C495645]),
                st.sampled_from([0, 1, 2, 0xFFFFFFFF]),
                st.sampled_from([0, 1, 2, 0xFFFFFFFF]),
                st.sampled_from([b"", b"shell:echo\0", b"sync:\0", b"nothing:\0", b"\xff" * 30, b"shell:\0"]),
            ).map(lambda message: message.encoded()),
            st.binary(max_size=48),
        ),
        max_size=6,
    ).map(b"".join),
    st.booleans(),
)
def test_a_host_that_misbehaves_harms_only_itself(device, data, greet):
    with Host(device.port, greet=greet) as host:
        try:
            host.socket.sendall(data)
        except OSError:
            pass
    with Host(device.port) as host:
        assert host.shell("echo fine")[0] == b"fine\n"
