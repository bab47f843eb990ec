"""`inv advise`: what in a model costs time or accuracy on a GPU, node by node, and how to write it instead."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from msgspec import structs

from host_tools.base.errors import QuadraError
from host_tools.base.units import size_text
from host_tools.debug import half_ranges
from host_tools.judge.tensor_errors import HALF_MAX, HALF_MIN
from host_tools.record import schema
from host_tools.record.spec import RunSpec
from host_tools.request import from_arguments, model_facts
from host_tools.request.run_options import RunOptions
from host_tools.request.submodel import Cutter
from host_tools.run import node_support

_CONSTANTS = ("DEQUANTIZE", "DENSIFY")
_WEIGHTED = ("CONV_2D", "DEPTHWISE_CONV_2D", "TRANSPOSE_CONV", "FULLY_CONNECTED")
_MOVES = ("RESHAPE", "TRANSPOSE", "SQUEEZE", "EXPAND_DIMS")
_BROADCASTING = ("ADD", "SUB", "MUL", "DIV", "MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE")
_LEAST_ELEMENTS = 4096  # below, lanes that idle cost nothing that one could measure
_LEAST_WASTE = 0.25


@dataclass(frozen=True)
class Advice:
    """One line. kind: split, move, lanes, op, half; signature: empty for the main graph."""

    kind: str
    signature: str
    node: int
    op: str
    tensor: str  # its first output's name
    share: float  # of the bytes that the graph's nodes read and write, as float32: those of this node
    reason: str
    rewrite: str


class Model:
    """The graph of a signature, or the main one, as the rules look at it."""

    def __init__(self, content: bytes, name: str, signature: str = "") -> None:
        facts = model_facts.read(content, name, signature)
        self.signature, self.subgraph = signature, facts["subgraph"]
        self.cutter = Cutter(content, name, self.subgraph)
        self.graph = self.cutter.graph
        self.ops = [node["op"] for node in facts["nodes"]]
        self.readers: dict[int, list[int]] = {}
        self._traffic = [sum(map(self.bytes_of, self.tensors(index))) for index in range(len(self.ops))]
        for index in range(len(self.ops)):
            for tensor in self.inputs(index):
                self.readers.setdefault(tensor, []).append(index)

    def inputs(self, node: int) -> list[int]:
        given = self.graph.operators[node].inputs
        return [int(t) for t in given if int(t) >= 0] if given is not None else []

    def output(self, node: int) -> int:
        return int(self.graph.operators[node].outputs[0])

    def tensors(self, node: int) -> list[int]:
        """That it reads or writes."""
        return [*self.inputs(node), *map(int, self.graph.operators[node].outputs)]

    def shape(self, tensor: int) -> list[int]:
        shape = self.graph.tensors[tensor].shape
        return [abs(int(n)) for n in shape] if shape is not None else []

    def bytes_of(self, tensor: int) -> int:
        """As float32, which is what a GPU's memory is given."""
        return 4 * math.prod(self.shape(tensor))

    def floats(self, tensor: int) -> np.ndarray:
        """A float32 constant's values; empty for anything else."""
        one = self.graph.tensors[tensor]
        data = self.cutter.tree.buffers[one.buffer].data
        return np.frombuffer(bytes(data), "<f4") if data and one.type == 0 and len(data) % 4 == 0 else np.empty(0)

    def advice(self, kind: str, node: int, reason: str, rewrite: str) -> Advice:
        name = self.graph.tensors[self.output(node)].name or b""
        text = name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name)
        share = self._traffic[node] / max(sum(self._traffic), 1)
        return Advice(kind, self.signature, node, self.ops[node], text, share, reason, rewrite)


def specs_of(options: RunOptions) -> list[RunSpec]:
    """A spec for each signature: for the plan that the options ask for, with the inputs that they give."""
    plan = node_support.make_spec(options.model, options.target, "f32", options.backend)
    specs = []
    for one in from_arguments.each(replace(options, backend="auto", target="")):
        given = from_arguments.spec_of(one)
        specs.append(structs.replace(plan, inputs=given.inputs, signature=given.signature))
    return specs


def find(specs: Sequence[RunSpec], library: Path) -> tuple[list[Advice], str]:
    """Everything, by signatures (a spec each), the largest shares first; and why halves were not looked at, if so."""
    # What a split costs is said here, so that small partitions are kept for it.
    every = structs.replace(specs[0], options={**specs[0].options, "small_partitions_allowed": "1"})
    report, _ = node_support.ask(every, library)
    found, notes = [], []
    for spec in specs:
        model = Model(Path(spec.model.path).read_bytes(), spec.model.name, spec.signature)
        one = [*_splits(model, report), *_moves(model, report), *_lanes(model, report), *_cheaper(model)]
        try:
            one += _halves(model, half_ranges.ask(spec, lambda: library))
        except QuadraError as error:
            notes.append(f"half precision of {spec.label} was not looked at: {error.tried}: {error.came_back}")
        found += sorted(one, key=lambda advice: -advice.share)
    return found, "; ".join(notes)


def _splits(model: Model, report: schema.Verdicts) -> Iterator[Advice]:
    on = {node.index: node for node in report.nodes if node.subgraph == model.subgraph}
    on_gpu = {index for index, node in on.items() if node.on == "gpu" and node.op not in _CONSTANTS}
    for index, node in on.items():
        if node.on == "gpu" or not on_gpu or index >= len(model.ops):
            continue
        given = {t for t in model.inputs(index) if model.cutter.maker.get(t) in on_gpu}
        taken = [int(t) for t in model.graph.operators[index].outputs if on_gpu & set(model.readers.get(int(t), ()))]
        if not given and not taken:
            continue
        to_cpu, back = sum(map(model.bytes_of, given)), sum(map(model.bytes_of, taken))
        reason = (
            f"runs on the CPU ({node.reason}); {size_text(to_cpu)} go there and {size_text(back)} come back each time"
        )
        if given and taken:
            reason += ", and the GPU waits in between"
        rewrite = "write it with ops that run on the GPU, or move it to the model's beginning or end"
        yield model.advice("split", index, reason, rewrite)


def _moves(model: Model, report: schema.Verdicts) -> Iterator[Advice]:
    """Kernels that only move numbers. What was merged or left out has none, and is no advice."""
    for partition in report.partitions:
        for dispatch in partition.dispatches if partition.subgraph == model.subgraph else ():
            nodes = [n for n in dispatch.nodes if 0 <= n < len(model.ops)]
            if not nodes or any(model.ops[n] not in _MOVES for n in nodes):
                continue
            size = size_text(model.bytes_of(model.output(nodes[-1])))
            reason = f"a kernel of its own ({dispatch.name}) that only moves {size}"
            if model.ops[nodes[-1]] == "TRANSPOSE":
                rewrite = "keep one order of dimensions (batch, height, width, channels) throughout"
            else:
                rewrite = "keep the shape as it is, or reshape outside of the model"
            yield model.advice("move", nodes[-1], reason, rewrite)


def _lanes(model: Model, report: schema.Verdicts) -> Iterator[Advice]:
    on_gpu = {node.index for node in report.nodes if node.on == "gpu" and node.subgraph == model.subgraph}
    ends = {int(t) for t in model.graph.outputs}
    for index, op in enumerate(model.ops):
        shape = model.shape(model.output(index))
        if op not in _WEIGHTED or index not in on_gpu or not shape or model.output(index) in ends:
            continue
        channels, full = shape[-1], -(-shape[-1] // 4) * 4
        waste = 1 - channels / full if full else 0.0
        if waste >= _LEAST_WASTE and math.prod(shape) >= _LEAST_ELEMENTS:
            reason = f"{channels} channels are computed and kept as {full}: {waste:.0%} of the lanes idle"
            yield model.advice("lanes", index, reason, f"use {full} channels, or {full - 4} if that is enough")


def _cheaper(model: Model) -> Iterator[Advice]:
    for index, op in enumerate(model.ops):
        told = _equivalent(model, index, op)
        if told:
            yield model.advice("op", index, *told)


def _equivalent(model: Model, index: int, op: str) -> tuple[str, str] | None:
    """Why another op would be cheaper, and which."""
    inputs, options = model.inputs(index), model.graph.operators[index].builtinOptions
    constant = model.floats(inputs[1]) if len(inputs) > 1 else np.empty(0)
    readers = {model.ops[reader] for reader in model.readers.get(model.output(index), ())}
    if op == "DIV" and constant.size and np.all(constant != 0):
        return "a division by a constant", "MUL by its reciprocal, which is merged into the op before it or its weights"
    if op == "POW" and constant.size and np.all(constant == 2):
        return "a power with the exponent 2", "MUL of the operand by itself, or SQUARE"
    if op == "POW" and constant.size and np.all(constant == 0.5):
        return "a power with the exponent 0.5", "SQRT"
    if op in ("BROADCAST_TO", "TILE") and readers and readers <= set(_BROADCASTING):
        return "its result is larger than its operand, and is only read by ops that broadcast", f"leave {op} out"
    if op == "TRANSPOSE_CONV" and (options.strideW, options.strideH) == (1, 1):
        return "a transposed convolution with the stride 1", "CONV_2D with the weights turned round"
    if op in ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR") and model.shape(inputs[0]) == model.shape(
        model.output(index)
    ):
        return "a resize to the size that is there", "leave it out"
    if op == "GATHER_ND" and model.cutter.is_stored(inputs[1]):
        return (
            "each number is fetched by a constant index of its own",
            "STRIDED_SLICE, or MAX_POOL_2D with a 1×1 window and stride 2",
        )
    return None


def _halves(model: Model, ranges: schema.Ranges) -> Iterator[Advice]:
    for row in ranges.tensors:
        if not half_ranges.outside(row) or row.kept or not (row.node >= 0 or row.readers):
            continue
        node = row.node if row.node >= 0 else row.readers[0]
        largest = f"{float(row.largest):.6g}"
        name = f"'{row.name}'" if row.node < 0 else "its result"
        reason = f"{name} reaches {largest}; float16's maximum is {HALF_MAX:g}"
        if half_ranges.too_small(row):
            reason = f"{name} is {largest} at most; half has few digits below {HALF_MIN:.1e}, and none below 3e-8"
        yield model.advice(
            "half",
            node,
            reason,
            f"float32_nodes={node}, precision=f32, or scale the weights before it down and those behind it up",
        )
