"""Values as JSON: nothing is lost but bytes, and nothing is written that JSON does not have."""

import json
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
import pytest

from host_tools.base import json_text


@dataclass
class Inner:
    value: float
    _own: int = 1


class Outer(msgspec.Struct):
    inner: Inner
    rows: tuple[int, ...] = (1, 2)


def test_values_become_what_json_has():
    given = {
        "a": Outer(Inner(float("nan"))),
        "b": [float("-inf"), 0.1, None, True, "é"],
        "path": Path("/x"),
        3: b"123",
        "array": np.zeros(5, np.uint8),
        "error": ValueError("why"),
        "set": {7},
    }
    assert json.loads(json_text.text(given)) == {
        "a": {"inner": {"value": "nan"}, "rows": [1, 2]},
        "b": ["-inf", 0.1, None, True, "é"],
        "path": "/x",
        "3": 3,
        "array": 5,
        "error": "why",
        "set": [7],
    }


def test_what_json_does_not_have_is_refused():
    with pytest.raises(TypeError, match="object is nothing"):
        json_text.text([object()])
