"""Which ops of which types run on the GPU, as files for other tools: docs/support/*.json, in the format of
edge-compat's matrix (PyPI edge-compat, schema 1.0), which has one file for each backend. What they say is what
test_vectors.py and test_quantized.py run: `python -m tests.support_matrix` writes the files, and test_support_matrix.py
compares them.
"""

from __future__ import annotations

import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from importlib import metadata
from typing import Any

import tflite
from ai_edge_litert.interpreter import Interpreter

from host_tools.base.settings import ROOT
from tests import parity
from tests.quantized import BUILDERS, KINDS, model
from tests.runs import BACKENDS
from tests.vectors import all_cases

FOLDER = ROOT / "docs" / "support"
_OPS = {value: name for name, value in vars(tflite.BuiltinOperator).items() if name[0] != "_"}
_TYPES = {value: name.lower() for name, value in vars(tflite.TensorType).items() if name[0] != "_"}
_KNOWN = (
    *("float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "int4"),
    *("uint64", "uint32", "uint16", "uint8", "bool", "complex64"),
)  # of the format, less strings
_ONLY = {
    "STABLEHLO_COMPOSITE": "composites whose decomposition runs on the GPU, or that are computed by their names",
    "IF": "branches that have little to do: both are computed",
    "WHILE": "loops over the steps of a recurrent layer, as Keras's LSTM, GRU and SimpleRNN have them",
}


def nodes(raw: bytes) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Of the main graph of a model: the op and the types of what it makes, none where it makes no numbers. Custom ops
    have no name in the format."""
    read = tflite.Model.GetRootAs(raw, 0)
    graph = read.Subgraphs(0)
    for i in range(graph.OperatorsLength()):
        node = graph.Operators(i)
        code = read.OperatorCodes(node.OpcodeIndex())
        op = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
        made = [node.Outputs(j) for j in range(node.OutputsLength())]
        types = {_TYPES[graph.Tensors(tensor).Type()] for tensor in made if tensor >= 0} - {"resource"}
        if op != tflite.BuiltinOperator.CUSTOM and types <= {*_KNOWN}:
            yield _OPS[op], tuple(sorted(types))


def runs() -> Iterator[tuple[str, bytes, str]]:
    """Each model that is tested on both backends: its test, the model, and why the op of the test stays on the CPU."""
    for case in all_cases():
        for part in getattr(case, "parts", (case,)):
            if part.place != "any":
                yield f"tests/vectors: {part.id}", part.model(), part.reason if part.place == "cpu" else ""
    for name in BUILDERS:
        for kind in KINDS:
            raw = model(name, kind)
            if _the_interpreter_runs(raw):
                yield f"tests/quantized.py: {name} {kind.dtype}", raw, ""


def _the_interpreter_runs(raw: bytes) -> bool:
    """What it refuses, test_quantized.py skips."""
    try:
        interpreter = Interpreter(model_content=raw)
        interpreter.allocate_tensors()
        interpreter.invoke()
    except (RuntimeError, ValueError):
        return False
    return True


def entries() -> list[dict[str, Any]]:
    """Without dates. partial: of some shapes or attributes, with the reasons of those that stay on the CPU."""
    good: dict[tuple[str, tuple[str, ...]], str] = {}
    left: dict[tuple[str, tuple[str, ...]], set[str]] = defaultdict(set)
    names = {*parity.op_names(), *_ONLY}
    for test, raw, reason in runs():
        for key in nodes(raw):
            if reason and key[0] in test.upper().replace("-", "_"):
                left[key].add(reason)
                good.setdefault(key, "")
            elif not reason and key[0] in names:
                good[key] = good.get(key) or test
    found = []
    for (op, types), test in sorted(good.items()):
        reasons = [
            *([_ONLY[op]] if op in _ONLY else []),
            *(f"on the CPU where its verdict says: {one}" for one in sorted(left[op, types])),
        ]
        status = "fallback" if not test else "partial" if reasons else "delegated"
        entry: dict[str, Any] = {"op": op, "status": status, "provenance": "measured"}
        if types:
            entry["dtypes"] = list(types)
        if reasons:
            entry["conditions"] = "; ".join(reasons)
        found.append({**entry, "evidence": {"source_model": test or f"tests/vectors: {op.lower()}"}})
    return found


def document(backend: str, day: str, found: list[dict[str, Any]]) -> dict[str, Any]:
    runtime = metadata.version("ai-edge-litert")
    dated = [{**one, "evidence": {**one["evidence"], "litert_version": runtime, "date": day}} for one in found]
    head = {"schema_version": "1.0", "litert_version": runtime, "backend": f"quadra_{backend}", "generated_at": day}
    return {**head, "entries": dated}


def without_dates(read: dict[str, Any]) -> dict[str, Any]:
    kept = [{**one, "evidence": {**one["evidence"], "date": ""}} for one in read["entries"]]
    return {**read, "generated_at": "", "entries": kept}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    day, found = time.strftime("%Y-%m-%d", time.gmtime()), entries()
    for backend in BACKENDS:
        text = json.dumps(document(backend, day, found), indent=1, sort_keys=True)
        (FOLDER / f"quadra_{backend}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
