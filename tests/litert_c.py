"""LiteRT's C API as an app in C would use it, of the wheel's libLiteRt.so: what its Python API has no words for."""

from __future__ import annotations

import ctypes
from pathlib import Path

import ai_edge_litert
import numpy as np

HOST, OPENCL = 1, 10  # types of buffers
GPU_AND_CPU = 3
_FLOAT32 = 1
_RUNTIME_FOLDER, _STRING = 22, 8  # of options of an environment
_READ, _WRITE = 0, 1


class _EnvOption(ctypes.Structure):
    _fields_ = [("tag", ctypes.c_int64), ("type", ctypes.c_int64), ("text", ctypes.c_char_p)]


class _TensorType(ctypes.Structure):
    _fields_ = [
        ("element", ctypes.c_int),
        ("rank", ctypes.c_uint32),
        ("dimensions", ctypes.c_int32 * 8),
        ("strides", ctypes.c_uint32 * 8),
    ]


class LiteRt:
    """A model compiled with opaque options (by their names), in an environment whose folder has the accelerator."""

    def __init__(self, accelerator: str, model: bytes, **opaque: str) -> None:
        self._library = ctypes.CDLL(str(Path(ai_edge_litert.__file__).with_name("libLiteRt.so")))
        self._kept: list[object] = [model, opaque]
        self._deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda payload: None)
        folder = _EnvOption(_RUNTIME_FOLDER, _STRING, str(Path(accelerator).parent).encode())
        self.environment = self._made("CreateEnvironment", 1, ctypes.byref(folder))
        loaded = self._made("CreateModelFromBuffer", self.environment, model, ctypes.c_size_t(len(model)))
        options = self._made("CreateOptions")
        self._call("SetOptionsHardwareAccelerators", options, GPU_AND_CPU)
        for name, text in opaque.items():
            payload = ctypes.create_string_buffer(text.encode())
            self._kept.append(payload)
            made = self._made("CreateOpaqueOptions", name.encode(), payload, self._deleter)
            self._call("AddOpaqueOptions", options, made)
        self.compiled = self._made("CreateCompiledModel", self.environment, loaded, options)

    def buffer(self, kind: int, like: np.ndarray, cl_mem: int | None = None) -> ctypes.c_void_p:
        """A buffer for an array like this; over an OpenCL buffer that there is."""
        dimensions = (ctypes.c_int32 * 8)(*like.shape)
        wanted = ctypes.byref(_TensorType(_FLOAT32, like.ndim, dimensions))
        size = ctypes.c_size_t(like.nbytes)
        if cl_mem is None:
            return self._made("CreateManagedTensorBuffer", self.environment, kind, wanted, size)
        memory = ctypes.c_void_p(cl_mem)
        return self._made("CreateTensorBufferFromOpenClMemory", self.environment, wanted, kind, memory, size, None)

    def write(self, buffer: ctypes.c_void_p, array: np.ndarray) -> None:
        ctypes.memmove(self._locked(buffer, _WRITE), array.ctypes.data, array.nbytes)
        self._call("UnlockTensorBuffer", buffer)

    def read(self, buffer: ctypes.c_void_p, like: np.ndarray) -> np.ndarray:
        array = np.empty_like(like)
        ctypes.memmove(array.ctypes.data, self._locked(buffer, _READ), array.nbytes)
        self._call("UnlockTensorBuffer", buffer)
        return array

    def run(self, inputs: list, outputs: list, is_async: bool = False) -> bool:
        """Whether it went on when LiteRT returned."""
        lists = [(len(some), (ctypes.c_void_p * len(some))(*(one.value for one in some))) for some in (inputs, outputs)]
        words = [word for count, some in lists for word in (ctypes.c_size_t(count), some)]
        going = ctypes.c_bool(is_async)
        more = [ctypes.byref(going)] if is_async else []
        name = "RunCompiledModelAsync" if is_async else "RunCompiledModel"
        self._call(name, self.compiled, ctypes.c_size_t(0), *words, *more)
        return going.value

    def free(self, *buffers: ctypes.c_void_p) -> None:
        """Buffers, then all else."""
        for buffer in buffers:
            self._library.LiteRtDestroyTensorBuffer(buffer)
        self._library.LiteRtDestroyCompiledModel(self.compiled)
        self._library.LiteRtDestroyEnvironment(self.environment)

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
