"""What ML Drift has a phone's GPU compute for a model, recorded without the phone.

ML Drift is what LiteRT's GPU accelerators compute with. Here is the one of the wheel ai-edge-litert: WebGPU, on Vulkan. It
runs before a pretended driver, which has the phone's names and limits, and which runs nothing; behind that is SwiftShader, for
memory and copies. What was recorded is kept.
"""

import hashlib
import re
import tempfile
from pathlib import Path
from typing import NamedTuple

import ai_edge_litert

from host_tools.android_on_host import pretended_vulkan
from host_tools.base import child_process, digests, settings
from host_tools.base.errors import CommandFailed, RunFailed, ToolMissing
from host_tools.drivers import angle
from host_tools.places import recordings
from host_tools.places.on_host import python_command
from host_tools.places.place import Show
from host_tools.record.spec import RunSpec
from host_tools.request.phone import Phone

_ACCELERATOR = Path(ai_edge_litert.__file__).with_name("libLiteRtWebGpuAccelerator.so")
_CHROMIUM = Path("/usr/lib/chromium")
_DRIVER = "libvk_swiftshader.so"
_DEADLINE_S = 600.0
_LAUNCH = b"\ndispatch "
_SHARED = re.compile(r"(\d+) operations will run on the GPU, and the remaining (\d+) operations will run on the CPU")


class Recorded(NamedTuple):
    """An inference. nodes: those that it took, of all_nodes; both 1 where it took them all, which it does not count."""

    nodes: int
    all_nodes: int
    calls: bytes  # as pretended_vulkan/calls.c writes them


def record(spec: RunSpec, phone: Phone, headers: Path, show: Show) -> Recorded:
    """spec: of the model, and its option `precision`. headers: the folder of Vulkan's.

    ToolMissing: there is no SwiftShader. RunFailed: the accelerator cannot run the model."""
    return recordings.kept(_file(spec, phone), _read, lambda: _made(spec, phone, headers, show))


def _made(spec: RunSpec, phone: Phone, headers: Path, show: Show) -> bytes:
    model, driver = Path(spec.model.path), _driver()
    library = pretended_vulkan.library(headers)
    show("run LiteRT's GPU accelerator")
    with tempfile.TemporaryDirectory(prefix="quadra-ml-drift-") as name:
        calls = Path(name) / "calls"
        environment = pretended_vulkan.environment(library, driver, phone.vulkan_lines(), Path(name), calls)
        words = [str(model), spec.model.name, spec.options.get("precision", "f32"), str(library)]
        try:
            argv, more = python_command("host_tools.places.ml_drift_worker", *words)
            done = child_process.run(argv, timeout_s=_DEADLINE_S, env={**more, **environment})
        except CommandFailed as error:
            advice = f"`./inv run {spec.model.name} --peer litert-gpu` shows how it runs"
            raise RunFailed(f"record ML Drift's kernels for {spec.model.name}", error.came_back, advice) from error
        recorded = calls.read_bytes() if calls.exists() else b""
    if _LAUNCH not in recorded[recorded.rfind(b"\nmark\n") :]:
        raise RunFailed(f"record ML Drift's kernels for {spec.model.name}", "it asked the GPU for nothing")
    shared = _SHARED.search(done.stderr)
    on_gpu, on_cpu = map(int, shared.groups()) if shared else (1, 0)
    return f"{on_gpu} {on_gpu + on_cpu}\n".encode() + recorded


def _read(content: bytes) -> Recorded:
    """ValueError: it is damaged."""
    head, _, calls = content.partition(b"\n")
    taken, count = head.split()
    return Recorded(int(taken), int(count), calls)


def _driver() -> Path:
    """SwiftShader: of the table of drivers, or of this machine's chromium."""
    for folder in (angle.folder(), _CHROMIUM):
        if (folder / _DRIVER).is_file():
            return folder / _DRIVER
    raise ToolMissing("record ML Drift's kernels", f"there is no {_DRIVER}", "./inv drivers --fetch angle")


def _file(spec: RunSpec, phone: Phone) -> Path:
    words = [digests.sha256_of(_ACCELERATOR), pretended_vulkan.digest(), phone.vulkan_lines()]
    words += [spec.model.sha256, spec.options.get("precision", "")]
    key = hashlib.sha256("\0".join(words).encode()).hexdigest()
    return settings.read().tools_dir / "ml_drift" / f"{key}.gz"
