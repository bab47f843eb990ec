"""Holds what a run left against the schema: each file is known, sound, and has no field of which the page does not tell."""

from pathlib import Path

from host_tools.record import run_folder, schema

_OF_A_DRIVER = ("target.json",)  # its fields are told elsewhere: docs/targets.md


def wrong(folder: Path) -> list[str]:
    """What is not as the schema has it: file and field."""
    found = []
    for file in sorted(folder.glob("*.json")):
        kind = schema.files().get(file.name)
        if kind is None:
            found.append(f"{file.name} is not in the schema")
            continue
        value = run_folder.RunFolder(folder).json(file.name)
        if file.name not in _OF_A_DRIVER:
            found += [f"{file.name}: {field}" for field in schema.unknown(kind, value)]
    return found
