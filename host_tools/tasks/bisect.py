"""`inv bisect`, from its options to tables or JSON."""

from rich.console import Console

from host_tools.base import json_text
from host_tools.base.errors import QuadraError, worst
from host_tools.base.progress import progress
from host_tools.debug import wrong_op
from host_tools.request.run_options import RunOptions
from host_tools.show import bisect_table


def run(options: RunOptions, against: str, tolerance: float, *, everything: bool, json: bool, console: Console) -> None:
    """Looks into each signature, also after one that is wrong; raises the worst of what was found."""
    errors, documents = [], []
    for spec, place, other in wrong_op.asked(options, against):
        try:
            with progress(f"bisect {spec.label}") as show:
                folder, found = wrong_op.run(spec, place, other, show, tolerance)
            documents.append({"folder": folder.path, "signature": spec.signature, **json_text.plain(found)})
            if not json:
                bisect_table.show(folder, found, console, everything=everything)
            wrong_op.fail_if_wrong(found)
        except QuadraError as error:
            errors.append(error)
    if json:
        print(json_text.text(documents))
    if found_worst := worst(errors):
        raise found_worst
