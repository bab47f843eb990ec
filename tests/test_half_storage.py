"""What half storage alone costs a model, and the rule that rests on it."""

from __future__ import annotations

import numpy as np
import pytest

from tests import cpu, half_storage
from tests.delegate import Outcome
from tests.model_builder import Model
from tests.test_driver_models import check_half

FEED = np.array([[0.1, 1 / 3, 1000.4, 3e-6]], np.float32)
WEIGHTS = np.array([0.7, 1.1, 1 / 7, 99.9], np.float32)


def _model() -> bytes:
    model = Model()
    x = model.input(FEED.shape)
    y = model.add(model.mul(x, WEIGHTS), np.float32(0.2))
    model.output(model.mul(y, y), y)
    return model.bytes()


def _half(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float16).astype(np.float32)


def test_every_tensor_and_weight_is_rounded_and_nothing_between():
    y = _half(_half(_half(FEED) * _half(WEIGHTS)) + _half(np.float32(0.2)))
    squared, plain = cpu.run(half_storage.with_half_tensors(_model()), [FEED])
    assert np.array_equal(plain, y) and np.array_equal(squared, _half(y * y))
    assert not np.array_equal(plain, cpu.run(_model(), [FEED])[1])


def test_the_cost_is_of_each_output_and_kept(tmp_path):
    found = half_storage.cost(_model(), [FEED], tmp_path)
    assert len(found) == 2 and all(1e-5 < cost < 2e-3 for cost in found)
    [path] = tmp_path.iterdir()
    path.write_text("[0.25, 0.5]")
    assert half_storage.cost(_model(), [FEED], tmp_path) == [0.25, 0.5]


@pytest.mark.parametrize(
    ("precision", "error", "cost", "noted"),
    [
        ("f32_f16", 0.009, 0.0, False),
        ("f32_f16", 0.02, 0.0, None),
        ("f32_f16", 0.02, 0.015, True),
        ("f32_f16", 0.03, 0.015, None),
        ("f16", 0.028, 0.015, True),
        ("f16", 0.032, 0.015, None),
    ],
)
def test_right_is_a_hundredth_or_so_many_times_that_cost(monkeypatch, precision, error, cost, noted):
    """noted None: it is wrong."""
    monkeypatch.setattr(half_storage, "cost", lambda *words: [cost])
    outcome = Outcome([[np.array([0.0, 1 + error], np.float32)]], {"nodes": []})
    expected = [np.array([0.0, 1.0], np.float32)]
    if noted is None:
        with pytest.raises(AssertionError, match="differ by more"):
            check_half(outcome, b"", [], expected, precision)
    else:
        assert bool(check_half(outcome, b"", [], expected, precision)) == noted
