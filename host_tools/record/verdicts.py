"""Who runs what: reads the delegate's report and says it in few words."""

import re
from collections import Counter
from dataclasses import dataclass

from rich.console import Console
from rich.markup import escape

from host_tools.base.text_table import Table, number, text, word
from host_tools.base.units import counted
from host_tools.record import schema

_NAMES = re.compile(r"node \d+ \(\w+\)|'[^']*'")  # of nodes and tensors in reasons
_SHOWN = 8  # kinds of reasons, in a short account
_LONG = 160
_DIGITS = "0123456789.,-"
APIS = {"opencl": "OpenCL", "gles": "OpenGL ES", "null": "no GPU", "none": "no GPU"}
_WEIGHTS = ("DEQUANTIZE", "DENSIFY")  # of constants: they cost nothing at run time


@dataclass(frozen=True)
class OpRow:
    """All nodes of one op that share a verdict. Reasons that differ only in the names they tell count as one."""

    op: str
    count: int
    on: str  # "gpu" or "cpu"
    reason: str  # of the first of them; always set on the CPU
    nodes: tuple[int, ...]


@dataclass(frozen=True)
class Verdicts:
    """The verdicts of one model."""

    backend: str  # that ran: "opencl", "gles", "null" (plans only), or "none" where no GPU API works
    failures: tuple[tuple[str, str], ...]  # APIs that failed, wholly or in part, and the sentence
    device: str
    target: str
    precision: str
    gpu: int
    cpu: int
    partitions: int
    rows: tuple[OpRow, ...]  # CPU first, then by count

    @property
    def whole(self) -> bool:
        return self.cpu == 0 and self.partitions == 1

    def backend_sentence(self, asked: str) -> str:
        """Which backend ran, and why that one. asked: the option `backend` of the run."""
        api = APIS.get(self.backend, self.backend)
        if self.backend == "none":
            return "no GPU API works here: the CPU runs everything"
        if asked != "auto":
            return f"{api}, as asked"
        failed = [other for other, _ in self.failures]
        if api in failed:
            return f"{api}, which still takes the most nodes"
        return f"{api}, because {' and '.join(failed)} failed" if failed else f"{api}, the first choice"

    def sentence(self) -> str:
        total = self.gpu + self.cpu
        if not total:
            return "it has no nodes"
        every = f"all {total} nodes" if total > 1 else "its only node"
        if not self.gpu:
            return f"{every} stay{'s' if total == 1 else ''} on the CPU"
        parts = "one partition" if self.partitions == 1 else f"{self.partitions} partitions"
        if not self.cpu:
            return f"{every} on the GPU, in {parts}"
        return f"{self.gpu} of {total} nodes on the GPU, in {parts}; {self.cpu} on the CPU"


def cache_sentences(report: schema.Verdicts) -> list[str]:
    """What the cache of compiled models had for the partitions; nothing where it is off."""
    said = Counter(partition.cache for partition in report.partitions if partition.cache not in ("", "off"))
    return [
        f"cache of compiled models: {words}" + (f" ({count} partitions)" if count > 1 else "")
        for words, count in said.items()
    ]


def read(report: schema.Verdicts) -> Verdicts:
    """Verdicts from a report (verdicts.json)."""
    groups: dict[tuple[str, str, str], list[schema.Node]] = {}
    for node in report.nodes:
        kind = _NAMES.sub("…", node.reason or node.note)
        groups.setdefault((node.op, node.on, kind), []).append(node)
    rows = [
        OpRow(op, len(nodes), on, nodes[0].reason or nodes[0].note, tuple(node.index for node in nodes))
        for (op, on, _), nodes in groups.items()
    ]
    rows.sort(key=lambda row: (row.on != "cpu", -row.count, row.op, row.reason))
    count = Counter(node.on for node in report.nodes)
    return Verdicts(
        backend=report.backend,
        failures=tuple(map(_failure, report.backend_notes)),
        device=report.device.name,
        target=report.target,
        precision=report.precision,
        gpu=count["gpu"],
        cpu=count["cpu"],
        partitions=len(report.partitions),
        rows=tuple(rows),
    )


def _failure(note: str) -> tuple[str, str]:
    name, _, sentence = note.partition(": ")
    return APIS.get(name, name), sentence


def words(verdicts: Verdicts) -> str:
    """What the kernels were made for: f32, target host-avx512, the device's name."""
    target = verdicts.target and f"target {verdicts.target}"
    return ", ".join(filter(None, (verdicts.precision, target, verdicts.device)))


def show(verdicts: Verdicts, console: Console) -> None:
    """A row per op and verdict; what stays on the CPU comes first, with its reason."""
    table = Table([text("op"), number("nodes"), word("runs on"), text("reason", least=24)])
    for row in verdicts.rows:
        place = "[green]GPU[/]" if row.on == "gpu" else "[yellow]CPU[/]"
        note = escape(_short(row.reason)) or (
            "[dim]of constants: done once, when the model is loaded[/]" if row.op in _WEIGHTS else ""
        )
        table.add_row(escape(row.op), str(row.count), place, note)
    table.show(console)


def show_cpu_reasons(verdicts: Verdicts, console: Console) -> None:
    """Only what stays on the CPU, the most frequent first."""
    rows = [row for row in verdicts.rows if row.on == "cpu"]
    for row in rows[:_SHOWN]:
        console.print(f"  [yellow]CPU[/] {row.count} x {escape(row.op)}: {escape(_short(row.reason))}")
    if len(rows) > _SHOWN:
        more, kinds = sum(r.count for r in rows[_SHOWN:]), counted(len(rows) - _SHOWN, "other kind")
        console.print(f"  [dim]and {counted(more, 'node')} of {kinds}: see the report[/]")


def _short(reason: str) -> str:
    """Names of tensors may be long: the middle goes, and with it a number that it would cut."""
    if len(reason) <= _LONG:
        return reason
    return f"{reason[: _LONG // 2].rstrip(_DIGITS)} … {reason[-_LONG // 2 :].lstrip(_DIGITS)}"
