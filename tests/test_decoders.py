"""Small decoders (models/decoders of QUADRA_MODELS_DIR) against PyTorch, which they were converted from."""

from __future__ import annotations

import numpy as np
import pytest

from host_tools.base import settings
from host_tools.places import on_host
from host_tools.record import schema
from host_tools.request import from_arguments
from tests.runs import BACKENDS

_CACHES = ("k0", "k1", "v0", "v1")
_STEPS = 2  # of eight


def found(name: str):
    files = [file for folder in settings.read().models_dirs for file in folder.rglob(name)]
    if not files:
        pytest.skip(f"{name} is not in a folder of QUADRA_MODELS_DIR")
    return files[0]


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_gemma3_with_one_head_of_keys_is_what_pytorch_computes(library, tmp_path, backend, monkeypatch):
    """The interpreter's own kernels, which run the decompositions of its attention, are off by a third of the logits."""
    monkeypatch.setenv("QUADRA_RUNS_DIR", str(tmp_path / "runs"))
    model, expected = found("gemma3_tiny_f32_ekv64.tflite"), np.load(found("gemma3_tiny_torch.npz"))
    caches = {f"kv_cache_{key[0]}_{key[1]}": np.zeros((1, 64, 1, 32), np.float32) for key in _CACHES}

    def run(signature: str, tokens: np.ndarray, position: int) -> dict[str, np.ndarray]:
        folder = tmp_path / f"{signature}_{position}"
        folder.mkdir()
        positions = np.arange(position, position + len(tokens), dtype=np.int32)
        for name, array in {"tokens": tokens[None], "input_pos": positions, **caches}.items():
            np.save(folder / f"{name}.npy", array)
        spec = from_arguments.make_spec(
            str(model), signature=signature, arrays=str(folder), backend=backend, repetitions=1
        )
        done = on_host.Host(library).run(spec)
        nodes = done.read(schema.Verdicts).nodes
        assert all(node.on == "gpu" for node in nodes)
        named = [node for node in nodes if node.note]
        assert len(named) == 2 - (signature != "decode") and all("is meant" in node.note for node in named)
        made = {tensor.name: array for tensor, array in zip(done.tensors("outputs"), done.arrays("outputs"))}
        caches.update({name: made[name] for name in caches})
        return made

    tokens = np.random.default_rng(1).integers(1, 500, 24).astype(np.int32)
    run("prefill_16", tokens[:16], 0)
    for key in _CACHES:
        np.testing.assert_allclose(caches[f"kv_cache_{key[0]}_{key[1]}"][:, :16], expected[key][:, :16], atol=2e-5)
    for step in range(_STEPS):
        made = run("decode", tokens[16 + step : 17 + step], 16 + step)
        np.testing.assert_allclose(made["logits"], expected[f"l{step}"], atol=5e-5)
