"""Figures for a person: the kernels that ask most of a GPU first."""

from rich.console import Console
from rich.markup import escape

from host_tools.analyse import gpu_rates, roofline, roofline_table
from host_tools.analyse.figures import Figures, KernelFigures
from host_tools.base.text_table import Table, number, text

_MILLION = 1e6
WHAT_THEY_ARE = (
    "Counts by Mesa's compiler for this GPU, not by the phone's own, and no times: caches, bandwidth and clocks are not"
    " in them."
)

API_TITLES = {"gles": "OpenGL ES", "opencl": "OpenCL", "vulkan": "Vulkan"}
HALVES = "With halves, Mesa's compiler for Adreno makes more of it than the GPU needs: docs/analyse.md."


def show(found: Figures, console: Console, top: int = 20) -> None:
    """top: at most so many kernels; 0 is all. Work is in millions, of a whole inference."""
    console.print(f"[bold]{escape(title(found))}[/]")
    _table(found, top).show(console)
    rest = len(found.kernels) - top if top else 0
    if rest > 0:
        console.print(f"[dim]and {rest} more kernels: --top 0[/]")
    console.print(escape(_sum(found)))
    roof = roofline.of(found, gpu_rates.of(found.gpu))
    if roof:
        console.print(escape(f"{roofline_table.summary(roof)}: --roofline"))
    if not found.is_complete:
        console.print("≥: a loop's trips are not known, and count as one; or a kernel has no machine code.")
    if found.gpu.kind == "adreno" and found.precision != "f32":
        console.print(f"[dim]{HALVES}[/]")
    console.print(f"[dim]{WHAT_THEY_ARE}[/]")


def title(found: Figures) -> str:
    return f"{found.gpu.name}, {API_TITLES[found.api]}, {found.precision}, target {found.target}, Mesa {found.mesa}"


def _table(found: Figures, top: int) -> Table:
    occupancy = "waves" if found.gpu.kind == "adreno" else "threads"
    table = Table([
        text("kernel"), number("runs", 3), number("instr.", 4), number("regs", 1), number(occupancy, 1),
        number("spills:fills"), number("loops", 5), number("slots M"), number("share"), number("mul-adds M", 2),
        number("slots each", 2), number("reads M", 3), number("spilled M", 3),
    ])  # fmt: skip
    slots = found.work("slots")
    for kernel in found.kernels[: top or None]:
        table.add_row(*_row(kernel, slots, found.gpu.most_threads))
    return table


def _row(kernel: KernelFigures, slots: int, most_threads: int) -> list[str]:
    code = kernel.compiled
    if code is None:
        return [f"{escape(kernel.entry)}: [red]{escape(kernel.failure)}[/]"]
    own, products = kernel.work("slots"), kernel.work("multiply_adds")
    spills = f"{code.spills}:{code.fills}"
    return [
        escape(kernel.entry),
        str(len(kernel.dispatches)),
        str(code.instructions),
        str(code.registers),
        f"{code.threads}/{most_threads}",
        f"[red]{spills}[/]" if code.spills or code.fills else spills,
        str(len(code.loops) - 1),
        f"{'' if kernel.is_complete else '≥'}{own / _MILLION:.1f}",
        f"{own / slots:.1%}" if slots else "",
        f"{products / _MILLION:.1f}",
        f"{own / products:.1f}" if products else "",
        f"{kernel.work('reads') / _MILLION:.1f}",
        f"{kernel.work('spilled') / _MILLION:.1f}",
    ]


def _sum(found: Figures) -> str:
    slots, products = found.work("slots"), found.work("multiply_adds")
    least = "" if found.is_complete else "≥ "
    words = [f"{least}{slots / _MILLION:.0f} M issue slots, {products / _MILLION:.1f} M multiply-adds"]
    if found.precision != "f32" and found.work("products"):
        words.append(f"{found.work('half_products') / found.work('products'):.0%} of the products in half")
    if found.own_multiply_adds:
        own = found.own_multiply_adds
        words.append(f"the model's ops have {own / _MILLION:.1f} M, {slots / own:.2f} slots for each")
    words.append(f"{found.work('reads') / _MILLION:.1f} M reads")
    if found.work("spilled"):
        words.append(f"{found.work('spilled') / _MILLION:.1f} M spills and fills")
    return "; ".join(words)
