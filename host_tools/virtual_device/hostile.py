"""Answers of the device that attack who reads them, or break a protocol. A fault's VALUE picks one, from 0."""

import struct
from collections.abc import Sequence
from typing import TypeVar

from host_tools.virtual_device import wire
from host_tools.virtual_device.faults import Fault, flipped, split

T = TypeVar("T")


def pick(table: Sequence[T], value: float | None) -> T:
    """One of a table; VALUE goes round."""
    return table[int(value or 0) % len(table)]


# Messages of the protocol.

BANNERS = (  # what the device says that it is
    b"device::ro.product.name=\x1b]0;x\x07;ro.product.model=$(touch escaped);ro.product.device=../..;features=shell_v2",
    b"device::ro.product.name=a b\nc\td;ro.product.model=" + b"m" * 3000 + b";ro.product.device=;features=shell_v2",
    b"device::",
    b"device::ro.product.model=\xff\xfe;features=" + b",".join(b"f%d" % i for i in range(400)),
    b"bootloader::ro.product.name=x;ro.product.model=x;ro.product.device=x;features=",
    b"recovery::ro.product.name=x;ro.product.model=x;ro.product.device=x;features=shell_v2",
    b"sideload::ro.product.name=x;ro.product.model=x;ro.product.device=x;features=",
    b"",
)


def message(value: float | None, like: wire.Message) -> bytes:
    """Something in front of the message that was to be sent."""
    good = like.encoded()
    choices = (
        wire.Message(wire.word(b"EVIL"), like.arg0, like.arg1, b"x").encoded() + good,
        wire.Message(wire.OKAY, like.arg0, like.arg1).encoded() * 2 + good,
        wire.Message(wire.CLSE, 0, like.arg1).encoded() + good,
        wire.Message(wire.WRTE, 0x7FFFFFFF, 0x7FFFFFFF, b"nobody").encoded() + good,
        struct.pack("<6I", wire.WRTE, like.arg0, like.arg1, 0x7FFFFFFF, 0, wire.WRTE ^ 0xFFFFFFFF),
        wire.Message(wire.CNXN, wire.VERSION, 16, b"device::").encoded() + good,
        bytes(24) + good,
    )
    return pick(choices, value)


def bad_magic(like: wire.Message) -> bytes:
    """The message with one bit of its header wrong."""
    data = bytearray(like.encoded())
    data[20] ^= 1
    return bytes(data)


def unasked() -> wire.Message:
    """A stream that the host never allowed: some adb servers end at this."""
    return wire.Message(wire.OPEN, 0x7FFFFFFE, 0, b"tcp:1\0")


# The sync service.

NAMES = (
    b"../../../../../../../../tmp/escaped",
    b"..",
    b"/tmp/escaped",
    b"a/b",
    b"a\0b",
    b"a\nb",
    b"-rf",
    b"$(touch escaped)",
    b"`touch escaped`; touch escaped",
    b"\xff\xfe\x80",
    b"\x1b[2Jcleared",
    b"n" * 256,
    b"n" * 4096,
    b"",
    "\u202egnp.exe".encode(),
)

TEXTS = (
    "\x1b]0;title\x07\x1b[2Jwrong",
    "x" * 60000,
    "OKAY",
    "\0\0\0",
    "line\nline\nerror: all is well",
    "<script>alert(1)</script>",
)

SIZES = (0xFFFFFFFF, 0x80000000, (64 << 10) + 1, 0)  # that a DATA header claims

SENT = (  # the answer to a file that has come
    b"FAIL" + struct.pack("<I", 0xFFFFFFFF) + b"x",
    b"EVIL" + bytes(4),
    b"OKAY" + struct.pack("<I", 0x7FFFFFFF),
    b"FAIL" + struct.pack("<I", len(TEXTS[0])) + TEXTS[0].encode(),
    b"DATA" + struct.pack("<I", 4) + b"more",
)


def entries(head: bytes) -> tuple[bytes, ...]:
    """Entries of a folder with names that must not be used; the rest is as in `head`, the status of a true one."""
    mode_at = 24 if head[:4] == b"DNT2" else 4
    regular = head[:mode_at] + struct.pack("<I", 0o100644) + head[mode_at + 4 :]
    return tuple(regular + struct.pack("<I", len(name)) + name for name in NAMES)


def statuses(reply: bytes) -> tuple[bytes, ...]:
    """Another word, numbers out of all bounds, or too much."""
    return (
        b"EVIL" + reply[4:],
        reply[:4] + b"\xff" * (len(reply) - 4),
        b"FAIL" + struct.pack("<I", 0xFFFFFFFF),
        reply + b"\0" * 100,
    )


# What a command writes.

OUTPUTS = (
    b"\x1b]0;title\x07\x1b[2J\x1b[31mall is well\n",
    b"\xff\xfe\x00\x80" * 64 + b"\n",
    b"x" * (4 << 20),
    b"../../../../tmp/escaped\n/tmp/escaped\n-rf\n$(touch escaped)\n",
    b"\n" * 100000,
    b"Success\nOK\nINSTRUMENTATION_CODE: -1\n",
)


# What `am instrument` says.
INSTRUMENTATIONS = (
    "INSTRUMENTATION_STATUS: stage=" + "A" * (1 << 20) + "\n",
    "INSTRUMENTATION_RESULT: state=complete\nINSTRUMENTATION_CODE: -1",
    "INSTRUMENTATION_STATUS: stage=$(touch /tmp/quadra-hostile); `id`\nINSTRUMENTATION_STATUS_CODE: 0\n",
    "INSTRUMENTATION_RESULT: exit_code=0\x1b[2J\nINSTRUMENTATION_RESULT: error=\u202e\nINSTRUMENTATION_CODE: 99999999999\n",
    "INSTRUMENTATION_CODE: -1\nINSTRUMENTATION_CODE: 0\n",
    "usage: am [subcommand] [options]\n",
    "",
)
# What `pm install` says.
INSTALLS = (b"Success\x1b[2J\nFailure [INSTALL_FAILED_\xff: $(id)]\n", b"A" * (1 << 20))


def spoiled(fault: Fault | None, data: bytes, attacks: Sequence[bytes] = ()) -> tuple[list[bytes], bool]:
    """The pieces to send in place of `data`, and whether it ends there."""
    kind = fault.kind if fault else ""
    if kind == "truncate":
        return [data[: len(data) // 2]], True
    if kind == "corrupt":
        return [flipped(data)], False
    if kind == "split":
        return split(data), False
    if fault and kind == "hostile":
        return [pick(attacks, fault.value)], False
    return [data], False
