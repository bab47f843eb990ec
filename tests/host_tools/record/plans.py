"""Small plans for tests, as nested dicts; `write` makes a file of one, by flatc."""

import copy
import shutil
from pathlib import Path

import pytest

from host_tools.tasks.fuzz import good_folder

PRELUDE = "// a prelude\n"
ADD = """__kernel void add_1(__global const float4* a, __global float4* out, int n, float by) {
  int i = get_global_id(0);
  if (i < n) out[i] = a[i] + by;
}
"""
PACK = """__kernel void pack_1(__global const float* a, __global float4* out, int n) {
  int i = get_global_id(0);
  if (i < n) out[i] = (float4)(a[3 * i], a[3 * i + 1], a[3 * i + 2], 0.0f);
}
"""
UNPACK = """__kernel void unpack_1(__global const float4* a, __global float* out, int n) {
  int i = get_global_id(0);
  if (i < n) { out[3 * i] = a[i].x; out[3 * i + 1] = a[i].y; out[3 * i + 2] = a[i].z; }
}
"""


def arg(kind, index=0, int_value=0, float_value=0.0, written=False):
    return {
        "kind": kind,
        "written": written,
        "view": "Memory",
        "index": index,
        "int_value": int_value,
        "float_value": float_value,
    }


def dispatch(number, kernel, source, target, *numbers, nodes=()):
    args = [arg("Buffer", source), arg("Buffer", target, written=True), *numbers]
    entry = f"{kernel}_1"
    program = {"pack": 0, "add": 1, "unpack": 2}[kernel]
    return {
        "name": f"{number:03d}_{kernel}",
        "kernel": kernel,
        "program": program,
        "entry": entry,
        "global": [8, 1, 1],
        "local": [8, 1, 1],
        "nodes": list(nodes),
        "args": args,
    }


def tensor(name, buffer, offset, size, first, last, dense=False, shape=(1, 2, 3, 3)):
    return {
        "name": name, "shape": list(shape), "buffer": buffer, "offset": offset, "bytes": size, "cell": "Float",
        "dense": dense, "first_use": first, "last_use": last,
    }  # fmt: skip


def program(name, source):
    return {"prelude": PRELUDE, "kernels": [{"entry": f"{name}_1", "name": name, "source": source}], "options": ""}


_SIX, _BY_ONE, _BY_TWO = arg("Int", int_value=6), arg("Float", float_value=1.0), arg("Float", float_value=2.0)
# x, 2×3 pixels of 3 channels, + 1 + 2; y lies where x lay.
PLAN = {
    "version": 1,
    "quadra": "0.1.0",
    "api": "opencl",
    "target": "small",
    "device": "",
    "precision": "f32",
    "buffers": [
        {"kind": "Arena", "bytes": 384},
        {"kind": "Io", "bytes": 72},
        {"kind": "Io", "bytes": 72},
    ],
    "regions": [
        {"buffer": 1, "offset": 0, "bytes": 72},
        {"buffer": 0, "offset": 0, "bytes": 96},
        {"buffer": 0, "offset": 128, "bytes": 96},
        {"buffer": 2, "offset": 0, "bytes": 72},
    ],
    "tensors": [
        tensor("x", 0, 0, 96, 0, 1),
        tensor("middle", 0, 128, 96, 1, 2),
        tensor("y", 0, 0, 96, 2, 3),
        tensor("input_0", 1, 0, 72, 0, 0, dense=True),
        tensor("output_0", 2, 0, 72, 3, 3, dense=True),
        tensor("unused", -1, 0, 0, -1, -1),
    ],
    "programs": [program("pack", PACK), program("add", ADD), program("unpack", UNPACK)],
    "dispatches": [
        dispatch(0, "pack", 0, 1, _SIX),
        dispatch(1, "add", 1, 2, _SIX, _BY_ONE, nodes=[0]),
        dispatch(2, "add", 2, 1, _SIX, _BY_TWO, nodes=[1]),
        dispatch(3, "unpack", 1, 3, _SIX),
    ],
    "inputs": [{"tensor": 3, "shape": [1, 2, 3, 3]}],
    "outputs": [{"tensor": 4, "shape": [1, 2, 3, 3]}],
    "activation_bytes": 384,
    "activation_bytes_lower_bound": 192,
}


def changed(**parts):
    """A copy of PLAN; parts: `dispatches__1__global=[16, 1, 1]` replaces what lies there."""
    made = copy.deepcopy(PLAN)
    for path, value in parts.items():
        *steps, last = [int(step) if step.isdigit() else step for step in path.split("__")]
        at = made
        for step in steps:
            at = at[step]
        at[last] = value
    return made


def write(plan: dict, path: Path) -> Path:
    if not shutil.which("flatc"):
        pytest.skip("flatc is not installed")
    path.write_bytes(good_folder.plan_bytes(plan, path.with_suffix(".flatc")))
    return path
