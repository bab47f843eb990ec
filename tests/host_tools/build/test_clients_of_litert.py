"""Programs of others, unchanged, on Quadra once quadra.install() has put it into their LiteRT: PyPI's litert-cli, the benchmark
in LiteRT's wheel, and litert-precision-guard, with three wheels of LiteRT. That the GPU ran the nodes is what Quadra's
verdicts say, which each program leaves in the cache of compiled models.

An environment for each wheel is made once per machine. To test a newer nightly remove its folder.
"""

import json
import os
import re
import shutil
import subprocess
import venv
from pathlib import Path

import pytest

from host_tools.base import child_process, cpu_drivers, settings
from host_tools.record import cache_file
from tests.host_tools.build.test_wheel import libraries, made  # noqa: F401 (fixtures)

pytestmark = pytest.mark.slow
CLIENTS = ("litert-cli==0.2.1", "litert-precision-guard==0.1.0")
WHEELS = ("ai-edge-litert==2.2.0", "ai-edge-litert==2.3.0", "ai-edge-litert-nightly")
ACCELERATOR = re.compile(r"GPU accelerator\(libLiteRtGpuAccelerator.so\) registered")
_NO_INDEX = "(from versions: none)"  # an index that is reached names some
_READY = ".whole"
_DEADLINE_S = 900.0


class Environment:
    """One with the clients and a LiteRT; its programs leave verdicts in `cache`."""

    def __init__(self, folder, work):
        self.bin, self.work, self.cache = folder / "bin", work, work / "cache"
        usual = {name: value for name, value in os.environ.items() if not name.startswith(("QUADRA_", "PYTHON"))}
        self.env = {**usual, **cpu_drivers.settings(1), **cpu_drivers.caches(work), "QUADRA_DEBUG": "1"}
        self.env |= {"QUADRA_SERIALIZATION_DIR": str(self.cache), "QUADRA_MODEL_TOKEN": "model"}

    def run(self, *words, status=0):
        """All that a program says; what it has left in the cache is of this run alone."""
        shutil.rmtree(self.cache, ignore_errors=True)
        self.cache.mkdir()
        done = child_process.run(words, cwd=self.work, timeout_s=_DEADLINE_S, env=self.env, check=False)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr

    def python(self, code):
        return self.run(self.bin / "python", "-c", code)

    def on_gpu(self):
        """(nodes on the GPU, nodes, partitions) of each delegate that was made, as Quadra's verdicts have them."""
        kept = [cache_file.read(path).verdicts() for path in sorted(self.cache.glob("*.verdicts"))]
        return [(sum(one.taken), len(one.taken), len(one.partitions)) for one in kept]


@pytest.fixture(scope="module", params=WHEELS, ids=[name.removeprefix("ai-edge-litert").strip("=-") for name in WHEELS])
def environment(request, made, tmp_path_factory):
    """litert-cli asks for one version of LiteRT; another one takes its place, as a user puts it there."""
    folder = settings.read().tools_dir / "clients" / request.param.replace("==", "-")
    python = folder / "bin" / "python"
    if not (folder / _READY).exists():
        venv.create(folder, with_pip=True, clear=True)
        _pip(python, "install", *CLIENTS)
        _pip(python, "uninstall", "--yes", "ai-edge-litert")
        _pip(python, "install", "--pre", request.param)
        (folder / _READY).touch()
    _pip(python, "install", "--no-deps", "--force-reinstall", made.path)
    found = Environment(folder, tmp_path_factory.mktemp("clients"))
    yield found
    found.python("import quadra; quadra.uninstall()")


def _pip(python: Path, *words: object) -> None:
    argv = [python, "-m", "pip", *words, *(["--no-input", "--quiet"] if "install" in words else [])]
    done = subprocess.run([str(word) for word in argv], capture_output=True, text=True, timeout=_DEADLINE_S)
    if done.returncode and _NO_INDEX in done.stderr:
        pytest.skip("PyPI is not reached")
    assert not done.returncode, done.stderr


@pytest.fixture
def model(model_path):
    return model_path("mediapipe/face_detection_short_range")


@pytest.fixture
def installed(environment):
    said = environment.python("import quadra; quadra.install()")
    yield said
    environment.python("import quadra; quadra.uninstall()")


NODES = 164
WHOLE = (NODES, NODES, 1)


def benchmark(environment, model, *more):
    result = environment.work / "result.json"
    result.unlink(missing_ok=True)
    words = [
        environment.bin / "litert-benchmark",
        "--model",
        model,
        "--use_gpu",
        "--num_runs",
        "3",
        "--result_json",
        result,
    ]
    return [*words, *more], result


def test_it_is_installed_into_the_wheel_that_is_named(environment, installed):
    wheel = environment.bin.parent.name
    said = rf"{'ai-edge-litert-nightly' if wheel.endswith('nightly') else 'ai-edge-litert'} \d+\.\d+\.\d\S* runs models on the GPU with Quadra"
    assert re.match(said, installed), installed
    assert wheel.endswith("nightly") or wheel.rpartition("-")[2] in installed


def test_litert_cli_runs_a_model_on_quadra(environment, installed, model):
    assert "Inference complete" in environment.run(environment.bin / "litert", "run", model, "--desktop", "--gpu")
    assert environment.on_gpu() == [WHOLE]


def test_litert_benchmark_measures_quadra_and_without_it_another_one(environment, model):
    words, _ = benchmark(environment, model)
    done = child_process.run(words, cwd=environment.work, timeout_s=_DEADLINE_S, env=environment.env, check=False)
    assert "name=Quadra" not in done.stdout + done.stderr and environment.on_gpu() == []
    environment.python("import quadra; quadra.install()")
    words, result = benchmark(environment, model, "--require_full_delegation")
    assert ACCELERATOR.search(environment.run(*words))
    told = json.loads(result.read_text())
    assert (told["accelerators"], told["fully_accelerated"]) == (["GPU"], True)
    assert environment.on_gpu() and set(environment.on_gpu()) == {WHOLE}
    environment.python("import quadra; quadra.uninstall()")


def test_the_verdicts_see_nodes_on_the_cpu_which_the_benchmarks_account_does_not(
    environment, installed, model, monkeypatch
):
    """LiteRT calls a model fully accelerated whose last nodes its CPU kernels run: only the verdicts are a proof."""
    monkeypatch.setitem(environment.env, "QUADRA_LAST_DELEGATE_NODE_INDEX", "100")
    words, _ = benchmark(environment, model)
    environment.run(*words)
    assert environment.on_gpu() and all(0 < taken < NODES for taken, _, _ in environment.on_gpu())


def test_litert_precision_guard_passes_quadra(environment, installed, model):
    said = environment.run(environment.bin / "litert-precision-guard", model)
    assert said.count("PASS") >= 6 and "VERIFICATION PASSED" in said  # two outputs: cpu, gpu, gpu in float32
    assert "name=Quadra" in said and environment.on_gpu() and set(environment.on_gpu()) == {WHOLE}
