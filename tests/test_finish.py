"""Some OpenCL drivers' clFinish does not wait for what clFlush handed over, if no command came after it (Rusticl of Mesa 22.3,
clvk before 2021): a profile read zeros there, and what tuning had launched went on under the first inferences."""

from __future__ import annotations

import numpy as np
import pytest

from tests import cpu
from tests.delegate import Quadra, options
from tests.faults import compile_driver_faults, opencl  # noqa: F401 (a fixture)
from tests.model_builder import Model
from tests.vectors.case import constant

FEED = constant("finish", (1, 5, 6, 8))
FLUSH_EVERY = 32  # dispatches: what delegate_native/device/decide.cc says of OpenCL


def chain(convolutions: int) -> bytes:
    m = Model()
    x = m.input(FEED.shape)
    for _ in range(convolutions):
        x = m.conv2d(x, np.eye(8, dtype=np.float32).reshape(8, 1, 1, 8), np.zeros(8, np.float32))
    m.output(x)
    return m.bytes()


@pytest.fixture(scope="module")
def counter(tmp_path_factory):
    return compile_driver_faults(tmp_path_factory.mktemp("finish") / "libdriver_faults.so")


@pytest.mark.parametrize("target", ["", "adreno-640"])  # the caller's memory itself; copies
@pytest.mark.parametrize("how", [{}, {"profile": "1"}, {"tuning": "fast"}], ids=["plain", "profile", "tuning"])
@pytest.mark.parametrize("convolutions", [3, FLUSH_EVERY - 2, FLUSH_EVERY])  # with and without kernels for the border
def test_what_is_waited_for_was_not_just_flushed(quadra: Quadra, counter, opencl, target, how, convolutions):
    model = chain(convolutions)
    outcome = quadra.run(model, [FEED], [FEED], counter=counter, opencl_library=str(counter), **options(target, **how))
    outcome.check(cpu.run(model, [FEED]))
    assert (
        outcome.driver["calls"]["clFinish"] > 0
        and outcome.driver["calls"]["clEnqueueNDRangeKernel"] > 2 * convolutions - 2
    )
    assert outcome.driver["blind_finishes"] == 0
