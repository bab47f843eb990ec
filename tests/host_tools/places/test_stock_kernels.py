"""The stock delegate's kernels for a phone's GPU, recorded without the phone, and kept."""

import numpy as np
import pytest

from host_tools.analyse import figures, phone_compilers, recorded_calls
from host_tools.analyse.phone_gpus import named
from host_tools.base.errors import RunFailed
from host_tools.places import stock_kernels
from host_tools.places.on_jvm import JvmAttempt
from host_tools.request import from_arguments
from tests.android_parts import app_library
from tests.host_tools.analyse.test_analyse_for_real import REAL
from tests.model_builder import Model

CALLS = b"source 1 4\ntext\nattach 2 1\ndispatch 2 1 1 1\n"
TAKEN = "tflite: Replacing 3 out of 4 node(s) with delegate (TfLiteGpuDelegateV2) node, yielding 1 partitions\n"


@pytest.fixture
def spec(tmp_path):
    """16 × 16 places, 8 channels to 8 by one convolution."""
    model = Model()
    x = model.input((1, 16, 16, 8))
    model.output(model.conv2d(x, np.ones((8, 1, 1, 8), np.float32), np.zeros(8, np.float32)))
    (tmp_path / "m.tflite").write_bytes(model.bytes())
    return from_arguments.make_spec(
        str(tmp_path / "m.tflite"), backend="gles", place="jvm", repetitions=1, peers=(stock_kernels.NAME,)
    )


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Lets the delegate's run leave this log and these calls; counts runs."""
    monkeypatch.setenv("QUADRA_TOOLS_DIR", str(tmp_path / "tools"))
    monkeypatch.setattr(stock_kernels, "Machine", lambda *words, **more: None)
    monkeypatch.setattr(stock_kernels.stock_delegate, "library", lambda abi: tmp_path / "m.tflite")
    runs = []

    def leave(log, calls):
        def work(attempt, mode, cache, names):
            runs.append((mode, names, attempt.environment["force_gl_renderer"]))
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


@pytest.mark.slow
def test_its_convolution_through_a_phones_compiler(spec, tmp_path, monkeypatch):
    monkeypatch.setenv("QUADRA_TOOLS_DIR", str(REAL))
    monkeypatch.setattr(stock_kernels, "_file", lambda *words: tmp_path / "kept.gz")  # it is recorded each time
    (gpu,) = named("adreno-740")
    if not phone_compilers.installed(gpu.vendor):
        pytest.skip(f"the compiler for Adreno is not installed: {phone_compilers.INSTALL}")
    recorded = stock_kernels.record(spec, *gpu.shown, lambda line: None, app_library())
    assert (recorded.nodes, recorded.all_nodes) == (1, 1)
    found = figures.of_launches(gpu, recorded_calls.launches(recorded.calls), "f32", lambda line: None)
    assert found.is_complete
    assert found.work("multiply_adds") >= 16 * 16 * 8 * 8  # with those of addresses
    assert found.work("writes") >= 16 * 16 * 2
