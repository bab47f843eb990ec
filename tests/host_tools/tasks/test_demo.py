"""What the demonstration ends with, and CI shows: a phone's whole loop on the virtual device, with the real APK and adb."""

import json
import os
from pathlib import Path

import pytest

from host_tools.base import settings
from host_tools.places import on_jvm
from host_tools.record import named_plans, schema
from host_tools.request import models
from host_tools.run import node_support
from host_tools.tasks import demo, plans
from host_tools.virtual_device import registry
from tests import android_parts
from tests.host_tools.record import schema_check


@pytest.fixture
def android():
    """Quadra's library for Android x86_64: QUADRA_ANDROID_LIBRARY, or built."""
    android_parts.need_classes()
    given = os.environ.get("QUADRA_ANDROID_LIBRARY")
    return on_jvm.Jvm(Path(given) if given else None).delegate()


def test_the_demonstration_has_models_that_everyone_can_fetch():
    assert set(demo.ON_DEVICE) <= set(models.catalogue())


def test_a_phones_whole_loop(android, library, tmp_path, adb, capsys):
    folders = [one.folder for one in demo.loop(library=android)]
    ran = [(folder.spec().model.name, folder.json("verdicts.json")["backend"]) for folder in folders]
    assert ran == [(name, backend) for name in demo.ON_DEVICE for backend in demo.BACKENDS]
    for folder in folders:
        assert folder.is_complete() and folder.json("compare.json")["ok"] and folder.has("report.html")
        assert all(node["on"] == "gpu" for node in folder.json("verdicts.json")["nodes"])
        environment = folder.json("environment.json")
        assert environment["device"]["virtual"] and environment["thermal"]["readings"] and environment["route"] == "app"
        assert folder.json("timings.json")["samples_us"]["xnnpack"] and folder.partitions()
        assert schema_check.wrong(folder.path) == []
        assert "measure" in (folder.path / "log.txt").read_text()
    assert capsys.readouterr().out.count("right") == len(folders)
    assert registry.running() == {} and not list(settings.read().runs_dir.glob(".partial-*"))
    # What the device said of itself makes the same plan here.
    target = folders[0].path / "target.json"
    report, found = node_support.ask(node_support.make_spec(folders[0].spec().model.path, str(target)), library)
    assert found.target == folders[0].read(schema.Verdicts).target == json.loads(target.read_text())["name"]
    ours, theirs = (value.partitions[0].dispatches for value in (report, folders[0].read(schema.Verdicts)))
    assert [row.name for row in ours] == [row.name for row in theirs]
    for folder in folders:
        backend = folder.read(schema.Verdicts).backend
        options = plans.Options(
            target=str(folder.path / "target.json"), backend=backend, out=str(tmp_path / "made.quadra")
        )
        (made,) = plans.make(folder.spec().model.path, options, library)
        (there,), (here,) = (named_plans.find(str(path)) for path in (folder.path, made))
        assert without_drivers_words(here.value) == without_drivers_words(there.value), folder.path.name


def without_drivers_words(plan):
    """A plan without what the driver said of itself and compiled; constants by their bytes."""
    programs = [{k: v for k, v in program.items() if not k.startswith("binary")} for program in plan["programs"]]
    buffers = [{**buffer, "data": buffer["data"].tobytes()} for buffer in plan["buffers"]]
    return {**plan, "device": "", "programs": programs, "buffers": buffers}
