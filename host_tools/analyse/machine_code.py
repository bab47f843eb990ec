"""Reads what Mesa's compilers say of a kernel: its figures, and its machine code as a nest of loops.

Formats of Mesa 26.1 (IR3_SHADER_DEBUG=cs, BIFROST_MESA_DEBUG=shaders, and the lines of `shaderdb`).
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from host_tools.analyse.phone_gpus import Kind

_OF_OPENCL = re.compile(r"; CL prog (\d+/\d+): (.*)")
_OF_KERNEL = ("MESA_SHADER_KERNEL shader: ", "MESA_SHADER_COMPUTE shader: ")  # Mali's of OpenCL, of Vulkan
_STATISTIC = re.compile(r"(\d+(?:\.\d+)?) ([^,]+)")
_SPILLS = re.compile(r"(\d+):(\d+) spills:fills")

# What is counted of instructions. Products are those of floats and halves, added to something or not. Texels are what is read and written through images: how many bytes one has, the
# instruction does not tell.
WORK = (
    "slots",
    "multiply_adds",
    "products",
    "half_products",
    "half_slots",
    "reads",
    "writes",
    "spilled",
    "read_bytes",
    "read_texels",
    "written_bytes",
    "written_texels",
)
_LANES = {"adreno": 64, "bifrost": 8, "valhall": 16}  # of a wave


@dataclass(frozen=True)
class Loop:
    """Instructions that lie in a loop and in none inside it. parent: the index of the loop around it; -1: none."""

    parent: int
    work: Counter[str]  # of one trip, by WORK


@dataclass(frozen=True)
class Compiled:
    """A kernel as its GPU would run it."""

    instructions: int
    registers: int  # Adreno: of four numbers; Mali: of one, 64 at most
    threads: int  # Adreno: waves at once, 16 at most; Mali: 2, or 1 where more than half of the registers are used
    spills: int  # instructions that write numbers to memory for want of registers
    fills: int  # that read them back
    loops: tuple[Loop, ...]  # the first is all that lies in no loop
    lanes: int = 0  # of a wave


def read(kind: Kind, words: str) -> Compiled | None:
    """None: there is nothing of this form, as of a compiler of another version."""
    found = _statistics(words)
    loops = _loops(kind, words)
    if found is None or not loops:
        return None
    if kind == "adreno":
        names = ("inst", "full", "waves", "stp", "ldp")
    else:
        names = ("instrs", "registers used", "threads", "spills", "fills")
    if any(name not in found for name in names):
        return None
    instructions, registers, threads, spills, fills = (found[name] for name in names)
    lanes = _LANES[kind] * (2 if found.get("double_threadsize") else 1)
    return Compiled(instructions, registers, threads, spills, fills, loops, lanes)


def _statistics(words: str) -> dict[str, int] | None:
    """Of the last line of figures: some drivers compile a kernel twice."""
    lines = [line for line in words.splitlines() if line.startswith(("said: ", *_OF_KERNEL)) and " shader: " in line]
    if not lines:
        return _opencl_statistics(words)
    text = lines[-1].split(" shader: ", 1)[1]
    found = {name.strip(): int(float(number)) for number, name in _STATISTIC.findall(text)}
    spilled = _SPILLS.search(text)
    return {**found, **({"spills": int(spilled[1]), "fills": int(spilled[2])} if spilled else {})}


def _opencl_statistics(words: str) -> dict[str, int] | None:
    """Adreno's, of OpenCL and of Vulkan: they stand behind each listing. Of the last one, which serves launches without an offset."""
    rows = _OF_OPENCL.findall(words)
    if not rows:
        return None
    text = ", ".join(row for program, row in rows if program == rows[-1][0])
    found = {name.strip(): int(float(number)) for number, name in _STATISTIC.findall(text)}
    ops = [_FLAGS.sub("", line).split()[0] for line in _adreno_lines(words) if not _LABEL.match(line)]
    spills = {kind: sum(op.startswith(kind) for op in ops) for kind in ("stp", "ldp")}
    return {**found, **spills, "inst": found.get("instr", 0), "waves": found.get("max_waves", 0)}


@dataclass
class _Code:
    """Instructions in order, and jumps as pairs of indices: from, to."""

    work: list[Counter[str]]
    jumps: list[tuple[int, int]]


def _loops(kind: Kind, words: str) -> tuple[Loop, ...]:
    readers: dict[Kind, Callable[[str], _Code]] = {"adreno": _adreno, "bifrost": _bifrost, "valhall": _valhall}
    code = readers[kind](words)
    return _nest(code) if code.work else ()


def _nest(code: _Code) -> tuple[Loop, ...]:
    """A jump back is a loop's end; jumps to one place, as of `continue`, are one loop."""
    ends: dict[int, int] = {}
    for at, to in code.jumps:
        if to <= at:
            ends[to] = max(at, ends.get(to, at))
    spans = sorted(ends.items(), key=lambda span: (span[0], -span[1]))
    found = [Loop(-1, Counter())]
    found += [Loop(_around(spans[:i], span) + 1, Counter()) for i, span in enumerate(spans)]
    for at, work in enumerate(code.work):
        found[_around(spans, (at, at)) + 1].work.update(work)
    return tuple(found)


def _around(spans: Sequence[tuple[int, int]], inner: tuple[int, int]) -> int:
    """The innermost span that holds `inner`; -1: none."""
    holding = [i for i, (first, last) in enumerate(spans) if first <= inner[0] and inner[1] <= last]
    return max(holding, default=-1)


# --- Adreno: a slot per instruction, its repetitions and the pauses that it asks for.

_REPEAT, _PAUSE, _LABEL, _TO = (re.compile(p) for p in (r"\(rpt(\d)\)", r"\(nop(\d)\)", r"l(\d+):$", r"#l(\d+)"))
_FLAGS = re.compile(r"^(?:\([^)]*\)\s*)+")
_OF_BLOCK = re.compile(r"\.[usf](8|16|32)\.(\d)\b")  # ldib.b.untyped.1d.u32.4.imm
_CELL, _COUNT = re.compile(r"\.[usf](8|16|32|64)\b"), re.compile(r",\s*(\d+)\s*$")  # ldg.f32 r0.x, g[r1.x], 4
_NO_ARITHMETIC = ("nop", "end", "cov", "mov", "swz", "b", "j", "sh", "get", "bar")  # conversions, moves, jumps
_MODIFIERS = re.compile(r"\([^)]*\)")
_HALF, _WHOLE = re.compile(r"\bh[rc]\d"), re.compile(r"(?<![hua-z])[rc]\d+\.")


def _adreno(words: str) -> _Code:
    code, labels, targets = _Code([], []), dict[str, int](), list[tuple[int, str]]()
    for line in _adreno_lines(words):
        label = _LABEL.match(line)
        if label:
            labels[label[1]] = len(code.work)
            continue
        op = _FLAGS.sub("", line).split()[0]
        if op == "shpe":  # before it: what runs once for all work-items
            code.work = [Counter() for _ in code.work]
        targets += [(len(code.work), to) for to in _TO.findall(line)]
        code.work.append(_adreno_work(op, line))
        if op == "end":
            break
    code.jumps = [(at, labels[to]) for at, to in targets if to in labels]
    return code


def _adreno_lines(words: str) -> Iterator[str]:
    _, _, text = words.rpartition("Native code for")
    for line in text.splitlines()[1:]:
        line = line.removeprefix("MESA: info: ").strip()
        if line and line[0] not in ";@":
            yield line


def _adreno_work(op: str, line: str) -> Counter[str]:
    repeat, pause = _REPEAT.search(line), _PAUSE.search(line)
    times = 1 + (int(repeat[1]) if repeat else 0)
    work = Counter(slots=times + (int(pause[1]) if pause else 0))
    if op.startswith("mad.f"):
        work["multiply_adds"] = times
        work["half_slots"] = times if _is_half(op, line) else 0
    elif op.startswith(("ldp", "stp")):
        work["spilled"] = times
    elif op.startswith(("isam", "sam", "gat", "ldib", "ldg", "ldl")):
        work["reads"] = times
        work += _adreno_bytes(op, line, times, "read")
    elif op.startswith(("stib", "stg", "stl")):
        work["writes"] = times
        work += _adreno_bytes(op, line, times, "written")
    elif not op.startswith(_NO_ARITHMETIC):
        work["half_slots"] = times if _is_half(op, line) else 0
    if op.startswith(("mad.f", "mul.f")):
        work["products"], work["half_products"] = times, work["half_slots"]
    return work


def _adreno_bytes(op: str, line: str, times: int, how: str) -> Counter[str]:
    """Of global memory; what a group shares has none."""
    if op.startswith(("ldl", "stl")):
        return Counter()
    typed = _OF_BLOCK.search(op)
    if op.startswith(("isam", "sam", "gat")) or (op.startswith(("ldib", "stib")) and ".typed" in op):
        return Counter({f"{how}_texels": times})
    if typed:
        return Counter({f"{how}_bytes": times * int(typed[1]) // 8 * int(typed[2])})
    cell, count = _CELL.search(op), _COUNT.search(line)
    return Counter({f"{how}_bytes": times * (int(cell[1]) // 8 if cell else 4) * (int(count[1]) if count else 1)})


def _is_half(op: str, line: str) -> bool:
    """Whether it computes in half registers alone, which the hardware does at twice the rate."""
    operands = _MODIFIERS.sub("", line.partition(op)[2])
    return bool(_HALF.search(operands)) and not _WHOLE.search(operands)


# --- Mali

_END_OF_LISTING = re.compile(r"MESA_SHADER_(?:COMPUTE|KERNEL) shader:")
_TARGET = re.compile(r"clause_(\d+)\s*$")
_OFFSET = re.compile(r"offset:(-?\d+)\s*$")
_BITS = re.compile(r"\.[iu](8|16|24|32|48|64|96|128)\b")
_TEXELS = ("TEX", "LD_TEX", "LD_ATTR", "ST_CVT", "ST_TILE", "ST_TEX")
_ZERO = re.compile(r"(?:#0|0x0)\.neg$|-0x0$")  # what a product adds


def _mali_work(op: str, line: str) -> Counter[str]:
    """Of one instruction; a slot is counted by the caller."""
    if op.startswith("FMA."):
        is_product, is_half = bool(_ZERO.search(line.rstrip().rstrip(","))), ".v2f16" in op
        count = 0 if is_product else 2 if is_half else 1
        width = 2 if is_half else 1
        return Counter(multiply_adds=count, products=width, half_products=width if is_half else 0)
    if ".tl" in op or "thread_local_pointer" in line:
        return Counter(spilled=1)
    if op.startswith(("TEX", "LOAD", "LD_")):
        if op.endswith(".ubo") or "LD_PKA.i32" in op:
            return Counter()
        return Counter(reads=1) + _mali_bytes(op, line, "read")
    if op.startswith(("STORE", "ST_")):
        return Counter(writes=1) + _mali_bytes(op, line, "written")
    return Counter()


def _mali_bytes(op: str, line: str, how: str) -> Counter[str]:
    """Of global memory; what a group shares has none."""
    if ".wls" in op or "workgroup_local" in line:
        return Counter()
    cell = _BITS.search(op)
    if cell and not op.startswith(_TEXELS):
        return Counter({f"{how}_bytes": int(cell[1]) // 8})
    return Counter({f"{how}_texels": 1})


def _bifrost(words: str) -> _Code:
    """Clauses of tuples: a slot holds a multiplier's instruction and an adder's."""
    code, labels, targets = _Code([], []), dict[str, int](), list[tuple[int, str]]()
    _, begin, text = words.rpartition("\nclause_0:")
    for line in (begin + text).splitlines():
        word = line.strip()
        if word.startswith("clause_") and word.endswith(":"):
            labels[word[7:-1]] = len(code.work)
        elif word[:1] in ("*", "+"):
            work = _mali_work(word[1:].split()[0], word)
            if word[0] == "*":
                code.work.append(Counter(slots=1))
            code.work[-1].update(work)
            to = _TARGET.search(word)
            if to and word[1:].startswith(("BRANCH", "JUMP")):
                targets.append((len(code.work) - 1, to[1]))
    code.jumps = [(at, labels[to]) for at, to in targets if to in labels]
    return code


def _valhall(words: str) -> _Code:
    """The last listing, after the blocks: a slot per instruction; branches count from the next one."""
    code = _Code([], [])
    _, _, text = words.rpartition("\n}")
    for line in _END_OF_LISTING.split(text)[0].splitlines():
        word = line.strip()
        if not line.startswith("   ") or not word[:1].isupper():
            continue
        op = word.split()[0]
        to = _OFFSET.search(word)
        if to and op.startswith("BRANCHZ"):
            code.jumps.append((len(code.work), len(code.work) + 1 + int(to[1])))
        code.work.append(Counter(slots=1) + _mali_work(op, word))
    return code
