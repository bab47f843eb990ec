"""A .tflite file as the schema's own tree, which can be changed and written again."""

import struct
from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

from host_tools.base.errors import Misuse

_CALLS = (
    "If",
    "While",
    "Call",
    "StablehloReduce",
    "StablehloScatter",
    "StablehloSort",
    "StablehloWhile",
    "StableHLOComposite",
)  # how types of options begin that name another graph
_IDENTIFIER = b"TFL3"
_ALIGNMENT = 16  # of constants, as the format wants it


class CannotPack(Exception):
    """The edits made something that the format has no room for: a number too large for its field."""


class Buffer(schema.BufferT):  # type: ignore[misc]  # ai-edge-litert has no types
    """A constant that is written with the alignment that kernels count on."""

    def Pack(self, builder: flatbuffers.Builder) -> Any:
        data = None
        if self.data is not None:  # also an empty one: without it a tensor of no numbers is no constant
            raw = bytes(self.data)
            builder.StartVector(1, len(raw), _ALIGNMENT)
            builder.head -= len(raw)
            builder.Bytes[builder.head : builder.head + len(raw)] = raw
            data = builder.EndVector()
        schema.BufferStart(builder)
        if data is not None:
            schema.BufferAddData(builder, data)
        schema.BufferAddOffset(builder, self.offset)
        schema.BufferAddSize(builder, self.size)
        return schema.BufferEnd(builder)


def unpack(raw: bytes) -> schema.ModelT:
    """The tree of a file that is whole. Vectors of numbers are lists, constants are bytes."""
    model = schema.ModelT.InitFromPackedBuf(raw)
    for buffer in model.buffers or []:
        buffer.__class__ = Buffer
        if buffer.offset > 1:  # behind the tree, as converters of large models write it
            buffer.data, buffer.offset, buffer.size = raw[buffer.offset : buffer.offset + buffer.size], 0, 0
        buffer.data = None if buffer.data is None else bytes(buffer.data)
    return _listed(model)


def calls(op: Any) -> bool:
    """Whether an op runs another graph: a body, a branch, a decomposition."""
    return any(type(options).__name__.startswith(_CALLS) for options in (op.builtinOptions, op.builtinOptions2))


def damaged(model: str, content: bytes, error: Exception) -> Misuse:
    """What to raise for a file whose tables could not be read: flatbuffers raises whatever a bad offset leads to."""
    beyond = isinstance(error, struct.error) or (isinstance(error, ValueError) and "buffer" in str(error))
    found = f"the file ends at byte {len(content)}, and its tables point beyond that: it is cut off or damaged"
    found = found if beyond else f"it is damaged ({type(error).__name__}: {error})"
    return Misuse(f"read the model {model}", found, "copy it again, or fetch it again where it came from")


def pack(model: schema.ModelT) -> bytes:
    """The file of a tree."""
    builder = flatbuffers.Builder(4096)
    try:
        builder.Finish(model.Pack(builder), file_identifier=_IDENTIFIER)
    except Exception as error:  # each type of the generated code complains in its own way
        raise CannotPack(f"{type(error).__name__}: {error}") from error
    return bytes(builder.Output())


def _listed(node: Any) -> Any:
    if isinstance(node, np.ndarray):
        return node.tolist()
    if isinstance(node, list):
        return [_listed(one) for one in node]
    if hasattr(node, "Pack"):
        for name, value in vars(node).items():
            setattr(node, name, _listed(value))
    return node
