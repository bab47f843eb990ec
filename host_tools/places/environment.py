"""Facts about this machine, its software and its GPUs, for environment.json."""

import time
from functools import cache
from pathlib import Path
from typing import Any

from host_tools.base import cpu_drivers
from host_tools.drivers import driver_table, gpus
from host_tools.drivers.driver import Entry
from host_tools.record.machine import software


def facts(library: Path, threads: int, driver: str = "") -> dict[str, Any]:
    """What a reader of a run needs to judge or to repeat it. driver: a row of the table of drivers; empty: the usual one."""
    return {
        "schema_version": 1,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        **software(library),
        **({"driver": driver, "driver_source": driver_table.find(driver).source} if driver else {}),
        "driver_settings": dict(_entry(threads, driver).env),
        **_devices(threads, driver),
    }


def _entry(threads: int, driver: str) -> Entry:
    found = driver_table.find(driver).enter() if driver else Entry()
    return Entry(found.options, {**cpu_drivers.settings(threads), **found.env}, found.prefix)


@cache  # a bench asks once
def _devices(threads: int, driver: str) -> dict[str, gpus.Devices]:
    entry = _entry(threads, driver)
    return {"opencl_devices": gpus.opencl(entry), "gles_devices": gpus.gles(entry)}
