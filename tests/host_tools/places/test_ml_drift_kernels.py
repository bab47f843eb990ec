"""ML Drift's kernels for a phone's GPU, recorded without the phone, and kept."""

import os
import re
from pathlib import Path

import numpy as np
import pytest

from host_tools.analyse import figures, phone_compilers, recorded_vulkan
from host_tools.analyse.phone_gpus import named
from host_tools.android_on_host import pretended_vulkan
from host_tools.base import child_process
from host_tools.base.child_process import Completed
from host_tools.base.errors import CommandFailed, RunFailed, ToolMissing
from host_tools.places import ml_drift_kernels
from host_tools.request import from_arguments, phone
from tests.host_tools.analyse.test_analyse_for_real import REAL
from tests.model_builder import Model

CALLS = b"shader 0 4\ntext\nmark\ndispatch 1 1 1\n"
SAID = "INFO: x\n3 operations will run on the GPU, and the remaining 4 operations will run on the CPU.\n"


@pytest.fixture
def spec(tmp_path):
    """16 × 16 places, 8 channels to 8 by one convolution."""
    model = Model()
    x = model.input((1, 16, 16, 8))
    model.output(model.conv2d(x, np.ones((8, 1, 1, 8), np.float32), np.zeros(8, np.float32)))
    (tmp_path / "m.tflite").write_bytes(model.bytes())
    return from_arguments.make_spec(str(tmp_path / "m.tflite"), repetitions=1)


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Lets the accelerator's process leave these calls; counts processes."""
    monkeypatch.setenv("QUADRA_TOOLS_DIR", str(tmp_path / "tools"))
    monkeypatch.setattr(pretended_vulkan, "library", lambda headers: tmp_path / "library.so")
    monkeypatch.setattr(ml_drift_kernels, "_driver", lambda: tmp_path / "driver.so")
    runs = []

    def leave(calls, said=""):
        def start(argv, *, env, **_):
            runs.append(env["PRETENDED_VULKAN_PHONE"])
            if calls is None:
                raise CommandFailed("run it", "exit status 1")
            with open(env["PRETENDED_VULKAN_CALLS"], "wb") as file:
                file.write(calls)
            return Completed([], 0, "", said, 0.0)

        monkeypatch.setattr(child_process, "run", start)
        return runs

    return leave


def record(spec, name, headers=Path()):
    return ml_drift_kernels.record(spec, phone.read(name), headers, lambda line: None)


def test_a_recording_is_kept_for_its_phone_and_says_what_it_left_to_the_cpu(spec, run, tmp_path):
    runs = run(CALLS, SAID)
    assert [record(spec, name) for name in ("adreno-740", "adreno-740", "mali-g76")] == [(3, 7, CALLS)] * 3
    assert len(runs) == 2
    (kept, *_) = (tmp_path / "tools/ml_drift").iterdir()
    kept.write_bytes(b"damaged")
    run(CALLS)
    assert {record(spec, name)[:2] for name in ("adreno-740", "mali-g76")} == {(3, 7), (1, 1)}


@pytest.mark.parametrize("calls", [None, b"mark\n", b"dispatch 1 1 1\nmark\n", b"shader 0 0\n\ndispatch 1 1 1\nmark\n"])
def test_a_model_that_it_does_not_run_is_an_error(calls, spec, run, tmp_path):
    run(calls)
    with pytest.raises(RunFailed, match="record ML Drift's kernels"):
        record(spec, "adreno-740")
    assert not (tmp_path / "tools/ml_drift").exists()


def test_every_name_that_the_pretended_driver_asks_for_is_in_every_phone():
    names = set(re.findall(r'(?:number|said|copy_words)\("(\w+)"', pretended_vulkan._SOURCE.read_text()))
    assert len(names) > 10
    for path in phone.PHONES.glob("*.json"):
        assert set(phone.read(path.stem).vulkan) == names


@pytest.mark.slow
@pytest.mark.parametrize("name", ["adreno-740", "mali-g610"])
def test_its_convolution_through_a_phones_compiler(name, spec, tmp_path, monkeypatch):
    """The whole way: recorded before a pretended driver, read, compiled, counted."""
    monkeypatch.setenv("QUADRA_TOOLS_DIR", str(REAL))
    monkeypatch.setattr(ml_drift_kernels, "_file", lambda *words: tmp_path / "kept.gz")  # it is recorded each time
    (gpu,) = named(name)
    try:
        phone_compilers.require(gpu.vendor, "vulkan")
        ml_drift_kernels._driver()
    except ToolMissing as error:
        pytest.skip(str(error))
    recorded = record(spec, name, phone_compilers.vulkan_headers())
    calls = recorded_vulkan.read(recorded.calls)
    assert recorded[:2] == (1, 1) and len(calls.launches) == 3  # to slices, the convolution, from slices
    assert calls.memory and calls.memory.intermediates >= 2 * 16 * 16 * 8 * 4
    found = figures.of_launches(gpu, calls.launches, "f32", lambda line: None, "vulkan")
    assert found.is_complete and not found.failed
    assert found.work("multiply_adds") >= 16 * 16 * 8 * 8
    assert found.work("wave_slots") >= found.work("slots") > 16 * 16 * 8 * 8 / 4
    assert found.bytes("written") >= 2 * 16 * 16 * 8 * 4
    assert os.path.exists(tmp_path / "kept.gz")
