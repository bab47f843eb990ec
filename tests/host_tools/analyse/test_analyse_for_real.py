"""The installed compilers agree with a kernel whose counts are known. Skipped where they are not installed."""

import os
from pathlib import Path

import pytest

from host_tools.analyse import figures, phone_compilers
from host_tools.analyse.phone_gpus import GPUS
from host_tools.base import settings
from host_tools.base.errors import ToolMissing
from host_tools.record.checked_plan import Arg, Buffer, Dispatch, Kernel, Plan, Program, Region
from host_tools.request import phone
from host_tools.request.from_arguments import TARGETS

REAL = settings.read(dict(os.environ)).tools_dir  # before a test has its own

_PRELUDE = "#version 310 es\nprecision highp float;\nprecision highp int;\n"
_SOURCE = """layout(local_size_x = 8, local_size_y = 1, local_size_z = 1) in;
layout(std430, binding = 0) readonly buffer src_block { vec4 src_data[]; };
layout(std430, binding = 1) writeonly buffer dst_block { vec4 dst_data[]; };
layout(std140, binding = 0) uniform numbers { highp int in_m; highp int in_n; };
void main() {
highp int m = in_m;
highp int n = in_n;
int global_x = int(gl_GlobalInvocationID.x);
if (global_x >= 21) { return; }
vec4 a = vec4(0.0f);
for (int j = 0; j < m; ++j) {
for (int i = 0; i < n; ++i) {
vec4 v = src_data[j + i + global_x];
a += v.x * src_data[i];
a += v.y * src_data[i + 1];
}
}
dst_data[global_x] = a;
}
"""


def plan(source=_SOURCE):
    numbers = [Arg("Int", False, "Memory", 0, value, 0.0) for value in (5, 7)]
    dispatch = Dispatch("000_k", "k", 0, "k_1", numbers, [24, 1, 1], [8, 1, 1], [3])
    program = Program(_PRELUDE, [Kernel("k_1", "k", source, [])], "")
    return Plan("gles", "t", "", "f32", [], [], [], [program], [dispatch], [], [], 0, 0, 0)


@pytest.fixture
def installed(monkeypatch):
    monkeypatch.setenv("QUADRA_TOOLS_DIR", str(REAL))

    def check(gpu):
        if not phone_compilers.installed(gpu.vendor):
            pytest.skip(f"the compiler for {gpu.vendor.capitalize()} is not installed: {phone_compilers.INSTALL}")

    return check


@pytest.mark.parametrize("gpu", GPUS, ids=lambda gpu: gpu.name)
def test_a_kernel_of_known_counts(gpu, installed, tmp_path):
    installed(gpu)
    found = figures.of(gpu, [plan()], 0, lambda line: None)
    (kernel,) = found.kernels
    assert kernel.failure == "" and found.is_complete
    assert found.work("multiply_adds") == 21 * 5 * 7 * 8
    assert found.work("writes") == 21
    assert kernel.compiled and (kernel.compiled.spills, kernel.compiled.fills) == (0, 0)
    assert found.work("slots") > found.work("multiply_adds")


_OPENCL_SOURCE = """__kernel void k_1(__global const float4* restrict src, __global float4* restrict dst, int m, int n) {
const int x = get_global_id(0);
if (x >= 21) { return; }
float4 a = (float4)(0.0f);
for (int j = 0; j < m; ++j) {
for (int i = 0; i < n; ++i) {
const float4 v = src[j + i + x];
a += v.x * src[i];
a += v.y * src[i + 1];
}
}
dst[x] = a;
}
"""


def opencl_plan(source=_OPENCL_SOURCE):
    one = plan()
    buffers = [Arg("Buffer", written, "Memory", 0, 0, 0.0) for written in (False, True)]
    one.dispatches[0].args[:0] = buffers
    program = Program("", [Kernel("k_1", "k", source, [])], "-cl-std=CL1.2")
    memory, regions = [Buffer("Io", 576, b"", 0, 0, "Float")], [Region(0, 0, 576)]
    return Plan("opencl", "t", "", "f32", memory, regions, [], [program], one.dispatches, [], [], 0, 0, 0)


def _with_opencl(gpu):
    try:
        return phone_compilers.require(gpu.vendor, "opencl")
    except ToolMissing as error:
        pytest.skip(str(error))


@pytest.mark.parametrize(
    "gpu",
    [pytest.param(gpu, marks=pytest.mark.slow if gpu.vendor == "mali" else ()) for gpu in GPUS],
    ids=lambda gpu: gpu.name,
)
def test_an_opencl_kernel_of_known_counts(gpu, monkeypatch):
    monkeypatch.setenv("QUADRA_TOOLS_DIR", str(REAL))
    _with_opencl(gpu)
    found = figures.of(gpu, [opencl_plan()], 0, lambda line: None)
    (kernel,) = found.kernels
    assert kernel.failure == "" and found.is_complete
    assert found.work("multiply_adds") == 21 * 5 * 7 * 8
    assert found.bytes("written") == 21 * 16
    lanes = kernel.compiled.lanes if kernel.compiled else 0
    assert kernel.dispatches[0].lanes == 3 * lanes  # three groups of eight


@pytest.mark.slow
def test_a_text_of_opencl_that_malis_compiler_refuses_is_a_row_with_the_reason(monkeypatch):
    monkeypatch.setenv("QUADRA_TOOLS_DIR", str(REAL))
    _with_opencl(GPUS[3])
    found = figures.of(GPUS[3], [opencl_plan(_OPENCL_SOURCE.replace("float4 a =", "float4 b ="))], 0, lambda line: None)
    assert "it does not compile" in found.kernels[0].failure


def test_a_text_that_is_refused_is_a_row_with_the_reason(installed):
    gpu = GPUS[0]
    installed(gpu)
    found = figures.of(gpu, [plan(_SOURCE.replace("vec4 a =", "vec4 b ="))], 0, lambda line: None)
    assert "it does not compile" in found.kernels[0].failure and not found.is_complete


def test_each_gpu_has_its_target():
    targets = [gpu.gles_target for gpu in GPUS]
    assert [target for target in targets if not (Path(TARGETS) / f"{target}.json").is_file()] == []
    assert {gpu.name for gpu in GPUS} == {path.stem for path in phone.PHONES.glob("*.json")}
