"""A parity run on a device, on the terminal."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.markup import escape

from host_tools.base.text_table import Table, number, text, word
from host_tools.base.units import size_text
from host_tools.judge.judged_cases import KINDS, RIGHT
from host_tools.record import verdicts
from host_tools.show.device_parity_page import place, share

_SHOWN = 20


def show(document: Mapping[str, Any], console: Console) -> None:
    device, cost = document["device"], document["cost"]
    who = " ".join(filter(None, (device.get("manufacturer"), device.get("model"))))
    console.print(f"[bold]{escape(who)}[/], Android {escape(str(device.get('release', '?')))}: right cases of all")
    table = Table(
        [text("\nruns on"), word("\nprecision"), word("\nstorage"), *(number(f"\n{k}") for k in KINDS.values())]
    )
    for column in document["columns"]:
        counts = [column["kinds"][kind] for kind in KINDS]
        shares = [_colored(one) if not column["absent"] else "–" for one in counts]
        table.add_row(verdicts.APIS[column["backend"]], column["precision"], column["storage"], *shares)
    table.show(console)
    for reason in dict.fromkeys(f"{place_of(c)}: {c['absent']}" for c in document["columns"] if c["absent"]):
        console.print(f"– {escape(reason)}", highlight=False)
    for row in document["not_right"][:_SHOWN]:
        mends = f" [dim]mended by: {escape(', '.join(row['mends']))}[/]" if row["mends"] else ""
        sentence = f"{row['part']} on {place(row['column'])}: {row['verdict']}: {row['reason'].strip()}"
        console.print(f"[red]✗[/] {escape(sentence)}{mends}", highlight=False)
    if len(document["not_right"]) > _SHOWN:
        console.print(f"… and {len(document['not_right']) - _SHOWN} more (the page has all)")
    for reason in document["left_out"]:
        console.print(f"left out: {escape(reason)}", highlight=False)
    total = sum(document["totals"].values())
    console.print(
        f"{document['totals'][RIGHT]} of {total} right; {cost['runs']} runs in {cost['processes']} processes, {cost['programs']} "
        f"kernels compiled, {size_text(cost['pushed_bytes'])} to the device and {size_text(cost['pulled_bytes'])} from it, "
        f"{cost['seconds']} s",
        highlight=False,
    )


def place_of(column: Mapping[str, Any]) -> str:
    return verdicts.APIS[column["backend"]] + (", images" if "images" in column["absent"] else "")


def _colored(counts: Mapping[str, int]) -> str:
    shown = share(counts)
    all_right = counts[RIGHT] == sum(counts.values())
    return f"[{'green' if all_right else 'bold red'}]{shown}[/]" if shown else "–"
