"""What `inv generate` found, for a person."""

from rich.console import Console
from rich.markup import escape

from host_tools.base.text_table import Table, number, word
from host_tools.base.units import counted, ms, number_text, ratio_text, size_text
from host_tools.record import printed, verdicts

_NAMES = {"quadra": "Quadra", "builtin": "CPU, builtin kernels", "xnnpack": "CPU, XNNPACK"}


def show(found: printed.GenerateDocument, console: Console) -> None:
    api = verdicts.APIS.get(found.backend, found.backend)
    where = f"{found.nodes_on_gpu} of {counted(found.nodes, 'node')} on the GPU"
    console.print(f"[bold]{escape(found.model)}[/], {api} ({escape(found.device)}), {found.precision}: {where}")
    calls = "+".join(map(str, found.prefills)) or "none"
    taken = "each runtime its own tokens" if found.free or not found.agreement else "the CPU's tokens"
    console.print(
        f"prompt of {counted(len(found.prompt), 'token')} (prefill: {calls}), caches of {found.positions}, vocabulary {found.vocabulary};"
        f" decode takes {taken}\n",
        highlight=False,
    )
    table = Table([
        word(""), number("start, s"), number("prefill, tokens/s"), number("decode, tokens/s"), number("median ms a token"),
        number("processor ms a token", 1), number("memory, steady"), number("peak"),
    ])  # fmt: skip
    for one in found.runtimes:
        decode, prefill = one.decode, one.prefill
        memory = ["–", "–"] if one.rewrites else [size_text(one.steady_bytes), size_text(one.peak_bytes)]
        table.add_row(
            _NAMES[one.runtime], f"{one.start_us / 1e6:.2f}", ratio_text(float(prefill.tokens_per_s)),
            ratio_text(float(decode.tokens_per_s)), ms(decode.median_us),
            ms(decode.processor_us / max(1, decode.calls)), *memory,
        )  # fmt: skip
    table.show(console)
    if found.moved:
        console.print("\n" + _moved(found.moved), highlight=False)
    if found.agreement:
        console.print(_agreement(found.agreement), highlight=False)


def _moved(moved: printed.Moved) -> str:
    causes = {
        "caches": moved.copied_states_bytes,
        "other inputs": moved.copied_inputs_bytes,
        "other outputs": moved.copied_outputs_bytes,
    }
    copied = f"{size_text(moved.copied_bytes)} copied"
    if moved.copied_bytes:
        copied += f" ({', '.join(f'{cause} {size_text(count)}' for cause, count in causes.items() if count)})"
    by_api = (
        f", {size_text(moved.host_copied_bytes)} by the runtime's API to hand over the caches"
        if moved.host_copied_bytes
        else ""
    )
    return (
        f"a decode step: {copied}{by_api}; its caches have {size_text(moved.cache_bytes)}, its logits"
        f" {size_text(moved.logits_bytes)}, its weights {size_text(moved.constant_bytes)}"
    )


def _agreement(found: printed.Agreement) -> str:
    colour, said = ("green", "right") if found.ok else ("red", "wrong")
    text = f"largest difference of logits {number_text(float(found.largest_difference))} of their range (tolerance {found.tolerance:.0e});"
    text += f" of {counted(len(found.steps), 'token')} {found.equal} equal"
    text += f", {found.undecided} undecided" if found.undecided else ""
    text += f", {found.different} different" if found.different else ""
    return f"{text}: [{colour}]{said}[/]"
