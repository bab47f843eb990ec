"""Small plans for tests, as nested dicts; `write` makes a file of one, by flatc."""

import copy
import shutil
from pathlib import Path

import pytest

from host_tools.dev.fuzz import good_folder

PRELUDE = "// a prelude\n"
ADD = """__kernel void add_1(__global const float4* a, __global float4* out, int n, float by) {
  int i = get_global_id(0);
  if (i < n) out[i] = a[i] + by;
}
"""
PACK = """__kernel void pack_1(__global const float* a, __global float4* out, int n) {
  int i = get_global_id(0);
  if (i < n) out[i] = (float4)(a[3 * i], a[3 * i + 1], a[3 * i + 2], 0.0f);
}
"""
UNPACK = """__kernel void unpack_1(__global const float4* a, __global float* out, int n) {
  int i = get_global_id(0);
  if (i < n) { out[3 * i] = a[i].x; out[3 * i + 1] = a[i].y; out[3 * i + 2] = a[i].z; }
}
"""


def arg(kind, index=0, int_value=0, float_value=0.0, written=False):
    return {
        "kind": kind,
        "written": written,
        "view": "Memory",
        "index": index,
        "int_value": int_value,
        "float_value": float_value,
    }


def dispatch(number, kernel, source, target, *numbers, nodes=()):
    args = [arg("Buffer", source), arg("Buffer", target, written=True), *numbers]
    entry = f"{kernel}_1"
    program = {"pack": 0, "add": 1, "unpack": 2}[kernel]
    return {
        "name": f"{number:03d}_{kernel}",
        "kernel": kernel,
        "program": program,
        "entry": entry,
        "global": [8, 1, 1],
        "local": [8, 1, 1],
        "nodes": list(nodes),
        "args": args,
    }


def tensor(name, buffer, offset, size, first, last, dense=False, shape=(1, 2, 3, 3)):
    return {
        "name": name, "shape": list(shape), "buffer": buffer, "offset": offset, "bytes": size, "cell": "Float",
        "dense": dense, "first_use": first, "last_use": last,
    }  # fmt: skip


def program(name, source):
    return {"prelude": PRELUDE, "kernels": [{"entry": f"{name}_1", "name": name, "source": source}], "options": ""}


_SIX, _BY_ONE, _BY_TWO = arg("Int", int_value=6), arg("Float", float_value=1.0), arg("Float", float_value=2.0)
# x, 2×3 pixels of 3 channels, + 1 + 2; y lies where x lay.
PLAN = {
    "version": 1,
    "quadra": "0.1.0",
    "api": "opencl",
    "target": "small",
    "device": "",
    "precision": "f32",
    "buffers": [
        {"kind": "Arena", "bytes": 384},
        {"kind": "Io", "bytes": 72},
        {"kind": "Io", "bytes": 72},
    ],
    "regions": [
        {"buffer": 1, "offset": 0, "bytes": 72},
        {"buffer": 0, "offset": 0, "bytes": 96},
        {"buffer": 0, "offset": 128, "bytes": 96},
        {"buffer": 2, "offset": 0, "bytes": 72},
    ],
    "tensors": [
        tensor("x", 0, 0, 96, 0, 1),
        tensor("middle", 0, 128, 96, 1, 2),
        tensor("y", 0, 0, 96, 2, 3),
        tensor("input_0", 1, 0, 72, 0, 0, dense=True),
        tensor("output_0", 2, 0, 72, 3, 3, dense=True),
        tensor("unused", -1, 0, 0, -1, -1),
    ],
    "programs": [program("pack", PACK), program("add", ADD), program("unpack", UNPACK)],
    "dispatches": [
        dispatch(0, "pack", 0, 1, _SIX),
        dispatch(1, "add", 1, 2, _SIX, _BY_ONE, nodes=[0]),
        dispatch(2, "add", 2, 1, _SIX, _BY_TWO, nodes=[1]),
        dispatch(3, "unpack", 1, 3, _SIX),
    ],
    "inputs": [{"tensor": 3, "shape": [1, 2, 3, 3]}],
    "outputs": [{"tensor": 4, "shape": [1, 2, 3, 3]}],
    "activation_bytes": 384,
    "activation_bytes_lower_bound": 192,
}


def changed(plan=PLAN, **parts):
    """A copy; parts: `dispatches__1__global=[16, 1, 1]` replaces what lies there."""
    made = copy.deepcopy(plan)
    for path, value in parts.items():
        *steps, last = [int(step) if step.isdigit() else step for step in path.split("__")]
        at = made
        for step in steps:
            at = at[step]
        at[last] = value
    return made


def write(plan: dict, path: Path) -> Path:
    if not shutil.which("flatc"):
        pytest.skip("flatc is not installed")
    path.write_bytes(good_folder.plan_bytes(plan, path.with_suffix(".flatc")))
    return path


PACK_IMAGE = """__kernel void pack_1(__global const float* a, __write_only image2d_t out, int n) {
  int i = get_global_id(0);
  if (i < n) write_imagef(out, (int2)(i % 3, i / 3), (float4)(a[3 * i], a[3 * i + 1], a[3 * i + 2], 0.0f));
}
"""
ADD_IMAGE = """__constant sampler_t pixel = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
__kernel void add_1(__read_only image2d_t a, __write_only image2d_t out, int n, float by) {
  int i = get_global_id(0);
  if (i < n) write_imagef(out, (int2)(i % 3, i / 3), read_imagef(a, pixel, (int2)(i % 3, i / 3)) + by);
}
"""
UNPACK_IMAGE = """__constant sampler_t pixel = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
__kernel void unpack_1(__read_only image2d_t a, __global float* out, int n) {
  int i = get_global_id(0);
  float4 v = read_imagef(a, pixel, (int2)(i % 3, i / 3));
  if (i < n) { out[3 * i] = v.x; out[3 * i + 1] = v.y; out[3 * i + 2] = v.z; }
}
"""


def with_images(cell="Half"):
    """The same with images of three by two pixels."""
    size = 48 if cell == "Half" else 96
    image = {"kind": "Image", "bytes": size, "width": 3, "height": 2, "cell": cell}
    made = changed(
        regions__1={"buffer": 0, "offset": 0, "bytes": size},
        regions__2={"buffer": 3, "offset": 0, "bytes": size},
        programs__0__kernels__0__source=PACK_IMAGE,
        programs__1__kernels__0__source=ADD_IMAGE,
        programs__2__kernels__0__source=UNPACK_IMAGE,
    )
    made["buffers"] = [image, *made["buffers"][1:], image]
    for index, buffer in ((0, 0), (1, 3), (2, 0)):
        made["tensors"][index].update(buffer=buffer, offset=0, bytes=size, cell=cell)
    return made


def with_images_in_an_arena():
    """The same with rows of 128 bytes in one buffer: y lies where x lay."""
    made = with_images("Float")
    arena = len(made["buffers"])
    made["buffers"].append({"kind": "Arena", "bytes": 512})
    # Images come behind what they lie in.
    order = [arena, 0, 1, 2, 3]
    made["buffers"] = [made["buffers"][old] for old in order]
    for one in [*made["regions"], *made["tensors"]]:
        one["buffer"] = order.index(one["buffer"]) if one["buffer"] >= 0 else -1
    for number, offset in ((1, 0), (4, 256)):
        made["buffers"][number] = {**made["buffers"][number], "lies_in": 1, "offset": offset, "row_bytes": 128}
    made.update(activation_bytes=512, activation_bytes_lower_bound=512)
    return made


COMMON = """static void NAME_body(__global float* a, __global float* out, int n, float by, int x, int y, int z) {
  if (x < n) for (int c = 0; c < 4; ++c) out[4 * x + c] = a[4 * x + c] + by SIGN;
}
"""


def with_a_common_entry():
    """The two additions as functions of one program that takes its kernels through one entry point."""
    made = changed()
    kernels = [
        {"entry": entry, "name": "add", "source": COMMON.replace("NAME", entry).replace("SIGN", sign),
         "parameters": ["__global float*", "__global float*", "int", "float"]}
        for entry, sign in (("add_1", ""), ("add_2", "* 2.0f"))
    ]  # fmt: skip
    made["programs"][1]["kernels"] = kernels
    made["dispatches"][2]["entry"] = "add_2"
    for number in (1, 2):
        made["dispatches"][number].update({"global": [6, 1, 1], "local": [1, 1, 1]})
    return made


GLES_PRELUDE = """#version 310 es
precision highp float; precision highp int; precision highp sampler2D; precision highp image2D;
layout(local_size_x = 8) in;
layout(std140, binding = 0) uniform Numbers { int n; float by; };
#define I int(gl_GlobalInvocationID.x)
"""
GLES_PACK = """layout(std430, binding = 0) readonly buffer A { float a[]; };
layout(std430, binding = 1) writeonly buffer Out { vec4 to[]; };
void main() { if (I < n) to[I] = vec4(a[3 * I], a[3 * I + 1], a[3 * I + 2], 0.0); }
"""
GLES_TO_IMAGE = """layout(std430, binding = 0) readonly buffer A { vec4 a[]; };
layout(binding = 0, FORMAT) writeonly uniform image2D to;
void main() { if (I < n) imageStore(to, ivec2(I % 3, I / 3), a[I] + by); }
"""
GLES_FROM_IMAGE = """layout(binding = 0) uniform sampler2D a;
layout(std430, binding = 0) writeonly buffer Out { vec4 to[]; };
void main() { if (I < n) to[I] = texelFetch(a, ivec2(I % 3, I / 3), 0) + by; }
"""
GLES_UNPACK = """layout(std430, binding = 0) readonly buffer A { vec4 a[]; };
layout(std430, binding = 1) writeonly buffer Out { float to[]; };
void main() { if (I < n) { to[3 * I] = a[I].x; to[3 * I + 1] = a[I].y; to[3 * I + 2] = a[I].z; } }
"""


def of_gles(cell="Float"):
    """The same on OpenGL ES, with an image in the middle."""
    size = 48 if cell == "Half" else 96
    made = changed(api="gles", regions__2={"buffer": 3, "offset": 0, "bytes": size})
    made["buffers"].append({"kind": "Image", "bytes": size, "width": 3, "height": 2, "cell": cell})
    made["tensors"][1].update(buffer=3, offset=0, bytes=size, cell=cell)
    to_image = GLES_TO_IMAGE.replace("FORMAT", "rgba16f" if cell == "Half" else "rgba32f")
    sources = {"pack": GLES_PACK, "add": to_image, "add_2": GLES_FROM_IMAGE, "unpack": GLES_UNPACK}
    made["programs"] = [
        {"prelude": GLES_PRELUDE, "kernels": [{"entry": f"{name}_1", "name": name, "source": source}]}
        for name, source in sources.items()
    ]
    for number, entry in enumerate(f"{name}_1" for name in sources):
        made["dispatches"][number].update(program=number, entry=entry)
    return made
