"""What a device left is believed only in the form of docs/run_folder.md: names, kinds and shapes, before anybody reads it."""

import re
from pathlib import Path
from typing import Any

from host_tools.base.errors import Misuse, ReplyNotUnderstood
from host_tools.record import reading, schema
from host_tools.record.run_folder import RunFolder

# What a runner may leave. Anything else stays where it is.
NAMES = re.compile(
    r"(tensors|timings|verdicts|profile|sustained|environment|cold|error)\.json|(outputs|[a-z0-9_]{1,40}_outputs)/\d{3}\.npy|"
    r"partition_\d{1,3}/(graph(\.opt)?\.txt|plan\.quadra|kernels/[A-Za-z0-9_.-]{1,120}|tensor_\d{4,6}\.bin)"
)


def check(folder: Path, serial: str) -> None:
    """ReplyNotUnderstood where a run that calls itself complete lacks something, or a file has another form."""
    try:
        tensors, timings = reading.kept(folder, schema.Tensors), reading.kept(folder, schema.Timings)
        reading.kept(folder, schema.Verdicts)
        reading.kept(folder, schema.Environment)
        if (folder / schema.Profile.FILE).exists():
            reading.kept(folder, schema.Profile)
        if (folder / schema.Sustained.FILE).exists():
            reading.kept(folder, schema.Sustained)
        if not timings.samples_us.get("quadra"):
            raise ValueError("timings.json has no samples of Quadra")
        _tensors(folder, tensors)
    except reading.Missing as error:
        raise _lie(f"it left no {Path(error.tried).name}", serial) from error
    except Misuse as error:
        raise _lie(f"of {Path(error.tried).name} {error.came_back}", serial) from error
    except ValueError as error:
        raise _lie(str(error), serial) from error


def of_input(folder: Path, names: list[str]) -> bool:
    """Whether a folder with these files is what a runner leaves of one of many inputs, whole. One that it was at is not."""
    try:
        reading.kept(folder, schema.Verdicts)
        _tensors(folder, reading.kept(folder, schema.Tensors))
        return set(names) <= set(accepted(names))
    except (Misuse, ValueError):
        return False


def missing(name: str, serial: str) -> None:
    """Raises: the run says that it is complete, and has not left this."""
    tried, found = f"read what the run left on {serial}", f"the run reports success but left no {name}"
    raise ReplyNotUnderstood(tried, found, "run again; logcat.txt has the app's log", serial=serial, step="pull")


def damaged(folder: Path) -> list[str]:
    """Removes what cannot be read of an interrupted run, so that the rest can be looked at; returns the names."""
    wrong = [str(file.relative_to(folder)) for file in _files(folder) if not _is_sound(folder, file)]
    for name in wrong:
        (folder / name).unlink(missing_ok=True)
    return wrong


def environment(folder: Path) -> dict[str, Any]:
    """The runner's environment.json; empty where it left none, or one of another form."""
    try:
        value: dict[str, Any] = RunFolder(folder).json(schema.Environment.FILE)
        return value
    except Misuse:
        return {}


def accepted(names: list[str]) -> list[str]:
    """Those of the names that a runner may leave."""
    return [name for name in names if NAMES.fullmatch(name)]


def _files(folder: Path) -> list[Path]:
    found = [*folder.glob("*outputs/*.npy"), *folder.glob("*.json")]
    return sorted(file for file in found if file.is_symlink() or not file.is_dir())


def _is_sound(folder: Path, file: Path) -> bool:
    try:
        if file.suffix == ".npy":
            reading.array(file)
        else:
            value = reading.json_file(file, schema.files().get(file.name, dict))
            if isinstance(value, schema.Tensors):
                _tensors(folder, value)
        return True
    except (Misuse, ValueError):
        return False


def _tensors(folder: Path, tensors: schema.Tensors) -> None:
    """ValueError where the arrays are not those of which tensors.json tells; Misuse where one is damaged."""
    for group, rows in tensors.groups().items():
        files = sorted((folder / group).glob("*.npy"))
        if group != "inputs" and [file.name for file in files] != [f"{i:03d}.npy" for i in range(len(rows))]:
            raise ValueError(f"{group} has {len(files)} arrays, tensors.json names {len(rows)}")
        for file in files:
            reading.array(file)
    if not tensors.outputs:
        raise ValueError("tensors.json names no outputs")


def _lie(how: str, serial: str) -> ReplyNotUnderstood:
    tried, found = f"read what the run left on {serial}", f"the run reports success, but {how}"
    do_next = "install the app that belongs to this toolkit (`./inv install --fresh`), then run again"
    return ReplyNotUnderstood(tried, found, do_next, serial=serial, step="read what was pulled")
