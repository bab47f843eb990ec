"""What ./inv does in a checkout that is not set up yet."""

import os
import shutil
import signal
import subprocess
import time

import pytest

from host_tools.base import settings

PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


@pytest.fixture
def checkout(tmp_path):
    """A copy of what set-up needs, without .venv, in a folder with a blank in its name."""
    root = tmp_path / "my checkout"
    root.mkdir()
    for name in ("inv", "requirements.lock", "tasks.py"):
        shutil.copy(settings.ROOT / name, root)
    shutil.copytree(settings.ROOT / "host_tools", root / "host_tools", ignore=shutil.ignore_patterns("__pycache__"))
    return root


def inv(checkout, *words, **env):
    env = {"PATH": PATH, "HOME": str(checkout), **env}
    return subprocess.run([checkout / "inv", *words], env=env, capture_output=True, text=True, timeout=300)


def test_the_doctor_needs_no_environment_and_makes_none(checkout):
    done = inv(checkout, "doctor")
    assert done.returncode == 73 and done.stderr == ""
    assert "MISSING Python packages of requirements.lock" in done.stdout
    assert "./inv   (makes .venv; needs the network once)" in done.stdout
    assert not (checkout / ".venv").exists() and not (checkout / ".cache").exists()


def test_without_network_it_says_so_and_leaves_no_half_made_environment(checkout):
    done = inv(checkout, "models", PIP_NO_INDEX="1")
    assert done.returncode == 73
    assert "error: install the Python packages of requirements.lock: pip failed" in done.stderr
    assert "next: connect to the network" in done.stderr
    assert not list(checkout.glob(".venv*"))


@pytest.mark.skipif(os.geteuid() != 0, reason="it installs packages as root only")
@pytest.mark.parametrize("package", ["python3-none", "none"])  # before .venv is made, and beside that
def test_a_signal_waits_for_the_packages(checkout, package):
    """apt-get is a script that a signal would end, as it ends dpkg."""
    (checkout / "host_tools/tasks/debian_packages.txt").write_text(f"{package} /nothing/there\n")
    apt = checkout / "bin" / "apt-get"
    apt.parent.mkdir()
    apt.write_text('#!/bin/sh\ncase $* in *install*) cd "$HOME"; touch began; sleep 1; touch installed ;; esac\n')
    apt.chmod(0o755)
    env = {"PATH": f"{apt.parent}:{PATH}", "HOME": str(checkout), "PIP_NO_INDEX": "1"}
    started = subprocess.Popen(
        [checkout / "inv"], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    limit = time.monotonic() + 60
    while not (checkout / "began").exists() and time.monotonic() < limit:
        time.sleep(0.05)
    started.send_signal(signal.SIGTERM)
    _, said = started.communicate(timeout=60)
    assert started.returncode == 130 and "once apt-get is done" in said
    assert (checkout / "installed").exists() and not list(checkout.glob(".venv*"))
