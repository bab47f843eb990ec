"""The native runner, as a device's shell starts it: Android's x86_64 executable, on this machine."""

import contextlib
import json
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from host_tools.android_on_host import bionic
from host_tools.base import child_process, cpu_drivers, settings
from host_tools.base.errors import FetchFailed
from host_tools.build import bazel, maven
from host_tools.places import cpu_reference, prepare
from host_tools.record import run_folder, schema
from host_tools.request import from_arguments
from tests.host_tools.record import schema_check
from tests.host_tools.show import timelines
from tests.model_builder import one_convolution

ABI = "x86_64"


@pytest.fixture(scope="module")
def parts():
    """The runner, TFLite's runtime and the delegate (QUADRA_ANDROID_LIBRARY, or built)."""
    try:
        runtime = maven.aar_file("tensorflow-lite", f"jni/{ABI}/libtensorflowlite_jni.so")
    except FetchFailed as error:
        pytest.skip(str(error))
    given = os.environ.get("QUADRA_ANDROID_LIBRARY")
    library = Path(given) if given else bazel.android([ABI])[ABI].path
    return bazel.runners([ABI])[ABI], runtime, library


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "small.tflite"
    path.write_bytes(one_convolution())
    return path


@pytest.fixture
def folder(model, tmp_path):
    """A run folder as the host prepares it."""
    return prepared(model, tmp_path / "run")


def prepared(model, folder, **fields):
    spec = from_arguments.make_spec(str(model), repetitions=4, **fields)
    folder.mkdir()
    run_folder.write_json(folder / "spec.json", spec.to_json())
    prepare.prepare(spec, folder)
    return folder


def start(parts, folder, on_line=None, **changes):
    """Runs it; changes are its arguments, None leaves one out. on_line: gets what it prints."""
    runner, runtime, library = parts
    told = {"folder": folder, "runtime": runtime, "quadra": library, **changes}
    words = [word for key, value in told.items() if value is not None for word in (f"--{key}", value)]
    env = {**cpu_drivers.settings(1), **cpu_drivers.caches(settings.ROOT / ".cache" / "drivers")}
    return child_process.run(
        bionic.command(runner, [runtime, library], words), timeout_s=120, env=env, check=False, on_line=on_line
    )


def test_it_leaves_what_every_place_leaves(parts, model, folder):
    done = start(parts, folder)
    assert done.returncode == 0, done.stderr
    stages = [line for line in done.stdout.splitlines() if line.startswith("stage: ")]
    assert stages[0] == "stage: start" and "stage: first inference of xnnpack" in stages and "stage: measure" in stages
    assert "(TfLiteXNNPackDelegate) node" in done.stderr  # seen red: plain kernels under its name
    left = run_folder.RunFolder(folder)
    cpu_reference.write(folder)
    np.testing.assert_allclose(left.arrays("outputs")[0], left.arrays("cpu_outputs")[0], rtol=0, atol=1e-5)
    np.testing.assert_allclose(left.arrays("xnnpack_outputs")[0], left.arrays("cpu_outputs")[0], rtol=0, atol=1e-5)
    assert all(node["on"] == "gpu" for node in left.json("verdicts.json")["nodes"])
    timings = left.json("timings.json")
    assert {who: len(samples) for who, samples in timings["samples_us"].items()} == {"quadra": 4, "xnnpack": 4}
    assert timings["cpu_us"].keys() == timings["samples_us"].keys() == {"quadra", "xnnpack"}
    for laps in timings["init_us"].values():
        assert laps["total_us"] == sum(laps[step] for step in laps["starts_ns"])
        assert 0 < laps["first_invoke_cpu_us"] <= laps["cpu_us"]
    assert timings["memory"]["peak_rss_bytes"] > timings["memory"]["baseline_rss_bytes"] > 0
    environment, version = left.json("environment.json"), maven.known()["tensorflow-lite"].version
    assert environment["route"] == "shell" and environment["packages"]["tensorflow-lite"] == version
    assert environment["cpus"] == os.cpu_count()
    assert (folder / "partition_0" / "plan.quadra").exists()
    inputs = left.tensors("inputs")[0]
    assert inputs.dtype == "float32" and inputs.shape == [1, 8, 8, 4]
    assert schema_check.wrong(folder) == []


def test_a_profile_has_the_times_of_each_dispatch(parts, model, tmp_path):
    folder = prepared(model, tmp_path / "run", profile=True)
    assert start(parts, folder, mode="run").returncode == 0
    profile, partitions = (run_folder.RunFolder(folder).json(name) for name in ("profile.json", "verdicts.json"))
    assert len(profile["invoke_us"]) == 10 and profile["dispatch_times_by"] == partitions["dispatch_times_by"]
    assert [p["dispatches"] for p in profile["partitions"]] == [p["dispatches"] for p in partitions["partitions"]]
    assert all(len(row["dispatch_us"]) == len(profile["partitions"][0]["dispatches"]) for row in profile["invokes"])
    timelines.check(run_folder.RunFolder(folder))
    assert schema_check.wrong(folder) == []


def test_it_runs_on_without_a_pause_where_that_is_asked_for(parts, model, tmp_path):
    folder = prepared(model, tmp_path / "run", sustained_s=2)
    done = start(parts, folder)
    assert done.returncode == 0 and "stage: run without a pause for 2 s" in done.stdout, done.stderr
    kept = run_folder.RunFolder(folder).read(schema.Sustained)
    assert [window.inferences > 2 and window.median_us <= window.slowest_us for window in kept.windows] == [True, True]
    assert kept.window_s == 1 and kept.windows[1].start_ns - kept.windows[0].start_ns >= 1e9
    assert schema_check.wrong(folder) == []


def test_it_waits_before_each_inference_and_keeps_to_the_cores_that_are_asked_for(parts, model, tmp_path):
    core = min(os.sched_getaffinity(0))
    folder = prepared(model, tmp_path / "run", delay_ms=60, cpus=str(core), sustained_s=3, peers=("xnnpack",))
    allowed = set()

    def look(line):
        if "run without a pause" in line:
            for status in Path("/proc").glob("[0-9]*/task/[0-9]*/status"):
                with contextlib.suppress(OSError):
                    if str(folder) in (status.parents[2] / "cmdline").read_text():
                        allowed.update(re.findall(r"Cpus_allowed_list:\t(.*)", status.read_text()))

    done = start(parts, folder, on_line=look)
    assert done.returncode == 0 and allowed == {str(core)}, done.stderr
    starts = sorted(at for of in run_folder.RunFolder(folder).json("timings.json")["starts_ns"].values() for at in of)
    assert len(starts) == 8 and min(np.diff(starts)) >= 60e6


def test_verdicts_run_nothing(parts, folder):
    assert start(parts, folder, mode="verdicts").returncode == 0
    assert (folder / "verdicts.json").exists() and not (folder / "outputs").exists()


def test_a_model_that_lies_elsewhere_on_the_device_is_taken_from_there(parts, model, folder, tmp_path):
    spec = json.loads((folder / "spec.json").read_text())
    spec["model"]["path"] = "/where/the/host/has/it.tflite"
    run_folder.write_json(folder / "spec.json", spec)
    shutil.copy(model, tmp_path / "there.tflite")
    assert start(parts, folder, mode="verdicts", model=tmp_path / "there.tflite").returncode == 0


def test_a_peer_that_cannot_run_is_a_finding(parts, folder):
    """Seen red: the run ended with the peer."""
    (folder / "cpu_model.tflite").write_bytes(b"no model")
    assert start(parts, folder).returncode == 0
    timings = run_folder.RunFolder(folder).json("timings.json")
    assert "cpu_model.tflite" in timings["xnnpack_error"] and set(timings["samples_us"]) == {"quadra"}


def test_peers_may_be_named_instead(parts, folder):
    assert start(parts, folder, peers="none").returncode == 0
    assert set(run_folder.RunFolder(folder).json("timings.json")["samples_us"]) == {"quadra"}


FAULTS = {
    "no spec": (lambda f: (f / "spec.json").unlink(), {}, 2, ("read", "spec.json", "No such file")),
    "damaged spec": (lambda f: (f / "spec.json").write_text("{"), {}, 2, ("spec.json", "same version")),
    "newer spec": (lambda f: edit(f, schema_version=99), {}, 2, ("schema_version is 99", "same version")),
    "a field lacks": (lambda f: edit(f, threads=None), {}, 2, ("threads", "missing or wrong")),
    "no runs": (lambda f: edit(f, repetitions=0), {}, 2, ("repetitions", "1 or more")),
    "shipped peer": (lambda f: edit(f, peers=["shipped-gles"]), {}, 2, ("start the peer shipped-gles", "xnnpack only")),
    "wrong option": (lambda f: edit(f, options={"precision": "f64"}), {}, 2, ("make the delegate", "precision", "f64")),
    "no such core": (
        lambda f: edit(f, cpus="1023"),
        {},
        2,
        ("run on the processor cores 1023", "cores that are there"),
    ),
    "no inputs": (lambda f: shutil.rmtree(f / "inputs"), {}, 2, ("set the inputs", "has 0, the model expects 1")),
    "short inputs": (lambda f: cut(f / "inputs" / "000.npy"), {}, 2, ("set the input", "1024 bytes of float32")),
    "other inputs": (lambda f: np.save(f / "inputs" / "000.npy", np.zeros(256, "<i4")), {}, 2, ("float32", "<i4")),
    "damaged model": (None, {"model": "bad.tflite"}, 2, ("read the model", "fetch it again")),
    "no model": (None, {"model": "nowhere.tflite"}, 2, ("read the model", "nowhere.tflite")),
    "no runtime": (None, {"runtime": "nowhere.so"}, 2, ("load TFLite's runtime", "nowhere.so", "ABI")),
    "another library": (None, {"quadra": "runtime"}, 2, ("load tflite_plugin_create_delegate", "ABI")),
    "wrong mode": (None, {"mode": "fast"}, 2, ("read the argument --mode", "fast")),
    "unknown argument": (None, {"speed": "high"}, 2, ("read the argument --speed", "no such argument")),
    "cases without a pack": (None, {"cases": "bad.tflite"}, 2, ("read the argument --pack", "missing")),
    "cases that are no list": (
        None,
        {"cases": "bad.tflite", "pack": "bad.tflite"},
        2,
        ("bad.tflite", "toolkit of the same"),
    ),
    "nothing said": (None, {"runtime": None}, 2, ("read the argument --runtime", "missing")),
}


def edit(folder, **fields):
    spec = {**json.loads((folder / "spec.json").read_text()), **fields}
    run_folder.write_json(folder / "spec.json", {k: v for k, v in spec.items() if v is not None})


def cut(path):
    path.write_bytes(path.read_bytes()[:-4])


@pytest.mark.parametrize("fault", FAULTS)
def test_what_goes_wrong_is_a_sentence_a_status_and_error_json(fault, parts, folder, tmp_path):
    plant, changes, status, words = FAULTS[fault]
    if plant:
        plant(folder)
    (tmp_path / "bad.tflite").write_bytes(b"\0\0\0\0TFL3" + b"\xff" * 64)
    places = {"runtime": parts[1], **{name: tmp_path / name for name in ("bad.tflite", "nowhere.tflite", "nowhere.so")}}
    done = start(parts, folder, **{key: places.get(value, value) for key, value in changes.items()})
    assert done.returncode == status, done.stderr
    sentence = next(line for line in done.stderr.splitlines() if line.startswith("error: "))
    assert all(word in sentence for word in words) and "; next: " in sentence
    error = json.loads((folder / "error.json").read_text())
    assert error["exit_code"] == status and error["kind"] == "Misuse" and len(error["parts"]) == 3
    assert sentence == "error: {}: {}; next: {}".format(*error["parts"])


def test_a_folder_that_is_full_or_closed_is_told(parts, folder):
    """Files in the way of folders: what root cannot write either."""
    (folder / "outputs").write_text("in the way")
    done = start(parts, folder)
    assert done.returncode == 77 and "write" in done.stderr and "outputs" in done.stderr
