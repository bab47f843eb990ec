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
    builder.StartVector(4, len(made), 4)
    for one in reversed(made):
        builder.PrependUOffsetTRelative(one)
    listed = builder.EndVector()
    made_by = builder.CreateString(driver)
    builder.StartObject(2)
    builder.PrependUOffsetTRelativeSlot(0, listed, 0)
    builder.PrependUOffsetTRelativeSlot(1, made_by, 0)
    builder.Finish(builder.EndObject())
    return bytes(builder.Output())


def content(plan, key=KEY, compiled=None):
    """A whole file."""
    text = key.encode()
    compiled = binaries((7, 0, b"machine code")) if compiled is None else compiled
    parts = [text, plan, compiled]
    header = b"QUADRAP\n" + struct.pack("<IIII", 3, 0x01020304, 8, len(text))
    header += b"".join(struct.pack("<Q", len(part)) for part in parts[1:])
    header += b"".join(struct.pack("<QQ", *content_hash(part)) for part in parts)
    made = header + struct.pack("<QQ", *content_hash(header)) + text
    for part in parts[1:]:
        made += bytes(-len(made) % 64) + part
    return made


def verdicts(key=KEY.replace("graph 00ff", "model 00ff\noptions backend=opencl")):
    """A file of verdicts: of three nodes the CPU keeps the second; the others are a partition each, the last with a state."""
    port = [1, 1, 1, 6, 7, 4, 4]
    numbers = [3, 1, 0, 2, 1, 0, 1, 5, 1, 6, 0, 0, *port, *port, 1, 2, 1, 7, 2, 8, 9, 1, 1, *port, *port, *port]
    texts = b"\0Quadra has no SUCH yet\0\0aa\0bb\0self_check: conv2d\0"
    return content(struct.pack(f"<{len(numbers)}i", *numbers), key, texts)
