"""A device of answers: what a command prints, by how it begins. Keeps what was asked."""

import shlex
from collections.abc import Callable

from host_tools.base.errors import DeviceRefused
from host_tools.phone.adb.adb_device import Reply

Answer = str | Exception | Callable[[list[str]], str]
PROPERTIES = {
    "ro.product.manufacturer": "Google", "ro.product.model": "Pixel 8", "ro.build.version.sdk": "34",
    "ro.build.version.release": "14", "ro.product.cpu.abilist": "arm64-v8a,armeabi-v7a", "ro.soc.model": "Tensor G3",
}  # fmt: skip


class FakeDevice:
    """answers: by the beginning of a command; the longest that fits counts. "!" before an answer: status 1."""

    def __init__(self, answers: dict[str, Answer], serial: str = "fake:1") -> None:
        self.answers, self.serial, self.virtual = answers, serial, False
        self.events, self.asked, self.stopped = [], [], False

    def shell(self, argv, *, timeout_s, check=True, on_line=None, step="", repeatable=False, limit_bytes=0):
        words = [str(word) for word in argv]
        line = shlex.join(words)
        self.asked.append(line)
        fits = [key for key in self.answers if line.startswith(key)]
        answer = self.answers[max(fits, key=len)] if fits else ""
        said = answer(words) if callable(answer) else answer
        if isinstance(said, BaseException):
            raise said
        status, said = (1, said[1:]) if said.startswith("!") else (0, said)
        for text in said.splitlines() if on_line else ():
            on_line(text)
        if check and status:
            raise DeviceRefused(line, said, serial=self.serial, step=step)
        return Reply(words, status, said, "")

    def twin(self):
        return self

    def properties(self):
        return PROPERTIES

    def lines(self, beginning: str) -> list[str]:
        """The commands that began so."""
        return [line for line in self.asked if line.startswith(beginning)]
