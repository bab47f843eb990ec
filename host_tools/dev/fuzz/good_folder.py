"""A run folder in which nothing is damaged and nothing is left out: what damage begins with."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from host_tools.base import child_process
from host_tools.record import plan_view

RUN_ID = "20260101-000000-000-a_model"
_RESERVED = ".good"
_DIGEST = "0" * 64
_LAPS = {"load_delegate_us": 100, "interpreter_us": 200, "allocate_us": 300, "first_invoke_us": 400, "total_us": 1000, "cpu_us": 900,
         "first_invoke_cpu_us": 300,
         "starts_ns": {"load_delegate_us": 1000, "interpreter_us": 101000, "allocate_us": 301000, "first_invoke_us": 601000}}  # fmt: skip
_MEMORY = {"peak_rss_bytes": 1 << 26, "baseline_rss_bytes": 1 << 25}
_PARTITIONS = [
    {
        "id": 0,
        "subgraph": 0,
        "nodes": [0, 1],
        "programs": 1,
        "activation_bytes": 4096,
        "activation_bytes_lower_bound": 2048,
        "constant_bytes": 100,
        "plan_bytes": 5000,
        "timings_us": {
            "import": 10,
            "passes": 20,
            "plan": 30,
            "compile": 40,
            "upload": 50,
            "first_launch": 60,
            "tune": 0,
            "check": 0,
        },
        "spans": [
            {"name": "import", "start_ns": 301000, "end_ns": 311000},
            {"name": "compile", "start_ns": 350000, "end_ns": 390000},
        ],
        "dispatches": [
            {"name": "000_conv2d", "kernel": "conv2d", "nodes": [0], "global": [8, 8, 1], "local": [8, 1, 1]},
            {"name": "001_relu", "kernel": "relu", "nodes": [1], "global": [64, 1, 1], "local": [64, 1, 1]},
        ],
    }
]
_ROW = {"name": "out", "dtype": "float32", "shape": [1, 8, 8, 2], "scale": 0.0, "zero_point": 0}
_GROUPS = ("outputs", "cpu_outputs", "xnnpack_outputs", "shipped_opencl_outputs")


def _profiled(at_ns: int, times_us: Sequence[float]) -> dict[str, Any]:
    """An inference of two dispatches that begins then; the second begins 3 us after the first's end."""
    first, second = (round(us * 1000) for us in times_us)
    rows = [[0, 1000, 2000, 2000 + first], [500, 2000, 5000 + first, 5000 + first + second]]
    marks = [at_ns + us * 1000 for us in (10, 20, 25, 370, 380)]
    return {"partition": 0, "dispatch_us": times_us, "at_ns": marks, "dispatch_ns": rows}


FILES: dict[str, Any] = {
    "spec.json": {
        "schema_version": 1,
        "run_id": RUN_ID,
        "place": "device",
        "device": "fuzz:1",
        "route": "app",
        "model": {"name": "a_model", "path": "/models/a_model.tflite", "sha256": _DIGEST},
        "inputs": {"kind": "random", "seed": 1, "value_range": [-1.0, 1.0], "picture": "", "picture_sha256": ""},
        "options": {"backend": "opencl", "precision": "f32"},
        "repetitions": 3,
        "threads": 1,
        "peers": ["xnnpack", "shipped-opencl"],
        "profile": True,
        "cold": True,
        "deadline_s": 300.0,
    },
    "status.json": {"schema_version": 1, "state": "complete", "stage": "done"},
    "verdicts.json": {
        "schema_version": 1,
        "version": "0.1.0",
        "made_by": "a compiler",
        "backend": "opencl",
        "backend_notes": ["gles: there is none"],
        "precision": "f32",
        "target": "host-avx512",
        "device": {"name": "a device", "vendor": "v", "version": "1", "driver": "2", "target": {"api": "opencl"}},
        "dispatch_times_by": "timers",
        "nodes": [
            {"subgraph": 0, "index": 0, "op": "CONV_2D", "name": "a", "on": "gpu", "partition": 0, "reason": ""},
            {"subgraph": 0, "index": 1, "op": "RELU", "name": "b", "on": "gpu", "partition": 0, "reason": ""},
            {"subgraph": 0, "index": 2, "op": "ARG_MAX", "name": "c", "on": "cpu", "partition": -1, "reason": "ARG_MAX is not supported"},
        ],
        "partitions": _PARTITIONS,
        "profile": [],
    },
    "model.json": {
        "schema_version": 1,
        "name": "a_model",
        "bytes": 10,
        "tensors": 3,
        "nodes": [
            {"index": 0, "op": "CONV_2D", "name": "a", "shape": [1, 8, 8, 4], "flops": 2000000},
            {"index": 1, "op": "RELU", "name": "b", "shape": [1, 8, 8, 4], "flops": 0},
        ],
    },
    "tensors.json": {"inputs": [{**_ROW, "name": "in", "shape": [1, 8, 8, 3]}], **{group: [_ROW] for group in _GROUPS}},
    "reference.json": {"kernels": "builtin", "rewrites": ["1 x A given to the CPU as B"], "last_bit_moves": [1e-7]},
    "timings.json": {
        "schema_version": 1,
        "threads": 1,
        "init_us": {"quadra_warm": _LAPS, "quadra_cold": _LAPS, "xnnpack": _LAPS, "shipped_opencl": _LAPS, "shipped_opencl_cold": _LAPS},
        "samples_us": {"quadra": [3000, 2000, 9000], "xnnpack": [1000, 2000, 3000], "shipped_opencl": [4, 5, 6]},
        "cpu_us": {"quadra": [3000, 2000, 9000], "xnnpack": [1000, 2000, 3000], "shipped_opencl": [4, 5, 6]},
        "starts_ns": {"quadra": [2000000, 6000000, 10000000], "xnnpack": [5000000, 8000000, 19000000]},
        "driver_compiled": 2,
        "memory": _MEMORY,
        "cold_memory": _MEMORY,
        "shipped_opencl_cold_memory": _MEMORY,
    },
    "profile.json": {
        "schema_version": 1,
        "dispatch_times_by": "timers",
        "invoke_us": [500, 400, 900],
        "invoke_starts_ns": [30000000, 31000000, 32000000],
        "start": _LAPS,
        "partitions": _PARTITIONS,
        "invokes": [_profiled(at, times) for at, times in ((30000000, [100.5, 10]), (31000000, [300, 30]), (32000000, [200, 20]))],
    },
    "environment.json": {
        "schema_version": 1,
        "time": "2026-01-01T00:00:00Z",
        "cpu": "zuma",
        "cpus": 9,
        "load_average": [0.1, 0.2, 0.3],
        "system": "Android 14 (API 34)",
        "python": "3.11.2",
        "packages": {"tensorflow-lite": "2.16.1", "numpy": "2.4.6"},
        "library": {"path": "/libquadra.so", "bytes": 1000, "sha256": _DIGEST},
        "host": {"cpu": "a CPU", "cpus": 2, "load_average": [0.1, 0.2, 0.3], "system": "Linux"},
        "device": {"serial": "fuzz:1", "virtual": True, "manufacturer": "Google", "model": "Pixel 8", "soc": "Tensor G3", "release": "14",
                   "sdk": "34", "abis": ["arm64-v8a"], "page_bytes": 4096, "kernel": "6.1"},
        "thermal": {
            "before": "none",
            "after": "light",
            "throttled": False,
            "waited_s": 1.5,
            "readings": [
                {"time_s": 1.7, "stage": "measure", "status": "none", "temperatures": {"skin": 31.0}, "battery_percent": 87}
            ],
        },
        "opencl_devices": [{"name": "Mali-G715", "vendor": "ARM", "version": "OpenCL 3.0", "driver": "3.0"}],
        "gles_devices": [{"error": "no display"}],
        "driver": "angle",
        "driver_source": "a package",
        "driver_settings": {"POCL_DEVICES": "basic"},
        "route": "app",
        "device_events": [{"step": "pull", "error": "DeviceLost", "text": "it went away", "time_s": 1.0}],
    },
    "peers.json": {
        "schema_version": 1,
        "peers": [
            {"name": "xnnpack", "error": "", "nodes": None, "nodes_taken": None, "partitions": None, "relative": [1e-7], "ok": True},
            {"name": "shipped-opencl", "error": "", "nodes": 3, "nodes_taken": 3, "partitions": 1, "relative": ["inf"], "ok": False},
        ],
    },
    "compare.json": {
        "schema_version": 1,
        "ok": True,
        "reference": "builtin",
        "outputs": [],
        "xnnpack_relative": [0.0],
    },
    "target.json": {"api": "opencl", "name": "a_phone"},
}  # fmt: skip
_PLAN = {
    "version": 1,
    "api": "opencl",
    "target": "host",
    "device": "a device",
    "precision": "f32",
    "buffers": [{"kind": "Arena", "bytes": 4096}, {"kind": "Constant", "bytes": 3, "data": [1, 2, 3]}],
    "regions": [{"buffer": 1, "offset": 0, "bytes": 16}],
    "tensors": [
        {"name": "t", "shape": [1, 2, 3, 4], "buffer": 0, "offset": 64, "bytes": 96, "first_use": 0, "last_use": 1}
    ],
    "programs": [{"prelude": "p", "kernels": [{"entry": "k0_add", "name": "add", "source": "s"}]}],
    "dispatches": [
        {
            "name": "000_add",
            "kernel": "add",
            "entry": "k0_add",
            "global": [8, 4, 1],
            "local": [8, 1, 1],
            "nodes": [0],
            "args": [
                {"kind": "Buffer", "written": False, "view": "Memory", "index": 0, "int_value": 0, "float_value": 0.0}
            ],
        }
    ],
    "activation_bytes": 1000,
}
_OTHERS = ("log.txt", "picture.png", "partition_0/plan.quadra", "partition_0/kernels/000_add.cl", "inputs/000.npy")


def names() -> list[str]:
    """Its files, inside the folder."""
    return [*FILES, *_OTHERS, *(f"{group}/000.npy" for group in _GROUPS)]


def copy(workdir: Path, runs: Path) -> Path:
    """A run folder of its own in `runs`. The good one is made once in workdir."""
    good = workdir / _RESERVED
    if not good.exists():
        fresh = good.with_name(f"{_RESERVED}-new")
        shutil.rmtree(fresh, ignore_errors=True)
        _make(fresh)
        fresh.rename(good)
    shutil.copytree(good, runs / RUN_ID)
    return runs / RUN_ID


def _make(folder: Path) -> None:
    (folder / "partition_0" / "kernels").mkdir(parents=True)
    for name, value in FILES.items():
        (folder / name).write_text(json.dumps(value), encoding="utf-8")
    values = np.linspace(0, 1, 128, dtype=np.float32).reshape(1, 8, 8, 2)
    for group in ("inputs", *_GROUPS):
        (folder / group).mkdir()
        np.save(folder / group / "000.npy", np.zeros((1, 8, 8, 3), np.float32) if group == "inputs" else values)
    (folder / "log.txt").write_text(
        "stage: start shipped-opencl\nReplacing 3 out of 3 node(s) with delegate (X) node, yielding 1 partition\n"
    )
    Image.new("RGB", (32, 24), (200, 30, 30)).save(folder / "picture.png")
    (folder / "partition_0" / "kernels" / "000_add.cl").write_text("kernel void f() {}\n")
    (folder / "partition_0" / plan_view.FILE).write_bytes(plan_bytes(_PLAN, folder / "flatc"))


def plan_bytes(plan: dict[str, Any], work: Path) -> bytes:
    """A plan as flatc writes it: no code of ours that could have the reader's own mistakes. `work` is made, and goes."""
    work.mkdir()
    (work / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    # flatc takes no alignment over 32 from JSON; readers do not look at it.
    (work / "plan.fbs").write_text(
        plan_view.SCHEMA.with_suffix(".fbs").read_text(encoding="utf-8").replace("force_align: 64", "force_align: 32")
    )
    child_process.run(["flatc", "--binary", "-o", work, work / "plan.fbs", work / "plan.json"], timeout_s=60)
    made = next(path for path in work.iterdir() if path.suffix not in (".json", ".fbs")).read_bytes()
    shutil.rmtree(work)
    return made
