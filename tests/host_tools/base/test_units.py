"""Numbers as tables and pages show them."""

import pytest

from host_tools.base import units


@pytest.mark.parametrize(
    "numbers, text",
    [((), ""), ((7,), "7"), ((79, 78), "78-79"), (range(100, 120), "100-119"), ((1, 3, 4, 5, 9), "1,3-5,9")],
)
def test_numbers_that_follow_each_other_are_a_range(numbers, text):
    assert units.ranges_text(numbers) == text


def test_one_byte_is_no_bytes():
    assert [units.size_text(n) for n in (0, 1, 2, 1024)] == ["0 bytes", "1 byte", "2 bytes", "1.0 KiB"]
