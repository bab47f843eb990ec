"""docs/support/*.json say what the tests run, for every op of Quadra, and edge-compat's linter takes them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from host_tools.base import settings
from tests import parity, support_matrix
from tests.runs import BACKENDS

_WRITE = "`.venv/bin/python -m tests.support_matrix` writes them"


@pytest.fixture(scope="module")
def found():
    return support_matrix.entries()


def files():
    return {backend: support_matrix.FOLDER / f"quadra_{backend}.json" for backend in BACKENDS}


def test_the_files_are_those_of_the_tests(found):
    for backend, path in files().items():
        written = support_matrix.without_dates(json.loads(path.read_text()))
        now = support_matrix.without_dates(support_matrix.document(backend, "2000-01-01", found))
        old, new = (document.pop("entries") for document in (written, now))
        changed = [one for one in new if one not in old] + [one for one in old if one not in new]
        assert not changed, f"{_WRITE}; the first of {len(changed)} that changed: {changed[0]}"
        assert (written, len(old)) == (now, len(new)), _WRITE


def test_every_builtin_op_is_there(found):
    custom = {name for name in parity.op_names() if not name.isupper() or "." in name}
    there = {one["op"] for one in found if one["status"] != "fallback"}
    assert {*parity.op_names()} - custom - there == set(), "an op that no file names"


@pytest.mark.slow
def test_edge_compat_takes_them():
    """The tool whose format it is, from PyPI, installed once per machine."""
    folder = settings.read().tools_dir / "edge-compat-0.1.0"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".new-", dir=folder.parent) as name:
            words = ["install", "--quiet", "--retries", "1", "--target", f"{name}/made", "edge-compat==0.1.0"]
            done = subprocess.run([sys.executable, "-m", "pip", *words], capture_output=True, text=True, timeout=600)
            if done.returncode and "(from versions: none)" in done.stderr:
                pytest.skip("PyPI is not reached")
            assert not done.returncode, done.stderr
            (Path(name) / "made").rename(folder)
    program = "import sys; from litert_compat.cli import app; app(sys.argv[1:])"
    for path in files().values():
        command = [sys.executable, "-c", program, "matrix", "validate", str(path)]
        done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(folder)}, capture_output=True, text=True)
        assert not done.returncode and "PASS" in done.stdout, done.stdout + done.stderr
