"""How often a driver is told to begin with the dispatches that it has: as published delegates do (docs/targets.md)."""

from __future__ import annotations

import numpy as np
import pytest

from tests.delegate import TOLERANCE, options
from tests.faults import egl, opencl  # noqa: F401 (fixtures, which skip where there is no driver)
from tests.model_builder import Model

SHAPE = (1, 6, 6, 4)
STEPS = 40
FEED = np.random.default_rng(7).normal(size=SHAPE).astype(np.float32)


def model() -> bytes:
    """As many dispatches as steps, of one kernel."""
    m = Model()
    x = y = m.input(SHAPE)
    for _ in range(STEPS):
        y = m.softmax(y)
    assert x is not y
    m.output(y)
    return m.bytes()


def softmaxes() -> np.ndarray:
    y = FEED
    for _ in range(STEPS):
        e = np.exp(y - y.max(axis=-1, keepdims=True))
        y = e / e.sum(axis=-1, keepdims=True)
    return y


FLUSH = {"opencl": "clFlush", "gles": "glFlush"}


@pytest.mark.parametrize(
    ("backend", "name", "every"),
    [
        ("opencl", "ARM Mali-G76", 24),
        ("opencl", "QUALCOMM Adreno(TM) 618", 16),
        ("opencl", "PowerVR Rogue GM9446", 4),
        ("opencl", "somebody's", 32),
        ("gles", "Qualcomm Adreno (TM) 640", 1),
        ("gles", "Qualcomm Adreno (TM) 630", 10),
        ("gles", "ARM Mali-G76", 24),
        ("gles", "somebody's", 0),
    ],
)
def test_flushes_of_an_inference(quadra, opencl, backend, name, every):
    given = options("", backend, opencl_library=str(opencl), egl_library=str(opencl))
    env = {"DRIVER_FAULTS_GPU": "1", "DRIVER_FAULTS_NAME": name}
    one, three = (quadra.run(model(), *[[FEED]] * n, env=env, counter=opencl, **given) for n in (1, 3))
    for outcome in (one, three):
        outcome.check([softmaxes()], TOLERANCE["f32"])
    [partition] = one.report["partitions"]
    dispatches = len(partition["dispatches"])
    assert dispatches >= STEPS
    more = three.driver["calls"][FLUSH[backend]] - one.driver["calls"][FLUSH[backend]]
    # In OpenCL not behind the last dispatch (test_finish.py).
    assert more == 2 * ((dispatches - (backend == "opencl")) // every if every else 0)
    assert one.report["device"]["target"]["flush_every"] == every
