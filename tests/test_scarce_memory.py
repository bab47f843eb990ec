"""Where the process has no memory for a plan in one piece, as on a 32-bit phone, the CPU runs its nodes."""

from __future__ import annotations

import numpy as np
import pytest

from tests import cpu
from tests.delegate import Quadra, options
from tests.model_builder import Model

SIDE = 3200  # weights of 41 MB
SPARE_MB = 30


class Scarce(Quadra):
    module = "tests.scarce_memory_worker"


def product(side: int) -> tuple[bytes, np.ndarray]:
    m = Model()
    x = m.input((1, side))
    weights = np.random.default_rng(1).normal(size=(8, side)).astype(np.float32)
    m.output(m.fully_connected(x, np.tile(weights, (side // 8, 1))))
    return m.bytes(), np.random.default_rng(2).normal(size=(1, side)).astype(np.float32)


@pytest.mark.parametrize("backend", ["opencl", "gles"])
def test_a_plan_that_has_no_room_leaves_its_nodes_to_the_cpu(library, backend):
    small, large = product(64), product(SIDE)
    given = options("", backend)
    worker = Scarce(library)
    try:
        before = worker.run(small[0], [small[1]], **given)
        scarce = worker.run(large[0], [large[1]], env={"SPARE_MB": str(SPARE_MB)}, **given)
        after = worker.run(large[0], [large[1]], **given)
    finally:
        worker.close()
    before.check(cpu.run(small[0], [small[1]]), 1e-4)
    wanted = cpu.run(large[0], [large[1]])
    scarce.check(wanted, 1e-4, everything_on_gpu=False)
    [reason] = scarce.on_cpu()
    assert "its partition cannot run: make a plan of " in reason and "no memory of this size" in reason
    after.check(wanted, 1e-4)
