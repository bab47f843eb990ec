"""Compiles sources with one library, in a process of its own, which the library may end. Needs nothing but Python's library.

    python compile_in_child.py pocl|clspv LIBRARY FILE_WITH_PATHS

Prints a line of JSON before each source and behind it: {"begin": 3}, then {"end": 3, "refused": "why, or nothing"}.
"""

import ctypes
import importlib.util
import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

_ANY_DEVICE = ctypes.c_uint64(0xFFFFFFFF)
_BUILD_LOG = 0x1183
_OPTIONS = b"-cl-std=CL1.2 -cl-mad-enable"  # as a plan has them


def pocl(library: str) -> Callable[[str], str]:
    """A whole OpenCL library, which the system's loader finds by OCL_ICD_VENDORS: its CPU's compiler."""
    cl = ctypes.CDLL("libOpenCL.so.1")
    cl.clCreateContext.restype = cl.clCreateProgramWithSource.restype = ctypes.c_void_p
    platform, device, code = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
    if cl.clGetPlatformIDs(1, ctypes.byref(platform), None) or cl.clGetDeviceIDs(
        platform, _ANY_DEVICE, 1, ctypes.byref(device), None
    ):
        raise SystemExit(f"{library} has no device")
    context = ctypes.c_void_p(cl.clCreateContext(None, 1, ctypes.byref(device), None, None, ctypes.byref(code)))

    def log(program: ctypes.c_void_p) -> str:
        size = ctypes.c_size_t()
        cl.clGetProgramBuildInfo(program, device, _BUILD_LOG, ctypes.c_size_t(0), None, ctypes.byref(size))
        text = ctypes.create_string_buffer(size.value + 1)
        cl.clGetProgramBuildInfo(program, device, _BUILD_LOG, size, text, None)
        return text.value.decode(errors="replace").strip()

    def compile_one(source: str) -> str:
        text = ctypes.c_char_p(source.encode())
        made = cl.clCreateProgramWithSource(context, 1, ctypes.byref(text), None, ctypes.byref(code))
        program = ctypes.c_void_p(made)
        failed = cl.clBuildProgram(program, 1, ctypes.byref(device), _OPTIONS, None, None)
        refused = (log(program) or f"error: clBuildProgram gave {failed}") if failed else ""
        cl.clReleaseProgram(program)
        return refused

    return compile_one


def clspv(library: str) -> Callable[[str], str]:
    """A Python module."""
    spec = importlib.util.spec_from_file_location("pyclspv", library)
    assert spec and spec.loader, library
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def compile_one(source: str) -> str:
        try:
            return "" if module.compile(source) else "error: no SPIR-V came out"
        except RuntimeError as error:  # why is on stderr
            return f"error: {error}"

    return compile_one


def main() -> None:
    kind, library, listed = sys.argv[1:]
    compile_one = {"pocl": pocl, "clspv": clspv}[kind](library)
    answers = os.fdopen(os.dup(1), "w")
    sys.stderr = os.fdopen(os.dup(2), "w")  # Python's own, where the library's is read below
    with tempfile.TemporaryFile() as printed:
        os.dup2(printed.fileno(), 1)
        os.dup2(printed.fileno(), 2)
        for index, path in enumerate(Path(listed).read_text(encoding="utf-8").splitlines()):
            print(json.dumps({"begin": index}), file=answers, flush=True)
            os.ftruncate(printed.fileno(), 0)
            os.lseek(printed.fileno(), 0, os.SEEK_SET)
            refused = compile_one(Path(path).read_text(encoding="utf-8"))
            os.lseek(printed.fileno(), 0, os.SEEK_SET)
            said = os.read(printed.fileno(), 1 << 20).decode(errors="replace")
            print(
                json.dumps({"end": index, "refused": refused and f"{said.strip()}\n{refused}".strip()}),
                file=answers,
                flush=True,
            )


if __name__ == "__main__":
    main()
