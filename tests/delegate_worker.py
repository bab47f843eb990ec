"""Runs models with the delegate on behalf of `tests.delegate`, in a process that may crash: requests come in on
stdin and answers go out on stdout, pickled. What libraries print goes to stderr."""

from __future__ import annotations

import ctypes
import json
import os
import pickle
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from ai_edge_litert.interpreter import Delegate, Interpreter, OpResolverType, load_delegate

from tests.cpu import reference_interpreter

Attempt = Callable[[dict[str, Any]], dict[str, Any]]


def report(library: str, delegate: Delegate) -> dict[str, Any]:
    """The delegate's own account, through the C API of the same library."""
    function = ctypes.CDLL(library).QuadraDelegateReport
    function.restype = ctypes.c_size_t
    function.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
    pointer = delegate._get_native_delegate_pointer()
    size = function(pointer, None, 0)
    buffer = ctypes.create_string_buffer(size)
    function(pointer, buffer, size)
    return json.loads(buffer.value)


def open_model(
    library: str, model: bytes, options: dict[str, str], resolver: str = "BUILTIN_REF"
) -> tuple[Interpreter, Delegate]:
    delegate = load_delegate(library, options)
    if resolver == "BUILTIN_REF":
        return reference_interpreter(model, experimental_delegates=[delegate]), delegate
    interpreter = Interpreter(
        model_content=model, experimental_delegates=[delegate], experimental_op_resolver_type=OpResolverType[resolver]
    )
    return interpreter, delegate


def invoke(interpreter: Interpreter, feeds: list[np.ndarray]) -> list[np.ndarray]:
    """Outputs for `feeds`; inputs whose shape differs from the feed's are resized first."""
    for detail, feed in zip(interpreter.get_input_details(), feeds, strict=True):
        if tuple(detail["shape"]) != feed.shape:
            interpreter.resize_tensor_input(detail["index"], feed.shape)
    interpreter.allocate_tensors()
    for detail, feed in zip(interpreter.get_input_details(), feeds, strict=True):
        interpreter.set_tensor(detail["index"], feed)
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]


def answer(request: dict[str, Any], attempt: Attempt) -> dict[str, Any]:
    """What `attempt` makes of the request, in the request's environment."""
    before = {name: os.environ.get(name) for name in request["env"]}
    os.environ.update(request["env"])
    counter = ctypes.CDLL(request["counter"]) if request["counter"] else None
    if counter:
        counter.QuadraFaultsBegin()
    reply = attempt(request)  # nothing of it is left when the environment is as it was
    if counter:
        counter.QuadraFaultsReport.restype = ctypes.c_char_p
        reply["driver"] = json.loads(counter.QuadraFaultsReport())
    for name, value in before.items():
        os.environ.pop(name)
        if value is not None:
            os.environ[name] = value
    return reply


def attempt(request: dict[str, Any]) -> dict[str, Any]:
    """Loads the model and invokes it once per entry of `rounds` (None: variables become zero instead); an exception
    becomes its text."""
    reply: dict[str, Any] = {"outputs": [], "report": None, "error": ""}
    try:
        interpreter, delegate = open_model(
            request["library"], request["model"], request["options"], request["resolver"]
        )
        reply["report"] = report(request["library"], delegate)
        for feeds in request["rounds"]:
            if feeds is None:
                interpreter.reset_all_variables()
                continue
            try:
                reply["outputs"].append(invoke(interpreter, feeds))
            except Exception as error:
                if not request["counter"]:
                    raise
                reply["error"] = reply["error"] or told(error)
                reply["outputs"].append([])
            reply["report"] = report(request["library"], delegate)
    except Exception as error:  # whatever it is, it belongs to the one who asked
        reply["error"] = told(error)
    return reply


def told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def main(attempt: Attempt = attempt) -> None:
    channel = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while True:
        try:
            request = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        pickle.dump(answer(request, attempt), channel)
        channel.flush()


if __name__ == "__main__":
    main()
