"""Fixtures that the toolkit's tests share."""

import contextlib
from pathlib import Path

import pytest

from host_tools.base import child_process, settings
from host_tools.phone.adb import link, server, virtual_server
from host_tools.phone.adb.server_connection import Deadline
from tests.host_tools.free_port import free_port
from tests.host_tools.virtual_device import sent

FAKE_DELEGATE = settings.ROOT / "tests" / "host_tools" / "fake_delegate.c"


@pytest.fixture(scope="session")
def fake(tmp_path_factory):
    """A stand-in for libquadra.so that takes no node, and misbehaves when asked to."""
    library = tmp_path_factory.mktemp("fake") / "libfake.so"
    child_process.run(["cc", "-shared", "-fPIC", "-o", library, FAKE_DELEGATE], timeout_s=60)
    return library


@pytest.fixture
def adb(tmp_path, monkeypatch):
    """The port of virtual devices' adb server, of this test alone, which has ended afterwards; so has the user's, on
    another port. Run folders and what is written down of devices lie in tmp_path. Every command that the toolkit sent
    must be one of sent.py."""
    port, users_port = free_port(), free_port()
    monkeypatch.setenv("QUADRA_ADB_PORT", str(port))
    monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", str(users_port))
    for name in ("ADB_SERVER_SOCKET", "ANDROID_ADB_SERVER_ADDRESS", "ANDROID_SERIAL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("QUADRA_DEVICES_DIR", str(tmp_path / "devices"))
    monkeypatch.setenv("QUADRA_RUNS_DIR", str(tmp_path / "runs"))
    monkeypatch.setenv("ADB_USB", "0")
    asked, service = [], link.Link.service
    monkeypatch.setattr(
        link.Link, "service", lambda self, name, deadline: asked.append(name) or service(self, name, deadline)
    )
    yield port
    virtual_server.leave()
    assert not virtual_server.answers(port), "the last one stops the server"
    end_users_server(users_port)
    lines = [name.partition(":")[2] for name in asked if name.startswith("shell,")]
    strange = {sent.shape(line) for line in lines} - {sent.shape(line) for line, _, _ in sent.SENT} - {*sent.BY_TESTS}
    assert not strange, (
        "what the toolkit sends stands in tests/host_tools/virtual_device/sent.py, with the answer of the virtual device"
    )


def end_users_server(port: int) -> None:
    """Ends the server that stands for the user's, where the test has started it: the toolkit leaves it running."""
    users = server.Server("localhost", port, virtual=False)
    with contextlib.suppress(OSError, EOFError):  # no answer follows
        users.ask("host:kill", Deadline(5))
    (Path.home() / ".android" / f"adb.{port}").unlink(missing_ok=True)  # adb writes its path there and leaves it
