"""The place jvm: the APK's runner inside Android's own runtime, on this machine. Slow parts come once for all tests."""

import hashlib
import time
import zipfile

import numpy as np
import pytest
from msgspec import structs

from host_tools.android_on_host import jvm
from host_tools.base import child_process, settings
from host_tools.base.errors import FolderNotWritable, Misuse, QuadraError, RunFailed, ToolMissing
from host_tools.build import apk, java
from host_tools.judge import compare, peers
from host_tools.places import on_host, on_jvm
from host_tools.record import run_folder, schema
from host_tools.request import from_arguments
from tests.android_parts import app_library
from tests.delegate import TARGETS
from tests.host_tools.record import schema_check
from tests.host_tools.show import timelines
from tests.model_builder import Model, one_convolution
from tests.test_options import cut_model, quantised_model

BACKENDS = ("opencl", "gles")


@pytest.fixture(scope="module")
def android():
    return app_library()


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "small.tflite"
    path.write_bytes(one_convolution())
    return path


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    monkeypatch.setenv("QUADRA_RUNS_DIR", str(tmp_path / "runs"))


@pytest.fixture(scope="module")
def finished(model, android, tmp_path_factory):
    """finished(backend): a run of the small model, made once."""
    done = {}

    def one(backend):
        if backend not in done:
            more = {"cold": True, "sustained_s": 2} if backend == "opencl" else {}
            spec = spec_of(model, backend=backend, profile=True, **more)
            done[backend] = on_jvm.Jvm(android).run(spec, runs_dir=tmp_path_factory.mktemp("runs"))
        return done[backend]

    return one


def spec_of(model, **fields):
    return from_arguments.make_spec(str(model), place="jvm", **{"repetitions": 4, **fields})


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_model_runs_as_on_a_phone_and_is_as_right_as_on_the_host(backend, model, finished, library):
    folder = finished(backend)
    assert folder.is_complete()
    report = folder.json("verdicts.json")
    assert report["backend"] == backend and all(node["on"] == "gpu" for node in report["nodes"])
    result = compare.compare(folder)
    assert result.ok and result.outputs[0].relative < 1e-6
    there = on_host.Host(library).run(
        from_arguments.make_spec(str(model), repetitions=4, backend=backend, profile=True)
    )
    for group in ("inputs", "cpu_outputs"):
        np.testing.assert_array_equal(folder.arrays(group)[0], there.arrays(group)[0])
    np.testing.assert_allclose(folder.arrays("outputs")[0], there.arrays("outputs")[0], rtol=0, atol=1e-5)
    if backend == "opencl":
        windows = folder.read(schema.Sustained).windows
        assert len(windows) == 2 and all(one.inferences > 2 and one.battery_ua is None for one in windows)
    left = {p.name for p in there.path.iterdir()} - {"latest"}
    assert left <= {p.name for p in folder.path.iterdir()}
    for name in ("timings.json", "profile.json", "environment.json", "tensors.json", "verdicts.json"):
        assert set(there.json(name)) <= set(folder.json(name)), name
    timelines.check(folder)
    assert schema_check.wrong(folder.path) == schema_check.wrong(there.path) == []
    assert not (folder.path / "driver_cache").exists()


def test_the_delegate_that_tflite_ships_runs_beside_quadra(model, android):
    names = ("xnnpack", "shipped-opencl", "shipped-gles")
    folder = on_jvm.Jvm(android).run(spec_of(model, backend="gles", peers=names))
    for peer in peers.judge(folder, compare.compare(folder)):
        assert peer.ok is True and not peer.error, peer
        assert (peer.nodes_taken, peer.nodes, peer.partitions) == (1, 1, 1)  # XNNPACK, too: not TFLite's plain kernels
    samples = folder.json("timings.json")["samples_us"]
    assert {name: len(values) for name, values in samples.items()} == dict.fromkeys(
        ("quadra", "xnnpack", "shipped_opencl", "shipped_gles"), 4
    )


def test_the_stock_delegate_computes_in_half_by_default_and_in_float32_beside_it_otherwise(model, android):
    errors = []
    for defaults in (False, True):
        spec = spec_of(model, backend="gles", peers=("shipped-gles",), peer_defaults=defaults, repetitions=1)
        folder = on_jvm.Jvm(android).run(spec)
        (peer,) = peers.judge(folder, compare.compare(folder))
        assert peer.ok is True and not peer.error, peer
        errors.append(max(peer.relative))
    assert errors[0] < 1e-5 < 1e-4 < errors[1], errors


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_second_starts_are_from_what_each_kept_and_the_stock_delegate_keeps_on_opencl_only(backend, model, android):
    peers_of_it = ("xnnpack", f"shipped-{backend}")
    spec = spec_of(model, backend=backend, peers=peers_of_it, cold=True, second_starts=2)
    folder = on_jvm.Jvm(android).run(spec)
    timings, shipped = folder.read(schema.Timings), f"shipped_{backend}"
    assert {key: len(laps) for key, laps in timings.second_us.items()} == {"quadra": 2, "xnnpack": 2, shipped: 2}
    assert timings.second_cpu_us.keys() == timings.second_us.keys()
    assert timings.kept_bytes["quadra"] > 0 and (timings.kept_bytes[shipped] > 0) == (backend == "opencl")
    assert not (folder.path / "kept").exists()


def stateful_model() -> bytes:
    """y = x + h_in, and the same again as h_out."""
    m = Model()
    inputs = [m.input((1, 3, 5)), m.input((1, 3, 5), name="h_in")]
    new = m.op("ADD", inputs, (1, 3, 5), "AddOptions", output={"name": "h_out"})
    m.output(m.elementwise("ABS", new), new)
    return m.bytes()


# Two processes: Robolectric's class loader and Java's own cannot both load one library.
@pytest.mark.parametrize(
    "names",
    (["host.DelegateInAndroid", "host.OptionsInAndroid"], ["gpu.GpuDelegateTest", "gpu.CompatibilityListTest"]),
)
def test_java_tests_pass_with_androids_libraries(names, model, android, tmp_path):
    given = {"quadra.model": str(model), "quadra.target": str(TARGETS / "mali-g76.json")}
    for name, content in (
        ("cut_model", cut_model()),
        ("quantised_model", quantised_model()),
        ("states", stateful_model()),
    ):
        (tmp_path / name).write_bytes(content)
        given[f"quadra.{name}"] = str(tmp_path / name)
    machine = jvm.Machine(android)
    machine.class_path.insert(0, java.test_classes())
    classes = [f"org.quadra.{name}" for name in names]
    argv = machine.command("org.junit.runner.JUnitCore", given, classes)
    env = machine.environment(1, settings.read().driver_cache_dir)
    done = child_process.run(argv, timeout_s=600, env=env, check=False)
    assert done.returncode == 0 and "\nOK (" in done.stdout, done.stdout[-6000:] + done.stderr[-3000:]


def test_the_classes_that_ran_are_the_ones_that_were_dexed(finished, android, tmp_path):
    made = apk.make({jvm.ABI: android}, tmp_path / "runner.apk")
    with zipfile.ZipFile(made.path) as archive:
        listed = archive.read(apk.CLASS_LIST)
    assert b"org/quadra/runner/QuadraRunner.class" in listed
    assert finished("opencl").json("environment.json")["runner_classes_sha256"] == hashlib.sha256(listed).hexdigest()


def test_a_wrong_option_is_a_sentence_of_the_delegate(model, android):
    with pytest.raises(Misuse, match="max_delegated_partitions"):
        spec = spec_of(model)
        on_jvm.Jvm(android).run(structs.replace(spec, options={"max_delegated_partitions": "many"}))
    status = run_folder.find("latest", settings.read().runs_dir).status()
    assert status.state == "failed" and status.error.exit_code == 2


def test_a_hang_ends_at_the_deadline_and_the_folder_says_so(model, android, tmp_path):
    started = time.monotonic()
    with pytest.raises(QuadraError, match="did not end within 1 s"):
        on_jvm.Jvm(android).run(spec_of(model, deadline_s=1.0, repetitions=10_000_000))
    assert time.monotonic() - started < 30
    assert run_folder.find("latest", settings.read().runs_dir).status().state == "timed_out"


def test_a_damaged_model_is_named_and_nothing_is_half_written(model, android, tmp_path):
    damaged = tmp_path / "damaged.tflite"
    damaged.write_bytes(b"\x1c\0\0\0TFL3" + b"\xff" * 64)
    with pytest.raises(Misuse, match="read the model damaged: the file ends at byte"):
        on_jvm.Jvm(android).run(spec_of(damaged))
    folder = run_folder.find("latest", settings.read().runs_dir)
    assert folder.status().state == "failed"
    assert not folder.has("inputs") and not [p for p in folder.path.parent.iterdir() if p.name.startswith(".partial")]


def test_a_model_that_cannot_be_invoked_keeps_its_log(android, tmp_path):
    m = Model()
    x = m.input((1, 4, 4, 3))
    m.output(m.add(x, np.ones((1, 4, 4, 3), np.float32)))
    content = bytearray(m.bytes())
    path = tmp_path / "half.tflite"
    path.write_bytes(content[: len(content) * 3 // 4])
    with pytest.raises((Misuse, RunFailed)):
        on_jvm.Jvm(android).run(spec_of(path))
    assert run_folder.find("latest", settings.read().runs_dir).has("status.json")


def test_no_library_and_the_hosts_library_are_refused_before_anything_runs(model, library, android, tmp_path):
    with pytest.raises(Misuse, match="there is no such file"):
        on_jvm.Jvm(tmp_path / "libquadra.so").run(spec_of(model))
    with pytest.raises(Misuse, match="load libquadra.so as Android would: it is for this machine"):
        on_jvm.Jvm(library).run(spec_of(model))
    assert not (tmp_path / "runs").exists()


def test_no_java_and_no_maven_are_errors_that_say_what_to_install(model, tmp_path, monkeypatch):
    monkeypatch.setenv("QUADRA_TOOLS_DIR", str(tmp_path / "tools"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "libquadra.so").touch()
    with pytest.raises(ToolMissing, match="apt-get install (maven|default-jdk-headless)") as caught:
        on_jvm.Jvm(tmp_path / "libquadra.so").run(spec_of(model))
    assert caught.value.exit_code == 73 and not (tmp_path / "runs").exists()


def test_a_tools_folder_that_cannot_be_written_is_named(model, monkeypatch, tmp_path):
    monkeypatch.setenv("QUADRA_TOOLS_DIR", "/proc/nowhere")
    (tmp_path / "libquadra.so").touch()
    with pytest.raises(FolderNotWritable, match="QUADRA_TOOLS_DIR"):
        on_jvm.Jvm(tmp_path / "libquadra.so").run(spec_of(model))


def test_a_runs_folder_that_cannot_be_written_is_named(model, android, monkeypatch):
    monkeypatch.setenv("QUADRA_RUNS_DIR", "/proc/nowhere")
    with pytest.raises(FolderNotWritable, match="QUADRA_RUNS_DIR"):
        on_jvm.Jvm(android).run(spec_of(model))


def test_shared_models_are_as_right_as_on_the_host(android, model_path):
    for name in ("face_detection_short_range",):
        folder = on_jvm.Jvm(android).run(spec_of(model_path(name)))
        assert compare.compare(folder).ok
