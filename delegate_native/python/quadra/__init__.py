"""Quadra's GPU delegate for Python: runs TensorFlow Lite models on this machine's GPU, with OpenCL or OpenGL ES.

import quadra
from ai_edge_litert.interpreter import Interpreter

interpreter = Interpreter("model.tflite", experimental_delegates=[quadra.load_delegate(precision="f32")])

quadra.install() makes it the GPU accelerator of LiteRT's CompiledModel, for every program in this Python environment.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.metadata
import importlib.util
import json
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["__version__", "accelerator", "install", "library", "load_delegate", "report", "uninstall"]
__version__ = "0.1.0"

_LIBRARIES = Path(__file__).resolve().parent / "lib"
_DELEGATE, _ACCELERATOR = "libquadra.so", "libLiteRtGpuAccelerator.so"  # LiteRT looks for the second one's name first
_RUNTIMES = ("ai_edge_litert.interpreter", "tflite_runtime.interpreter")
_PACKAGES = (
    "ai-edge-litert-nightly",
    "ai-edge-litert",
)  # of the same folder; with both, the nightly was put over the other


def load_delegate(options: Mapping[str, object] | None = None, **more: object) -> Any:
    """A delegate for the `experimental_delegates` of an interpreter of ai-edge-litert, or of tflite-runtime without it.

    Options by their names: backend="auto" | "opencl" | "gles", precision="f32" | "f32_f16" | "f16", and others (docs/options.md).
    Nodes that cannot run on the GPU stay on the CPU; `report` says which and why.

    ValueError: an option is wrong. ImportError: there is no runtime, or no library. OSError: the library cannot be loaded.
    """
    words = {key: _word(value) for key, value in {**(options or {}), **more}.items()}
    _check_loads()
    return _runtime().load_delegate(str(library()), words)


def report(delegate: Any) -> dict[str, Any]:
    """What became of the model of a delegate: the backend, its device, and for each node where it runs and why.

    Ask once the interpreter has been made: `report(delegate)["nodes"]` is a list of {"op": "CONV_2D", "on": "gpu", …}.
    """
    ask = ctypes.CDLL(str(library())).QuadraDelegateReport
    ask.restype, ask.argtypes = ctypes.c_size_t, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
    pointer = ctypes.c_void_p(delegate._get_native_delegate_pointer())
    size = ask(pointer, None, 0)
    text = ctypes.create_string_buffer(size)
    ask(pointer, text, size)
    found: dict[str, Any] = json.loads(text.value)
    return found


def library() -> Path:
    """libquadra.so, for any loader of external delegates. ImportError: it is not there."""
    return _there(_DELEGATE)


def accelerator() -> Path:
    """The folder with the accelerator for LiteRT's CompiledModel: `Environment.create(runtime_path=str(accelerator()))`.
    ImportError: it is not there."""
    return _there(_ACCELERATOR).parent


def install() -> Path:
    """Makes Quadra the GPU accelerator of the installed ai-edge-litert: programs that use CompiledModel on the GPU run on it
    unchanged. Prints what it did, and returns the accelerator's path there. Does no more the second time.

    Two links to this package's libraries are put into the folder of ai_edge_litert. An update of either package keeps them.

    ImportError: ai_edge_litert is not installed, or this package has no libraries. FileExistsError: another accelerator is
    there; it stays. OSError: the libraries cannot be loaded, or that folder cannot be written.
    """
    folder, runtime = _litert()
    accelerator()
    _check_loads()
    links = [folder / name for name in (_DELEGATE, _ACCELERATOR)]  # LiteRT finds the first by way of the second
    for link in links:
        if os.path.lexists(link) and not _is_ours(link):
            raise FileExistsError(f"Quadra: install into {runtime}: {link} is not Quadra's; next: move it elsewhere")
    new = [link for link in links if not _is_ours(link)]
    try:
        for link in links:
            _point(link, _LIBRARIES / link.name)
    except OSError as error:
        for link in filter(_is_ours, new):
            link.unlink()
        do_next = "install both packages into an environment of your own (python -m venv), or pass"
        do_next += " runtime_path=str(quadra.accelerator()) to Environment.create"
        raise OSError(f"Quadra: install into {runtime}: {error}; next: {do_next}") from error
    print(f"{runtime} runs models on the GPU with Quadra now: {links[1]}; quadra.uninstall() takes it away")
    return links[1]


def uninstall() -> None:
    """Takes away what `install` put into ai_edge_litert, and prints what it did. A file that is not Quadra's stays.

    ImportError: ai_edge_litert is not installed. OSError: its folder cannot be written.
    """
    folder, runtime = _litert()
    there = [link for link in (folder / _ACCELERATOR, folder / _DELEGATE) if _is_ours(link)]
    for link in there:
        link.unlink()
    print(f"{runtime} is without Quadra {'again' if there else 'already'}: {folder}")


def _litert() -> tuple[Path, str]:
    """The folder of the installed ai_edge_litert, and its name with its version for people."""
    spec = importlib.util.find_spec("ai_edge_litert")
    if not spec or not spec.submodule_search_locations:
        raise ImportError("Quadra: find LiteRT: ai_edge_litert is not installed; next: `pip install ai-edge-litert`")
    folder = Path(spec.submodule_search_locations[0]).resolve()
    beside = importlib.metadata.distributions(path=[str(folder.parent)])
    versions = {one.metadata["Name"]: one.version for one in beside if one.metadata["Name"] in _PACKAGES}
    names = [f"{name} {versions[name]}" for name in _PACKAGES if name in versions]
    return folder, names[0] if names else "ai_edge_litert, which no package brought,"


def _is_ours(link: Path) -> bool:
    """Whether a file is a link that `install` made, maybe of a package that has gone since."""
    return link.is_symlink() and Path(os.readlink(link)).parts[-3:] == ("quadra", "lib", link.name)


def _point(link: Path, library: Path) -> None:
    """Makes the link, in one step. It is relative, so that an environment may be moved as a whole."""
    temporary = link.with_name(f".{link.name}.{os.getpid()}")
    try:
        temporary.symlink_to(os.path.relpath(library, link.parent))
        os.replace(temporary, link)
    finally:
        temporary.unlink(missing_ok=True)


def _check_loads() -> None:
    """OSError: the delegate's library cannot be loaded here."""
    path = str(library())
    try:
        ctypes.CDLL(path)
    except OSError as error:
        here = f"{platform.system()} on {platform.machine()} with {' '.join(platform.libc_ver()) or 'an unknown libc'}"
        raise OSError(
            f"Quadra: load {path}: {error}; next: this is {here}; build the wheel on such a machine: `./inv wheel`"
        ) from error


def _there(name: str) -> Path:
    path = _LIBRARIES / name
    if not path.is_file():
        raise ImportError(
            f"Quadra: find {name}: {path} is not there; next: install the wheel that `./inv wheel` makes; "
            "this folder is its source"
        )
    return path


def _runtime() -> Any:
    for name in _RUNTIMES:
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if not f"{name}.".startswith(f"{error.name}."):  # it is installed, and lacks something itself
                raise
    raise ImportError(
        "Quadra: find an interpreter: neither ai_edge_litert nor tflite_runtime is installed; "
        "next: `pip install ai-edge-litert`"
    )


def _word(value: object) -> str:
    """An option's value as the delegate reads it: true and false are 1 and 0."""
    return str(int(value)) if isinstance(value, bool) else str(value)
