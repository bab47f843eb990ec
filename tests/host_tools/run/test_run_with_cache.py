"""`inv run --cache` in each place: the second start finds what the first one compiled, gives the same bits, and says so."""

import io
import json
import os
from pathlib import Path

import pytest
from rich.console import Console

from host_tools.phone.adb.adb_device import Device
from host_tools.places import on_jvm
from host_tools.places.on_host import Host
from host_tools.places.on_jvm import Jvm
from host_tools.places.on_phone import Phone
from host_tools.record import cache_file
from host_tools.request import from_arguments
from host_tools.run import model_runs
from host_tools.show import report
from host_tools.tasks import plans, pull_runs
from host_tools.virtual_device import registry
from tests import android_parts
from tests.host_tools.record import schema_check
from tests.model_builder import one_convolution

FILES = {"graph.txt", "graph.opt.txt", "plan.quadra", "kernels"}


@pytest.fixture
def model(tmp_path, monkeypatch):
    monkeypatch.setenv("QUADRA_RUNS_DIR", str(tmp_path / "runs"))
    path = tmp_path / "small.tflite"
    path.write_bytes(one_convolution())
    return path


@pytest.fixture
def android():
    """Quadra's library for Android x86_64: QUADRA_ANDROID_LIBRARY, or built."""
    android_parts.need_classes()
    given = os.environ.get("QUADRA_ANDROID_LIBRARY")
    return on_jvm.Jvm(Path(given) if given else None).delegate()


def twice(model, place, cache, on="host"):
    """The folders of two runs there, of which the second one hits."""
    place.prepare(("xnnpack",))
    done = []
    for said in ("miss: none is kept; saved", "hit"):
        spec = from_arguments.make_spec(
            str(model), backend="opencl", repetitions=3, cache=str(cache), **from_arguments.destination(on)
        )
        judged = model_runs.run_and_judge(spec, place)
        assert judged.ok and schema_check.wrong(judged.folder.path) == []
        assert [row["cache"] for row in judged.folder.json("verdicts.json")["partitions"]] == [said]
        page = (judged.folder.path / report.FILE).read_text()
        assert f"Cache of compiled models: {said}." in page
        done.append(judged.folder)
    outputs = [folder.arrays("outputs")[0].tobytes() for folder in done]
    assert outputs[0] == outputs[1]
    made = {path.name for path in (done[1].path / "partition_0").iterdir()}
    assert made >= FILES
    assert (done[1].path / "partition_0" / "graph.opt.txt").read_text().startswith("# the plan came from the cache")
    return done


def test_on_this_machine(model, library, tmp_path):
    twice(model, Host(library), tmp_path / "kept")
    assert sorted(path.suffix for path in (tmp_path / "kept").iterdir()) == [".quadra", ".verdicts"]


@pytest.mark.slow  # a device runs it, too
def test_inside_androids_runtime(model, android, tmp_path):
    twice(model, Jvm(android), tmp_path / "kept", "app")
    assert sorted(path.suffix for path in (tmp_path / "kept").iterdir()) == [".quadra", ".verdicts"]


def test_on_a_device_in_the_apps_own_code_cache(model, android, tmp_path, adb):
    serial = registry.start("cache")
    try:
        phone = Phone(Device(serial, virtual=True), android)
        runs = twice(model, phone, tmp_path / "kept", serial)
        kept = sorted((path.name for path in (runs[1].path / "cache").iterdir()), key=lambda name: Path(name).suffix)
        assert [Path(name).suffix for name in kept] == [".quadra", ".verdicts"]
        assert runs[1].spec().options["serialization_dir"] == "quadra"
        told = io.StringIO()
        pull_runs.pull(serial, "", True, Console(file=told, width=200))
        assert "cache files" in told.getvalue()
        (brought,) = (tmp_path / "runs").glob("cache-*")
        assert set(kept) <= {path.name for path in brought.rglob("*")}
    finally:
        registry.stop("cache")


def made_here(model, place, library, tmp_path, on="host"):
    """What a run says of the cache whose files were made on this machine, for the device that an earlier run told of."""
    cache = tmp_path / "kept"

    def said():
        spec = from_arguments.make_spec(
            str(model), backend="opencl", repetitions=1, peers=(), cache=str(cache), **from_arguments.destination(on)
        )
        return place.run(spec).json("verdicts.json")["partitions"][0]["cache"]

    place.prepare(())
    assert said() == "miss: none is kept; saved"
    (file,) = cache.glob("*.quadra")
    target = tmp_path / "phone.json"
    target.write_text(json.dumps(cache_file.read(file).said()["device"]))
    plan = cache_file.read(file).plan()
    file.unlink()
    options = plans.Options(target=str(target), cache=str(cache), reader=str(place.delegate()))
    (made,) = plans.make(str(model), options, library)
    assert made.name == file.name and cache_file.read(made).plan() == plan and cache_file.read(made).verify() == ""
    assert said() == "hit, but 1 of 1 programs were compiled; saved"
    assert said() == "hit"


def test_a_plan_made_elsewhere_is_found(model, library, tmp_path):
    made_here(model, Host(library), library, tmp_path)


@pytest.mark.slow
def test_a_plan_made_for_androids_library_is_found_there(model, library, android, tmp_path):
    made_here(model, Jvm(android), library, tmp_path, "app")
