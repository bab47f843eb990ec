"""The stock delegate's kernels for a phone's GPU, recorded without the phone, and kept."""

from types import SimpleNamespace

import numpy as np
import pytest

from host_tools.analyse import figures, phone_compilers, recorded_gles, recorded_opencl
from host_tools.analyse.phone_gpus import named
from host_tools.android_on_host import pretended_opencl
from host_tools.base.errors import RunFailed, ToolMissing
from host_tools.places import stock_kernels
from host_tools.places.on_jvm import JvmAttempt
from host_tools.request import from_arguments, phone
from tests.android_parts import app_library
from tests.host_tools.analyse.test_analyse_for_real import REAL
from tests.model_builder import Model

OPENCL_CALLS = b"program 1 4\ntext\nkernel 2 1 k\nlaunch 2 1 1 1 1 1 1\n"
CALLS = b"source 1 4\ntext\nattach 2 1\ndispatch 2 1 1 1\n"
TAKEN = "tflite: Replacing 3 out of 4 node(s) with delegate (TfLiteGpuDelegateV2) node, yielding 1 partitions\n"


def _spec(tmp_path, backend, peer):
    """16 × 16 places, 8 channels to 8 by one convolution."""
    model = Model()
    x = model.input((1, 16, 16, 8))
    model.output(model.conv2d(x, np.ones((8, 1, 1, 8), np.float32), np.zeros(8, np.float32)))
    (tmp_path / "m.tflite").write_bytes(model.bytes())
    return from_arguments.make_spec(
        str(tmp_path / "m.tflite"), backend=backend, place="jvm", repetitions=1, peers=(peer,)
    )


@pytest.fixture
def spec(tmp_path):
    return _spec(tmp_path, "gles", stock_kernels.GLES)


@pytest.fixture
def opencl_spec(tmp_path):
    return _spec(tmp_path, "opencl", stock_kernels.OPENCL)


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Lets the delegate's run leave this log and these calls; counts runs."""
    monkeypatch.setenv("QUADRA_TOOLS_DIR", str(tmp_path / "tools"))
    monkeypatch.setattr(stock_kernels, "Machine", lambda *words, **more: SimpleNamespace(compat=tmp_path / "compat"))
    monkeypatch.setattr(stock_kernels.stock_delegate, "library", lambda abi: tmp_path / "m.tflite")
    runs = []

    def leave(log, calls):
        def work(attempt, mode, cache, names):
            runs.append((mode, names, attempt.environment.get("force_gl_renderer") or attempt.environment))
            (attempt.folder / "log.txt").write_text(log)
            (cache / "calls").write_bytes(calls)

        monkeypatch.setattr(JvmAttempt, "work", work)
        return runs

    return leave


def record(spec, renderer, tmp_path):
    return stock_kernels.record(spec, "ARM", renderer, lambda line: None, tmp_path / "m.tflite")


def test_a_recording_is_kept_for_its_gpu(spec, run, tmp_path):
    runs = run(TAKEN, CALLS)
    assert record(spec, "Mali-G610", tmp_path) == (3, 4, CALLS)
    assert record(spec, "Mali-G610", tmp_path) == (3, 4, CALLS)
    assert record(spec, "Mali-G76", tmp_path) == (3, 4, CALLS)
    assert runs == [("cold", ["shipped-gles"], name) for name in ("Mali-G610", "Mali-G76")]
    (kept, *_) = (tmp_path / "tools/stock_delegate").iterdir()
    whole = kept.read_bytes()
    for number, damaged in enumerate((b"damaged", whole[:10] + b"\xff" + whole[11:], whole[:-9])):
        kept.write_bytes(damaged)
        for name in ("Mali-G610", "Mali-G76"):
            assert record(spec, name, tmp_path).calls == CALLS
        assert len(runs) == 3 + number


@pytest.mark.parametrize(("log", "calls", "why"), [("", CALLS, "no node"), (TAKEN, b"source 1 0\n\n", "for nothing")])
def test_a_model_that_it_does_not_run_is_an_error(log, calls, why, spec, run, tmp_path):
    run(log, calls)
    with pytest.raises(RunFailed, match=why):
        record(spec, "Mali-G610", tmp_path)
    assert not (tmp_path / "tools/stock_delegate").exists()


def test_in_opencl_it_runs_before_a_pretended_phone(opencl_spec, run, tmp_path, monkeypatch):
    monkeypatch.setattr(pretended_opencl, "library", lambda: tmp_path / "pretended" / "libOpenCL.so")
    runs = run(TAKEN, OPENCL_CALLS)

    def record(name):
        return stock_kernels.record_opencl(opencl_spec, phone.read(name), lambda line: None, tmp_path / "m.tflite")

    assert [record("mali-g610"), record("mali-g610"), record("adreno-740")] == [(3, 4, OPENCL_CALLS)] * 3
    assert len(runs) == 2 and runs[0][:2] == ("cold", ["shipped-opencl"])
    assert runs[0][2]["LD_LIBRARY_PATH"] == f"{tmp_path / 'pretended'}:{tmp_path / 'compat'}"
    run(TAKEN, CALLS)  # of OpenGL ES
    with pytest.raises(RunFailed, match="for nothing"):
        record("adreno-630")


@pytest.mark.slow
def test_its_convolution_through_a_phones_compiler(spec, tmp_path, monkeypatch):
    monkeypatch.setenv("QUADRA_TOOLS_DIR", str(REAL))
    monkeypatch.setattr(stock_kernels, "_file", lambda *words: tmp_path / "kept.gz")  # it is recorded each time
    (gpu,) = named("adreno-740")
    if not phone_compilers.installed(gpu.vendor):
        pytest.skip(f"the compiler for Adreno is not installed: {phone_compilers.INSTALL}")
    recorded = stock_kernels.record(spec, *gpu.shown, lambda line: None, app_library())
    assert (recorded.nodes, recorded.all_nodes) == (1, 1)
    found = figures.of_launches(gpu, recorded_gles.launches(recorded.calls), "f32", lambda line: None)
    assert found.is_complete
    assert found.work("multiply_adds") >= 16 * 16 * 8 * 8  # with those of addresses
    assert found.work("writes") >= 16 * 16 * 2


@pytest.mark.slow
def test_its_convolution_in_opencl_through_a_phones_compiler(opencl_spec, tmp_path, monkeypatch):
    """The whole way: recorded before a pretended phone, read, compiled, counted."""
    monkeypatch.setenv("QUADRA_TOOLS_DIR", str(REAL))
    monkeypatch.setattr(stock_kernels, "_file", lambda *words: tmp_path / "kept.gz")  # it is recorded each time
    (gpu,) = named("adreno-740")
    try:
        phone_compilers.require(gpu.vendor, "opencl")
    except ToolMissing as error:
        pytest.skip(str(error))
    recorded = stock_kernels.record_opencl(opencl_spec, phone.read(gpu.name), lambda line: None, app_library())
    assert (recorded.nodes, recorded.all_nodes) == (1, 1)
    calls = recorded_opencl.read(recorded.calls)
    assert calls.refused == [] and len(calls.launches) == 3  # the input's slices, the convolution, the output's numbers
    assert calls.memory.intermediates >= 16 * 16 * 8 * 4 and calls.memory.weights >= 9 * 8 * 4
    found = figures.of_launches(gpu, calls.launches, "f32", lambda line: None, "opencl")
    assert found.is_complete and not found.failed
    assert found.work("multiply_adds") >= 16 * 16 * 8 * 8
    assert found.work("wave_slots") >= found.work("slots") > 16 * 16 * 8 * 8 / 4
    assert found.bytes("written") >= 2 * 16 * 16 * 8 * 4
