"""Judges what was built for Android, the libraries and the runner: ELF shape, what is asked of the system, size."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection
from elftools.elf.segments import InterpSegment

from host_tools.base import settings
from host_tools.base.android import ACCELERATOR
from host_tools.base.errors import JudgementFailed
from host_tools.build import c_library, size
from host_tools.build.bazel import AndroidLibrary

API_LEVEL = 26
NAME = "libquadra.so"
NEEDED = {f"{name}.so" for name in c_library.LIBRARIES}
ACCELERATOR_EXPORTS = (
    "LiteRtAcceleratorImpl",
    "LiteRtRegisterGpuAccelerator",
    "QuadraAcceleratorDelegate",
    "QuadraAcceleratorReport",
)
EXPORTS = (
    "tflite_plugin_create_delegate",
    "tflite_plugin_destroy_delegate",
    "QuadraDelegate",
    "QuadraGpuBuffer",
    "TfLiteGpuDelegate",
    "JNI_OnLoad",
)
_SHAPES = {  # ABI: machine, bits, bytes of a page
    "arm64-v8a": ("EM_AARCH64", 64, 16384),
    "armeabi-v7a": ("EM_ARM", 32, 4096),
    "x86_64": ("EM_X86_64", 64, 16384),
}
_FIGURES = settings.ROOT / "host_tools" / "build" / "android_sizes.json"


@dataclass(frozen=True)
class Checked:
    """One library: its measure, its bytes by layer, the highest API level it asks for, and what is wrong with it."""

    abi: str
    size: size.Size
    layers: list[tuple[str, int]]
    api_level: int
    budget: int  # bytes; 0: none
    shipped: int  # bytes of TFLite's own GPU delegate for this ABI; 0: this is no delegate
    wrong: list[str]


def check(made: AndroidLibrary) -> Checked:
    """Reads a build. `wrong` is empty when Android will load it and the budget is met."""
    measured = size.measure(made.path)
    budget, shipped = (_figure(key, made.abi) for key in ("budget_bytes", "shipped_bytes"))
    with size.opened(made.path) as elf:
        level, asked = _asked(elf, made.abi)
        wrong = [*_shape(elf, made.abi), *_name(elf), *_surroundings(elf, measured), *asked, *_weight(measured, budget)]
    by_layer = size.layers(made.path, made.unstripped, made.objects) if made.objects else []
    return Checked(made.abi, measured, by_layer, level, budget, shipped, wrong)


def check_accelerator(abi: str, library: Path) -> Checked:
    """The same of the accelerator for LiteRT, which needs the delegate."""
    measured = size.measure(library)
    budget = _figure("accelerator_budget_bytes", abi)
    with size.opened(library) as elf:
        level, asked = _asked(elf, abi, EXPORTS)
        around = _surroundings(elf, measured, {*NEEDED, NAME}, ACCELERATOR_EXPORTS)
        wrong = [*_shape(elf, abi), *_name(elf, ACCELERATOR), *around, *asked, *_weight(measured, budget)]
    return Checked(abi, measured, [], level, budget, 0, wrong)


def check_runner(abi: str, runner: Path) -> Checked:
    """The same of the program that a device's shell runs."""
    measured = size.measure(runner)
    budget = _figure("runner_budget_bytes", abi)
    with size.opened(runner) as elf:
        level, asked = _asked(elf, abi)
        wrong = [*_shape(elf, abi), *_start(elf), *_surroundings(elf, measured), *asked, *_weight(measured, budget)]
    return Checked(abi, measured, [], level, budget, 0, wrong)


def show(checked: Checked) -> Checked:
    """Prints it; returns it."""
    measured = checked.size
    beside = [f"budget {checked.budget:,}"] if checked.budget else []
    beside += [f"TFLite's stock GPU delegate: {checked.shipped:,}"] if checked.shipped else []
    print(f"{checked.abi}: {measured.path}")
    print(f"  {measured.file_bytes:,} bytes ({'; '.join(beside)})")
    for name, count in checked.layers:
        print(f"  {count:>12,}  {name}")
    print(f"  made by: {measured.made_by}")
    print(f"  exports: {', '.join(measured.exports) or 'none'}")
    print(f"  needs:   {', '.join(measured.needed)}; API level {checked.api_level}")
    for line in checked.wrong:
        print(f"  WRONG:   {line}")
    return checked


def fail_if_wrong(all_checked: Sequence[Checked]) -> None:
    """JudgementFailed when anything is wrong with one of them."""
    wrong = [f"{one.abi}, {one.size.path.name}: {line}" for one in all_checked for line in one.wrong]
    if wrong:
        raise JudgementFailed("check what was built for Android", "; ".join(wrong), "see the table above")


def page_bytes(library: Path) -> int:
    """The smallest alignment of its segments: the largest pages that it can be loaded in."""
    with size.opened(library) as elf:
        return _page_bytes(elf)


def _page_bytes(elf: ELFFile) -> int:
    return min((int(s["p_align"]) for s in elf.iter_segments() if s["p_type"] == "PT_LOAD"), default=0)


def _shape(elf: ELFFile, abi: str) -> list[str]:
    machine, bits, page = _SHAPES[abi]
    found = []
    if (elf["e_machine"], elf.elfclass) != (machine, bits):
        found.append(f"it is for {elf['e_machine']}, {elf.elfclass} bits")
    segments = list(elf.iter_segments())
    if _page_bytes(elf) < page:
        found.append(f"a segment is not aligned to pages of {page} bytes")
    if any(s["p_type"] == "PT_GNU_STACK" and s["p_flags"] & 1 for s in segments):
        found.append("it wants a stack that can be executed")
    if any(s["p_type"] == "PT_LOAD" and s["p_flags"] & 3 == 3 for s in segments):
        found.append("a segment can be written and executed")
    if not any(s["p_type"] == "PT_GNU_RELRO" for s in segments):
        found.append("its tables stay writable after loading (no RELRO)")
    return found


def _surroundings(
    elf: ELFFile, measured: size.Size, needed: Collection[str] = NEEDED, exports: tuple[str, ...] = EXPORTS
) -> list[str]:
    relocated = list(size.section(elf, ".dynamic", DynamicSection).iter_tags("DT_TEXTREL"))
    found = ["its code is relocated (TEXTREL)"] if relocated else []
    found += [f"it needs {name}" for name in measured.needed if name not in needed]
    found += [f"it shows {name}" for name in measured.exports if not name.startswith(exports)]
    found += [] if measured.stripped else ["it is not stripped"]
    found += [] if measured.made_by else ["it does not say who made it"]
    return found


def _name(elf: ELFFile, name: str = NAME) -> list[str]:
    names = size.tags(size.section(elf, ".dynamic", DynamicSection), "DT_SONAME")
    return [] if names == [name] else [f"its name is {names or 'not there'}, not {name}"]


def _start(elf: ELFFile) -> list[str]:
    """Of an executable: it can lie anywhere (PIE), and Android's loader starts it."""
    loaders = [s.get_interp_name() for s in elf.iter_segments() if isinstance(s, InterpSegment)]
    expected = "/system/bin/linker64" if elf.elfclass == 64 else "/system/bin/linker"
    found = [] if elf["e_type"] == "ET_DYN" and elf["e_entry"] else ["it is no position-independent executable"]
    return found + ([] if loaders == [expected] else [f"{loaders or 'nobody'} starts it, not {expected}"])


def _weight(measured: size.Size, budget: int) -> list[str]:
    over = budget and measured.file_bytes > budget
    return [f"it is {measured.file_bytes:,} bytes; the budget is {budget:,}"] if over else []


def _figure(key: str, abi: str) -> int:
    figures: dict[str, dict[str, int]] = json.loads(_FIGURES.read_text())
    return figures[key].get(abi, 0)


def _asked(elf: ELFFile, abi: str, others: tuple[str, ...] = ()) -> tuple[int, list[str]]:
    """The highest API level among the symbols asked for, and which of them are not in the list. others: how names begin
    that another library of ours has."""
    listed = {symbol.name: symbol for symbol in c_library.symbols(abi)}
    table = size.section(elf, ".dynsym", SymbolTableSection)
    names = [s.name for s in table.iter_symbols() if s["st_shndx"] == "SHN_UNDEF" and s.name]
    names = [name for name in names if not others or not name.startswith(others)]
    unknown = [f"it asks for {name}, which is not in {c_library.LIST.name}" for name in names if name not in listed]
    level = max((listed[name].api_level for name in names if name in listed), default=1)
    return level, unknown + ([f"it asks for API level {level}"] if level > API_LEVEL else [])
