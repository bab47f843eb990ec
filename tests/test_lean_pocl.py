"""The PoCL of the tests (lean_pocl.py) makes the installed one's numbers, and knows no function that no kernel calls."""

import os
import subprocess
import sys

import numpy as np
import pytest

from host_tools.base import cpu_drivers
from tests import lean_pocl
from tests.delegate import UNOPTIMISED, Quadra, options
from tests.model_builder import Model
from tests.vectors.case import constant

SHAPE = (1, 9, 7, 6)
CALLS = "__kernel void f(__global float* a) {{ a[0] = {function}(a[0]); }}"
COMPILE = """
import sys
import pyopencl as cl
context = cl.Context(cl.get_platforms()[0].get_devices()[:1])
cl.Program(context, sys.argv[1]).build()
"""


@pytest.fixture(scope="module", autouse=True)
def in_use():
    if "lean-pocl" not in os.environ.get("OCL_ICD_VENDORS", ""):
        pytest.skip("the tests run on another OpenCL driver")


def installed(tmp_path):
    return {"OCL_ICD_VENDORS": str(cpu_drivers.pocl_icd()), "POCL_CACHE_DIR": str(tmp_path / "installed")}


def model() -> bytes:
    m = Model()
    x = m.input(SHAPE)
    y = m.conv2d(x, constant("lean/w", (8, 3, 3, 6)), constant("lean/b", (8,)), activation="RELU6")
    for name in ("EXP", "TANH", "SIN", "SQRT", "FLOOR", "LOGISTIC"):
        y = m.unary(name, y)
    m.output(m.softmax(y))
    return m.bytes()


@pytest.mark.parametrize("target", ["", "adreno-640"])
def test_bits_are_those_of_the_installed_one(library, tmp_path, target):
    feeds, outputs = [np.abs(constant("lean/x", SHAPE))], []
    for env in ({"POCL_CACHE_DIR": str(tmp_path / "lean")}, installed(tmp_path)):
        worker = Quadra(library, **{**UNOPTIMISED, **env})
        outcome = worker.run(model(), feeds, **options(target))
        worker.close()
        assert not outcome.error and not outcome.on_cpu()
        outputs += outcome.outputs[-1]
    assert np.array_equal(*outputs)


@pytest.mark.parametrize("function, is_named", [("sqrt", True), ("acospi", False)])
def test_function_that_no_kernel_calls_does_not_compile(tmp_path, function, is_named):
    argv = [sys.executable, "-c", COMPILE, CALLS.format(function=function)]
    caches = {"POCL_CACHE_DIR": str(tmp_path / "lean"), "PYOPENCL_NO_CACHE": "1"}
    lean, usual = (subprocess.run(argv, env={**os.environ, **caches, **env}, capture_output=True, text=True)
                   for env in ({}, installed(tmp_path)))  # fmt: skip
    assert usual.returncode == 0, usual.stderr
    assert (lean.returncode == 0) == is_named, lean.stderr
    assert is_named or function in lean.stderr


def test_declarations_stay_whole():
    named = lean_pocl.Named()
    header = "float __ovld __cnfn sqrt(float);\nfloat __ovld __cnfn acospi(float);\n#endif\nvoid __ovld barrier(int\n  flags);\n"
    assert lean_pocl.shortened(header, named) == header.replace("float __ovld __cnfn acospi(float);\n", "")
    assert "read_imagef" in named and "convert_float4" in named
