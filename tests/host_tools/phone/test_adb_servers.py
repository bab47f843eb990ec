"""The user's adb server is used as adb uses it, and never stopped; virtual devices have a server of their own."""

import json
import os
import socket

import pytest

from host_tools.base import child_process
from host_tools.base.errors import DeviceError, DeviceNotFound, DeviceUnusable, Misuse
from host_tools.phone.adb import choice, server, server_connection, virtual_server
from host_tools.phone.adb.server_connection import Deadline
from host_tools.tasks import command_line
from host_tools.virtual_device import registry
from host_tools.virtual_device.device import VirtualDevice
from tests.host_tools.phone.fake_adb import FakeAdb


@pytest.fixture
def users(adb):
    """The user's server, started by hand as adb starts it."""
    port = os.environ["ANDROID_ADB_SERVER_PORT"]
    child_process.run([virtual_server.adb(), "-P", port, "start-server"], timeout_s=20)
    return server.of(virtual=False)


@pytest.fixture
def phones(users, tmp_path, monkeypatch):
    """A phone on the user's server (a device that the registry does not know), and a virtual device."""
    with VirtualDevice(tmp_path / "phone") as phone, VirtualDevice(tmp_path / "virtual") as virtual:
        monkeypatch.setattr(registry, "running", lambda: {"virtual": virtual.serial})
        assert "connected" in users.ask(f"host:connect:{phone.serial}", Deadline(5))
        yield phone.serial, virtual.serial


def listed(one: server.Server) -> set[str]:
    return {found.serial for found in choice.parse(one.ask("host:devices-l", Deadline(5)))}


def test_both_servers_devices_are_listed_and_neither_has_the_others(capsys, users, phones):
    assert command_line.main(["device", "list", "--json"]) == 0
    said = capsys.readouterr()
    kinds = [(one["serial"], one["virtual"], one["state"]) for one in json.loads(said.out)]
    assert kinds == [(phones[0], False, "device"), (phones[1], True, "device")] and said.err == ""
    assert listed(users) == {phones[0]} and listed(server.of(virtual=True)) == {phones[1]}
    assert [device.virtual for device in choice.choose("all")] == [False, True]
    assert choice.choose("any")[0].shell(["echo", "x"], timeout_s=10).stdout == "x\n"
    virtual_server.leave()
    assert server.version(users.host, users.port) == server.VERSION, "the user's server is left running"


def test_android_serial_is_the_default_of_any_alone(monkeypatch, phones):
    monkeypatch.setenv("ANDROID_SERIAL", phones[1])
    assert [(one.serial, one.virtual) for one in choice.choose("any")] == [(phones[1], True)]
    assert [one.serial for one in choice.choose("all")] == list(phones)
    assert [one.serial for one in choice.choose(phones[0])] == [phones[0]]
    monkeypatch.setenv("ANDROID_SERIAL", "R58M0000")
    with pytest.raises(
        DeviceNotFound, match=f"(?s)'R58M0000', which ANDROID_SERIAL names.*{phones[0]}.*unset ANDROID_SERIAL"
    ):
        choice.choose("any")
    assert [one.serial for one in choice.choose("virtual")] == [phones[1]]
    monkeypatch.setenv("ANDROID_SERIAL", "; reboot")
    with pytest.raises(Misuse, match="ANDROID_SERIAL"):
        choice.choose("any")


def test_android_serial_of_an_offline_device_is_named(monkeypatch):
    offline = choice.Found("R58M0001", "unauthorized")
    monkeypatch.setattr(choice, "_users", lambda deadline: [offline])
    monkeypatch.setenv("ANDROID_SERIAL", offline.serial)
    with pytest.raises(DeviceUnusable, match="which ANDROID_SERIAL names"):
        choice.choose("any")


def test_a_virtual_device_needs_no_server_of_the_user(monkeypatch, phones):
    monkeypatch.setattr(server, "_users_up", lambda one, deadline: pytest.fail("the user's server is asked"))
    assert choice.choose("virtual")[0].serial == phones[1]
    monkeypatch.setenv("ANDROID_SERIAL", phones[1])
    assert choice.choose("any")[0].shell(["echo", "x"], timeout_s=10).stdout == "x\n"


def test_a_server_is_started_where_there_is_none_and_left_running(adb):
    users = server.of(virtual=False)
    assert users.up(Deadline(20)) is True and users.up(Deadline(20)) is False
    assert server.version(users.host, users.port) == server.VERSION, "adb's version is the one that we speak"


def test_a_server_of_another_version_is_told_once_and_left_alone(capsys, monkeypatch, adb):
    other = FakeAdb(version="0027")
    try:
        monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", str(other.port))
        assert choice.found() == choice.found() == []
        said = capsys.readouterr().err
        assert said.count(f"localhost:{other.port} has version 39, Quadra's adb 41") == 1 and "next:" in said
        assert set(other.host_asked) == {"host:version", "host:devices-l"}, "nothing else was asked of it"
    finally:
        other.close()


def test_a_port_that_another_program_holds_and_a_host_without_a_server_are_told(monkeypatch, adb):
    monkeypatch.setattr(server_connection, "_VERSION_S", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as other:
        monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", str(other.getsockname()[1]))
        with pytest.raises(DeviceError, match="set ANDROID_ADB_SERVER_PORT to another"):
            choice.found()
    monkeypatch.setenv("ANDROID_ADB_SERVER_ADDRESS", "127.0.0.2")
    with pytest.raises(DeviceError, match="unset ANDROID_ADB_SERVER_ADDRESS"):
        choice.found()
