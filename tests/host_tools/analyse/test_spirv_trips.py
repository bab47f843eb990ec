"""Loops of Vulkan's kernels are counted from the SPIR-V itself: those of OpenGL ES's language, compiled by glslang, agree with their text."""

import shutil
import struct
import subprocess

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from host_tools.analyse import loop_trips, spirv, spirv_trips
from host_tools.base.errors import Misuse
from host_tools.record.checked_plan import Dispatch

HEAD = """#version 450
#extension GL_EXT_samplerless_texture_functions : require
layout(local_size_x = 4, local_size_y = 2, local_size_z = 1) in;
layout(set = 0, binding = 0) uniform highp texture2D src;
layout(set = 0, binding = 1, rgba32f) uniform writeonly image2D dst;
layout(set = 0, binding = 2) buffer Held { int held[]; };
layout(set = 0, binding = 3) uniform Numbers { ivec4 n[2]; };
layout(set = 0, binding = 4) uniform sampler unused;
"""
GUARDED = """void main() {
  int x = int(gl_GlobalInvocationID.x), y = int(gl_GlobalInvocationID.y);
  if (x >= n[0].x || y >= n[0].y) return;
  vec4 sum = vec4(0.0);
  %s
  imageStore(dst, ivec2(x, y), sum);
}
"""
NUMBERS = struct.pack("<8i", 6, 3, 5, 2, 7, 0, -1, 100)
READS = "sum += texelFetch(src, ivec2(x + {0}, y), 0);"


def compiled(source, folder):
    if not shutil.which("glslangValidator"):
        pytest.skip("glslangValidator is not installed")
    (folder / "k.comp").write_text(HEAD + source)
    argv = ["glslangValidator", "-V", "--target-env", "vulkan1.1", "-o", folder / "k.spv", folder / "k.comp"]
    subprocess.run(argv, check=True, capture_output=True)
    return (folder / "k.spv").read_bytes()


def dispatch(x=8, y=4):
    return Dispatch("000_k", "", 0, "k", [], [x, y, 1], [4, 2, 1], [])


def trips(body, folder, guarded=GUARDED):
    text = spirv.as_text(compiled(guarded % body, folder), "main")
    return spirv_trips.of(text, dispatch(), {"3": NUMBERS})


def counts(found, parents):
    return loop_trips.executions(found, parents)


def loop(header, body=READS.format("i")):
    return f"for ({header}) {{ {body} }}"


def test_a_kernel_as_a_text_names_its_bindings(tmp_path):
    code = compiled(GUARDED % loop("int i = 0; i < held[0]; ++i"), tmp_path)
    text = spirv.as_text(code, "main")
    assert text.startswith("main 0:2 1:3 2:7 3:6 4:0\n07230203") and spirv.is_one(text)
    module = spirv.of_text(text)
    assert (module.name, module.group) == ("main", (4, 2, 1))
    assert not spirv.is_one("void main() {}") and not spirv.is_one("//\n__kernel void k() {}")


@pytest.mark.parametrize(
    ("header", "each"),
    [
        ("int i = 0; i < n[0].z; ++i", 5),
        ("int i = 1; i < n[1].x; i += 3", 2),
        ("uint i = 0u; i < uint(n[0].w * 4 + 1); i += 4u", 3),
        ("int i = n[1].w; i > n[1].x; i = i >> 1", 4),
        ("int i = n[1].z; i < min(n[0].z, 3); ++i", 4),
        ("int i = 0; i < n[1].y; ++i", 0),
        ("int i = 0; i < (n[0].x > 4 ? 9 : 2); ++i", 9),
    ],
)
def test_bounds_of_recorded_numbers(header, each, tmp_path):
    found = trips(loop(header, "sum += texelFetch(src, ivec2(x, y), 0);"), tmp_path)
    assert found.count == 6 * 3 and counts(found, [-1, 0]) == [18, 18 * each]


def test_a_loop_that_ends_behind_its_body_runs_it_once_more(tmp_path):
    behind = "int i = 0; for (;;) { " + READS.format("i") + " i += 1; if (i >= n[0].z) break; }"
    do = "int i = 0; do { " + READS.format("i") + " i += 1; } while (i < n[0].z);"
    before = "int i = 0; for (;;) { if (i >= n[0].z) break; i += 1; " + READS.format("i") + " }"
    for text in (behind, do, before):
        assert counts(trips(text, tmp_path), [-1, 0]) == [18, 18 * 5]


def test_bounds_that_differ_between_work_items(tmp_path):
    found = trips(loop("int i = 0; i < x + y; ++i"), tmp_path)
    assert counts(found, [-1, 0]) == [18, sum(x + y for x in range(6) for y in range(3))]
    found = trips("if (x < 2) { " + loop("int i = 0; i < n[0].z; ++i") + " }", tmp_path)
    assert counts(found, [-1, 0]) == [18, 2 * 3 * 5]
    found = trips(loop("int i = 0; i < n[0].z; ++i", "if (i == x) continue; " + READS.format("i")), tmp_path)
    assert counts(found, [-1, 0]) == [18, 18 * 5]


def test_a_loop_in_a_loop(tmp_path):
    inner = loop("int j = i; j < n[1].x; ++j", READS.format("i + j"))
    found = trips(loop("int i = 0; i < n[0].z; ++i", inner), tmp_path)
    assert counts(found, [-1, 0, 1]) == [18, 18 * 5, 18 * (7 + 6 + 5 + 4 + 3)]


def test_a_loop_that_a_compiler_may_unroll_is_told_from_another(tmp_path):
    fixed, other = loop("int i = 0; i < 3; ++i"), loop("int j = 0; j < n[0].z; ++j", READS.format("j"))
    found = trips(fixed + other, tmp_path)
    assert [one.is_fixed for one in found.loops] == [True, False]
    assert counts(found, [-1, 0]) == [18, 18 * 5]  # the one loop of the machine code is the other one
    assert counts(found, [-1, 0, 0]) == [18, 18 * 3, 18 * 5]


def test_what_is_read_from_memory_is_not_known(tmp_path):
    for body in (
        loop("int i = 0; i < held[0]; ++i"),
        loop("int i = 0; i < n[0].z; ++i", READS.format("i") + " if (held[i] > 4) break;"),
        loop("int i = 0; i < n[0].z; ++i", READS.format("i") + " if (held[i] > 4 && (x += 0) < 2) break;"),
        "if (held[0] > 3) { " + loop("int i = 0; i < n[0].z; ++i") + " }",
        "int m = n[0].x; if (held[0] > 3) { m = n[0].y; } " + loop("int i = 0; i < m; ++i"),
    ):
        assert counts(trips(body, tmp_path), [-1, 0]) == [18, None]


def test_who_does_nothing_does_not_count_and_functions_are_followed(tmp_path):
    source = """void run(int x, int y) {
      if (x >= n[0].x) { return; }
      vec4 sum = vec4(0.0);
      for (int i = 0; i < n[0].z; ++i) { sum += texelFetch(src, ivec2(x + i, y), 0); }
      imageStore(dst, ivec2(x, y), sum);
    }
    void main() { run(int(gl_GlobalInvocationID.x), int(gl_WorkGroupID.y * 2u + gl_LocalInvocationID.y)); } //%s
    """
    found = trips("", tmp_path, source)
    assert counts(found, [-1, 0]) == [6 * 4, 6 * 4 * 5]
    assert found.lanes([4, 2, 1], 8) == 4 * 8
    assert np.broadcast_to(found.items, (1, 4, 8)).sum() == 24


def test_a_loop_without_end_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(spirv_trips, "_MOST_TRIPS", 50)
    assert counts(trips(loop("int i = 0; i < 1000; i += n[1].y"), tmp_path), [-1, 0]) == [18, None]


def test_more_work_items_than_a_gpu_takes_are_refused(tmp_path):
    text = spirv.as_text(compiled(GUARDED % "", tmp_path), "main")
    with pytest.raises(Misuse, match="more than"):
        spirv_trips.of(text, dispatch(1 << 20, 1 << 10), {})


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_a_damaged_kernel_is_an_error_or_is_not_known(data, tmp_path_factory):
    folder = tmp_path_factory.getbasetemp() / "damaged"
    folder.mkdir(exist_ok=True)
    kept = folder / "whole"
    code = bytearray(
        kept.read_bytes() if kept.exists() else compiled(GUARDED % loop("int i = 0; i < n[0].z; ++i"), folder)
    )
    kept.write_bytes(code) if not kept.exists() else None
    word = data.draw(st.integers(5, len(code) // 4 - 1)) * 4
    code[word : word + 4] = struct.pack("<I", data.draw(st.integers(0, 300) | st.integers(0, 2**32 - 1)))
    words = struct.unpack(f"<{len(code) // 4}I", code)
    text = "main\n" + "".join(f"{one:08x}" for one in words)
    spirv_trips.of(text, dispatch(), {"3": NUMBERS})
