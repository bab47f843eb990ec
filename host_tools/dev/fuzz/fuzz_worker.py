"""Runs models for host_tools/dev/fuzz/fuzz_process.py in a process that may crash or hang: requests come in on stdin, answers go
out on the descriptor that is named, pickled. What it is at, and what libraries print, goes to the log."""

import ctypes
import json
import os
import pickle
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType, load_delegate

from host_tools.dev.fuzz.fuzz_process import Answer, Request

_MOST_BYTES = 1 << 28  # total of all tensors
_NUDGE = 1e-6  # of an input: what it moves tells how far rounding may move an output


def main() -> None:
    answers = os.fdopen(int(sys.argv[1]), "wb")
    while True:
        try:
            request = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        with _environment(request.env):
            answer = run(request)
        pickle.dump(answer, answers)
        answers.flush()


def run(request: Request) -> Answer:
    """What came of a request; an exception is its text."""
    answer = Answer()
    try:
        _run(request, answer)
    except Exception as error:  # whatever it is, it belongs to the one who asked
        answer.error = f"{type(error).__name__}: {error}"
    return answer


def _run(request: Request, answer: Answer) -> None:
    _stage("make the delegate")
    delegate = load_delegate(request.library, request.options) if request.library else None
    _stage("open the model")
    interpreter = Interpreter(
        model_content=request.model,
        experimental_delegates=[delegate] if delegate else None,
        experimental_op_resolver_type=OpResolverType[request.kernels],
    )
    if delegate:
        answer.on_gpu, answer.backend, answer.cached = _report(request.library, delegate)
    for number, shape in request.resized.items():
        _stage(f"resize input {number}")
        interpreter.resize_tensor_input(interpreter.get_input_details()[number]["index"], shape)
    _stage("allocate tensors")
    interpreter.allocate_tensors()
    if _bytes(interpreter) > _MOST_BYTES:
        answer.error = "the tensors are too large to run it here"
        return
    if not request.invoke:
        return
    answer.outputs = _outputs(interpreter, _feeds(interpreter, request.seed))
    if request.twice:
        answer.nudged = _outputs(interpreter, [_nudged(feed) for feed in _feeds(interpreter, request.seed)])
        answer.again = _outputs(interpreter, _feeds(interpreter, request.seed))
    _stage("destroy them")


def _outputs(interpreter: Interpreter, feeds: list[np.ndarray]) -> list[np.ndarray]:
    for detail, feed in zip(interpreter.get_input_details(), feeds):
        interpreter.set_tensor(detail["index"], feed)
    _stage("invoke")
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]


def _feeds(interpreter: Interpreter, seed: int) -> list[np.ndarray]:
    """Random numbers; small ones where they may be sizes or indices."""
    numbers, feeds = np.random.default_rng(seed), []
    for detail in interpreter.get_input_details():
        kind, shape = np.dtype(detail["dtype"]), tuple(detail["shape"])
        if kind.kind == "f":
            feeds.append(numbers.uniform(-2, 2, shape).astype(kind))
        elif detail["quantization"][0]:
            feeds.append(numbers.integers(0, 127, shape).astype(kind))
        else:
            feeds.append(numbers.integers(0, 4, shape).astype(kind))
    return feeds


def _nudged(feed: np.ndarray) -> np.ndarray:
    return feed * feed.dtype.type(1 + _NUDGE) if feed.dtype == np.float32 else feed


def _bytes(interpreter: Interpreter) -> int:
    details = [*interpreter.get_input_details(), *interpreter.get_output_details(), *_inner(interpreter)]
    return sum(8 * int(np.prod(np.maximum(detail["shape"], 0), dtype=np.float64)) for detail in details)


def _inner(interpreter: Interpreter) -> list[dict[str, Any]]:
    try:
        details: list[dict[str, Any]] = interpreter.get_tensor_details()
        return details
    except Exception:  # a type that Python has no name for
        return []


def _report(library: str, delegate: Any) -> tuple[int, str, list[str]]:
    """(nodes on the GPU, backend, the cache's words for each partition), by the C API of the same library."""
    function = ctypes.CDLL(library).QuadraDelegateReport
    function.restype, function.argtypes = ctypes.c_size_t, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
    pointer = delegate._get_native_delegate_pointer()
    size = function(pointer, None, 0)
    text = ctypes.create_string_buffer(size)
    function(pointer, text, size)
    report = json.loads(text.value.decode("utf-8", "replace"))
    cached = [partition.get("cache", "") for partition in report.get("partitions", [])]
    return sum(node["on"] == "gpu" for node in report["nodes"]), report["backend"], cached


@contextmanager
def _environment(given: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    yield
    for name, value in before.items():
        os.environ.pop(name)
        if value is not None:
            os.environ[name] = value


def _stage(text: str) -> None:
    print(f"stage: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
