"""What differs between two runs: verdicts, plans, outputs, times.

Times are compared by the test of regression runs (regression/statistic.py), on the inferences of each run. There a unit is
a launch; here each side is one launch, whose inferences are not independent, so an interval is too narrow for what another
launch would show. What is measured once in a launch, as a start, has too few samples for any statement.
"""

import math
import statistics
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path

import numpy as np

from host_tools.base.errors import Misuse
from host_tools.judge import plan_diff
from host_tools.judge.compare import OutputError
from host_tools.judge.judged import Judged
from host_tools.judge.plan_diff import Line, PlanDiff
from host_tools.judge.regression import cell_verdicts, launch, metrics, statistic
from host_tools.judge.regression.launch import Launch
from host_tools.record import named_plans, plan_view, schema, verdicts
from host_tools.record.printed import Change, DiffDocument, NodeChange, OutputPair, PlanChange, TimeChange
from host_tools.record.run_folder import RunFolder
from host_tools.record.spec import RunSpec

MOST_SAMPLES = 60  # of a side: the exact test of more takes long, and adds nothing
_LEAST_P = 0.05  # where samples that do not overlap at all could be chance, there are too few of them


def diff(a: Judged, b: Judged) -> DiffDocument:
    """B relative to A. Misuse: they are runs of different models."""
    specs = [side.folder.spec() for side in (a, b)]
    if len({spec.label for spec in specs}) == len({(spec.model.sha256, spec.signature) for spec in specs}) == 2:
        came_back = f"A ran {specs[0].label}, B {specs[1].label}"
        raise Misuse("compare two runs", came_back, "give two runs of one model")
    (launch_a, conditions_a), (launch_b, conditions_b) = launch.of_run(0, 0.0, a), launch.of_run(1, 0.0, b)
    reports = [side.folder.read(schema.Verdicts) for side in (a, b)]
    plans, note = _plans(a.folder, b.folder)
    nodes, outputs = list(_nodes(*reports)), list(_outputs(a, b))
    shapes = len({(report.backend, len(report.partitions)) for report in reports})
    return DiffDocument(
        a=str(a.folder.path),
        b=str(b.folder.path),
        conditions=_conditions(
            launch_a, launch_b, {**cell_verdicts.differences(conditions_a, conditions_b), **_limits(*specs)}
        ),
        differ=bool(shapes > 1 or nodes or plans or any(not pair.same_bits for pair in outputs)),
        same_delegate=launch.library_of(a.folder) == launch.library_of(b.folder),
        verdicts=[_sentence(report) for report in reports],
        nodes=nodes,
        outputs=outputs,
        plans=plans,
        plan_note=note,
        times=list(_times(launch_a, launch_b, max(conditions_a["threads"], conditions_b["threads"]))),
    )


def _conditions(a: Launch, b: Launch, found: dict[str, tuple[str, str]]) -> str:
    """What was not alike. A driver that compiled at one start alone makes that a cold one."""
    compiled = [int(side.samples.get("driver_compiled", [0])[0]) for side in (a, b)]
    if bool(compiled[0]) != bool(compiled[1]):
        found = {**found, "kernels that the driver compiled": (str(compiled[0]), str(compiled[1]))}
    return "; ".join(f"{name}: {said[0]} in A, {said[1]} in B" for name, said in found.items())


def _limits(a: RunSpec, b: RunSpec) -> dict[str, tuple[str, str]]:
    """How far outputs may be off, where that is not alike: the same bits may be right in one and wrong in the other."""
    said = [
        ", ".join([*([f"{one.max_error:g} of the range"] if one.max_error else []), *(
            f"{name or 'others'} {absolute:g} + {relative:g} of each number"
            for name, (absolute, relative) in one.tolerances.items()
        )]) or "the usual"
        for one in (a, b)
    ]  # fmt: skip
    return {"tolerance": (said[0], said[1])} if said[0] != said[1] else {}


def _sentence(report: schema.Verdicts) -> str:
    found = verdicts.read(report)
    return f"{verdicts.APIS.get(found.backend, found.backend)}: {found.sentence()}"


def _nodes(a: schema.Verdicts, b: schema.Verdicts) -> Iterator[NodeChange]:
    sides = [{(n.subgraph, n.index): n for n in report.nodes} for report in (a, b)]
    for key in sorted({*sides[0], *sides[1]}):
        nodes = [side.get(key) for side in sides]
        said = [_verdict(node) for node in nodes]
        if said[0] != said[1]:
            op = next(node.op for node in nodes if node)
            yield NodeChange(node=f"{key[0]}:{key[1]}", op=op, a=said[0], b=said[1])


def _verdict(node: schema.Node | None) -> str:
    if node is None:
        return ""
    return "GPU" if node.on == "gpu" else f"CPU: {node.reason}"


def _outputs(a: Judged, b: Judged) -> Iterator[OutputPair]:
    sides = [_rows(side) for side in (a, b)]
    arrays = [side.folder.arrays("outputs") if side.folder.has("outputs") else [] for side in (a, b)]
    names = [tensor.name for tensor in (a if arrays[0] else b).folder.tensors("outputs")]
    for index, (name, left, right) in enumerate(zip_longest(names, *arrays)):
        rows = [side.get(index) for side in sides]
        same = left is not None and right is not None and _same_bits(left, right)
        errors = [schema.number(row.relative) if row else None for row in rows]
        yield OutputPair(
            name=name or "", a=errors[0], b=errors[1], same_bits=same,
            a_right=rows[0].ok if rows[0] else None, b_right=rows[1].ok if rows[1] else None,
        )  # fmt: skip


def _rows(side: Judged) -> dict[int, OutputError]:
    return {row.index: row for row in side.comparison.outputs} if side.comparison else {}


def _same_bits(left: np.ndarray, right: np.ndarray) -> bool:
    return left.dtype == right.dtype and left.shape == right.shape and left.tobytes() == right.tobytes()


def _plans(a: RunFolder, b: RunFolder) -> tuple[list[PlanChange], str]:
    """Those that differ; and what was not compared."""
    sides = [[p / plan_view.FILE for p in run.partitions() if (p / plan_view.FILE).exists()] for run in (a, b)]
    found = [_plan(number, *pair) for number, pair in enumerate(zip(*sides))]
    counts = [len(side) for side in sides]
    note = f"A kept {counts[0]}, B {counts[1]}: the first {min(counts)} are compared" if counts[0] != counts[1] else ""
    return [change for change in found if change], note


def _plan(number: int, a: Path, b: Path) -> PlanChange | None:
    found: PlanDiff = plan_diff.compare(named_plans.of_file(a).checked(), named_plans.of_file(b).checked())
    if found.equal:
        return None
    kernels = [Change(what=kernel.name, a=kernel.a, b=kernel.b) for kernel in found.kernels]
    return PlanChange(
        partition=number, same_kernels=found.same_kernels, kernels=kernels, words=_changes(found.words),
        memory=_changes(found.memory), dispatches=_changes(found.dispatches), tensors=_changes(found.tensors),
    )  # fmt: skip


def _changes(lines: Sequence[Line]) -> list[Change]:
    return [Change(what=line.what, a=line.a, b=line.b) for line in lines]


def _times(a: Launch, b: Launch, threads: int) -> Iterator[TimeChange]:
    """Starts, the first inference, inferences by the measure that regression runs take, too, and XNNPACK's as a control."""
    for what, name in (
        ("cold start", "start.quadra_cold.total_us"),
        ("start", "start.quadra_warm.total_us"),
        ("first inference", "start.quadra_warm.first_invoke_us"),
        ("inference", "quadra.wall_us"),
    ):
        yield from _time(what, "us", a.samples.get(name, []), b.samples.get(name, []))
    measure = metrics.measure_of("auto", threads, [a], [b])
    if measure != "wall":
        series = [_inferences(side, measure) for side in (a, b)]
        yield from _time("inference", metrics.unit_of(measure), *series)
    yield from _time(
        "XNNPACK's inference", "us", a.samples.get("xnnpack.wall_us", []), b.samples.get("xnnpack.wall_us", [])
    )


def _inferences(side: Launch, measure: str) -> list[float]:
    """By the measure's clock; as a ratio, each to XNNPACK's median."""
    word = "cpu_us" if "processor" in measure else "wall_us"
    values = side.samples.get(f"quadra.{word}", [])
    peer = statistics.median(side.samples[f"{metrics.PEER}.{word}"]) if measure.endswith("ratio") else 1.0
    return [value / max(peer, 1.0) for value in values]


def _time(what: str, unit: str, a: Sequence[float], b: Sequence[float]) -> Iterator[TimeChange]:
    if not a or not b or min(*a, *b) <= 0:
        return
    row = TimeChange(
        what=what, unit=unit, a=statistics.median(a), b=statistics.median(b), a_samples=len(a), b_samples=len(b)
    )
    # An odd step: who runs first changes from one inference to the next.
    few = [values[:: math.ceil(len(values) / MOST_SAMPLES) | 1] for values in (a, b)]
    if statistic.least_p(len(few[0]), len(few[1])) < _LEAST_P:
        shift = statistic.shift(*few)
        row.p = shift.p
        row.percent, row.low_percent, row.high_percent = (
            100 * math.expm1(value) for value in (shift.effect, shift.low, shift.high)
        )
    yield row
