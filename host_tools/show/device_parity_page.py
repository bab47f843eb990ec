"""A parity run on a device as a page and as JSON, which name no device, computer or user, and need nothing else."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from host_tools.judge.judged_cases import KINDS, RIGHT, VERDICTS
from host_tools.record import run_folder, verdicts
from host_tools.show import report

FILE, RESULTS = "parity.html", "parity.json"
# Facts of a target that say which GPU it is; the others are its limits.
_WHO = ("device_name", "driver", "api_version", "vendor", "name", "api", "opencl_version")
_LONG = ("extensions", "quirks")


def write(document: Mapping[str, Any], folder: Path) -> Path:
    """Writes parity.json and parity.html of a cleaned document; returns the latter."""
    run_folder.write_json(folder / RESULTS, dict(document))
    run_folder.write_text(folder / FILE, render(document))
    return folder / FILE


def render(document: Mapping[str, Any]) -> str:
    page = report.environment().get_template(FILE)
    return page.render(doc=document, apis=verdicts.APIS, kinds=KINDS, share=share, place=place, who=_WHO, long=_LONG)


def share(counts: Mapping[str, int]) -> str:
    """12/13: right ones of all; empty where there are none."""
    total = sum(counts[verdict] for verdict in VERDICTS)
    return f"{counts[RIGHT]}/{total}" if total else ""


def place(column: str) -> str:
    """OpenCL, f32, buffer"""
    backend, precision, storage = column.split("/")
    return f"{verdicts.APIS[backend]}, {precision}, {storage}"
