"""Convolutions and products with few results and many inputs: work-items of a group share the sums (ops/split_sums.h)."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.delegate import TARGETS, TOLERANCE, options
from tests.model_builder import Model
from tests.runs import BACKENDS
from tests.vectors.batch import batches
from tests.vectors.case import generator
from tests.vectors.conv_2d import SPLIT_BELOW, SPLITS
from tests.vectors.integer_weights import Integers

_OF = {"opencl": "large-tiles", "gles": "large-tiles-gles"}  # with images; with buffers
_IO = {"to_slices", "from_slices"}


@pytest.fixture
def phone(tmp_path):
    """phone(backend, precision, facts): options with a phone's target on which the cases have too few work-items."""

    def write(backend: str, precision: str = "f32", **facts) -> dict[str, str]:
        given = json.loads((TARGETS / f"{_OF[backend]}.json").read_text())
        path = tmp_path / "target.json"
        path.write_text(json.dumps({**given, "enough_work_items": SPLIT_BELOW, **facts}))
        return {**options("", backend, precision=precision), "target": str(path)}

    return write


def kernels(outcome) -> list[str]:
    """Of all dispatches that compute."""
    [partition] = outcome.report["partitions"]
    return [one["kernel"] for one in partition["dispatches"] if one["kernel"] not in _IO]


@pytest.mark.parametrize(
    ("backend", "precision"),
    [
        ("opencl", "f32"),
        ("gles", "f16"),
        pytest.param("opencl", "f16", marks=pytest.mark.slow),
        pytest.param("gles", "f32", marks=pytest.mark.slow),
    ],
)
def test_convolutions_of_few_results_share_their_sums(quadra, phone, backend, precision):
    [case] = batches(SPLITS, most=len(SPLITS))
    outcome = quadra.run(case.model(), case.feeds(), **phone(backend, precision))
    case.check(outcome, TOLERANCE[precision])
    assert kernels(outcome) == ["conv2d_split"] * len(SPLITS)


_PRODUCTS = [
    Integers("shared words", (37, 256), "int8"),
    Integers("shared parts", (10, 256), "int4", 32),
    Integers("shared odd", (5, 72), "int8", "tensor"),
    Integers("shared int2", (9, 320), "int2", 64),
]


def _products(rows: int) -> tuple[bytes, list[np.ndarray], list[np.ndarray]]:
    """A model of all of them, its inputs and its outputs."""
    m, feeds, outputs, expected = Model(), [], [], []
    for weights in _PRODUCTS:
        out, inputs = weights.stored.shape
        bias = generator(f"bias of {out}").uniform(-1, 1, out).astype(np.float32)
        feeds.append(generator(f"rows of {inputs}").uniform(-1, 1, (rows, inputs)).astype(np.float32))
        x, b = m.input((rows, inputs)), m.const(bias)
        outputs.append(m.op("FULLY_CONNECTED", [x, weights.add(m), b], (rows, out), "FullyConnectedOptions", 12))
        expected.append(feeds[-1] @ weights.floats.T + bias)
    m.output(*outputs)
    return m.bytes(), feeds, expected


@pytest.mark.parametrize("backend", BACKENDS)
def test_products_with_weights_of_integers_share_their_sums(quadra, phone, backend):
    for rows in (1, 3):
        model, feeds, expected = _products(rows)
        outcome = quadra.run(model, feeds, **phone(backend))
        outcome.check(expected, TOLERANCE["f32"])
        assert kernels(outcome) == ["matvec_split"] * len(_PRODUCTS)


@pytest.mark.parametrize("backend", BACKENDS)
def test_products_of_many_rows_share_their_sums_where_those_of_one_row_do(quadra, phone, backend):
    """In tiles of rows, the last of which is not full."""
    weights = Integers("shared rows", (260, 512), "int4", 32)
    for rows in (6, 34):
        feed = generator(f"{rows} rows").uniform(-1, 1, (rows, 512)).astype(np.float32)
        m = Model()
        m.output(
            m.op(
                "FULLY_CONNECTED", [m.input(feed.shape), weights.add(m), None], (rows, 260), "FullyConnectedOptions", 12
            )
        )
        outcome = quadra.run(m.bytes(), [feed], **phone(backend, enough_work_items=1000))
        outcome.check([feed @ weights.floats.T], TOLERANCE["f32"])
        assert kernels(outcome) == ["matvec_split"]


@pytest.mark.parametrize(
    "facts",
    [
        {"max_work_group_size": 32},
        {"max_work_group": [64, 64, 32]},
        {"local_memory_bytes": 4096},
        {"enough_work_items": 1},
    ],
)
def test_devices_without_such_groups_do_without(quadra, phone, facts):
    case = SPLITS[0]
    outcome = quadra.run(case.model(), case.feeds(), **phone("opencl", **facts))
    case.check(outcome, TOLERANCE["f32"])
    assert kernels(outcome) == ["conv2d"]
