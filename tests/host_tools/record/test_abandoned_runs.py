"""What killed runs left is cleared by the next run, if nobody works there and it is ours; nothing else is touched."""

import os
import signal
import subprocess
import sys
import time

import pytest

from host_tools.base import settings
from host_tools.base.errors import FolderNotWritable, Misuse
from host_tools.places.on_host import Host
from host_tools.record import run_folder, spec as specs
from tests.host_tools import run_folders

MODEL = specs.ModelRef("m", "/m.tflite", "0" * 64)
# A run whose child outlives it: it prints the folder and the child's number, and waits to be killed.
RUN = """
import sys, time
from pathlib import Path
from host_tools.record import run_folder, spec as specs
from host_tools.places.attempt import Attempt
spec = specs.RunSpec(specs.new_run_id("killed"), specs.ModelRef("m", "/m.tflite", "0" * 64))
folder = run_folder.start(spec, Path(sys.argv[1]))
print(folder, flush=True)
attempt = Attempt(folder, spec, lambda stage: print(stage, flush=True))
attempt.start("run", [sys.executable, "-c", "import os, time; print('stage:', os.getpid(), flush=True); time.sleep(100)"], {})
"""


def begin(runs):
    """Starts the run above: its process, its folder, its child's number."""
    words = [sys.executable, "-P", "-c", RUN, str(runs)]
    process = subprocess.Popen(
        words, env={**os.environ, "PYTHONPATH": str(settings.ROOT)}, stdout=subprocess.PIPE, text=True
    )
    folder, child = process.stdout.readline().strip(), int(process.stdout.readline())
    return process, run_folder.Path(folder), child


def next_run(runs, number=1):
    return run_folder.start(specs.RunSpec(f"20990101-000000-{number:03d}-next", MODEL), runs)


def test_a_killed_run_is_cleared_when_its_last_process_has_ended(tmp_path):
    process, folder, child = begin(tmp_path)
    next_run(tmp_path, 1)
    assert folder.exists()  # it goes on
    process.kill()
    process.wait()
    next_run(tmp_path, 2)
    assert folder.exists()  # its child still writes there
    os.kill(child, signal.SIGKILL)
    end = time.monotonic() + 10
    while folder.exists() and time.monotonic() < end:
        run_folder.clear(tmp_path)
        time.sleep(0.05)
    assert not folder.exists()
    assert sorted(path.name[-8:] for path in tmp_path.glob(".partial-*")) == [
        "001-next",
        "002-next",
    ]  # this process holds them


def test_a_folder_that_another_process_holds_is_left_to_it(tmp_path):
    process, folder, child = begin(tmp_path)
    try:
        spec = run_folder.RunFolder(folder).spec()
        with pytest.raises(Misuse, match="another process works in"):
            run_folder.start(specs.RunSpec(spec.run_id, specs.ModelRef("other", "", "")), tmp_path)
        assert not run_folder.began(folder) and run_folder.RunFolder(folder).spec() == spec
        (folder / "spec.json").unlink()
        assert not run_folder.began(folder) and folder.exists()
    finally:
        process.kill()
        process.wait()
        os.kill(child, signal.SIGKILL)


def abandoned(runs, run_id="20260101-000000-000-x", place="host"):
    """A partial folder that nobody holds."""
    path = runs / f".partial-{run_id}"
    path.mkdir(parents=True)
    device = {"device": "serial"} if place == "device" else {}
    run_folder.write_json(path / "spec.json", specs.RunSpec(run_id, MODEL, place=place, **device))
    return path


def test_one_that_nobody_holds_goes_whatever_is_in_it(tmp_path):
    whole, damaged, empty = (abandoned(tmp_path, f"20260101-000000-00{n}-x") for n in range(3))
    (damaged / "spec.json").write_text("{")
    (empty / "spec.json").unlink()
    next_run(tmp_path)
    assert not whole.exists() and not damaged.exists() and not empty.exists()


def test_that_of_a_device_stays_a_week_for_pull(tmp_path):
    folder = abandoned(tmp_path, place="device")
    next_run(tmp_path, 1)
    assert folder.exists()
    old = time.time() - 8 * 24 * 3600
    os.utime(folder, (old, old))
    next_run(tmp_path, 2)
    assert not folder.exists()


def test_what_is_not_ours_is_left(tmp_path):
    other_names = [tmp_path / name for name in (".partial-", ".partial-mine", ".partial-20260101-000000-000-x.d/y")]
    for path in other_names:
        path.mkdir(parents=True)
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / ".partial-20260101-000000-001-link").symlink_to(outside)
    (tmp_path / ".partial-20260101-000000-002-file").write_text("")
    foreign = abandoned(tmp_path, "20260101-000000-003-x")
    if os.geteuid() == 0:
        os.chown(foreign, 12345, -1)
    next_run(tmp_path)
    assert (
        all(path.exists() for path in other_names[:2])
        and outside.exists()
        and (tmp_path / ".partial-20260101-000000-002-file").exists()
    )
    assert foreign.exists() == (os.geteuid() == 0)


def test_a_finished_run_holds_nothing_more(tmp_path):
    before = set(os.listdir("/proc/self/fd"))
    for _ in range(3):
        run_folders.make(tmp_path)
    assert len(set(os.listdir("/proc/self/fd")) - before) == 0


def test_a_run_that_cannot_be_finished_leaves_nothing(tmp_path, monkeypatch):
    partial = next_run(tmp_path, 1)

    def full(path, text):
        raise FolderNotWritable(f"write {path}", "the disk is full", "free space there")

    with monkeypatch.context() as patch:
        patch.setattr(run_folder, "write_text", full)
        with pytest.raises(FolderNotWritable):
            run_folder.finish(partial, "failed")
    assert not list(tmp_path.glob("*")) and not partial.exists()


def test_ctrl_c_while_a_run_begins_leaves_a_folder_with_its_name_or_none(tmp_path, monkeypatch):
    """Right behind the making of the folder, and right behind its spec.json."""
    for name, states in (("hold", []), ("start", ["interrupted"])):
        runs = tmp_path / name

        with monkeypatch.context() as patch:

            def stopped(*words, real=getattr(run_folder, name), once=patch.undo):
                real(*words)
                once()
                raise KeyboardInterrupt

            patch.setattr(run_folder, name, stopped)
            with pytest.raises(KeyboardInterrupt):
                Host(tmp_path / "libquadra.so").run(specs.RunSpec(specs.new_run_id("m"), MODEL), runs_dir=runs)
        assert not list(runs.glob(".partial*"))
        assert [run_folder.find(run_id, runs).status().state for run_id in run_folder.list_ids(runs)] == states
