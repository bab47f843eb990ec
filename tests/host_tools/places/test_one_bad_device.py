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
from host_tools.tasks import command_line, judged_runs
from host_tools.virtual_device import registry
from tests.host_tools.places.test_place_device import model, outputs, phone_at, prepared  # noqa: F401 (fixtures)

pytestmark = pytest.mark.usefixtures("adb")


@pytest.fixture
def phones(tmp_path, monkeypatch, prepared):
    """good, whose runs are right, and bad, which is not bad yet."""
    outputs(tmp_path / "prepared", np.ones((1, 4), np.float32))
    with phone_at(tmp_path / "good") as good, phone_at(tmp_path / "bad") as bad:
        monkeypatch.setattr(registry, "running", lambda: {"bad": bad.serial, "good": good.serial})
        yield good, bad


@pytest.fixture
def asked(model, tmp_path):
    """asked(on): what `inv run` asks for there, with zeros as the input: ones are right."""
    library, zeros = tmp_path / "libquadra.so", tmp_path / "zeros"
    library.write_bytes(b"a library")
    zeros.mkdir()
    np.save(zeros / "000.npy", np.zeros((1, 4), np.float32))

    def at(on):
        where_to = {"place": "device", "device": on, "peers": ("xnnpack",)}
        spec = from_arguments.make_spec(str(model), arrays=str(zeros), deadline_s=30.0, repetitions=3, **where_to)
        return lambda: (spec, where.parse(on, library))

    return at


def run(ask):
    """(error, what was printed)"""
    console = Console(file=io.StringIO(), width=300)
    try:
        judged_runs.run(ask, console)
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
    status = judged_runs.run_as_json(asked("bad,good"))
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
