"""What a program was seen to ask OpenCL for becomes launches with their numbers, and memory; hostile files are errors."""

import pytest
from hypothesis import given, strategies as st

from host_tools.analyse import loop_trips, opencl_text, recorded_opencl
from host_tools.analyse.figures import Memory
from host_tools.base.errors import RunFailed

TEXT = """#define GLOBAL_ID_0 get_global_id(0)
#define GROUP_SIZE 4
#define MAIN_FUNCTION __kernel void main_function
#define INIT_INT2v2(v0, v1) (int2)(v0, v1)
#define INIT_INT(value) (int)(value)
MAIN_FUNCTION(__global float4* weights,
  __read_only image2d_t src,
  int4 shared_int4_0,
  float2 f) {
  int X = GLOBAL_ID_0;
  X *= 2;
  int2 tid = INIT_INT2v2(get_local_id(0), get_local_id(1));
  if (X >= shared_int4_0.x) return;
  int s = 0;
  do { // ä
    a += b;
    s += 1;
  } while (s < shared_int4_0.y);
  for (int i = tid.x; i < INIT_INT(shared_int4_0.z); i += GROUP_SIZE) { }
}
"""
NUMBERS = "07000000030000000a000000ffffffff0000803f0000c0bf"
LINES = (
    "buffer 3 640 1",
    "buffer 4 4096 0",
    "part 5 4 2048",
    "part 6 5 1024",
    "image 7 448 0 6 5 7 1 1 8",
    "buffer 8 99 0",
    "host 8",
    "buffer 9 77 1",
    "arg 2 0 object 3",
    "arg 2 1 object 7",
    f"arg 2 2 bytes {NUMBERS[:32]}",
    f"arg 2 3 bytes {NUMBERS[32:]}",
    "arg 2 4 object 8",
    "arg 2 5 local 128",
    "launch 2 6 1 1 4 1 1",
    "arg 2 2 bytes 07000000050000000a000000ffffffff",
    "launch 2 8 1 1 0 0 0",
    "unknown device 0x7",
    "unknown device 0x7",
    "refused clEnqueueTask",
)


def calls(*lines, options="-cl-std=CL2.0 -cl-fast-relaxed-math -qcom-accelerate-16-bit"):
    text = TEXT.encode()
    head = b"program 1 %d\n%s\nbuild 1 %s\nkernel 2 1 main_function\n" % (len(text), text, options.encode())
    return head + b"".join(f"{line}\n".encode() for line in lines)


def test_each_launch_has_the_numbers_of_its_time():
    found = recorded_opencl.read(calls(*LINES))
    first, second = found.launches
    assert first.text == f"//-cl-std=CL2.0\n{TEXT}"
    assert first.numbers == {
        **{f"shared_int4_0.{letter}": value for letter, value in zip("xyzw", (7, 3, 10, -1))},
        "f.x": 1.0,
        "f.y": -1.5,
    }
    assert second.numbers["shared_int4_0.y"] == 5
    assert (first.dispatch.global_, first.dispatch.local) == ([8, 1, 1], [4, 1, 1])  # whole groups
    assert second.dispatch.local == [64, 1, 1]
    assert found.memory == Memory(intermediates=4096, weights=640)
    assert found.refused == ["device 0x7", "clEnqueueTask"]


def test_a_part_of_memory_that_the_host_copies_leaves_the_whole():
    found = recorded_opencl.read(calls(*LINES[:6], "host 5", *LINES[6:]))
    assert found.memory == Memory(intermediates=4096, weights=640)
    assert recorded_opencl.read(calls(*LINES, "host 4")).memory == Memory(0, 640)


def test_its_loops_are_counted():
    launch = recorded_opencl.read(calls(*LINES)).launches[0]
    trips = loop_trips.of(launch.text, launch.dispatch, launch.numbers)
    assert trips.count == 4  # those with 2 * x below 7
    assert loop_trips.executions(trips, [-1, 0, 0]) == [4, 4 * 3, 3 + 3 + 2 + 2]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "launch 2 1 1 1 1 1",
        "launch 2 0 1 1 1 1 1",
        "launch 2 1 1 1 1 1 1 1",
        "launch 9 1 1 1 1 1 1",
        "launch 2 99999999999 1 1 1 1 1",
        "arg 2 0 bytes 0",
        "arg 2 0 bytes xx",
        "arg 2 x object 3",
        "arg 2 0 other 3",
        "arg 9 0 object 3",
        "arg 2",
        "buffer 3 -1 0",
        "buffer 3 ٣ 0",
        "part 3 8 1",
        "image 3 1 0 8 1 1 1 1 4",
        "image 3 1 0 0 1 1 1",
        "kernel 2 9 k",
        "build 9 -x",
        "program 3 99999999",
        "program 3 many",
        "draw 1",
        "host 3",
    ],
)
def test_a_line_of_another_form_is_an_error(line):
    with pytest.raises(RunFailed, match="not of its form"):
        recorded_opencl.read(calls(line))


@given(st.integers(0, len(calls(*LINES))), st.binary(max_size=12), st.integers(0, 40))
def test_a_damaged_recording_is_read_or_refused(at, new, length):
    content = calls(*LINES)
    try:
        found = recorded_opencl.read(content[:at] + new + content[at + length :])
    except RunFailed:
        return
    for launch in found.launches:
        assert len(launch.dispatch.global_) == len(launch.dispatch.local) == 3


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(content):
    try:
        assert recorded_opencl.read(content).launches == []
    except RunFailed as error:
        assert "recorded calls of OpenCL" in str(error)


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("v = read_imageh(src, smp_zero, (int2)((x), (y * n.z + (s))));", "v = read_imageh(src, (int2)((x), (y * n.z + (s))));"),
        ("read_imagef(a,smp_none, p) + read_imagef(b, smp, p)", "read_imagef(a, p) + read_imagef(b, p)"),
        ("read_imagef(src, (int2)(x, y))", "read_imagef(src, (int2)(x, y))"),
        ("write_imageh(dst, smp, v)", "write_imageh(dst, smp, v)"),
    ],
)  # fmt: skip
def test_reads_without_samplers(text, changed):
    assert opencl_text.without_samplers(text) == changed
