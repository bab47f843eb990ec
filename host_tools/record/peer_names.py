"""Who may run a model beside Quadra, in the same process: names, and their keys in run folders.

`xnnpack` is the interpreter's own way on the CPU. `litert-gpu` is the GPU accelerator in the wheel ai-edge-litert, on this machine
only, behind CompiledModel. `shipped-opencl` and `shipped-gles` are the GPU delegate that
TFLite ships, unmodified, from Maven Central: it exists for Android only, so it runs where Android's runtime does. Texts
call it the stock delegate.
"""

from collections.abc import Sequence

XNNPACK = "xnnpack"
LITERT = "litert-gpu"
SHIPPED = {"shipped-opencl": "OpenCL", "shipped-gles": "OpenGL ES"}


def key(name: str) -> str:
    """The name of a peer in timings.json and in folders."""
    return name.replace("-", "_")


def label(name: str) -> str:
    """The name of a peer for people; `name` may be its key."""
    name = name.replace("_", "-")
    words = {XNNPACK: "XNNPACK", LITERT: "LiteRT's GPU accelerator"}
    return f"stock delegate, {SHIPPED[name]}" if name in SHIPPED else words.get(name, name)


def needs_shipped(names: Sequence[str]) -> bool:
    return any(name in SHIPPED for name in names)


def parse(text: str) -> tuple[str, ...]:
    """'xnnpack,shipped-opencl' as names; the RunSpec checks them."""
    return tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
