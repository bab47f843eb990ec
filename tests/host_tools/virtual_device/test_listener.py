"""A device answers only its own user's processes."""

import os
import socket
import subprocess
import sys

import pytest

from host_tools.virtual_device import listener
from host_tools.virtual_device.device import VirtualDevice
from tests.host_tools.wire_client import Host

NOBODY = 65534


def test_the_user_of_a_connection_is_found(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
        taken, _ = server.accept()
        with taken:
            assert listener.user_of(taken) == os.geteuid() and listener.allowed(taken)
            monkeypatch.setattr(listener, "_TABLE", "/proc/none")
            assert listener.user_of(taken) is None and not listener.allowed(taken)


def test_another_user_is_not_answered(tmp_path, monkeypatch):
    with VirtualDevice(tmp_path / "root") as device:
        monkeypatch.setattr(listener, "user_of", lambda peer: os.geteuid() + 1)
        with pytest.raises((EOFError, OSError)):
            Host(device.port)
        monkeypatch.undo()
        with Host(device.port) as host:
            assert host.shell("echo mine")[0] == b"mine\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_is_not_answered_for_real(tmp_path):
    program = (
        "import socket; s = socket.create_connection(('127.0.0.1', {}), 5); s.sendall(bytes(24)); print(s.recv(1))"
    )
    with VirtualDevice(tmp_path / "root") as device:
        argv = [sys.executable, "-I", "-S", "-c", program.format(device.port)]
        done = subprocess.run(argv, user=NOBODY, capture_output=True, text=True, timeout=30, cwd="/")
        assert done.stdout == "b''\n" or "reset" in done.stderr, done
        assert [note.text for note in device.log if note.what == "refused"] == ["a connection of another user"]
