"""With `float32_nodes` a plan of half precision stores and computes the named nodes in float32, on both backends, in every
storage; what passes between them and others is converted."""

from __future__ import annotations

import numpy as np
import pytest

from host_tools.record import plan_view
from tests.delegate import TOLERANCE, options
from tests.judge import mismatch
from tests.model_builder import Model
from tests.runs import in_turn
from tests.test_kept_tensors import on_cpu
from tests.vectors import all_cases
from tests.vectors.batch import batches

PLACES = [
    ("opencl", "", "f16"),
    ("opencl", "adreno-640", "f32_f16"),  # images
    ("opencl", "mali-g76-buffers", "f16"),
    ("gles", "", "f32_f16"),
    ("gles", "adreno-640-gles", "f16"),
    ("gles", "mali-g76-gles", "f16"),
]
LARGE = 3e5
EYE = np.eye(8, dtype=np.float32).reshape(8, 1, 1, 8)
ZEROS = np.zeros(8, np.float32)


def overflowing(first: int = 1) -> tuple[bytes, list[np.ndarray]]:
    """Nodes 1 to 3 make, pass on and read what half has no number for; with first=0 it is the model's input."""
    m = Model()
    x = m.input((1, 6, 5, 8))
    y = m.conv2d(x, EYE, ZEROS, activation="RELU6") if first else x
    y = m.conv2d(y, EYE * (LARGE if first else 1), ZEROS)
    y = m.max_pool2d(y, (2, 2))
    y = m.conv2d(y, EYE / LARGE, ZEROS)
    m.output(m.add(y, y))
    feed = np.random.default_rng(1).uniform(1, 5, (1, 6, 5, 8)).astype(np.float32)
    return m.bytes(), [feed if first else feed * LARGE]


@pytest.mark.parametrize(("backend", "target", "precision"), PLACES)
@pytest.mark.parametrize("first", [1, 0])
def test_an_overflow_is_gone(quadra, backend, target, precision, first):
    raw, feeds = overflowing(first)
    expected = on_cpu(raw, feeds).get_tensor(on_cpu(raw, feeds).get_output_details()[0]["index"])
    given = options(target, backend, precision=precision)
    outcome = quadra.run(raw, feeds, **given)
    assert mismatch(outcome.outputs[-1][0], expected, TOLERANCE["f16"]), "half was to overflow"
    outcome = quadra.run(raw, feeds, **given, float32_nodes=f"{first}-{first + 2}")
    assert not outcome.error and not outcome.on_cpu(), outcome.report
    assert not mismatch(outcome.outputs[-1][0], expected, TOLERANCE["f16"])


def test_only_the_named_nodes_are_in_float32(quadra, tmp_path):
    raw, feeds = overflowing()
    outcome = quadra.run(
        raw, feeds, **options("mali-g76-buffers", precision="f16"), float32_nodes="2", dump_dir=str(tmp_path)
    )
    assert not outcome.error
    tensors = plan_view.read(tmp_path / "partition_0" / "plan.quadra")["tensors"]
    cells = [tensor["cell"] for tensor in tensors if tensor["buffer"] >= 0 and not tensor["dense"]]
    assert sorted(cells) == ["Float"] * 2 + ["Half"] * 5  # what node 2 reads and makes


SAMPLE = {case.op: case for case in reversed(all_cases()) if case.place == "gpu" and case.half}
TOGETHER = batches(SAMPLE.values(), key=lambda case: None)
_EVERY_OP = pytest.mark.parametrize(
    ("case", "backend", "target", "precision"), in_turn(TOGETHER, PLACES, 1, name=lambda case: case.id[:60])
)


@_EVERY_OP
def test_every_op_is_as_exact_as_with_floats(quadra, case, backend, target, precision):
    given = options(target, backend, precision=precision, float32_nodes="0-99999")
    case.check(quadra.run(case.model(), case.feeds(), **given), TOLERANCE["f32"])


@_EVERY_OP
def test_every_op_works_between_half_and_floats(quadra, case, backend, target, precision):
    given = options(target, backend, precision=precision, float32_nodes=",".join(map(str, range(1, 999, 2))))
    case.check(quadra.run(case.model(), case.feeds(), **given), TOLERANCE["f16"])
