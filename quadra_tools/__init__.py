"""Quadra from Python: run models on GPUs, and get what came of it as values.

    import quadra_tools as q

    result = q.run("model.tflite", on="any")
    print(result.ok, result.largest_error, result.ms, result.nodes_on_cpu)
    result.check(max_error=1e-3, max_ms=20, max_cpu_nodes=0)

What is named here stays as it is within a major version: new fields and arguments come at the end and have defaults.
Arguments mean what the options of the same names mean on the command line (`quadra --help run`).

Units: times are in milliseconds (`_ms`), errors relative to an output's range on the CPU, unless a name says otherwise.

Errors: each is a QuadraError, which says what was tried (`tried`), what came back (`came_back`) and what to do next
(`do_next`); `kept` is the run folder if there is one, `exit_code` the status that a task ends with. Misuse: an argument is
wrong, or a file is not there. RunFailed: the run did not finish. DeviceError: something went wrong with a device. ToolMissing:
a driver, library or package is not installed. JudgementFailed: `check` found what it looks for. That outputs are wrong raises
nothing by itself: `Result.ok` says it.
"""

from host_tools.base.errors import DeviceError, JudgementFailed, Misuse, QuadraError, RunFailed, ToolMissing
from quadra_tools._api import bench, compare, devices, run, support
from quadra_tools._results import Bench, Device, Measured, Node, Output, OverInputs, Result, Support, Sustained, Times

__all__ = [
    "Bench",
    "Device",
    "DeviceError",
    "JudgementFailed",
    "Measured",
    "Misuse",
    "Node",
    "Output",
    "OverInputs",
    "QuadraError",
    "Result",
    "RunFailed",
    "Support",
    "Sustained",
    "Times",
    "ToolMissing",
    "bench",
    "compare",
    "devices",
    "run",
    "support",
]
