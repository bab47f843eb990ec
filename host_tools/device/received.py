"""What a device left is believed only in the form of docs/run_folder.md: names, kinds and shapes, before anybody reads it."""

import json
import math
import re
from pathlib import Path
from typing import Any, Dict, List

import numpy as np

from host_tools.errors import ReplyNotUnderstood

# What a runner may leave. Anything else stays where it is.
NAMES = re.compile(
    r"(tensors|timings|verdicts|profile|environment|cold|error)\.json|(outputs|[a-z0-9_]{1,40}_outputs)/\d{3}\.npy|"
    r"partition_\d{1,3}/(graph(\.opt)?\.txt|plan\.quadra|kernels/[A-Za-z0-9_.-]{1,120})"
)
_NEEDED = ("tensors.json", "timings.json", "verdicts.json", "environment.json")
_MOST_BYTES = 1 << 26  # of one JSON file
_NODE = {"index": int, "op": str, "name": str, "on": str, "reason": str, "partition": int}
_PARTITION = {"id": int, "nodes": list, "programs": int, "dispatches": list, "timings_us": dict}
_BYTES = ("activation_bytes", "activation_bytes_lower_bound", "constant_bytes", "plan_bytes")
_DISPATCH = {"name": str, "kernel": str, "nodes": list, "global": list, "local": list}
_TENSOR = {"name": str, "dtype": str, "shape": list}


def check(folder: Path, serial: str) -> None:
    """ReplyNotUnderstood where a run that calls itself complete lacks something, or a file has another form."""
    try:
        for name in _NEEDED:
            if not (folder / name).is_file():
                raise ValueError(f"it left no {name}")
        values = {file.name: read(file) for file in sorted(folder.glob("*.json")) if file.name in (*_NEEDED, "profile.json")}
        _verdicts(values["verdicts.json"])
        _timings(values["timings.json"])
        _tensors(folder, values["tensors.json"])
        _environment(values["environment.json"])
        if "profile.json" in values:
            _profile(values["profile.json"])
    except (ValueError, OSError, KeyError, TypeError) as error:
        tried, found = f"read what the run left on {serial}", f"the run says that it is complete; but {error}"
        do_next = "install the app that belongs to this toolkit (`./inv install --fresh`), then run again"
        raise ReplyNotUnderstood(tried, found, do_next, serial=serial, step="read what was pulled") from error


def missing(name: str, serial: str) -> None:
    """Raises: the run says that it is complete, and has not left this."""
    tried, found = f"read what the run left on {serial}", f"the run says that it is complete, and left no {name}"
    raise ReplyNotUnderstood(tried, found, "run again; logcat.txt has the app's log", serial=serial, step="pull")


def damaged(folder: Path) -> List[str]:
    """Removes what cannot be read of a run that was broken off, so that the rest can be looked at; returns the names."""
    forms = {"verdicts.json": _verdicts, "timings.json": lambda value: _timings(value, whole=False), "profile.json": _profile,
             "environment.json": _environment, "tensors.json": lambda value: _tensors(folder, value)}  # fmt: skip
    wrong = []
    for file in sorted((*folder.glob("*outputs/*.npy"), *folder.glob("*.json"))):
        try:
            if file.suffix == ".npy":
                np.load(file, allow_pickle=False, mmap_mode="r")
            else:
                forms.get(file.name, lambda value: None)(read(file))
        except (ValueError, OSError, EOFError, KeyError, TypeError):
            file.unlink(missing_ok=True)
            wrong.append(str(file.relative_to(folder)))
    return wrong


def environment(folder: Path) -> Dict[str, Any]:
    """The runner's environment.json; empty where it left none, or one of another form."""
    try:
        value = read(folder / "environment.json")
        _environment(value)
        return value
    except (OSError, ValueError):
        return {}


def read(file: Path) -> Dict[str, Any]:
    """One JSON object; ValueError where it is something else, too large or too deep."""
    if file.stat().st_size > _MOST_BYTES:
        raise ValueError(f"{file.name} has {file.stat().st_size} bytes")

    def no_number(word: str) -> None:
        raise ValueError(f"{file.name} has the number {word}")

    try:
        value = json.loads(file.read_text(encoding="utf-8"), parse_constant=no_number)
    except RecursionError as error:
        raise ValueError(f"{file.name} is nested too deeply") from error
    if not isinstance(value, dict):
        raise ValueError(f"{file.name} is no object")
    return value


def _verdicts(value: Dict[str, Any]) -> None:
    _of(value, {"backend": str, "nodes": list, "partitions": list, "device": dict, "precision": str, "target": str}, "verdicts.json")
    _rows(value["nodes"], _NODE, "verdicts.json: nodes")
    if any(node["on"] not in ("gpu", "cpu") for node in value["nodes"]):
        raise ValueError("verdicts.json: a node runs neither on the GPU nor on the CPU")
    _partitions(value["partitions"], "verdicts.json")


def _partitions(partitions: Any, where: str) -> None:
    _rows(partitions, _PARTITION, f"{where}: partitions")
    for partition in partitions:
        _numbers({key: partition[key] for key in _BYTES if key in partition}, f"{where}: partitions")
        _rows(partition["dispatches"], _DISPATCH, f"{where}: dispatches")
        _numbers(partition["timings_us"], f"{where}: timings_us")
        for dispatch in partition["dispatches"]:
            for key in ("nodes", "global", "local"):
                _numbers(dict(enumerate(dispatch[key])), f"{where}: {key} of a dispatch")


def _profile(value: Dict[str, Any]) -> None:
    _of(value, {"invoke_us": list, "partitions": list, "invokes": list}, "profile.json")
    _numbers(dict(enumerate(value["invoke_us"])), "profile.json: invoke_us")
    _partitions(value["partitions"], "profile.json")
    counts = {partition["id"]: len(partition["dispatches"]) for partition in value["partitions"]}
    _rows(value["invokes"], {"partition": int, "dispatch_us": list}, "profile.json: invokes")
    for row in value["invokes"]:
        _numbers(dict(enumerate(row["dispatch_us"])), "profile.json: dispatch_us")
        if len(row["dispatch_us"]) != counts.get(row["partition"]):
            raise ValueError("profile.json: a row of times is of no partition, or of another one")


def _timings(value: Dict[str, Any], whole: bool = True) -> None:
    """whole: of a run that came to its end."""
    _of(value, {"threads": int, "init_us": dict, "samples_us": dict}, "timings.json")
    for who, laps in value["init_us"].items():
        _of(laps, {"total_us": int, "first_invoke_us": int}, f"timings.json: {who}")
        _numbers(laps, f"timings.json: {who}")
    for group in ("samples_us", "cpu_us"):
        for who, samples in value.get(group, {}).items():
            if not isinstance(samples, list):
                raise ValueError(f"timings.json: {group} of {who} is no list")
            _numbers(dict(enumerate(samples)), f"timings.json: {group} of {who}")
    for group in ("memory", "cold_memory"):
        if not isinstance(value.get(group, {}), dict):
            raise ValueError(f"timings.json: {group} is no object")
        _numbers(value.get(group, {}), f"timings.json: {group}")
    if whole and not value["samples_us"].get("quadra"):
        raise ValueError("timings.json has no samples of Quadra")


def _tensors(folder: Path, value: Dict[str, Any]) -> None:
    for group, rows in value.items():
        if group == "schema_version":
            continue
        _rows(rows, _TENSOR, f"tensors.json: {group}")
        files = sorted((folder / group).glob("*.npy"))
        if group != "inputs" and [file.name for file in files] != [f"{i:03d}.npy" for i in range(len(rows))]:
            raise ValueError(f"{group} has {len(files)} arrays, tensors.json names {len(rows)}")
        for file in files:
            np.load(file, allow_pickle=False, mmap_mode="r")  # its head and its size; ValueError: damaged
    if not value.get("outputs"):
        raise ValueError("tensors.json names no outputs")


def _environment(value: Dict[str, Any]) -> None:
    kinds = {"device": dict, "packages": dict, "thermal": dict, "opencl_devices": list, "gles_devices": list}
    _of({**{key: kind() for key, kind in kinds.items()}, **value}, kinds, "environment.json")
    for part in ("device", "packages", "thermal"):
        for key, word in value.get(part, {}).items():
            if not isinstance(word, str) and key != "abis":
                raise ValueError(f"environment.json: {key} of {part} is no text")
    for api in ("opencl_devices", "gles_devices"):
        if any(not isinstance(device, dict) for device in value.get(api, [])):
            raise ValueError(f"environment.json: {api} is no list of objects")


def _rows(rows: Any, kinds: Dict[str, type], where: str) -> None:
    if not isinstance(rows, list):
        raise ValueError(f"{where} is no list")
    for row in rows:
        _of(row, kinds, where)


def _of(value: Any, kinds: Dict[str, type], where: str) -> None:
    if not isinstance(value, dict):
        raise ValueError(f"{where} is no object")
    for key, kind in kinds.items():
        if not isinstance(value.get(key), kind) or (kind is int and isinstance(value[key], bool)):
            raise ValueError(f"{where} has no {key} of the right kind")


def _numbers(values: Dict[Any, Any], where: str) -> None:
    for key, number in values.items():
        if isinstance(number, bool) or not isinstance(number, (int, float)) or not math.isfinite(number) or number < 0:
            raise ValueError(f"{where}: {key} is {number!r:.40}")


def accepted(names: List[str]) -> List[str]:
    """Those of the names that a runner may leave."""
    return [name for name in names if NAMES.fullmatch(name)]
