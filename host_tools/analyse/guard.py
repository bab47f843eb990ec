"""A table of what phones' GPU compilers make of some models' convolutions, which must not get worse.

Figures of two versions of Mesa cannot be compared: the table names the one that it was taken with. Of OpenCL's texts it has
digests, too: where their compiler is not at hand, a text that has changed is told all the same.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path
from typing import Any

from host_tools.analyse.figures import Figures, KernelFigures
from host_tools.analyse.figures_table import API_TITLES

TABLE = Path(__file__).with_name("guarded_kernels.json")
MODELS = (
    "deeplabv3_257_mv_gpu",
    "face_detection_front",
    "pose_detection",
    "selfie_segmentation",
    "tf2_mobilenet_v2_1.0_224_ptq",
)
GPUS = {
    "gles": "adreno-740,mali-g610",
    "opencl": "adreno-740",
}  # Mali's compiler of OpenCL takes half a minute for a text
PRECISIONS = {"gles": ("f32",), "opencl": ("f32", "f16")}
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
    """All kernels of an op in a model, on a GPU. texts: their digest; empty: the table does without."""

    model: str
    gpu: str
    op: str
    slots: int  # executed in an inference
    spills: int  # instructions of their texts that put numbers into memory, or fetch them, for want of registers
    threads: int  # of the kernel that has the fewest: waves on Adreno, threads on Mali
    api: str = "gles"
    precision: str = "f32"
    texts: str = ""

    @property
    def name(self) -> str:
        how = "" if self.api == "gles" else f", {API_TITLES[self.api]} {self.precision}"
        return f"{self.model}, {self.gpu}{how}, {self.op}"

    def to_json(self) -> dict[str, Any]:
        """Without what is as usual."""
        usual = {one.name: one.default for one in fields(self) if one.default is not MISSING}
        return {name: value for name, value in asdict(self).items() if name not in usual or value != usual[name]}


@dataclass(frozen=True)
class Table:
    """mesa: the version that the figures were taken with."""

    mesa: str
    rows: tuple[Row, ...]

    def to_json(self) -> str:
        rows = ",\n".join(f"  {json.dumps(row.to_json())}" for row in self.rows)
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
            kernels = [kernel for kernel in one.kernels if _is_of(kernel.entry, names)]
            if not kernels:
                continue
            codes = [kernel.compiled for kernel in kernels]
            spills = sum(code.spills + code.fills for code in codes if code)
            threads = min(code.threads if code else 0 for code in codes)
            slots, digest = sum(k.work("slots") for k in kernels), _digest(kernels) if one.api != "gles" else ""
            rows.append(Row(model, one.gpu.name, op, slots, spills, threads, one.api, one.precision, digest))
    return rows


def _is_of(entry: str, names: Sequence[str]) -> bool:
    return entry.rpartition("_")[0] in names


def _digest(kernels: Sequence[KernelFigures]) -> str:
    return _digest_of(kernel.text for kernel in kernels)


def _digest_of(texts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(sorted(set(texts))).encode()).hexdigest()[:16]


def changed(table: Sequence[Row], model: str, gpu: str, precision: str, texts: Sequence[tuple[str, str]]) -> list[str]:
    """A sentence for each op whose OpenCL texts are not those of the table. texts: all that the model runs, with their
    kernels' names."""
    found = []
    for row in table:
        if (row.api, row.model, row.gpu, row.precision) == ("opencl", model, gpu, precision):
            digest = _digest_of(text for entry, text in texts if _is_of(entry, _OPS[row.op]))
            if digest != row.texts:
                found.append(f"{row.name}: its texts have changed")
    return found


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
