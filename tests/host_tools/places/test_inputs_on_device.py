"""Many inputs on a device: pushed in batches, one process for each batch, brought and judged together; by the app, and from the
shell. What a device that is lost had done is kept."""

import numpy as np
import pytest

from host_tools.base.errors import DeviceLost, RunFailed
from host_tools.phone.adb.adb_device import Device
from host_tools.places import inputs_on_phone
from host_tools.places.on_phone import Phone
from host_tools.places.on_phone_shell import PhoneShell
from host_tools.record import schema
from host_tools.record.run_folder import RunFolder
from host_tools.request import from_arguments
from host_tools.run import model_runs
from host_tools.virtual_device import registry
from host_tools.virtual_device.device import VirtualDevice
from tests import variable_models
from tests.host_tools.places.test_native_runner import parts  # noqa: F401 (a fixture)
from tests.host_tools.record import schema_check
from tests.host_tools.run.test_run_with_cache import android  # noqa: F401 (a fixture)
from tests.model_builder import one_convolution

COUNT = 5
SHELL = "data/local/tmp/quadra"


@pytest.fixture
def model(tmp_path, monkeypatch):
    monkeypatch.setenv("QUADRA_RUNS_DIR", str(tmp_path / "runs"))
    path = tmp_path / "small.tflite"
    path.write_bytes(one_convolution())
    return path


@pytest.fixture
def phone(tmp_path, adb):
    with VirtualDevice(tmp_path / "root") as one:
        one.boot_s = 0
        yield one
        assert not [note for note in one.log if note.what == "bug"]


def many(folder, model, count=COUNT):
    """A folder of inputs, each a multiple of the same numbers."""
    content = model.read_bytes()
    (shape,) = [tuple(one.shape) for one in from_arguments.inputs.of_model(content)]
    base = np.random.default_rng(3).standard_normal(shape, np.float32)
    for number in range(count):
        (folder / f"{number}").mkdir(parents=True)
        np.save(folder / f"{number}" / "000.npy", base * np.float32(number + 1))
    return folder


def asked(model, given, serial, route="", **fields):
    where = {"place": "device", "device": serial, "route": route}
    return from_arguments.make_spec(str(model), backend="opencl", repetitions=3, arrays=str(given), **where, **fields)


def expect_right(judged, count=COUNT):
    assert judged.ok and judged.over and len(judged.over.names) == count
    (row,) = judged.over.outputs
    assert len(row.relative) == count and not row.wrong and float(row.max_error) < 1e-3 and float(row.psnr_db) > 60
    outputs = [np.load(folder / "outputs" / "000.npy") for folder in sorted((judged.folder.path / "set").iterdir())]
    first = judged.folder.arrays("outputs")[0]
    assert len(outputs) == count - 1 and all(np.abs(one - first).max() > 0.1 for one in outputs), (
        "each is its own input's"
    )
    assert schema_check.wrong(judged.folder.path) == [] and not (judged.folder.path / ".set").exists()
    for folder in (judged.folder.path / "set").iterdir():
        assert (folder / "xnnpack_outputs" / "000.npy").exists() and (folder / "cpu_outputs" / "000.npy").exists()


def modes(monkeypatch):
    """The modes in which processes are started on devices, as they are."""
    seen = []
    for kind in (inputs_on_phone.PhoneAttempt, inputs_on_phone.ShellAttempt):
        real = kind._start

        def start(self, mode, names, real=real):
            seen.append(mode)
            real(self, mode, names)

        monkeypatch.setattr(kind, "_start", start)
    return seen


def test_from_the_shell_one_process_computes_a_batch(phone, parts, model, tmp_path, monkeypatch):
    seen = modes(monkeypatch)
    monkeypatch.setattr(inputs_on_phone, "MOST", 3)
    place = PhoneShell(Device(phone.serial, virtual=True), parts[2], runner=parts[0])
    judged = model_runs.run_and_judge(asked(model, many(tmp_path / "many", model), phone.serial, "shell"), place)
    expect_right(judged)
    assert seen == ["run", "inputs", "inputs"], "3 and 1 of the 4 further ones"
    store = {path.name for path in (phone.root / SHELL / "store").iterdir()}
    assert len([name for name in store if name.endswith(".npy")]) == 1, "of the first input: the others are removed"
    assert not [*(phone.root / SHELL / "shell").iterdir()]


def test_in_the_app_one_process_computes_all(android, model, tmp_path, adb, monkeypatch):
    seen, serial = modes(monkeypatch), registry.start("many")
    try:
        place = Phone(Device(serial, virtual=True), android)
        place.prepare(("xnnpack",))
        judged = model_runs.run_and_judge(asked(model, many(tmp_path / "many", model), serial, delay_ms=25), place)
        expect_right(judged)
        assert seen == ["run", "inputs"]
        starts = sorted(at for of in judged.folder.json("timings.json")["starts_ns"].values() for at in of)
        assert len(starts) == 6 and min(np.diff(starts)) >= 25e6, "each comes after the pause"
    finally:
        registry.stop("many")


def test_what_a_lost_device_had_done_is_kept_and_the_rest_is_asked_for_again(
    phone, parts, model, tmp_path, monkeypatch
):  # fmt: skip
    monkeypatch.setattr(inputs_on_phone, "MOST", 1)
    real, count = inputs_on_phone.InShell._start, []

    def lost_once(self, mode, names):
        count.append(mode)
        if len(count) == 3:
            raise DeviceLost("run the model", "it was unplugged", "plug it in", serial=phone.serial)
        real(self, mode, names)

    monkeypatch.setattr(inputs_on_phone.InShell, "_start", lost_once)
    place = PhoneShell(Device(phone.serial, virtual=True), parts[2], runner=parts[0])
    judged = model_runs.run_and_judge(asked(model, many(tmp_path / "many", model), phone.serial, "shell"), place)
    expect_right(judged)
    assert len(count) == COUNT - 1 + 1, "four batches, and the one that was lost once more"


def test_a_device_that_stays_away_leaves_a_run_with_what_it_had_done(phone, parts, model, tmp_path, monkeypatch):
    monkeypatch.setattr(inputs_on_phone, "MOST", 2)
    real, count = inputs_on_phone.InShell._start, []

    def lost(self, mode, names):
        count.append(mode)
        if len(count) > 1:
            raise DeviceLost("run the model", "it was unplugged", "plug it in", serial=phone.serial)
        real(self, mode, names)

    monkeypatch.setattr(inputs_on_phone.InShell, "_start", lost)
    place = PhoneShell(Device(phone.serial, virtual=True), parts[2], runner=parts[0])
    with pytest.raises(DeviceLost, match=r"3 of 5 inputs were computed, which are kept") as met:
        model_runs.run_and_judge(asked(model, many(tmp_path / "many", model), phone.serial, "shell"), place)
    assert sorted(path.name for path in (met.value.kept / "set").iterdir()) == ["00001", "00002"]
    assert len(RunFolder(met.value.kept).read(schema.OverInputs).names) == 3, "judged as far as they are there"


def test_a_process_that_leaves_nothing_ends_the_run(phone, parts, model, tmp_path, monkeypatch):
    """It would be asked again without an end."""
    seen = modes(monkeypatch)
    monkeypatch.setattr(inputs_on_phone.InShell, "_bring", lambda self: None)
    place = PhoneShell(Device(phone.serial, virtual=True), parts[2], runner=parts[0])
    with pytest.raises(RunFailed, match=r"1 of 5 inputs"):
        model_runs.run_and_judge(asked(model, many(tmp_path / "many", model), phone.serial, "shell"), place)
    assert seen == ["run", "inputs"]


def test_a_model_with_a_state_begins_anew_with_each_input(phone, parts, tmp_path, monkeypatch):
    monkeypatch.setenv("QUADRA_RUNS_DIR", str(tmp_path / "runs"))
    model = tmp_path / "streaming.tflite"
    model.write_bytes(variable_models.started({"s": variable_models.FIRST}, variable_models.smoothed))
    assert inputs_on_phone.keeps_state(model.read_bytes(), "")
    assert not inputs_on_phone.keeps_state(one_convolution(), "")
    place = PhoneShell(Device(phone.serial, virtual=True), parts[2], runner=parts[0])
    judged = model_runs.run_and_judge(asked(model, many(tmp_path / "many", model, 3), phone.serial, "shell"), place)
    assert judged.ok and len(judged.over.names) == 3, judged.over


def test_batches_are_bounded_by_count_and_bytes(monkeypatch):
    monkeypatch.setattr(inputs_on_phone, "MOST_BYTES", 10)
    made = [("a", 4), ("b", 6), ("c", 1), ("d", 50), ("e", 1), ("f", 1), ("g", 1)]
    assert list(inputs_on_phone.batches(iter(made), 2)) == [["a", "b"], ["c"], ["d"], ["e", "f"], ["g"]]
    assert list(inputs_on_phone.batches(iter([]), 2)) == []
