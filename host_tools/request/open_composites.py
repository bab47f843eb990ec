"""A graph with the ops of each composite's decomposition in the composite's place: an interpreter keeps the tensors between
them, and the delegate's plan names them one by one."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from host_tools.request import model_tree
from host_tools.request.submodel import renumbered

_DEEPEST = 8  # composites in composites; no converter writes more


@dataclass(frozen=True)
class Opened:
    """nodes: for each op of the graph the node of the original one that it is, or is a part of."""

    content: bytes
    nodes: tuple[int, ...]


def of(content: bytes, name: str, subgraph: int = 0) -> Opened:
    """The model with this graph opened; the same bytes where it has no composite. Misuse: the file is damaged."""
    try:
        tree = model_tree.unpack(content)
        found = list(_Opening(tree, subgraph).ops())
        count = len(tree.subgraphs[subgraph].operators)
        tree.subgraphs[subgraph].operators = [op for _, op in found]
    except Exception as error:  # flatbuffers raises whatever a bad offset leads to
        raise model_tree.damaged(name, content, error) from error
    nodes = tuple(node for node, _ in found)
    return Opened(model_tree.pack(tree) if nodes != tuple(range(count)) else content, nodes)


class _Opening:
    def __init__(self, tree: Any, subgraph: int) -> None:
        self.tree, self.subgraph, self.graph = tree, subgraph, tree.subgraphs[subgraph]

    def ops(self) -> Iterator[tuple[int, Any]]:
        """With the node that each belongs to."""
        for node, op in enumerate(self.graph.operators):
            for one in self._parts(op, (self.subgraph,)):
                yield node, one

    def _parts(self, op: Any, within: tuple[int, ...]) -> Iterator[Any]:
        index = getattr(op.builtinOptions2, "decompositionSubgraphIndex", -1)
        if index in within or not 0 <= index < len(self.tree.subgraphs) or len(within) > _DEEPEST:
            yield op
            return
        inner = self.tree.subgraphs[index]
        number = self._numbers(op, inner)
        if number is None:
            yield op
            return
        for one in inner.operators:
            yield from self._parts(renumbered(one, number), (*within, index))

    def _numbers(self, op: Any, inner: Any) -> dict[int, int] | None:
        """Where each tensor of the decomposition is in the graph; None: it keeps a state, or hands a tensor through."""
        ends, given = [*inner.inputs, *inner.outputs], [*op.inputs, *op.outputs]
        made = {tensor for one in inner.operators for tensor in one.outputs}
        states = any(tensor.isVariable for tensor in inner.tensors)
        if states or len(set(ends)) != len(given) or not made.issuperset(inner.outputs):
            return None
        number = {-1: -1, **dict(zip(ends, given))}
        for index, tensor in enumerate(inner.tensors):
            if index not in number:
                number[index] = len(self.graph.tensors)
                self.graph.tensors.append(tensor)
        return number
