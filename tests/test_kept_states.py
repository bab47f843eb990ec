"""States that the option `states` names stay in the GPU's memory: signatures share them, an inference moves no byte of them,
the interpreter's memory is neither read nor written for them, and the host gets them when it asks."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from tests import cpu
from tests.buffers_c import Say
from tests.delegate import Quadra, options
from tests.model_builder import Model
from tests.runs import BACKENDS
from tests.state_models import CACHE, PART, both, one_cache, updated
from tests.test_lifetime import run
from tests.vectors.case import constant

on_both = pytest.mark.parametrize("backend", BACKENDS)


class States:
    """The delegate's C functions for states; sentences are in `said`."""

    def __init__(self, library: str, delegate: Any) -> None:
        self.library, self.said = ctypes.CDLL(library), list[str]()
        self._say = Say(lambda text: self.said.append(text.decode()))
        self._delegate = ctypes.c_void_p(delegate._get_native_delegate_pointer())

    def read(self, name: str, like: np.ndarray) -> np.ndarray | None:
        made = np.full_like(like, 7)
        size = ctypes.c_size_t(made.nbytes)
        done = self.library.QuadraDelegateReadState(self._delegate, name.encode(), _at(made), size, self._say)
        return made if done else None

    def write(self, name: str | None, array: np.ndarray | None = None) -> bool:
        at, size = (None, 0) if array is None else (_at(array), array.nbytes)
        words = (name.encode() if name else None, at, ctypes.c_size_t(size), self._say)
        return bool(self.library.QuadraDelegateWriteState(self._delegate, *words))


def _at(array: np.ndarray) -> ctypes.c_void_p:
    return array.ctypes.data_as(ctypes.c_void_p)


_DECODER = """
import tempfile
from pathlib import Path
from host_tools.request import decoder_sizes, make_decoder
from tests.test_kept_states import States
SIZES = "smollm2-135m,layers=2,width=64,heads=4,kv_heads=2,hidden=64,vocabulary=64,positions=POSITIONS,prefill=8,weights=int8"
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "decoder.tflite"
    make_decoder.write(decoder_sizes.chosen(SIZES.replace("POSITIONS", str(POSITIONS))), path)
    RAW = path.read_bytes()
TOKENS = np.random.default_rng(1).integers(1, 60, 14).astype(np.int32)

def open_decoder(**given):
    interpreter, delegate = opened(backends[0], RAW, **given)
    return {key: interpreter.get_signature_runner(key) for key in ("prefill_8", "decode")}, delegate, interpreter

def decode(runners, caches, keeps):
    '''The logits of each step, and the last caches.'''
    logits = []
    for key, begin, count in [("prefill_8", 0, 8), *(("decode", 8 + i, 1) for i in range(6))]:
        positions = np.arange(begin, begin + count, dtype=np.int32)
        made = runners[key](tokens=TOKENS[None, begin : begin + count], input_pos=positions, **caches)
        caches = {name: made[name] for name in caches} if keeps else caches
        logits += [made["logits"]] if key == "decode" else []
    return logits, caches

runners, delegate, interpreter = open_decoder()
details = runners["decode"].get_input_details()
zeros = {name: np.zeros(one["shape"], np.float32) for name, one in details.items() if name.startswith("kv_cache_")}
assert len(zeros) == 4
want, last = decode(runners, zeros, True)

def close(one, other):
    return np.abs(one - other).max() <= 1e-5 * np.abs(other).max()

runners, delegate, interpreter = open_decoder(states="kv_cache_")
states = States(library, delegate)
nothing = {name: np.full_like(one, np.nan) for name, one in zeros.items()}
for _ in range(2):
    got, _ = decode(runners, nothing, False)
    assert all(close(one, other) for one, other in zip(got, want, strict=True))
    for name, one in last.items():
        assert close(states.read(name, one), one), name
    assert states.write(None), states.said
    assert all((states.read(name, one) == 0).all() for name, one in last.items())
# Numbers from the host go on where another decoder was.
for name, one in last.items():
    assert states.write(name, one)
    assert states.read(name, one).tobytes() == one.tobytes()
(again,) = [runners["decode"](tokens=TOKENS[None, 13:], input_pos=np.int32([13]), **nothing)["logits"]]
assert close(again, want[-1])
assert states.read("kv_cache_x_0", zeros["kv_cache_k_0"]) is None and not states.write("kv_cache_k_0", np.zeros(3, np.float32))
assert states.said == ["Quadra: option states: 'kv_cache_x_0' is no state",
                       f"Quadra: write the state 'kv_cache_k_0': it has {zeros['kv_cache_k_0'].nbytes} bytes, not 12"], states.said
partitions = report(library, delegate)["partitions"]
print(json.dumps([[one["copied_bytes"], one["copied_states_bytes"]] for one in partitions]))
"""


@on_both
def test_signatures_share_them_and_a_step_moves_no_byte_of_them(library, backend):
    """Whatever the caches' length is: what moves are tokens, positions and logits."""
    moved = [run(library, f"POSITIONS = {positions}\n" + _DECODER, backend) for positions in (16, 64)]
    logits, position, token = 64 * 4, 4, 4
    for prefill, decode in moved:
        assert prefill[1] == decode[1] == 0
        assert decode[0] <= logits + position + token and prefill[0] <= 8 * (position + token)
    assert moved[0] == moved[1]


_TURNS = """
from tests.test_kept_states import States, turns
interpreter, delegate = opened(backends[0], turns().bytes(), states="h_in=h_out")
states, h = States(library, delegate), np.zeros((1, 4, 4, 8), np.float32)
for step in range(5):
    x = constant(f"kept/{step}", h.shape)
    (y,) = invoke(interpreter, [x, np.full_like(h, np.nan)])[:1]
    h = np.tanh(x + h)
    assert np.allclose(y, 2 * h, atol=1e-5), np.abs(y - 2 * h).max()
    assert np.allclose(states.read("h_in", h), h, atol=1e-5)
(one,) = report(library, delegate)["partitions"]
print(one["copied_bytes"])
"""


def turns() -> Model:
    """A state that is wholly new after each step."""
    m = Model()
    x, h = m.input((1, 4, 4, 8)), m.input((1, 4, 4, 8), name="h_in")
    new = m.op("TANH", [m.add(x, h)], h.shape, output={"name": "the_h_out"})
    m.output(m.mul(new, np.float32([2.0])), new)
    return m


@on_both
def test_a_state_that_is_not_updated_in_place_has_two_memories_in_turn(library, backend):
    moved = run(library, _TURNS, backend)
    assert moved <= 2 * 4 * 4 * 8 * 4, "x and y"


def cache() -> Model:
    m = Model()
    m.output(updated(m, m.input(CACHE, name="cache"), m.input(PART), m.input((4,), "int32")))
    return m


def beside(read: str) -> Model:
    """The old state, or the new one, is read by a node on the CPU."""
    m = Model()
    old = m.input(CACHE, name="cache")
    new = updated(m, old, m.input(PART), m.input((4,), "int32"))
    m.output(new, m.left_to_cpu({"old": old, "new": new}[read]))
    return m


def twice() -> Model:
    m = Model()
    for name in ("a_cache", "b_cache"):
        m.output(updated(m, m.input(CACHE, name=name), m.input(PART), m.input((4,), "int32")))
    return m


def two_outputs() -> Model:
    m = Model()
    h = m.input((1, 4, 4, 8), name="h_in")
    m.output(*(m.op(op, [h], h.shape, output={"name": name}) for op, name in (("TANH", "out_a"), ("SIN", "out_b"))))
    return m


REFUSED = {
    "no name": (cache, "kv_", "'kv_' is in no tensor's name"),
    "not in place": (turns, "h_in", "'h_in' is updated in place by none: name its output"),
    "no output": (turns, "h_in=z", "'h_in' has no output of its partition"),
    "several outputs": (two_outputs, "h_in=out_", "'h_in' has several outputs"),
    "half a pair": (turns, "h_in=", "option states=h_in=: it must be like kv_cache_+h_in=h_out"),
    "the CPU reads the old one": (
        lambda: beside("old"),
        "cache",
        "'cache' is read by nodes that are not in one partition",
    ),
    "the CPU reads the new one": (lambda: beside("new"), "cache", "is read by nodes of other partitions"),
    "one name twice": (twice, "cache", "'cache' are several inputs of one subgraph"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_stay_on_the_gpu_is_refused_with_the_reason(quadra: Quadra, name):
    make, given, words = REFUSED[name]
    feeds = [np.zeros(one.shape, one.dtype) for one in make().inputs]
    outcome = quadra.run(make().bytes(), feeds, **options(states=given, small_partitions_allowed="1"))
    assert words in outcome.error, outcome.error


_SIGNATURES = """
from tests.delegate_worker import open_model
from tests.signature_models import with_signatures
from tests.test_kept_states import of_size
try:
    open_model(library, with_signatures(of_size(16), of_size(8), ("prefill", "decode")), {"backend": backends[0], "states": "cache"})
except (ValueError, RuntimeError) as error:
    print(json.dumps(str(error)))
"""


def of_size(rows: int) -> Model:
    m = Model()
    m.output(updated(m, m.input((1, rows, 2, 8), name="cache"), m.input(PART), m.input((4,), "int32")))
    return m


def gone_on() -> Model:
    """Beside the state, an output of floats."""
    m = Model()
    cache, part = m.input(CACHE, name="cache"), m.input(PART)
    m.output(updated(m, cache, part, m.input((4,), "int32")), m.mul(part, np.float32([2.0])))
    return m


@on_both
def test_signatures_that_disagree_about_a_state_are_refused(library, backend):
    said = run(library, _SIGNATURES, backend)
    assert "option states: 'cache' is 1,16,2,8 float32 in one place and 1,8,2,8 float32 in another" in said


def test_the_cpu_computes_what_is_not_named(quadra: Quadra):
    """Without the option an input is an input."""
    built = one_cache(both)
    feeds = [constant("kept/cache", CACHE), constant("kept/part", PART), np.int32([0, 3, 0, 0])]
    quadra.run(built.bytes(), feeds, **options()).check(cpu.run(built.bytes(), feeds))
