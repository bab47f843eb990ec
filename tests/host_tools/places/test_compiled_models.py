"""`--api compiled`: a run through LiteRT's CompiledModel is a run like any other, says so, and fails with a sentence."""

from __future__ import annotations

import shutil
import subprocess
import sys

import numpy as np
import pytest
from rich.console import Console

from host_tools.base.errors import Misuse, RunFailed
from host_tools.build import bazel
from host_tools.judge import judged
from host_tools.places import on_host
from host_tools.request import from_arguments
from host_tools.show import report, run_account
from tests.model_builder import Model


@pytest.fixture(scope="module")
def both():
    """libquadra.so with the accelerator beside it."""
    return bazel.accelerator().with_name("libquadra.so")


@pytest.fixture
def model(tmp_path, monkeypatch):
    monkeypatch.setenv("QUADRA_RUNS_DIR", str(tmp_path / "runs"))
    m = Model()
    x, y = m.input((1, 8, 8, 4)), m.input((1, 8, 8, 4))
    m.output(m.softmax(m.add(x, y)), m.add(x, np.ones((1, 8, 8, 4), np.float32)))
    path = tmp_path / "two.tflite"
    path.write_bytes(m.bytes())
    return str(path)


@pytest.mark.parametrize("backend", ["opencl", "gles"])
def test_a_run_is_right_and_says_which_api_ran(both, model, backend):
    spec = from_arguments.make_spec(model, backend=backend, repetitions=3, profile=True, api="compiled")
    folder = on_host.Host(both).run(spec)
    assert folder.json("spec.json")["api"] == "compiled"
    nodes = folder.json("verdicts.json")["nodes"]
    assert [node["on"] for node in nodes] == ["gpu"] * 3 and folder.json("verdicts.json")["backend"] == backend
    x = folder.arrays("inputs")[0]
    np.testing.assert_allclose(folder.arrays("outputs")[1], x + 1, rtol=1e-6)
    assert [len(one) for one in folder.json("timings.json")["samples_us"].values()] == [3, 3]
    assert len(folder.json("profile.json")["invokes"]) > 0 and list(folder.path.glob("partition_0/plan.quadra"))
    found = judged.judge(folder)
    assert found.ok
    console = Console(record=True, width=150)
    run_account.account(found, console)
    assert "through LiteRT's CompiledModel: all 3 nodes on the GPU" in console.export_text()
    assert "CompiledModel" in report.write(found).read_text()


def test_what_is_needed_is_built(both, model):
    """Seen red: after `prepare`, as the task does it, the delegate alone was taken for a given one."""
    place = on_host.Host()
    place.prepare()
    folder = place.run(from_arguments.make_spec(model, backend="gles", repetitions=1, api="compiled"))
    assert folder.json("spec.json")["api"] == "compiled" and place.library is None


def test_without_the_accelerator_it_says_what_to_build(both, model, tmp_path):
    alone = tmp_path / "libquadra.so"
    shutil.copy(both, alone)
    with pytest.raises(RunFailed, match=r"libLiteRtGpuAccelerator.so.*it is not there"):
        on_host.Host(alone).run(from_arguments.make_spec(model, api="compiled"))


def test_a_wrong_option_does_not_go_on_on_the_cpu(both, model):
    spec = from_arguments.make_spec(model, api="compiled", float32_nodes="x")
    with pytest.raises(Misuse, match="float32_nodes=x"):
        on_host.Host(both).run(spec)


@pytest.mark.parametrize("place", ["jvm", "some-serial"])
def test_other_places_have_no_such_runtime(model, place):
    with pytest.raises(Misuse, match="its runtime has no CompiledModel"):
        from_arguments.make_spec(model, api="compiled", **from_arguments.destination(place))


def test_an_api_has_one_of_two_names(model):
    with pytest.raises(Misuse, match="interpreter, compiled"):
        from_arguments.make_spec(model, api="vulkan")


@pytest.mark.parametrize("shared", ["twice", "input"])
def test_outputs_that_litert_itself_gets_wrong_are_refused_and_copies_of_them_are_right(both, model, tmp_path, shared):
    def write(copies: bool) -> str:
        m = Model()
        x = m.input((1, 4, 4, 4))
        y = m.unary("TANH", x)
        again = y if shared == "twice" else x
        m.output(y, m.unary("RELU", y), m.reshape(again, again.shape) if copies else again)
        path = tmp_path / f"{shared}_{copies}.tflite"
        path.write_bytes(m.bytes())
        return str(path)

    name = {"twice": "'t1' is listed twice", "input": "'t0' is an input"}[shared]
    with pytest.raises(RunFailed, match=f"its output {name}: LiteRT itself then gives wrong numbers"):
        on_host.Host(both).run(from_arguments.make_spec(write(False), backend="gles", repetitions=1, api="compiled"))
    assert not _right_on_litert_cpu(write(False)) and _right_on_litert_cpu(write(True))
    folder = on_host.Host(both).run(
        from_arguments.make_spec(write(True), backend="gles", repetitions=1, api="compiled")
    )
    assert judged.judge(folder).ok


def _right_on_litert_cpu(path: str) -> bool:
    """In a process of its own, where LiteRT may crash."""
    done = subprocess.run([sys.executable, "-c", _ON_CPU, path], capture_output=True, text=True, check=False)
    return done.returncode == 0 and done.stdout.split()[-1:] == ["right"]


_ON_CPU = """
import sys
import numpy as np
from ai_edge_litert.compiled_model import CompiledModel
from ai_edge_litert.hardware_accelerator import HardwareAccelerator

model = CompiledModel.from_file(sys.argv[1], hardware_accel=HardwareAccelerator.CPU)
inputs, outputs = model.create_input_buffers(0), model.create_output_buffers(0)
x = np.linspace(-1, 1, 64, dtype=np.float32)
inputs[0].write(x)
model.run_by_index(0, inputs, outputs)
last = x if "input" in sys.argv[1].rpartition("/")[2] else np.tanh(x)
wanted = (np.tanh(x), np.maximum(np.tanh(x), 0), last)
print("right" if all(np.allclose(o.read(64, np.float32), w, atol=1e-6) for o, w in zip(outputs, wanted)) else "wrong")
"""
