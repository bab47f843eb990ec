"""What `interpreters` does, with Quadra behind LiteRT's CompiledModel: a compiled model looks like an interpreter.

Only worker processes import this. LiteRT's Python API has few options for a GPU: the delegate's come as environment variables.
"""

import contextlib
import ctypes
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from ai_edge_litert.compiled_model import CompiledModel
from ai_edge_litert.environment import Environment
from ai_edge_litert.hardware_accelerator import HardwareAccelerator
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from ai_edge_litert.options import CpuOptions, Options
from ai_edge_litert.tensor_buffer import TensorBuffer

from host_tools.base.android import ACCELERATOR, DELEGATE
from host_tools.base.errors import RunFailed
from host_tools.places import interpreters
from host_tools.places.interpreters import BUILTIN, XNNPACK, allocate, invoke, outputs_of, set_inputs
from host_tools.places.one_signature import OneSignature
from host_tools.request import signatures

__all__ = ["BUILTIN", "XNNPACK", "allocate", "invoke", "load_quadra", "make", "outputs_of", "report_of", "set_inputs"]


@dataclass(frozen=True)
class Accelerator:
    """libLiteRtGpuAccelerator.so, and the options of the delegates that it makes."""

    path: Path
    options: Mapping[str, str]


def load_quadra(library: Path, options: Mapping[str, str]) -> Accelerator:
    """The accelerator beside libquadra.so; RunFailed where it is not there, Misuse where the delegate refuses an option."""
    path = library.with_name(ACCELERATOR)
    if not path.is_file():
        raise RunFailed(f"find {path}", "it is not there", "build both libraries into one folder: `./inv build`")
    interpreters.load_quadra(library, options)  # it says what is wrong; LiteRT would go on without it
    return Accelerator(path, dict(options))


def report_of(accelerator: Accelerator) -> dict[str, Any]:
    """The report of the compiled model that was made last."""
    call = ctypes.CDLL(str(accelerator.path)).QuadraAcceleratorReport
    call.restype, call.argtypes = ctypes.c_size_t, [ctypes.c_char_p, ctypes.c_size_t]
    buffer = ctypes.create_string_buffer(max(1, call(None, 0)))
    call(buffer, len(buffer))
    return interpreters.read_report(buffer.value)


def clear_states(accelerator: Accelerator) -> None:
    """Those of the compiled model that was made last: sets them to zeros; there may be none."""
    find = ctypes.CDLL(str(accelerator.path)).QuadraAcceleratorDelegate
    find.restype, find.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    library = ctypes.CDLL(str(accelerator.path.with_name(DELEGATE)))
    library.QuadraDelegateWriteState(ctypes.c_void_p(find(0)), None, None, ctypes.c_size_t(0), None)


def make(
    content: bytes,
    model: str,
    *,
    threads: int,
    kernels: OpResolverType = XNNPACK,
    delegate: Accelerator | None = None,
    keeps: bool = False,
    signature: str = "",
) -> Any:
    """A compiled model with the interpreter's methods; without an accelerator an interpreter."""
    if not delegate:
        return interpreters.make(content, model, threads=threads, kernels=kernels, keeps=keeps, signature=signature)
    _refuse_shared_ends(content, model, signature)
    described = interpreters.make(content, model, threads=threads, kernels=BUILTIN, signature=signature)
    return Compiled(compile_model(content, model, threads, delegate), described, signature)


def compile_model(model_or_path: bytes | Path, model: str, threads: int, accelerator: Accelerator) -> CompiledModel:
    """LiteRT's own object, of a model's bytes or its file. What the GPU leaves runs on the CPU."""
    options = Options(HardwareAccelerator.GPU | HardwareAccelerator.CPU, CpuOptions(num_threads=threads))
    make = CompiledModel.from_buffer if isinstance(model_or_path, bytes) else CompiledModel.from_file
    given = model_or_path if isinstance(model_or_path, bytes) else str(model_or_path)
    try:
        environment = Environment.create(runtime_path=str(accelerator.path.parent))
        with _variables(accelerator.options):
            return make(given, environment=environment, options=options)
    except (ValueError, RuntimeError) as error:
        sentence = " ".join(str(error).split())
        raise RunFailed(f"compile {model}", sentence, "see the log; `--api interpreter` may take the model") from error


def _refuse_shared_ends(content: bytes, model: str, signature: str) -> None:
    """RunFailed where an output is listed twice, or is an input: LiteRT 2.3 leaves one of its buffers as it was, or fails."""
    entry = signatures.entry(content, signature)
    given = {tensor for _, tensor in entry.inputs}
    for place, (name, tensor) in enumerate(entry.outputs):
        twice = tensor in {other for _, other in entry.outputs[:place]}
        if twice or tensor in given:
            what = "is listed twice" if twice else "is an input"
            raise RunFailed(
                f"run {model} through CompiledModel",
                f"its output '{name}' {what}: LiteRT itself then gives wrong numbers, on its own CPU accelerator, too",
                "run it with `--api interpreter`, or give the model another output, such as a copy of that tensor",
            )


@contextlib.contextmanager
def _variables(options: Mapping[str, str]) -> Iterator[None]:
    """The delegate reads them when it is made."""
    named = {f"QUADRA_{name.upper()}": value for name, value in options.items()}
    before = {name: os.environ.get(name) for name in named}
    os.environ.update(named)
    try:
        yield
    finally:
        for name, value in before.items():
            del os.environ[name]
            if value is not None:
                os.environ[name] = value


class Compiled:
    """A compiled model as an interpreter. described: an interpreter that knows the tensors of the signature (empty: the first, or
    what LiteRT makes of the main graph) and runs nothing. waits: its runs are still under way when LiteRT returns."""

    def __init__(
        self, model: CompiledModel, described: Interpreter | OneSignature, signature: str, waits: bool = False
    ) -> None:
        self._model, self._described, self._waits = model, described, waits
        self._key = signature or next(iter(model.get_signature_list()))
        self._number = model.get_signature_index(self._key)
        self._resized = False
        self._inputs: dict[int, TensorBuffer] = {}
        self._outputs: dict[int, TensorBuffer] = {}

    def resize_tensor_input(self, index: int, shape: Sequence[int]) -> None:
        named = {detail["index"]: name for name, detail in self._model.get_input_tensor_details(self._key).items()}
        self._model.resize_input_tensor_by_name(self._key, named[index], list(shape))
        self._described.resize_tensor_input(index, shape)
        self._resized = True

    def allocate_tensors(self) -> None:
        if self._resized:
            self._described.allocate_tensors()  # it knows the outputs' shapes then
        names = self._model.get_signature_list()[self._key]
        inputs, outputs = (
            self._model.get_input_tensor_details(self._key),
            self._model.get_output_tensor_details(self._key),
        )
        made = self._model.create_input_buffers(self._number), self._model.create_output_buffers(self._number)
        self._inputs = dict(zip((inputs[name]["index"] for name in names["inputs"]), made[0], strict=True))
        self._outputs = dict(zip((outputs[name]["index"] for name in names["outputs"]), made[1], strict=True))

    def get_input_details(self) -> list[dict[str, Any]]:
        details: list[dict[str, Any]] = self._described.get_input_details()
        return details

    def get_output_details(self) -> list[dict[str, Any]]:
        details: list[dict[str, Any]] = self._described.get_output_details()
        return details

    def set_tensor(self, index: int, array: np.ndarray) -> None:
        self._inputs[index].write(array)

    def invoke(self) -> None:
        self._model.run_by_index(self._number, list(self._inputs.values()), list(self._outputs.values()))
        for index in self._outputs if self._waits else ():  # to lock a buffer is to wait for its numbers
            self._read(index, 1)

    def get_tensor(self, index: int) -> np.ndarray:
        (detail,) = (one for one in self.get_output_details() if one["index"] == index)
        shape = tuple(detail["shape"])
        return self._read(index, int(np.prod(shape))).reshape(shape)

    def _read(self, index: int, count: int) -> np.ndarray:
        """The first `count` numbers of an output."""
        (detail,) = (one for one in self.get_output_details() if one["index"] == index)
        dtype = np.dtype(detail["dtype"])
        try:
            numbers: np.ndarray = self._outputs[index].read(count, dtype)
        except (ValueError, RuntimeError) as error:  # int64 is one that it does not know
            tried = f"read the output {detail['name']} of {dtype}"
            raise RunFailed(tried, " ".join(str(error).split()), "run it with `--api interpreter`") from error
        return numbers
