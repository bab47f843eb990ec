"""One bad device ends only its own part: the others do theirs, and each has its result or its reason. Two virtual devices, with
the real adb client; the app is a stand-in."""

import contextlib
import io
import json

import numpy as np
import pytest
from rich.console import Console

from host_tools.base import settings
from host_tools.base.errors import (
    AppCrashedNatively,
    DeviceBusy,
    DeviceFull,
    DeviceLost,
    DeviceUnusable,
    JudgementFailed,
    QuadraError,
)
from host_tools.phone.adb import lock
from host_tools.places import where
from host_tools.record.run_folder import RunFolder
from host_tools.request import from_arguments
from host_tools.tasks import command_line, run as run_task
from host_tools.virtual_device import registry
from tests.host_tools.places.test_place_device import outputs, phone_at, prepared  # noqa: F401 (a fixture)
from tests.model_builder import Model

pytestmark = pytest.mark.usefixtures("adb")


@pytest.fixture
def phones(tmp_path, monkeypatch, prepared):
    """good, whose runs are right, and bad, which is not bad yet."""
    outputs(tmp_path / "prepared", np.ones((1, 4), np.float32))
    with phone_at(tmp_path / "good") as good, phone_at(tmp_path / "bad") as bad:
        monkeypatch.setattr(registry, "running", lambda: {"bad": bad.serial, "good": good.serial})
        yield good, bad


@pytest.fixture
def library(tmp_path):
    path = tmp_path / "libquadra.so"
    path.write_bytes(b"a library")
    return path


@pytest.fixture
def model(tmp_path):
    """Ones, whatever the input is."""
    m = Model()
    nothing = m.mul(m.input((1, 4)), np.zeros((1, 4), np.float32))
    m.output(m.add(nothing, np.ones((1, 4), np.float32)))
    path = tmp_path / "small.tflite"
    path.write_bytes(m.bytes())
    return path


@pytest.fixture
def asked(model, library):
    """asked(on): what `inv run` asks for there."""

    def at(on):
        spec = from_arguments.make_spec(str(model), place="device", device=on, deadline_s=30.0, repetitions=3)
        return lambda: ([spec], where.parse(on, library))

    return at


def run(ask):
    """(error, what was printed)"""
    console = Console(file=io.StringIO(), width=300)
    try:
        run_task.run(ask, console)
        error = None
    except QuadraError as found:
        error = found
    return error, console.file.getvalue()


@contextlib.contextmanager
def has_old_daemon(bad):
    banner = bad.banner
    bad.banner = lambda features: banner("cmd")
    yield


def fault(text):
    @contextlib.contextmanager
    def breaks(bad):
        bad.faults.add(text)
        yield

    return breaks


def is_taken(bad):
    return lock.lease(bad.serial, "another run")


CASES = {
    "listed as unauthorized": (fault("auth:unauthorized"), DeviceUnusable, "skipped"),
    "unauthorized from the first command on": (fault("open.shell:unauthorized"), DeviceUnusable, "skipped"),
    "offline": (fault("auth:offline"), DeviceUnusable, "skipped"),
    "in recovery": (fault("connect:hostile=5x*"), DeviceUnusable, "skipped"),
    "too old": (has_old_daemon, DeviceUnusable, "skipped"),
    "taken by another process": (is_taken, DeviceBusy, "skipped"),
    "lost in the middle": (fault("instrument:reboot=0.5"), DeviceLost, "failed"),
    "full": (fault("sync.send:full"), DeviceFull, "failed"),
    "with an app that crashes": (fault("app.start:crashx*"), AppCrashedNatively, "failed"),
}


@pytest.mark.parametrize("case", CASES)
def test_of_all_devices_one_that_is_bad_ends_only_its_own_part(case, phones, asked):
    breaks, kind, result = CASES[case]
    with breaks(phones[1]):
        error, said = run(asked("all"))
    assert isinstance(error, kind), error
    assert f"virtual bad: {result}, status {error.exit_code}: {error.tried}: {error.came_back}" in said, said
    assert "right" in next(line for line in said.splitlines() if line.startswith("virtual good")), said
    (complete,) = [path for path in settings.read().runs_dir.glob("2*") if RunFolder(path).is_complete()]
    assert RunFolder(complete).spec().device == phones[0].serial


def test_json_has_the_device_that_was_skipped_too(phones, asked, capsys):
    phones[1].faults.add("auth:unauthorized")
    status = run_task.run_as_json(asked("bad,good"))
    document = json.loads(capsys.readouterr().out)
    assert status == document["exit_status"] == 82
    assert [(one["place"], one["result"]) for one in document["runs"]] == [
        ("virtual bad", "skipped"),
        ("virtual good", "right"),
    ]
    assert document["runs"][0]["error"]["came_back"] == "device unauthorized"


def test_where_none_can_be_used_each_is_named(phones, asked):
    phones[0].faults.add("auth:unauthorized")
    with is_taken(phones[1]):
        error, said = run(asked("all"))
    assert isinstance(error, (DeviceUnusable, DeviceBusy))
    assert "virtual good: skipped, status 82" in said and "virtual bad: skipped, status 83" in said, said
    assert "another run" in said


def test_a_device_that_is_named_and_not_there_leaves_the_others_their_part(phones, asked):
    error, said = run(asked("good,R58M0000"))
    assert error.exit_code == 81 and "R58M0000: skipped, status 81" in said
    assert any(line.startswith("virtual good") and "right" in line for line in said.splitlines()), said


def test_a_wrong_output_counts_more_than_a_device_that_cannot_be_used(phones, asked, tmp_path):
    outputs(tmp_path / "prepared", np.zeros((1, 4), np.float32))
    phones[1].faults.add("auth:unauthorized")
    error, said = run(asked("all"))
    assert isinstance(error, JudgementFailed) and "WRONG" in said and "virtual bad: skipped, status 82" in said


@pytest.mark.parametrize("words", [["push", "MODEL"], ["pull"], ["uninstall"], ["install", "--apk=APK"]])
def test_what_is_done_to_all_devices_is_done_to_those_that_can_be_used(words, phones, model, tmp_path, capsys):
    (tmp_path / "x.apk").write_bytes(b"an app")
    known = {"MODEL": str(model), "--apk=APK": f"--apk={tmp_path / 'x.apk'}"}
    phones[1].faults.add("auth:unauthorized")
    status = command_line.main([*(known.get(word, word) for word in words), "--on=all"])
    said = capsys.readouterr().out
    good, bad = phones
    assert status == 82, said
    assert any(line.startswith(good.serial) and "status" not in line for line in said.splitlines()), said
    assert f"{bad.serial}: skipped, status 82: use the device {bad.serial}: device unauthorized" in said


@pytest.fixture
def suite(model, tmp_path, monkeypatch):
    monkeypatch.setenv("QUADRA_HISTORY", str(tmp_path / "history.sqlite"))
    path = tmp_path / "small.toml"
    text = 'launches = 2\nmore = 0\nrepetitions = 3\nprofile = false\n[[cells]]\nbackends = ["opencl", "gles"]\n'
    path.write_text(f'{text}models = ["{model}"]\n')
    return path


def regress(suite, library, *more):
    """(status, the folder, launches by device and cell, why cells did not run)"""
    status = command_line.main(["regress", str(suite), f"--library={library}", *more])
    (folder,) = settings.read().runs_dir.glob("regress-*")
    cells = json.loads((folder / "regress.json").read_text(encoding="utf-8"))["cells"]
    launches = {(one["device"], one["key"].split("/")[1]): one["launches"] for one in cells}
    return status, folder, launches, {one["error"] for one in cells}


@pytest.mark.parametrize(
    ("fault_", "begun"),
    [("auth:unauthorized", 0), ("instrument:unauthorized@3", 1)],
    ids=["cannot be used", "is lost in the middle"],
)
def test_a_regression_is_complete_on_the_other_device_and_goes_on_where_it_was(
    fault_, begun, phones, suite, library, capsys
):
    bad, good = "virtual bad", "virtual good"
    phones[1].faults.add(fault_)
    status, folder, cells, errors = regress(suite, library, "--on=all")
    said = capsys.readouterr()
    assert status == 82, said.err
    done = {key: [one["run"] for one in launches if one["state"] == "complete"] for key, launches in cells.items()}
    assert {key: len(runs) for key, runs in done.items()} == {
        (bad, "opencl"): begun, (bad, "gles"): begun, (good, "opencl"): 2, (good, "gles"): 2,
    }  # fmt: skip
    assert f"small/opencl/f32 and 1 more on {bad}: status 82: " in said.err and "" in errors and len(errors) == 2
    assert f"--resume {folder.name} runs only what is missing" in said.err

    phones[1].faults.clear()
    status, _, cells, errors = regress(suite, library, "--on=all", f"--resume={folder.name}")
    assert (status, errors) == (0, {""}), capsys.readouterr()
    now = {key: [one["run"] for one in launches if one["state"] == "complete"] for key, launches in cells.items()}
    assert all(set(done[key]) <= set(runs) and len(runs) == 2 for key, runs in now.items()), (done, now)
