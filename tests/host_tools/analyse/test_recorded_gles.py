"""What a program was seen to ask OpenGL ES for becomes launches: texts, groups, and the numbers that uniforms then had."""

import pytest

from host_tools.analyse import loop_trips, recorded_gles
from host_tools.base.errors import RunFailed

TEXT = """#version 310 es
layout(local_size_x = 4, local_size_y = 2) in;
uniform int n; uniform ivec2 size;
void main() {
ivec3 gid = ivec3(gl_GlobalInvocationID.xyz);
if (gid.x >= size.x || gid.y >= size.y) { return; }
for (int i = 0; i < n; ++i) { a += b; } // ä
}
"""


def calls(*lines, text=TEXT):
    size = len(text.encode())
    return (
        f"source 1 {size}\n{text}\nattach 2 1\nlocation 2 0 n\nlocation 2 5 size\nlocation 2 -1 gone\n".encode()
        + b"".join(f"{line}\n".encode() for line in lines)
    )


def test_each_launch_has_the_numbers_of_its_time():
    found = recorded_gles.launches(
        calls(
            "uniform 2 0 3",
            "uniform 2 5 5 2",
            "uniform 2 -1 9",
            "dispatch 2 2 1 1",
            "uniform 2 0 -7",
            "dispatch 2 1 2 3",
        )
        + calls("dispatch 2 1 1 1", text="void main() { }")  # the names of shader and program again
    )
    assert [one.text for one in found] == [TEXT, TEXT, "void main() { }"]
    assert [one.numbers for one in found] == [
        {"n": 3, "size.x": 5, "size.y": 2},
        {"n": -7, "size.x": 5, "size.y": 2},
        {},
    ]
    first, second, third = (one.dispatch for one in found)
    assert (first.global_, first.local, first.name) == ([8, 2, 1], [4, 2, 1], "000_program_2")
    assert second.global_ == [4, 4, 3] and third.local == [1, 1, 1]
    trips = loop_trips.of(found[0].text, first, found[0].numbers)
    assert loop_trips.executions(trips, [-1, 0]) == [10, 30]


def test_names_that_are_no_utf8_move_nothing():
    odd = b"location 2 7 \xff\xfe\n"
    found = recorded_gles.launches(calls("uniform 2 0 3") + odd + calls("dispatch 2 1 1 1", text="void main() { }"))
    assert [one.text for one in found] == ["void main() { }"]


@pytest.mark.parametrize(
    "line", ["dispatch 2 1 1", "dispatch 2 1 1 -1", "uniform 2 0 x", "draw 2", "source 1 many", ""]
)
def test_a_line_of_another_form_is_an_error(line):
    with pytest.raises(RunFailed, match="not of its form"):
        recorded_gles.launches(calls(line))
