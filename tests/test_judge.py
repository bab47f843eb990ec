"""The tests' own instruments, seen red: the judge of results and the worker process."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest

from tests.delegate import Quadra, WorkerDied
from tests.judge import mismatch

RAMP = np.linspace(-5, 5, 12, dtype=np.float32).reshape(3, 4)


def changed(index, value) -> np.ndarray:
    array = RAMP.copy()
    array[index] = value
    return array


def test_same_numbers_are_right():
    assert mismatch(RAMP, RAMP, 1e-5) == ""
    assert mismatch(RAMP + np.float32(5e-5), RAMP, 1e-5) == ""


@pytest.mark.parametrize(
    ("got", "word"),
    [
        (RAMP[:2], "shape"),
        (RAMP + np.float32(2e-4), "12 of 12"),
        (changed((1, 2), 0.6), "(1, 2)"),
        (changed((0, 0), np.nan), "1 of 12"),
        (changed((0, 0), np.inf), "1 of 12"),
    ],
)
def test_wrong_numbers_are_told(got, word):
    assert word in mismatch(got, RAMP, 1e-5)


def test_rounding_left_by_terms_that_cancel_is_no_error_where_that_is_said():
    assert mismatch(RAMP * 1e-6 + np.float32(1e-8), RAMP * 1e-6, 1e-5)
    assert not mismatch(RAMP * 1e-6 + np.float32(1e-8), RAMP * 1e-6, 1e-5, least_range=0.01)


def test_infinities_and_nans_must_be_where_they_belong():
    expected = changed((2, 3), np.inf)
    assert mismatch(expected, expected, 1e-5) == ""
    assert mismatch(changed((2, 3), np.finfo(np.float32).max), expected, 1e-5) == ""
    assert mismatch(RAMP, expected, 1e-5) and mismatch(changed((2, 3), -np.inf), expected, 1e-5)
    assert mismatch(changed((2, 3), np.nan), changed((2, 3), np.nan), 1e-5) == ""


def test_all_zero_and_empty_outputs_are_judged():
    zeros = np.zeros((2, 2), np.float32)
    assert mismatch(zeros, zeros, 1e-5) == "" and mismatch(zeros + np.float32(1e-6), zeros, 1e-5)
    assert mismatch(np.zeros((0, 3)), np.zeros((0, 3)), 1e-5) == ""


def test_crash_of_worker_is_an_exception_and_the_next_run_works():
    worker = Quadra(Path("/nowhere/libquadra.so"))
    assert "/nowhere/libquadra.so" in worker.run(b"").error
    os.kill(worker._process.pid, signal.SIGSEGV)
    with pytest.raises(WorkerDied, match="SIGSEGV"):
        worker.run(b"")
    assert "/nowhere/libquadra.so" in worker.run(b"").error
    worker.close()
