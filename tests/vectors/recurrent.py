"""Layers that keep a state in variable tensors: LSTM, RNN, their sequences in one direction or both, and SVDF."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import tflite

from tests.model_builder import Model, Value
from tests.vectors.case import Case, constant

_ACTIVATIONS = {
    "NONE": lambda v: v,
    "TANH": np.tanh,
    "RELU": lambda v: np.maximum(v, 0),
    "RELU_N1_TO_1": lambda v: np.clip(v, -1, 1),
    "RELU6": lambda v: np.clip(v, 0, 6),
}
State = list[np.ndarray]


def _sigmoid(v: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-v))


@dataclass(frozen=True)
class Layer:
    """One layer: `steps` 0 is the op of a single step. Weights depend on the name alone."""

    op: str
    name: str
    batch: int = 2
    depth: int = 5
    units: int = 6
    steps: int = 0
    time_major: bool = True
    activation: str = "TANH"
    cifg: bool = False
    peephole: bool = False
    norm: bool = False
    outputs: int = 0  # of a projection; 0: there is none
    projection_bias: bool = False
    cell_clip: float = 0.0
    projection_clip: float = 0.0
    float16: bool = False  # weights behind DEQUANTIZE
    flat_state: bool = False
    fields: dict = field(default_factory=dict)  # of the case

    @property
    def shape(self) -> tuple[int, ...]:
        batch_first = (self.batch, self.steps, self.depth)
        if not self.steps:
            return (self.batch, self.depth)
        return (self.steps, self.batch, self.depth) if self.time_major else batch_first

    @property
    def width(self) -> int:
        return self.outputs or self.units

    def zeros(self) -> State:
        state = [np.zeros((self.batch, self.width)), np.zeros((self.batch, self.units))]
        return state if "LSTM" in self.op else state[:1]

    def table(self, name: str, *shape: int) -> np.ndarray:
        # A wide layer with large weights is chaotic: it multiplies errors from step to step.
        most = min(0.8, 2 / np.sqrt(shape[-1])) if len(shape) > 1 else 0.8
        made = constant(f"{self.name}/{name}", shape, -most, most)
        return made.astype(np.float16).astype(np.float32) if self.float16 else made

    def gates(self) -> str:
        return "c" if "LSTM" not in self.op else "fco" if self.cifg else "ifco"

    # The numpy reference

    def step(self, x: np.ndarray, state: State) -> State:
        """The state after a step; its first part is the output."""
        z = {gate: x @ self.table("w" + gate, self.units, self.depth).T for gate in self.gates()}
        for gate in z:
            z[gate] = z[gate] + state[0] @ self.table("r" + gate, self.units, self.width).T
        act = _ACTIVATIONS[self.activation]
        if len(state) == 1:
            return [act(z["c"] + self.bias("c"))]
        c = state[1]
        f = _sigmoid(self.finish("f", z["f"], c))
        i = 1 - f if self.cifg else _sigmoid(self.finish("i", z["i"], c))
        c = f * c + i * act(self.finish("c", z["c"], None))
        c = np.clip(c, -self.cell_clip, self.cell_clip) if self.cell_clip else c
        h = _sigmoid(self.finish("o", z["o"], c)) * act(c)
        if self.outputs:
            h = h @ self.table("projection", self.outputs, self.units).T
            h = h + self.table("projection_bias", self.outputs) if self.projection_bias else h
            h = np.clip(h, -self.projection_clip, self.projection_clip) if self.projection_clip else h
        return [h, c]

    def bias(self, gate: str) -> np.ndarray:
        return self.table("b" + gate, self.units)

    def finish(self, gate: str, z: np.ndarray, cell: np.ndarray | None) -> np.ndarray:
        if self.peephole and cell is not None:
            z = z + cell * self.table("p" + gate, self.units)
        if self.norm:
            z = (z - z.mean(-1, keepdims=True)) / np.sqrt(z.var(-1, keepdims=True) + 1e-8)
            z = z * self.table("n" + gate, self.units)
        return z + self.bias(gate)

    def run(self, state: State, x: np.ndarray) -> tuple[tuple[np.ndarray, ...], State]:
        """The node's results, and the state that it leaves."""
        x = x.astype(np.float64)
        if not self.steps:
            state = self.step(x, state)
            return tuple(state) if self.name.startswith("basic") else (state[0],), state
        steps = x if self.time_major else x.swapaxes(0, 1)
        made = []
        for one in steps:
            state = self.step(one, state)
            made.append(state[0])
        return (np.stack(made, 0 if self.time_major else 1),), state

    # The model

    def states(self, m: Model) -> list[Value]:
        return [m.value((s.size,) if self.flat_state else s.shape, variable=True) for s in self.zeros()]

    def options(self) -> dict:
        return {"FusedActivationFunction": getattr(tflite.ActivationFunctionType, self.activation)}

    def operands(self, m: Model) -> dict:
        return {name: self.operand(m, table) for name, table in self.tables().items()}

    def operand(self, m: Model, table: np.ndarray) -> Value | np.ndarray:
        return m.const_f16(table) if self.float16 else table

    def weights(self, tables: dict) -> list:
        """In the order of the node's inputs."""
        if "LSTM" not in self.op:
            return [tables["wc"], tables["rc"], tables["bc"]]
        names = [k + gate for k in "wr" for gate in "ifco"] + ["pi", "pf", "po"] + ["b" + gate for gate in "ifco"]
        return [tables.get(name) for name in [*names, "projection", "projection_bias"]]

    def build(self, m: Model, x: Value) -> Value | tuple[Value, ...]:
        states = self.states(m)
        if self.name.startswith("basic"):
            return self.build_basic(m, x, states)
        shape = (*self.shape[:-1], self.width)
        options = self.options()
        if "SEQUENCE" in self.op:
            options["TimeMajor"] = self.time_major
        tables = self.operands(m)
        inputs = [x, *self.weights(tables), *states]
        if "LSTM" not in self.op:
            kind = "SequenceRNNOptions" if self.steps else "RNNOptions"
            return m.op(self.op, inputs, shape, kind, **options)
        inputs += [tables.get("n" + gate) for gate in "ifco"] if self.norm else []
        kind = "UnidirectionalSequenceLSTMOptions" if self.steps else "LSTMOptions"
        return m.op(
            self.op, inputs, shape, kind, CellClip=self.cell_clip, ProjClip=self.projection_clip, **options
        )  # fmt: skip

    def tables(self) -> dict[str, np.ndarray]:
        made = {}
        for gate in self.gates():
            made["w" + gate] = self.table("w" + gate, self.units, self.depth)
            made["r" + gate] = self.table("r" + gate, self.units, self.width)
            made["b" + gate] = self.bias(gate)
            if self.peephole and gate != "c":
                made["p" + gate] = self.table("p" + gate, self.units)
            if self.norm:
                made["n" + gate] = self.table("n" + gate, self.units)
        if self.outputs:
            made["projection"] = self.table("projection", self.outputs, self.units)
        if self.projection_bias:
            made["projection_bias"] = self.table("projection_bias", self.outputs)
        return made

    def build_basic(self, m: Model, x: Value, states: list[Value]) -> tuple[Value, ...]:
        """All weights in one matrix, gates in the order input, cell, forget, output."""
        t = self.tables()
        weights = np.concatenate([np.concatenate([t["w" + gate], t["r" + gate]], 1) for gate in "icfo"])
        bias = np.concatenate([t["b" + gate] for gate in "icfo"])
        state = (self.batch, self.units)
        results = m.op(
            self.op,
            [x, states[0], weights, bias, states[1]],
            [state, state, (self.batch, self.depth + self.units), (self.batch, 4 * self.units)],
            "LSTMOptions",
            version=2,
            FusedActivationFunction=tflite.ActivationFunctionType.TANH,
            KernelType=1,
        )
        return tuple(results[:2])

    def case(self) -> Case:
        return Case(
            self.op, self.name, [self.shape], self.build, lambda x: self.run(self.zeros(), x)[0], **self.fields
        )  # fmt: skip


@dataclass(frozen=True)
class Both:
    """A layer in each direction over the same steps; `merges`: their results are one tensor. `auxiliary`: features of a
    second input, which both layers read behind those of the first one, or with `crosses` the second layer alone."""

    name: str
    forward: Layer
    backward: Layer
    merges: bool = False
    auxiliary: int = 0
    crosses: bool = False

    @property
    def op(self) -> str:
        return self.forward.op.replace("UNIDIRECTIONAL", "BIDIRECTIONAL")

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        shape = self.forward.shape
        own = self.forward.depth - (0 if self.crosses else self.auxiliary)
        return [(*shape[:-1], n) for n in (own, self.auxiliary) if n]

    def zeros(self) -> State:
        return [*self.forward.zeros(), *self.backward.zeros()]

    def run(self, state: State, *xs: np.ndarray) -> tuple[tuple[np.ndarray, ...], State]:
        time, count = (0 if self.forward.time_major else 1), len(state) // 2
        read = [xs[0], xs[1]] if self.crosses else [np.concatenate(xs, -1)] * 2
        (there,), first = self.forward.run(state[:count], read[0])
        (back,), second = self.backward.run(state[count:], np.flip(read[1], time))
        results = (there, np.flip(back, time))
        return (np.concatenate(results, -1),) if self.merges else results, [*first, *second]

    def operands(self, m: Model, layer: Layer) -> tuple[list, list]:
        """A layer's operands in the order of the node's inputs; and the weights of the auxiliary input, for each gate."""
        tables, gates = layer.tables(), "ifco" if "LSTM" in self.op else "c"
        more = {}
        if self.auxiliary and not self.crosses:
            both = {g: tables["w" + g] for g in gates if "w" + g in tables}
            tables |= {"w" + g: w[:, : -self.auxiliary] for g, w in both.items()}
            more = {g: layer.operand(m, w[:, -self.auxiliary :]) for g, w in both.items()}
        return layer.weights({name: layer.operand(m, t) for name, t in tables.items()}), [more.get(g) for g in gates]

    def build(self, m: Model, *xs: Value) -> Value | tuple[Value, ...]:
        layers, lstm = (self.forward, self.backward), "LSTM" in self.op
        states = [layer.states(m) for layer in layers]
        weights, more = zip(*(self.operands(m, layer) for layer in layers))
        inputs = [*weights[0], *weights[1], *states[0], *states[1]]
        if not lstm:
            inputs = [*weights[0], *states[0], *weights[1], *states[1]]
        inputs += [xs[1] if self.auxiliary else None, *more[0], *more[1]]
        widths = [sum(layer.width for layer in layers)] if self.merges else [layer.width for layer in layers]
        options = self.forward.options() | {"TimeMajor": self.forward.time_major, "MergeOutputs": self.merges}
        if lstm:
            options |= {"CellClip": self.forward.cell_clip, "ProjClip": self.forward.projection_clip}
        kind = f"BidirectionalSequence{'LSTM' if lstm else 'RNN'}Options"
        shape = self.forward.shape[:-1]
        return tuple(m.op(self.op, [xs[0], *inputs], [(*shape, w) for w in widths], kind, **options))

    def case(self, **fields) -> Case:
        return Case(self.op, self.name, self.shapes, self.build, lambda *xs: self.run(self.zeros(), *xs)[0], **fields)


def _both(
    name: str, op: str = "LSTM", merges: bool = False, units: tuple[int, int] = (6, 6), auxiliary: int = 0,
    crosses: bool = False, **how,
) -> Both:  # fmt: skip
    op, how = f"UNIDIRECTIONAL_SEQUENCE_{op}", {"steps": 4, **how}
    depths = (5, auxiliary) if crosses else (5 + auxiliary,) * 2
    layers = [Layer(op, f"both/{name}/{i}", units=n, depth=depths[i], **how) for i, n in enumerate(units)]
    return Both(name, *layers, merges, auxiliary, crosses)


@dataclass(frozen=True)
class Svdf:
    """`rank` filters a unit, each over the features of the last `memory` runs."""

    name: str
    batch: int = 2
    depth: int = 5
    units: int = 4
    rank: int = 1
    memory: int = 6
    activation: str = "NONE"
    bias: bool = True
    float16: bool = False
    op = "SVDF"

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.batch, self.depth)

    @property
    def filters(self) -> int:
        return self.units * self.rank

    def zeros(self) -> State:
        return [np.zeros((self.batch, self.memory * self.filters))]

    def table(self, name: str, *shape: int) -> np.ndarray:
        made = constant(f"svdf/{self.name}/{name}", shape)
        return made.astype(np.float16).astype(np.float32) if self.float16 else made

    def run(self, state: State, x: np.ndarray) -> tuple[tuple[np.ndarray, ...], State]:
        features = x.astype(np.float64) @ self.table("w", self.filters, self.depth).T
        memory = state[0].reshape(self.batch, self.filters, self.memory)
        memory = np.concatenate([memory[:, :, 1:], features[:, :, None]], 2)
        sums = (memory * self.table("t", self.filters, self.memory)).sum(-1)
        made = sums.reshape(self.batch, self.units, self.rank).sum(-1)
        made = made + self.table("b", self.units) if self.bias else made
        return (_ACTIVATIONS[self.activation](made),), [memory.reshape(self.batch, -1)]

    def build(self, m: Model, x: Value) -> Value:
        tables = [self.table("w", self.filters, self.depth), self.table("t", self.filters, self.memory)]
        kept = m.const_f16 if self.float16 else m.const
        inputs = [x, *map(kept, tables), self.table("b", self.units) if self.bias else None]
        state = m.value(self.zeros()[0].shape, variable=True)
        activation = getattr(tflite.ActivationFunctionType, self.activation)
        options = {"Rank": self.rank, "FusedActivationFunction": activation}
        return m.op("SVDF", [*inputs, state], (self.batch, self.units), "SVDFOptions", **options)

    def case(self) -> Case:
        return Case("SVDF", self.name, [self.shape], self.build, lambda x: self.run(self.zeros(), x)[0])


def _lstm(name: str, **how) -> Layer:
    return Layer("LSTM", name, **how)


def _lstms(name: str, steps: int = 5, **how) -> Layer:
    return Layer("UNIDIRECTIONAL_SEQUENCE_LSTM", name, steps=steps, **how)


def _rnns(name: str, steps: int = 5, **how) -> Layer:
    return Layer("UNIDIRECTIONAL_SEQUENCE_RNN", name, steps=steps, **how)


_ALL = {"peephole": True, "norm": True, "outputs": 3, "projection_bias": True, "cell_clip": 0.4, "projection_clip": 0.3}

LAYERS = [
    _lstm("plain"), _lstm("basic"), _lstm("basic_wide", batch=3, depth=17, units=40), _lstm("cifg", cifg=True), _lstm("peephole", peephole=True, batch=3),
    _lstm("norm", norm=True), _lstm("projection", outputs=3), _lstm("projection_bias", outputs=9, projection_bias=True, projection_clip=0.2), _lstm("all", **_ALL),
    _lstm("all_cifg", cifg=True, **_ALL), _lstm("clip", cell_clip=0.25), _lstm("relu", activation="RELU"), _lstm("relu_n1_to_1", activation="RELU_N1_TO_1"),
    _lstm("float16", float16=True), _lstm("flat_state", flat_state=True, peephole=True), _lstm("wide", batch=1, depth=33, units=150, outputs=70, norm=True), _lstm("one", batch=1, depth=1, units=1, norm=True),
    _lstms("time_major"), _lstms("batch_major", time_major=False, batch=3), _lstms("one_step", steps=1), _lstms("cifg_peephole", cifg=True, peephole=True, time_major=False),
    _lstms("all", **_ALL), _lstms("all_batch_major", time_major=False, cifg=True, **_ALL), _lstms("relu6", activation="RELU6", steps=3), _lstms("long", steps=90, batch=1, units=17),
    Layer("RNN", "tanh"), Layer("RNN", "relu", activation="RELU", batch=3), Layer("RNN", "no_activation", activation="NONE", units=8), Layer("RNN", "float16", float16=True, units=3),
    _rnns("time_major"), _rnns("batch_major", time_major=False, batch=3), _rnns("relu_n1_to_1", activation="RELU_N1_TO_1", units=9), _rnns("wide", batch=1, units=130, depth=3),
]  # fmt: skip


BOTH = [
    _both("plain"), _both("merged", merges=True), _both("one_step", steps=1),
    _both("batch_major", time_major=False, cifg=True, peephole=True), _both("cifg_merged", merges=True, cifg=True, units=(7, 7)),
    _both("projection", outputs=3, projection_bias=True, projection_clip=0.3, cell_clip=0.4), _both("long", steps=90, batch=1, units=(17, 17)), _both("float16", float16=True, merges=True),
    _both("plain", "RNN"), _both("merged", "RNN", merges=True, units=(9, 3)), _both("batch_major", "RNN", time_major=False, batch=3, units=(6, 4)), _both("relu_batch_major_merged", "RNN", merges=True, time_major=False, activation="RELU"),
    _both("auxiliary", auxiliary=3), _both("auxiliary_cifg_merged", auxiliary=6, cifg=True, merges=True, peephole=True), _both("auxiliary_float16", auxiliary=4, float16=True),
    _both("auxiliary_crosses", auxiliary=5, crosses=True), _both("auxiliary", "RNN", auxiliary=5, merges=True), _both("auxiliary_crosses", "RNN", auxiliary=5, crosses=True),
]  # fmt: skip
SVDFS = [
    Svdf("plain"), Svdf("rank_2", rank=2, units=5), Svdf("rank_3_no_bias", rank=3, bias=False, memory=3, batch=3), Svdf("memory_1", memory=1, rank=2),
    Svdf("relu", activation="RELU", units=9, memory=10, batch=1), Svdf("float16", float16=True, memory=8), Svdf("no_bias_relu6", bias=False, activation="RELU6"),
]  # fmt: skip


def _rejected_rnn(name: str, reason: str, weights: Callable[[Model], Value], *more: tuple[int, ...]) -> Case:
    """`more`: shapes of further inputs, of which `build` gets the values."""

    def build(m: Model, x: Value, *given: Value) -> Value:
        w = given[0] if given else weights(m)
        tables = [w, constant("rejected/r", (4, 4)), constant("rejected/b", (4,))]
        return m.op("RNN", [x, *tables, m.value((2, 4), variable=True)], (2, 4), "RNNOptions")

    return Case("RNN", "rejected_" + name, [(2, 5), *more], build, place="cpu", reason=reason, on_cpu=False)


def _int8(m: Model) -> Value:
    """Without a scale, so that they stand for nothing."""
    return m.const(np.ones((4, 5), np.int8))


_REJECTED = {"place": "cpu", "reason": "it has no activation", "on_cpu": False}
CASES = [
    *(layer.case() for layer in [*LAYERS, *BOTH, *SVDFS]),
    # Now and then the CPU's numbers are of memory that nobody has written.
    _both("batch_major_merged", merges=True, time_major=False, batch=3).case(on_cpu=False),
    _lstm("rejected_no_activation", activation="NONE", fields=_REJECTED).case(),
    _rejected_rnn("plain_int8_weights", "is int8; float32, or int8, uint8 and int16 with a scale, is supported", _int8),
    _rejected_rnn("computed_weights", "is computed while the model runs", _int8, (4, 5)),
]
