"""Resource variables that are assigned before they are read: what they keep is in tests/test_variables.py."""

from __future__ import annotations

import numpy as np

from tests.variable_models import assign, handle, read
from tests.vectors.case import Case, Feed

_SHAPE = (2, 3, 7)
_HALF, _TWO = np.float32([0.5]), np.float32([2])


def _read(m, x):
    at = handle(m, "vectors/read")
    assign(m, at, m.add(m.mul(x, _HALF), _TWO))
    return m.mul(read(m, at, x.shape), x)


def _assign_twice(m, x):
    at = handle(m, "vectors/assign")
    assign(m, at, m.mul(x, _TWO))
    first = read(m, at, x.shape)
    assign(m, at, m.mul(x, _HALF))
    return m.add(first, read(m, at, x.shape)), first


def _two_handles(m, x):
    assign(m, handle(m, "vectors/one"), m.mul(x, _TWO))
    assign(m, handle(m, "vectors/other"), m.mul(x, _HALF))
    return m.elementwise(
        "SUB",
        read(m, handle(m, "vectors/one"), x.shape),
        read(m, handle(m, "vectors/other"), x.shape),
        kind="SubOptions",
    )


def _ints(m, x):
    at = handle(m, "vectors/ints")
    assign(m, at, m.add(x, x))
    return read(m, at, x.shape, "int32")


CASES = [
    Case("READ_VARIABLE", "computed", [_SHAPE], _read, lambda x: (x * 0.5 + 2) * x),
    Case("READ_VARIABLE", "ints", [Feed(_SHAPE, -100, 100, dtype="int32")], _ints, lambda x: x + x),
    Case("ASSIGN_VARIABLE", "twice", [_SHAPE], _assign_twice, lambda x: (x * 2.5, x * 2)),
    Case("VAR_HANDLE", "two_names", [(1, 5)], _two_handles, lambda x: x * 1.5),
]
