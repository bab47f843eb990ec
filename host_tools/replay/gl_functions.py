"""The functions of OpenGL ES 3.1 that a replay calls, by ctypes; errors of the driver become sentences."""

import ctypes
from typing import Any

from host_tools.base.errors import RunFailed, ToolMissing
from host_tools.drivers import gpus

_INT, _UINT, _SIZE, _POINTER = ctypes.c_int, ctypes.c_uint, ctypes.c_ssize_t, ctypes.c_void_p
_U64 = ctypes.c_uint64
# Name without gl: result, arguments.
_TABLE: dict[str, tuple[Any, ...]] = {
    "ActiveTexture": (None, _UINT),
    "AttachShader": (None, _UINT, _UINT),
    "BindBuffer": (None, _UINT, _UINT),
    "BindBufferRange": (None, _UINT, _UINT, _UINT, _SIZE, _SIZE),
    "BindFramebuffer": (None, _UINT, _UINT),
    "BindImageTexture": (None, _UINT, _UINT, _INT, ctypes.c_ubyte, _INT, _UINT, _UINT),
    "BindTexture": (None, _UINT, _UINT),
    "BufferData": (None, _UINT, _SIZE, _POINTER, _UINT),
    "CheckFramebufferStatus": (_UINT, _UINT),
    "ClientWaitSync": (_UINT, _POINTER, _UINT, _U64),
    "CompileShader": (None, _UINT),
    "CreateProgram": (_UINT,),
    "CreateShader": (_UINT, _UINT),
    "DeleteSync": (None, _POINTER),
    "DispatchCompute": (None, _UINT, _UINT, _UINT),
    "FenceSync": (_POINTER, _UINT, _UINT),
    "FramebufferTexture2D": (None, _UINT, _UINT, _UINT, _UINT, _INT),
    "GenBuffers": (None, _INT, _POINTER),
    "GenFramebuffers": (None, _INT, _POINTER),
    "GenTextures": (None, _INT, _POINTER),
    "GetError": (_UINT,),
    "GetInteger64v": (None, _UINT, _POINTER),
    "GetInteger64i_v": (None, _UINT, _UINT, _POINTER),
    "GetProgramInfoLog": (None, _UINT, _INT, _POINTER, _POINTER),
    "GetProgramiv": (None, _UINT, _UINT, _POINTER),
    "GetShaderInfoLog": (None, _UINT, _INT, _POINTER, _POINTER),
    "GetShaderiv": (None, _UINT, _UINT, _POINTER),
    "GetString": (ctypes.c_char_p, _UINT),
    "LinkProgram": (None, _UINT),
    "MapBufferRange": (_POINTER, _UINT, _SIZE, _SIZE, _UINT),
    "MemoryBarrier": (None, _UINT),
    "ReadPixels": (None, _INT, _INT, _INT, _INT, _UINT, _UINT, _POINTER),
    "ShaderSource": (None, _UINT, _INT, _POINTER, _POINTER),
    "TexParameteri": (None, _UINT, _UINT, _INT),
    "TexStorage2D": (None, _UINT, _INT, _UINT, _INT, _INT),
    "UnmapBuffer": (ctypes.c_ubyte, _UINT),
    "UseProgram": (None, _UINT),
}
_OPTIONAL = {"TexBufferRangeEXT": (None, _UINT, _UINT, _UINT, _SIZE, _SIZE)}
EXTENSIONS = 0x1F03
_COMPILE_STATUS, _LINK_STATUS, _COMPUTE_SHADER = 0x8B81, 0x8B82, 0x91B9
_LOG_BYTES = 4000


class Gl:
    """gl.DispatchCompute(…): a context of this thread, and its functions without their prefix."""

    def __init__(self) -> None:
        try:
            egl = gpus.load_egl()
        except OSError as error:
            raise _no_driver(str(error)) from error
        errors = []
        for display in gpus.displays(egl):
            self.words = gpus.open_gles(egl, display)
            if "error" not in self.words:
                break
            errors.append(self.words["error"])
        else:
            raise _no_driver("; ".join(errors) or "the EGL library offers no display")
        for name, (result, *arguments) in {**_TABLE, **_OPTIONAL}.items():
            address = egl.eglGetProcAddress(f"gl{name}".encode())
            if address:
                setattr(self, name, ctypes.CFUNCTYPE(result, *arguments)(address))
            elif name in _TABLE:
                raise _no_driver(f"it has no gl{name}")

    def __getattr__(self, name: str) -> Any:  # what __init__ did not find
        raise RunFailed(
            "replay the plan", f"this machine's driver has no gl{name}", "replay it on a machine whose driver has it"
        )

    def made(self, what: str) -> int:
        """A new object: `made("Buffers")`."""
        name = _UINT(0)
        getattr(self, f"Gen{what}")(1, ctypes.byref(name))
        return name.value

    def integer(self, what: int, index: int = -1) -> int:
        """A limit of the driver; index: of one that has several."""
        found = ctypes.c_int64(0)
        if index < 0:
            self.GetInteger64v(what, ctypes.byref(found))
        else:
            self.GetInteger64i_v(what, index, ctypes.byref(found))
        return found.value

    def check(self, tried: str) -> None:
        """RunFailed where a call since the last check failed."""
        error = self.GetError()
        if error:
            raise RunFailed(
                f"replay the plan: {tried}", f"OpenGL ES error 0x{error:x}", "`./inv plan show` shows what it asks for"
            )

    def program(self, source: str, name: str) -> int:
        """A linked compute program; RunFailed with the driver's log."""
        shader, program = self.CreateShader(_COMPUTE_SHADER), self.CreateProgram()
        text = source.encode("utf-8", "replace")
        letters = (ctypes.c_char_p * 1)(text)
        self.ShaderSource(shader, 1, letters, (ctypes.c_int * 1)(len(text)))
        self.CompileShader(shader)
        self._done("compile", name, self.GetShaderiv, self.GetShaderInfoLog, shader, _COMPILE_STATUS)
        self.AttachShader(program, shader)
        self.LinkProgram(program)
        self._done("link", name, self.GetProgramiv, self.GetProgramInfoLog, program, _LINK_STATUS)
        self.check(f"compile {name}")
        return int(program)

    def _done(self, verb: str, name: str, ask: Any, log_of: Any, thing: int, status: int) -> None:
        done = ctypes.c_int(0)
        ask(thing, status, ctypes.byref(done))
        if not done.value:
            log = ctypes.create_string_buffer(_LOG_BYTES)
            log_of(thing, _LOG_BYTES, None, log)
            told = log.value.decode("utf-8", "replace").strip() or "the driver left no log"
            raise RunFailed(f"{verb} {name}", told, "compare its text with that of a run: `./inv plan diff`")


def _no_driver(found: str) -> ToolMissing:
    return ToolMissing(
        "open an OpenGL ES 3.1 context", found, "install a driver (Debian: libegl-mesa0 libgl1-mesa-dri)"
    )
