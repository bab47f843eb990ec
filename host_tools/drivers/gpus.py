"""The GPU devices of this machine, as their APIs list them: OpenCL's and OpenGL ES's.

Each API is asked in a process of its own, with a deadline: a driver may take its process down, and two of them in
one process may not agree (with pyopencl's own driver loaded after Mesa, LLVM ends the process). Starts on a bare
Python 3.9.
"""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Iterator
from typing import Any

from host_tools.base import child_process, settings
from host_tools.base.errors import QuadraError
from host_tools.drivers.driver import Entry

Devices = list[dict[str, Any]]

_DEADLINE_S = 60.0
_EGL = "libEGL.so.1"
_SIMULATOR = "Oclgrind"  # an OpenCL platform for tests, inside a Python package
_PLATFORM_DEVICE, _PLATFORM_SURFACELESS = 0x313F, 0x31DD  # of EGL
_OPENGL_ES_API = 0x30A0
_CONTEXT_3_1 = (0x3098, 3, 0x30FB, 1, 0x3038)  # EGL_CONTEXT_MAJOR_VERSION, 3, …MINOR_VERSION, 1, EGL_NONE
_GL_VENDOR, _GL_RENDERER, _GL_VERSION = 0x1F00, 0x1F01, 0x1F02


def opencl(entry: Entry | None = None) -> Devices:
    """OpenCL devices that pyopencl sees; one entry with `error` where they cannot be listed.

    entry: of a driver other than the usual one, or environment variables for it.
    """
    return _ask("opencl", entry or Entry())


def gles(entry: Entry | None = None) -> Devices:
    """Devices that give an OpenGL ES 3.1 context; one entry with `error` where none does."""
    return _ask("gles", entry or Entry())


def _ask(api: str, entry: Entry) -> Devices:
    more = {**entry.env, "PYTHONPATH": str(settings.ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    argv = [sys.executable, "-m", "host_tools.drivers.gpus", api, entry.options.get("egl_library", _EGL)]
    try:
        done = child_process.run(entry.command(argv), timeout_s=_DEADLINE_S, env=more)
        devices: Devices = json.loads(done.stdout.splitlines()[-1])
        return devices
    except (QuadraError, ValueError, IndexError) as error:
        # The last line is the one that says it: of a traceback, or of a driver that ended the process.
        return [{"error": str(getattr(error, "came_back", error)).splitlines()[-1].lstrip(" |")}]


def _list_opencl() -> Devices:
    import pyopencl

    return [
        {
            "platform": f"{platform.name} {platform.version}",
            "name": device.name,
            "type": _type(device.type),
            "vendor": device.vendor,
            "version": device.version,
            "driver": device.driver_version,
            "compute_units": device.max_compute_units,
            "global_memory_bytes": device.global_mem_size,
            "local_memory_bytes": device.local_mem_size,
            "max_work_group_size": device.max_work_group_size,
            "extensions": device.extensions.split(),
        }
        for platform in pyopencl.get_platforms()
        if platform.name != _SIMULATOR
        for device in platform.get_devices()
    ]


def _type(bits: int) -> str:
    """CL_DEVICE_TYPE_…"""
    return "gpu" if bits & 4 else "cpu" if bits & 2 else "other"


def load_egl(library: str = _EGL) -> ctypes.CDLL:
    """The system's EGL library, or another. OSError: there is none."""
    egl = ctypes.CDLL(library)
    for name in ("eglGetProcAddress", "eglGetDisplay", "eglCreateContext"):
        getattr(egl, name).restype = ctypes.c_void_p
    return egl


def _list_gles(library: str) -> Devices:
    egl = load_egl(library)
    found: Devices = []
    reasons: list[str] = []
    for display in displays(egl):
        device = open_gles(egl, display)
        if "error" in device:
            reasons.append(device["error"])
        elif device not in found:
            found.append(device)
    return found or [{"error": "; ".join(dict.fromkeys(reasons)) or "the EGL library offers no display"}]


def displays(egl: ctypes.CDLL) -> Iterator[int]:
    """What needs no window system first: the EGL devices, then surfaceless, then the default."""
    get_display = _extension(egl, b"eglGetPlatformDisplayEXT", ctypes.c_uint, ctypes.c_void_p, ctypes.c_void_p)
    query = _extension(egl, b"eglQueryDevicesEXT", ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    devices, count = (ctypes.c_void_p * 16)(), ctypes.c_int(0)
    if get_display and query and query(16, devices, ctypes.byref(count)):
        yield from filter(None, (get_display(_PLATFORM_DEVICE, device, None) for device in devices[: count.value]))
    others = [get_display(_PLATFORM_SURFACELESS, None, None) if get_display else 0, egl.eglGetDisplay(None)]
    yield from filter(None, others)


def _extension(egl: ctypes.CDLL, name: bytes, *arguments: Any) -> Any:
    """A function that not every EGL has; None where it has not."""
    address = egl.eglGetProcAddress(name)
    return ctypes.CFUNCTYPE(ctypes.c_void_p, *arguments)(address) if address else None


def open_gles(egl: ctypes.CDLL, number: int) -> dict[str, Any]:
    """Makes an OpenGL ES 3.1 context of a display this thread's; the device's words, or `error`."""
    display = ctypes.c_void_p(number)
    if not egl.eglInitialize(display, None, None):
        return _egl_error(egl, "eglInitialize")
    egl.eglBindAPI(_OPENGL_ES_API)
    words = (ctypes.c_int * len(_CONTEXT_3_1))(*_CONTEXT_3_1)
    context = egl.eglCreateContext(display, None, None, words)
    if not context:
        return _egl_error(egl, "eglCreateContext(OpenGL ES 3.1)")
    if not egl.eglMakeCurrent(display, None, None, ctypes.c_void_p(context)):
        return _egl_error(egl, "eglMakeCurrent")
    get_string = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_uint)(egl.eglGetProcAddress(b"glGetString"))
    names = (("name", _GL_RENDERER), ("vendor", _GL_VENDOR), ("version", _GL_VERSION))
    return {key: (get_string(what) or b"").decode("utf-8", "replace") for key, what in names}


def _egl_error(egl: ctypes.CDLL, call: str) -> dict[str, Any]:
    return {"error": f"{call} failed with EGL error 0x{egl.eglGetError():x}"}


def main(api: str, egl_library: str) -> None:
    """The process that is asked: prints the devices as one line of JSON."""
    try:
        found = _list_opencl() if api == "opencl" else _list_gles(egl_library)
    except Exception as error:  # of any library: what it says is the answer
        found = [{"error": f"{type(error).__name__}: {error}"}]
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
