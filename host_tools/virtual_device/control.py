"""How `inv device` talks to a device's process: one line of JSON each way, on a port and with a word that only the
device's record has."""

import json
import secrets
import socket
from collections.abc import Callable
from typing import Any

from host_tools.virtual_device.device import VirtualDevice
from host_tools.virtual_device.listener import Listener

_MAX_LINE = 1 << 20
_TIMEOUT_S = 3.0


class Control:
    """The device's side. `stop` is called when it is asked to end."""

    def __init__(self, device: VirtualDevice, stop: Callable[[], None]) -> None:
        self.token = secrets.token_hex(16)
        self._device, self._stop = device, stop
        self._listener = Listener(self._serve, name="control")
        self.port = self._listener.port

    def close(self) -> None:
        self._listener.close()

    def _serve(self, peer: socket.socket) -> None:
        with peer:
            peer.settimeout(_TIMEOUT_S)
            try:
                request = json.loads(peer.makefile("rb").readline(_MAX_LINE))
                if not isinstance(request, dict) or not secrets.compare_digest(str(request.get("token")), self.token):
                    return
                reply = self._answer(request)
            except (OSError, ValueError):
                return
            try:
                peer.sendall(json.dumps(reply).encode() + b"\n")
            except OSError:
                pass
            if request.get("do") == "stop":
                self._stop()

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        device, word = self._device, request.get("do")
        text = str(request.get("fault", ""))
        if word == "fault":
            try:
                device.faults.add(text)
            except Exception as error:
                return {"error": str(error)}
        elif word == "clear":
            device.faults.clear(text)
        return {
            "faults": [f"{fault} (met {fault.met}, done {fault.done})" for fault in device.faults.all()],
        }


def ask(port: int, token: str, **request: Any) -> dict[str, Any]:
    """The device's answer; OSError when there is none."""
    with socket.create_connection(("127.0.0.1", port), _TIMEOUT_S) as connection:
        connection.sendall(json.dumps({**request, "token": token}).encode() + b"\n")
        line = connection.makefile("rb").readline(_MAX_LINE)
    try:
        reply = json.loads(line)
    except ValueError:
        reply = None
    if not isinstance(reply, dict):
        raise OSError(0, "no answer")
    return reply
