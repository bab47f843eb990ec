"""Who runs what: reads the delegate's report and says it in few words."""

import re
from collections import Counter
from dataclasses import dataclass

from host_tools.record import schema

_NAMES = re.compile(r"node \d+ \(\w+\)|'[^']*'")  # of nodes and tensors in reasons
APIS = {"opencl": "OpenCL", "gles": "OpenGL ES", "null": "no GPU", "none": "no GPU"}


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
