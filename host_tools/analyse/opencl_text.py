"""A kernel's text in OpenCL's language as loop_trips reads it: in the words of OpenGL ES's. Only what decides how often loops run
is kept right."""

import re
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


def is_one(text: str) -> bool:
    return _KERNEL.search(text) is not None


def as_shader(text: str) -> str:
    """With main() for the kernel."""
    text = _SHARED.sub(";", text)
    text = _ASKED.sub(lambda asked: f"{_WORDS[asked[1]]}.{'xyz'[int(asked[2])]}", text)
    text = _CAST.sub("", text)
    kernels = list(_KERNEL.finditer(text))
    if not kernels:
        return text
    return f"{text[: kernels[-1].start()]}\nvoid main() {{{text[kernels[-1].end() :]}"


def numbers(text: str, dispatch: Dispatch) -> dict[str, Any]:
    """The kernel's whole and other numbers, by the names of its parameters; empty where it has another count of them."""
    kernels = _KERNEL.findall(text)
    names = [one.split()[-1].lstrip("*") for one in kernels[-1].split(",")] if kernels else []
    if len(names) != len(dispatch.args):
        return {}
    found = {}
    for name, arg in zip(names, dispatch.args):
        if arg.kind != "Buffer":
            found[name] = np.asarray(arg.int_value if arg.kind == "Int" else arg.float_value)
    return found
