"""What tests of the virtual device share: commands without adb."""

import io
import threading
from dataclasses import dataclass

from host_tools.virtual_device.call import Call, Stopped
from host_tools.virtual_device.device import VirtualDevice
from host_tools.virtual_device.shell import run_text


@dataclass
class Answer:
    status: int
    out: str
    err: str


class Running:
    """A command that runs while the test goes on."""

    def __init__(self, device: VirtualDevice, text: str, data: bytes = b"") -> None:
        self.out, self.err, self.cancelled = [], [], threading.Event()
        self.status = None
        self._call = Call(["sh"], device, io.BytesIO(data), self.out.append, self.err.append, cancelled=self.cancelled)
        self._thread = threading.Thread(target=self._run, args=(text,), daemon=True)
        self._thread.start()

    def _run(self, text: str) -> None:
        try:
            self.status = run_text(self._call, text)
        except Stopped:
            self.status = 141

    def end(self, timeout_s: float = 120.0) -> Answer:
        self._thread.join(timeout_s)
        assert not self._thread.is_alive(), "the command did not end"
        out, err = (b"".join(pieces).decode("utf-8", "replace") for pieces in (self.out, self.err))
        return Answer(self.status, out, err)


def ask(device: VirtualDevice, text: str, data: bytes = b"") -> Answer:
    """Runs a command on the device to its end."""
    return Running(device, text, data).end()
