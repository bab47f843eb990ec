"""Facts about this machine, its software and its GPUs, for environment.json."""

import time
from functools import cache
from pathlib import Path
from typing import Any

from host_tools.base import cpu_drivers
from host_tools.drivers import gpus
from host_tools.drivers.driver import Entry
from host_tools.record.machine import software


def facts(library: Path, threads: int) -> dict[str, Any]:
    """What a reader of a run needs to judge or to repeat it."""
    return {
        "schema_version": 1,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        **software(library),
        "driver_settings": cpu_drivers.settings(threads),
        **_devices(threads),
    }


@cache  # a bench asks once
def _devices(threads: int) -> dict[str, gpus.Devices]:
    told = cpu_drivers.settings(threads)
    return {"opencl_devices": gpus.opencl(Entry(env=told)), "gles_devices": gpus.gles(Entry(env=told))}
