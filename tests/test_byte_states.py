"""States of bytes, as decoders' quantised caches: the new row alone is written, four bytes at once, those beside it stay as they
were. Numbers are those of the CPU's kernels, and the report says how many bytes moved."""

from __future__ import annotations

import numpy as np
import pytest

from tests import cpu
from tests.delegate import TOLERANCE, Quadra, options
from tests.model_builder import Model, Value
from tests.runs import BACKENDS, PRECISIONS
from tests.test_lifetime import run
from tests.test_states import in_place
from tests.vectors.case import constant

on_both = pytest.mark.parametrize("backend", BACKENDS)
GRIDS = {"int8": {"scale": 0.02, "zero_point": 3}, "uint8": {"scale": 0.02, "zero_point": 120}}


def floats_of(m: Model, x: Value) -> Value:
    return m.op("DEQUANTIZE", [x], x.shape, "DequantizeOptions", 2)


def one_cache(
    cache, part, dtype: str = "int8", updates: int = 1, reads=lambda m, old, new: [floats_of(m, new)]
) -> Model:
    """Inputs: the cache, and for each update floats and where they go. Outputs: the new cache, and what is read."""
    m, grid = Model(), {"dtype": dtype, **GRIDS[dtype]}
    old = new = m.input(cache, **grid)
    for _ in range(updates):
        row = m.op("QUANTIZE", [m.input(part)], part, "QuantizeOptions", output=grid)
        start = m.input((len(cache),), "int32")
        new = m.op("DYNAMIC_UPDATE_SLICE", [new, row, start], cache, version=2, output=grid)
    m.output(new, *reads(m, old, new))
    return m


def product(m: Model, old: Value, new: Value) -> list[Value]:
    """Of integers, too."""
    b, h, _, c = new.shape
    rows = m.const_narrow(np.round(constant("bytes/rows", (b, h, 3, c)) * 127), "int8", scale=0.01)
    grid = {"dtype": "int8", "scale": 0.1, "zero_point": -7}
    return [m.op("BATCH_MATMUL", [rows, new], (b, h, 3, new.shape[2]), "BatchMatMulOptions", 2, output=grid, AdjY=True)]


def old_and_new(m: Model, old: Value, new: Value) -> list[Value]:
    return [m.add(floats_of(m, old), floats_of(m, new)), floats_of(m, new)]


ROWS = {"cache": (1, 16, 2, 8), "part": (1, 1, 2, 8)}
CASES = {
    "rows": ROWS,
    "uint8": {**ROWS, "dtype": "uint8"},
    "unread": {**ROWS, "reads": lambda m, old, new: []},
    "product_of_integers": {"cache": (1, 2, 16, 8), "part": (1, 2, 1, 8), "reads": product},
    "two_updates": {**ROWS, "updates": 2, "reads": old_and_new},
    # One byte of four, as caches that have positions last.
    "columns": {"cache": (1, 2, 5, 16), "part": (1, 2, 5, 1)},
    "several_columns": {"cache": (2, 3, 5, 16), "part": (1, 2, 4, 6), "reads": old_and_new},
    "batches": {"cache": (3, 6, 2, 12), "part": (2, 2, 1, 7), "dtype": "uint8"},
}


def feeds(built: Model, at: int) -> list[np.ndarray]:
    cache = built.inputs[0]
    low = np.iinfo(cache.dtype).min
    made = [np.random.default_rng(5).integers(low, low + 256, cache.shape).astype(cache.dtype)]
    for i, value in enumerate(built.inputs[1:]):
        is_place = value.dtype == "int32"
        # Some are beyond the grid's ends.
        made.append(np.full(value.shape, at + i, np.int32) if is_place else constant(f"bytes/{i}", value.shape, -4, 4))
    return made


@on_both
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", CASES)
def test_an_updated_input_of_bytes_is_what_the_cpu_makes_of_it(quadra: Quadra, backend, precision, name):
    built = one_cache(**CASES[name])
    rounds = [feeds(built, at) for at in (0, 1, 6, -5, 100)]
    model = built.bytes()
    outcome = quadra.run(model, *rounds, **options(backend=backend, precision=precision))
    assert not outcome.error and not outcome.on_cpu(), outcome.error or outcome.on_cpu()
    assert in_place(outcome) == CASES[name].get("updates", 1)
    for got, want in zip(outcome.outputs, cpu.rounds(model, rounds), strict=True):
        # A float between two steps may be rounded to either of them; what nobody wrote is as it was.
        state, expected = (one[0].astype(int) for one in (got, want))
        assert np.abs(state - expected).max() <= (1 if precision != "f32" else 0), np.abs(state - expected).max()
        for one, other in zip(got[1:], want[1:], strict=True):
            steps = 1 if precision == "f32" else 1.5
            most = (
                steps if one.dtype != np.float32 else TOLERANCE[precision] * np.ptp(other) + (precision != "f32") * 0.04
            )
            assert np.abs(one.astype(float) - other).max() <= most, np.abs(one.astype(float) - other).max()
    (part,) = outcome.report["partitions"]
    size = rounds[0][0].nbytes
    assert part["copied_states_bytes"] == (size if backend == "opencl" else 2 * size)


@on_both
def test_rows_that_are_no_whole_fours_of_bytes_go_in_and_out(quadra: Quadra, backend):
    """Four bytes would be of two rows, which two work-items may write."""
    built = one_cache((1, 6, 2, 6), (1, 1, 2, 6))
    given = feeds(built, 2)
    outcome = quadra.run(built.bytes(), given, **options(backend=backend))
    assert not outcome.error and not outcome.on_cpu() and in_place(outcome) == 0
    (want,) = cpu.rounds(built.bytes(), [given])
    assert np.array_equal(outcome.outputs[0][0], want[0])


@pytest.mark.parametrize(("target", "backend"), [("adreno-640", "opencl"), ("mali-g76", "opencl"), ("adreno-740-gles", "gles"),
                                                 ("mali-g76-gles", "gles")])  # fmt: skip
def test_bytes_as_phones_write_them(quadra: Quadra, target, backend):
    """Bytes are read through texel buffers, where there are some."""
    built = one_cache(**CASES["several_columns"])
    rounds = [feeds(built, at) for at in (1, 3)]
    outcome = quadra.run(built.bytes(), *rounds, **options(target, backend))
    assert not outcome.error and not outcome.on_cpu() and in_place(outcome) == 1
    for got, want in zip(outcome.outputs, cpu.rounds(built.bytes(), rounds), strict=True):
        assert np.array_equal(got[0], want[0])


@on_both
def test_programs_that_write_bytes_are_checked(quadra: Quadra, backend):
    built = one_cache(**CASES["two_updates"])
    given = feeds(built, 3)
    outcome = quadra.run(built.bytes(), given, **options(backend=backend, self_check="1"))
    assert not outcome.error and in_place(outcome) == 2 and not outcome.report["partitions"][0]["notes"]
    assert np.array_equal(outcome.outputs[0][0], cpu.rounds(built.bytes(), [given])[0][0])


@on_both
def test_bytes_that_stand_for_themselves(quadra: Quadra, backend):
    """Without a scale."""
    m = Model()
    cache, part, at = m.input((1, 6, 2, 8), "int8"), m.input((1, 1, 2, 3), "int8"), m.input((4,), "int32")
    new = m.op("DYNAMIC_UPDATE_SLICE", [cache, part, at], cache.shape, version=2, output={"dtype": "int8"})
    m.output(new, m.op("CAST", [new], new.shape, "CastOptions"))
    given = [
        np.int8(np.arange(96) - 50).reshape(cache.shape),
        np.int8([[[[-128, 5, 127]] * 2]]),
        np.int32([0, 2, 0, 3]),
    ]
    outcome = quadra.run(m.bytes(), given, **options(backend=backend))
    assert not outcome.error and not outcome.on_cpu() and in_place(outcome) == 1
    for got, want in zip(outcome.outputs[0], cpu.rounds(m.bytes(), [given])[0], strict=True):
        assert np.array_equal(got, want)


@on_both
def test_another_grid_is_no_state(quadra: Quadra, backend):
    """What goes out is not what came in."""
    m = Model()
    cache = m.input((1, 6, 2, 8), dtype="int8", scale=0.02, zero_point=3)
    part, at = m.input((1, 1, 2, 8), dtype="int8", scale=0.02, zero_point=3), m.input((4,), "int32")
    new = m.op("DYNAMIC_UPDATE_SLICE", [cache, part, at], cache.shape, version=2,
               output={"dtype": "int8", "scale": 0.02, "zero_point": 3})  # fmt: skip
    m.output(
        m.op("QUANTIZE", [new], new.shape, "QuantizeOptions", output={"dtype": "int8", "scale": 0.04, "zero_point": 0})
    )
    given = [
        np.int8(np.arange(96) - 50).reshape(1, 6, 2, 8),
        np.full((1, 1, 2, 8), 77, np.int8),
        np.int32([0, 2, 0, 0]),
    ]
    outcome = quadra.run(m.bytes(), given, **options(backend=backend))
    assert not outcome.error and not outcome.on_cpu() and in_place(outcome) == 0
    (want,) = cpu.rounds(m.bytes(), [given])
    assert np.abs(outcome.outputs[0][0].astype(int) - want[0]).max() <= 1


_DECODER = """
import tempfile
from pathlib import Path
from host_tools.request import decoder_sizes, make_decoder
from tests.test_kept_states import States
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "decoder.tflite"
    make_decoder.write(decoder_sizes.chosen(SIZES), path)
    RAW = path.read_bytes()
TOKENS = np.random.default_rng(1).integers(1, 60, 14).astype(np.int32)

def decode(interpreter, caches, keeps):
    '''The logits of each step, and the last caches.'''
    logits, runners = [], {key: interpreter.get_signature_runner(key) for key in ("prefill_8", "decode")}
    for key, begin, count in [("prefill_8", 0, 8), *(("decode", 8 + i, 1) for i in range(6))]:
        positions = np.arange(begin, begin + count, dtype=np.int32)
        more = {}
        if "mask" in runners[key].get_input_details():
            shape = runners[key].get_input_details()["mask"]["shape"]
            seen = np.arange(shape[-1])[None] <= positions[:, None]
            more["mask"] = np.broadcast_to(np.where(seen, 0, -1e30).astype(np.float32), shape).copy()
        made = runners[key](tokens=TOKENS[None, begin : begin + count], input_pos=positions, **more, **caches)
        caches = {name: made[name] for name in caches} if keeps else caches
        logits += [made["logits"]] if key == "decode" else []
    return logits, caches

CPU = cpu.reference_interpreter(RAW)
details = CPU.get_signature_runner("decode").get_input_details()
zeros = {name: np.zeros(one["shape"], np.int8) for name, one in details.items() if name.startswith("kv_cache_")}
assert len(zeros) == 4 and all(details[name]["dtype"] == np.int8 for name in zeros)
want, last = decode(CPU, zeros, True)

def check(got, caches):
    for name, one in last.items():
        # A float between two steps becomes one of them.
        assert np.abs(caches[name].astype(int) - one).max() <= 1, name
    for one, other in zip(got, want, strict=True):
        assert np.abs(one - other).max() <= 2e-2 * np.ptp(other), np.abs(one - other).max()

interpreter, delegate = opened(backends[0], RAW)
check(*decode(interpreter, zeros, True))
interpreter, delegate = opened(backends[0], RAW, states="kv_cache_")
states = States(library, delegate)
nothing = {name: np.full_like(one, 99) for name, one in zeros.items()}
for _ in range(2):
    got, _ = decode(interpreter, nothing, False)
    check(got, {name: states.read(name, one) for name, one in last.items()})
    assert states.write(None), states.said
for name, one in last.items():
    assert states.write(name, one) and states.read(name, one).tobytes() == one.tobytes()
partitions = report(library, delegate)["partitions"]
assert all([d["kernel"] for d in one["dispatches"]].count("update_in_place") > 0 for one in partitions)
print(json.dumps([[one["copied_bytes"], one["copied_states_bytes"]] for one in partitions]))
"""
FORMS = {
    "smollm2-135m": "smollm2-135m,layers=2,width=64,heads=4,kv_heads=2,hidden=64,vocabulary=64",
    "qwen3-0.6b": "qwen3-0.6b,layers=2,width=64,heads=4,kv_heads=2,head_size=16,hidden=64,vocabulary=64",
}


@on_both
@pytest.mark.parametrize("form", FORMS)
def test_a_decoder_with_caches_of_int8(library, backend, form):
    """Step by step with the CPU's tokens, its caches handed over, and those that stay: signatures share them, and a step moves
    no byte of them, whatever their length is."""
    moved = []
    for positions in (16, 64):
        sizes = f"{FORMS[form]},positions={positions},prefill=8,weights=f32,caches=int8"
        moved.append(run(library, f"SIZES = {sizes!r}\n" + _DECODER, backend))
    for prefill, decode in moved:
        assert prefill[1] == decode[1] == 0
    mask = 4 * (64 - 16) * (form == "qwen3-0.6b")
    assert moved[1][1][0] - moved[0][1][0] <= mask
