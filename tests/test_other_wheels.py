"""Other releases of ai-edge-litert than the one that the tests run with: the delegate and the accelerator do the same there.

Each is installed from PyPI into a folder of its own, once per machine.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from ai_edge_litert.interpreter import Interpreter

from host_tools.base import settings
from host_tools.base.settings import ROOT
from host_tools.build import bazel
from tests import cpu
from tests.compiled import Compiled, variables
from tests.delegate import Quadra, options
from tests.test_models import random_feeds

pytestmark = pytest.mark.slow
RELEASES = ("2.1.6", "2.2.0")
MODELS = ("face_detection_short_range", "mobilenet_v1_0.25_128_quant")
_NO_INDEX = "(from versions: none)"  # an index that is reached names some
_PRINT = (
    "import ai_edge_litert.interpreter as i, importlib.metadata as m; print(m.version('ai-edge-litert'), i.__file__)"
)


@pytest.fixture(scope="module", params=RELEASES)
def wheel(request) -> Path:
    """The folder of a release, which is whole or not there."""
    folder = settings.read().tools_dir / "ai-edge-litert" / request.param
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".new-", dir=folder.parent) as name:
            new = Path(name) / "wheel"
            words = [
                "install",
                "--quiet",
                "--no-deps",
                "--retries",
                "1",
                "--target",
                new,
                f"ai-edge-litert=={request.param}",
            ]
            done = subprocess.run(
                [sys.executable, "-m", "pip", *words], capture_output=True, text=True, timeout=600, check=False
            )
            if done.returncode and _NO_INDEX in done.stderr:
                pytest.skip(f"PyPI is not reached: {done.stderr.strip().splitlines()[0]}")
            assert not done.returncode, done.stderr
            new.rename(folder)
    return folder


def path_of(wheel: Path) -> str:
    """So that a worker's process takes the release before the one of this environment."""
    return os.pathsep.join([str(wheel), str(ROOT)])


def test_it_is_that_release(wheel):
    env = {**os.environ, "PYTHONPATH": path_of(wheel)}
    said = subprocess.run(
        [sys.executable, "-P", "-c", _PRINT], env=env, capture_output=True, text=True, check=True
    ).stdout
    assert said.split() == [wheel.name, str(wheel / "ai_edge_litert" / "interpreter.py")]


@pytest.mark.parametrize("backend", ["opencl", "gles"])
@pytest.mark.parametrize("name", MODELS)
def test_the_accelerator_and_the_delegate_run_the_same_nodes_with_the_same_bits(
    wheel, quadra, model_path, name, backend
):
    raw = model_path(name).read_bytes()
    feeds = random_feeds(Interpreter(model_content=raw))
    want = quadra.run(raw, feeds, **options(backend=backend))
    assert want.nodes and not want.on_cpu()
    accelerator = bazel.accelerator()
    workers = Compiled(accelerator, PYTHONPATH=path_of(wheel)), Quadra(quadra.library, PYTHONPATH=path_of(wheel))
    try:
        through = workers[0].run(raw, feeds, env=variables(backend))
        assert not through.error, f"{through.error}\n{workers[0].log()[-2000:]}"
        plain = workers[1].run(raw, feeds, **options(backend=backend))
        for found in (through, plain):
            assert not found.error and found.nodes == want.nodes and found.report["backend"] == backend
            for mine, other in zip(found.outputs[-1], want.outputs[-1], strict=True):
                assert mine.tobytes() == other.tobytes()
        assert through.report["fully_accelerated"]
        if not name.endswith("quant"):
            through.check(cpu.run(raw, feeds), 1e-4)
    finally:
        for worker in workers:
            worker.close()
