"""One signature of a model, with the methods of an interpreter that runs the main graph.

ai-edge-litert's own SignatureRunner copies all inputs and outputs in each call, which a measured inference must not, and
reads no tensors inside the graph. So this calls what it calls: the wrapper of the C++ interpreter, with the subgraph's number.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from ai_edge_litert.interpreter import Interpreter

from host_tools.request.signatures import Entry


class OneSignature:
    """An interpreter that runs the subgraph of `entry`. Inputs and outputs come in the entry's order, under its names."""

    def __init__(self, interpreter: Interpreter, entry: Entry) -> None:
        self._interpreter, self._entry = interpreter, entry  # the wrapper lives as long as the interpreter
        self._wrapper = interpreter._interpreter

    def get_input_details(self) -> list[dict[str, Any]]:
        return [self._named(*one) for one in self._entry.inputs]

    def get_output_details(self) -> list[dict[str, Any]]:
        return [self._named(*one) for one in self._entry.outputs]

    def get_tensor_details(self) -> list[dict[str, Any]]:
        """Those of all tensors of the subgraph that have a type."""
        found = []
        for tensor in range(self._wrapper.NumTensors(self._entry.subgraph)):
            try:
                found.append(self._details(tensor))
            except ValueError:  # as the interpreter's own method does
                continue
        return found

    def resize_tensor_input(self, tensor: int, shape: Sequence[int]) -> None:
        self._wrapper.ResizeInputTensor(tensor, np.array(shape, np.int32), False, self._entry.subgraph)

    def allocate_tensors(self) -> None:
        self._wrapper.AllocateTensors(self._entry.subgraph)

    def set_tensor(self, tensor: int, array: np.ndarray) -> None:
        self._wrapper.SetTensor(tensor, array, self._entry.subgraph)

    def get_tensor(self, tensor: int) -> np.ndarray:
        found: np.ndarray = self._wrapper.GetTensor(tensor, self._entry.subgraph)
        return found

    def reset_all_variables(self) -> None:
        self._interpreter.reset_all_variables()

    def invoke(self) -> None:
        self._wrapper.Invoke(self._entry.subgraph)

    def _named(self, name: str, tensor: int) -> dict[str, Any]:
        found = self._details(tensor)
        return {**found, "name": name, "tensor": found["name"]}

    def _details(self, tensor: int) -> dict[str, Any]:
        found: dict[str, Any] = self._interpreter._get_tensor_details(tensor, self._entry.subgraph)
        return found
