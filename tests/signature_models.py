"""Models of two signatures, whose inputs have another order than the graphs'."""

from __future__ import annotations

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from host_tools.request import model_tree
from tests.model_builder import Model

PICTURE, OFFSET = (1, 4, 5, 6), (1, 1, 1, 3)
KEYS = ("encode", "decode")


def two_signatures(free: bool = False) -> bytes:
    """`encode` is the main graph, `decode` another one with other weights and one more op: y = relu(conv(picture) + offset).
    free: the picture's height and width are given when the model is run."""
    return with_signatures(_graph(1, free), _graph(2, free), KEYS, ("picture", "offset"))


def _graph(seed: int, free: bool) -> Model:
    chosen = np.random.default_rng(seed)
    m = Model()
    picture = m.input(PICTURE, name=f"picture_{seed}", signature=(1, -1, -1, 6) if free else None)
    offset = m.input(OFFSET, name=f"offset_{seed}")
    y = m.conv2d(picture, chosen.normal(size=(3, 3, 3, 6)).astype(np.float32), chosen.normal(size=3).astype(np.float32))
    y = m.add(y, offset)
    m.output(m.unary("RELU", y) if seed == 2 else y)
    return m


def _end(name: str, tensor: int) -> schema.TensorMapT:
    made = schema.TensorMapT()
    made.name, made.tensorIndex = name, tensor
    return made


def with_signatures(
    first: Model,
    second: Model,
    keys: tuple[str, str],
    names: tuple[str, ...] = ("x",),
    others: tuple[Model, ...] = (),
    made_names: tuple[str, ...] = ("y",),
) -> bytes:
    """A model of two graphs, each with a signature of its own: inputs in the graphs' order under these names, and its first
    outputs under `made_names`. others: graphs that these call."""
    tree = model_tree.unpack(first.bytes(second, *others))
    tree.signatureDefs = []
    for index, key in enumerate(keys):
        graph, made = tree.subgraphs[index], schema.SignatureDefT()
        made.signatureKey, made.subgraphIndex = key, index
        made.inputs = [_end(name, tensor) for name, tensor in zip(names, graph.inputs)]
        made.outputs = [_end(name, tensor) for name, tensor in zip(made_names, graph.outputs)]
        tree.signatureDefs.append(made)
    return model_tree.pack(tree)
