"""The CPU interpreter, the one everything is judged by."""

from __future__ import annotations

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType

# Ops whose reference kernel leaves out the window's last channel, unlike TensorFlow and the kernel that applications
# get, or is not there, which is noticed as late as the model is run.
WITHOUT_REFERENCE = {"LOCAL_RESPONSE_NORMALIZATION", "aeq.hadamard_rotation"}


def reference_interpreter(model: bytes, **given) -> Interpreter:
    """With TFLite's reference kernels, or with all of its kernels for a model with ops that have no reference
    (CEIL, ELU, ROUND), or a wrong one."""
    try:
        made = Interpreter(model_content=model, experimental_op_resolver_type=OpResolverType.BUILTIN_REF, **given)
        if WITHOUT_REFERENCE.isdisjoint(op["op_name"] for op in made._get_ops_details()):
            return made
    except ValueError as error:
        if "Didn't find op" not in str(error):
            raise
    resolver = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    return Interpreter(model_content=model, experimental_op_resolver_type=resolver, **given)


def run(model: bytes, feeds: list[np.ndarray]) -> list[np.ndarray]:
    """Outputs of TFLite's reference kernels; inputs get the shapes of the feeds."""
    return rounds(model, [feeds])[0]


def rounds(model: bytes, feeds_of_rounds: list[list[np.ndarray]]) -> list[list[np.ndarray]]:
    """The same of several runs, one after the other: variable tensors keep their numbers. Tensors share no memory: the
    interpreter lets a RESHAPE and what an LSTM and another op read of it share some that they must not."""
    interpreter, made = reference_interpreter(model, experimental_preserve_all_tensors=True), []
    for detail, feed in zip(interpreter.get_input_details(), feeds_of_rounds[0], strict=True):
        interpreter.resize_tensor_input(detail["index"], feed.shape)
    interpreter.allocate_tensors()
    for feeds in feeds_of_rounds:
        for detail, feed in zip(interpreter.get_input_details(), feeds, strict=True):
            interpreter.set_tensor(detail["index"], feed)
        interpreter.invoke()
        made.append([interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()])
    return made
