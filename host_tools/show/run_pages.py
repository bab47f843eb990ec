"""What a run is looked at with: its report, and what that links to, the memory of its plans and a time line."""

import contextlib
from pathlib import Path

from host_tools.base.errors import Misuse
from host_tools.judge.judged import Judged
from host_tools.record import named_plans, plan_view, schema
from host_tools.show import memory_map, perfetto_trace, report


def write(judged: Judged) -> Path:
    """Writes all of them into the run folder; returns the report's path. A page that needs what is damaged is left out."""
    folder = judged.folder
    if any((partition / plan_view.FILE).is_file() for partition in folder.partitions()):
        with contextlib.suppress(Misuse):
            memory_map.write(named_plans.of_run(folder), folder.path / memory_map.FILE)
    if folder.has(schema.Timings.FILE):
        with contextlib.suppress(Misuse):
            perfetto_trace.write(folder)
    return report.write(judged)
