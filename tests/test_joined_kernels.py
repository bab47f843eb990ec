"""Small kernels that do not need each other's results are one dispatch (delegate_native/plan/join_kernels.cc)."""

from __future__ import annotations

import numpy as np
import pytest

from host_tools.request import decoder_sizes, make_decoder
from tests import cpu
from tests.delegate import TOLERANCE, options
from tests.runs import BACKENDS
from tests.test_shared_memory import kernels

# A step of one token, whose keys and values of the last layer depend on all layers before.
_SIZES = "layers=3,width=128,heads=4,hidden=256,vocabulary=128,positions=16,prefill=1"
# The gate of a feed-forward goes on with its product, and what a norm adds with the next norm.
_JOINED = {
    "smollm2-135m,kv_heads=2,head_size=32": {"matvec_split", "rope", "update_in_place"},
    "smollm2-135m,kv_heads=2,head_size=32,weights=int4": {"matvec_split", "rope", "update_in_place"},
    "smollm2-135m,kv_heads=2,head_size=32,weights=f32": {"mul", "rope", "update_in_place"},
    "qwen3-0.6b,kv_heads=2,head_size=128": {"matvec_split", "rope_group", "update_in_place"},
    "gemma3-270m,head_size=32": {"matvec_split", "norm_group", "rope", "update_in_place"},
}
_TARGETS = [
    ("adreno-740-gles", "f32"),
    ("mali-g76-gles", "f16"),
    ("mali-g76-buffers", "f16"),
    ("adreno-640", "f32_f16"),
]


@pytest.fixture(scope="module")
def steps(tmp_path_factory):
    """A decoder's model, its inputs in the middle of a text, and the results of kernels that stay apart, as those do that are
    checked: the interpreter's round activations to int8."""
    made: dict[str, tuple] = {}

    def step(quadra, name: str) -> tuple[bytes, list[np.ndarray], list[np.ndarray]]:
        if name not in made:
            path = tmp_path_factory.mktemp("joined") / "decoder.tflite"
            make_decoder.write(decoder_sizes.chosen(f"{name},{_SIZES}"), path)
            feeds = [_feed(one) for one in cpu.reference_interpreter(path.read_bytes()).get_input_details()]
            alone = quadra.run(path.read_bytes(), feeds, **options(self_check="1"))
            assert not any("joined" in one for one in kernels(alone))
            made[name] = path.read_bytes(), feeds, alone.outputs[-1]
        return made[name]

    return step


def _feed(detail: dict) -> np.ndarray:
    shape = tuple(detail["shape"])
    if detail["dtype"] == np.int32:
        return np.full(shape, 5, np.int32)
    if "mask" in detail["name"]:
        return np.where(np.arange(shape[-1]) <= 5, 0, -1e9).astype(np.float32).reshape(shape)
    return np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("target", "precision"), _TARGETS)
@pytest.mark.parametrize("name", _JOINED)
def test_a_joined_step_is_right(quadra, steps, backend, target, precision, name):
    model, feeds, expected = steps(quadra, name)
    outcome = quadra.run(model, feeds, **options(target, backend, precision=precision))
    outcome.check(expected, TOLERANCE[precision])
    found = {one.removesuffix("_joined") for one in kernels(outcome) if one.endswith("_joined")}
    # OpenGL ES promises fewer bindings than a target for OpenCL counts on.
    assert (backend == "gles" and not target.endswith("gles")) or _JOINED[name] <= found, found


@pytest.mark.parametrize("backend", BACKENDS)
def test_programs_that_are_checked_stay_apart(quadra, steps, backend):
    """A check compares the results of single nodes."""
    model, feeds, expected = steps(quadra, "smollm2-135m,kv_heads=2,head_size=32")
    outcome = quadra.run(model, feeds, **options("adreno-740-gles", backend, self_check="1"))
    outcome.check(expected)
    assert not any("joined" in one for one in kernels(outcome))


@pytest.mark.parametrize("backend", BACKENDS)
def test_joined_kernels_come_from_the_cache(quadra, steps, backend, tmp_path):
    model, feeds, expected = steps(quadra, "qwen3-0.6b,kv_heads=2,head_size=128")
    for cached in ("miss", "hit"):
        given = options("adreno-740-gles", backend, serialization_dir=str(tmp_path))
        outcome = quadra.run(model, feeds, **given)
        outcome.check(expected)
        assert outcome.report["partitions"][0]["cache"].startswith(cached), outcome.report["partitions"][0]["cache"]
        assert any("joined" in one for one in kernels(outcome))


@pytest.mark.parametrize("target", ["adreno-640", "adreno-740-gles", "mali-g76-gles"])
@pytest.mark.parametrize("precision", ["f32", "f32_f16", "f16"])
@pytest.mark.parametrize("name", ["smollm2-135m", "qwen3-0.6b", "gemma3-270m"])
def test_a_layer_is_ten_dispatches(quadra, tmp_path, target, precision, name):
    """In a step of one token, of the model's own widths: a layer more costs so many."""

    def count(layers: int) -> int:
        path = tmp_path / f"{layers}.tflite"
        make_decoder.write(decoder_sizes.chosen(f"{name},layers={layers},vocabulary=32,positions=64,prefill=2"), path)
        outcome = quadra.run(path.read_bytes(), **options(target, "null", precision=precision))
        assert not outcome.error and not outcome.on_cpu()
        steps = [part for part in outcome.report["partitions"] if part["subgraph"] == 1]
        return sum(len(part["dispatches"]) for part in steps)

    assert count(3) - count(2) == 10


@pytest.mark.parametrize("target", ["adreno-640", "adreno-740-gles"])
def test_products_of_floats_are_joined(quadra, steps, target):
    """Their weights stay apart, so that a prefill has the same ones."""
    model, feeds, _ = steps(quadra, "smollm2-135m,kv_heads=2,head_size=32,weights=f32")
    assert "conv2d_split_joined" in kernels(quadra.run(model, feeds, **options(target, "null")))
