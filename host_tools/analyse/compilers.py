"""Has a phone GPU's compiler compile kernels' texts. What it said is kept, by text, GPU and version: it is asked once.

A compiler that crashes, or does not end in time, is a finding about one text; the others are compiled all the same.
"""

import gzip
import hashlib
import os
import tempfile
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from host_tools.analyse import phone_compilers
from host_tools.analyse.phone_compilers import Tool
from host_tools.analyse.phone_gpus import Gpu
from host_tools.base import child_process, settings
from host_tools.base.errors import CommandTimedOut, RunFailed

_AT_ONCE = 4  # texts of a process: it starts once for them
_ENDS = ("ok", "compile", "link")
_START_S = 60.0
_TEXT_S = {"adreno": 30.0, "mali": 120.0}  # the longest that a text may take; Mali's compiler is emulated
_DISASSEMBLY = {
    "adreno": {"FD_GPU_ID": "", "FD_MESA_DEBUG": "shaderdb", "IR3_SHADER_DEBUG": "cs"},
    "mali": {"PAN_GPU_ID": "", "BIFROST_MESA_DEBUG": "shaderdb,shaders"},
}
_ID = {"adreno": "FD_GPU_ID", "mali": "PAN_GPU_ID"}

Show = Callable[[str], None]


@dataclass(frozen=True)
class Said:
    """What became of one text: `end` is ok, or why there is no machine code; `words` is all that the driver wrote."""

    end: str
    words: str


def ask(gpu: Gpu, api: str, texts: Sequence[str], show: Show) -> tuple[str, list[Said]]:
    """Mesa's version, and what the compiler said of each text, in their order. ToolMissing: it is not installed."""
    tool = phone_compilers.require(gpu.vendor, api)
    kept = {text: _read(_file(tool, gpu, text)) for text in texts}
    missing = [text for text, said in kept.items() if said is None]
    batches = [missing[at : at + _AT_ONCE] for at in range(0, len(missing), _AT_ONCE)]
    stop = threading.Event()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        try:
            done = 0
            for batch, found in zip(batches, pool.map(lambda one: _batch(tool, gpu, one, stop), batches)):
                for text, new in zip(batch, found):
                    kept[text] = new
                    _keep(_file(tool, gpu, text), new)
                done += len(batch)
                show(f"{gpu.name}: {done} of {len(missing)} kernels")
        except BaseException:
            stop.set()  # else the pool would wait for compilers that nobody needs
            pool.shutdown(cancel_futures=True)
            raise
    return tool.version, [said for text in texts if (said := kept[text])]


def _batch(tool: Tool, gpu: Gpu, texts: Sequence[str], stop: threading.Event) -> list[Said]:
    """Of a few texts. Where one ends the process, another process goes on behind it."""
    found: list[Said] = []
    while len(found) < len(texts):
        found += _process(tool, gpu, texts[len(found) :], stop)
    return found


def _process(tool: Tool, gpu: Gpu, texts: Sequence[str], stop: threading.Event) -> list[Said]:
    """Of the first texts: of all, or up to the one that the process did not survive."""
    lines: list[str] = []
    with tempfile.TemporaryDirectory(prefix="quadra-analyse-") as name:
        files = [Path(name) / f"{i}.comp" for i in range(len(texts))]
        for file, text in zip(files, texts):
            file.write_text(text, encoding="utf-8")
        environment = {**tool.environment(), **_DISASSEMBLY[gpu.vendor], _ID[gpu.vendor]: gpu.id}
        deadline = _START_S + _TEXT_S[gpu.vendor] * len(texts)
        try:
            done = child_process.run(
                tool.command(list(files)),
                timeout_s=deadline,
                env=environment,
                check=False,
                on_line=lines.append,
                stop=stop.is_set,
            )
            if stop.is_set():
                raise RunFailed(f"ask the compiler for {gpu.name}", "it was stopped")
            death = f"the compiler ended with status {done.returncode}"
        except CommandTimedOut:
            death = f"the compiler did not end within {deadline:g} s"
    return _told(lines, gpu, death)


def _told(lines: Sequence[str], gpu: Gpu, death: str) -> list[Said]:
    """What ask_driver printed. RunFailed: it did not come to the first text, or the driver is another one."""
    found: list[Said] = []
    words: list[str] | None = None
    device = ""
    for line in lines:
        if line.startswith("### device "):
            device = line.removeprefix("### device ")
        elif line.startswith("### text "):
            words = []
        elif line.startswith("### end ") and words is not None:
            found.append(Said(line.removeprefix("### end ").strip(), "\n".join(words)))
            words = None
        elif words is not None:
            words.append(line)
    if words is not None:
        found.append(Said(death, "\n".join(words)))
    if not (device.startswith(gpu.renderer) or gpu.shown[1] in device) or not found:
        said = device or "; ".join(lines[-3:]) or death
        raise RunFailed(f"ask the compiler for {gpu.name}", said, phone_compilers.INSTALL)
    return found


def _file(tool: Tool, gpu: Gpu, text: str) -> Path:
    key = hashlib.sha256("\0".join((tool.version, *tool.more, gpu.kind, gpu.id, text)).encode()).hexdigest()
    return settings.read().tools_dir / "phone_compilers" / "said" / key[:2] / f"{key}.gz"


def _read(path: Path) -> Said | None:
    """Whatever is wrong with a file: the compiler is asked again."""
    try:
        end, _, words = gzip.decompress(path.read_bytes()).decode("utf-8").partition("\n")
    except (OSError, EOFError, ValueError):
        return None
    return Said(end, words) if end else None


def _keep(path: Path, said: Said) -> None:
    """Not what ended the compiler: that may have been the machine's fault."""
    if said.end not in _ENDS:
        return
    settings.make_folder(path.parent, "QUADRA_TOOLS_DIR")
    new = path.with_suffix(f".{os.getpid()}")
    new.write_bytes(gzip.compress(f"{said.end}\n{said.words}".encode(), 1))
    new.replace(path)
