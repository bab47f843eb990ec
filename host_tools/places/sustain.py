"""A sustained run: what the hardware keeps up when it works without a pause. sustained.json has it in windows."""

import statistics
import time
from typing import TYPE_CHECKING, Any

from host_tools.places.model_worker import Worker, stage
from host_tools.record import run_folder, schema, sustained

if TYPE_CHECKING:
    from ai_edge_litert.interpreter import Interpreter


def sustain(worker: Worker, interpreter: "Interpreter") -> None:
    """Inference after inference for as long as the spec says."""
    seconds = worker.spec.sustained_s
    stage(f"{sustained.STAGE} for {seconds} s")
    length, windows = sustained.window_s(seconds), list[dict[str, Any]]()
    end = time.perf_counter_ns() + seconds * 10**9
    while (began := time.perf_counter_ns()) < end:
        window_end, times = min(began + round(length * 1e9), end), list[int]()
        while (start := time.perf_counter_ns()) < window_end:
            interpreter.invoke()
            times.append((time.perf_counter_ns() - start) // 1000)
        if times:
            windows.append(_window(began, times))
    value = {"schema_version": 1, "window_s": length, "windows": windows}
    run_folder.write_json(worker.folder / schema.Sustained.FILE, value)


def _window(began: int, times_us: list[int]) -> dict[str, Any]:
    median = round(statistics.median(times_us))
    return {"start_ns": began, "inferences": len(times_us), "median_us": median, "slowest_us": max(times_us)}
