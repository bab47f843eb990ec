"""A plan on OpenGL ES, as delegate_native/runtime/gles runs it."""

import ctypes
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from host_tools.base.errors import RunFailed
from host_tools.record.checked_plan import Arg, Buffer, Dispatch, Plan, Program, Tensor
from host_tools.replay import executor
from host_tools.replay.gl_functions import EXTENSIONS, Gl

_SHADER_BUFFER, _UNIFORM_BUFFER, _TEXTURE_2D, _TEXTURE_BUFFER, _TEXTURE0 = 0x90D2, 0x8A11, 0x0DE1, 0x8C2A, 0x84C0
_DYNAMIC_COPY, _STATIC_DRAW = 0x88EA, 0x88E4
_MIN_FILTER, _MAG_FILTER, _NEAREST = 0x2801, 0x2800, 0x2600
_READ_ONLY, _WRITE_ONLY = 0x88B8, 0x88B9
_MAP_READ, _MAP_WRITE = 0x1, 0x2
_BARRIERS = 0x2000 | 0x20 | 0x8 | 0x200 | 0x400  # storage, images, texture fetches, buffer updates, framebuffers
_FRAMEBUFFER, _COLOUR, _COMPLETE = 0x8D40, 0x8CE0, 0x8CD5
_RGBA, _RGBA_INTEGER, _FLOAT, _INT = 0x1908, 0x8D99, 0x1406, 0x1404
_FORMAT = {"Float": 0x8814, "Half": 0x881A, "Int": 0x8D82}  # RGBA32F, RGBA16F, RGBA32I
_VIEW = {
    "TexelsFloat4": 0x8814,
    "TexelsHalf4": 0x881A,
    "TexelsFloat": 0x822E,
    "TexelsInt4": 0x8D82,
    "TexelsInt": 0x8235,
}
_MAX_STORAGE_BLOCK, _MAX_TEXTURE, _UNIFORM_ALIGNMENT = 0x90DE, 0x0D33, 0x8A34
_MAX_INVOCATIONS, _MAX_GROUPS = 0x90EB, 0x91BE
_SYNC_COMPLETE, _FLUSH, _TIMED_OUT = 0x9117, 0x1, 0x911B
_WAIT_NS = 1_000_000_000
_TOTAL_BYTES = 1 << 33
_EXTENSION = r"#\s*extension\s+(\w+)\s*:\s*(?:enable|require)"


@dataclass(frozen=True)
class _Image:
    """An image unit's texture."""

    texture: int
    access: int
    format: int


@dataclass
class _Launch:
    """A dispatch's bindings, each kind from 0 on in the order of its arguments."""

    program: int
    groups: tuple[int, ...]
    numbers: tuple[int, int]  # offset and bytes in the buffer of all numbers
    buffers: list[tuple[int, int, int]] = field(default_factory=list)  # name, offset, bytes
    textures: list[int] = field(default_factory=list)
    images: list[_Image] = field(default_factory=list)


class GlesExecutor:
    def __init__(self, plan: Plan) -> None:
        self.plan, self.notes, self._gl = plan, list[str](), Gl()
        words = self._gl.words
        self.device = f"{words['name']}; {words['version']}"
        self._check()
        self._buffers = [self._make(buffer) for buffer in plan.buffers]
        self._texels: dict[tuple[int, str], int] = {}
        self._gl.check("make its memory")
        programs = [self._build(program) for program in plan.programs]
        numbers: list[bytes] = []
        self._launches = [self._prepare(dispatch, programs, numbers) for dispatch in plan.dispatches]
        self._numbers = self._upload(_UNIFORM_BUFFER, b"".join(numbers) or bytes(16))
        self._gl.check("bind its arguments")

    def write(self, tensor: Tensor, numbers: np.ndarray) -> None:
        memory = self._map(tensor, _MAP_WRITE)
        ctypes.memmove(memory, numbers.ctypes.data, numbers.nbytes)
        self._unmap(f"write '{tensor.name}'")

    def run(self, dispatch: int) -> None:
        self._launch(self._launches[dispatch])
        self._wait(self.plan.dispatches[dispatch].name)
        self._gl.check(f"launch {self.plan.dispatches[dispatch].name}")

    def run_timed(self) -> list[float]:
        """By waits: software drivers' timers count nothing."""
        found = []
        for number in range(len(self._launches)):
            started = time.perf_counter_ns()
            self.run(number)
            found.append((time.perf_counter_ns() - started) * 1e-3)
        return found

    def read(self, tensor: Tensor) -> np.ndarray:
        if self.plan.buffers[tensor.buffer].kind == "Image":
            return tensor.numbers(self._pixels(tensor))
        memory = self._map(tensor, _MAP_READ)
        stored = np.frombuffer(ctypes.string_at(memory, tensor.bytes), tensor.dtype)
        self._unmap(f"read '{tensor.name}'")
        return tensor.numbers(stored)

    def _check(self) -> None:
        gl, plan = self._gl, self.plan
        executor.check_memory(plan, gl.integer(_MAX_STORAGE_BLOCK), _TOTAL_BYTES)
        executor.check_extensions(plan, _EXTENSION, (gl.GetString(EXTENSIONS) or b"").decode("utf-8", "replace"))
        most_side, most_items = gl.integer(_MAX_TEXTURE), gl.integer(_MAX_INVOCATIONS)
        most_groups = [gl.integer(_MAX_GROUPS, axis) for axis in range(3)]
        for buffer in plan.buffers:
            if buffer.kind == "Image" and max(buffer.width, buffer.height) > most_side:
                raise executor.lacks(
                    f"make an image of {buffer.width} × {buffer.height}", f"the device allows {most_side}"
                )
        for dispatch in plan.dispatches:
            items = dispatch.local[0] * dispatch.local[1] * dispatch.local[2]
            if items > most_items:
                raise executor.lacks(
                    f"launch {dispatch.name}", f"its groups have {items} work-items; the device allows {most_items}"
                )
            if any(count > most for count, most in zip(self._groups(dispatch), most_groups)):
                raise executor.lacks(
                    f"launch {dispatch.name}", f"it has more groups than the device allows: {most_groups}"
                )
        for number, program in enumerate(plan.programs):
            if len(program.kernels) != 1:
                raise RunFailed(
                    "replay the plan",
                    f"program {number} has {len(program.kernels)} kernels, of OpenGL ES one",
                    "make it again",
                )

    def _groups(self, dispatch: Dispatch) -> tuple[int, ...]:
        return tuple(items // group for items, group in zip(dispatch.global_, dispatch.local))

    def _make(self, buffer: Buffer) -> int:
        gl = self._gl
        if buffer.kind != "Image":
            data = buffer.data.tobytes() if buffer.kind == "Constant" else bytes(buffer.bytes)
            return self._upload(_SHADER_BUFFER, data)
        made = gl.made("Textures")
        gl.BindTexture(_TEXTURE_2D, made)
        gl.TexStorage2D(_TEXTURE_2D, 1, _FORMAT[buffer.cell], buffer.width, buffer.height)
        # A float texture with another filter reads as zeros.
        gl.TexParameteri(_TEXTURE_2D, _MIN_FILTER, _NEAREST)
        gl.TexParameteri(_TEXTURE_2D, _MAG_FILTER, _NEAREST)
        return made

    def _upload(self, target: int, data: bytes) -> int:
        made = self._gl.made("Buffers")
        self._gl.BindBuffer(target, made)
        self._gl.BufferData(target, len(data), data, _STATIC_DRAW if target == _UNIFORM_BUFFER else _DYNAMIC_COPY)
        return made

    def _build(self, program: Program) -> int:
        (kernel,) = program.kernels
        return self._gl.program(program.prelude + kernel.source, kernel.entry)

    def _prepare(self, dispatch: Dispatch, programs: Sequence[int], numbers: list[bytes]) -> _Launch:
        """Appends the dispatch's numbers to `numbers`, where a binding may begin."""
        step = max(16, self._gl.integer(_UNIFORM_ALIGNMENT))
        begin = sum(map(len, numbers))
        made = [
            np.int32(arg.int_value).tobytes() if arg.kind == "Int" else np.float32(arg.float_value).tobytes()
            for arg in dispatch.args
            if arg.kind != "Buffer"
        ]
        packed = b"".join(made)
        size = -(-len(packed) // 16) * 16  # of a block
        numbers.append(packed.ljust(-(-size // step) * step, b"\0"))
        launch = _Launch(programs[dispatch.program], self._groups(dispatch), (begin, size))
        for arg in dispatch.args:
            if arg.kind == "Buffer":
                self._bind(arg, launch)
        return launch

    def _bind(self, arg: Arg, launch: _Launch) -> None:
        region = self.plan.region(arg)
        buffer, name = self.plan.buffers[region.buffer], self._buffers[region.buffer]
        if buffer.kind == "Image":
            if arg.written:
                launch.images.append(_Image(name, _WRITE_ONLY, _FORMAT[buffer.cell]))
            else:
                launch.textures.append(name)
        elif arg.view == "Memory":
            launch.buffers.append((name, region.offset, region.bytes))
        else:
            launch.images.append(_Image(self._texels_of(arg), _READ_ONLY, _VIEW[arg.view]))

    def _texels_of(self, arg: Arg) -> int:
        """A region as an image of one row."""
        key = (arg.index, arg.view)
        if key not in self._texels:
            gl, region = self._gl, self.plan.region(arg)
            self._texels[key] = made = gl.made("Textures")
            gl.BindTexture(_TEXTURE_BUFFER, made)
            gl.TexBufferRangeEXT(
                _TEXTURE_BUFFER, _VIEW[arg.view], self._buffers[region.buffer], region.offset, region.bytes
            )
        return self._texels[key]

    def _launch(self, launch: _Launch) -> None:
        gl = self._gl
        gl.UseProgram(launch.program)
        if launch.numbers[1]:
            gl.BindBufferRange(_UNIFORM_BUFFER, 0, self._numbers, *launch.numbers)
        for unit, (name, offset, size) in enumerate(launch.buffers):
            gl.BindBufferRange(_SHADER_BUFFER, unit, name, offset, size)
        for unit, texture in enumerate(launch.textures):
            gl.ActiveTexture(_TEXTURE0 + unit)
            gl.BindTexture(_TEXTURE_2D, texture)
        for unit, image in enumerate(launch.images):
            gl.BindImageTexture(unit, image.texture, 0, 0, 0, image.access, image.format)
        gl.DispatchCompute(*launch.groups)
        gl.MemoryBarrier(_BARRIERS)

    def _wait(self, name: str) -> None:
        fence = self._gl.FenceSync(_SYNC_COMPLETE, 0)
        while self._gl.ClientWaitSync(fence, _FLUSH, _WAIT_NS) == _TIMED_OUT:
            pass  # the process has a deadline
        self._gl.DeleteSync(fence)

    def _map(self, tensor: Tensor, how: int) -> int:
        self._gl.BindBuffer(_SHADER_BUFFER, self._buffers[tensor.buffer])
        memory = self._gl.MapBufferRange(_SHADER_BUFFER, tensor.offset, tensor.bytes, how)
        self._gl.check(f"map '{tensor.name}'")
        return int(memory)

    def _unmap(self, tried: str) -> None:
        self._gl.UnmapBuffer(_SHADER_BUFFER)
        self._gl.check(tried)

    def _pixels(self, tensor: Tensor) -> np.ndarray:
        """Of an image, through a framebuffer: halves come as floats."""
        gl, buffer = self._gl, self.plan.buffers[tensor.buffer]
        framebuffer = gl.made("Framebuffers")
        gl.BindFramebuffer(_FRAMEBUFFER, framebuffer)
        gl.FramebufferTexture2D(_FRAMEBUFFER, _COLOUR, _TEXTURE_2D, self._buffers[tensor.buffer], 0)
        if gl.CheckFramebufferStatus(_FRAMEBUFFER) != _COMPLETE:
            raise executor.lacks(
                f"read '{tensor.name}'", "this machine's driver cannot read such images (GL_EXT_color_buffer_float)"
            )
        ints = buffer.cell == "Int"
        stored = np.empty(tensor.stored_count(), np.int32 if ints else np.float32)
        gl.ReadPixels(
            0,
            0,
            buffer.width,
            buffer.height,
            _RGBA_INTEGER if ints else _RGBA,
            _INT if ints else _FLOAT,
            stored.ctypes.data,
        )
        gl.check(f"read '{tensor.name}'")
        return stored
