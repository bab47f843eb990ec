"""Reshapes and slices that move nothing: both tensors have one memory (delegate_native/passes/share_memory.cc)."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from host_tools.request import decoder_sizes, make_decoder
from tests import cpu
from tests.delegate import options
from tests.model_builder import Model, Value
from tests.random_graphs import Builder, Graph
from tests.random_ops import i32
from tests.runs import BACKENDS
from tests.test_random_graphs import RUNS, SLOW_RUNS, check

_MOVES = {"reshape", "strided_slice"}
# Of one text each; those of a phone's images, of buffers, and of halfs.
TARGETS = [("adreno-740-gles", "f32"), ("mali-g76-buffers", "f16"), ("adreno-640", "f32_f16"), ("", "f32")]
SOME = settings(max_examples=12, suppress_health_check=list(HealthCheck))


def kernels(outcome) -> list[str]:
    return [one["kernel"] for part in outcome.report["partitions"] for one in part["dispatches"]]


def _fours(draw, count: int, most_rank: int = 4) -> tuple[int, ...]:
    """A shape of so many numbers, whole slices of four channels in each pixel."""
    rest, shape = count // 4, []
    for _ in range(draw(st.integers(0, most_rank - 1))):
        shape.append(draw(st.sampled_from([n for n in range(1, rest + 1) if rest % n == 0])))
        rest //= shape[-1]
    return (*shape, rest * 4)


class _Heads(Builder):
    """Graphs as a decoder's step has them: few pixels, whose channels are split into heads, turned and joined."""

    def reshape(self, x: Value) -> None:
        shape = _fours(self.draw, prod(x.shape))
        self.move("RESHAPE", [x, i32(shape)], shape, "ReshapeOptions")

    def split(self, x: Value) -> None:
        slices = x.shape[-1] // 4
        parts = self.draw(st.sampled_from([n for n in (2, 3, 1) if slices % n == 0]))
        shape = (*x.shape[:-1], x.shape[-1] // parts)
        self.move("SPLIT", [i32(len(shape) - 1), x], [shape] * parts, "SplitOptions", NumSplits=parts)

    def slice(self, x: Value) -> None:
        begin, size = [], []
        for axis, n in enumerate(x.shape):
            unit = 4 if axis == len(x.shape) - 1 and self.draw(st.integers(0, 5)) else 1
            cut = self.draw(st.booleans())
            begin.append(unit * self.draw(st.integers(0, n // unit - 1)) if cut else 0)
            size.append(unit * self.draw(st.integers(1, (n - begin[-1]) // unit)) if cut else n)
        if size[-1] % 4 == 0:
            self.move("SLICE", [x, i32(begin), i32(size)], size)

    def join(self, x: Value) -> None:
        alike = [v for v in self.values if v.shape == x.shape]
        axis = self.draw(st.integers(0, len(x.shape) - 1))
        shape = [n * (1 + (i == axis)) for i, n in enumerate(x.shape)]
        self.move("CONCATENATION", [x, self.draw(st.sampled_from(alike))], shape, "ConcatenationOptions", Axis=axis)

    def turn(self, x: Value) -> None:
        self.elementwise(self.draw(st.sampled_from(["ABS", "NEG", "RELU"])), x, exact="keeps")

    def sum(self, x: Value) -> None:
        self.add("add", x, self.draw(st.sampled_from([v for v in self.values if v.shape == x.shape])))

    def product(self, x: Value) -> None:
        channels = self.draw(st.sampled_from([16, 48, 96]))
        weights = self.const((channels, x.shape[-1]), -0.2, 0.2)
        self.add("fully_connected", x, weights, keep_num_dims=True)


@st.composite
def heads(draw) -> Graph:
    b = _Heads(draw)
    b.turn(b.input(_fours(draw, draw(st.sampled_from([96, 192, 384, 576]))), coarse=True))
    of_view = st.sampled_from([b.reshape, b.split, b.slice, b.reshape, b.turn, b.sum, b.product, b.join])
    for _ in range(draw(st.integers(3, 12))):
        made = [
            v for v in b.values if v.shape and v.shape[-1] % 4 == 0 and v not in b.model.inputs and prod(v.shape) < 3000
        ]
        draw(of_view)(draw(st.sampled_from(made[-4:])))
    return b.finish()


@pytest.mark.parametrize("run", [*RUNS, *[pytest.param(run, marks=pytest.mark.slow) for run in SLOW_RUNS]], ids=str)
def test_random_heads_are_right(quadra, cases, run):
    @SOME
    @given(heads())
    def examples(graph):
        cases(repr(graph), lambda: check(quadra, graph, run))

    examples()


def _attention_like() -> tuple[Model, list[np.ndarray]]:
    """A product, split into three groups of heads of two kinds, of which each is weighed, and joined again."""
    chosen, model = np.random.default_rng(5), Model()

    def weights(*shape):
        return chosen.normal(0, 0.2, shape).astype(np.float32)

    x = model.fully_connected(model.input((1, 1, 24)), weights(240, 24), keep_num_dims=True)
    x = model.reshape(x, (1, 1, 3, 80))
    q = model.strided_slice(x, [0, 0, 0, 0], [1, 1, 3, 48], [1, 1, 1, 1])
    k = model.strided_slice(x, [0, 0, 0, 48], [1, 1, 3, 80], [1, 1, 1, 1])
    # A step would be merged into the reshape.
    q = model.mul(model.softmax(model.reshape(q, (1, 9, 1, 16))), weights(1, 9, 1, 1))
    q = model.softmax(model.reshape(q, (1, 1, 9, 16)))
    k = model.softmax(model.reshape(k, (1, 6, 16)))
    k = model.softmax(model.reshape(k, (1, 1, 2, 48)))
    made = model.fully_connected(model.reshape(q, (1, 1, 144)), weights(32, 144), keep_num_dims=True)
    more = model.fully_connected(model.reshape(k, (1, 1, 96)), weights(32, 96), keep_num_dims=True)
    model.output(model.add(made, more))
    return model, [chosen.normal(size=(1, 1, 24)).astype(np.float32)]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("target", "precision"), TARGETS)
def test_heads_are_split_without_a_dispatch(quadra, backend, target, precision):
    model, feeds = _attention_like()
    given = options(target, backend, precision=precision)
    outcome = quadra.run(model.bytes(), feeds, **given)
    outcome.check(cpu.run(model.bytes(), feeds), 1e-5 if precision == "f32" else 1e-2, least_range=0.1)
    if target:  # kernels for a CPU that walk through memory keep some
        assert not _MOVES & set(kernels(outcome)), kernels(outcome)


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_told_of_a_view_is_right(quadra, tmp_path, backend):
    """Its copy for dump_tensors, and the second computation of self_check."""
    model, feeds = _attention_like()
    dumped = options("adreno-740-gles", backend, dump_dir=str(tmp_path / "dump"), dump_tensors="1")
    for chosen in (dumped, options("mali-g76-buffers", backend, self_check="1")):
        outcome = quadra.run(model.bytes(), feeds, **chosen)
        outcome.check(cpu.run(model.bytes(), feeds), 1e-5, least_range=0.1)
        assert not outcome.report.get("notes"), outcome.report


# Dispatches of a layer and token: their number is what a phone pays for (docs/passes.md).
_LAYERS = {"smollm2-135m": 11, "qwen3-0.6b": 12, "gemma3-270m": 14}
_DECODE = 1  # the signature's subgraph
_SMALL = "width=128,heads=4,hidden=256,head_size=32,vocabulary=128,positions=64,prefill=8"


def _dispatches(quadra, path, name: str, layers: int, target: str, precision: str) -> int:
    heads = {"smollm2-135m": "kv_heads=2", "qwen3-0.6b": "kv_heads=2", "gemma3-270m": "kv_heads=1"}[name]
    make_decoder.write(decoder_sizes.chosen(f"{name},{_SMALL},{heads},layers={layers}"), path)
    outcome = quadra.run(path.read_bytes(), **options(target, "null", precision=precision))
    assert not outcome.on_cpu(), outcome.on_cpu()
    return sum(len(one["dispatches"]) for one in outcome.report["partitions"] if one["subgraph"] == _DECODE)


@pytest.mark.parametrize(("target", "precision"), [t for t in TARGETS if t[0]])
@pytest.mark.parametrize("name", _LAYERS)
def test_dispatches_of_a_layer(quadra, tmp_path, name, target, precision):
    few, more = (_dispatches(quadra, tmp_path / f"{n}.tflite", name, n, target, precision) for n in (2, 4))
    assert (more - few) / 2 <= _LAYERS[name]
