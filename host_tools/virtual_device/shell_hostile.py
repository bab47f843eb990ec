"""Output of a command that is not what the command wrote."""

from typing import List, Tuple

from host_tools.virtual_device.faults import Fault, split

_HOSTILE = (
    b"\x1b]0;title\x07\x1b[2J\x1b[31mall is well\n",
    b"\xff\xfe\x00\x80" * 64 + b"\n",
    b"x" * (4 << 20),
    b"../../../../tmp/escaped\n/tmp/escaped\n-rf\n$(touch escaped)\n",
    b"\n" * 100000,
    b"Success\nOK\nINSTRUMENTATION_CODE: -1\n",
)


def output(fault: Fault, data: bytes) -> Tuple[List[bytes], bool]:
    """The pieces to send in place of `data`, and whether all that the command writes later is lost."""
    if fault.kind == "truncate":
        return [data[: len(data) // 2]], True
    if fault.kind == "corrupt" and data:
        middle = len(data) // 2
        return [data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]], False
    if fault.kind == "split":
        return split(data), False
    if fault.kind == "hostile":
        return [_HOSTILE[int(fault.value or 0) % len(_HOSTILE)]], True
    return [data], False
