"""RunSpec: what was asked of a run. A plain value that prints itself as spec.json."""

import hashlib
import re
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Dict, Mapping, Optional, Tuple

from host_tools.errors import Misuse

SCHEMA_VERSION = 1
BACKENDS = ("auto", "opencl", "gles", "null")
PRECISIONS = ("f32", "f32_f16", "f16")
KINDS = ("random", "picture")
PLACES = ("host", "app", "device")
ROUTES = ("", "app", "shell")
PEERS = ("xnnpack", "shipped-opencl", "shipped-gles")


@dataclass(frozen=True)
class ModelRef:
    """A model file, and the digest that says which bytes were meant."""

    name: str
    path: str
    sha256: str


@dataclass(frozen=True)
class InputSpec:
    """Where the input values come from.

    kind "random": every input by `seed`. kind "picture": the one picture input from the file `picture`, resized
    to the model's size, its 0..255 scaled to `value_range`; further inputs by `seed`.
    `value_range` also bounds random float inputs.
    """

    kind: str = "random"
    seed: int = 1
    value_range: Tuple[float, float] = (-1.0, 1.0)
    picture: str = ""
    picture_sha256: str = ""


@dataclass(frozen=True)
class RunSpec:
    """One run. `options` are the delegate's own: backend, precision, target. `place` and `device` say where.

    `route` says how a device runs it: the app, or the native runner in its shell. Figures of the two are never pooled.
    """

    run_id: str
    model: ModelRef
    inputs: InputSpec = InputSpec()
    options: Dict[str, str] = field(default_factory=dict)
    place: str = "host"
    device: str = ""  # the serial, where the place is a device
    route: str = ""  # "shell", or "app" (also: nothing said)
    repetitions: int = 20
    threads: int = 1
    peers: Tuple[str, ...] = ("xnnpack",)
    profile: bool = False
    cold: bool = False
    deadline_s: float = 300.0
    schema_version: int = SCHEMA_VERSION

    def to_json(self) -> Dict[str, Any]:
        return asdict(self)


def from_json(value: Mapping[str, Any], where: str = "spec.json") -> RunSpec:
    """The RunSpec that `value` states; Misuse names the field that is wrong."""
    version = value.get("schema_version") if isinstance(value, Mapping) else None
    if version != SCHEMA_VERSION:
        raise Misuse(
            f"read {where}",
            f"its schema_version is {version!r}, this Quadra reads {SCHEMA_VERSION}",
            "run the model again, or read the folder with the Quadra that made it",
        )
    try:
        inputs = dict(value["inputs"])
        inputs["value_range"] = tuple(float(v) for v in inputs["value_range"])
        rest = {**value, "model": ModelRef(**value["model"]), "inputs": InputSpec(**inputs)}
        rest["peers"] = tuple(value["peers"])
        return checked(RunSpec(**rest))
    except (KeyError, TypeError, ValueError) as error:
        raise Misuse(f"read {where}", f"a field is missing or wrong ({error})", "run the model again") from error


def checked(spec: RunSpec) -> RunSpec:
    """`spec`, if every field makes sense."""
    _one_of("--backend", spec.options.get("backend", "auto"), BACKENDS)
    _one_of("--precision", spec.options.get("precision", "f32"), PRECISIONS)
    _one_of("--on", spec.place, PLACES)
    if bool(spec.device) != (spec.place == "device"):
        raise Misuse("read the place of a run", "a device has a serial, other places have none", "run the model again")
    _one_of("the route of a run", spec.route, ROUTES)
    if spec.route and spec.place != "device":
        raise Misuse("read the route of a run", "only a device has one", "run the model again")
    for peer in spec.peers:
        _one_of("--peer", peer, PEERS)
        if peer != "xnnpack" and spec.route == "shell":
            came_back, do_next = "the runner in a shell knows xnnpack only", "run it in the app: `./inv run --on`"
            raise Misuse(f"run {peer} beside Quadra", came_back, do_next)
        if peer != "xnnpack" and spec.place == "host":
            came_back, do_next = "it is a library for Android, which --on host has not", "run in the app place: --on app"
            raise Misuse(f"run {peer} beside Quadra", came_back, do_next)
    _one_of("the kind of inputs", spec.inputs.kind, KINDS)
    _at_least("--runs", spec.repetitions, 1)
    _at_least("--threads", spec.threads, 1)
    _at_least("--seed", spec.inputs.seed, 0)
    _at_least("--timeout", spec.deadline_s, 1)
    low, high = spec.inputs.value_range
    if not low < high:
        raise Misuse("read the range of the inputs", f"{low:g} is not below {high:g}", "give it as LOW,HIGH")
    return spec


def new_run_id(model_name: str, now: Optional[float] = None) -> str:
    """Sorts by time: 20261121-101530-042-selfie_segmentation (UTC, milliseconds)."""
    moment = time.time() if now is None else now
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(moment))
    word = re.sub(r"[^A-Za-z0-9_.]+", "_", model_name).strip("._")[:60] or "model"
    return f"{stamp}-{int(moment * 1000) % 1000:03d}-{word}"


def sha256_of(path: Path) -> str:
    """The digest of a file; Misuse where it cannot be read."""
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as stream:
            for block in iter(lambda: stream.read(1 << 20), b""):
                digest.update(block)
    except OSError as error:
        raise Misuse(f"read {path}", error.strerror or str(error), "give a file that is there and readable") from error
    return digest.hexdigest()


def _one_of(what: str, value: str, words: Tuple[str, ...]) -> None:
    if value not in words:
        raise Misuse(f"read {what}", f"{value!r} is not one of {', '.join(words)}", "choose one of these")


def _at_least(what: str, value: float, least: float) -> None:
    if not isinstance(value, (int, float)) or value < least:
        raise Misuse(f"read {what}", f"{value!r} is not a number from {least:g} on", f"give {least:g} or more")
