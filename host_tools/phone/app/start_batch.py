"""Runs a list of cases on a device by the native runner, in one process of the shell, and gives each result as it comes.

What the runner prints is in delegate_native/runner/batch.h. Results come as lines, not in a file: those until a crash, or
until the device went away, are here by then.
"""

import base64
import binascii
import json
import zlib
from collections.abc import Callable, Sequence
from typing import Any

from host_tools.phone.app.start_in_shell import Ended, ShellStarter

OUTPUT_LIMIT_BYTES = 256 << 20
_BEGIN, _DATA, _END = "begin ", "data ", "end "


class Listener:
    """Reads the lines. begun: the case that was begun last, -1 before the first; ended: how many came to their end."""

    def __init__(
        self, on_result: Callable[[int, dict[str, Any], bytes], None], on_begin: Callable[[int], None]
    ) -> None:
        self._on_result, self._on_begin = on_result, on_begin
        self._data = bytearray()
        self.begun, self.ended, self.bytes = -1, 0, 0

    def line(self, text: str) -> bool:
        """Whether the line was one of these. ValueError: it is, and damaged."""
        self.bytes += len(text) + 1
        if text.startswith(_BEGIN):
            self.begun = int(text[len(_BEGIN) :])
            self._data.clear()
            self._on_begin(self.begun)
        elif text.startswith(_DATA):
            self._data += base64.b64decode(text[len(_DATA) :], validate=True)
        elif text.startswith(_END):
            self._end(text)
        else:
            return False
        return True

    def _end(self, text: str) -> None:
        _, number, crc, values = text.split(" ", 3)
        if int(crc, 16) != zlib.crc32(values.encode(), zlib.crc32(self._data)) or int(number) != self.begun:
            raise ValueError(f"the result of case {number[:12]} has another checksum than the one sent")
        self._on_result(self.begun, json.loads(values), bytes(self._data))
        self.ended = self.begun + 1


def start(starter: ShellStarter, words: Sequence[str], listener: Listener) -> tuple[Ended, str]:
    """Runs the list once; how the process ended, and what was damaged on its way here."""
    damage: list[str] = []

    def line(text: str) -> bool:
        if damage:
            return True
        try:
            return listener.line(text)
        except (ValueError, binascii.Error) as error:
            damage.append(str(error))
            return True

    return starter.start(words, lambda stage: None, line, OUTPUT_LIMIT_BYTES), "".join(damage)
