"""docs/ci: the script with a stand-in for ./inv that notes what it was asked, and the page's job."""

import inspect
import re
import subprocess

import pytest
import yaml

from host_tools.base import settings
from host_tools.judge.regression import suite
from tests.host_tools.test_pages import TASKS

SCRIPT = settings.ROOT / "docs" / "ci" / "check_models.sh"
# Answers as the tasks do: b.tflite is wrong, c.tflite has two nodes on the CPU.
STAND_IN = r"""#!/bin/bash
printf '%s\n' "$*" >>"$(dirname "$0")/asked"
case "$1 $2" in
  support*c.tflite) [[ $* == *"--max-cpu-nodes 2"* ]] || exit 1 ;;
  run*b.tflite) exit 70 ;;
  regress*) sleep 0.05; mkdir -p "$QUADRA_RUNS_DIR/regress-1" && touch "$QUADRA_RUNS_DIR/regress-1/"junit.xml && exit "$(basename "$QUADRA_HISTORY")" ;;
esac
"""


def start(tmp_path, models, regress="0", **env):
    (tmp_path / "quadra").mkdir()
    (tmp_path / "quadra" / "inv").write_text(STAND_IN)
    (tmp_path / "quadra" / "inv").chmod(0o755)
    (tmp_path / "my models").mkdir()
    for name in models:
        (tmp_path / "my models" / f"{name}.tflite").touch()
    argv = [SCRIPT, tmp_path / "quadra", tmp_path / "my models", tmp_path / "out"]
    env = {"PATH": "/usr/bin:/bin", "QUADRA_HISTORY": regress, **env}
    done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=30)
    asked = tmp_path / "quadra" / "asked"
    return done, asked.read_text().splitlines() if asked.exists() else []


@pytest.mark.parametrize(
    ("models", "regress", "env", "status"),
    [
        ("a", "0", {}, 0),
        ("a", "1", {}, 1),
        ("ab", "1", {}, 70),  # the first failure's
        ("ac", "0", {}, 1),
        ("ac", "0", {"QUADRA_CI_CPU_NODES": "2"}, 0),
        ("", "0", {}, 2),
    ],
)
def test_its_status_is_that_of_the_first_failure(tmp_path, models, regress, env, status):
    done, asked = start(tmp_path, models, regress, **env)
    assert done.returncode == status, done.stderr
    assert [line.split()[0] for line in asked] == (["support", "run"] * len(models) + ["regress"] if models else [])
    assert (tmp_path / "out" / "junit.xml").exists() == bool(models)
    for line in asked:
        known = {f"--{name}".replace("_", "-") for name in inspect.signature(TASKS[line.split()[0]].body).parameters}
        assert set(re.findall(r"--[\w-]+", line)) <= known, line


@pytest.mark.parametrize(("env", "percent"), [({}, 20), ({"QUADRA_CI_PERCENT": "5"}, 5)])
def test_the_suite_is_one_that_regress_reads(tmp_path, env, percent):
    start(tmp_path, "ab", **env)
    found = suite.read(str(tmp_path / "out" / "models.toml"))
    assert found.limits["steady"].percent == percent
    assert [cell.model for cell in found.cells] == [str(tmp_path / "my models" / f"{name}.tflite") for name in "ab"]


def test_the_pages_job_runs_the_script_in_the_container_that_the_page_builds():
    page, container = ((settings.ROOT / "docs" / name).read_text() for name in ("ci.md", "ci/Containerfile"))
    job = yaml.safe_load(re.search(r"```yaml\n(.*?)```", page, re.DOTALL)[1])["jobs"]["quadra"]
    build = next(line for line in page.splitlines() if line.startswith("docker build"))
    assert f"--tag {job['container']} " in build and f"# {build}" in " ".join(container.split()).replace("#  ", "# ")
    assert (settings.ROOT / re.search(r"--file (\S+)", build)[1]).is_file()
    assert "COPY check_models.sh /usr/local/bin/" in container, "the job calls it by its name"
    assert any("check_models.sh quadra models ci-results" in step.get("run", "") for step in job["steps"])


def test_the_script_takes_the_command_of_an_installed_toolkit(tmp_path):
    """As in the container, where it is on PATH."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "quadra").write_text(STAND_IN)
    (tmp_path / "bin" / "quadra").chmod(0o755)
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "a.tflite").touch()
    env = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin", "QUADRA_HISTORY": "0"}
    argv = [SCRIPT, "quadra", "models", "out"]
    done = subprocess.run(argv, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in (tmp_path / "bin" / "asked").read_text().splitlines()] == [
        "support",
        "run",
        "regress",
    ]
