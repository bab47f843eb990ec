"""RunSpec: what was asked of a run. A plain value that prints itself as spec.json."""

import math
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar

from msgspec import Meta, Struct

from host_tools.base.errors import Misuse
from host_tools.record.run_names import part_of_name
from host_tools.record.schema_fields import VERSION, Count, Is, Text, Words, plain

BACKENDS = ("auto", "opencl", "gles", "null")
PRECISIONS = ("f32", "f32_f16", "f16")
KINDS = ("random", "picture", "arrays")
PLACES = ("host", "jvm", "device")
ROUTES = ("", "app", "shell")
APIS = ("interpreter", "compiled")
PEERS = ("xnnpack", "shipped-opencl", "shipped-gles", "litert-gpu")
_MOST = 10**9  # what a C int holds
_MOST_SEED = 2**53
_MOST_SAME = 10_000
_MOST_DELAY_MS = 60_000
_MOST_CORES = 1024  # the bits of a CPU set
_CORES = re.compile(r"(\d{1,4})(?:-(\d{1,4}))?")
LONGEST_S = 24 * 3600  # a sustained run
Sides = Annotated[tuple[Annotated[int, Meta(ge=1, lt=1 << 31)], ...], Meta(max_length=16)]


class ModelRef(Struct, frozen=True, forbid_unknown_fields=True):
    """A model file and its digest."""

    name: Text
    path: Text
    sha256: Text


class InputSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """Where the input values come from.

    kind "random": every input by `seed`. kind "picture": the one picture input from the file `picture`, resized
    to the model's size, its 0..255 scaled to `value_range`; further inputs by `seed`. kind "arrays": each from a file
    of the folder `arrays`.
    `value_range` also bounds random float inputs.
    """

    kind: Annotated[
        Text,
        Is("`random`; `picture`: the one picture input from a file, further ones random; `arrays`: each from a file"),
    ] = "random"
    seed: Annotated[Count, Is("of random values")] = 1
    value_range: Annotated[tuple[float, float], Is("range for a picture's 0..255, or for random floats")] = (-1.0, 1.0)
    picture: Annotated[Text, Is("its path")] = ""
    picture_sha256: Text = ""
    arrays: Annotated[
        Text, Is("the folder of `NAME.npy` or `000.npy`, …, or a `.npz` file of such arrays (kind `arrays`)")
    ] = ""
    sizes: Annotated[
        dict[Text, Sides], Meta(max_length=1 << 10), Is("by input: its shape, where it is not the model's own")
    ] = {}

    @property
    def label(self) -> str:
        """What one of many inputs is called: as its file, its folder, or the run that had it."""
        path = Path(self.picture or self.arrays)
        path = path.parent if path.name == "inputs" else path
        return path.name.removesuffix(".npz") or f"seed {self.seed}"


class RunSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """What was asked."""

    FILE: ClassVar[str] = "spec.json"
    run_id: Annotated[Text, Is("the folder's name")]
    model: ModelRef
    inputs: InputSpec = InputSpec()
    signature: Annotated[Text, Is("the signature that runs; empty: the main graph")] = ""
    options: Annotated[
        Words, Is("the delegate's own: `backend`, `precision`, `target` (omitted: from the driver)")
    ] = {}
    place: Annotated[Text, Is("`host`, `jvm`, `device`")] = "host"
    device: Annotated[Text, Is("its serial; in a lab HOST/DEVICE (place `device`)")] = ""
    route: Annotated[
        Text,
        Is(
            "`shell` if a device runs it with the [native runner](android.md#from-the-shell), else `app` or empty: figures of the two are never pooled"
        ),
    ] = ""
    api: Annotated[Text, Is("`interpreter`, or `compiled`: [LiteRT's CompiledModel](compiled_model.md)")] = (
        "interpreter"
    )
    driver: Annotated[
        Text, Is("a row of the [table of drivers](drivers.md) that it ran on; empty: the usual one (place `host`)")
    ] = ""
    repetitions: Annotated[Count, Is("timed inferences of each runner")] = 20
    threads: Annotated[Count, Is("of XNNPACK, and of a driver that runs on the CPU")] = 1
    peers: Annotated[
        tuple[Text, ...], Meta(max_length=len(PEERS)), Is("`xnnpack`, `shipped-opencl`, `shipped-gles`, `litert-gpu`")
    ] = ("xnnpack",)
    peer_defaults: Annotated[
        bool, Is("GPU delegates beside Quadra compute in the precision that is their default, not in that of `options`")
    ] = False
    profile: Annotated[bool, Is("also measure every dispatch")] = False
    keep_tensors: Annotated[
        bool, Is("also run once with the delegate's option `dump_tensors`: `partition_N/tensor_NNNN.bin`")
    ] = False
    cold: Annotated[bool, Is("also time a start with an empty driver cache")] = False
    second_starts: Annotated[
        Count, Is("also time so many starts of each runtime from what an earlier one kept (place `jvm`, with `cold`)")
    ] = 0
    same_inferences: Annotated[
        Count, Is("how many equal inferences of one process are compared bit by bit: `determinism.json`; 0: none")
    ] = 0
    same_processes: Annotated[Count, Is("and of how many processes the first")] = 0
    sustained_s: Annotated[
        Count,
        Is("how long Quadra alone runs on after the measurement, inference after inference: `sustained.json`; 0: not"),
    ] = 0
    warm_up: Annotated[Count, Is("inferences of each runner before the timed ones")] = 2
    delay_ms: Annotated[Count, Is("the pause before each timed inference, as an app has between frames")] = 0
    cpus: Annotated[
        Text, Is("the processor cores that it may use, `4-7` or `0,2` (place `host`, route `shell`); empty: all")
    ] = ""
    deadline_s: Annotated[float, Is("of one process, beside `sustained_s`")] = 300.0
    max_error: Annotated[
        float,
        Is("what the largest error of each output may be, relative to its range; 0: as the judgement's rule has it"),
    ] = 0.0
    input_set: Annotated[
        Text,
        Is(
            "the folder of the many inputs that are judged together, of which `inputs` is the first; empty: there is one"
        ),
    ] = ""
    tolerances: Annotated[
        dict[Text, tuple[float, float]],
        Meta(max_length=1 << 10),
        Is(
            "by output, of all others under the empty name: each number may be off by the first, in the output's unit, plus the second times the CPU's number"
        ),
    ] = {}
    metrics: Annotated[tuple[Text, ...], Meta(max_length=1 << 8), Is("the user's, as `--metric` has them")] = ()
    schema_version: Annotated[int, Is("1")] = VERSION

    @property
    def process_deadline_s(self) -> float:
        return self.deadline_s + self.sustained_s

    @property
    def label(self) -> str:
        """The model, and its signature if one ran, for people: control characters are written out."""
        name = f"{self.model.name}:{self.signature}" if self.signature else self.model.name
        return name if name.isprintable() else repr(name)[1:-1]

    def to_json(self) -> dict[str, Any]:
        value: dict[str, Any] = plain(self)
        return value


def checked(spec: RunSpec) -> RunSpec:
    """`spec`, if every field makes sense."""
    _one_of("--backend", spec.options.get("backend", "auto"), BACKENDS)
    _one_of("--precision", spec.options.get("precision", "f32"), PRECISIONS)
    _one_of("--on", spec.place, PLACES)
    if bool(spec.device) != (spec.place == "device"):
        raise Misuse("read the place of a run", "a device has a serial, other places have none", "run the model again")
    _one_of("--via", spec.route, ROUTES)
    if spec.route and spec.place != "device":
        came_back, do_next = (
            f"--via {spec.route} is for devices",
            "omit --via, or give a device: --on SERIAL, any, virtual",
        )
        raise Misuse(f"run with --on {spec.place}", came_back, do_next)
    if spec.route == "shell" and (spec.cold or spec.options.get("serialization_dir")):
        came_back, do_next = (
            "only the app has a cache folder on a device",
            "omit --cold and --cache, or run it in the app",
        )
        raise Misuse("run with --via shell", came_back, do_next)
    _one_of("--api", spec.api, APIS)
    if spec.api == "compiled" and spec.place != "host":
        came_back = "its runtime has no CompiledModel: that comes with this machine's ai-edge-litert only"
        raise Misuse(f"run with --api compiled in the place {spec.place}", came_back, "run it with --on host")
    if spec.api == "compiled" and spec.same_inferences:
        came_back = "a CompiledModel cannot begin anew with a model's state, so that its inferences need not be equal"
        raise Misuse("run with --same and --api compiled", came_back, "omit --api")
    if spec.driver and spec.place != "host":
        came_back, do_next = "other drivers run with --on host only", "omit --on, or --driver"
        raise Misuse(f"run with --driver {spec.driver} in the place {spec.place}", came_back, do_next)
    for peer in spec.peers:
        _one_of("--peer", peer, PEERS)
        if peer != "xnnpack" and spec.route == "shell":
            came_back, do_next = "the runner in a shell knows xnnpack only", "run it in the app: omit --via"
            raise Misuse(f"run {peer} beside Quadra", came_back, do_next)
        if peer == "litert-gpu" and spec.place != "host":
            came_back = "it comes with this machine's ai-edge-litert"
            raise Misuse(f"run {peer} in the place {spec.place}", came_back, "run it with --on host")
        if peer.startswith("shipped") and spec.place == "host":
            came_back, do_next = (
                "it is a library for Android, which does not run with --on host",
                "run it in Android's runtime: --on jvm",
            )
            raise Misuse(f"run {peer} beside Quadra", came_back, do_next)
    _one_of("the kind of inputs", spec.inputs.kind, KINDS)
    _between("--runs", spec.repetitions, 1, _MOST)
    _between("--threads", spec.threads, 1, _MOST)
    _between("second_starts", spec.second_starts, 0, 1000)
    for count in (spec.same_inferences, spec.same_processes) if spec.same_inferences or spec.same_processes else ():
        _between("--same", count, 2, _MOST_SAME)
    _between("--seed", spec.inputs.seed, 0, _MOST_SEED)
    _between("--timeout", spec.deadline_s, 1, _MOST)
    if spec.sustained_s:
        _between("--for", spec.sustained_s, 1, LONGEST_S)
    _between("--warm-up", spec.warm_up, 0, _MOST)
    _between("--delay", spec.delay_ms, 0, _MOST_DELAY_MS)
    if cores_of(spec.cpus) and spec.place != "host" and spec.route != "shell":
        came_back = "Android has no way for an app to choose its cores"
        do_next = "add --via shell, or omit --cpus" if spec.place == "device" else "omit --cpus, or give --on host"
        raise Misuse(f"run with --cpus {spec.cpus}", came_back, do_next)
    _between("--max-error", spec.max_error, 0, _MOST)
    for limits in spec.tolerances.values():
        for limit in limits:
            _between("--tolerance", limit, 0, math.inf)
    if spec.max_error and spec.tolerances:
        raise Misuse("read the limits of errors", "--max-error and --tolerance are both given", "give one of them")
    if spec.input_set and (spec.same_inferences or spec.keep_tensors):
        raise Misuse("run many inputs", "--same and copies of tensors are of one input", "give one input")
    low, high = spec.inputs.value_range
    if not (low < high and math.isfinite(high - low)):
        raise Misuse("read the range of the inputs", f"{low:g} is not below {high:g}", "give it as LOW,HIGH")
    return spec


def cores_of(cpus: str) -> list[int]:
    """The processor cores of `4-7,0`, sorted; empty: all. Misuse: it is no such list."""
    found: set[int] = set()
    for part in filter(None, cpus.split(",")):
        ends = _CORES.fullmatch(part)
        first, last = (int(ends[1]), int(ends[2] or ends[1])) if ends else (1, 0)
        if first > last or last >= _MOST_CORES:
            raise Misuse("read --cpus", f"{part!r} is not a core, nor cores as 4-7", "number them from 0: --cpus 4-7")
        found.update(range(first, last + 1))
    return sorted(found)


def tolerances_of(words: Sequence[str]) -> dict[str, tuple[float, float]]:
    """NAME=ABS,REL for each, or ABS,REL for all outputs that are not named: under the empty name."""
    found: dict[str, tuple[float, float]] = {}
    for word in words:
        name, _, limits = word.rpartition("=")
        try:
            absolute, relative = (float(part) for part in limits.split(","))
        except ValueError:
            do_next = "name an output and give its limits: --tolerance scores=0.001,0.01"
            raise Misuse("read --tolerance", f"{word!r} is not NAME=ABS,REL", do_next) from None
        if name in found:
            raise Misuse("read --tolerance", f"the output {name or 'without a name'} has two", "give it one")
        found[name] = (absolute, relative)
    return found


RUN_ID = re.compile(r"\d{8}-\d{6}-\d{3}-[A-Za-z0-9_.-]{1,60}")


def new_run_id(model_name: str, now: float | None = None) -> str:
    """Sorts by time: 20261121-101530-042-selfie_segmentation (UTC, milliseconds)."""
    moment = time.time() if now is None else now
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(moment))
    return f"{stamp}-{int(moment * 1000) % 1000:03d}-{part_of_name(model_name) or 'model'}"


def _one_of(what: str, value: str, words: tuple[str, ...]) -> None:
    if value not in words:
        raise Misuse(f"read {what}", f"{value!r} is not one of {', '.join(filter(None, words))}", "choose one of these")


def _between(what: str, value: float, least: float, most: float) -> None:
    if not isinstance(value, (int, float)) or not least <= value <= most:
        raise Misuse(f"read {what}", f"{value!r} is not a number from {least} to {most}", f"give {least} or more")
