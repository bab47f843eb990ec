"""A part of a model as a model of its own: the nodes between tensors whose numbers are known and those that are wanted."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from host_tools.request import model_tree


@dataclass(frozen=True)
class Part:
    """Nodes and tensors of one graph, by their numbers there."""

    nodes: tuple[int, ...]  # in the model's order
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


class Cutter:
    """Cuts parts out of one graph of a model: the main one, or a signature's. Misuse where the file is no model."""

    def __init__(self, raw: bytes, name: str, subgraph: int = 0) -> None:
        try:
            self.tree = model_tree.unpack(raw)
            self.graph = self.tree.subgraphs[subgraph]
            self.maker = {t: i for i, node in enumerate(self.graph.operators) for t in _some(node.outputs)}
        except Exception as error:  # flatbuffers raises whatever a bad offset leads to
            raise model_tree.damaged(name, raw, error) from error

    def before(self, output: int, known: Collection[int]) -> Part:
        """What it takes to make `output`, back to tensors that are known or that the model is given."""
        nodes, inputs, waiting = set[int](), set[int](), [output]
        while waiting:
            tensor = waiting.pop()
            maker = self.maker.get(tensor)
            if maker is None or maker in nodes:
                continue
            nodes.add(maker)
            for read in _some(self.graph.operators[maker].inputs):
                if read < 0 or self.is_stored(read):
                    continue
                if read in known or read not in self.maker:
                    inputs.add(read)
                else:
                    waiting.append(read)
        return Part(tuple(sorted(nodes)), tuple(sorted(inputs)), (output,))

    def cut(self, part: Part, shapes: Mapping[int, Iterable[int]]) -> bytes:
        """The part as a file. Its inputs have these shapes, and the order of `part`."""
        tree, graph = type(self.tree)(), type(self.graph)()
        operators = [self.graph.operators[i] for i in part.nodes]
        named = {t for node in operators for of in (node.inputs, node.outputs, node.intermediates) for t in _some(of)}
        used = sorted((named | set(part.inputs) | set(part.outputs)) - {-1})
        number = {tensor: i for i, tensor in enumerate(used)}
        number[-1] = -1
        tree.version, tree.operatorCodes, tree.description = self.tree.version, self.tree.operatorCodes, b"a part"
        calls = any(map(model_tree.calls, operators))
        tree.subgraphs = [graph, *(self.tree.subgraphs[1:] if calls else [])]
        tree.buffers = list(self.tree.buffers) if calls else [self.tree.buffers[0]]
        graph.name = self.graph.name
        graph.tensors = [self._tensor(t, tree, part, shapes, calls) for t in used]
        graph.operators = [renumbered(node, number) for node in operators]
        graph.inputs, graph.outputs = [number[t] for t in part.inputs], [number[t] for t in part.outputs]
        return model_tree.pack(tree)

    def is_stored(self, tensor: int) -> bool:
        """A constant, or a variable, whose numbers the file has or that begins with zeros."""
        one = self.graph.tensors[tensor]
        buffer = self.tree.buffers[one.buffer]
        return bool(one.isVariable or buffer.data or buffer.size)

    def _tensor(self, index: int, tree: Any, part: Part, shapes: Mapping[int, Iterable[int]], calls: bool) -> Any:
        old = self.graph.tensors[index]
        made = type(old)()
        vars(made).update(vars(old))
        if index in part.inputs:
            made.shape, made.shapeSignature = [int(n) for n in shapes[index]], None
        if old.buffer and not calls:
            made.buffer = len(tree.buffers)
            tree.buffers.append(self.tree.buffers[old.buffer])
        return made


def renumbered(node: Any, number: Mapping[int, int]) -> Any:
    """A copy of an op that reads and makes other tensors."""
    made = type(node)()
    vars(made).update(vars(node))
    for name in ("inputs", "outputs", "intermediates"):
        indices = getattr(node, name)
        setattr(made, name, None if indices is None else [number[t] for t in indices])
    return made


def _some(indices: Any) -> list[int]:
    return [int(i) for i in indices] if indices is not None else []


def as_model_has(values: np.ndarray, dtype: np.dtype, scale: float, zero_point: int) -> np.ndarray:
    """Numbers of a kernel (floats, or ints) as the model's tensor has them. A quantised tensor is the nearest step."""
    if values.dtype.kind == "f" and scale and dtype.kind in "iu":
        limits = np.iinfo(dtype)
        finite = np.nan_to_num(values.astype(np.float64), nan=0.0, posinf=1e30, neginf=-1e30)
        return np.clip(np.round(finite / scale) + zero_point, limits.min, limits.max).astype(dtype)
    return values.astype(dtype)
