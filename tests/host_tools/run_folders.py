"""Run folders for tests of the analysis: small, complete, and easy to damage."""

from pathlib import Path

import numpy as np

from host_tools.record import run_folder, spec as specs
from host_tools.record.run_folder import RunFolder

REPORT = {
    "schema_version": 1,
    "version": "0.1.0",
    "backend": "opencl",
    "backend_notes": [],
    "precision": "f32",
    "target": "host-avx512",
    "device": {"name": "a device", "vendor": "", "version": "", "driver": ""},
    "nodes": [
        {"index": 0, "op": "CONV_2D", "name": "a", "on": "gpu", "partition": 0, "reason": ""},
        {"index": 1, "op": "RELU", "name": "b", "on": "gpu", "partition": 0, "reason": ""},
        {"index": 2, "op": "ARG_MAX", "name": "c", "on": "cpu", "partition": -1, "reason": "ARG_MAX is not supported"},
    ],
    "partitions": [
        {
            "id": 0,
            "nodes": [0, 1],
            "programs": 1,
            "activation_bytes": 4096,
            "activation_bytes_lower_bound": 2048,
            "constant_bytes": 100,
            "plan_bytes": 5000,
            "timings_us": {"import": 10, "passes": 20, "plan": 30, "compile": 40, "upload": 50},
            "dispatches": [
                {"name": "000_conv2d", "kernel": "conv2d", "nodes": [0], "global": [8, 8, 1], "local": [8, 1, 1]},
                {"name": "001_relu", "kernel": "relu", "nodes": [1], "global": [64, 1, 1], "local": [64, 1, 1]},
            ],
        }
    ],
    "profile": [],
}
TIMINGS = {
    "schema_version": 1,
    "threads": 1,
    "init_us": {
        "quadra_warm": {
            "load_delegate_us": 100,
            "interpreter_us": 200,
            "allocate_us": 300,
            "first_invoke_us": 400,
            "total_us": 1000,
        },
        "xnnpack": {"interpreter_us": 200, "allocate_us": 300, "first_invoke_us": 400, "total_us": 900},
    },
    "samples_us": {"quadra": [3000, 2000, 90000], "xnnpack": [1000, 2000, 3000]},
    "memory": {"peak_rss_bytes": 2**26, "baseline_rss_bytes": 2**25},
}
PROFILE = {
    "schema_version": 1,
    "invoke_us": [500, 400, 900],
    "partitions": REPORT["partitions"],
    "invokes": [{"partition": 0, "dispatch_us": times} for times in ([100, 10], [300, 30], [200, 20])],
}
MODEL = {
    "schema_version": 1,
    "name": "a_model",
    "bytes": 10,
    "tensors": 3,
    "nodes": [
        {"index": 0, "op": "CONV_2D", "name": "a", "shape": [1, 8, 8, 4], "flops": 2_000_000},
        {"index": 1, "op": "RELU", "name": "b", "shape": [1, 8, 8, 4], "flops": 0},
    ],
}


def make(
    runs: Path, outputs=None, cpu_outputs=None, *, name="a_model", precision="f32", scale=0.0, report=REPORT, **files
) -> RunFolder:
    """A complete run folder. files: JSON files to add or replace, by their name without .json."""
    spec = specs.RunSpec(
        specs.new_run_id(name),
        specs.ModelRef(name, f"/models/{name}.tflite", "0" * 64),
        options={"backend": "opencl", "precision": precision},
    )
    folder = run_folder.start(spec, runs)
    outputs = [np.linspace(0, 1, 12, dtype=np.float32).reshape(1, 3, 4)] if outputs is None else outputs
    cpu_outputs = outputs if cpu_outputs is None else cpu_outputs
    run_folder.write_arrays(folder / "inputs", [np.zeros((1, 4, 4, 3), np.float32)])
    run_folder.write_arrays(folder / "outputs", outputs)
    run_folder.write_arrays(folder / "cpu_outputs", cpu_outputs)
    rows = [
        {"name": f"output{i}", "dtype": a.dtype.name, "shape": list(a.shape), "scale": scale, "zero_point": 0}
        for i, a in enumerate(outputs)
    ]
    inputs = [{"name": "input", "dtype": "float32", "shape": [1, 4, 4, 3], "scale": 0.0, "zero_point": 0}]
    written = {
        "tensors": {"inputs": inputs, "outputs": rows, "cpu_outputs": rows},
        "verdicts": report,
        "timings": TIMINGS,
        "reference": {"kernels": "builtin", "rewrites": []},
        "model": MODEL,
        **files,
    }
    for file, value in written.items():
        run_folder.write_json(folder / f"{file}.json", value)
    return run_folder.finish(folder, run_folder.COMPLETE, "done")
