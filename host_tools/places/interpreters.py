"""Makes interpreters of ai-edge-litert, with and without the delegate, and asks the delegate for its report.

Only worker processes import this: native code may crash, and then the parent can still say what was being done.
"""

import ctypes
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from ai_edge_litert.interpreter import Delegate, Interpreter, OpResolverType, load_delegate

from host_tools.base.errors import Misuse, RunFailed
from host_tools.base.units import counted
from host_tools.places import reference_model
from host_tools.places.one_signature import OneSignature
from host_tools.record import reading, schema
from host_tools.request import signatures

XNNPACK = OpResolverType.AUTO  # the interpreter as it comes: its own kernels, XNNPACK on top
BUILTIN = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES


def load_quadra(library: Path, options: Mapping[str, str]) -> Delegate:
    """The delegate from libquadra.so; Misuse with its own sentence where it refuses an option."""
    try:
        return load_delegate(str(library), dict(options))
    except ValueError as error:
        sentence = str(error).split("\n", 1)[-1].strip() or "it gave no reason"
        raise Misuse(f"make the delegate with {_words(options)}", sentence, "see docs/options.md") from error
    except (OSError, AttributeError) as error:
        raise RunFailed(f"load {library}", str(error), "build it again: `./inv build`") from error


def report_of(delegate: Delegate) -> dict[str, Any]:
    """The delegate's report: verdict per node, partitions, timings (docs/run_folder.md)."""
    call = delegate._library.QuadraDelegateReport
    call.restype, call.argtypes = ctypes.c_size_t, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
    pointer = delegate._get_native_delegate_pointer()
    needed = call(pointer, None, 0)
    buffer = ctypes.create_string_buffer(needed)
    call(pointer, buffer, needed)
    return read_report(buffer.value)


def clear_states(delegate: Delegate) -> None:
    """Sets the states that the option `states` keeps on the GPU to zeros; there may be none."""
    pointer = ctypes.c_void_p(delegate._get_native_delegate_pointer())
    delegate._library.QuadraDelegateWriteState(pointer, None, None, ctypes.c_size_t(0), None)


def read_report(text: bytes) -> dict[str, Any]:
    """A report as the delegate wrote it."""
    try:
        reading.json_bytes(text, schema.Verdicts, "the delegate's report")
        return reading.json_bytes(text, dict[str, Any], "the delegate's report")
    except Misuse as error:
        raise RunFailed("read the delegate's report", error.came_back, "report this as a bug") from error


def make(
    content: bytes | Path,
    model: str,
    *,
    threads: int,
    kernels: OpResolverType = XNNPACK,
    delegate: Delegate | None = None,
    keeps: bool = False,
    signature: str = "",
) -> Interpreter | OneSignature:
    """An interpreter for a model's bytes, or its file, which it maps; a delegate takes its nodes here. RunFailed where it refuses.

    keeps: no tensor's memory serves another one, so that all can be read after a run. signature: what it runs (default: the
    main graph).
    """
    try:
        made = Interpreter(
            model_path=str(content) if isinstance(content, Path) else None,
            model_content=None if isinstance(content, Path) else content,
            num_threads=threads,
            experimental_op_resolver_type=kernels,
            experimental_delegates=[delegate] if delegate else None,
            experimental_preserve_all_tensors=keeps,
        )
        return OneSignature(made, signatures.entry(_bytes_of(content), signature)) if signature else made
    except (ValueError, RuntimeError) as error:
        content = _bytes_of(content)
        if content[4:8] != b"TFL3":
            raise Misuse(
                f"read the model {model}",
                "it is not a TFLite model",
                "give a .tflite file; a damaged one: fetch it again",
            ) from error
        raise _refused(f"make an interpreter for {model}", error, content) from error


def _bytes_of(content: bytes | Path) -> bytes:
    return content.read_bytes() if isinstance(content, Path) else content


def allocate(
    interpreter: Interpreter | OneSignature, model: str, content: bytes, arrays: Sequence[np.ndarray] = ()
) -> None:
    """Makes it ready to run, with inputs of the arrays' shapes. RunFailed where it refuses."""
    try:
        for detail, array in zip(interpreter.get_input_details(), arrays):
            if tuple(detail["shape"]) != array.shape:
                interpreter.resize_tensor_input(detail["index"], array.shape)
        interpreter.allocate_tensors()
    except (ValueError, RuntimeError) as error:
        raise _refused(f"prepare {model}", error, content) from error


def invoke(interpreter: Interpreter | OneSignature, what: str) -> None:
    try:
        interpreter.invoke()
    except (ValueError, RuntimeError) as error:
        raise RunFailed(f"run {what}", _sentence(error), "the log above has the details") from error


def set_inputs(interpreter: Interpreter | OneSignature, arrays: list[np.ndarray]) -> None:
    for detail, array in zip(interpreter.get_input_details(), arrays):
        interpreter.set_tensor(detail["index"], array)


def outputs_of(interpreter: Interpreter | OneSignature) -> list[np.ndarray]:
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]


class NoKernel(RunFailed):
    """The interpreter has no kernel for a custom op that is left to it."""

    op = ""


def _refused(tried: str, error: Exception, content: bytes) -> RunFailed:
    sentence, custom = _sentence(error), reference_model.custom_ops(content)
    named = [name for name in custom if f"custom op: {name}." in sentence]
    if not named:
        return RunFailed(tried, sentence, "see the log; `./inv support MODEL` shows what the delegate takes")
    op = max(named, key=len)
    nodes = counted(custom[op], "node")
    found = NoKernel(
        tried,
        f"the interpreter has no kernel for the custom op {op} ({nodes})",
        "`./inv support MODEL` says whether the delegate takes it, and why not",
    )
    found.op = op
    return found


def _sentence(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _words(options: Mapping[str, str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in options.items()) or "no options"
