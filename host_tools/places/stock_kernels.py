"""What TFLite's stock GPU delegate has OpenGL ES compute for a model on a phone's GPU, recorded without the phone.

It runs once in Android's runtime on a JVM, on this machine's OpenGL ES, whose driver shows the names of the phone's: the
delegate chooses its kernels by them. Limits, such as the largest group, are this machine's. What was recorded is kept.
"""

import gzip
import hashlib
import os
import re
import tempfile
import zlib
from pathlib import Path
from typing import NamedTuple

from host_tools.android_on_host import bionic
from host_tools.android_on_host.jvm import ABI, Machine
from host_tools.base import digests, settings
from host_tools.base.errors import RunFailed
from host_tools.build import stock_delegate
from host_tools.places import prepare
from host_tools.places.on_jvm import Jvm, JvmAttempt
from host_tools.places.place import Show
from host_tools.record import run_folder
from host_tools.record.spec import RunSpec

NAME = "shipped-gles"
_REPLACED = re.compile(r"Replacing (\d+) out of (\d+) node\(s\) with delegate \(TfLiteGpuDelegateV2\)")
_DRIVER = Path("/usr/lib/x86_64-linux-gnu/libEGL_mesa.so.0")  # another one may have other limits


class Recorded(NamedTuple):
    """An inference. calls: as bionic/gles.c writes them."""

    nodes: int  # that the delegate took
    all_nodes: int
    calls: bytes


def record(spec: RunSpec, vendor: str, renderer: str, show: Show, library: Path | None = None) -> Recorded:
    """spec: a run on the JVM beside NAME. vendor, renderer: GL_VENDOR and GL_RENDERER of the phone's driver.

    library: Quadra's, for Android x86_64; it is not started, but the runner is linked with it (default: built).

    ToolMissing: there is no Java. RunFailed: the delegate cannot run the model, or leaves all of it to the CPU.
    """
    file = _file(spec, vendor, renderer)
    try:
        return _read(gzip.decompress(file.read_bytes()))
    except (OSError, EOFError, ValueError, zlib.error):  # whatever is wrong with it: it is made again
        pass
    content = _made(spec, vendor, renderer, show, Jvm(library).delegate())
    settings.make_folder(file.parent, "QUADRA_TOOLS_DIR")
    new = file.with_suffix(f".{os.getpid()}")
    new.write_bytes(gzip.compress(content, 1))
    new.replace(file)
    return _read(content)


def _made(spec: RunSpec, vendor: str, renderer: str, show: Show, library: Path) -> bytes:
    show("look for Java, Android's classes and TFLite's runtime")
    machine = Machine(library, shipped=True)
    with tempfile.TemporaryDirectory(prefix="quadra-stock-") as name:
        calls = Path(name) / "calls"
        environment = {
            bionic.GLES_CALLS: str(calls),
            "force_gl_vendor": vendor,
            "force_gl_renderer": renderer,
            "MESA_SHADER_CACHE_DISABLE": "true",
        }
        folder = Path(name) / "run"
        folder.mkdir()
        run_folder.write_json(folder / RunSpec.FILE, spec.to_json())
        prepare.prepare(spec, folder)
        JvmAttempt(folder, spec, show, machine, environment).work("cold", Path(name), [NAME])  # it runs the model once
        replaced = _REPLACED.search((folder / "log.txt").read_text(encoding="utf-8", errors="replace"))
        recorded = calls.read_bytes() if calls.exists() else b""
    if not replaced or b"\ndispatch " not in recorded:
        came_back = "it took no node of the model" if not replaced else "it asked OpenGL ES for nothing"
        advice = f"`./inv run {spec.model.name} --on jvm --peer {NAME}` shows how it runs"
        raise RunFailed(f"record the stock delegate's kernels for {spec.model.name}", came_back, advice)
    return f"{replaced[1]} {replaced[2]}\n".encode() + recorded


def _read(content: bytes) -> Recorded:
    """ValueError: it is damaged."""
    head, _, calls = content.partition(b"\n")
    taken, count = head.split()
    return Recorded(int(taken), int(count), calls)


def _file(spec: RunSpec, vendor: str, renderer: str) -> Path:
    words = [
        digests.sha256_of(stock_delegate.library(ABI)),
        digests.sha256_of(_DRIVER) if _DRIVER.exists() else "",
        bionic.gles_digest(),
        spec.model.sha256,
        spec.options.get("precision", ""),
        vendor,
        renderer,
    ]
    key = hashlib.sha256("\0".join(words).encode()).hexdigest()
    return settings.read().tools_dir / "stock_delegate" / f"{key}.gz"
