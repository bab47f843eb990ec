"""What a host of a lab offers, and keeps."""

import os

import pytest
from msgspec import structs

from host_tools.base.errors import Misuse, RunFailed
from host_tools.phone.adb import choice
from host_tools.phone.app import install_app
from host_tools.places.lab import contents
from host_tools.places.lab.host import Host, Offered, Order, Reply, source_digest
from host_tools.places.lab.on_lab import LabDevice
from host_tools.places.lab.packing import Packed
from host_tools.record import spec as specs
from host_tools.virtual_device import registry
from tests.host_tools.places.lab.lab_in_process import FakeHost


def test_it_asks_each_device_on_its_own_server_and_leaves_out_what_others_use(tmp_path, monkeypatch):
    listed = [
        choice.Found("127.0.0.1:5555", choice.READY, virtual=True, name="a"),
        choice.Found("PHONE", choice.READY),
        choice.Found("TAKEN", choice.READY, busy="someone's run"),
        choice.Found("LOCKED", "unauthorized"),
    ]
    asked = []
    monkeypatch.setattr(choice, "found", lambda: listed)
    monkeypatch.setattr(install_app, "abi_of", lambda device: asked.append((device.serial, device.virtual)) or "x86_64")
    host = Host("rack", tmp_path)
    assert [one.name for one in host.look()] == ["virtual a", "PHONE"]
    assert host.left_out == ["rack/TAKEN: someone's run", "rack/LOCKED: unauthorized"]
    assert [registry.shown(name) for name in ("a", "virtual")] == ["virtual a", "virtual"]
    assert [registry.is_shown(name) for name in ("virtual a", "virtual", "PHONE")] == [True, True, False]
    assert asked == [("127.0.0.1:5555", True), ("PHONE", False)]
    assert host.look() == host.offered() and len(asked) == 2  # an ABI stays


def test_runs_that_nobody_fetches_go_the_oldest_first(tmp_path, monkeypatch):
    """By this host's clock: names have the time of the caller's."""
    monkeypatch.setattr("host_tools.places.lab.host._KEPT_RUNS", 1)
    host = Host("rack", tmp_path)
    old, new = (
        host.runs / f"{name}-{'0' * 32}"
        for name in ("20991231-000000-000-of_another_clock", "20200101-000000-000-here")
    )
    for folder in (old, new):
        folder.mkdir()

    os.utime(old, (1, 1))
    host._tidy()
    assert not old.exists() and new.exists()


def test_a_run_is_that_of_an_earlier_order_only_where_all_is_equal(tmp_path):
    """A run id alone may come again with another delegate, device or spec."""
    host = FakeHost("rack", tmp_path / "rack", ["a", "b"], lambda device, spec: None)
    host.look()
    files = {}
    for kind in ("model.tflite", "old.so", "new.so"):
        (tmp_path / kind).write_bytes(kind.encode())
        files[kind] = contents.name_of(tmp_path / kind)
        host.contents.put(files[kind], "0" * 32, 0, kind.encode(), True)
    spec = specs.RunSpec("20260101-000000-000-m", specs.ModelRef("m", "m.tflite", "0" * 64))
    first = Order("a", spec, {"model": files["model.tflite"], "library": files["old.so"]}, source_digest())
    changed = [
        structs.replace(first, files={**first.files, "library": files["new.so"]}),
        structs.replace(first, device="b"),
        structs.replace(first, spec=structs.replace(spec, threads=2)),
    ]
    replies = [host.run(one) for one in (first, *changed)]
    assert [(one.state, one.was_there) for one in replies] == [("complete", False)] * 4, replies
    assert all(host.run(one).was_there for one in (first, *changed)) and len(host.ran) == 4


def test_a_full_disk_of_a_host_is_no_failure_of_the_callers():
    device = LabDevice(None, Offered("rack", "a", "serial", "x86_64"))
    error = device._raised(Reply(Packed(), "FolderNotWritable", 74, ("write x", "No space left", "make room")))
    assert type(error) is RunFailed and "rack/a" in error.tried and error.came_back == "write x: No space left"


def test_a_file_that_no_host_takes_is_not_sent(tmp_path):
    with open(tmp_path / "large.tflite", "wb") as file:
        file.truncate(contents.MOST_BYTES + 1)  # no bytes on the disk
    with pytest.raises(Misuse, match="at most 2048 MiB"):
        contents.name_of(tmp_path / "large.tflite")
