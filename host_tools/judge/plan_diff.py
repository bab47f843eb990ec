"""What differs between two plans: words, kernels' texts, dispatches, tensors, memory. Drivers' binaries do not count."""

import difflib
import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from host_tools.base.units import size_text
from host_tools.record.checked_plan import Arg, Dispatch, Kernel, Plan, Tensor, buffer_bytes

T = TypeVar("T")
_MOST_COMPARED = 1 << 18  # letters of two texts, or pairs of dispatches: beyond that they are only told to differ
_ENTRY = "ENTRY"  # stands for a kernel's name, which has a hash of its text


@dataclass(frozen=True)
class Line:
    """One thing that differs. Empty: that side has it not."""

    what: str
    a: str
    b: str


@dataclass(frozen=True)
class KernelDiff:
    """Two kernels of one name with different texts; lines as in a unified diff. One side may be empty: no partner."""

    name: str
    a: str  # entry point
    b: str
    added: int = 0
    removed: int = 0
    lines: tuple[str, ...] = ()


@dataclass
class PlanDiff:
    words: list[Line] = field(default_factory=list)
    memory: list[Line] = field(default_factory=list)
    kernels: list[KernelDiff] = field(default_factory=list)
    dispatches: list[Line] = field(default_factory=list)
    tensors: list[Line] = field(default_factory=list)
    same_kernels: int = 0

    @property
    def equal(self) -> bool:
        return not (self.words or self.memory or self.kernels or self.dispatches or self.tensors)


def compare(a: Plan, b: Plan) -> PlanDiff:
    found = PlanDiff(words=list(_words(a, b)), memory=list(_memory(a, b)), tensors=list(_tensors(a, b)))
    found.kernels, found.same_kernels = _kernels(a, b)
    found.dispatches = list(_dispatches(a, b))
    return found


def _words(a: Plan, b: Plan) -> Iterator[Line]:
    for name in ("api", "target", "device", "precision"):
        yield from _line(name, getattr(a, name), getattr(b, name))
    for name in ("options", "prelude"):
        texts = [sorted({str(getattr(program, name)) for program in plan.programs}) for plan in (a, b)]
        told = [", ".join(_shown(text) for text in side) for side in texts]
        yield from _line(f"{name} of programs", *told)
    yield from _line("programs", str(len(a.programs)), str(len(b.programs)))


def _shown(text: str) -> str:
    """A short text as it is, a long one by its size and hash."""
    return text if len(text) < 80 else f"{len(text)} letters, {_digest(text.encode('utf-8', 'replace'))}"


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:8]


def _line(what: str, a: str, b: str) -> Iterator[Line]:
    if a != b:
        yield Line(what, a, b)


def _memory(a: Plan, b: Plan) -> Iterator[Line]:
    for name, field_name in (
        ("activations", "activation_bytes"),
        ("their lower bound", "activation_bytes_lower_bound"),
        ("constants", "constant_bytes"),
    ):
        sizes = [getattr(plan, field_name) for plan in (a, b)]
        yield from _sizes(name, sizes[0], sizes[1])
    for kind in ("Arena", "Image", "Io", "Constant"):
        told = []
        for plan in (a, b):
            of_kind = [buffer for buffer in plan.buffers if buffer.kind == kind]
            told.append(f"{len(of_kind)}, {size_text(buffer_bytes(of_kind))}" if of_kind else "")
        yield from _line(f"buffers of the kind {kind}", told[0], told[1])
    numbers = [_digest(b"".join(c.data.tobytes() for c in p.buffers if c.kind == "Constant")) for p in (a, b)]
    yield from _line("hash of the constants", numbers[0], numbers[1])


def _sizes(what: str, a: int, b: int) -> Iterator[Line]:
    if a != b:
        same = size_text(a) == size_text(b)
        yield Line(what, f"{a} bytes" if same else size_text(a), f"{b} bytes" if same else size_text(b))


def _text(kernel: Kernel) -> str:
    return kernel.source.replace(kernel.entry, _ENTRY) if kernel.entry else kernel.source


def _kernels(a: Plan, b: Plan) -> tuple[list[KernelDiff], int]:
    """The first of a name that is only in a is set against the first that is only in b, and so on."""
    sides = [[kernel for program in plan.programs for kernel in program.kernels] for plan in (a, b)]
    texts = [{(kernel.name, _text(kernel)) for kernel in side} for side in sides]
    same = len(texts[0] & texts[1])
    found = []
    alone = [[k for k in side if (k.name, _text(k)) not in other] for side, other in zip(sides, reversed(texts))]
    for name in dict.fromkeys(kernel.name for kernel in [*alone[0], *alone[1]]):
        left, right = ([kernel for kernel in side if kernel.name == name] for side in alone)
        for i in range(max(len(left), len(right))):
            if i < min(len(left), len(right)):
                found.append(_text_diff(left[i], right[i]))
            else:
                a_entry, b_entry = (side[i].entry if i < len(side) else "" for side in (left, right))
                found.append(KernelDiff(name, a_entry, b_entry))
    return found, same


def _text_diff(a: Kernel, b: Kernel) -> KernelDiff:
    left, right = _text(a), _text(b)
    if len(left) + len(right) > _MOST_COMPARED:
        return KernelDiff(a.name, a.entry, b.entry, lines=("(too long to compare)",))
    lines = list(difflib.unified_diff(left.splitlines(), right.splitlines(), a.entry, b.entry, lineterm="", n=1))
    added = sum(1 for line in lines[2:] if line.startswith("+"))
    removed = sum(1 for line in lines[2:] if line.startswith("-"))
    return KernelDiff(a.name, a.entry, b.entry, added, removed, tuple(lines))


def _dispatches(a: Plan, b: Plan) -> Iterator[Line]:
    for left, right in _aligned(a.dispatches, b.dispatches):
        if left is None or right is None:
            yield Line("dispatch", _dispatch_text(left), _dispatch_text(right))
            continue
        what = left.name if left.name == right.name else f"{left.name} / {right.name}"
        yield from _line(f"{what}: work-items", *(_sides(d.global_) for d in (left, right)))
        yield from _line(f"{what}: group", *(_sides(d.local) for d in (left, right)))
        yield from _line(f"{what}: kernel", *(_kernel_word(p, d) for p, d in ((a, left), (b, right))))
        yield from _line(f"{what}: numbers", *(_numbers(d.args) for d in (left, right)))


def _kernel_word(plan: Plan, dispatch: Dispatch) -> str:
    """The kernel by a hash of its text, which the entry's name alone need not tell."""
    return f"{dispatch.kernel} {_digest(_text(plan.kernel_of(dispatch)).encode('utf-8', 'replace'))}"


def _dispatch_text(dispatch: Dispatch | None) -> str:
    return f"{dispatch.name} of nodes {','.join(map(str, dispatch.nodes)) or '–'}" if dispatch else ""


def _sides(sides: Sequence[int]) -> str:
    return "×".join(map(str, sides))


def _numbers(args: Sequence[Arg]) -> str:
    return " ".join(str(a.int_value) if a.kind == "Int" else f"{a.float_value:g}" for a in args if a.kind != "Buffer")


def _aligned(a: Sequence[Dispatch], b: Sequence[Dispatch]) -> Iterator[tuple[Dispatch | None, Dispatch | None]]:
    """Dispatches of the same kernel's name and nodes beside each other; None: the other side has none."""
    keys = [[(d.kernel, tuple(d.nodes)) for d in side] for side in (a, b)]
    if len(a) * len(b) > _MOST_COMPARED * 64:
        yield from _padded(a, b)
        return
    for kind, a0, a1, b0, b1 in difflib.SequenceMatcher(None, keys[0], keys[1], autojunk=False).get_opcodes():
        if kind == "equal":
            yield from zip(a[a0:a1], b[b0:b1])
            continue
        yield from ((one, None) for one in a[a0:a1])
        yield from ((None, one) for one in b[b0:b1])


def _padded(a: Sequence[T], b: Sequence[T]) -> Iterator[tuple[T | None, T | None]]:
    for i in range(max(len(a), len(b))):
        yield a[i] if i < len(a) else None, b[i] if i < len(b) else None


def _tensors(a: Plan, b: Plan) -> Iterator[Line]:
    """By name; those of one name in their order."""
    left, right = (_by_name(plan) for plan in (a, b))
    moved = 0
    for key in [*left, *(key for key in right if key not in left)]:
        one, other = left.get(key), right.get(key)
        if one and other:
            told = [_tensor_text(plan, tensor) for plan, tensor in ((a, one), (b, other))]
            yield from _line(f"tensor {key[0]}", told[0], told[1])
            places = [(t.buffer, t.offset, t.first_use, t.last_use) for t in (one, other)]
            moved += told[0] == told[1] and places[0] != places[1]
        else:
            yield Line(f"tensor {key[0]}", _tensor_text(a, one), _tensor_text(b, other))
    if moved:
        yield Line("tensors at another place or time", str(moved), str(moved))


def _by_name(plan: Plan) -> dict[tuple[str, int], Tensor]:
    seen: Counter[str] = Counter()
    found = {}
    for tensor in plan.tensors:
        if tensor.buffer >= 0:
            found[tensor.name, seen[tensor.name]] = tensor
            seen[tensor.name] += 1
    return found


def _tensor_text(plan: Plan, tensor: Tensor | None) -> str:
    if tensor is None:
        return ""
    kind = "image" if plan.buffers[tensor.buffer].kind == "Image" else "dense" if tensor.dense else "slices"
    shape = "×".join(map(str, tensor.shape))
    return f"{shape} {tensor.cell.lower()}, {kind}, {size_text(tensor.bytes)}"
