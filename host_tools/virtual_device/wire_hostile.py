"""Messages of the device that attack the host, or break the protocol. A fault's VALUE picks one, from 0."""

import struct
from typing import Optional

from host_tools.virtual_device import wire

_BANNERS = (
    b"device::ro.product.name=\x1b]0;x\x07;ro.product.model=$(touch escaped);ro.product.device=../..;features=shell_v2",
    b"device::ro.product.name=a b\nc\td;ro.product.model=" + b"m" * 3000 + b";ro.product.device=;features=shell_v2",
    b"device::",
    b"device::ro.product.model=\xff\xfe;features=" + b",".join(b"f%d" % i for i in range(400)),
    b"bootloader::ro.product.name=x;ro.product.model=x;ro.product.device=x;features=",
    b"recovery::ro.product.name=x;ro.product.model=x;ro.product.device=x;features=shell_v2",
    b"sideload::ro.product.name=x;ro.product.model=x;ro.product.device=x;features=",
    b"",
)


def banner(value: Optional[float]) -> bytes:
    """What the device says that it is."""
    return _BANNERS[int(value or 0) % len(_BANNERS)]


def message(value: Optional[float], like: wire.Message) -> bytes:
    """Something in front of the message that was to be sent."""
    good = like.encoded(wire.VERSION)
    choices = (
        wire.Message(wire.word(b"EVIL"), like.arg0, like.arg1, b"x").encoded(wire.VERSION) + good,
        wire.Message(wire.OKAY, like.arg0, like.arg1).encoded(wire.VERSION) * 2 + good,
        wire.Message(wire.CLSE, 0, like.arg1).encoded(wire.VERSION) + good,
        wire.Message(wire.WRTE, 0x7FFFFFFF, 0x7FFFFFFF, b"nobody").encoded(wire.VERSION) + good,
        struct.pack("<6I", wire.WRTE, like.arg0, like.arg1, 0x7FFFFFFF, 0, wire.WRTE ^ 0xFFFFFFFF),
        wire.Message(wire.CNXN, wire.VERSION, 16, b"device::").encoded(wire.VERSION) + good,
        bytes(24) + good,
    )
    return choices[int(value or 0) % len(choices)]


def bad_magic(like: wire.Message) -> bytes:
    """The message with one bit of its header wrong."""
    data = bytearray(like.encoded(wire.VERSION))
    data[20] ^= 1
    return bytes(data)


def unasked() -> wire.Message:
    """A stream that the host never allowed: some adb servers end at this."""
    return wire.Message(wire.OPEN, 0x7FFFFFFE, 0, b"tcp:1\0")
