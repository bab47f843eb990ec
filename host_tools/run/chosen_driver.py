"""`--driver` of a task: the row of the table of drivers, if what else is asked for goes with it."""

from __future__ import annotations

from pathlib import Path

from host_tools.base.errors import Misuse
from host_tools.build import artifacts
from host_tools.drivers import driver_table
from host_tools.drivers.driver import Driver
from host_tools.places import on_host
from host_tools.record import reading, schema
from host_tools.record.verdicts import APIS
from host_tools.request import delegate_options, from_arguments

_LIBRARIES = ("opencl_library", "egl_library")


def library(given: Path | None, driver: str = "") -> Path:
    """The given one, or that of a driver; otherwise the delegate for this machine, which is built if need be."""
    return given or on_host.library_for(driver) or artifacts.library()


def find(name: str, backend: str = "", target: str = "", on: str = "host", options: str = "") -> Driver | None:
    """None: no name is given. Misuse: there is no such row, or it contradicts one of the others."""
    if not name:
        return None
    driver, tried = driver_table.find(name), f"run on the driver {name}"
    api = f"the driver is of {APIS[driver.backend]}"
    if on.strip() != "host":
        raise Misuse(
            tried, f"--on {on} is another place, and other drivers are of this machine", "omit --on, or --driver"
        )
    if backend not in ("", "auto", driver.backend):
        raise Misuse(tried, f"{api}, and --backend is {backend}", "omit --backend, or --driver")
    file = from_arguments.target_file(target) if target else None
    planned = reading.json_file(Path(file), schema.Target).api if file else driver.backend
    if planned != driver.backend:
        came_back = f"{api}, and the target {target} of {APIS.get(planned, planned)}"
        raise Misuse(tried, came_back, "give another target, or omit --target")
    for option in _LIBRARIES:
        if option in delegate_options.parse(options):
            raise Misuse(tried, f"--options {option} names another driver", "omit one of the two")
    return driver
