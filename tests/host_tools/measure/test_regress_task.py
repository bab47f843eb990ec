"""`inv regress` from the command line, with a delegate that takes no node: suites, baselines, errors, Ctrl-C."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from host_tools.base import child_process, settings
from host_tools.base.errors import BuildFailed, DeviceLost, DeviceUnusable, Misuse, QuadraError
from host_tools.judge.regression import suite as suites
from host_tools.judge.regression.cell_verdicts import Case
from host_tools.judge.regression.history import History
from host_tools.judge.regression.launch import Launch
from host_tools.measure import regress_session as sessions
from host_tools.measure.regress_resume import Earlier
from host_tools.measure.regress_suite import CellsBroken
from host_tools.record.run_folder import RunFolder
from host_tools.request import models
from host_tools.tasks import command_line
from tests.host_tools import run_folders
from tests.model_builder import Model
from tests.signature_models import two_signatures


@pytest.fixture
def suite(tmp_path, monkeypatch):
    for variable, name in (("RUNS_DIR", "runs"), ("DRIVER_CACHE_DIR", "driver"), ("HISTORY", "history.sqlite")):
        monkeypatch.setenv(f"QUADRA_{variable}", str(tmp_path / name))
    m = Model()
    x = m.input((1, 8, 8, 3))
    m.output(m.add(x, np.ones((1, 8, 8, 3), np.float32)))
    (tmp_path / "sum.tflite").write_bytes(m.bytes())
    path = tmp_path / "small.toml"
    path.write_text(
        f'launches = 2\nmore = 0\nrepetitions = 3\nprofile = false\n[[cells]]\nmodels = ["{tmp_path}/sum.tflite"]\n'
    )
    return path


def inv(capsys, *words):
    status = command_line.main([str(word) for word in words])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_a_suite_is_run_saved_and_compared(capsys, suite, fake, tmp_path):
    status, out, err = inv(capsys, "regress", suite, "--save=first", f"--library={fake}")
    assert status == 0 and "1 cell: 1 passed" in out and "saved as first: 1 of 1 cells" in out, out + err
    status, out, err = inv(capsys, "regress", suite, "--baseline=first", f"--library={fake}")
    assert status == 0 and "beside the baseline first" in out and "too few launches" in out, out + err
    folder = sorted((tmp_path / "runs").glob("regress-*"))[-1]
    names = {path.name for path in folder.iterdir()}
    assert {"regress.html", "regress.json", "junit.xml", "benchmark.json"} <= names
    assert len(list(folder.glob("2*/trace.pftrace"))) == 2
    assert inv(capsys, "regress", suite, "--baseline=nobody", f"--library={fake}")[0] == 2
    status, out, _ = inv(capsys, "regress", suite, f"--library={fake}", "--json")
    found = json.loads(out)
    assert status == 0 and found["cells"][0]["verdict"] and Path(found["folder"]).name.endswith("-small")


def test_a_lost_device_keeps_cells_with_all_launches_and_a_resumed_lab_one_device_for_each(suite, tmp_path):
    suite.write_text(suite.read_text() + 'backends = ["opencl", "gles"]\n')
    read = suites.read(str(suite))
    first, second = read.cells
    handed = []
    deal = SimpleNamespace(tries=1, any_error=False, failed=lambda *words: handed.extend(words[3]) or True)
    history = SimpleNamespace(cell=lambda *words: 0, add=lambda *words: None)
    earlier, place = Earlier(tmp_path, 1, 0.0), SimpleNamespace(name="a")
    session = SimpleNamespace(suite=read, number=1)
    lane = sessions._Lane(session, place, tmp_path, history, False, print, deal, earlier)

    def take(cell, case, number, at):
        if cell == second and number == 1:
            raise DeviceLost("run it", "the cable is out", serial="a")
        case.launches.append(Launch(number, at))

    lane._take = take
    lane.run(read.cells)
    assert handed == [second] and list(lane.cases) == [first] and not lane.cases[first].error

    done = lane.cases[first]
    earlier.cases = {(first.key, name): dataclasses.replace(done, device=name) for name in ("a", "b")}
    assert earlier.keep_done(read, ["a", "b"], False, one_each=True) == [second] and len(earlier.kept) == 1
    earlier.kept = []
    assert earlier.keep_done(read, ["a", "b"], False, one_each=False) == [second] and len(earlier.kept) == 2


def test_from_the_second_launch_on_it_says_how_long_the_rest_takes(suite, tmp_path, monkeypatch):
    read, clock = suites.read(str(suite)), [0.0]
    deal = SimpleNamespace(tries=1, any_error=False)
    session = SimpleNamespace(suite=dataclasses.replace(read, more=0), number=1)
    history, place = SimpleNamespace(cell=lambda *words: 0), SimpleNamespace(name="a")
    lane = sessions._Lane(session, place, tmp_path, history, False, print, deal, Earlier(tmp_path, 1, 0.0))
    monkeypatch.setattr(sessions, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    said = []

    def take(cell, case, number, at):
        said.append(lane._left())
        clock[0] += 90.0
        case.launches.append(Launch(number, at))

    lane._take = take
    lane.run(read.cells)
    rest = range(len(said) - 1, 0, -1)
    assert len(said) > 1 and said == ["", *(f" ({-(-90 * left // 60)} min left)" for left in rest)]


def test_a_model_that_cannot_run_is_inconclusive_and_infrastructure(capsys, suite, tmp_path, fake):
    broken = child_process.run(
        ["cc", "-shared", "-fPIC", "-o", tmp_path / "libempty.so", "-x", "c", "/dev/null"], timeout_s=60
    )
    assert broken.returncode == 0
    status, out, err = inv(capsys, "regress", suite, f"--library={tmp_path / 'libempty.so'}")
    assert status == 77 and "1 inconclusive" in out and "could not run" in out and "Traceback" not in err


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("launches = 3", r"it has no \[\[cells\]\]"),
        (
            "lunches = 3\n[[cells]]\nmodels = ['x']",
            "there is no key lunches; did you mean launches. the keys are cells, on",
        ),
        ("name = 'x'\n[[cells]]\nmodels = ['x']", "there is no key name; the keys are cells, on"),
        ("models = ['x']", "there is no key models; the keys are"),
        ("launches = '3'\n[[cells]]\nmodels = ['x']", "launches: expected `int`, got `str`"),
        ("peers = 'xnnpack'\n[[cells]]\nmodels = ['x']", "peers: expected `array`, got `str`"),
        ("[cells]\nmodels = ['x']", r"cells: write \[\[cells\]\]"),
        ("[[cells]]\nbackends = ['gles']", "cells: models is missing"),
        (
            "[[cells]]\nmodels = ['x']\nplaces = ['host']",
            "there is no key cells.places; the keys there are models, backends",
        ),
        ("[[cells]]\nmodel = ['x']", "there is no key cells.model; did you mean models"),
        ("[[cells]]\nmodels = 'x'", "cells.models: 'x' is not a list of words"),
        ("[[cells]]\nmodels = ['a/x', 'b/x']", "two cells have one name"),
        ("launches = 0\n[[cells]]\nmodels = ['x']", "launches: 0 is less than 1"),
        ("measure = 'best'\n[[cells]]\nmodels = ['x']", "'best' is not one of auto, wall"),
        (
            "[limits]\nspeed = {percent = 1}\n[[cells]]\nmodels = ['x']",
            "there is no key limits.speed; the keys there are init, first",
        ),
        ("[limits]\nsteady = 3\n[[cells]]\nmodels = ['x']", "limits.steady: 3 is not a table"),
        (
            "[limits]\nsteady = {sea = 3}\n[[cells]]\nmodels = ['x']",
            r"limits.steady.sea; did you mean see\? the keys there are percent",
        ),
        ("[limits]\nsteady = {see = 'a'}\n[[cells]]\nmodels = ['x']", "see: expected `float`, got `str`"),
        ("[[cells]\n", "Expected"),
    ],
)
def test_a_suite_that_makes_no_sense_is_a_sentence(tmp_path, text, reason):
    path = tmp_path / "suite.toml"
    path.write_text(text)
    with pytest.raises(Misuse, match=reason):
        suites.read(str(path))


def test_the_suites_that_ship_can_be_read_and_have_models_that_everyone_can_fetch():
    for path in suites.FOLDER.glob("*.toml"):
        cells = suites.read(path.stem).cells
        assert cells and {cell.model for cell in cells} <= set(models.catalogue())
    with pytest.raises(Misuse, match="nightly, quick"):
        suites.read("nobody")


def test_a_suite_fetches_nothing_and_says_before_it_runs_what_is_missing(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("QUADRA_MODELS_DIR", "")
    monkeypatch.setenv("QUADRA_DOWNLOADS_DIR", str(tmp_path / "none"))
    monkeypatch.setattr(models, "fetch", lambda *words: pytest.fail("nobody asked for it"))
    status, out, err = inv(capsys, "regress", "quick", "--on=nowhere")  # it does not get as far as to the devices
    assert status == 2 and "selfie_segmentation, mediapipe/face_detection_short_range" in err, out + err
    assert "next: `./inv models --fetch` (34.0 MiB), then run again" in err


def test_cells_are_told_apart_by_the_whole_name_of_their_model():
    names = [suites.Cell(name).key for name in ("v1_0.25_128", "v1_0.5_128", "a/v1_0.5_160.tflite")]
    assert names == ["v1_0.25_128/auto/f32", "v1_0.5_128/auto/f32", "v1_0.5_160/auto/f32"]


class Fleet:
    """Places that run nothing: they fail as told, and count."""

    def __init__(self, *errors):
        self.errors, self.calls = list(errors), 0

    def run(self, spec, show, runs_dir):
        self.calls += 1
        error = self.errors.pop(0) if self.errors else DeviceLost("run", "it is gone", serial="x")
        raise error


class Lane:
    """A place whose runs are those of a fleet. stopped: where a device, another thread can stop it."""

    kind = "host"

    def __init__(self, fleet, name, stopped=None):
        self.fleet, self.name, self.stopped = fleet, name, stopped

    def prepare(self, peers=()):
        pass

    def aim(self, spec):
        return spec

    def run(self, spec, show, runs_dir=None):
        return self.fleet.run(spec, show, runs_dir, *([self.stopped] if self.stopped else []))

    def stop(self):
        if self.stopped:
            self.stopped.set()
        return bool(self.stopped)


def lanes(monkeypatch, fleet, names=("a",)):
    monkeypatch.setattr(time, "sleep", lambda s: None)
    return [Lane(fleet, name) for name in names]


def test_each_signature_is_a_cell(capsys, suite, fake, tmp_path):
    (tmp_path / "sum.tflite").write_bytes(two_signatures())
    status, out, err = inv(capsys, "regress", suite, f"--library={fake}")
    assert status == 0 and "2 cells: 2 passed" in out, out + err
    assert "sum:encode/auto/f32" in out and "sum:decode/auto/f32" in out, out
    suite.write_text(suite.read_text().replace("sum.tflite", "sum.tflite:decode"))
    status, out, err = inv(capsys, "regress", suite, f"--library={fake}")
    assert status == 0 and "1 cell: 1 passed" in out and "sum:decode/auto/f32" in out, out + err


def test_free_sizes_of_a_row_are_those_of_its_cells(capsys, suite, fake, tmp_path):
    (tmp_path / "sum.tflite").write_bytes(two_signatures(free=True))
    suite.write_text(suite.read_text() + 'sizes = ["picture=1x7x9x6"]\n')
    status, out, err = inv(capsys, "regress", suite, f"--library={fake}")
    assert status == 0 and "sum:decode/auto/f32/picture=1x7x9x6" in out, out + err
    runs = [RunFolder(path.parent) for path in tmp_path.glob("runs/regress-*/2*/spec.json")]
    assert runs and all(run.tensors("inputs")[1].shape == [1, 7, 9, 6] for run in runs)
    suite.write_text(suite.read_text().replace("picture=", "pictur="))
    status, _, err = inv(capsys, "regress", suite, f"--library={fake}")
    assert status == 2 and "no model has such an input" in err and "picture" in err, err


def test_only_errors_that_say_so_are_tried_again(monkeypatch, suite):
    read = suites.read(str(suite))
    with History(settings.read().history) as history:
        fleet = Fleet()
        found = sessions.run(read, lanes(monkeypatch, fleet), history, "", False, print)
        assert fleet.calls == 3 and found.cases[0].exit_code == 85 and len(found.cases[0].launches) == 3
        fleet = Fleet(Misuse("run", "it is no model"))
        found = sessions.run(read, lanes(monkeypatch, fleet), history, "", False, print)
        assert fleet.calls == 1 and found.cases[0].error == "run: it is no model"
        assert len(history.stored(found.cases[0].row).launches) == 1


def test_devices_run_side_by_side_and_a_bug_in_one_ends_all(monkeypatch, suite):
    read = suites.read(str(suite))
    with History(settings.read().history) as history:
        places = lanes(monkeypatch, Fleet(), ("a", "b", "c"))
        found = sessions.run(read, places, history, "", False, lambda t: None)
        assert [case.device for case in found.cases] == ["a", "b", "c"] and all(case.error for case in found.cases)
        places = lanes(monkeypatch, Fleet(*[ZeroDivisionError()] * 3), ("a", "b"))
        with pytest.raises(ZeroDivisionError):
            sessions.run(read, places, history, "", False, lambda t: None)


def test_where_no_device_is_ready_each_is_named_and_no_session_begins(monkeypatch, suite):
    places = lanes(monkeypatch, Fleet(), ("a", "b"))
    refused = iter([DeviceUnusable("use the device a", "device offline"), BuildFailed("build it", "no compiler")])
    monkeypatch.setattr(Lane, "prepare", lambda place, peers=(): raise_(next(refused)))
    with History(settings.read().history) as history:
        with pytest.raises(QuadraError, match="none of 2 can be used") as failed:
            sessions.run(suites.read(str(suite)), places, history, "", False, print)
    assert "a: skipped, status 82: use the device a: device offline" in str(failed.value)
    assert "b: failed, status 76: build it: no compiler" in str(failed.value) and failed.value.exit_code == 76
    assert not list(settings.read().runs_dir.glob("regress-*"))


def test_in_a_lab_others_run_the_cells_of_a_device_that_cannot_be_prepared(monkeypatch, suite):
    fleet = SimpleNamespace(run=lambda spec, show, runs_dir: run_folders.make(runs_dir))
    places = lanes(monkeypatch, fleet, ("rack/a", "rack/b"))
    monkeypatch.setattr(places[1], "prepare", lambda peers=(): raise_(BuildFailed("build for b", "no compiler")))
    with History(settings.read().history) as history:
        found = sessions.run(suites.read(str(suite)), places, history, "", False, print, there=lambda name: True)
    assert [(case.device, case.error, len(case.good)) for case in found.cases] == [("rack/a", "", 2)]
    assert found.notes == ["rack/b is not used: build for b: no compiler"]


def raise_(error):
    raise error


def test_of_cells_that_could_not_run_each_cause_is_named_once_and_the_worst_gives_the_status():
    locked = [Case(f"m{n}/auto/f32", "a", error="device unauthorized", exit_code=82) for n in range(20)]
    error = CellsBroken([*locked, Case("m0/auto/f32", "b", error="it crashed", exit_code=96)], Path("regress-1"))
    assert error.exit_code == 96 and "of its cells 21 could not run" in error.came_back
    assert "m0/auto/f32 and 19 more on a: status 82: device unauthorized" in error.came_back
    assert "m0/auto/f32 on b: status 96: it crashed" in error.came_back and "--resume regress-1" in error.do_next


class Endless:
    """A place that waits for its device to be stopped, or for Ctrl-C where it has none; which comes when all wait."""

    def __init__(self, lanes):
        self.lanes, self.lock = lanes, threading.Lock()

    def run(self, spec, show, runs_dir, stopped=None):
        with self.lock:
            self.lanes -= 1
            if not self.lanes:
                threading.Timer(0.1, signal.raise_signal, [signal.SIGINT]).start()
        for _ in range(2000):
            if stopped and stopped.wait(0.01):
                raise DeviceLost("run", "it was stopped")
            WAIT(0.01)
        raise AssertionError("nobody stopped it")


WAIT = time.sleep


def test_ctrl_c_reaches_every_lane(monkeypatch, suite):
    places = lanes(monkeypatch, Endless(3), ("a", "b", "here"))
    for place in places[:2]:
        place.stopped = threading.Event()
    with History(settings.read().history) as history:
        found = sessions.run(suites.read(str(suite)), places, history, "", False, lambda text: None)
        stored = [history.stored(case.row) for case in found.cases]
    assert found.state == "interrupted" and all(place.stopped.is_set() for place in places[:2])
    assert [[one.state for one in cell.launches] for cell in stored] == [["interrupted"]] * 3
    assert {cell.state for cell in stored} == {"interrupted"}


def test_what_a_run_left_that_makes_no_sense_is_its_own_error(monkeypatch, suite, tmp_path):
    class Hostile:
        def run(self, spec, show, runs_dir):
            return run_folders.make(runs_dir, timings={"samples_us": {"quadra": ["no number"]}, "init_us": 7})

    places = lanes(monkeypatch, Hostile())
    with History(settings.read().history) as history:
        found = sessions.run(suites.read(str(suite)), places, history, "", False, lambda text: None)
    assert found.cases[0].exit_code == 77 and "is malformed" in found.cases[0].error


def test_ctrl_c_keeps_what_there_was_and_resume_goes_on(capsys, suite, fake, tmp_path):
    suite.write_text(suite.read_text().replace("launches = 2", "launches = 400"))
    words = [
        sys.executable,
        "-m",
        "host_tools.tasks.command_line",
        "regress",
        str(suite),
        f"--library={fake}",
        "--save=x",
    ]
    process = subprocess.Popen(words, cwd=settings.ROOT, env=dict(os.environ), stdout=subprocess.PIPE, text=True)
    runs, end = tmp_path / "runs", time.monotonic() + 60
    while len(list(runs.glob("regress-*/2*/trace.pftrace"))) < 2 and time.monotonic() < end:
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)  # as Ctrl-C, which the other test sends
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130 and "interrupted: partial results" in out and "not saved as x" in out, out
    (folder,) = runs.glob("regress-*")
    assert (folder / "regress.html").exists() and not list(folder.glob(".partial*"))
    with History(settings.read().history) as history:
        stored = history.stored(1)
    assert stored.state == "interrupted" and sum(one.ok for one in stored.launches) >= 2
    count = sum(one.ok for one in stored.launches)
    suite.write_text(suite.read_text().replace("launches = 400", f"launches = {count + 1}"))
    status, out, err = inv(capsys, "regress", suite, f"--library={fake}", f"--resume={folder.name}")
    assert status == 0 and f"resumed: {count} launches already there" in out, out + err
    with History(settings.read().history) as history:
        again = history.stored(1)
    assert again.state == "complete" and [one.number for one in again.launches if one.ok] == list(range(count + 1))
