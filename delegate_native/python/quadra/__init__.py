"""Quadra's GPU delegate for Python: runs TensorFlow Lite models on this machine's GPU, with OpenCL or OpenGL ES.

import quadra
from ai_edge_litert.interpreter import Interpreter

interpreter = Interpreter("model.tflite", experimental_delegates=[quadra.load_delegate(precision="f32")])
"""

from __future__ import annotations

import ctypes
import importlib
import json
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["__version__", "accelerator", "library", "load_delegate", "report"]
__version__ = "0.1.0"

_LIBRARIES = Path(__file__).resolve().parent / "lib"
_RUNTIMES = ("ai_edge_litert.interpreter", "tflite_runtime.interpreter")


def load_delegate(options: Mapping[str, object] | None = None, **more: object) -> Any:
    """A delegate for the `experimental_delegates` of an interpreter of ai-edge-litert, or of tflite-runtime without it.

    Options by their names: backend="auto" | "opencl" | "gles", precision="f32" | "f32_f16" | "f16", and others (docs/options.md).
    Nodes that cannot run on the GPU stay on the CPU; `report` says which and why.

    ValueError: an option is wrong. ImportError: there is no runtime, or no library. OSError: the library cannot be loaded.
    """
    words = {key: _word(value) for key, value in {**(options or {}), **more}.items()}
    path = str(library())
    try:
        ctypes.CDLL(path)
    except OSError as error:
        here = f"{platform.system()} on {platform.machine()} with {' '.join(platform.libc_ver()) or 'an unknown libc'}"
        raise OSError(
            f"Quadra: load {path}: {error}; next: this is {here}; build the wheel on such a machine: `./inv wheel`"
        ) from error
    return _runtime().load_delegate(path, words)


def report(delegate: Any) -> dict[str, Any]:
    """What became of the model of a delegate: the backend, its device, and for each node where it runs and why.

    Ask once the interpreter has been made: `report(delegate)["nodes"]` is a list of {"op": "CONV_2D", "on": "gpu", …}.
    """
    ask = ctypes.CDLL(str(library())).QuadraDelegateReport
    ask.restype, ask.argtypes = ctypes.c_size_t, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
    pointer = ctypes.c_void_p(delegate._get_native_delegate_pointer())
    size = ask(pointer, None, 0)
    text = ctypes.create_string_buffer(size)
    ask(pointer, text, size)
    found: dict[str, Any] = json.loads(text.value)
    return found


def library() -> Path:
    """libquadra.so, for any loader of external delegates. ImportError: it is not there."""
    return _there("libquadra.so")


def accelerator() -> Path:
    """The folder with the accelerator for LiteRT's CompiledModel: `Environment.create(runtime_path=str(accelerator()))`.
    ImportError: it is not there."""
    return _there("libLiteRtGpuAccelerator.so").parent


def _there(name: str) -> Path:
    path = _LIBRARIES / name
    if not path.is_file():
        raise ImportError(
            f"Quadra: find {name}: {path} is not there; next: install the wheel that `./inv wheel` makes; "
            "this folder is its source"
        )
    return path


def _runtime() -> Any:
    for name in _RUNTIMES:
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if not f"{name}.".startswith(f"{error.name}."):  # it is installed, and lacks something itself
                raise
    raise ImportError(
        "Quadra: find an interpreter: neither ai_edge_litert nor tflite_runtime is installed; "
        "next: `pip install ai-edge-litert`"
    )


def _word(value: object) -> str:
    """An option's value as the delegate reads it: true and false are 1 and 0."""
    return str(int(value)) if isinstance(value, bool) else str(value)
