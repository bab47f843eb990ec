"""Values as JSON for programs: what tasks print with --json that have no type of their own in record/printed.py."""

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Any

import msgspec


def text(value: Any) -> str:
    """A document as it is printed. Numbers that JSON does not have are `"nan"`, `"inf"` and `"-inf"`; bytes, their count."""
    return json.dumps(plain(value), indent=1, ensure_ascii=False, allow_nan=False)


def plain(value: Any) -> Any:
    """A value of dataclasses, structs and plain ones as JSON has it. An error is its sentence."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, bytes):
        return len(value)
    if (size := getattr(value, "nbytes", None)) is not None:  # an array, as plans have for bytes
        return int(size)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {one.name: plain(getattr(value, one.name)) for one in dataclasses.fields(value) if one.name[0] != "_"}
    if isinstance(value, msgspec.Struct):
        return plain(msgspec.structs.asdict(value))
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (Sequence, Set)):
        return [plain(one) for one in value]
    if isinstance(value, (Path, Exception)):
        return str(value)
    raise TypeError(f"{type(value).__name__} is nothing that JSON has")
