"""LiteRT's own GPU accelerator, which comes with the wheel ai-edge-litert: WebGPU on Vulkan, behind CompiledModel.

Only worker processes import this. Without a GPU it runs on SwiftShader, the Vulkan driver for CPUs that Debian's chromium
brings: Mesa's (lavapipe 22.3) lacks what the accelerator asks for.
"""

import contextlib
import ctypes
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import ai_edge_litert
from ai_edge_litert.compiled_model import CompiledModel
from ai_edge_litert.environment import Environment
from ai_edge_litert.hardware_accelerator import HardwareAccelerator
from ai_edge_litert.options import CpuOptions, GpuOptions, Options

from host_tools.base import child_process
from host_tools.base.errors import RunFailed
from host_tools.places import interpreters
from host_tools.places.compiled_models import Compiled

_COPIED_S = 5.0
_CHROMIUM = Path("/usr/lib/chromium")
_ADVICE = (
    "give it a GPU with a Vulkan driver, or SwiftShader: `apt-get install chromium`; "
    "where a Vulkan loader finds no driver that serves, set VK_ICD_FILENAMES to a driver's file"
)
_TOLD = re.compile(r"^(?:Warning|ERROR): *(?:\[[^\]]*\])? *(.+)")


def make(content: bytes, model: str, *, threads: int, all_float32: bool, signature: str = "") -> Compiled:
    """A compiled model with an interpreter's methods. all_float32: no half precision. RunFailed with what the accelerator
    printed, where it does not start."""
    folder = Path(ai_edge_litert.__file__).parent
    described = interpreters.make(content, model, threads=threads, kernels=interpreters.BUILTIN, signature=signature)
    accelerators = HardwareAccelerator.GPU | HardwareAccelerator.CPU
    options = Options(accelerators, CpuOptions(num_threads=threads), GpuOptions(enforce_f32=all_float32))
    lines: list[str] = []
    try:
        with _heard(lines):
            _load_vulkan()
            environment = Environment.create(runtime_path=str(folder))
            compiled = CompiledModel.from_buffer(content, environment=environment, options=options)
    except (ValueError, RuntimeError) as error:
        found = reason(lines) or " ".join(str(error).split())
        raise RunFailed(f"compile {model} with LiteRT's own GPU accelerator", found, _ADVICE) from error
    if not any("libLiteRtWebGpuAccelerator.so) registered" in line for line in lines):
        found = f"{folder} has none that loads"
        raise RunFailed("find LiteRT's own GPU accelerator", found, "install ai-edge-litert 2.3.0, which has one")
    return Compiled(compiled, described, signature, waits=True)


def reason(lines: list[str]) -> str:
    """What it printed of its failure, as one sentence; empty: nothing."""
    told = [match[1].strip() for match in map(_TOLD.match, lines) if match]
    return "; ".join(dict.fromkeys(line for line in told if "plugin" not in line))


def _load_vulkan() -> None:
    """Has the accelerator find SwiftShader where this machine has no Vulkan loader: it asks for a library of this name."""
    with contextlib.suppress(OSError):
        ctypes.CDLL("libvulkan.so.1")
        return
    loader, driver = _CHROMIUM / "libvulkan.so.1", _CHROMIUM / "vk_swiftshader_icd.json"
    if loader.is_file() and driver.is_file():
        if "VK_DRIVER_FILES" not in os.environ:
            os.environ.setdefault("VK_ICD_FILENAMES", str(driver))
        ctypes.CDLL(str(loader))


@contextlib.contextmanager
def _heard(lines: list[str]) -> Iterator[None]:
    """Also adds what native code writes to standard error to `lines`, when it is done. It is passed on at once: where the
    process crashes meanwhile, whoever started it has these words."""
    sys.stderr.flush()
    with tempfile.TemporaryFile() as file:
        before = os.dup(2)
        copier = child_process.start_copier(file, before)
        assert copier.stdin
        os.dup2(copier.stdin.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(before, 2)
            os.close(before)
            copier.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):  # something that was started writes on
                copier.wait(_COPIED_S)
            file.seek(0)
            lines += file.read().decode("utf-8", "replace").splitlines()
