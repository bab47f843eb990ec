"""What may mend a case that a device computes wrong: each a change of its target, its options or its column, tried on the
case alone. And the target of a column: the device's own facts, with tensors kept as the column says.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from host_tools.record.case_set import BACKENDS, STORAGES, Column

# Keys of a target file that follow from the others (device/gpu_info.cc): made anew, so that a quirk changes them.
DECISIONS = (
    "storage", "image_memory", "image_row_bytes", "vector_width", "vector_registers", "enough_work_items",
    "winograd_channels", "winograd_tiles", "trips_per_second", "reads_buffers_as_images", "flat_group",
    "has_timer_queries", "compiles_at_dispatch", "flush_every", "shares_sums", "one_program", "separate_buffers",
    "whole_buffers", "shares_host_memory",
)  # fmt: skip
_STORAGE_WORDS = {"buffer": "buffer", "image": "image2d"}
_NEVER = 1 << 20


@dataclass(frozen=True)
class Mend:
    """A change. column: other words of the column; target: keys of the target; may_use_cpu: it mends, too, where nodes then
    stay on the CPU."""

    name: str
    column: Mapping[str, str] = field(default_factory=dict)
    target: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    may_use_cpu: bool = False


AGAIN = Mend("nothing: alone, it is right")
_TABLE = (
    AGAIN,
    Mend("precision f32", column={"precision": "f32"}),
    Mend("precision f32_f16", column={"precision": "f32_f16"}),
    *(Mend(f"storage {storage}", column={"storage": storage}) for storage in STORAGES),
    *(Mend(f"backend {backend}", column={"backend": backend}) for backend in BACKENDS),
    Mend("no half arithmetic", target={"supports_fp16": False}),
    Mend("groups of at most 64", target={"max_work_group_size": 64, "max_work_group": [64, 64, 64]}),
    Mend("no memory shared in a group", target={"local_memory_bytes": 0}),
    Mend("no Winograd", target={"winograd_channels": _NEVER}),
    Mend("a buffer for each tensor", target={"separate_buffers": True}),
    Mend("whole buffers instead of parts", target={"whole_buffers": True}),
    Mend("images with memory of their own", target={"image_memory": "own"}),
    Mend("storage blocks instead of images of buffers", target={"reads_buffers_as_images": False}),
    Mend("self_check", options={"self_check": "1"}, may_use_cpu=True),
)


def table(column: Column, facts: Mapping[str, Any], quirks: Sequence[str]) -> dict[str, Mend]:
    """The changes that make a difference there, by their names. quirks: symptoms that a target may switch on."""
    found = [mend for mend in _TABLE if _differs(mend, column, facts)]
    applied = facts.get("quirks", {})
    found += [Mend(f"quirk {name}", target={"quirks": {name: True}}) for name in quirks if not applied.get(name)]
    return {mend.name: mend for mend in found}


def _differs(mend: Mend, column: Column, facts: Mapping[str, Any]) -> bool:
    if mend.column:
        if replace(column, **mend.column) == column:
            return False
        return mend.column.get("precision") != "f32_f16" or column.precision == "f16"
    if "supports_fp16" in mend.target:
        return column.precision == "f16" and bool(facts.get("supports_fp16"))
    if "image_memory" in mend.target:
        return column.storage == "image" and facts.get("image_memory", "own") != "own"
    return "reads_buffers_as_images" not in mend.target or bool(facts.get("reads_buffers_as_images"))


def target(facts: Mapping[str, Any], storage: str, more: Mapping[str, Any]) -> dict[str, Any]:
    """A target file: the facts that the device's driver told, and decisions made anew. Kernels are those of a GPU also where
    a CPU stands for one."""
    kept = {key: value for key, value in facts.items() if key not in DECISIONS}
    quirks = {**kept.get("quirks", {}), **more.get("quirks", {})}
    return {**kept, "storage": _STORAGE_WORDS[storage], "vector_width": 4, **more, "quirks": quirks}
