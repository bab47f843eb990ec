"""Complex numbers at the borders of partitions, beside tests/vectors/spectra.py: in other sizes, from the cache, between nodes on
the CPU, through CompiledModel."""

from __future__ import annotations

import numpy as np
import pytest

from host_tools.build import bazel
from tests import cpu
from tests.compiled import Compiled, variables
from tests.delegate import options
from tests.model_builder import Model
from tests.runs import BACKENDS
from tests.vectors.case import Feed
from tests.vectors.spectra import part, spectrum

on_both = pytest.mark.parametrize("backend", BACKENDS)
SIZES = ((5, 1, 24), (3, 1, 40), (2, 3, 16))  # the model's own; others with numbers too many and too few, and rows


def model() -> bytes:
    """A spectrum is an output, and is read."""
    m = Model()
    made = spectrum(m, m.input(SIZES[0]), 32)
    m.output(made, part(m, "COMPLEX_ABS", made))
    return m.bytes()


def feeds(shape=SIZES[0]) -> list[np.ndarray]:
    return [Feed(shape).make(f"complex/{shape}")]


@on_both
def test_in_other_sizes_and_from_the_cache(quadra, backend, tmp_path):
    for word in ("miss", "hit"):
        outcome = quadra.run(model(), *map(feeds, SIZES), **options(backend=backend, serialization_dir=str(tmp_path)))
        assert not outcome.error and not outcome.on_cpu(), (outcome.error, outcome.on_cpu())
        for shape, got in zip(SIZES, outcome.outputs, strict=True):
            wanted = cpu.run(model(), feeds(shape))
            assert [(one.shape, one.dtype) for one in got] == [(one.shape, one.dtype) for one in wanted]
            for mine, other in zip(got, wanted, strict=True):
                np.testing.assert_allclose(mine, other, atol=1e-5 * np.abs(other).max())
        assert word == "miss" or outcome.report["partitions"][0]["cache"]


@on_both
@pytest.mark.parametrize("on_gpu", [0, 1])
def test_beside_nodes_on_the_cpu(quadra, backend, on_gpu):
    """The numbers go in or out as the interpreter has them."""
    parts = {"first_delegate_node_index": str(on_gpu), "last_delegate_node_index": str(on_gpu)}
    outcome = quadra.run(model(), feeds(), **options(backend=backend, **parts))
    outcome.check(cpu.run(model(), feeds()), 1e-5, everything_on_gpu=False)
    assert [node["on"] for node in outcome.nodes if node["op"] != "DELEGATE"] == [
        "gpu" if i == on_gpu else "cpu" for i in range(2)
    ]


@on_both
def test_through_compiled_model(backend):
    m = Model()
    m.output(part(m, "COMPLEX_ABS", spectrum(m, m.input(SIZES[0]), 32)))
    worker = Compiled(bazel.accelerator())
    try:
        outcome = worker.run(m.bytes(), feeds(), env=variables(backend))
    finally:
        worker.close()
    outcome.check(cpu.run(m.bytes(), feeds()), 1e-5)
    assert outcome.report["fully_accelerated"]
