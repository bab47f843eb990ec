"""How often a kernel's loops run follows from its text and the dispatch's numbers, work-item by work-item."""

import pytest

from host_tools.analyse import loop_trips
from host_tools.base.errors import Misuse
from host_tools.record.checked_plan import Arg, Dispatch


def dispatch(global_=(8, 4, 1), local=(8, 4, 1), **numbers):
    args = [Arg("Int", False, "Memory", 0, value, 0.0) for value in numbers.values()]
    return Dispatch("0", "k", 0, "k", args, list(global_), list(local), [])


def text(body, *names):
    """A kernel of this body, with whole numbers of these names, as the delegate writes them."""
    block = "".join(f"highp int in_{name}; " for name in names)
    declared = "".join(f"highp int {name} = in_{name};\n" for name in names)
    return (
        "#define GLOBAL_X global_x\n#define LOCAL_X int(gl_LocalInvocationID.x)\n#define GROUP_X (global_x / int(gl_WorkGroupSize.x))\n"
        f"layout(std140, binding = 0) uniform numbers {{ {block}}};\n"
        f"void main() {{\n{declared}int global_x = int(gl_GlobalInvocationID.x), global_y = int(gl_GlobalInvocationID.y);\n{body}}}\n"
    )


def opencl_text(body, *names):
    """The same kernel in OpenCL's language, as the delegate writes it."""
    numbers = "".join(f", int {name}" for name in names)
    return (
        "#define GLOBAL_X global_x\n#define LOCAL_X ((int)get_local_id(0))\n#define GROUP_X (global_x / (int)get_local_size(0))\n"
        "static inline int other(int n) { for (int i = 0; i < n; ++i) { n += i; } return n; }\n"
        "__kernel __attribute__((reqd_work_group_size(8, 4, 1)))\n"
        f"void k_1(__global const float4* restrict src_data{numbers}) {{\n"
        f"const int global_x = get_global_id(0), global_y = get_global_id(1);\n__local float4 part[32];\n{body}}}\n"
    )


def counts(body, parents, shape=(8, 4, 1), **numbers):
    """Executions of each loop of a machine code whose loops have these parents."""
    trips = loop_trips.of(text(body, *numbers), dispatch(shape, **numbers))
    return loop_trips.executions(trips, parents)


def opencl_counts(body, parents, shape=(8, 4, 1), **numbers):
    one = dispatch(shape, **numbers)
    one.args.insert(0, Arg("Buffer", False, "Memory", 0, 0, 0.0))
    return loop_trips.executions(loop_trips.of(opencl_text(body, *numbers), one), parents)


NEST = "for (int j = 0; j < m; ++j) { for (int i = 1; i < n; i += 2) { a += b; } }"


def test_nested_loops_multiply():
    assert counts(NEST, [-1, 0, 1], m=3, n=6) == [32, 96, 288]


@pytest.mark.parametrize(
    ("body", "parents"),
    [
        (NEST, [-1, 0, 1]),
        (f"if (GLOBAL_X * 2 >= m) {{ return; }}\n{NEST}", [-1, 0, 1]),
        ("for (int i = LOCAL_X; i < n + GROUP_X; i += 2) { a += b; }", [-1, 0]),
        ("int end = (int)(n) * (uint)m; for (int i = 0; i < end; i += 2) { a += b; }", [-1, 0]),
    ],
)
def test_opencls_texts_are_counted_as_opengl_ess(body, parents):
    found = opencl_counts(body, parents, m=3, n=6)
    assert found == counts(body.replace("(int)", "int").replace("(uint)", ""), parents, m=3, n=6) and None not in found


def test_opencls_text_with_other_numbers_than_its_dispatch_is_not_known():
    few = dispatch(m=3)
    assert loop_trips.executions(loop_trips.of(opencl_text(NEST, "m", "n"), few), [-1, 0, 1]) == [32, None, None]


def test_work_items_outside_of_the_grid_do_not_count():
    guard = "int x = GLOBAL_X * 2;\nif (x >= w || global_y >= h) { return; }\n"
    assert counts(guard + NEST, [-1, 0, 1], w=9, h=3, m=2, n=3) == [15, 30, 30]


def test_bounds_may_depend_on_the_place():
    body = "int x_end = min(GLOBAL_X + 3, w);\nfor (int x = GLOBAL_X; x < x_end; ++x) { }"
    assert counts(body, [-1, 0], (8, 1, 1), w=8) == [8, 6 * 3 + 2 + 1]


def test_bounds_may_depend_on_the_group():
    body = "for (int i = LOCAL_X; i < n; i += 4) { } for (int i = 0; i < GROUP_X; ++i) { }"
    trips = loop_trips.of(text(body, "n"), dispatch((8, 1, 1), (4, 1, 1), n=6))
    assert loop_trips.executions(trips, [-1, 0, 0]) == [8, 2 * (2 + 2 + 1 + 1), 4]


def test_a_loop_ends_before_it_begins():
    assert counts(NEST, [-1, 0, 1], m=0, n=6) == [32, 0, 0]


def test_values_that_a_choice_sets():
    body = "int end = n;\nif (along != 0) { end = GLOBAL_X < along ? 0 : 5; }\nfor (int i = 0; i < end; ++i) { }"
    assert counts(body, [-1, 0], (8, 1, 1), n=2, along=0) == [8, 16]
    assert counts(body, [-1, 0], (8, 1, 1), n=2, along=6) == [8, 10]


def test_loops_of_a_choice_run_where_it_is_taken():
    body = "if (n > 3) { for (int i = 0; i < n; ++i) { } } else { for (int i = 0; i < 2; ++i) { } }"
    assert counts(body, [-1, 0, 0], (8, 1, 1), n=4) == [8, 32, 0]
    assert counts(body, [-1, 0, 0], (8, 1, 1), n=2) == [8, 0, 16]


def test_loops_that_the_compiler_unrolled_are_left_out():
    body = f"for (int k = 0; k < 4; ++k) {{ a += b; }} {NEST}"
    assert counts(body, [-1, 0, 1], m=3, n=6) == [32, 96, 288]
    assert counts(body, [-1, 0, 0, 2], m=3, n=6) == [32, 128, 96, 288]


def test_bounds_may_depend_on_an_outer_loop():
    body = "for (int j = 2; j < n; ++j) { int end = j * 2; for (int i = 1; i < end; ++i) { } }"
    assert counts(body, [-1, 0, 1], (1, 1, 1), n=6) == [1, 4, 3 + 5 + 7 + 9]


def test_a_loop_that_was_unrolled_is_found_by_the_shape_of_the_others():
    body = f"{NEST} int left = min(8, n); for (int i = 0; i < left; ++i) {{ }}"
    assert counts(body, [-1, 0, 1], m=3, n=6) == [32, 96, 288]
    assert counts(body, [-1, 0, 0], m=3, n=6) == [32, None, None]  # either of the nest


def test_of_a_nest_the_loop_with_a_literal_bound_was_unrolled():
    body = "for (int i = 0; i < n; ++i) { for (int k = 0; k < min(4, m - i); ++k) { } }"
    assert counts(body, [-1, 0], m=3, n=6) == [32, 192]


def test_where_either_of_two_loops_may_be_unrolled_none_is_known():
    body = "for (int i = 0; i < m; ++i) { } for (int i = 0; i < n; ++i) { }"
    assert counts(body, [-1, 0], m=3, n=6) == [32, None]


def test_a_text_of_many_loops_is_not_paired():
    assert counts("for (int i = 0; i < n; ++i) { " * 20 + "}" * 20, [-1, 0], n=2) == [32, None]


def test_quotients_are_those_of_c():
    body = "int q = (0 - 7) / 2;\nint r = (0 - 7) % 2;\nfor (int i = q; i < r; ++i) { }"
    assert counts(body, [-1, 0], (1, 1, 1)) == [1, 2]


@pytest.mark.parametrize(
    "body",
    [
        "while (a < n) { a += 1; }",
        "do { a += 1; } while (a < n);",
        "int end = int(read_src(0, 0, 0).x);\nfor (int i = 0; i < end; ++i) { }",
        "do { a += b; if (a > 1.0) { s += 1; } } while (s < n);",
        "int s = 0; do { if (a > 1.0) { s += 1; } } while (s < n);",
        "int s = 0; do { s -= 1; } while (s < n);",
        "int s = 0; do { s += 1; } while (s != n);",
        "int s = 0; do { s += 1; } while (unknown < n);",
        "int s = 0; do { s += unknown; } while (s < n);",
        "int end = n;\nif (unknown > 1) { end = 3; }\nfor (int i = 0; i < end; ++i) { }",
        "for (int i = 0; i != n; ++i) { }",
        "for (int i = 0; i < n / 0; ++i) { }",
        "for (int i = 0; i < n; i += n - 5) { }",
        "for (int i = 0; i < n; i -= 1) { }",
    ],
)
def test_what_cannot_be_told_is_not_guessed(body):
    assert counts(body, [-1, 0], (4, 1, 1), n=5) == [4, None]


@pytest.mark.parametrize(
    ("body", "trips"),
    [
        ("int s = 0; do { a += b; s += 1; } while (s < n);", 5),
        ("int s = 0; do { s += 1; a += b; ++s; } while (s < n);", 3),
        ("int s = 9; do { s++; } while (s < n);", 1),  # once at least
        ("int s = GLOBAL_X; do { { a += b; } s += m; } while (s < n);", (3 + 2 + 2 + 1) / 4),
        ("if (n > 3) { int s = 0; do { s += 1; } while (s < n); }", 5),
        ("if (n > 7) { int s = 0; do { s += 1; } while (s < n); }", 0),
        ("int end = n; end += 1; for (int i = 0; i < end; ++i) { }", 6),
        ("int end = n; end *= m - 1; for (int i = 0; i < end; ++i) { }", 5),
        ("int end = n; end *= m; end -= 3; for (int i = 0; i < end; ++i) { }", 7),
    ],
)
def test_blocks_that_run_before_their_condition_and_numbers_that_change(body, trips):
    assert counts(body, [-1, 0], (4, 1, 1), n=5, m=2) == [4, 4 * trips]


def test_a_block_before_its_condition_may_lie_in_a_loop_and_hold_one():
    body = "for (int y = 0; y < m; ++y) { int s = 0; do { for (int k = 0; k < n; ++k) { } s += 1; } while (s < 3); }"
    assert counts(body, [-1, 0, 1, 2], (1, 1, 1), n=5, m=2) == [1, 2, 6, 30]


def test_what_a_loop_changes_is_not_known_in_it():
    body = "int end = n; for (int i = 0; i < m; ++i) { end += 1; for (int k = 0; k < end; ++k) { } }"
    assert counts(body, [-1, 0, 1], (1, 1, 1), n=5, m=2) == [1, 2, None]


@pytest.mark.parametrize(
    ("shape", "group", "wave", "width", "lanes"),
    [
        ((16, 4, 1), (16, 4, 1), 64, 16, 64),
        ((16, 4, 1), (16, 4, 1), 64, 1, 64),  # one column of the wave
        ((16, 4, 1), (8, 4, 1), 64, 16, 128),  # groups of half a wave
        ((16, 4, 1), (16, 4, 1), 16, 3, 64),  # each row is a wave
        ((16, 4, 1), (4, 4, 1), 16, 3, 16),  # three of four groups are beyond the edge
        ((16, 4, 1), (16, 4, 1), 64, 0, 0),
        ((20, 4, 3), (16, 4, 1), 64, 20, 6 * 64),
        ((16, 4, 2), (4, 2, 2), 8, 4, 2 * 2 * 8),
    ],
)
def test_lanes_of_started_waves(shape, group, wave, width, lanes):
    one = dispatch(shape, group, w=width)
    trips = loop_trips.of(text("if (GLOBAL_X >= w) { return; }", "w"), one)
    assert trips.count == min(width, shape[0]) * shape[1] * shape[2]
    assert trips.lanes(one.local, wave) == lanes


def test_texts_of_others_give_names_to_places_and_step_several_variables():
    body = """ivec3 gid = ivec3(gl_GlobalInvocationID.xyz);
ivec3 tid = ivec3(gl_LocalInvocationID);
const int threads = int(gl_WorkGroupSize.x);
if (gid.x >= w || gid.y >= sizes.w) { return; }
for (int d = tid.x, from = 0; d < n; d += threads, from += 4) { }
if (tid.x > 0) { return; }
for (int t = 1; t < threads; t++) { }
for (int i = 0; i < 3; ++i, ++at) { }
"""
    source = "uniform ivec4 sizes;\nvoid main() {\n" + body.replace(", from = 0", "") + "}\n"
    numbers = {"w": 6, "sizes.w": 1, "n": 9}
    trips = loop_trips.of(source, dispatch((8, 4, 1), (4, 1, 1)), numbers)
    assert [loop.is_fixed for loop in trips.loops] == [False, True, True]
    # 6 compute; of threads 0 to 3 the first has 3 trips, others 2; behind the second return two go on
    assert loop_trips.executions(trips, [-1, 0, 0, 0]) == [6, 3 + 2 + 2 + 2 + 3 + 2, 2 * 3, 2 * 3]
    assert loop_trips.executions(trips, [-1, 0]) == [6, 14]


def test_loops_that_do_not_pair_are_not_known():
    assert counts(NEST, [-1, 0, 0], m=3, n=6) == [32, None, None]


def test_numbers_that_the_dispatch_does_not_have_are_not_known():
    trips = loop_trips.of(text(NEST, "m", "n"), dispatch(m=3))
    assert loop_trips.executions(trips, [-1, 0, 1]) == [32, None, None]


@pytest.mark.parametrize(
    "body",
    ["for (", "if (a) {", "{ { {", "((((", "int x = ;", "for (;;) { }", "} } }", ";;;;", "{" * 9999, "if (a) " * 9999]
    + [f"int x = {one};" for one in ("(" * 9999, "-" * 9999, "1 ? " * 9999, "1 ? 2 : " * 999 + "3", "9" * 99)],
)
def test_any_text_comes_to_an_end(body):
    assert loop_trips.of(text(body), dispatch()).count == 32


def test_more_work_items_than_a_gpu_takes_are_refused():
    with pytest.raises(Misuse, match="work-items"):
        loop_trips.of(text(NEST, "m", "n"), dispatch((1 << 20, 1 << 10, 1), m=1, n=1))
