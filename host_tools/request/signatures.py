"""The signatures of a model: named entries, each with a subgraph, inputs and outputs of its own.

The entry without a name is the main graph, as an interpreter's plain `invoke` runs it. A signature's inputs and outputs are
sorted by name: TFLite's runtimes for C, Java and Python hold them in that order.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

import tflite

from host_tools.base.errors import Misuse
from host_tools.request import model_tree

T = TypeVar("T")
_UNIONS = (  # of an op's options: the enumeration of their types, and what an op says of its own
    (tflite.BuiltinOptions, "BuiltinOptionsType", "BuiltinOptions"),
    (tflite.BuiltinOptions2, "BuiltinOptions2Type", "BuiltinOptions2"),
)


@dataclass(frozen=True)
class Entry:
    """Where a run enters a model. inputs, outputs: each one's name, and its tensor in the subgraph, in the order of a run's arrays."""

    signature: str  # empty: the main graph
    subgraph: int
    inputs: tuple[tuple[str, int], ...]
    outputs: tuple[tuple[str, int], ...]


def names(content: bytes) -> list[str]:
    """The model's signatures, in the file's order. Misuse: the file is damaged."""
    return [one.signature for one in _checked(content, _signatures)]


def to_run(content: bytes) -> list[str]:
    """What a run of the whole model consists of: each of several signatures, or one that is not of the main graph, else the
    main graph (an empty name)."""
    found = {one.signature: one.subgraph for one in _checked(content, _signatures) if one.signature}
    return list(found) if len(found) > 1 or any(found.values()) else [""]


def entry(content: bytes, signature: str) -> Entry:
    """The entry of this name. Misuse: the model has no such signature, or is damaged."""
    if not signature:
        return _checked(content, _main)
    found = {one.signature: one for one in _checked(content, _signatures)}
    if signature not in found:
        came_back = f"the model has {', '.join(found)}" if found else "the model has no signatures"
        raise Misuse(f"find the signature '{signature}'", came_back, "name one of the model's, or omit --signature")
    return found[signature]


def reached(content: bytes, subgraph: int) -> set[int]:
    """A subgraph and those that its ops call: bodies of loops, branches, decompositions of composites."""

    def read(root: tflite.Model) -> set[int]:
        found, waiting = set[int](), [subgraph]
        while waiting:
            index = waiting.pop()
            if index not in found:
                found.add(index)
                graph = root.Subgraphs(index)
                waiting += [n for i in range(graph.OperatorsLength()) for n in _called(graph.Operators(i))]
        return found

    return _checked(content, read)


def _checked(content: bytes, read: Callable[[tflite.Model], T]) -> T:
    try:
        return read(tflite.Model.GetRootAs(content, 0))
    except Exception as error:  # flatbuffers raises whatever a bad offset leads to
        raise model_tree.damaged("and its signatures", content, error) from error


def _main(root: tflite.Model) -> Entry:
    graph = root.Subgraphs(0)
    ends = [[read(i) for i in range(count)] for read, count in (
        (graph.Inputs, graph.InputsLength()), (graph.Outputs, graph.OutputsLength()),
    )]  # fmt: skip
    made = [tuple(((graph.Tensors(t).Name() or b"").decode("utf-8", "replace"), int(t)) for t in end) for end in ends]
    return Entry("", 0, *made)


def _signatures(root: tflite.Model) -> list[Entry]:
    found = []
    for index in range(root.SignatureDefsLength()):
        one = root.SignatureDefs(index)
        inputs = [one.Inputs(i) for i in range(one.InputsLength())]
        outputs = [one.Outputs(i) for i in range(one.OutputsLength())]
        found.append(
            Entry((one.SignatureKey() or b"").decode(), int(one.SubgraphIndex()), _maps(inputs), _maps(outputs))
        )
    return found


def _maps(ends: list[tflite.TensorMap]) -> tuple[tuple[str, int], ...]:
    return tuple(
        (name.decode(), tensor) for name, tensor in sorted((e.Name() or b"", int(e.TensorIndex())) for e in ends)
    )


def _called(operator: tflite.Operator) -> list[int]:
    found = []
    for kinds, kind, options in _UNIONS:
        known = _calling(kinds).get(getattr(operator, kind)())
        table = getattr(operator, options)() if known else None
        if known and table is not None:
            of, fields = known
            made = of()
            made.Init(table.Bytes, table.Pos)
            found += [int(getattr(made, field)()) for field in fields]
    return [index for index in found if index >= 0]


@cache
def _calling(kinds: type) -> dict[int, tuple[Any, list[str]]]:
    """The types of options that name subgraphs, by their number in the union, with the fields that do."""
    found = {}
    for name, number in vars(kinds).items():
        of = getattr(tflite, name, None)
        fields = [field for field in dir(of) if field == "Subgraph" or field.endswith("SubgraphIndex")]
        if isinstance(number, int) and fields:
            found[number] = (of, fields)
    return found
