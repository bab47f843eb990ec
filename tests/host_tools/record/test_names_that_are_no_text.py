"""Names of files and tensors whose bytes are not UTF-8 end in a sentence that shows them, never in a traceback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from host_tools.base import errors, settings
from host_tools.base.errors import Misuse
from host_tools.record import run_folder
from host_tools.request import from_arguments, model_facts
from tests.host_tools import run_folders
from tests.model_builder import Model


def model_of(first="x", name="y"):
    m = Model()
    x = m.input((1, 8, 8, 3), name=first)
    m.output(m.op("ADD", [x, x], (1, 8, 8, 3), "AddOptions", output={"name": name}))
    return m.bytes()


def path_of(folder, name: bytes) -> Path:
    return Path(os.fsdecode(os.fsencode(folder) + b"/" + name))


@pytest.mark.parametrize("name", [b"a\xff.tflite", b"d\xfe/a.tflite"])
def test_a_models_path(name, tmp_path):
    """Seen red: the run's process did not find 'a?.tflite', status 77."""
    path = path_of(tmp_path, name)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(model_of())
    with pytest.raises(Misuse) as caught:
        from_arguments.make_spec(str(path))
    assert name.decode("ascii", "backslashreplace") in str(caught.value) and "is not UTF-8" in str(caught.value)


def test_a_pictures_and_a_targets_path(tmp_path):
    (tmp_path / "m.tflite").write_bytes(model_of())
    picture, target = path_of(tmp_path, b"\xff.png"), path_of(tmp_path, b"\xff.json")
    Image.new("RGB", (8, 8)).save(picture)
    target.write_text("{}")
    for words in ({"image": str(picture)}, {"target": str(target)}):
        with pytest.raises(Misuse, match="is not UTF-8"):
            from_arguments.make_spec(str(tmp_path / "m.tflite"), **words)


@pytest.mark.parametrize("kind", ["input", "output"])
def test_a_tensors_name(kind):
    """Seen red: UnicodeDecodeError in the interpreter's own Python, status 77."""
    content = model_of((kind == "input" and "XYZ") or "x", name=(kind == "output" and "XYZ") or "y").replace(
        b"XYZ", b"\xffYZ"
    )
    with pytest.raises(Misuse, match=r"the name of an input or output is not UTF-8: '\\xffYZ'"):
        model_facts.read(content, "m")


def test_a_folder_of_a_setting(tmp_path):
    with pytest.raises(Misuse, match="read QUADRA_RUNS_DIR.*is not UTF-8"):
        settings.read({"QUADRA_RUNS_DIR": str(path_of(tmp_path, b"\xff"))})
    spec = run_folders.make(tmp_path).spec()
    with pytest.raises(Misuse, match="is not UTF-8"):
        run_folder.start(spec, path_of(tmp_path, b"\xff"))


def test_what_a_task_prints(tmp_path):
    """Seen red: UnicodeEncodeError from print."""
    folder = run_folders.make(tmp_path)
    there = path_of(tmp_path, b"\xfe")
    folder.path.rename(there)
    (path_of(there, b"file \xff.txt")).write_text("")
    argv = [sys.executable, "-P", "-m", "host_tools.tasks.command_line", "report", "--run", str(there)]
    env = {**os.environ, "PYTHONPATH": str(settings.ROOT), "PYTHONUTF8": "1", "PYTHONIOENCODING": "utf-8:strict"}
    done = subprocess.run(argv, env=env, capture_output=True, check=False)
    assert done.returncode == 0 and b"\\udcfe/report.html" in done.stdout, done.stderr
    assert "file ?.txt" in (there / "report.html").read_text()


def test_an_error_shows_the_bytes(tmp_path):
    assert str(errors.Misuse("read " + os.fsdecode(b"a\xff"), "x", "y")) == "read a\\xff: x\n  next: y"
    assert str(errors.Misuse("read äé\\x", "x")) == "read äé\\x: x"
    partial = run_folder.start(run_folders.make(tmp_path).spec(), tmp_path / "runs")
    kept = run_folder.finish(partial, "failed", error=errors.Misuse(os.fsdecode(b"a\xff"), "x", "y"))
    assert kept.status().error.parts == ["a\\xff", "x", "y"]
