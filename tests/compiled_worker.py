"""Runs models through LiteRT's CompiledModel on behalf of `tests.compiled`, in a process that may crash."""

from __future__ import annotations

import ctypes
import json
from pathlib import Path
from typing import Any

import numpy as np
from ai_edge_litert.compiled_model import CompiledModel
from ai_edge_litert.environment import Environment
from ai_edge_litert.hardware_accelerator import HardwareAccelerator
from ai_edge_litert.options import CpuOptions, GpuOptions, Options

from tests.delegate_worker import main, told


def report(library: str) -> dict[str, Any]:
    """The delegate's own account of the compiled model that was made last; empty where there was none."""
    function = ctypes.CDLL(library).QuadraAcceleratorReport
    function.restype = ctypes.c_size_t
    function.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    buffer = ctypes.create_string_buffer(max(1, function(None, 0)))
    return json.loads(buffer.value) if function(buffer, len(buffer)) else {}


class Newest:
    """The delegate of a living compiled model, as the interpreter's loader has one: of the newest, or so many before it."""

    def __init__(self, library: str, age: int = 0) -> None:
        function = ctypes.CDLL(library).QuadraAcceleratorDelegate
        function.restype, function.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
        self.pointer: int | None = function(age)

    def _get_native_delegate_pointer(self) -> int | None:
        return self.pointer


def make_environment(library: str) -> Environment:
    """Without the wheel's plugins for NPUs, which sanitizers do not take."""
    folder = str(Path(library).parent)
    return Environment.create(runtime_path=folder, compiler_plugin_path=folder, dispatch_library_path=folder)


def open_model(
    library: str,
    model: bytes,
    cpu: bool = True,
    gpu: dict[str, bool] | None = None,
    environment: Environment | None = None,
) -> CompiledModel:
    """cpu: what the GPU leaves may run there. gpu: fields of GpuOptions. environment: default, one of its own."""
    accelerators = HardwareAccelerator.GPU
    if cpu:
        accelerators |= HardwareAccelerator.CPU
    options = Options(accelerators, CpuOptions(num_threads=1), GpuOptions(**gpu) if gpu else None)
    environment = environment or make_environment(library)
    return CompiledModel.from_buffer(model, environment=environment, options=options)


def details(model: CompiledModel, signature: int = 0) -> tuple[list[dict], list[dict]]:
    """Of a signature's inputs and outputs."""
    key, names = list(model.get_signature_list().items())[signature]
    inputs, outputs = model.get_input_tensor_details(key), model.get_output_tensor_details(key)
    return [inputs[name] for name in names["inputs"]], [outputs[name] for name in names["outputs"]]


def invoke(
    model: CompiledModel, feeds: list[np.ndarray], buffers: tuple[list, list] | None = None, signature: int = 0
) -> list[np.ndarray]:
    inputs, outputs = buffers or (model.create_input_buffers(signature), model.create_output_buffers(signature))
    for buffer, feed in zip(inputs, feeds, strict=True):
        buffer.write(feed)
    model.run_by_index(signature, inputs, outputs)
    results = []
    for buffer, detail in zip(outputs, details(model, signature)[1], strict=True):
        shape = tuple(detail["shape"])
        results.append(buffer.read(int(np.prod(shape)), np.dtype(detail["dtype"])).reshape(shape))
    return results


def _attempt(request: dict[str, Any]) -> dict[str, Any]:
    """The request's options are the delegate's where they come as QUADRA_ variables (`env`), and `cpu`, `gpu_…`."""
    reply: dict[str, Any] = {"outputs": [], "report": None, "error": ""}
    given = request["options"]
    try:
        gpu = {name.removeprefix("gpu_"): True for name in given if name.startswith("gpu_")}
        model = open_model(request["library"], request["model"], given.get("cpu", "1") == "1", gpu)
        reply["report"] = {**report(request["library"]), "fully_accelerated": model.is_fully_accelerated()}
        for feeds in request["rounds"]:
            reply["outputs"].append(invoke(model, feeds))
            reply["report"] = {**reply["report"], **report(request["library"])}
    except Exception as error:  # whatever it is, it belongs to the one who asked
        reply["error"] = told(error)
    return reply


if __name__ == "__main__":
    main(_attempt)
