"""Fixtures that the toolkit's tests share."""

import socket

import pytest

from host_tools.device import server


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
