"""Writes files of the cache of compiled models, for tests: a second description of their format, which the reader must meet."""

import struct

import flatbuffers

from host_tools.record.content_hash import content_hash

KEY = (
    "library 0.1.0, build 1234, 64 bits\nprecision f32, in float32 , tuning none\ngraph 00ff\n"
    'target {"name": "small", "storage": "buffer"}\ndevice {"name": "host", "device_name": "a [bold]CPU[/]", "driver": "1"}\n'
)


def binaries(*programs, driver=""):
    """The FlatBuffer of (fingerprint, format, bytes), and whose they are."""
    builder = flatbuffers.Builder(64)
    made = []
    for fingerprint, number, data in programs:
        where = builder.CreateByteVector(data)
        builder.StartObject(3)
        builder.PrependUint64Slot(0, fingerprint, 0)
        builder.PrependUint32Slot(1, number, 0)
        builder.PrependUOffsetTRelativeSlot(2, where, 0)
        made.append(builder.EndObject())
    listed = _offsets(builder, made)
    made_by = builder.CreateString(driver)
    builder.StartObject(2)
    builder.PrependUOffsetTRelativeSlot(0, listed, 0)
    builder.PrependUOffsetTRelativeSlot(1, made_by, 0)
    builder.Finish(builder.EndObject())
    return bytes(builder.Output())


def content(plan, key=KEY, compiled=None, weights=()):
    """A whole file. weights: begin and end of parts of the plan that are in files of their own."""
    text = key.encode()
    compiled = binaries((7, 0, b"machine code")) if compiled is None else compiled
    listed, rest, done = b"", b"", 0
    for begin, end in weights:
        listed += struct.pack("<QQQQ", begin, end - begin, *content_hash(plan[begin:end]))
        rest += plan[done:begin]
        done = end
    parts = [text, listed, rest + plan[done:], compiled]
    header = b"QUADRAP\n" + struct.pack("<IIII", 4, 0x01020304, 8, len(text))
    header += b"".join(struct.pack("<Q", len(part)) for part in parts[1:])
    header += b"".join(struct.pack("<QQ", *content_hash(part)) for part in parts)
    made = header + struct.pack("<QQ", *content_hash(header)) + text
    for part in parts[1:]:
        made += bytes(-len(made) % 64) + part
    return made


def weights_file(data, token="m"):
    """Name and bytes of a file of weights."""
    low, high = content_hash(data)
    return f"{token}_{high:016x}{low:016x}.weights", data


def verdicts(key=KEY.replace("graph 00ff", "model 00ff\noptions backend=opencl")):
    """A file of verdicts: of three nodes the CPU keeps the second; the others are a partition each, the last with a state."""
    builder = flatbuffers.Builder(64)
    reasons = [builder.CreateString(reason) for reason in ("", "Quadra has no SUCH yet", "")]
    untrusted = builder.CreateString("self_check: conv2d")
    partitions = [_partition(builder, 0, [5], [6], 0, 0, "aa"), _partition(builder, 2, [7], [8, 9], 1, 1, "bb")]
    tables = [_offsets(builder, reasons), _offsets(builder, partitions)]
    placements = builder.CreateByteVector(bytes([1, 0, 2]))
    builder.StartObject(4)
    for slot, offset in enumerate([placements, *tables, untrusted]):
        builder.PrependUOffsetTRelativeSlot(slot, offset, 0)
    builder.Finish(builder.EndObject())
    return content(bytes(builder.Output()), key, b"")


def _partition(builder, node, inputs, outputs, states, only_shapes, graph_hash):
    named = builder.CreateString(graph_hash)
    ports = len(inputs) + len(outputs)
    lists = [_ints(builder, ints) for ints in ([node], inputs, outputs, [1, 1, 1, 6, 7, 4] * ports, [4] * ports)]
    builder.StartObject(8)
    for slot, offset in enumerate(lists):
        builder.PrependUOffsetTRelativeSlot(slot, offset, 0)
    builder.PrependInt32Slot(5, states, 0)
    builder.PrependInt32Slot(6, only_shapes, 0)
    builder.PrependUOffsetTRelativeSlot(7, named, 0)
    return builder.EndObject()


def _ints(builder, ints):
    builder.StartVector(4, len(ints), 4)
    for number in reversed(ints):
        builder.PrependInt32(number)
    return builder.EndVector()


def _offsets(builder, values):
    builder.StartVector(4, len(values), 4)
    for value in reversed(values):
        builder.PrependUOffsetTRelative(value)
    return builder.EndVector()
