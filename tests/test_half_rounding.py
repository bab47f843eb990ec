"""Numbers are rounded to the nearest half where tensors are kept as halfs, also by drivers that cut digits off."""

from __future__ import annotations

import numpy as np
import pytest

from host_tools.base import child_process, settings
from host_tools.drivers import gpus
from tests.delegate import options
from tests.model_builder import Model

# The image functions of OpenCL may round as they like: here they cut.
CUTS = """
static void cut_and_write(__write_only image2d_t image, int2 at, float4 v) {
  write_imagef(image, at, as_float4(as_int4(v) & -8192));
}
#undef write_imagef
#define write_imagef cut_and_write
"""
LEAST = 2.0**-24  # the least half
EDGES = [0.0, LEAST / 2, LEAST * 0.51, LEAST * 1.5, LEAST * 2.5, 2.0**-14 - LEAST / 2, 2.0**-14, 1 + 2.0**-11,
         1 + 2.0**-11 + 2.0**-20, 1 + 3 * 2.0**-11, 2047.5, 2048.5, 65503.0, 65519.9, 65520.0, 1e9, np.inf]  # fmt: skip


def numbers() -> np.ndarray:
    """Edges, their negatives, and numbers of all sizes that halfs have, (1, 5, 8, 24)."""
    generator = np.random.default_rng(5)
    drawn = generator.normal(size=960 - 2 * len(EDGES)) * 2.0 ** generator.integers(-26, 15, size=960 - 2 * len(EDGES))
    return np.concatenate([EDGES, -np.array(EDGES), drawn]).astype(np.float32).reshape(1, 5, 8, 24)


def model() -> bytes:
    """Two pools, so that what the first one computes is kept; of blocks of equal numbers they give one."""
    m = Model()
    x = m.input((1, 20, 32, 24))
    m.output(m.max_pool2d(m.max_pool2d(x, (2, 2), stride=(2, 2)), (2, 2), stride=(2, 2)))
    return m.bytes()


@pytest.fixture(scope="module")
def cutting(tmp_path_factory):
    """An OpenCL library whose image functions cut."""
    if any("error" in device for device in gpus.opencl()):
        pytest.skip("there is no OpenCL device")
    path = tmp_path_factory.mktemp("cutting") / "opencl.so"
    source = settings.ROOT / "tests" / "opencl_slow.c"
    child_process.run(["cc", "-O1", "-shared", "-fPIC", "-o", path, source, "-ldl"], timeout_s=60)
    return path


@pytest.mark.parametrize("precision", ["f32_f16", "f16"])
@pytest.mark.parametrize(
    ("backend", "target"), [("opencl", "adreno-640"), ("opencl", "mali-g76-buffers"), ("gles", "adreno-640")]
)
def test_what_is_kept_as_halfs_is_rounded_to_the_nearest(quadra, cutting, backend, target, precision):
    with np.errstate(over="ignore"):
        bounded = np.where(np.isfinite(numbers()), numbers().clip(-65504, 65504), numbers())  # as all inputs are
        wanted = bounded.astype(np.float16).astype(np.float32)
    feed = numbers().repeat(4, axis=1).repeat(4, axis=2)
    env = {"OPENCL_BEFORE": CUTS} if backend == "opencl" else {}
    library = {"opencl_library": str(cutting)} if backend == "opencl" else {}
    outcome = quadra.run(model(), [feed], env=env, **options(target, backend, precision=precision, **library))
    assert not outcome.error and not outcome.on_cpu(), (outcome.error, outcome.on_cpu())
    [made] = outcome.outputs[0]
    different = made != wanted
    assert not different.any(), [*zip(numbers()[different], made[different], wanted[different])][:8]
