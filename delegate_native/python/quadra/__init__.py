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

__all__ = [
    "CompiledDelegate",
    "__version__",
    "accelerator",
    "clear_states",
    "compiled_delegate",
    "install",
    "library",
    "load_delegate",
    "read_state",
    "report",
    "uninstall",
    "write_state",
]
__version__ = "0.1.0"

_LIBRARIES = Path(__file__).resolve().parent / "lib"
_DELEGATE, _ACCELERATOR = "libquadra.so", "libLiteRtGpuAccelerator.so"  # LiteRT looks for the second one's name first
_SAY = ctypes.CFUNCTYPE(None, ctypes.c_char_p)
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
    pointer = _pointer(delegate)
    size = ask(pointer, None, 0)
    text = ctypes.create_string_buffer(size)
    ask(pointer, text, size)
    found: dict[str, Any] = json.loads(text.value)
    return found


def read_state(delegate: Any, name: str, into: Any = None) -> Any:
    """The numbers of a state that the option `states` keeps on the GPU (docs/options.md), as a NumPy array of its shape.

    name: as in `report(delegate)["states"]`: "kv_cache_k_0" for "decode_kv_cache_k_0". into: an array of the state's size, or
    anything else with a writable buffer; it is filled and returned. Not during an inference.

    ValueError: there is no such state, or it has another size.
    """
    if into is None:
        numpy = importlib.import_module("numpy")  # each runtime brings it
        found = next((one for one in report(delegate)["states"] if one["name"] == name), None)
        into = numpy.empty(found["shape"] if found else 0, found["element"] if found else "float32")
    view = memoryview(into)
    if view.readonly or not view.c_contiguous:
        raise ValueError(f"Quadra: read the state {name!r}: the array must be writable and contiguous")
    at = ctypes.byref(ctypes.c_char.from_buffer(view)) if view.nbytes else ctypes.byref(ctypes.c_char())
    _ask_states("QuadraDelegateReadState", delegate, name.encode(), at, view.nbytes)
    return into


def write_state(delegate: Any, name: str, numbers: Any) -> None:
    """Replaces the numbers of a state by those of an array of its size and type, or of anything else with a buffer. Not
    during an inference. ValueError: as `read_state`."""
    view = memoryview(numbers)
    content = view.tobytes()  # also of a view that cannot be written, or has gaps
    _ask_states("QuadraDelegateWriteState", delegate, name.encode(), content, view.nbytes)


def clear_states(delegate: Any, name: str | None = None) -> None:
    """Sets a state to zeros, or all states: a decoder begins a new text. Not during an inference. ValueError: there is no
    such state."""
    _ask_states("QuadraDelegateWriteState", delegate, name.encode() if name else None, None, 0)


class CompiledDelegate:
    """The delegate of a compiled model. It goes with its model: then whoever takes it gets a ValueError."""

    def __init__(self, pointer: int) -> None:
        self._native = pointer

    def _get_native_delegate_pointer(self) -> int:
        if self._native not in _living():
            raise ValueError("Quadra: take the delegate of a compiled model: the model has gone")
        return self._native


def compiled_delegate(age: int = 0) -> CompiledDelegate:
    """The delegate of the CompiledModel that was made last in this process, for `report`, `read_state` and the others; age: 1
    for that of the one before it, and so on. Take it right after you have made the model.

    ValueError: no compiled model that lives, or not so many, has a delegate of Quadra. ImportError: as `accelerator`.
    """
    living = _living()
    if not 0 <= age < len(living):
        raise ValueError(f"Quadra: find the delegate of a compiled model: {len(living)} of Quadra's live")
    return CompiledDelegate(living[age])


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


def _living() -> list[int]:
    """The delegates of compiled models, the newest first. LiteRT has loaded the same file, maybe by a link."""
    ask = ctypes.CDLL(str(_there(_ACCELERATOR))).QuadraAcceleratorDelegate
    ask.restype, ask.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    found: list[int] = []
    while pointer := ask(len(found)):
        found.append(pointer)
    return found


def _pointer(delegate: Any) -> ctypes.c_void_p:
    return ctypes.c_void_p(delegate._get_native_delegate_pointer())


def _ask_states(function: str, delegate: Any, name: bytes | None, numbers: Any, size: int) -> None:
    said: list[str] = []
    say = _SAY(lambda sentence: said.append(sentence.decode()))
    ask = getattr(ctypes.CDLL(str(library())), function)
    if not ask(_pointer(delegate), name, numbers, ctypes.c_size_t(size), say):
        raise ValueError(said[0] if said else f"Quadra: {function}: it failed without a reason")


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
