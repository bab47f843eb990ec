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
from tests.test_lifetime import run
from tests.test_states import APP_GL, APP_OPENCL

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


_DECODING = """
from tests.buffers_c import GL, HOST, OPENCL, Native
native = Native(library)
path, torch = PATHS
raw = open(path, "rb").read()
NAMES = ("kv_cache_k_0", "kv_cache_k_1", "kv_cache_v_0", "kv_cache_v_1")

def open_decoder(**given):
    interpreter, delegate = opened(backends[0], raw, **given)
    return delegate, {key: interpreter.get_signature_runner(key) for key in ("prefill_16", "decode")}, interpreter

delegate, runners, interpreter = open_decoder()
caches = {name: np.zeros(detail["shape"], np.float32)
          for name, detail in runners["decode"].get_input_details().items() if name in NAMES}
assert len(caches) == 4
tokens = np.random.default_rng(1).integers(1, 500, 24).astype(np.int32)

def inputs(key, begin, count, caches):
    details = runners[key].get_input_details()
    positions = np.arange(begin, begin + count, dtype=np.int32)
    given = {"tokens": tokens[None, begin : begin + count], "input_pos": positions, **caches}
    if "mask" in details:
        seen = np.arange(details["mask"]["shape"][-1])[None] <= positions[:, None]
        given["mask"] = np.where(seen, 0, -1e9).astype(np.float32)[None, None]
    return given

def decode(runners, caches, keeps):
    # The logits of eight steps, and the last caches where the interpreter's memory holds them.
    logits = []
    for key, begin, count in [("prefill_16", 0, 16), *(("decode", 16 + i, 1) for i in range(8))]:
        made = runners[key](**inputs(key, begin, count, caches))
        if keeps:
            caches = {name: made[name] for name in NAMES}
        if key == "decode":
            logits.append(made["logits"])
    return logits, caches

def figures(delegate):
    told = report(library, delegate)["partitions"]
    kernels = [dispatch["kernel"] for one in told for dispatch in one["dispatches"]]
    assert kernels.count("update_in_place") == 8, kernels
    return [(one["copied_bytes"], one["copied_states_bytes"]) for one in told]

want, last = decode(runners, caches, True)
if torch:
    expected = np.load(torch)
    for step, one in enumerate(want):
        assert np.allclose(one, expected[f"l{step}"], atol=5e-5), step
apart = figures(delegate)
everything = sum(one.nbytes for one in caches.values())
assert all(states >= everything for _, states in apart), apart

# The same with one buffer for each cache, of both signatures, in and out. The interpreter's memory holds other numbers.
delegate, runners, interpreter = open_decoder()
objects = {name: made(one) for name, one in caches.items()}
for key, runner in runners.items():
    subgraph = runner._subgraph_index
    for side in (runner.get_input_details(), runner.get_output_details()):
        for name, one in caches.items():
            assert native.bind(delegate, side[name]["index"], *handle(objects[name]), one.nbytes, subgraph), native.said
got, _ = decode(runners, {name: np.full_like(one, np.nan) for name, one in caches.items()}, False)
assert not native.bind(delegate, 10**6, *handle(objects[name]), one.nbytes, 1) and "tensor 1000000" in native.said[-1]
for one, other in zip(got, want, strict=True):
    assert np.abs(one - other).max() <= 1e-5 * np.abs(other).max()
for name, one in last.items():
    assert np.abs(read(objects[name], one) - one).max() <= 1e-5 * np.abs(one).max()
moved = figures(delegate)
assert [states for _, states in moved] == [0, 0]
# Tokens, positions, masks, logits: nothing of the caches' size.
small = sum(one.nbytes for one in inputs("decode", 16, 1, {}).values()) + want[0].nbytes
assert moved[1][0] <= small, (moved, small)
print(json.dumps([apart, moved, everything]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "name", ["hfqwen3_tiny_dynamic_wi8_afp32", "smollm_tiny_q4_block32_ekv128", "gemma3_tiny_f32_ekv64"]
)
def test_caches_in_one_buffer_are_written_in_place(library, name, backend):
    """Prefill and eight steps of decode: in the interpreter's memory, and in buffers of the GPU API that both signatures
    read and write. A step then moves no cache."""
    torch = str(found("gemma3_tiny_torch.npz")) if name.startswith("gemma3") else ""
    prelude = f"PATHS = {str(found(f'{name}.tflite'))!r}, {torch!r}\n"
    if backend == "gles":
        run(library, APP_GL + prelude + _DECODING, backend, timeout_s=300)
    else:
        run(library, prelude + _DECODING.replace("objects = {", APP_OPENCL + "objects = {", 1), backend, timeout_s=300)
