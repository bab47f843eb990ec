"""`inv device list` and `inv push` from the command line, with virtual devices as the phones."""

import json

import pytest

from host_tools.base.errors import DeviceRefused
from host_tools.phone.adb import choice, lock
from host_tools.phone.adb.link import READY
from host_tools.phone.state import glance
from host_tools.places import where
from host_tools.tasks import command_line
from host_tools.virtual_device import registry
from host_tools.virtual_device.device import VirtualDevice
from tests.host_tools.phone.fake_device import FakeDevice


@pytest.fixture
def phones(tmp_path, monkeypatch, adb):
    """Two devices that the registry knows; they run in this process."""
    with VirtualDevice(tmp_path / "one") as one, VirtualDevice(tmp_path / "two") as two:
        monkeypatch.setattr(registry, "running", lambda: {"one": one.serial, "two": two.serial})
        yield one, two


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "some model;.tflite"
    path.write_bytes(b"xxxxTFL3" * 125)
    return str(path)


def inv(capsys, *words):
    status = command_line.main(list(words))
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_devices_are_listed_with_their_names_and_states(capsys, phones):
    phones[1].faults.add("auth:unauthorized")
    status, out, _ = inv(capsys, "device", "list")
    assert status == 0 and "virtual: one" in out and "ready" in out and "allow USB debugging" in " ".join(out.split())


def test_devices_that_are_free_say_how_they_are(capsys, phones):
    """Not those that somebody works with, whose measurements a question would disturb."""
    phones[0].faults.add("open.shell:hot")
    with lock.lease(phones[1].serial, "measure"):
        _, out, _ = inv(capsys, "device", "list", "--json")
    one, two = json.loads(out)
    assert (one["android"], one["thermal_status"], one["battery_percent"]) == ("14", "severe", 87)
    assert one["celsius"] > 45 and one["busy"] == "" and two["busy"]
    assert (two["android"], two["celsius"], two["battery_percent"]) == ("", None, None)
    _, out, _ = inv(capsys, "device", "list")
    assert "thermal status severe, 48 °C, battery 87 %" in " ".join(out.split())


def test_a_gpu_is_named_as_its_driver_says(tmp_path):
    drawn = "Build configuration: [sf]\n GLES: Qualcomm, Adreno (TM) 740, OpenGL ES 3.2 V@0676.53\n Uptime: 5\n"
    device = FakeDevice({"dumpsys SurfaceFlinger": drawn, "dumpsys battery": "  level: 9\n  temperature: 310\n"})
    found = glance.of(device)
    assert found.gpu == "Qualcomm, Adreno (TM) 740, OpenGL ES 3.2 V@0676.53" and found.chip == "Tensor G3"
    assert (found.celsius, found.battery_percent, found.condition()) == (31.0, 9, "31 °C, battery 9 %")
    broken = FakeDevice({"dumpsys": DeviceRefused("a", "b", serial="fake:2", step="c")}, serial="fake:2")
    assert glance.of_all([device, broken]) == {device.serial: found}


def test_a_virtual_device_is_found_by_its_name(phones):
    assert [device.serial for device in choice.choose("two")] == [phones[1].serial]
    assert [one.name for one in where.parse("two,one")] == ["virtual two", "virtual one"]


def test_json_is_all_that_is_printed(capsys, phones):
    status, out, err = inv(capsys, "device", "list", "--json")
    assert status == 0 and err == ""
    assert {(one["serial"], one["state"], one["name"]) for one in json.loads(out)} == {
        (phones[0].serial, READY, "one"),
        (phones[1].serial, READY, "two"),
    }


def test_without_a_device_it_says_what_to_do(capsys, phones, monkeypatch):
    monkeypatch.setattr(registry, "running", dict)
    status, out, _ = inv(capsys, "device", "list")
    assert status == 0 and "USB debugging" in out and "inv device start" in out
    status, _, err = inv(capsys, "push", "x.tflite", "--on=R58M0000")
    assert status == 2 and "x.tflite" in err


def test_a_device_that_is_misspelt_is_told_with_the_right_one(capsys, phones):
    serial = phones[0].serial
    status, _, err = inv(capsys, "uninstall", f"--on={serial}0")
    assert status == 81 and f"did you mean {serial}" in err
    assert "did you mean virtual?" in inv(capsys, "uninstall", "--on", "virtaul")[2]


def test_a_model_is_pushed_to_all_devices_once(capsys, phones, model):
    status, out, _ = inv(capsys, "push", model, "--on=all")
    assert status == 0 and out.count("1000 bytes sent, 0 bytes were there") == 2 and out.count("/store/") == 2
    status, out, _ = inv(capsys, "push", model, f"--on={phones[0].serial}")
    assert status == 0 and out.count("/store/") == 1
    status, out, _ = inv(capsys, "push", "--clean", "--on=any")
    assert status == 0
    assert len(list((phones[1].root / "data/local/tmp/quadra/store").iterdir())) == 1


def test_an_absent_serial_ends_with_its_status(capsys, phones, model):
    status, _, err = inv(capsys, "push", model, "--on=R58M0000")
    assert status == 81 and "R58M0000" in err and phones[0].serial in err
