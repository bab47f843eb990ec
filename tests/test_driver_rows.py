"""A process that enters a row of the table of drivers runs on that driver and on no other; the usual ones are not changed."""

from __future__ import annotations

import pytest

from host_tools.base.errors import ToolMissing
from host_tools.drivers import driver_table
from tests.delegate import Quadra, options
from tests.vectors import all_cases

# A part of the names of device and driver that each row's report has.
SAYS = {
    "pocl": "basic-",
    "llvmpipe": "llvmpipe",
    "softpipe": "softpipe",
    "angle": "SwiftShader",
    "rusticl": "22.3",
    "rusticl-26": "26.",
    "oclgrind": "Oclgrind",
}
CASES = [next(case for case in all_cases() if case.op == op) for op in ("RELU", "SOFTMAX")]


@pytest.fixture(params=[driver for driver in driver_table.DRIVERS if driver.name in SAYS], ids=lambda one: one.name)
def row(request):
    """(driver, entry)."""
    try:
        return request.param, request.param.enter()
    except ToolMissing as error:
        pytest.skip(str(error))


def test_a_row_runs_on_its_own_driver(row, library):
    driver, entry = row
    quadra = Quadra(library, entry)
    for case in CASES:
        outcome = quadra.run(case.model(), case.feeds(), **options(backend=driver.backend))
        case.check(outcome, 1e-5)
        device = outcome.report["device"]
        assert outcome.report["backend"] == driver.backend
        assert SAYS[driver.name] in f"{device['name']} {device['driver']}"
    quadra.close()


def test_every_row_is_known_here():
    assert {driver.name for driver in driver_table.DRIVERS} <= {*SAYS}
