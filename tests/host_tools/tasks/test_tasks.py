"""The tasks from the command line, with a delegate that takes no node: what they print, and how they end."""

import json
import os
import webbrowser
from pathlib import Path

import msgspec
import numpy as np
import pytest

from host_tools.base import settings
from host_tools.judge import judged
from host_tools.record import printed, run_folder, schema
from host_tools.show import run_document
from host_tools.show.run_account import Ended
from host_tools.tasks import command_line
from tests.host_tools import run_folders
from tests.model_builder import Model


@pytest.fixture
def fake(fake):
    return f"--library={fake}"


@pytest.fixture
def model(tmp_path, monkeypatch):
    monkeypatch.setenv("QUADRA_RUNS_DIR", str(tmp_path / "runs"))
    monkeypatch.setenv("QUADRA_DRIVER_CACHE_DIR", str(tmp_path / "driver"))
    m = Model()
    x = m.input((1, 8, 8, 3), name="[red]in[/red]")
    m.output(m.add(x, np.ones((1, 8, 8, 3), np.float32)))
    path = tmp_path / "sum.tflite"
    path.write_bytes(m.bytes())
    return str(path)


def inv(capsys, *words):
    try:
        status = command_line.main(list(words))
    except SystemExit as ended:  # a task's own exit status
        status = ended.code
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_run_prints_verdicts_errors_times_and_where_to_look(capsys, model, fake):
    status, out, _ = inv(capsys, "run", model, "--runs=3", fake)
    assert status == 0
    for word in ("its only node stays on the CPU", "the fake takes nothing", "right", "steady median", "report.html"):
        assert word in out, word


def test_what_a_run_left_can_be_read_by_the_other_tasks(capsys, model, fake):
    inv(capsys, "run", model, "--runs=3", "--profile", fake)
    assert inv(capsys, "compare")[0] == 0
    status, out, _ = inv(capsys, "report", "latest")
    assert status == 0 and out.strip().endswith("report.html")
    status, out, _ = inv(capsys, "profile")
    assert status == 0 and "in 0 dispatches" in out
    assert inv(capsys, "plan")[0] == 2, "a run without partitions has no plan"


def test_a_wrong_run_fails_the_comparison(capsys, model, tmp_path):
    right = np.linspace(0, 1, 12, dtype=np.float32)
    run_folders.make(tmp_path / "runs", [right + np.float32(0.1)], [right])
    status, out, err = inv(capsys, "compare")
    assert status == 1 and "WRONG" in out and "is off by 0.1 of its range" in err


def test_json_is_all_that_goes_to_stdout(capsys, model, fake):
    status, out, _ = inv(capsys, "support", model, "--json", fake)
    assert status == 0 and json.loads(out)["cpu"] == 1
    assert inv(capsys, "support", model, "--max-cpu-nodes=1", fake)[0] == 0
    status, out, err = inv(capsys, "support", model, "--max-cpu-nodes=0", "--json", fake)
    assert status == 1 and json.loads(out)["cpu"] == 1 and "1 node stays on the CPU, more than 0" in err


def test_two_runs_are_compared_by_the_task(capsys, model, fake):
    for seed in (1, 2):
        assert inv(capsys, "run", model, "--runs=5", f"--seed={seed}", fake)[0] == 0
    ids = run_folder.list_ids(settings.read().runs_dir)
    status, out, _ = inv(capsys, "diff", ids[0], "latest")
    assert status == 1 and "different conditions: inputs" in out and "verdicts: the same" in out
    status, out, _ = inv(capsys, "diff", ids[0], ids[1], "--json")
    assert status == 1 and document(out, printed.DiffDocument).differ
    status, out, _ = inv(capsys, "diff", "latest", "--json", "latest")
    assert status == 0 and not document(out, printed.DiffDocument).differ
    status, out, err = inv(capsys, "diff", "latest")
    assert status == 2 and "it takes RUN RUN, there is only 'latest'" in err


def test_a_report_is_opened_where_there_is_a_display(capsys, model, tmp_path, monkeypatch):
    opened, works = [], [True, False]
    monkeypatch.setattr(webbrowser, "open", lambda url: opened.append(url) or works.pop(0))
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    run = run_folders.make(tmp_path / "runs")
    page = run.path / "report.html"
    status, out, err = inv(capsys, "open")
    assert (status, out.strip(), opened) == (0, str(page), []) and "no display" in err and page.is_file()
    monkeypatch.setenv("DISPLAY", ":0")
    assert inv(capsys, "open", run.path.name) == (0, f"{page}\n", "") and opened == [page.as_uri()]
    assert "no browser" in inv(capsys, "open", "latest")[2]


def test_open_finds_benches_and_regression_runs_and_what_ended_last(capsys, model, tmp_path, monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert "holds no runs" in inv(capsys, "open")[2]
    run = run_folders.make(tmp_path / "runs").path
    pages = {"bench-20260101-000000": "bench.html", "regress-20260102-000000-001": "regress.html"}
    for name, file in pages.items():
        (tmp_path / "runs" / name).mkdir()
        (tmp_path / "runs" / name / file).write_text("a page")

    def opened(*words):
        return inv(capsys, "open", *words)[1].strip()

    for age, last in enumerate([*pages.items(), (run.name, "status.json"), *pages.items()]):
        os.utime(tmp_path / "runs" / last[0] / last[1], (4e9 + age, 4e9 + age))
        shown = "report.html" if last[1] == "status.json" else last[1]
        assert opened() == str(tmp_path / "runs" / last[0] / shown)
    assert opened("latest") == opened(run.name) == opened(run.name[:12]) == str(run / "report.html")
    for name, file in pages.items():
        page = str(tmp_path / "runs" / name / file)
        assert opened(name) == opened(name[:14]) == opened(str(tmp_path / "runs" / name)) == page
    status, _, err = inv(capsys, "open", "nothing")
    assert status == 2 and all(name in err for name in (*pages, run.name))
    assert "did you mean bench-20260101-000000" in inv(capsys, "open", "bench-20260101-000001")[2]
    (tmp_path / "runs" / "bench-20260103").mkdir()
    (tmp_path / "runs" / "bench-20260103" / "bench.html").write_text("a page")
    assert "2 folders match" in inv(capsys, "open", "bench-2026")[2]
    assert "has no spec.json" in inv(capsys, "open", str(tmp_path))[2]


def document(out, kind):
    """What stdout has: one document, with no field that its type does not know."""
    assert schema.unknown(kind, json.loads(out)) == []
    return msgspec.json.decode(out, type=kind)


def test_a_run_as_json_is_one_document_also_where_it_fails(capsys, model, fake, tmp_path):
    status, out, _ = inv(capsys, "run", model, "--runs=3", "--json", fake)
    found = document(out, printed.RunDocument)
    (run,) = found.runs
    assert (status, found.exit_status, found.error) == (0, 0, None)
    assert (run.place, run.result, run.nodes, run.nodes_on_gpu, run.times["quadra"].samples) == (
        "host",
        "right",
        1,
        0,
        3,
    )
    assert run.compared.ok and run.times["xnnpack"].median > 0 and (tmp_path / "runs").samefile(Path(run.folder).parent)
    for words, kind in ((["--range=2"], "Misuse"), (["--backend=gles"], "Misuse"), (["--on=nowhere;"], "Misuse")):
        status, out, err = inv(capsys, "run", model, *words, "--json", fake)
        found = document(out, printed.RunDocument)
        assert status == found.exit_status == found.error.exit_status == 2 and found.error.kind == kind, words
        assert "error:" not in err and found.error.came_back
    status, out, _ = inv(capsys, "run", model, "--runs=3", "--on=host,host", "--json", "--library=/no/such.so")
    assert status == 2 and "no such file" in document(out, printed.RunDocument).error.came_back


def test_limits_of_a_run_fail_it_and_junit_has_them(capsys, model, fake, tmp_path):
    words = ["run", model, "--runs=3", "--max-error=0.5", "--max-ms=100000", f"--junit={tmp_path / 'j.xml'}", fake]
    assert inv(capsys, *words)[0] == 0 and 'failures="0"' in (tmp_path / "j.xml").read_text()
    _, report, _ = inv(capsys, "report")
    assert "--max-error=0.5" in Path(report.strip()).read_text()
    status, _, err = inv(capsys, *words, "--max-cpu-nodes=0")
    assert status == 1 and "1 node stays on the CPU, more than 0 (0 ADD: the fake takes nothing)" in err
    status, out, _ = inv(capsys, *words, "--max-cpu-nodes=0", "--json")
    assert status == 1 and document(out, printed.RunDocument).error.exit_status == 1
    assert 'failures="1"' in (tmp_path / "j.xml").read_text()
    (tmp_path / "j.xml").unlink()
    assert inv(capsys, *words, "--on=nowhere;")[0] == 2 and "<error" in (tmp_path / "j.xml").read_text()
    for wrong in ("--max-error=-1", "--max-error=x", "--junit=/no/such/folder/j.xml"):
        assert inv(capsys, "run", model, "--runs=3", wrong, fake)[0] in (2, 75), wrong


def test_a_run_that_crashes_or_is_wrong_says_so_in_its_document(capsys, model, fake, monkeypatch, tmp_path):
    right = np.linspace(0, 1, 12, dtype=np.float32)
    wrong = judged.judge(run_folders.make(tmp_path / "runs", [right + np.float32(0.1)], [right]))
    assert run_document.of([Ended("host", wrong)], None).runs[0].result == "wrong"
    monkeypatch.setenv("FAKE_DELEGATE", "crash")
    status, out, _ = inv(capsys, "run", model, "--runs=3", "--json", fake)
    (run,) = document(out, printed.RunDocument).runs
    assert (status, run.result, run.error.kind) == (77, "failed", "RunFailed") and Path(run.folder, "log.txt").exists()


def test_a_bench_of_a_model_and_its_limit(capsys, model, fake, tmp_path):
    status, out, err = inv(capsys, "bench", model, "--runs=3", "--limit=0.000001", fake)
    assert status == 1 and "relative to XNNPACK, 1 thread" in out and "over 1e-06" in err
    (folder,) = (p for p in (tmp_path / "runs").iterdir() if p.name.startswith("bench-"))
    value = json.loads((folder / "bench.json").read_text())
    quadra = value["rows"][0]["runners"]["quadra"]
    assert (
        set(quadra["steady"]) == {"1", "2"}
        and quadra["cold"]["median"] > 0
        and value["rows"][0]["over"]["xnnpack"]["steady"]["ratio"] > 0
    )
    assert len(run_folder.list_ids(folder)) == 2
    assert not run_folder.list_ids(tmp_path / "runs"), "runs of a bench are not in the way of others"
    status, out, _ = inv(capsys, "bench", model, f"--resume={folder}", "--limit=0.000001", "--json", fake)
    found = document(out, printed.BenchDocument)
    assert status == found.exit_status == 1 and "over 1e-06" in found.error.came_back and found.finished
    assert found.rows[0].runners["quadra"].steady["2"]["median"] > 0
    status, out, _ = inv(capsys, "bench", "no-such-model", "--json", fake)
    assert status == document(out, printed.BenchDocument).error.exit_status == 2


def test_a_backend_that_fails_leaves_the_other_ones_figures(capsys, model, fake, tmp_path):
    status, out, err = inv(capsys, "bench", model, "--backend=both", "--runs=3", fake)
    assert status == 1 and "sum on OpenGL ES" in err and "backend: gles is not in this fake" in out
    (folder,) = (p for p in (tmp_path / "runs").iterdir() if p.name.startswith("bench-"))
    opencl, gles = json.loads((folder / "bench.json").read_text())["rows"]
    assert opencl["over"]["xnnpack"]["steady"]["ratio"] > 0 and not opencl["error"]
    assert gles["error"] and "quadra" not in gles["runners"] and gles["backend"] == "gles"


@pytest.mark.parametrize(
    ("words", "status", "reason"),
    [
        (["run"], 2, "no MODEL is named"),
        (["run", "no-such-model"], 2, "no model of the catalogue has that name"),
        (["run", "MODEL", "--backend=cuda"], 2, "'cuda' is not one of"),
        (["run", "MODEL", "--precision=f8"], 2, "'f8' is not one of"),
        (["run", "MODEL", "--runs=0"], 2, "--runs"),
        (["run", "MODEL", "--runs=x"], 2, "read --runs: 'x' is not a whole number"),
        (["run", "MODEL", "--backend=null"], 2, "'null' is not one of auto, opencl, gles"),
        (["run", "MODEL", "--image=/no/such.png"], 2, "there is no such file"),
        (["run", "MODEL", "--image=/etc"], 2, "read the pictures of /etc: the folder has none"),
        (["compare", "/etc"], 2, "that folder has no spec.json"),
        (["cache"], 2, "error: inv cache: no subcommand is named"),
        (["lab"], 2, "error: inv lab: no subcommand is named"),
        (["run", "MODEL", "--range=2"], 2, "is not LOW,HIGH"),
        (["run", "MODEL", "--library=/no/such.so"], 2, "there is no such file"),
        (["run", "MODEL", "--backend=gles"], 2, "gles is not in this fake"),
        (["compare", "no-such-run"], 2, "holds no runs"),
        (["support", "no-such-model"], 2, "no model of the catalogue has that name"),
        (["bench", "no-such-model"], 2, "no model of the catalogue has that name"),
        (["bench", "MODEL", "--peer=shipped-gles"], 2, "add --on jvm"),
        (["bench", "MODEL", "--on=any", "--peer=litert-gpu"], 2, "on this machine only"),
        (["run", "MODEL", "--via=shell"], 2, "--via shell is for devices"),
        (["run", "MODEL", "--via=air", "--on=any"], 2, "'air' is not one of app, shell"),
        (["run", "MODEL", "--via=shell", "--on=any", "--cold"], 2, "only the app has a cache"),
        (["coverage", "MODEL"], 2, "`./inv support MODEL`"),
        (["devices", "--json"], 2, "`./inv device list`"),
        (["shell-run", "MODEL"], 2, "`./inv run MODEL --on any --via shell`"),
        (["install", "--remove"], 2, "`./inv uninstall`"),
        (["run", "MODEL", "--on=app"], 2, "give --on jvm"),
        (["regress", "quick", "--on=app"], 2, "give --on jvm"),
    ],
)
def test_misuse_is_a_sentence(capsys, model, fake, words, status, reason):
    given = [model if word == "MODEL" else word for word in words]
    takes_library = words[0] in ("run", "support", "bench") and not any("--library" in word for word in words)
    ended, out, err = inv(capsys, *given, *([fake] if takes_library else []))
    assert ended == status and reason in err and "Traceback" not in err + out
