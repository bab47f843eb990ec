"""Why something cannot be written is told apart, each with its own next step: on real file systems where that can be had."""

import errno
import os
import sys

import pytest

from host_tools.base import child_process, errors, settings
from tests.model_builder import Model

REASONS = {
    errno.EROFS: ("the file system is read-only", "mount it for writing"),
    errno.ENOSPC: ("the disk is full", "free space there"),
    errno.EDQUOT: ("the disk quota is used up", "delete files of yours"),
    errno.EACCES: ("permission denied", "that you may write"),
    errno.EPERM: ("permission denied", "that you may write"),
    errno.EIO: ("Input/output error", "that can be written"),
}


@pytest.mark.parametrize("number", REASONS, ids=errno.errorcode.get)
def test_each_reason_has_its_next_step(number):
    error = errors.not_written("write x", OSError(number, os.strerror(number)), "QUADRA_HISTORY")
    reason, do_next = REASONS[number]
    assert (
        error.came_back == reason
        and do_next in error.do_next
        and "QUADRA_HISTORY" in error.do_next
        and error.exit_code == 75
    )


def elsewhere(options: str, code: str, *words: object) -> str:
    """What `code` prints with a file system of its own mounted at /mnt; skips where a user may not mount one."""
    mount = f'mount -t tmpfs -o {options} none /mnt && exec "$@"'
    argv = ["unshare", "-rm", "sh", "-c", mount, "sh", sys.executable, "-P", "-c", code, *words]
    try:
        done = child_process.run(argv, timeout_s=60, env={"PYTHONPATH": str(settings.ROOT)}, check=False)
    except errors.ToolMissing as error:
        pytest.skip(str(error))
    if done.returncode and "Traceback" not in done.stderr:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    assert not done.returncode, done.stderr
    return done.stdout


SAID = """
from pathlib import Path
from host_tools.base import errors, settings
from host_tools.record import run_folder
import numpy as np
def said(what, *words):
    try:
        what(*words)
    except errors.FolderNotWritable as error:
        print(error.came_back, "|", error.do_next)
"""


def test_a_read_only_file_system_is_no_lack_of_permission():
    """Seen red: permission denied."""
    out = elsewhere(
        "ro", SAID + "said(settings.make_folder, Path('/mnt'), 'X'); said(settings.make_folder, Path('/mnt/a'), 'X')"
    )
    assert out.count("the file system is read-only | set X to a folder on another one, or mount it for writing") == 2


def test_a_full_disk_is_told_as_one_whatever_is_written():
    """Seen red for arrays: numpy writes past Python, and says how many of its values were written."""
    code = "said(run_folder.write_arrays, Path('/mnt/outputs'), [np.zeros(100000)]); said(run_folder.write_text, Path('/mnt/a'), 'x' * 100000)"
    out = elsewhere("size=64k", SAID + code)
    assert out.count("the disk is full | free space there, or set QUADRA_RUNS_DIR") == 2


def test_a_disk_that_fills_up_in_a_run_is_told_by_its_process_and_in_its_folder(tmp_path, fake):
    """Seen red: it came as a bug of the delegate; and what was half written left no room for status.json."""
    m = Model()
    x = m.input((1, 128, 128, 8))  # half a megabyte of inputs
    m.output(m.add(x, x))
    (tmp_path / "sum.tflite").write_bytes(m.bytes())
    code = (
        SAID
        + f"""
from host_tools.request.from_arguments import make_spec
from host_tools.places.on_host import Host
import os, shutil, sys
os.environ.update(QUADRA_RUNS_DIR="/mnt/runs", QUADRA_DRIVER_CACHE_DIR={str(tmp_path / "driver")!r})
place = Host(Path(sys.argv[2]))
for _ in range(2):
    said(lambda: place.run(place.aim(make_spec(sys.argv[1]))))
print([path.name for path in Path("/mnt/runs").glob(".partial-*")])
print([run_folder.RunFolder(path).status().error.exit_code for path in Path("/mnt/runs").glob("2*")])
print(shutil.disk_usage("/mnt").used < 200e3, all((path / "log.txt").exists() for path in Path("/mnt/runs").glob("2*")))
"""
    )
    out = elsewhere("size=700k", code, tmp_path / "sum.tflite", fake)
    assert out.count("the disk is full | free space there") == 2 and out.endswith("[]\n[75, 75]\nTrue True\n")


def test_a_run_whose_end_finds_no_room_frees_what_it_holds_and_has_failed():
    """Seen red: its partial folder stayed, and the disk full."""
    code = """
import contextlib, shutil
from host_tools.record import spec as specs
runs = Path("/mnt/runs")
spec = specs.RunSpec(specs.new_run_id("m"), specs.ModelRef("m", "", "0" * 64), place="host")
partial = run_folder.start(spec, runs)
(partial / "log.txt").write_text("line " * 20000 + "the last word")
(partial / "outputs").mkdir()
with open(partial / "outputs" / "000.npy", "wb", buffering=0) as file, contextlib.suppress(OSError):
    while True:
        file.write(b"x" * 4096)
said(run_folder.finish, partial, run_folder.COMPLETE, "done")
(found,) = [run_folder.RunFolder(path) for path in runs.glob("2*")]
print(found.status().state, found.status().error.exit_code, found.log()[-8:], len(found.log()), shutil.disk_usage("/mnt").used < 120e3)
print(sorted(path.name for path in found.path.iterdir()), *[path.name for path in runs.glob(".*")])
"""
    said, found, names = elsewhere("size=600k", SAID + code).splitlines()
    assert said.startswith("the disk is full | free space there")
    assert found == f"failed 75 ast word {64 << 10} True" and names == "['log.txt', 'spec.json', 'status.json']"


def test_a_run_as_somebody_else_is_a_lack_of_permission(tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    tmp_path.chmod(0o555)
    with pytest.raises(errors.FolderNotWritable, match="permission denied"):
        settings.make_folder(tmp_path, "X")
