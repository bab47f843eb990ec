"""Every op on every backend, in every precision and storage; what `./inv parity` runs.

Prints JSON, a line each: first what will be run, then every case of every cell as it was run."""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

import tflite

from host_tools.base.settings import ROOT
from host_tools.drivers import driver_table
from tests.delegate import TOLERANCE, Quadra, WorkerDied, options
from tests.runs import BACKENDS, PRECISIONS
from tests.vectors import Case, all_cases

STORAGES = {"buffer": "mali-g76-buffers", "image": "adreno-640"}  # the targets whose kernels keep tensors so
_OPS = ROOT / "delegate_native" / "ops"
_QUICK = 2  # cases of an op


@dataclass(frozen=True)
class Cell:
    """One column of the table."""

    backend: str
    precision: str
    storage: str

    def options(self, **more: str) -> dict[str, str]:
        return options(STORAGES[self.storage], self.backend, precision=self.precision, **more)


CELLS = [Cell(*words) for words in product(BACKENDS, PRECISIONS, STORAGES)]


def op_names() -> list[str]:
    """The TFLite names of all ops of op_list.def, as their files register them, and of all elementwise ops."""
    listed = re.findall(r"^QUADRA_OP\((\w+)\)", (_OPS / "op_list.def").read_text(), re.MULTILINE)
    text = "\n".join(path.read_text() for path in sorted(_OPS.glob("**/*.cc")))
    builtins = {name.replace("_", "").lower(): name for name in vars(tflite.BuiltinOperator) if name[0] != "_"}
    names = []
    for symbol in listed:
        found = re.search(rf"^const Op {symbol} = {{(.*?)^}};", text, re.MULTILINE | re.DOTALL)
        assert found, f"{symbol} is in op_list.def and in no file of {_OPS}"
        if ".import = " not in found[1]:
            continue  # a part of other ops
        told = [builtins[word.lower()] for word in re.findall(r"kTfLiteBuiltin(\w+)", found[1])]
        told += re.findall(r'\.custom = (?:QUADRA_TEXT\()?"([\w.]+)"', found[1])
        assert told, f"{symbol} names no op of TFLite"
        names += told
    rows = (_OPS / "elementwise_list.cc").read_text().split("const Op kElementwiseOps[] = {")[1]
    names += [builtins[word.lower()] for word in re.findall(r"kTfLiteBuiltin(\w+)", rows)]
    return sorted(names)


def cases_of(op: str, most: int | None = None) -> list[Case]:
    """Cases of an op that must run on the GPU: those that fit in half first, for they serve every cell."""
    cases = [case for case in all_cases() if case.op == op and case.place == "gpu"]
    return sorted(cases, key=lambda case: not case.half)[:most]


def keeps(quadra: Quadra, cell: Cell) -> str:
    """The storage that the cell's kernels really use here: a device may have no images."""
    with tempfile.TemporaryDirectory(prefix="quadra-parity-") as folder:
        (case,) = cases_of("RELU", 1)
        quadra.run(case.model(), **cell.options(dump_dir=folder))
        texts = [path.read_text().lower() for path in Path(folder).glob("*/kernels/*")]
    return "" if not texts else "image" if any("image2d" in text for text in texts) else "buffer"


def wrong(quadra: Quadra, case: Case, cell: Cell) -> str:
    """What is wrong with the case there; empty when it ran on the GPU and is right."""
    try:
        outcome = quadra.run(case.model(), case.feeds(), **cell.options())
        outcome.check(case.expected(), TOLERANCE[cell.precision])
        return "" if outcome.report["backend"] == cell.backend else f"ran on {outcome.report['backend']}"
    except (AssertionError, WorkerDied) as problem:
        return str(problem).strip().splitlines()[0] or "an assertion failed"


def results(quadra: Quadra, ops: list[str], cells: list[Cell], most: int | None = None) -> Iterator[dict]:
    """Every case of every op in every cell that takes it."""
    usable = [cell for cell in cells if keeps(quadra, cell) == cell.storage]
    for op, cell in product(ops, usable):
        for case in cases_of(op, most):
            if cell.precision == "f32" or case.half:
                yield {"op": op, **asdict(cell), "case": case.name, "wrong": wrong(quadra, case, cell)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("library", type=Path)
    parser.add_argument("--op", action="append")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--driver", default="")
    given = parser.parse_args()
    names = op_names()
    ops = given.op or names
    unknown = sorted({*ops} - {*names})
    if unknown:
        print(json.dumps({"unknown": unknown, "known": names}))
        return
    most = _QUICK if given.quick else None
    driver = driver_table.find(given.driver) if given.driver else None
    cells = [cell for cell in CELLS if not driver or cell.backend == driver.backend]
    half = [cell.precision != "f32" for cell in cells]
    total = sum(case.half or not is_half for op in ops for case in cases_of(op, most) for is_half in half)
    print(json.dumps({"ops": ops, "cells": [asdict(cell) for cell in cells], "total": total}), flush=True)
    quadra = Quadra(given.library, driver.enter() if driver else None)
    try:
        for result in results(quadra, ops, cells, most):
            print(json.dumps(result), flush=True)
    finally:
        quadra.close()


if __name__ == "__main__":
    sys.exit(main())
