"""The delegate's C functions for buffers, contexts and events (delegate_native/delegate/quadra.h), by ctypes."""

from __future__ import annotations

import ctypes
from typing import Any

HOST, OPENCL, GL, DMA_BUF, AHARDWAREBUFFER = range(5)  # kinds of buffers
GPU_EVENT, FENCE_FD = 1, 2
_P, _INT, _SIZE = ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t
Say = ctypes.CFUNCTYPE(None, ctypes.c_char_p)


class Contexts(ctypes.Structure):
    _fields_ = [(name, _P) for name in ("cl_platform", "cl_device", "cl_context", "egl_display", "egl_context")]


class Buffer(ctypes.Structure):
    _fields_ = [("kind", _INT), ("handle", _P), ("bytes", _SIZE), ("event", _P), ("event_kind", _INT)]


_Offer = ctypes.CFUNCTYPE(None, _P, _P, _INT, _SIZE, _INT)
_Find = ctypes.CFUNCTYPE(_INT, _P, _P, _INT, _INT, ctypes.POINTER(Buffer))
_GoesOn = ctypes.CFUNCTYPE(_INT, _P, _P, ctypes.POINTER(Contexts))
_Finish = ctypes.CFUNCTYPE(_INT, _P, _P)
_Release = ctypes.CFUNCTYPE(None, _P)


class _Source(ctypes.Structure):
    _fields_ = [
        ("data", _P),
        ("offer", _Offer),
        ("find", _Find),
        ("goes_on", _GoesOn),
        ("finish", _Finish),
        ("release", _Release),
        ("deadline_ms", _INT),
    ]


class Native:
    """What the library has to say of a delegate; sentences are in `said`."""

    def __init__(self, library: str) -> None:
        self.library, self.said = ctypes.CDLL(library), list[str]()
        self._say = Say(lambda text: self.said.append(text.decode()))
        self.library.QuadraDelegateContexts.restype = Contexts
        for name in ("Create", "Handle", "Lock"):
            getattr(self.library, f"QuadraGpuBuffer{name}").restype = _P

    def use_contexts(self, delegate: Any, **handles: int) -> None:
        self.library.QuadraDelegateUseContexts(_of(delegate), ctypes.byref(Contexts(**handles)))

    def contexts(self, delegate: Any) -> Contexts:
        return self.library.QuadraDelegateContexts(_of(delegate))

    def bind(
        self, delegate: Any, tensor: int, kind: int = HOST, handle: int | None = None, size: int = 0, subgraph: int = 0
    ) -> bool:
        buffer = ctypes.byref(Buffer(kind, handle, size)) if handle else None
        if not subgraph:
            return bool(self.library.QuadraDelegateBindBuffer(_of(delegate), tensor, buffer, self._say))
        return bool(self.library.QuadraDelegateBindSubgraphBuffer(_of(delegate), subgraph, tensor, buffer, self._say))

    def create(self, size: int, handle: int | None = None, context: int | None = None) -> int:
        made = self.library.QuadraGpuBufferCreate(_P(context), _P(handle), _SIZE(size), self._say)
        assert made, self.said
        return made


class Source:
    """Where a delegate's buffers are: `buffers` by tensor. `events` are of inputs, `offers` what it was told, `done` the
    events that inferences left, where `goes_on` (the kind of these); `takes`: whether someone waits for them."""

    def __init__(self, native: Native, delegate: Any, deadline_ms: int = 0) -> None:
        self.buffers: dict[int, tuple[int, int, int]] = {}
        self.events: dict[int, int] = {}
        self.offers: dict[int, tuple[int, int]] = {}
        self.done: list[int | None] = []
        self.goes_on, self.takes, self.event_kind = 0, True, 0
        self._struct = _Source(
            None,
            _Offer(lambda data, context, tensor, size, kind: self.offers.update({tensor: (size, kind)})),
            _Find(self._find),
            _GoesOn(lambda data, context, contexts: self.goes_on),
            _Finish(self._finish),
            _Release(),
            deadline_ms,
        )
        native.library.QuadraDelegateSetBufferSource(_of(delegate), ctypes.byref(self._struct))

    def _find(self, data: None, context: int, tensor: int, is_output: int, found: Any) -> int:
        if tensor not in self.buffers:
            return 0
        found[0] = Buffer(*self.buffers[tensor], self.events.get(tensor), self.event_kind)
        return 1

    def _finish(self, data: None, event: int | None) -> int:
        self.done.append(event)
        return self.takes


def _of(delegate: Any) -> ctypes.c_void_p:
    return _P(delegate._get_native_delegate_pointer())


def refuses(interpreter: Any, *words: str) -> None:
    """An inference fails, with these words."""
    try:
        interpreter.invoke()
    except RuntimeError as error:
        assert all(word in str(error) for word in words), error
    else:
        raise AssertionError("it ran")
