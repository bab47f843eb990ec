"""Compiles sources with one library, in a process of its own, which the library may end. Needs nothing but Python's library.

    python compile_in_child.py pocl|clspv|gles LIBRARY FILE_WITH_PATHS

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
from typing import Any

_ANY_DEVICE = ctypes.c_uint64(0xFFFFFFFF)
_BUILD_LOG = 0x1183
_OPTIONS = b"-cl-std=CL1.2 -cl-mad-enable"  # as a plan has them

_EGL_NONE, _EGL_SURFACE_TYPE, _EGL_RENDERABLE_TYPE, _EGL_OPENGL_ES3_BIT = 0x3038, 0x3033, 0x3040, 0x40
_EGL_OPENGL_ES_API, _EGL_MAJOR_VERSION, _EGL_MINOR_VERSION = 0x30A0, 0x3098, 0x30FB
_GL_COMPUTE_SHADER, _GL_COMPILE_STATUS, _GL_LINK_STATUS = 0x91B9, 0x8B81, 0x8B82


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


def _gles_functions(library: str) -> Any:
    """eglGetProcAddress of a library whose context is this thread's."""
    egl = ctypes.CDLL(library)
    find = egl.eglGetProcAddress
    find.restype = egl.eglGetDisplay.restype = egl.eglCreateContext.restype = ctypes.c_void_p
    display = ctypes.c_void_p(egl.eglGetDisplay(None))
    config, count = ctypes.c_void_p(), ctypes.c_int()
    wanted = (ctypes.c_int * 5)(_EGL_RENDERABLE_TYPE, _EGL_OPENGL_ES3_BIT, _EGL_SURFACE_TYPE, 0, _EGL_NONE)
    version = (ctypes.c_int * 5)(_EGL_MAJOR_VERSION, 3, _EGL_MINOR_VERSION, 1, _EGL_NONE)
    ready = egl.eglInitialize(display, None, None) and egl.eglBindAPI(_EGL_OPENGL_ES_API)
    ready = ready and egl.eglChooseConfig(display, wanted, ctypes.byref(config), 1, ctypes.byref(count))
    context = ctypes.c_void_p(egl.eglCreateContext(display, config, None, version)) if ready else None
    if not context or not egl.eglMakeCurrent(display, None, None, context):
        raise SystemExit(f"{library} makes no context of OpenGL ES 3.1")
    return find


def gles(library: str) -> Callable[[str], str]:
    """A libEGL with OpenGL ES 3.1: compiles and links compute shaders."""
    find = _gles_functions(library)

    def function(name: str, *types: Any, returns: Any = None) -> Any:
        return ctypes.CFUNCTYPE(returns, *types)(find(name.encode()))

    number, numbers = ctypes.c_uint, ctypes.POINTER(ctypes.c_int)
    texts = ctypes.POINTER(ctypes.c_char_p)
    make = function("glCreateShader", number, returns=number)
    set_source = function("glShaderSource", number, ctypes.c_int, texts, numbers)
    compile_shader = function("glCompileShader", number)
    make_program = function("glCreateProgram", returns=number)
    attach = function("glAttachShader", number, number)
    link = function("glLinkProgram", number)
    logs = {
        kind: (
            function(f"glGet{kind}iv", number, number, numbers),
            function(f"glGet{kind}InfoLog", number, ctypes.c_int, numbers, ctypes.c_char_p),
            function(f"glDelete{kind}", number),
        )
        for kind in ("Shader", "Program")
    }

    def refusal(kind: str, status: int, one: int) -> str:
        ask, read, _ = logs[kind]
        value = ctypes.c_int()
        ask(one, status, ctypes.byref(value))
        if value.value:
            return ""
        log = ctypes.create_string_buffer(1 << 16)
        read(one, len(log), None, log)
        return log.value.decode(errors="replace").strip() or f"ERROR: it says nothing of the {kind.lower()}"

    def compile_one(source: str) -> str:
        shader, program = make(_GL_COMPUTE_SHADER), make_program()
        set_source(shader, 1, ctypes.byref(ctypes.c_char_p(source.encode())), None)
        compile_shader(shader)
        refused = refusal("Shader", _GL_COMPILE_STATUS, shader)
        if not refused:
            attach(program, shader)
            link(program)
            refused = refusal("Program", _GL_LINK_STATUS, program)
        for kind, one in (("Program", program), ("Shader", shader)):
            logs[kind][2](one)
        return refused

    return compile_one


def main() -> None:
    kind, library, listed = sys.argv[1:]
    compile_one = {"pocl": pocl, "clspv": clspv, "gles": gles}[kind](library)
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
