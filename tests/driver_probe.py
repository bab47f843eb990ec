"""Asks a row of the table of drivers what it is: `python -m tests.driver_probe ROW` prints a line of JSON with the delegate's
library, the device in the driver's own words, and why the delegate does not use it, if it does not."""

from __future__ import annotations

import json
import sys

from host_tools.base.errors import QuadraError
from host_tools.drivers import driver_table
from tests import on_driver
from tests.delegate import Quadra, WorkerDied, options
from tests.model_builder import Model
from tests.vectors.case import constant


def probe(row: str) -> dict[str, str]:
    """ToolMissing: the driver is not on this machine."""
    driver = driver_table.find(row)
    entry = driver.enter()  # before anything is built
    quadra = Quadra(on_driver.library_of(driver), entry)
    model = Model()
    model.output(model.unary("RELU", model.input((1, 2, 2, 4))))
    told = {"library": str(quadra.library), "device": "", "problem": ""}
    try:
        outcome = quadra.run(model.bytes(), [constant("probe", (1, 2, 2, 4))], **options(backend=driver.backend))
    except WorkerDied as error:
        return {**told, "problem": str(error)}
    report = outcome.report or {}
    if outcome.error or report.get("backend") != driver.backend:
        return {**told, "problem": outcome.error or "; ".join(report.get("backend_notes", []))}
    device = report["device"]
    return {**told, "device": " ".join(str(device[key]) for key in ("name", "version", "driver") if device.get(key))}


if __name__ == "__main__":
    try:
        print(json.dumps(probe(sys.argv[1])))
    except QuadraError as error:
        print(json.dumps({"missing": [error.tried, error.came_back, error.do_next]}))
