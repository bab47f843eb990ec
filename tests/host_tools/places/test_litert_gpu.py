"""LiteRT's own GPU accelerator runs beside Quadra where this machine has a Vulkan driver for it, and says why where not."""

import ctypes
import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest

from host_tools.base import child_process
from host_tools.base.errors import Misuse
from host_tools.build import bazel
from host_tools.judge import judged
from host_tools.places import litert_gpu, on_host
from host_tools.record import schema
from host_tools.request import from_arguments
from tests.model_builder import Model

PRINTED = """INFO: [delegate_webgpu.cc:342] Create WebGPU environment (use_low_power=0, enable_host_mapped_pointer=1)
WARNING: [compiler_plugin.cc:312] Failed to load plugin at: /x/libLiteRtCompilerPlugin_IntelOpenvino.so with error: ERROR:
Warning: Vulkan shaderUniform*ArrayDynamicIndexing required.
 - While initializing adapter (backend=BackendType::Vulkan)
ERROR: [delegate_webgpu.cc:359] Failed to initialize WebGPU environment: INTERNAL: No adapters found
WARNING: Logging before InitGoogle() is written to STDERR
E0000 00:00:1795455142.050843   28765 delegate_webgpu.cc:736] Failed to get or create delegate WebGPU environment: INTERNAL
"""


def test_its_own_words_are_the_reason():
    assert litert_gpu.reason(PRINTED.splitlines()) == (
        "Vulkan shaderUniform*ArrayDynamicIndexing required.; Failed to initialize WebGPU environment: INTERNAL: No adapters found"
    )
    assert litert_gpu.reason(["INFO: it runs"]) == ""


def test_what_it_says_is_heard_also_where_it_crashes():
    said = []
    with litert_gpu._heard(said):
        os.write(2, b"ERROR: [x.cc:1] no adapter\n")
    assert said == ["ERROR: [x.cc:1] no adapter"]
    crash = "import os; from host_tools.places import litert_gpu as g\nwith g._heard([]): os.write(2, b'last words'); os.abort()"
    done = child_process.run([sys.executable, "-P", "-c", crash], timeout_s=60, check=False)
    assert done.returncode == -signal.SIGABRT and "last words" in done.stderr


def test_it_is_a_peer_on_this_machine_only(tmp_path):
    path = tmp_path / "m.tflite"
    path.write_bytes(b"\x1c\0\0\0TFL3")
    with pytest.raises(Misuse, match="run litert-gpu in the place jvm: it comes with this machine's ai-edge-litert"):
        from_arguments.make_spec(str(path), place="jvm", peers=("litert-gpu",))


def _has_another_driver() -> bool:
    """Than SwiftShader; or none."""
    if not Path("/usr/lib/chromium/vk_swiftshader_icd.json").is_file():
        return True
    try:
        ctypes.CDLL("libvulkan.so.1")
    except OSError:
        return bool({"VK_ICD_FILENAMES", "VK_DRIVER_FILES"} & set(os.environ))
    return True


@pytest.mark.slow
@pytest.mark.parametrize("api", ["compiled", "interpreter"])
def test_it_runs_beside_quadra(api, tmp_path, monkeypatch):
    monkeypatch.setenv("QUADRA_RUNS_DIR", str(tmp_path / "runs"))
    m, random = Model(), np.random.default_rng(3)
    x = m.input((1, 16, 16, 4))
    weights = random.standard_normal((8, 3, 3, 4)).astype(np.float32)
    m.output(m.conv2d(x, weights, np.ones(8, np.float32), activation="RELU6"))
    (tmp_path / "conv.tflite").write_bytes(m.bytes())
    peers = ("xnnpack", "litert-gpu")
    spec = from_arguments.make_spec(str(tmp_path / "conv.tflite"), api=api, peers=peers, repetitions=3)
    library = bazel.accelerator().with_name("libquadra.so")
    found = judged.judge(on_host.Host(library).run(spec))
    (peer,) = (one for one in found.peers if one.name == "litert-gpu")
    timings = found.folder.read(schema.Timings)
    assert found.ok
    if _has_another_driver():
        assert peer.ok or "No adapters found" in peer.error  # one that may or may not do
        return
    assert peer.ok and max(peer.relative) < 1e-5 and len(timings.samples_us["litert_gpu"]) == 3
    assert timings.init_us["litert_gpu"].total_us > 0 and not timings.litert_gpu_error
