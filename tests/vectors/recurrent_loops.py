"""WHILE: loops over the steps of an LSTM, a GRU or an RNN, written as TensorFlow 2.21's converter writes the layers of
Keras 3, which the references compute by Keras' formulas. Loops that are something else stay on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tests.model_builder import Model, Value
from tests.vectors.case import Case, Feed, constant

_GATES = {"lstm": 4, "gru": 3, "rnn": 1}  # i f c o; z r h; one
_ACTIVATIONS = {"TANH": np.tanh, "RELU": lambda v: np.maximum(v, 0)}


def _sigmoid(v: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-v))


@dataclass(frozen=True)
class Loop:
    """A layer of `kind`. `keeps`: "all" results, the "last" one, or "states" alone; the loop's states are outputs, too.
    `mask`: "" none, "keeps" the result of the step before, "hides" it. `given`: states are inputs, not zeros. `float16`:
    weights behind DEQUANTIZE. `as_inputs`: weights go through the loop. `odd` is what makes it no such layer."""

    kind: str
    name: str
    batch: int = 2
    steps: int = 5
    depth: int = 5
    units: int = 6
    keeps: str = "all"
    mask: str = ""
    bias: bool = True
    activation: str = "TANH"
    given: bool = False
    float16: bool = False
    as_inputs: bool = False
    odd: str = ""

    @property
    def state(self) -> tuple[int, int]:
        return (self.batch, self.units)

    @property
    def states(self) -> int:
        return 2 if self.kind == "lstm" else 1

    @property
    def results(self) -> tuple[int, ...]:
        return (self.steps if self.keeps == "all" else 1, *self.state)

    def table(self, name: str, *shape: int) -> np.ndarray:
        most = min(0.8, 2 / np.sqrt(shape[-1])) if len(shape) > 1 else 0.8
        made = constant(f"loop/{self.kind}/{self.name}/{name}", shape, -most, most)
        return made.astype(np.float16).astype(np.float32) if self.float16 else made

    def tables(self) -> dict[str, np.ndarray]:
        rows = _GATES[self.kind] * self.units
        made = {"w": self.table("w", rows, self.depth), "r": self.table("r", rows, self.units)}
        if self.bias:
            made["b"] = self.table("b", rows)
        if self.bias and self.kind == "gru":
            made["rb"] = self.table("rb", rows)
        return made

    # The numpy reference

    def step(self, x: np.ndarray, state: list[np.ndarray]) -> list[np.ndarray]:
        t, act = self.tables(), _ACTIVATIONS[self.activation]
        z = np.split(x @ t["w"].T + t.get("b", 0), _GATES[self.kind], -1)
        r = np.split(state[0] @ t["r"].T + t.get("rb", 0), _GATES[self.kind], -1)
        if self.kind == "rnn":
            return [act(z[0] + r[0])]
        if self.kind == "gru":
            update, reset = _sigmoid(z[0] + r[0]), _sigmoid(z[1] + r[1])
            return [update * state[0] + (1 - update) * act(z[2] + reset * r[2])]
        i, f, g, o = (a + b for a, b in zip(z, r, strict=True))
        cells = _sigmoid(f) * state[1] + _sigmoid(i) * act(g)
        return [_sigmoid(o) * act(cells), cells]

    def run(self, x: np.ndarray, *given: np.ndarray) -> tuple[np.ndarray, ...]:
        more = list(given)
        mask = more.pop(0) if self.mask else np.ones((self.steps, self.batch, 1), bool)
        state = [s.astype(np.float64) for s in more] or [np.zeros(self.state)] * self.states
        shown, made = state[0], []
        for t in range(self.steps):
            following = self.step(x[t].astype(np.float64), state)
            state = [np.where(mask[t], a, b) for a, b in zip(following, state, strict=True)]
            shown = np.where(mask[t], following[0], 0 if self.mask == "hides" else shown)
            made.append(shown)
        results = np.stack(made if self.keeps == "all" else made[-1:])
        return (*([] if self.keeps == "states" else [results]), *state)

    # The model

    def feeds(self) -> list:
        feeds: list = [(self.steps, self.batch, self.depth)]
        feeds += [Feed((self.steps, self.batch, 1), 0, 1, dtype="bool")] if self.mask else []
        return feeds + [self.state] * (self.states if self.given else 0)

    def carried(self) -> list[tuple[tuple[int, ...], str]]:
        """The loop's tensors: shape and type, as Keras orders them."""
        made: list[tuple[tuple[int, ...], str]] = [((), "int32"), ((), "int32")]
        made += [] if self.keeps == "states" else [(self.results, "float32")]
        made += [(self.state, "float32")] if self.mask == "keeps" else []
        made += [(self.state, "float32")] * self.states
        made += [((self.steps, self.batch, 1), "bool")] if self.mask else []
        made += [((self.steps, self.batch, self.depth), "float32")]
        return made + [(t.shape, "float32") for t in self.tables().values() if self.as_inputs]

    def build(self, m: Model, x: Value, *given: Value) -> tuple[Value, ...]:
        more = list(given)
        mask = [more.pop(0)] if self.mask else []
        first: list = [np.int32(0), np.int32(1 if self.odd == "counts from one" else 0)]
        first += [] if self.keeps == "states" else [np.zeros(self.results, np.float32)]
        first += [np.full(self.state, 0.5 * (self.odd == "shows a half"), np.float32)] if self.mask == "keeps" else []
        first += [*(more or [np.zeros(self.state, np.float32)] * self.states), *mask, x]
        if self.as_inputs:
            first += [m.const_f16(t) if self.float16 else t for t in self.tables().values()]
        made = [m.value(shape, dtype) for shape, dtype in self.carried()]
        m.several("WHILE", first, made, "WhileOptions", CondSubgraphIndex=1, BodySubgraphIndex=2)
        states = made[-1 - len(mask) - self.states - self._inputs() : -1 - len(mask) - self._inputs()]
        return (*([] if self.keeps == "states" else [made[2]]), *states)

    def _inputs(self) -> int:
        return len(self.tables()) if self.as_inputs else 0

    def condition(self) -> Model:
        m = Model()
        turn, step, *_ = (m.input(shape, dtype) for shape, dtype in self.carried())
        most = np.int32(self.steps - (self.odd == "stops early"))
        both = [m.elementwise("LESS", count, most, to_bool=True) for count in (turn, step)]
        m.output(m.elementwise("LOGICAL_AND", *both, to_bool=True))
        return m

    def body(self) -> Model:
        m = Model()
        carried = [m.input(shape, dtype) for shape, dtype in self.carried()]
        rest = list(carried)
        counts = [rest.pop(0), rest.pop(0)]
        results = None if self.keeps == "states" else rest.pop(0)
        shown = rest.pop(0) if self.mask == "keeps" else None
        state = [rest.pop(0) for _ in range(self.states)]
        mask = rest.pop(0) if self.mask else None
        sequence, *weights = rest
        names = self.tables()
        operand = m.const_f16 if self.float16 else m.const
        t: dict[str, Value] = (
            dict(zip(names, weights, strict=True)) if weights else {name: operand(one) for name, one in names.items()}
        )
        following = [m.elementwise("ADD", one, np.int32(1), kind="AddOptions") for one in counts]
        x = m.op("GATHER", [sequence, counts[1]], (self.batch, self.depth), "GatherOptions")
        new = self.turn(m, x, state, t)
        out, kept = new[0], new
        if mask is not None:
            there = m.op("GATHER", [mask, counts[1]], (self.batch, 1), "GatherOptions", output={"dtype": "bool"})
            kept = [m.elementwise("SELECT_V2", there, a, b) for a, b in zip(new, state, strict=True)]
            out = m.elementwise("SELECT_V2", there, new[0], np.float32(0) if shown is None else shown)
        made = [*following]
        made += [] if results is None else [self.replaced(m, results, out, counts[1], following[1])]
        made += [] if shown is None else [out]
        m.output(*made, *kept, *([] if mask is None else [mask]), sequence, *weights)
        return m

    def replaced(self, m: Model, results: Value, out: Value, step: Value, behind: Value) -> Value:
        one = m.reshape(out, (1, *self.state))
        if self.keeps == "last":
            return one

        def place(count: Value, rest: int) -> Value:
            number = m.op("RESHAPE", [count, np.int32([1])], (1,), "ReshapeOptions", output={"dtype": "int32"})
            parts = [number, np.int32([rest, rest])]
            return m.op("CONCATENATION", parts, (3,), "ConcatenationOptions", output={"dtype": "int32"})

        left = m.op(
            "SLICE",
            [results, np.int32([0, 0, 0]), place(step, -1)],
            (1, 1, 1),
            "SliceOptions",
            output={"signature": (-1, -1, -1)},
        )
        right = m.op(
            "SLICE",
            [results, place(behind, 0), np.int32([-1, -1, -1])],
            (1, *self.state),
            "SliceOptions",
            output={"signature": (-1, *self.state)},
        )
        return m.op("CONCATENATION", [left, one, right], self.results, "ConcatenationOptions", Axis=0)

    def turn(self, m: Model, x: Value, state: list[Value], t: dict[str, Value]) -> list[Value]:
        def activation(v: Value) -> Value:
            return m.unary(self.activation, v)

        if self.kind == "gru":
            return [self.gru(m, x, state[0], t, activation)]
        z = m.add(m.fully_connected(x, t["w"]), m.fully_connected(state[0], t["r"]))
        z = m.add(z, t["b"]) if self.bias else z
        if self.kind == "rnn":
            return [activation(m.unary("ABS", z) if self.odd == "has another op" else z)]
        i, f, g, o = m.op("SPLIT", [np.int32(1), z], [self.state] * 4, "SplitOptions", NumSplits=4)
        cells = m.mul(m.unary("LOGISTIC", f), state[1])
        cells = m.add(cells, m.mul(m.unary("LOGISTIC", i), activation(g)))
        return [m.mul(m.unary("LOGISTIC", o), activation(cells)), cells]

    def gru(self, m: Model, x: Value, h: Value, t: dict[str, Value], activation: Callable[[Value], Value]) -> Value:
        r = m.fully_connected(h, t["r"], t.get("rb"))
        z = m.op(
            "SPLIT",
            [np.int32(-1), m.fully_connected(x, t["w"], t.get("b"))],
            [self.state] * 3,
            "SplitOptions",
            NumSplits=3,
        )
        parts = []
        for i in range(3):
            ends = [np.int32([0, i * self.units]), np.int32([0, (i + 1) * self.units % (3 * self.units)])]
            masks = {"BeginMask": 1 if i else 3, "EndMask": 3 if i == 2 else 1}
            parts.append(
                m.op("STRIDED_SLICE", [r, *ends, np.int32([1, 1])], self.state, "StridedSliceOptions", **masks)
            )
        update = m.unary("LOGISTIC", m.add(z[0], parts[0]))
        reset = m.unary("LOGISTIC", m.add(z[1], parts[1]))
        candidate = activation(m.add(z[2], m.mul(reset, parts[2])))
        rest = m.elementwise("SUB", np.float32(1), update, kind="SubOptions")
        return m.add(m.mul(update, h), m.mul(rest, candidate))

    def case(self, **fields) -> Case:
        return Case(
            "WHILE", f"{self.kind}_{self.name}", self.feeds(), self.build, self.run, subgraphs=(self.condition, self.body),
            **fields,
        )  # fmt: skip


_KINDS = ("lstm", "gru", "rnn")
LOOPS = [
    *(Loop(kind, "all", keeps="all") for kind in _KINDS),
    *(Loop(kind, "last", keeps="last", batch=1, depth=9, units=17) for kind in _KINDS),
    *(Loop(kind, "states", keeps="states", given=True) for kind in _KINDS),
    *(Loop(kind, "masked", mask="keeps", keeps="last", batch=3) for kind in _KINDS),
    *(Loop(kind, "masked_results", mask="keeps", steps=7) for kind in _KINDS),
    *(Loop(kind, "hidden_results", mask="hides", steps=7, units=5) for kind in _KINDS),
    *(Loop(kind, "no_bias", bias=False, units=4) for kind in _KINDS),
    *(Loop(kind, "relu", activation="RELU", steps=3) for kind in _KINDS),
    *(Loop(kind, "float16", float16=True) for kind in _KINDS),
    *(Loop(kind, "weights_go_through_it", as_inputs=True) for kind in _KINDS),
    *(Loop(kind, "long", steps=90, batch=1, units=17, given=True) for kind in ("lstm", "gru")),
    Loop("lstm", "one", batch=1, depth=1, units=1, steps=1),
    Loop("gru", "wide", batch=1, depth=33, units=150, steps=3),
]


def _on_cpu(kind: str, odd: str, reason: str, **how) -> Case:
    name = "rejected_" + odd.replace(" ", "_")
    return Loop(kind, name, odd=odd, **how).case(place="cpu", reason=reason, on_cpu=False)


CASES = [
    *(loop.case() for loop in LOOPS),
    _on_cpu("lstm", "counts from one", "does not count from 0"),
    _on_cpu("gru", "stops early", "turns 4 times for a sequence of 5 steps"),
    _on_cpu("rnn", "has another op", "is no step of an LSTM, a GRU or an RNN"),
    _on_cpu("lstm", "shows a half", "its result is not its state", mask="keeps"),
]
