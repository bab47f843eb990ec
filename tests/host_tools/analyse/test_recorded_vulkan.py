"""What a program was seen to ask Vulkan for becomes launches with their numbers, and memory; hostile files are errors."""

import struct

import pytest
from hypothesis import given, settings, strategies as st

from host_tools.analyse import loop_trips, recorded_vulkan, spirv, spirv_trips
from host_tools.analyse.figures import Memory
from host_tools.base.errors import RunFailed
from tests.host_tools.analyse.test_spirv_trips import GUARDED, NUMBERS, compiled, loop

LINES = (
    "pipeline 0 0 main",
    "buffer 1 4096",
    "buffer 2 640",
    "image 3 448",
    "image 4 512",
    "image 5 99",
    "set aa 0 2 image 3",
    "set aa 1 3 image 4",
    "set aa 2 7 buffer 2 0",
    "set aa 3 6 buffer 1 256",
    "set bb 0 2 image 4",
    "set bb 1 3 image 4",
    "run 0",
    "bind 0 bb",
    "dispatch 9 9 9",
    "mark",
    "run 0",
    "bind 0 aa",
    "dispatch 2 2 1",
)


@pytest.fixture(scope="module")
def code(tmp_path_factory):
    return compiled(GUARDED % loop("int i = 0; i < n[0].z; ++i"), tmp_path_factory.mktemp("kernel"))


def calls(code, *lines, numbers=b"\0" * 256 + NUMBERS):
    head = b"shader 0 %d\n%s\n" % (len(code), code)
    tail = b"uniforms 1 %d\n%s\n" % (len(numbers), numbers)
    return head + b"".join(f"{line}\n".encode() for line in lines) + tail


def test_launches_behind_the_mark_with_the_numbers_that_they_were_given(code):
    found = recorded_vulkan.read(calls(code, *LINES))
    (launch,) = found.launches
    assert (launch.dispatch.global_, launch.dispatch.local) == ([8, 4, 1], [4, 2, 1])
    assert launch.text.startswith("main 0:2 1:3") and spirv.is_one(launch.text)
    assert launch.numbers == {"3": NUMBERS}
    trips = spirv_trips.of(launch.text, launch.dispatch, launch.numbers)
    assert loop_trips.executions(trips, [-1, 0]) == [18, 18 * 5]
    assert found.memory == Memory(512, 448 + 640)  # what is written; without numbers


@pytest.mark.parametrize(
    "line",
    [
        "dispatch 1 2",
        "dispatch 1 -1 1",
        "run 7",
        "pipeline 1 8 main",
        "bind 1 aa",
        "bind 0 aa 256",
        "set aa 0",
        "image 3 x",
        "what",
        "",
        "shader 9 99999999",
    ],
)
def test_a_line_of_another_form_is_an_error(line, code):
    with pytest.raises(RunFailed, match="is not of its form"):
        recorded_vulkan.read(calls(code, *LINES, line))


def test_a_damaged_kernel_is_an_error(code):
    for damaged in (b"\0" + code[1:], code[:20] + struct.pack("<I", 5) + code[24:], b""):
        with pytest.raises(RunFailed, match="Vulkan"):
            recorded_vulkan.read(calls(damaged, *LINES))


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_any_bytes_are_a_recording_or_an_error(data, code):
    whole = bytearray(calls(code, *LINES))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    try:
        recorded_vulkan.read(bytes(whole))
    except RunFailed:
        pass
