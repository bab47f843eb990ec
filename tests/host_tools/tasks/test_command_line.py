"""The command line answers in sentences and exit statuses, from any folder."""

import contextlib
import io
import os
import re
import subprocess
import sys

import pytest

from host_tools.base import settings
from host_tools.base.errors import BuildFailed, JudgementFailed, Misuse, QuadraError
from host_tools.dev import repository
from host_tools.tasks import command_line, task_help
from tests.host_tools import run_folders
from tests.task_contexts import CONTEXTS

INV = settings.ROOT / "inv"


def inv(*words, cwd=None, **env):
    return subprocess.run(
        [INV, *words], cwd=cwd, env={**os.environ, **env}, capture_output=True, text=True, timeout=120
    )


def test_alone_it_lists_the_tasks_from_any_folder(tmp_path):
    (tmp_path / "tasks.py").write_text("raise SystemExit('another tasks.py')")
    (tmp_path / "json.py").write_text("raise SystemExit('another json.py')")
    done = inv(cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert {"build", "clean", "doctor", "models", "size", "test"} <= set(done.stdout.split())


def test_tables_and_sentences_read_alike_where_the_encoding_is_ascii(tmp_path, monkeypatch):
    folder = run_folders.make(tmp_path)
    done = inv("compare", str(folder.path), LC_ALL="C", PYTHONUTF8="0")
    assert done.returncode == 0 and "1x3x4" in done.stdout and "\\x" not in done.stdout, done.stderr
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, io.TextIOWrapper(io.BytesIO(), "ascii"))
    monkeypatch.setattr(command_line._Program, "run", lambda self, argv: print("0.50 ×"))
    assert command_line.main(["compare"]) == 0
    print("8×8", file=sys.stderr)
    for stream, written in ((sys.stdout, b"0.50 x\n"), (sys.stderr, b"8x8\n")):
        stream.flush()
        assert stream.buffer.getvalue() == written


@pytest.mark.parametrize(
    "words",
    [
        ["run", "--help"],
        ["run", "model.tflite", "--help"],
        ["--help", "run"],
        ["run", "-h"],
        ["help", "run"],
        ["run", "--bakend", "--help"],
    ],
)
def test_help_of_a_task_may_stand_before_or_behind_it(words):
    done = inv(*words)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Usage: ./inv run MODEL [options]")
    assert "writes a run folder" in done.stdout and "Also measure every dispatch." in done.stdout


@pytest.mark.parametrize("words", [["--help"], ["-h"], ["help"], ["--list"], ["-l"]])
def test_help_alone_lists_the_tasks(words, capsys):
    with pytest.raises(SystemExit) as ended:
        command_line.main(words)
    assert not ended.value.code and "`./inv --help TASK`" in (said := capsys.readouterr().out) and "bisect" in said


def test_help_shows_words_and_the_values_of_options(capsys):
    with pytest.raises(SystemExit):
        command_line.main(["--help", "bench"])
    said = capsys.readouterr().out
    assert said.startswith("Usage: ./inv bench [MODEL...] [options]") and "--models" not in said
    assert "--limit-shipped=NUMBER" in said and "--runs=INT" in said and "-b, --backend=opencl|gles|both" in said
    assert "xnnpack, shipped-opencl, shipped-gles, litert-gpu. Only these" in " ".join(said.split())


def test_a_shell_can_complete_tasks_and_options(capsys):
    for words, candidates in (("./inv ", {"run", "device", "open"}), ("inv run --", {"--via", "--json"})):
        with pytest.raises(SystemExit):
            command_line.main(["--complete", "--", words])
        assert candidates <= set(capsys.readouterr().out.split())
    for words, offered in (
        ("inv device ", "list start stop fault faults"),
        ("inv device st", "list start stop fault faults"),
        ("inv cache ", "list show verify diff prune"),
        ("inv device fault x", ""),
        ("inv run ", ""),  # a model: the shell offers files
        ("inv run m.tflite --image ", ""),
        ("inv run m.tflite --on v", "all any host jvm virtual"),
        ("inv run m.tflite -b", "auto opencl gles"),
        ("inv run m.tflite -b gles ", ""),  # it is whole
        ("inv run m.tflite --precision f32", "f32 f32_f16 f16"),
        ("inv device start ", ""),
        ("inv run m.tflite --backend = op", "auto opencl gles"),  # as bash takes it apart
        ("inv run m.tflite --backend=op", "--backend=auto --backend=opencl --backend=gles"),
        ("inv regress ", "nightly quick"),
        ("inv no-such-task x", ""),
    ):
        with pytest.raises(SystemExit):
            command_line.main(["--complete", "--", words])
        assert capsys.readouterr().out.split() == offered.split(), words
    with pytest.raises(SystemExit):
        command_line.main(["--print-completion-script", "bash"])
    assert "complete -F _complete_inv -o default inv ./inv" in capsys.readouterr().out


def test_the_list_has_each_task_once_by_what_it_is_for(capsys, monkeypatch):
    grouped = [name for names in task_help.GROUPS.values() for name in names]
    assert sorted(grouped) == sorted(CONTEXTS)
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        command_line.main(["--list"])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80 and [line for line in lines if line in task_help.GROUPS] == [*task_help.GROUPS]
    assert [line.split()[0] for line in lines if re.match(r"  \S", line)] == grouped


def test_an_installed_toolkit_lists_no_group_without_tasks():
    text = task_help.overview({"run": "Run a model.\n\nMore of it."})
    assert text == "Available tasks\n\nRun models and judge them\n  run  Run a model."


def test_it_works_through_a_link(tmp_path):
    (tmp_path / "quadra").symlink_to(INV)
    done = subprocess.run([tmp_path / "quadra"], capture_output=True, text=True, timeout=120)
    assert "Available tasks" in done.stdout, done.stderr


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["run"], "no MODEL is named"),
        (["no-such-task"], "there is no task no-such-task"),
        (["supprot", "m"], "did you mean support?"),
        (["--lsit"], "did you mean --list?"),
        (["--backend", "gles", "run", "m"], "a task's options follow it: `./inv TASK --backend`"),
        (["models", "--no-such-option"], "there is no option --no-such-option"),
        (["regress", "quikc"], "did you mean quick?"),
        (["open", "lastest"], "holds no runs"),
        (["--print-completion-script", "csh"], "give one of bash, zsh, fish"),
        (["models", "--path", "no-such-model"], "no model of the catalogue has that name"),
        (["size", "--library", "/etc/passwd"], "Magic number does not match"),
        (["size", "--library", "/no/such.so"], "No such file"),
    ],
)
def test_misuse_is_a_sentence_and_status_2(words, reason):
    done = inv(*words)
    assert done.returncode == 2
    assert reason in done.stderr and "next: " in done.stderr and "Traceback" not in done.stderr


def test_debug_shows_where_an_error_came_from():
    assert "Traceback" in inv("models", "--path", "no-such-model", QUADRA_DEBUG="1").stderr


def test_a_wrong_debug_level_is_misuse():
    done = inv("models", QUADRA_DEBUG="loud")
    assert done.returncode == 2 and "'loud' is not one of 0..5" in done.stderr


def test_a_bazel_that_is_not_there_is_infrastructure():
    done = inv("build", QUADRA_BAZEL="/no/such/bazel")
    assert done.returncode == 73 and "/no/such/bazel" in done.stderr


def test_an_error_has_three_parts():
    assert str(QuadraError("do this", "that came back", "do so")) == "do this: that came back\n  next: do so"
    assert (JudgementFailed("", "").exit_code, Misuse("", "").exit_code) == (1, 2)
    assert BuildFailed("", "").exit_code >= 70


def test_the_lock_holds_every_dependency_at_its_version():
    wanted = repository.packages()
    locked = (settings.ROOT / "requirements.lock").read_text().lower().splitlines()
    assert not [line for line in wanted if line.lower() not in locked]


def test_a_pipe_that_is_closed_early_is_no_error():
    script = f"set -o pipefail; {INV} --list | head -n 1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=120)
    assert "Traceback" not in done.stderr and done.returncode in (0, 141), done.stderr


def test_what_it_prints_can_be_caught_by_a_program():
    with contextlib.redirect_stdout(io.StringIO()) as said, pytest.raises(SystemExit) as ended:
        command_line.main(["--list"])
    assert not ended.value.code and "support" in said.getvalue()
