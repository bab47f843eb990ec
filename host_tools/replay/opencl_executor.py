"""A plan on an OpenCL device by pyopencl, as delegate_native/runtime/opencl runs it."""

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import pyopencl as cl

from host_tools.base.errors import Misuse, RunFailed, ToolMissing
from host_tools.record.checked_plan import Buffer, Dispatch, Kernel, Plan, Program, Region, Tensor, image_bytes
from host_tools.replay import executor

_SIMULATOR = "Oclgrind"
_COMMON = "run_kernel"  # as there: a driver that kept what it compiled knows the text
_CHANNEL = {"Float": "FLOAT", "Half": "HALF_FLOAT", "Int": "SIGNED_INT32"}
# Channels of a view, their type, bytes of a texel.
_ROWS = {
    "TexelsFloat4": ("RGBA", "FLOAT", 16),
    "TexelsHalf4": ("RGBA", "HALF_FLOAT", 8),
    "TexelsFloat": ("R", "FLOAT", 4),
    "TexelsInt4": ("RGBA", "SIGNED_INT32", 16),
    "TexelsInt": ("R", "SIGNED_INT32", 4),
}
_LOG_LETTERS = 4000
_PRAGMA = r"#\s*pragma\s+OPENCL\s+EXTENSION\s+(\w+)\s*:\s*(?:enable|require)"


Memory = cl.Buffer | cl.Image
Value = cl.Buffer | cl.Image | np.generic  # of an argument
T = TypeVar("T")


class OpenClExecutor:
    """simulated: on Oclgrind's device, each part of a buffer in memory of its own."""

    def __init__(self, plan: Plan, simulated: bool = False) -> None:
        self.plan, self.notes, self._simulated = plan, list[str](), simulated
        self._device = _choose(simulated)
        self.device = (
            f"{self._device.name.strip()}; {self._device.version.strip()}; {self._device.driver_version.strip()}"
        )
        self._check()
        try:
            self._context = cl.Context([self._device])
            self._queue = cl.CommandQueue(self._context, properties=cl.command_queue_properties.PROFILING_ENABLE)
            self._apart = self._misaligned()
            parts = sum(region.bytes for region in {r for r in plan.regions if r.buffer in self._apart})
            executor.check_size(parts, self._device.global_mem_size)
            self._memory = [self._make_buffer(i, buffer) for i, buffer in enumerate(plan.buffers)]
            self._parts: dict[Region, Memory] = {}
            self._rows: dict[tuple[int, str], cl.Image] = {}
            built = [_build(self._context, self._device, program) for program in plan.programs]
            self._kernels = [self._prepare(d, *built[d.program]) for d in plan.dispatches]
        except cl.Error as error:
            raise _failed("load it", error) from error

    def write(self, tensor: Tensor, numbers: np.ndarray) -> None:
        memory, offset = self._place(tensor)
        assert isinstance(memory, cl.Buffer), "inputs are dense"
        self._say(lambda: cl.enqueue_copy(self._queue, memory, numbers, dst_offset=offset), f"write '{tensor.name}'")

    def run(self, dispatch: int) -> None:
        one = self.plan.dispatches[dispatch]

        def launch() -> None:
            self._launch(self._kernels[dispatch], one)
            self._queue.finish()

        self._say(launch, f"launch {one.name}")

    def _launch(self, kernel: cl.Kernel, dispatch: Dispatch) -> cl.Event:
        return cl.enqueue_nd_range_kernel(self._queue, kernel, tuple(dispatch.global_), tuple(dispatch.local))

    def run_timed(self) -> list[float]:
        def launch() -> list[cl.Event]:
            pairs = zip(self.plan.dispatches, self._kernels)
            events = [self._launch(kernel, d) for d, kernel in pairs]
            self._queue.finish()
            return events

        return [(event.profile.end - event.profile.start) * 1e-3 for event in self._say(launch, "launch all")]

    def read(self, tensor: Tensor) -> np.ndarray:
        memory, offset = self._place(tensor)
        stored = np.empty(tensor.stored_count(), tensor.dtype)

        def copy() -> None:
            if isinstance(memory, cl.Image):
                buffer = self.plan.buffers[tensor.buffer]
                cl.enqueue_copy(self._queue, stored, memory, origin=(0, 0), region=(buffer.width, buffer.height))
            else:
                cl.enqueue_copy(self._queue, stored, memory, src_offset=offset)

        self._say(copy, f"read '{tensor.name}'")
        return tensor.numbers(stored)

    def _say(self, do: Callable[[], T], what: str) -> T:
        try:
            return do()
        except cl.Error as error:
            raise _failed(what, error) from error

    def _check(self) -> None:
        plan, device = self.plan, self._device
        executor.check_memory(plan, device.max_mem_alloc_size, device.global_mem_size)
        executor.check_extensions(plan, _PRAGMA, device.extensions)
        images = [buffer for buffer in plan.buffers if buffer.kind == "Image"]
        inside = [image for image in images if image.lies_in]
        if inside:
            executor.check_size(sum(map(image_bytes, inside)), device.global_mem_size)
            self.notes.append(f"{len(inside)} images that lie in an arena have memory of their own here")
        if images and not device.image_support:
            raise executor.lacks("make its images", "this machine's driver has none (CL_DEVICE_IMAGE_SUPPORT)")
        for image in images:
            if image.width > device.image2d_max_width or image.height > device.image2d_max_height:
                most = f"{device.image2d_max_width} × {device.image2d_max_height}"
                raise executor.lacks(f"make an image of {image.width} × {image.height}", f"the device allows {most}")

    def _misaligned(self) -> set[int]:
        """Buffers of which this device cannot make the parts that the plan wants: each part is a buffer of its own then."""
        if self._simulated:  # an overrun cannot land in a neighbour then
            return {i for i, buffer in enumerate(self.plan.buffers) if buffer.kind != "Image"}
        step = max(1, self._device.mem_base_addr_align // 8)
        found = {r.buffer for r in self.plan.regions if r.offset % step and not self._is_whole(r)}
        if found:
            words = ", ".join(f"b{index}" for index in sorted(found))
            self.notes.append(
                f"parts of {words} are buffers of their own: this device wants them at multiples of {step} bytes"
            )
        return found

    def _is_whole(self, region: Region) -> bool:
        buffer = self.plan.buffers[region.buffer]
        return buffer.kind == "Image" or region.bytes == buffer.bytes

    def _make_buffer(self, index: int, buffer: Buffer) -> Memory | None:
        if index in self._apart:
            return None
        if buffer.kind == "Image":
            return self._make_image(buffer)
        return self._make_memory(buffer.bytes, buffer.data if buffer.kind == "Constant" else None)

    def _make_image(self, buffer: Buffer) -> cl.Image:
        """Each has memory of its own: to make it over a part of an arena, as the plan may say, few drivers here can."""
        channel = getattr(cl.channel_type, _CHANNEL[buffer.cell])
        layout = cl.ImageFormat(cl.channel_order.RGBA, channel)
        image = cl.Image(self._context, cl.mem_flags.READ_WRITE, layout, shape=(buffer.width, buffer.height))
        zeros = np.zeros(4, np.int32 if buffer.cell == "Int" else np.float32)
        cl.enqueue_fill_image(self._queue, image, zeros, (0, 0, 0), (buffer.width, buffer.height, 1))
        return image

    def _make_memory(self, size: int, data: np.ndarray | None) -> cl.Buffer:
        flags = cl.mem_flags
        if data is not None and size:
            return cl.Buffer(self._context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=np.array(data))
        made = cl.Buffer(self._context, flags.READ_WRITE, size=max(1, size))
        cl.enqueue_fill_buffer(self._queue, made, np.zeros(1, np.uint8), 0, max(1, size))
        return made

    def _part(self, region: Region) -> Memory:
        """The memory that a kernel sees."""
        if region not in self._parts:
            buffer, whole = self.plan.buffers[region.buffer], self._memory[region.buffer]
            if whole is None:
                data = buffer.data[region.offset : region.offset + region.bytes] if buffer.kind == "Constant" else None
                self._parts[region] = self._make_memory(region.bytes, data)
            elif isinstance(whole, cl.Image) or self._is_whole(region):
                self._parts[region] = whole
            else:
                self._parts[region] = whole.get_sub_region(region.offset, region.bytes)
        return self._parts[region]

    def _row(self, index: int, view: str) -> cl.Image:
        """A buffer of constants as an image of one row."""
        if (index, view) not in self._rows:
            buffer, whole = self.plan.buffers[index], self._memory[index]
            whole = self._make_memory(buffer.bytes, buffer.data) if whole is None else whole
            order, channel, size = _ROWS[view]
            layout = cl.ImageFormat(getattr(cl.channel_order, order), getattr(cl.channel_type, channel))
            shape = (buffer.bytes // size,)
            self._rows[index, view] = cl.create_image(
                self._context, cl.mem_flags.READ_ONLY, layout, shape=shape, buffer=whole
            )
        return self._rows[index, view]

    def _place(self, tensor: Tensor) -> tuple[Memory, int]:
        """Where a tensor lies: memory, and bytes from its beginning."""
        whole = self._memory[tensor.buffer]
        if whole is None:
            words = (tensor.bytes + 3) // 4  # what kernels see of bytes, too
            return self._part(Region(tensor.buffer, tensor.offset, words * 4)), 0
        return whole, tensor.offset

    def _prepare(self, dispatch: Dispatch, program: cl.Program, common: "_Common | None") -> cl.Kernel:
        kernel = cl.Kernel(program, _COMMON if common else dispatch.entry)
        most = kernel.get_work_group_info(cl.kernel_work_group_info.WORK_GROUP_SIZE, self._device)
        if int(np.prod(dispatch.local, dtype=object)) > most:
            group = "×".join(map(str, dispatch.local))
            raise executor.lacks(
                f"launch {dispatch.name}", f"its groups are {group}; the driver allows {most} work-items"
            )
        given = self._values(dispatch)
        values = common.arguments(dispatch, given) if common else [value for _, value in given]
        if len(values) != kernel.num_args:
            found = f"it has {len(values)} arguments, its kernel {dispatch.entry} takes {kernel.num_args}"
            raise Misuse(f"read the dispatch {dispatch.name}", found, "the plan is damaged: run the model again")
        for index, value in enumerate(values):
            kernel.set_arg(index, value)
        return kernel

    def _values(self, dispatch: Dispatch) -> list[tuple[str, Value]]:
        """(kind, what pyopencl takes) for each argument."""
        made: list[tuple[str, Value]] = []
        for arg in dispatch.args:
            if arg.kind == "Buffer":
                region = self.plan.region(arg)
                in_memory = arg.view == "Memory"
                made.append((arg.kind, self._part(region) if in_memory else self._row(region.buffer, arg.view)))
            else:
                made.append((arg.kind, np.int32(arg.int_value) if arg.kind == "Int" else np.float32(arg.float_value)))
        return made


class _Common:
    """The one entry point of a program whose kernels are functions: see pocl/cl_common_entry.cc."""

    def __init__(self, kernels: Sequence[Kernel]) -> None:
        self.entries = [kernel.entry for kernel in kernels]
        self.counts = {"Buffer": 0, "Int": 0, "Float": 0}
        cases = "".join(f"case {i}: {self._call(kernel)} break;\n" for i, kernel in enumerate(kernels))
        declared = {"Buffer": "__global float* buffer", "Int": "int int", "Float": "float float"}
        lists = "".join(f", {declared[kind]}_{i}" for kind, count in self.counts.items() for i in range(count))
        self.source = (
            f"__kernel __attribute__((reqd_work_group_size(1, 1, 1)))\nvoid {_COMMON}(int number{lists}) {{\n"
            "int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);\n"
            f"switch (number) {{\n{cases}\n}}\n}}\n"
        )

    def _call(self, kernel: Kernel) -> str:
        used = dict.fromkeys(self.counts, 0)
        words = []
        for kind in kernel.parameters:
            what = {"int": "Int", "float": "Float"}.get(kind, "Buffer")
            cast = f"({kind})" if what == "Buffer" else ""
            words.append(f"{cast}{what.lower()}_{used[what]}, ")
            used[what] += 1
        self.counts = {what: max(count, used[what]) for what, count in self.counts.items()}
        return f"{kernel.entry}_body({''.join(words)}x, y, z);"

    def arguments(self, dispatch: Dispatch, values: Sequence[tuple[str, Value]]) -> Sequence["Value | None"]:
        """By kind, each kind in the dispatch's order; empty places at the end of each."""
        empty = {"Buffer": None, "Int": np.int32(0), "Float": np.float32(0)}
        made: list[Value | None] = [np.int32(self.entries.index(dispatch.entry))]
        for kind, count in self.counts.items():
            mine = [value for what, value in values if what == kind]
            made += [*mine, *[empty[kind]] * (count - len(mine))]
        return made


def _build(context: cl.Context, device: cl.Device, program: Program) -> tuple[cl.Program, _Common | None]:
    common = (
        _Common(program.kernels) if all(kernel.parameters for kernel in program.kernels) and program.kernels else None
    )
    source = program.prelude + "".join(kernel.source for kernel in program.kernels) + (common.source if common else "")
    made = cl.Program(context, source)
    try:
        return made.build(options=program.options.split(), devices=[device]), common
    except cl.Error as error:
        names = " ".join(kernel.entry for kernel in program.kernels)
        log = re.sub(r"^(?:clBuildProgram failed: \w+(?: - )?)+", "", str(error)).strip()[:_LOG_LETTERS]
        if "half" in log and "cl_khr_fp16" not in device.extensions.split():
            raise executor.lacks(
                f"compile {names}", f"it may need cl_khr_fp16, which this driver does not have: {log}"
            ) from error
        raise RunFailed(f"compile {names}", log, "compare its text with that of a run: `./inv plan diff`") from error


def _choose(simulated: bool) -> cl.Device:
    """The device that the delegate would take: a GPU, if there is one."""
    try:
        devices = [d for p in cl.get_platforms() if (p.name == _SIMULATOR) == simulated for d in p.get_devices()]
    except cl.Error as error:
        raise ToolMissing("find an OpenCL device", str(error), "install a driver (Debian: pocl-opencl-icd)") from error
    devices = [device for device in devices if device.available and device.compiler_available]
    if not devices:
        raise ToolMissing("find an OpenCL device", "there is none", "install a driver (Debian: pocl-opencl-icd)")
    return max(devices, key=_rank)


def _rank(device: cl.Device) -> tuple[int, int]:
    kinds = ((cl.device_type.GPU, 3), (cl.device_type.ACCELERATOR, 2))
    kind = next((rank for bit, rank in kinds if device.type & bit), 1)
    return kind, device.max_compute_units * device.max_clock_frequency


def _failed(what: str, error: Exception) -> RunFailed:
    return RunFailed(f"replay the plan: {what}", str(error)[:_LOG_LETTERS], "`./inv plan show` shows what it asks for")
