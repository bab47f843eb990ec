"""Fixtures that the toolkit's tests share."""

import socket

import pytest

from host_tools import settings, shell
from host_tools.device import server

FAKE_DELEGATE = settings.ROOT / "tests" / "host_tools" / "fake_delegate.c"


@pytest.fixture(scope="session")
def fake(tmp_path_factory):
    """A stand-in for libquadra.so that takes no node, and misbehaves when asked to."""
    library = tmp_path_factory.mktemp("fake") / "libfake.so"
    shell.run(["cc", "-shared", "-fPIC", "-o", library, FAKE_DELEGATE], timeout_s=60)
    return library


@pytest.fixture
def adb(tmp_path, monkeypatch):
    """The port of an adb server of this test alone, which has ended afterwards. Run folders and what is written down of
    devices lie in tmp_path."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    monkeypatch.setenv("QUADRA_ADB_PORT", str(port))
    monkeypatch.setenv("QUADRA_DEVICES_DIR", str(tmp_path / "devices"))
    monkeypatch.setenv("QUADRA_RUNS_DIR", str(tmp_path / "runs"))
    monkeypatch.setenv("ADB_USB", "0")
    yield port
    server.leave()
    assert not server.answers(port), "the last one stops the server"
