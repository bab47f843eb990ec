"""Run folders for tests of the analysis: small, complete, and easy to damage."""

from pathlib import Path

import numpy as np

from host_tools.dev.fuzz import good_folder
from host_tools.record import run_folder, spec as specs
from host_tools.record.run_folder import RunFolder

_GOOD = good_folder.FILES
REPORT = {**_GOOD["verdicts.json"], "backend_notes": []}
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
    "samples_us": {"quadra": [3000, 2000, 90000], "xnnpack": [1400, 2000, 3000]},
    "memory": {"peak_rss_bytes": 2**26, "baseline_rss_bytes": 2**25},
}
PROFILE = {
    **_GOOD["profile.json"],
    "invokes": [{"partition": 0, "dispatch_us": times} for times in ([100, 10], [300, 30], [200, 20])],
}
MODEL = _GOOD["model.json"]


def make(
    runs: Path,
    outputs=None,
    cpu_outputs=None,
    *,
    name="a_model",
    precision="f32",
    scale=0.0,
    report=REPORT,
    sha256="0" * 64,
    max_error=0.0,
    **files,
) -> RunFolder:
    """A complete run folder. files: JSON files to add or replace, by their name without .json."""
    spec = specs.RunSpec(
        specs.new_run_id(name),
        specs.ModelRef(name, f"/models/{name}.tflite", sha256),
        options={"backend": "opencl", "precision": precision},
        max_error=max_error,
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
