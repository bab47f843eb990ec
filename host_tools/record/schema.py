"""Every JSON file of a run folder as a type: the only way in which Python reads them.

They are written in three languages: by Python here, by the app's Java, by the delegate and the runner in C++; tests hold
what each of them writes against these types. A device's files come from outside, so sizes and ranges are part of a
type. json_schema.py makes docs/schema/run_folder.json from them. Readers ignore fields that they do not know.

The types are in files by what they describe; all have their names here, too.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from host_tools.record import schema_found as found, schema_machine as machine, schema_run as run, spec
from host_tools.record.schema_fields import *  # noqa: F403
from host_tools.record.schema_fields import of, plain
from host_tools.record.schema_found import *  # noqa: F403
from host_tools.record.schema_machine import *  # noqa: F403
from host_tools.record.schema_run import *  # noqa: F403


def files() -> dict[str, type[Any]]:
    """The type of each file by its name, in the order of the page."""
    kinds = (
        run.Status, run.Verdicts, run.Timings, run.Cold, run.Second, run.Tensors,
        run.Reference, run.Profile, run.Sustained, machine.Environment, found.Compared, found.OverInputs, found.Metrics,
        found.Peers, found.CpuTensors,
        found.Alone, found.Bisect, found.Ranges, found.Repeats, found.Determinism, run.Model, machine.Target, run.ErrorFile,
    )  # fmt: skip
    return {kind.FILE: kind for kind in (spec.RunSpec, *kinds)}


def unknown(kind: type[Any], value: Mapping[str, Any]) -> list[str]:
    """Fields of a value that its type does not have: what a writer writes and the page does not tell."""
    return list(_unknown(value, plain(of(kind, value)), "$"))


def _unknown(value: Any, known: Any, place: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in known:
                yield f"{place}.{key}"
            else:
                yield from _unknown(inner, known[key], f"{place}.{key}")
    elif isinstance(value, (list, tuple)):
        for number_, (inner, other) in enumerate(zip(value, known)):
            yield from _unknown(inner, other, f"{place}[{number_}]")
