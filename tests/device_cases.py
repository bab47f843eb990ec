"""The cases that `inv parity --on` runs on a device, written into a folder (host_tools/record/case_set.py).

A phone's compiler needs 50 to 200 ms for a kernel, so they are few: of each op the first vectors, everywhere with floats
and in turn with half; random graphs, dead lanes and models in turn.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import hypothesis
import numpy as np
from hypothesis import HealthCheck, Phase, given

from host_tools.base.errors import QuadraError
from host_tools.base.settings import ROOT
from host_tools.places import reference_model
from host_tools.record.case_set import COLUMNS, PRECISIONS, Part, Writer
from host_tools.request import models
from tests import cpu, parity, test_models
from tests.delegate import TOLERANCE
from tests.random_graphs import Graph, graphs
from tests.test_dead_lanes import CUTS, MORE, READERS, poisoned
from tests.test_random_graphs import TOLERANCES
from tests.vectors.batch import batches
from tests.vectors.case import Case

MODELS = ("mediapipe/face_detection_short_range", "iris_landmark", "hand_recrop")
SEED = 36  # of the random graphs
# Beginnings of the names of vectors that TFLite 2.16.1, which is the runtime on Android, does not load.
LEFT_OUT = ("embedding_lookup-int", "stablehlo_composite", "stablehlo_scatter")
FLOATS = [name for name, column in COLUMNS.items() if column.precision == "f32"]
HALVES = [name for name, column in COLUMNS.items() if column.precision != "f32"]
_EXACT = 1e-6  # of a graph that only moves numbers
_READERS = 8  # of a model
_Add = Callable[..., None]


def quirks() -> list[str]:
    """The symptoms that a target can switch on."""
    rows = (ROOT / "delegate_native" / "device" / "quirks.cc").read_text().split(" Quirks() {")[1]
    return re.findall(r'^\s+\{QUADRA_TEXT\("(\w+)"\),', rows, re.MULTILINE)


# Vectors


def vectors(ops: Sequence[str], quick: bool, alone: bool) -> Iterator[tuple[Case, list[str]]]:
    """Each with the columns that it runs in. Of an op the first one runs with floats in all of them, and with half in every
    third; the second one with floats in every other. The columns take turns."""
    groups: dict[tuple[str, ...], list[Case]] = {}
    for number, op in enumerate(ops):
        first, *second = [case for case in parity.cases_of(op) if not case.id.startswith(LEFT_OUT)][:2] or [None]
        if first is None:
            continue
        halves = HALVES[number % 3 :: 3] if first.half else []
        columns = FLOATS[number % 4 :: 4] + halves[: number % 2] if quick else FLOATS + halves
        groups.setdefault(tuple(columns), []).append(first)
        if second and not quick:
            groups.setdefault(tuple(FLOATS[number % 2 :: 2]), []).append(second[0])
    for columns, cases in groups.items():
        for case in cases if alone else batches(cases, key=lambda case: None):
            yield case, list(columns)


def _add_vector(add: _Add, case: Case, columns: list[str]) -> None:
    parts = [_part(one.id, "vector", one.op, len(one.expected())) for one in getattr(case, "parts", (case,))]
    add(case.model(), case.feeds(), case.expected(), parts, columns)


def _part(name: str, kind: str, op: str, outputs: int, tolerance: dict[str, float] | None = None, **more) -> Part:
    return Part(name, kind, op, outputs, tolerance or TOLERANCE, **more)


# Random graphs


def random(count: int) -> list[Graph]:
    """So many graphs without a state, always the same."""
    found: list[Graph] = []

    @hypothesis.seed(SEED)
    @hypothesis.settings(
        max_examples=count * 2, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
    )
    @given(graphs())
    def collect(graph: Graph) -> None:
        if len(graph.rounds()) == 1:
            found.append(graph)

    collect()
    return found[-count:]  # the first ones are the simplest


def _add_graph(add: _Add, graph: Graph, number: int) -> None:
    """With floats in one column, and with half in another."""
    model = graph.model.bytes()
    for half, columns in ((False, FLOATS), (True, HALVES)):
        feeds = graph.feeds(special=not half)
        expected = cpu.run(model, feeds)
        tolerance = {name: TOLERANCES[name][1] for name in PRECISIONS}
        if graph.exact:
            tolerance["f32"] = _EXACT
        least = {name: TOLERANCES[name][2] for name in PRECISIONS}
        part = _part(f"graph-{number}", "graph", "graph", len(expected), tolerance, least_range=least)
        add(model, feeds, expected, [part], [columns[number % len(columns)]])


# Dead lanes


def lanes(quick: bool) -> list[tuple[str, str, Callable, float]]:
    """Cut, name, reader and tolerance. The cuts take turns; of the other ops' readers every third."""
    cuts = list(CUTS)
    found = [(cuts[i % len(cuts)], name, read, 1e-5) for i, (name, read) in enumerate(READERS.items())]
    found += [(cuts[i % len(cuts)], name, read, 2e-5) for i, (name, read) in enumerate(list(MORE.items())[::3])]
    return found[::8] if quick else found


def _add_lanes(add: _Add, rows: Sequence[tuple[str, str, Callable, float]], column: str) -> None:
    model, x, feed = poisoned(rows[0][0])
    model.output(*[read(model, x) for _, _, read, _ in rows])
    expected = cpu.run(model.bytes(), [feed])
    parts = [_part(f"dead lanes: {cut}, {name}", "dead lanes", "", 1, {"f32": most}) for cut, name, _, most in rows]
    add(model.bytes(), [feed], expected, parts, [column])


def _all_lanes(add: _Add, quick: bool, alone: bool) -> None:
    rows = lanes(quick)
    for cut in CUTS:
        mine = [row for row in rows if row[0] == cut]
        step = 1 if alone else _READERS
        for at in range(0, len(mine), step):
            turn = at // _READERS + list(CUTS).index(cut)
            _add_lanes(add, mine[at : at + step], FLOATS[turn % len(FLOATS)])


# Models


def _add_model(add: _Add, name: str, number: int) -> str:
    """Why the model is left out; empty: it is not."""
    try:
        path = models.find(name).path
    except QuadraError as error:
        return f"{name}: {error.came_back}"
    reference = reference_model.for_cpu(path)[0]
    interpreter = test_models.open_on_cpu(reference)
    feeds = test_models.random_feeds(interpreter)
    expected = test_models.on_cpu(interpreter, feeds)
    tolerance = {"f32": max(test_models.limits(reference, feeds, expected)), "f32_f16": 1e-2, "f16": 1e-2}
    part = _part(name, "model", name, len(expected), tolerance)
    add(path.read_bytes(), feeds, expected, [part], list(COLUMNS)[number::3])
    return ""


# The process


def write(
    folder: Path,
    ops: Sequence[str],
    quick: bool,
    alone: set[str],
    only_ops: bool = False,
    names: Sequence[str] = MODELS,
) -> list[str]:
    """Writes the set; returns what was left out, and why. alone: of these cases, a model for each of them. names: of models."""
    writer = Writer(folder)

    def add(model: bytes, feeds: list, expected: list, parts: list[Part], columns: list[str]) -> None:
        if not alone or parts[0].id in alone:
            wanted = [np.asarray(array) for array in expected]
            everywhere = FLOATS if parts[0].kind == "dead lanes" else list(COLUMNS)
            if parts[0].kind == "graph":  # its inputs are others with half
                everywhere = FLOATS if columns[0] in FLOATS else HALVES
            writer.add(model, feeds, wanted, parts, everywhere if alone else columns)

    asked = [case.id for op in ops for case in parity.cases_of(op)]
    not_loaded = [name for name in LEFT_OUT if any(case.startswith(name) for case in asked)]
    seen, left_out = set(), [f"{name}: TFLite 2.16.1, Android's runtime, does not load it" for name in not_loaded]
    for case, columns in vectors(ops, quick, bool(alone)):
        if not alone or case.id in alone - seen:
            _add_vector(add, case, columns)
        seen |= {case.id} if alone else set()
    if not only_ops:
        for number, graph in enumerate(random(6 if quick else 60)):
            if not alone or f"graph-{number}" in alone:
                _add_graph(add, graph, number)
        if not alone or any(name.startswith("dead lanes") for name in alone):
            _all_lanes(add, quick, bool(alone))
        for number, name in enumerate(names[: 1 if quick else None]):
            if not alone or name in alone:
                left_out += filter(None, [_add_model(add, name, number)])
    writer.finish(quirks())
    return left_out


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--op", action="append")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--alone", type=Path, help="a JSON list of cases: a model for each of them, for every column")
    parser.add_argument("--no-models", action="store_true", help="leave out those that are files")
    told = parser.parse_args()
    known = parity.op_names()
    unknown = sorted({*(told.op or [])} - {*known})
    if unknown:
        print(json.dumps({"unknown": unknown, "known": known}))
        return
    alone = set(json.loads(told.alone.read_text())) if told.alone else set()
    names = () if told.no_models else MODELS
    left_out = write(told.folder, told.op or known, told.quick, alone, only_ops=bool(told.op), names=names)
    print(json.dumps({"left_out": left_out}))


if __name__ == "__main__":
    sys.exit(main())
