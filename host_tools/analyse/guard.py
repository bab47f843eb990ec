"""A table of what phones' GPU compilers make of some models' convolutions, which must not get worse.

Figures of two versions of Mesa cannot be compared: the table names the one that it was taken with.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from host_tools.analyse.figures import Figures

TABLE = Path(__file__).with_name("guarded_kernels.json")
MODELS = (
    "deeplabv3_257_mv_gpu",
    "face_detection_front",
    "pose_detection",
    "selfie_segmentation",
    "tf2_mobilenet_v2_1.0_224_ptq",
)
GPUS = "adreno-740,mali-g610"
# Of one convolution: none of the models has channels enough for Winograd's algorithm on an Adreno.
LAYER = "conv2d_3x3_128_channels_48x48"
_OPS = {  # with their kernels' names
    "conv2d": ("conv2d", "conv2d_split"),
    "depthwise_conv2d": ("depthwise_conv2d",),
    "winograd_source": ("winograd_source",),
    "winograd_products": ("winograd_products", "winograd_products_split"),
    "winograd_result": ("winograd_result",),
}


@dataclass(frozen=True)
class Row:
    """All kernels of an op in a model, on a GPU."""

    model: str
    gpu: str
    op: str
    slots: int  # executed in an inference
    spills: int  # instructions of their texts that put numbers into memory, or fetch them, for want of registers
    threads: int  # of the kernel that has the fewest: waves on Adreno, threads on Mali

    @property
    def name(self) -> str:
        return f"{self.model}, {self.gpu}, {self.op}"


@dataclass(frozen=True)
class Table:
    """mesa: the version that the figures were taken with."""

    mesa: str
    rows: tuple[Row, ...]

    def to_json(self) -> str:
        rows = ",\n".join(f"  {json.dumps(asdict(row))}" for row in self.rows)
        return f'{{\n "mesa": {json.dumps(self.mesa)},\n "rows": [\n{rows}\n ]\n}}\n'


def read() -> Table:
    """The committed one."""
    found = json.loads(TABLE.read_text(encoding="utf-8"))
    return Table(found["mesa"], tuple(Row(**row) for row in found["rows"]))


def rows_of(model: str, found: Iterable[Figures]) -> list[Row]:
    """Of the ops that it has. A kernel without machine code counts as no threads."""
    rows = []
    for one in found:
        for op, names in _OPS.items():
            kernels = [kernel for kernel in one.kernels if kernel.entry.rpartition("_")[0] in names]
            if not kernels:
                continue
            codes = [kernel.compiled for kernel in kernels]
            spills = sum(code.spills + code.fills for code in codes if code)
            threads = min(code.threads if code else 0 for code in codes)
            rows.append(Row(model, one.gpu.name, op, sum(k.work("slots") for k in kernels), spills, threads))
    return rows


def worse(before: Sequence[Row], now: Sequence[Row]) -> list[str]:
    """A sentence for each figure that is worse than before, and for each row that only one of the two has."""
    old, new = {row.name: row for row in before}, {row.name: row for row in now}
    found = [f"{name}: it is in one of the two only" for name in sorted(old.keys() ^ new.keys())]
    for name in sorted(old.keys() & new.keys()):
        a, b = old[name], new[name]
        if b.slots > a.slots:
            found.append(f"{name}: {b.slots / 1e6:.2f} M slots, {a.slots / 1e6:.2f} M before")
        if b.spills > a.spills:
            found.append(f"{name}: {b.spills} spills and fills, {a.spills} before")
        if b.threads < a.threads:
            found.append(f"{name}: a kernel has {b.threads} waves or threads, {a.threads} before")
    return found
