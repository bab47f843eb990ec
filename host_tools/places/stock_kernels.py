"""What TFLite's stock GPU delegate has a phone's GPU compute for a model, recorded without the phone.

It runs once in Android's runtime on a JVM. In OpenGL ES on this machine's driver, which shows the names of the phone's: the
delegate chooses its kernels by them; limits, such as the largest group, are this machine's. In OpenCL before a pretended
driver, which has the phone's names and limits, and computes nothing. What was recorded is kept.
"""

import hashlib
import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from host_tools.android_on_host import bionic, pretended_opencl
from host_tools.android_on_host.jvm import ABI, Machine
from host_tools.base import digests, settings
from host_tools.base.errors import RunFailed
from host_tools.build import stock_delegate
from host_tools.places import prepare, recordings
from host_tools.places.on_jvm import Jvm, JvmAttempt
from host_tools.places.place import Show
from host_tools.record import run_folder
from host_tools.record.spec import RunSpec
from host_tools.request.phone import Phone

GLES, OPENCL = "shipped-gles", "shipped-opencl"
_REPLACED = re.compile(r"Replacing (\d+) out of (\d+) node\(s\) with delegate \(TfLiteGpuDelegateV2\)")
_DRIVER = Path("/usr/lib/x86_64-linux-gnu/libEGL_mesa.so.0")  # another one may have other limits
_LIBRARIES = "LD_LIBRARY_PATH"


class Recorded(NamedTuple):
    """An inference. calls: as bionic/gles.c writes them, or pretended_opencl.c."""

    nodes: int  # that the delegate took
    all_nodes: int
    calls: bytes


class _Peer(NamedTuple):
    """How the delegate is run. environment: given a folder for files, and the Java process."""

    name: str
    is_known_by: list[str]  # what else decides what it asks for
    environment: Callable[[Path, Path, Machine], dict[str, str]]
    launch: bytes  # begins the line of a launch


def record(spec: RunSpec, vendor: str, renderer: str, show: Show, library: Path | None = None) -> Recorded:
    """In OpenGL ES. spec: a run on the JVM beside GLES. vendor, renderer: GL_VENDOR and GL_RENDERER of the phone's driver.

    library: Quadra's, for Android x86_64; it is not started, but the runner is linked with it (default: built).

    ToolMissing: there is no Java. RunFailed: the delegate cannot run the model, or leaves all of it to the CPU.
    """

    def environment(folder: Path, calls: Path, machine: Machine) -> dict[str, str]:
        shown = {"force_gl_vendor": vendor, "force_gl_renderer": renderer}
        return {bionic.GLES_CALLS: str(calls), **shown, "MESA_SHADER_CACHE_DISABLE": "true"}

    driver = digests.sha256_of(_DRIVER) if _DRIVER.exists() else ""
    known = [driver, bionic.gles_digest(), vendor, renderer]
    return _kept(_Peer(GLES, known, environment, b"\ndispatch "), spec, show, library)


def record_opencl(spec: RunSpec, phone: Phone, show: Show, library: Path | None = None) -> Recorded:
    """In OpenCL, on that phone. spec: a run on the JVM beside OPENCL. Otherwise as `record`."""

    def environment(folder: Path, calls: Path, machine: Machine) -> dict[str, str]:
        libraries = f"{pretended_opencl.library().parent}{os.pathsep}{machine.compat}"
        return {**pretended_opencl.environment(phone.lines(), folder, calls), _LIBRARIES: libraries}

    known = [pretended_opencl.digest(), phone.lines()]
    return _kept(_Peer(OPENCL, known, environment, b"\nlaunch "), spec, show, library)


def _kept(peer: _Peer, spec: RunSpec, show: Show, library: Path | None) -> Recorded:
    return recordings.kept(_file(peer, spec), _read, lambda: _made(peer, spec, show, Jvm(library).delegate()))


def _made(peer: _Peer, spec: RunSpec, show: Show, library: Path) -> bytes:
    show("look for Java, Android's classes and TFLite's runtime")
    machine = Machine(library, shipped=True)
    with tempfile.TemporaryDirectory(prefix="quadra-stock-") as name:
        calls, folder = Path(name) / "calls", Path(name) / "run"
        environment = peer.environment(Path(name), calls, machine)
        folder.mkdir()
        run_folder.write_json(folder / RunSpec.FILE, spec.to_json())
        prepare.prepare(spec, folder)
        JvmAttempt(folder, spec, show, machine, environment).work("cold", Path(name), [peer.name])  # it runs once
        replaced = _REPLACED.search((folder / "log.txt").read_text(encoding="utf-8", errors="replace"))
        recorded = calls.read_bytes() if calls.exists() else b""
    if not replaced or peer.launch not in recorded:
        came_back = "it took no node of the model" if not replaced else "it asked the GPU for nothing"
        advice = f"`./inv run {spec.model.name} --on jvm --peer {peer.name}` shows how it runs"
        raise RunFailed(f"record the stock delegate's kernels for {spec.model.name}", came_back, advice)
    return f"{replaced[1]} {replaced[2]}\n".encode() + recorded


def _read(content: bytes) -> Recorded:
    """ValueError: it is damaged."""
    head, _, calls = content.partition(b"\n")
    taken, count = head.split()
    return Recorded(int(taken), int(count), calls)


def _file(peer: _Peer, spec: RunSpec) -> Path:
    words = [peer.name, digests.sha256_of(stock_delegate.library(ABI)), *peer.is_known_by]
    words += [spec.model.sha256, spec.options.get("precision", "")]
    key = hashlib.sha256("\0".join(words).encode()).hexdigest()
    return settings.read().tools_dir / "stock_delegate" / f"{key}.gz"
