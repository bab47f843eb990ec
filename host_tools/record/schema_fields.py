"""What the types of JSON files are made of: bounded numbers and texts, the bases of a file and of a part of one."""

from typing import Annotated, Any, ClassVar, Literal, Protocol, TypeVar

import msgspec
from msgspec import Meta, Struct

VERSION = 1  # of the whole folder: changes when a reader of the old form would be wrong
T = TypeVar("T")

Text = Annotated[str, Meta(max_length=1 << 16)]  # names of tensors may be those of all ops that were merged
Count = Annotated[int, Meta(ge=0, le=1 << 53)]  # what a double holds exactly: JSON's numbers are doubles to many
Index = Annotated[int, Meta(ge=-1, le=1 << 31)]  # -1: none
Whole = Annotated[int, Meta(ge=-(1 << 53), le=1 << 53)]
DriverNs = Annotated[int, Meta(ge=-(1 << 63), le=(1 << 63) - 1)]  # whatever a driver says
Amount = Annotated[float, Meta(ge=0, le=1e18)]
Real = float | Literal["inf", "-inf", "nan"]  # JSON has no infinity: it is a word
Counts = Annotated[list[Count], Meta(max_length=1 << 20)]
Indexes = Annotated[list[Index], Meta(max_length=1 << 20)]
Texts = Annotated[list[Text], Meta(max_length=1 << 16)]
Words = dict[Text, Text]


def Is(text: str) -> Meta:
    """What a field means, for the page."""
    return Meta(description=text)


class Kept(Protocol):
    """What stands in a file of its own: each File, and the RunSpec."""

    FILE: ClassVar[str]  # its name in the run folder


class File(Struct, kw_only=True):
    """Base of what stands in a file of its own."""

    FILE: ClassVar[str]  # its name in the run folder
    schema_version: Annotated[int, Is("1")] = VERSION


class Part(Struct, kw_only=True):
    """Base of what stands inside of one."""


def of(kind: type[T], value: Any) -> T:
    """A plain value as its type. msgspec.ValidationError: it is not of it, and where."""
    return msgspec.convert(value, kind)


def plain(value: Any) -> Any:
    """A value of these types as JSON has it."""
    return msgspec.to_builtins(value)


def number(value: float) -> Real:
    """A float as JSON can hold it."""
    return value if -float("inf") < value < float("inf") else str(float(value))  # type: ignore[return-value]  # inf, -inf, nan
