"""A C++ file that compares delegate_native/tflite/abi.h with TFLite's published headers: every struct, field and enum
value that ours has. It compiles, or the compiler says what differs."""

import re
from pathlib import Path

_STRUCT = re.compile(r"^struct (\w+) \{\n(.*?)^\};", re.M | re.S)
# Newer than the published headers: test_abi.py finds them in a running interpreter.
_NEWER = {"TfLiteBlockwiseQuantization", "kTfLiteInt2"}
_ENUM = re.compile(r"^enum (\w+)(?: : int)? \{(.*?)\};", re.M | re.S)


def text(abi: Path, headers: list[str]) -> str:
    """Theirs and ours are namespaces of one file. Their headers must not see C++: they would include parts of its
    library, which is not there for every target."""
    lines = ["#include <cstddef>", "#include <cstdint>", "#include <stdarg.h>", "#include <stdbool.h>", ""]
    lines += ['#pragma push_macro("__cplusplus")', "#undef __cplusplus"]
    lines += ["namespace theirs {", *(f'#include "{header}"' for header in headers), "}"]
    lines += ['#pragma pop_macro("__cplusplus")', "namespace ours {", f'#include "{abi}"', "}", ""]
    structs, enums = parse(abi.read_text(encoding="utf-8"))
    for name, fields in structs:
        lines += [f'static_assert(sizeof(ours::{name}) == sizeof(theirs::{name}), "size of {name}");']
        lines += [_same_place(name, field) for field in fields]
    for name, values in enums:
        lines += [f'static_assert(int(ours::{v}) == int(theirs::{v}), "{v}");' for v in values]
    return "\n".join(lines) + "\n"


def parse(source: str) -> tuple[list[tuple[str, list[str]]], list[tuple[str, list[str]]]]:
    """(structs with their fields, enums with their values) of abi.h."""
    enums = [(m.group(1), re.findall(r"(\w+) = ", m.group(2))) for m in _ENUM.finditer(source)]
    structs = [(m.group(1), _fields(m.group(2))) for m in _STRUCT.finditer(source)]
    structs = [(name, fields) for name, fields in structs if name not in _NEWER]
    return structs, [(name, [v for v in values if v not in _NEWER]) for name, values in enums]


def _fields(body: str) -> list[str]:
    statements = re.sub(r"//.*", "", body).replace("\n", " ").split(";")
    found = []
    for statement in statements:
        pointer, plain = re.search(r"\(\*(\w+)\)\s*\(", statement), re.search(r"(\w+)(\[\])?\s*$", statement)
        match = pointer or plain
        if match:
            found.append(match.group(1))
    return found


def _same_place(struct: str, field: str) -> str:
    places = " == ".join(f"offsetof({whose}::{struct}, {field})" for whose in ("ours", "theirs"))
    return f'static_assert({places}, "{struct}.{field}");'
