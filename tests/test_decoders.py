"""Small decoders (models/decoders of QUADRA_MODELS_DIR) against PyTorch, which they were converted from."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from host_tools.base import child_process, settings
from host_tools.build import bazel
from host_tools.places import on_host
from host_tools.record import schema
from host_tools.request import from_arguments
from tests.delegate import environment
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
        named = [node for node in nodes if node.note and "attention" in node.note]
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


_SIGNATURES = """
import json, sys
import numpy as np
from tests.compiled_worker import details, invoke, open_model, report
from tests.delegate_worker import open_model as open_interpreter
accelerator, library, path, backend = sys.argv[1:]
raw, chosen = open(path, "rb").read(), np.random.default_rng(0)
model = open_model(accelerator, raw, cpu=False)
interpreter, _ = open_interpreter(library, raw, {"backend": backend})
for index, (key, names) in enumerate(model.get_signature_list().items()):
    feeds = {
        name: chosen.integers(0, 16, detail["shape"], np.int32)
        if detail["dtype"] == "int32"
        else chosen.normal(size=detail["shape"]).astype(np.float32)
        for name, detail in zip(names["inputs"], details(model, index)[0], strict=True)
    }
    got = invoke(model, list(feeds.values()), signature=index)
    want = interpreter.get_signature_runner(key)(**feeds)
    for name, array in zip(names["outputs"], got, strict=True):
        assert np.isfinite(array).all() and array.tobytes() == want[name].tobytes(), (key, name)
print(json.dumps({"whole": model.is_fully_accelerated(), **report(accelerator)}))
"""


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "name", ["hfqwen3_tiny_dynamic_wi8_afp32", "smollm_tiny_q4_block32_ekv128", "gemma3_tiny_f32_ekv64", "vit_q8"]
)
def test_compiled_model_takes_them_whole_with_the_gpu_alone(library, name, backend):
    """As runtimes of LLMs ask: every signature, with the interpreter's bits. Their norms and attentions are composites."""
    words = [bazel.accelerator(), library, found(f"{name}.tflite"), backend]
    env = {**environment(library), "QUADRA_BACKEND": backend}
    done = child_process.run([sys.executable, "-c", _SIGNATURES, *words], cwd=settings.ROOT, env=env, timeout_s=300)
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["whole"] and {node["on"] for node in told["nodes"]} == {"gpu"}
    assert told["backend"] == backend
