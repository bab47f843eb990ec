"""A process that enters a row of the table of drivers runs on that driver and on no other; the usual ones are not changed."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from host_tools.base import child_process
from host_tools.base.errors import FetchFailed, ToolMissing
from host_tools.base.settings import ROOT
from host_tools.drivers import driver_table, gpus
from host_tools.drivers.driver import Entry
from tests import on_driver
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
    "gpu-opencl": "",
    "gpu-gles": "",
}
CASES = [next(case for case in all_cases() if case.op == op) for op in ("RELU", "SOFTMAX")]


@pytest.fixture(params=[one for one in driver_table.DRIVERS if not one.library], ids=lambda one: one.name)
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


def test_a_model_that_cannot_be_had_is_no_fault_of_the_driver():
    problem = FetchFailed("fetch the wheel of a model", "exit status 1\n| no network", "connect to the network")
    assert on_driver.outcome_of(problem) == ("skipped", "fetch the wheel of a model: exit status 1")
    assert on_driver.outcome_of(ValueError("odd")) == ("wrong", "ValueError: odd")


def test_every_row_is_known_here():
    assert [driver.name for driver in driver_table.DRIVERS if not driver.library] == [*SAYS]


def test_a_row_of_a_gpu_is_there_where_the_machine_has_one(monkeypatch):
    opencl, gles = driver_table.find("gpu-opencl"), driver_table.find("gpu-gles")
    cpu = [{"name": "pthread-haswell", "type": "cpu"}, {"error": "of another platform"}]
    monkeypatch.setattr(gpus, "opencl", lambda: cpu)
    monkeypatch.setattr(gpus, "gles", lambda: [{"name": "llvmpipe (LLVM 15.0.6, 256 bits)", "vendor": "Mesa"}])
    for driver, says in ((opencl, "pthread-haswell, of another platform"), (gles, "llvmpipe")):
        with pytest.raises(ToolMissing, match=f"none of its devices is a GPU: {says}"):
            driver.enter()
    monkeypatch.setattr(gpus, "opencl", lambda: [*cpu, {"name": "NVIDIA H100", "type": "gpu"}])
    monkeypatch.setattr(gpus, "gles", lambda: [{"name": "NVIDIA H100", "vendor": "NVIDIA Corporation"}])
    assert opencl.enter() == gles.enter() == Entry()


def test_an_entrys_options_reach_the_delegate(library):
    quadra = Quadra(library, Entry({"opencl_library": "/nonexistent.so"}))
    outcome = quadra.run(CASES[0].model(), CASES[0].feeds(), **options())
    assert "/nonexistent.so" in str(outcome.report)
    quadra.close()


_SEEN = """
import json
import sys
from pathlib import Path
from host_tools.base import cpu_drivers
from host_tools.drivers import gpus
from host_tools.drivers.driver import Entry
from tests import on_driver
from tests.delegate import Quadra, options
from tests.test_driver_rows import CASES
quadra = Quadra(Path(sys.argv[1]))
device = quadra.run(CASES[0].model(), CASES[0].feeds(), **options()).report["device"]["name"]
quadra.close()
print(json.dumps([device, *(one["platform"] for one in gpus.opencl(Entry(env=cpu_drivers.settings(1))))]))
"""


@pytest.mark.parametrize("asked", [False, True])
def test_a_second_opencl_driver_on_the_machine_is_not_seen_unless_asked_for(library, tmp_path, monkeypatch, asked):
    """Rusticl is in the machine's list of drivers here, before PoCL."""
    try:
        rusticl = driver_table.find("rusticl").enter()
    except ToolMissing as error:
        pytest.skip(str(error))
    monkeypatch.delenv("OCL_ICD_VENDORS", raising=False)
    for icd in ("/etc/OpenCL/vendors/pocl.icd", rusticl.env["OCL_ICD_VENDORS"]):
        shutil.copy(icd, tmp_path / Path(icd).name.replace("rusticl", "a_rusticl"))
    mounted = ["sh", "-c", 'mount --bind "$0" /etc/OpenCL/vendors && exec "$@"', tmp_path]
    env = {"RUSTICL_ENABLE": "llvmpipe", "PYTHONPATH": str(ROOT)}
    if asked:
        env["OCL_ICD_VENDORS"] = str(tmp_path)
    argv = [*rusticl.prefix, *mounted, sys.executable, "-c", _SEEN, library]
    device, *platforms = json.loads(child_process.run(argv, timeout_s=120, env=env).stdout)
    assert {name.split()[0] for name in platforms} == ({"rusticl", "Portable"} if asked else {"Portable"})
    assert asked or device.startswith("basic-")
