"""A kernel's text in OpenCL's language as loop_trips reads it: in the words of OpenGL ES's. Only what decides how often loops run
is kept right."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from host_tools.record.checked_plan import Dispatch

_KERNEL = re.compile(r"__kernel\b[^(]*(?:\(\([^()]*(?:\([^()]*\))?[^()]*\)\))?\s*void\s+\w+\s*\(([^{]*)\)\s*\{")
_ASKED = re.compile(r"\bget_(global_id|local_id|group_id|local_size|num_groups)\(\s*([012])\s*\)")
_WORDS = {
    "global_id": "gl_GlobalInvocationID",
    "local_id": "gl_LocalInvocationID",
    "group_id": "gl_WorkGroupID",
    "local_size": "gl_WorkGroupSize",
    "num_groups": "gl_NumWorkGroups",
}
_CAST = re.compile(r"\((?:int|uint|place_t)\)\s*(?=[\w(])")
_SHARED = re.compile(r"__local\b[^;]*;")
_HEAD = re.compile(r"^[ \t]*#define[ \t]+(\w+)[ \t]+(__kernel\b.*)$", re.MULTILINE)
_PASSES_ON = re.compile(  # a macro of a value that is converted, or of a vector's parts
    r"^[ \t]*#define[ \t]+(\w+)\(([\w, ]+)\)[ \t]*\((int[234]?|float)\)\(([\w, ]+)\)[ \t]*$", re.MULTILINE
)
_SAMPLED = re.compile(r"\b(read_image[fh])\((\w+),\s*\w+,\s*")
_VECTOR = re.compile(r"\bint([234])(?=\s+\w+\s*=|\s*\()")
_PARAMETER = re.compile(r"(?:const\s+|restrict\s+)*(u?int|float|half)([234]?)\s+(\w+)$")
_NUMPY = {"int": "<i4", "uint": "<u4", "float": "<f4", "half": "<f2"}
_LETTERS = "xyzw"


def is_one(text: str) -> bool:
    return _KERNEL.search(_with_heads(text)) is not None


def as_shader(text: str) -> str:
    """With main() for the kernel."""
    text = _without_conversions(_SHARED.sub(";", _with_heads(text)))
    text = _ASKED.sub(lambda asked: f"{_WORDS[asked[1]]}.{'xyz'[int(asked[2])]}", text)
    text = _CAST.sub("", text)
    text = _VECTOR.sub(r"ivec\1", text)
    kernels = list(_KERNEL.finditer(text))
    if not kernels:
        return text
    return f"{text[: kernels[-1].start()]}\nvoid main() {{{text[kernels[-1].end() :]}"


def without_samplers(text: str) -> str:
    """Reads of images as those without a sampler, which return the same within the image."""
    return _SAMPLED.sub(r"\1(\2, ", text)


def _with_heads(text: str) -> str:
    """Without macros that stand for a kernel's head."""
    for name, head in _HEAD.findall(text):
        text = re.sub(rf"(?<!define )\b{name}\b", lambda _, head=head: head, _HEAD.sub("", text, count=1))  # type: ignore[misc]
    return text


def _without_conversions(text: str) -> str:
    """Without macros that stand for a type alone, as INIT_INT(value) for (int)(value)."""
    for name, parameters, kind, arguments in _PASSES_ON.findall(text):
        if parameters.replace(" ", "") == arguments.replace(" ", ""):
            text = re.sub(rf"(?<!define )\b{name}\(", f"{kind}(", text)
    return text


def arguments(text: str, given: Mapping[int, bytes]) -> dict[str, Any]:
    """Numbers by the names of the last kernel's parameters, a vector's with its letters. given: bytes of parameters, by
    their index; those of another size than the parameter's are left out."""
    kernels = _KERNEL.findall(_with_heads(text))
    found: dict[str, Any] = {}
    for index, declared in enumerate(kernels[-1].split(",") if kernels else []):
        parameter, content = _PARAMETER.match(declared.strip()), given.get(index)
        if not parameter or content is None:
            continue
        kind, size, name = parameter[1], int(parameter[2] or 1), parameter[3]
        width = 4 if size == 3 else size  # a vector of three lies as one of four
        cells = np.dtype(_NUMPY[kind])
        if len(content) == width * cells.itemsize:
            values = np.frombuffer(content, cells)[:size].astype(np.float64 if cells.kind == "f" else np.int64)
            names = [name] if size == 1 else [f"{name}.{letter}" for letter in _LETTERS]
            found |= {one: np.asarray(value) for one, value in zip(names, values)}
    return found


def numbers(text: str, dispatch: Dispatch) -> dict[str, Any]:
    """The kernel's whole and other numbers, by the names of its parameters; empty where it has another count of them."""
    kernels = _KERNEL.findall(text)
    names = [one.split()[-1].lstrip("*") for one in kernels[-1].split(",")] if kernels else []
    if len(names) != len(dispatch.args):
        return {}
    found: dict[str, Any] = {}
    for name, arg in zip(names, dispatch.args):
        if arg.kind != "Buffer":
            found[name] = np.asarray(arg.int_value if arg.kind == "Int" else arg.float_value)
    return found
