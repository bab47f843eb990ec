"""LiteRT's C API as an app in C would use it, of the wheel's libLiteRt.so: what its Python API has no words for."""

from __future__ import annotations

import ctypes
from pathlib import Path

import ai_edge_litert
import numpy as np

HOST, OPENCL = 1, 10  # types of buffers
GPU_AND_CPU = 3
_ELEMENTS = {"float32": 1, "int32": 2}
_RUNTIME_FOLDER, _STRING, _INTEGER = 22, 8, 2  # of options of an environment
CL_DEVICE, CL_PLATFORM, CL_CONTEXT = 2, 3, 4  # these are integers
OPENCL_EVENT = 2
_READ, _WRITE = 0, 1


class _EnvOption(ctypes.Structure):
    _fields_ = [("tag", ctypes.c_int64), ("type", ctypes.c_int64), ("value", ctypes.c_void_p)]


class _TensorType(ctypes.Structure):
    _fields_ = [
        ("element", ctypes.c_int),
        ("rank", ctypes.c_uint32),
        ("dimensions", ctypes.c_int32 * 8),
        ("strides", ctypes.c_uint32 * 8),
    ]


class LiteRt:
    """A model compiled with opaque options (by their names), in an environment whose folder has the accelerator, and
    which has these handles (by the tags of its options)."""

    def __init__(self, accelerator: str, model: bytes, handles: dict[int, int] | None = None, **opaque: str) -> None:
        self._library = ctypes.CDLL(str(Path(ai_edge_litert.__file__).with_name("libLiteRt.so")))
        folder = ctypes.create_string_buffer(str(Path(accelerator).parent).encode())
        self._kept: list[object] = [folder, opaque]
        self._deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda payload: None)
        given = [_EnvOption(_RUNTIME_FOLDER, _STRING, ctypes.addressof(folder))]
        given += [_EnvOption(tag, _INTEGER, handle) for tag, handle in (handles or {}).items()]
        self.environment = self._made("CreateEnvironment", len(given), (_EnvOption * len(given))(*given))
        self._opaque, self._models = opaque, []
        self.compiled = self.compile(model)

    def compile(self, model: bytes) -> ctypes.c_void_p:
        """Another model in the same environment, with the same options."""
        self._kept.append(model)
        loaded = self._made("CreateModelFromBuffer", self.environment, model, ctypes.c_size_t(len(model)))
        options = self._made("CreateOptions")
        self._call("SetOptionsHardwareAccelerators", options, GPU_AND_CPU)
        for name, text in self._opaque.items():
            payload = ctypes.create_string_buffer(text.encode())
            self._kept.append(payload)
            made = self._made("CreateOpaqueOptions", name.encode(), payload, self._deleter)
            self._call("AddOpaqueOptions", options, made)
        self._models.append(self._made("CreateCompiledModel", self.environment, loaded, options))
        return self._models[-1]

    def buffer(self, kind: int, like: np.ndarray, cl_mem: int | None = None) -> ctypes.c_void_p:
        """A buffer for an array like this; over an OpenCL buffer that there is."""
        dimensions = (ctypes.c_int32 * 8)(*like.shape)
        wanted = ctypes.byref(_TensorType(_ELEMENTS[str(like.dtype)], like.ndim, dimensions))
        size = ctypes.c_size_t(like.nbytes)
        if cl_mem is None:
            return self._made("CreateManagedTensorBuffer", self.environment, kind, wanted, size)
        memory = ctypes.c_void_p(cl_mem)
        return self._made("CreateTensorBufferFromOpenClMemory", self.environment, wanted, kind, memory, size, None)

    def over(self, address: int, like: np.ndarray) -> ctypes.c_void_p:
        """A buffer over the host's memory, for an array like this."""
        dimensions = (ctypes.c_int32 * 8)(*like.shape)
        wanted = ctypes.byref(_TensorType(_ELEMENTS[str(like.dtype)], like.ndim, dimensions))
        size = ctypes.c_size_t(like.nbytes)
        return self._made("CreateTensorBufferFromHostMemory", wanted, ctypes.c_void_p(address), size, None)

    def set_fence(self, buffer: ctypes.c_void_p, fd: int) -> None:
        """The sync fence that comes before a run that has the buffer as an input; the file descriptor stays its owner's."""
        event = self._made("CreateEventFromSyncFenceFd", self.environment, fd, ctypes.c_bool(False))
        self._call("SetTensorBufferEvent", buffer, event)

    def write(self, buffer: ctypes.c_void_p, array: np.ndarray) -> None:
        ctypes.memmove(self._locked(buffer, _WRITE), array.ctypes.data, array.nbytes)
        self._call("UnlockTensorBuffer", buffer)

    def read(self, buffer: ctypes.c_void_p, like: np.ndarray) -> np.ndarray:
        array = np.empty_like(like)
        ctypes.memmove(array.ctypes.data, self._locked(buffer, _READ), array.nbytes)
        self._call("UnlockTensorBuffer", buffer)
        return array

    def has_gpu(self) -> bool:
        """Whether the environment has contexts of the GPU's APIs."""
        has = ctypes.c_bool()
        self._library.LiteRtEnvironmentHasGpuEnvironment(self.environment, ctypes.byref(has))
        return has.value

    def cl_mem(self, buffer: ctypes.c_void_p) -> int | None:
        return self._made("GetTensorBufferOpenClMemory", buffer).value

    def event_of(self, buffer: ctypes.c_void_p) -> int | None:
        """The cl_event of what still works on the buffer; None: nothing does."""
        has = ctypes.c_bool()
        self._call("HasTensorBufferEvent", buffer, ctypes.byref(has))
        if not has:
            return None
        event, kind = self._made("GetTensorBufferEvent", buffer), ctypes.c_int()
        self._call("GetEventEventType", event, ctypes.byref(kind))
        assert kind.value == OPENCL_EVENT
        return self._made("GetEventOpenClEvent", event).value

    def set_event(self, buffer: ctypes.c_void_p, cl_event: int) -> None:
        """What comes before a run that has the buffer as an input."""
        event = self._made("CreateEventFromOpenClEvent", self.environment, ctypes.c_void_p(cl_event))
        self._call("SetTensorBufferEvent", buffer, event)

    def clear(self, *buffers: ctypes.c_void_p) -> None:
        """Of their events: an output must have none."""
        for buffer in buffers:
            self._call("ClearTensorBufferEvent", buffer)

    def run(
        self,
        inputs: list,
        outputs: list,
        is_async: bool = False,
        compiled: ctypes.c_void_p | None = None,
        signature: int = 0,
    ) -> bool:
        """Whether it went on when LiteRT returned."""
        lists = [(len(some), (ctypes.c_void_p * len(some))(*(one.value for one in some))) for some in (inputs, outputs)]
        words = [word for count, some in lists for word in (ctypes.c_size_t(count), some)]
        going = ctypes.c_bool(is_async)
        more = [ctypes.byref(going)] if is_async else []
        name = "RunCompiledModelAsync" if is_async else "RunCompiledModel"
        self._call(name, compiled or self.compiled, ctypes.c_size_t(signature), *words, *more)
        return going.value

    def free(self, *buffers: ctypes.c_void_p) -> None:
        """Buffers, then all else."""
        for buffer in buffers:
            self.destroy(buffer)
        self.destroy_models()
        self._library.LiteRtDestroyEnvironment(self.environment)

    def destroy_models(self) -> None:
        while self._models:
            self._library.LiteRtDestroyCompiledModel(self._models.pop())

    def destroy(self, buffer: ctypes.c_void_p) -> None:
        self._library.LiteRtDestroyTensorBuffer(buffer)

    def _locked(self, buffer: ctypes.c_void_p, mode: int) -> int:
        address = ctypes.c_void_p()
        self._call("LockTensorBuffer", buffer, ctypes.byref(address), mode)
        assert address.value
        return address.value

    def _made(self, what: str, *words: object) -> ctypes.c_void_p:
        made = ctypes.c_void_p()
        self._call(what, *words, ctypes.byref(made))
        return made

    def _call(self, what: str, *words: object) -> None:
        status = getattr(self._library, f"LiteRt{what}")(*words)
        if status:
            raise RuntimeError(f"LiteRt{what}: status {status}")
