"""Every JSON file of a run folder as a type: the only way in which Python reads them.

They are written in three languages: by Python here, by the app's Java, by the delegate and the runner in C++; tests hold
what each of them writes against these types. A device's files come from outside, so sizes and ranges are part of a
type. docs/run_folder.md has the tables that schema_page.py makes of them. Readers ignore fields that they do not know.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal, Protocol, TypeVar

import msgspec
from msgspec import Meta, Struct, field

VERSION = 1  # of the whole folder: changes when a reader of the old form would be wrong
T = TypeVar("T")

Text = Annotated[str, Meta(max_length=1 << 16)]  # names of tensors may be those of all ops that were merged
Count = Annotated[int, Meta(ge=0, le=1 << 53)]  # what a double holds exactly: JSON's numbers are doubles to many
Index = Annotated[int, Meta(ge=-1, le=1 << 31)]  # -1: none
Whole = Annotated[int, Meta(ge=-(1 << 53), le=1 << 53)]
DriverNs = Annotated[int, Meta(ge=-(1 << 63), le=(1 << 63) - 1)]  # whatever a driver says
Amount = Annotated[float, Meta(ge=0, le=1e18)]
Real = float | Literal["inf", "-inf", "nan"]  # JSON has no infinity: it is a word
Counts = Annotated[list[Count], Meta(max_length=1 << 20)]
Indexes = Annotated[list[Index], Meta(max_length=1 << 20)]
Texts = Annotated[list[Text], Meta(max_length=1 << 16)]
Words = dict[Text, Text]


def Is(text: str) -> Meta:
    """What a field means, for the page."""
    return Meta(description=text)


class Kept(Protocol):
    """What stands in a file of its own: each File, and the RunSpec."""

    FILE: ClassVar[str]  # its name in the run folder


class File(Struct, kw_only=True):
    """Base of what stands in a file of its own."""

    FILE: ClassVar[str]  # its name in the run folder
    schema_version: Annotated[int, Is("1")] = VERSION


class Part(Struct, kw_only=True):
    """Base of what stands inside of one."""


# --- status.json, error.json


class Error(Part, kw_only=True):
    """Why a run did not come to its end."""

    exit_code: Annotated[Count, Is("the exit status of the task")]
    parts: Annotated[
        list[Text], Meta(min_length=3, max_length=3), Is("what was tried, what came back, what to do next")
    ]


class Status(File, kw_only=True):
    """How the run ended."""

    FILE = "status.json"
    state: Annotated[
        Literal["complete", "failed", "crashed", "timed_out", "interrupted"],
        Is("`failed`: with a reported error; `crashed`: a process died"),
    ]
    stage: Annotated[Text, Is("the stage at that time")] = ""
    error: Annotated[Error | None, Is("if one was reported")] = None


class ErrorFile(File, kw_only=True):
    """What a process of the run says of its failure. Becomes `error` of `status.json`."""

    FILE = "error.json"
    kind: Annotated[Text, Is("`Misuse`: the request cannot be carried out; else `RunFailed`")]
    exit_code: Annotated[Count, Is("as in `status.json`")]
    parts: Annotated[list[Text], Meta(min_length=3, max_length=3), Is("as in `status.json`")]


# --- verdicts.json, profile.json


class Node(Part, kw_only=True):
    """One node of the model. Nodes count from 0 in each subgraph."""

    index: Annotated[Count, Is("in its subgraph")]
    op: Annotated[Text, Is("TFLite's name")]
    on: Annotated[Literal["gpu", "cpu"], Is("where it runs")]
    subgraph: Annotated[Count, Is("0 is the main one; others are bodies of loops, branches, further signatures")] = 0
    name: Annotated[Text, Is("of its first output")] = ""
    partition: Annotated[Index, Is("-1 on the CPU")] = -1
    reason: Annotated[Text, Is("set on the CPU")] = ""


class Dispatch(Part, kw_only=True):
    """One launch of a kernel."""

    name: Annotated[Text, Is("`003_conv2d`: its number and its kernel")]
    kernel: Annotated[Text, Is("from its description")]
    nodes: Annotated[Indexes, Is("the nodes it computes")]
    global_size: Annotated[Counts, Is("work-items")] = field(name="global")
    local_size: Annotated[Counts, Is("work-items in a group")] = field(name="local")


class Span(Part, kw_only=True):
    """A step of the delegate, on the [clock](#times) of the run."""

    name: Annotated[Text, Is("as in `timings_us`")]
    start_ns: Count
    end_ns: Count


class Partition(Part, kw_only=True):
    """Nodes that run as one plan."""

    id: Annotated[Count, Is("counts from 0 over all subgraphs")]
    subgraph: Annotated[Count, Is("of its nodes")] = 0
    nodes: Annotated[Indexes, Is("of the subgraph")]
    programs: Annotated[Count, Is("distinct kernels")]
    activation_bytes: Annotated[Count, Is("memory for all activations")] = 0
    activation_bytes_lower_bound: Annotated[Count, Is("the largest sum of tensors alive at one dispatch")] = 0
    constant_bytes: Annotated[Count, Is("memory for weights")] = 0
    plan_bytes: Annotated[Count, Is("of `plan.quadra`")] = 0
    cache: Annotated[Text, Is("of compiled models: `off`, `hit`, or `miss: ` and why; then whether it was saved")] = (
        "off"
    )
    copied_bytes: Annotated[Count, Is("between the host and the GPU in each inference, for inputs and outputs")] = 0
    notes: Annotated[Texts, Is("what a driver made the delegate do otherwise than planned: a sentence each")] = []
    timings_us: Annotated[dict[Text, Count], Is("of `import`, `passes`, `plan`, `compile`, `upload`, `tune`")]
    spans: Annotated[
        list[Span],
        Meta(max_length=1 << 10),
        Is("the same steps, each time that it was done; a recalled plan is compiled and uploaded within `passes`"),
    ] = []
    dispatches: Annotated[list[Dispatch], Meta(max_length=1 << 20), Is("in the order of execution")]


class Gpu(Part, kw_only=True):
    """What the driver says of itself."""

    name: Text = ""
    vendor: Text = ""
    version: Text = ""
    driver: Text = ""
    target: Annotated[dict[Text, Any] | None, Is("the facts that plans are made from, as a [target](targets.md)")] = (
        None
    )


class DispatchTimes(Part, kw_only=True):
    """The times of one partition in one inference."""

    partition: Annotated[Count, Is("its `id`")]
    dispatch_us: Annotated[list[Amount], Meta(max_length=1 << 20), Is("in the order of the dispatches")]
    at_ns: Annotated[
        list[Count],
        Meta(max_length=5),
        Is("when it began, had written the inputs, had enqueued all dispatches, saw them done, had read the outputs"),
    ] = []
    dispatch_ns: Annotated[
        list[Annotated[list[DriverNs], Meta(min_length=4, max_length=4)]],
        Meta(max_length=1 << 20),
        Is(
            "of each dispatch, by the driver: queued, submitted, started, done, after the first was queued;"
            " empty where the driver measures durations alone"
        ),
    ] = []


class Verdicts(File, kw_only=True):
    """The delegate's report: where each node runs and why."""

    FILE = "verdicts.json"
    version: Annotated[Text, Is("of the delegate")] = ""
    made_by: Annotated[Text, Is("which compiler made it")] = ""
    backend: Annotated[
        Text, Is("that ran: `opencl`, `gles`, `null` (makes plans, runs nothing), `none` if no GPU API works")
    ] = ""
    backend_notes: Annotated[Texts, Is("a sentence for each that was tried before it")] = []
    precision: Annotated[Text, Is("`f32`, `f32_f16`, `f16`")] = ""
    target: Annotated[Text, Is("its name")] = ""
    device: Annotated[Gpu, Is("the GPU")] = field(default_factory=Gpu)
    dispatch_times_by: Annotated[
        Text, Is("source of a profile: the driver's `timers`, or `waits` for each dispatch")
    ] = ""
    nodes: Annotated[list[Node], Meta(max_length=1 << 20), Is("one entry per node of the model")]
    partitions: Annotated[list[Partition], Meta(max_length=1 << 16), Is("one per plan")]
    profile: Annotated[
        list[DispatchTimes],
        Meta(max_length=1 << 20),
        Is("with the option `profile`: a row per partition and inference"),
    ] = []


class Laps(Part, kw_only=True):
    """A start, from nothing to the end of the first inference, in microseconds. Steps that it has not are left out."""

    load_delegate_us: Count | None = None
    interpreter_us: Count | None = None
    allocate_us: Count | None = None
    first_invoke_us: Count
    total_us: Annotated[Count, Is("the sum of the steps")]
    cpu_us: Annotated[Count | None, Is("processor time of the whole")] = None
    first_invoke_cpu_us: Annotated[Count | None, Is("processor time of the first inference")] = None
    starts_ns: Annotated[
        dict[Text, Count], Is("when each step began, by its name, on the [clock](#times) of the run")
    ] = {}

    def known(self) -> dict[str, int]:
        """The amounts that it has, by name."""
        amounts = [name for name in self.__struct_fields__ if name != "starts_ns"]
        return {name: value for name in amounts if (value := getattr(self, name)) is not None}


class Profile(File, kw_only=True):
    """Time per dispatch, by a delegate that is another one than the timed one: asking a driver for times costs time."""

    FILE = "profile.json"
    dispatch_times_by: Annotated[Text, Is("as in `verdicts.json`")] = ""
    invoke_us: Annotated[Counts, Is("wall-clock time of each inference")]
    invoke_starts_ns: Annotated[Counts, Is("when each began, on the [clock](#times) of the run")] = []
    start: Annotated[Laps | None, Is("of this delegate")] = None
    partitions: Annotated[list[Partition], Meta(max_length=1 << 16), Is("as in `verdicts.json`")]
    invokes: Annotated[
        list[DispatchTimes],
        Meta(max_length=1 << 20),
        Is("a row per partition and inference; the first inference is a warm-up"),
    ]

    def __post_init__(self) -> None:
        counts = {partition.id: len(partition.dispatches) for partition in self.partitions}
        for number, row in enumerate(self.invokes):
            if len(row.dispatch_us) != counts.get(row.partition):
                raise ValueError(
                    f"row {number} of invokes has {len(row.dispatch_us)} times: it is of no partition, or of another one"
                )


# --- timings.json, cold.json


class Memory(Part, kw_only=True):
    """Of the process that ran, after the first inference."""

    peak_rss_bytes: Annotated[Count, Is("the maximum")]
    baseline_rss_bytes: Annotated[Count, Is("before the model was loaded")]
    rss_bytes: Annotated[Count | None, Is("resident then, on this machine")] = None
    private_bytes: Annotated[
        Count | None,
        Is("of it private: anonymous or changed; the rest are pages of files, which the system can take back"),
    ] = None


class Cold(Laps, kw_only=True):
    """One start with an empty driver cache. Goes into `timings.json`."""

    FILE: ClassVar[str] = "cold.json"
    peak_rss_bytes: Annotated[Count, Is("as in `memory` of `timings.json`")]
    baseline_rss_bytes: Annotated[Count, Is("as in `memory` of `timings.json`")]
    rss_bytes: Annotated[Count | None, Is("as in `memory` of `timings.json`")] = None
    private_bytes: Annotated[Count | None, Is("as in `memory` of `timings.json`")] = None


class Second(File, kw_only=True):
    """One start with what an earlier one left, and XNNPACK's after it. Goes into `timings.json`."""

    FILE = "second.json"
    starts: Annotated[dict[Text, Laps], Is("`quadra`, and `xnnpack` if it was asked for")]


class Timings(File, kw_only=True):
    """Starts, and raw samples. Keys are who ran: `quadra`, `xnnpack`, `shipped_opencl`, `shipped_gles`, `litert_gpu`."""

    FILE = "timings.json"
    threads: Annotated[Count, Is("for XNNPACK, and for a driver that runs on the CPU")]
    init_us: Annotated[
        dict[Text, Laps],
        Is(
            "starts: `quadra_warm`, `quadra_cold` (with `--cold`: an empty driver cache), the other runtimes' keys, with `_cold`"
        ),
    ]
    second_us: Annotated[
        dict[Text, Counts],
        Is(
            "whole starts with what the cold one left (with `--cold --cache`, or in a bench), each in a process of its own; on this machine `xnnpack`'s in the same"
        ),
    ] = {}
    second_cpu_us: Annotated[dict[Text, Counts], Is("processor time of the same starts")] = {}
    kept_bytes: Annotated[
        dict[Text, Count], Is("what each GPU runtime kept for its second start (place `jvm`); 0: it keeps nothing")
    ] = {}
    samples_us: Annotated[
        dict[Text, Counts],
        Is("wall-clock time of each inference, in order; the runtimes alternate in one process"),
    ]
    cpu_us: Annotated[
        dict[Text, Counts], Is("processor time of the same inferences: more reliable on a busy machine")
    ] = {}
    starts_ns: Annotated[
        dict[Text, Counts], Is("when each of the same inferences began, on the [clock](#times) of the run")
    ] = {}
    driver_compiled: Annotated[Whole | None, Is("cache misses of the driver (PoCL: kernels, Mesa: entries)")] = None
    memory: Annotated[Memory | None, Is("of the process that ran")] = None
    cold_memory: Annotated[Memory | None, Is("of Quadra's cold start")] = None
    shipped_opencl_cold_memory: Annotated[Memory | None, Is("of that delegate's cold start")] = None
    shipped_gles_cold_memory: Annotated[Memory | None, Is("of that delegate's cold start")] = None
    xnnpack_error: Annotated[Text, Is("why it did not run")] = ""
    shipped_opencl_error: Annotated[Text, Is("why it did not run")] = ""
    shipped_gles_error: Annotated[Text, Is("why it did not run")] = ""
    litert_gpu_error: Annotated[Text, Is("why it did not run")] = ""

    def error_of(self, key: str) -> str:
        """Why a runner, by its key, did not run; empty where it did."""
        return getattr(self, f"{key}_error", "")


# --- tensors.json, reference.json, model.json


class Tensor(Part, kw_only=True):
    """One input or output."""

    name: Text
    dtype: Annotated[Text, Is("numpy's name")]
    shape: Indexes
    scale: Annotated[float, Is("0: not quantised")] = 0.0
    zero_point: Annotated[Whole, Is("of a quantised one")] = 0


Tensors_ = Annotated[list[Tensor], Meta(max_length=1 << 16)]


class Tensors(File, kw_only=True):
    """What the arrays of each folder are, in the order of their numbers."""

    FILE = "tensors.json"
    inputs: Tensors_ = []
    outputs: Tensors_ = []
    cpu_outputs: Tensors_ = []
    xnnpack_outputs: Tensors_ = []
    shipped_opencl_outputs: Tensors_ = []
    shipped_gles_outputs: Tensors_ = []
    litert_gpu_outputs: Tensors_ = []

    def group(self, name: str) -> list[Tensor]:
        """Those of the folder `name`."""
        return getattr(self, name, [])

    def groups(self) -> dict[str, list[Tensor]]:
        """By folder; folders without any are left out."""
        return {
            name: rows for name in self.__struct_fields__ if name != "schema_version" and (rows := getattr(self, name))
        }


class Reference(File, kw_only=True):
    """Which kernels made `cpu_outputs`."""

    FILE = "reference.json"
    kernels: Annotated[
        Text,
        Is("`builtin` (the interpreter's own), or `xnnpack` where those do not know an op"),
    ] = "builtin"
    rewrites: Annotated[Texts, Is("ops that the CPU got in another form")] = []
    last_bit_moves: Annotated[
        list[Real],
        Meta(max_length=1 << 16),
        Is(
            "how far each output moves, relative to its range, when the last bit of the float inputs changes, or with XNNPACK's rounding of a quantised model; empty if Quadra is within 2e-5"
        ),
    ] = []
    quantised: Annotated[bool, Is("integers of 8 or 16 bits are in the model")] = False
    error: Annotated[Text, Is("why there is no reference")] = ""


class ModelNode(Part, kw_only=True):
    """One node of the main graph."""

    index: Count
    op: Annotated[Text, Is("TFLite's name")]
    name: Annotated[Text, Is("of its first output")] = ""
    shape: Annotated[list[Whole], Meta(max_length=1 << 10), Is("of its first output, as in the file, -1 included")] = []
    flops: Annotated[Count, Is("two per multiply-add; 0: not counted")] = 0


class Model(File, kw_only=True):
    """Ops, shapes and arithmetic work of the model."""

    FILE = "model.json"
    name: Text = ""
    bytes: Annotated[Count, Is("of its file")] = 0
    constant_bytes: Annotated[Count, Is("of the numbers in it: weights, mostly")] = 0
    tensors: Annotated[Count, Is("of the main graph")] = 0
    nodes: Annotated[list[ModelNode], Meta(max_length=1 << 20), Is("of the main graph, in order")] = []


# --- compare.json, peers.json


class OutputRow(Part, kw_only=True):
    """The judgement of one output."""

    index: Count
    name: Text
    dtype: Text
    shape: Indexes
    range: Annotated[Real, Is("largest minus smallest value on the CPU")]
    max_error: Real
    mean_error: Real
    relative: Annotated[Real, Is("`max_error / range`; of labels, the share that differs")]
    allowed: Annotated[Real, Is("limit of `relative`")]
    worst_at: Annotated[Indexes, Is("where `max_error` is")]
    worst_value: Real
    worst_expected: Annotated[Real, Is("the CPU's")]
    different: Annotated[Count, Is("elements that are not equal")]
    nan: Count
    inf: Count
    cpu_nan: Count
    cpu_inf: Count
    labels: Annotated[bool, Is("integers without a scale")] = False
    problem: Annotated[Text, Is("empty: right")]
    ok: bool


class Compared(File, kw_only=True):
    """The judgement of Quadra's outputs."""

    FILE = "compare.json"
    ok: Annotated[bool, Is("of all outputs")]
    reference: Annotated[Text, Is("`kernels` of `reference.json`")]
    outputs: Annotated[list[OutputRow], Meta(max_length=1 << 16), Is("in the model's order")]
    xnnpack_relative: Annotated[
        list[Real], Meta(max_length=1 << 16), Is("XNNPACK's own error against the reference; empty: not known")
    ] = []


class PeerRow(Part, kw_only=True):
    """One peer."""

    name: Text
    error: Annotated[Text, Is("why it did not run")] = ""
    nodes: Annotated[Count | None, Is("of the model; null: not known")] = None
    nodes_taken: Annotated[Count | None, Is("by the delegate, as the runtime logged it; null: not known")] = None
    partitions: Annotated[Count | None, Is("null: not known")] = None
    relative: Annotated[list[Real], Meta(max_length=1 << 16), Is("as in `compare.json`")] = []
    ok: Annotated[bool | None, Is("with Quadra's tolerance; null: not known")] = None


class Peers(File, kw_only=True):
    """What each peer took and how right it was."""

    FILE = "peers.json"
    peers: Annotated[list[PeerRow], Meta(max_length=64), Is("those of `spec.json`")]


# --- cpu_tensors.json, alone.json, bisect.json


class CpuTensor(Part, kw_only=True):
    """A tensor that the run kept, as the model has it."""

    tensor: Annotated[Count, Is("its number in the main graph")]
    name: Text
    dtype: Annotated[Text, Is("numpy's name")]
    shape: Indexes
    scale: Annotated[float, Is("0: not quantised")] = 0.0
    zero_point: Whole = 0


class CpuTensors(File, kw_only=True):
    """The CPU's reference for each kept tensor, in the order of the arrays of `cpu_tensors/`."""

    FILE = "cpu_tensors.json"
    complete: Annotated[bool, Is("the arrays are there: the CPU could run the whole model")] = False
    error: Annotated[Text, Is("why they are not")] = ""
    tensors: Annotated[list[CpuTensor], Meta(max_length=1 << 20), Is("by number")]


class AloneRow(Part, kw_only=True):
    """One kept tensor, made by the CPU from the tensors that the run had made before it."""

    tensor: Count
    array: Annotated[Index, Is("of `alone/`; -1: the CPU could not")] = -1
    allowed: Annotated[
        Real,
        Is("of its range: the tolerance, or what XNNPACK's kernels differ from the plain ones, as `inv run` has it"),
    ] = 0.0
    error: Annotated[Text, Is("why")] = ""


class Alone(File, kw_only=True):
    """Ops judged by themselves, up to the first wrong one."""

    FILE = "alone.json"
    tried: Annotated[list[AloneRow], Meta(max_length=1 << 20), Is("in the order of execution")]


class BisectRow(Part, kw_only=True):
    """One kept tensor against the reference. Numbers that are not defined are `nan`."""

    partition: Count
    dispatch: Annotated[Text, Is("that made it")]
    nodes: Annotated[Indexes, Is("that run as this dispatch; none: an input is brought to the GPU")]
    ops: Annotated[Text, Is("TFLite's names of these")]
    tensor: Annotated[Count, Is("its number in the main graph")]
    name: Text
    compared: Annotated[bool, Is("there was something to compare with")] = True
    max_error: Real = 0.0
    mean_error: Real = 0.0
    relative: Annotated[Real, Is("`max_error / range`")] = 0.0
    cosine: Annotated[Real, Is("similarity; `nan`: a side is zero or not finite")] = 0.0
    largest: Annotated[Real, Is("magnitude on the GPU")] = 0.0
    problem: Annotated[Text, Is("empty: within the tolerance")] = ""
    alone: Annotated[Real | None, Is("as `relative`, against the CPU on the GPU's own inputs; null: not asked")] = None
    alone_problem: Text = ""


Fault = Literal["none", "kernel", "precision", "model", "input", "accumulated", "unknown"]


class Bisect(File, kw_only=True):
    """The first op that is wrong."""

    FILE = "bisect.json"
    against: Annotated[Text, Is("`cpu`, or what else was compared with")] = "cpu"
    tolerance: Annotated[Real, Is("limit of `relative`")]
    ops: Annotated[Count, Is("nodes on the GPU, without those that make constants")]
    compared: Annotated[Count, Is("those of them whose result was compared, with the reference or alone")]
    rows: Annotated[list[BisectRow], Meta(max_length=1 << 20), Is("in the order of execution")]
    kind: Annotated[
        Fault,
        Is(
            "`kernel`: wrong with floats too; `precision`: right with floats; `model`: the CPU's own result is not finite; `input`: an input arrives wrong on the GPU; `accumulated`: no op alone is wrong; `unknown`: outputs are wrong, kept tensors are not; or the op is right when it is cut out"
        ),
    ]
    row: Annotated[Index, Is("the first wrong one; -1: none")] = -1
    sentence: Annotated[Text, Is("for people")]
    model: Annotated[Text, Is("the wrong op as a model, in this folder; empty: none was cut")] = ""
    command: Annotated[Text, Is("that runs it")] = ""
    reproduced: Annotated[bool | None, Is("whether that command was wrong, too")] = None


# --- ranges.json


class Range(Part, kw_only=True):
    """One float tensor of the main graph."""

    tensor: Annotated[Count, Is("its number there")]
    name: Text
    node: Annotated[Index, Is("that makes it; -1: an input or a constant")] = -1
    readers: Annotated[Indexes, Is("nodes that read it")] = []
    constant: bool = False
    largest: Annotated[Real, Is("magnitude of its finite numbers")] = 0.0
    nan: Count = 0
    inf: Count = 0


class Ranges(File, kw_only=True):
    """How large a model's numbers get on the CPU."""

    FILE = "ranges.json"
    ops: Annotated[Texts, Is("TFLite's names of the nodes")]
    tensors: Annotated[list[Range], Meta(max_length=1 << 20), Is("in the order of the nodes that make them")]


# --- environment.json


class Library(Part, kw_only=True):
    """The delegate's file."""

    path: Text = ""
    bytes: Count = 0
    sha256: Text = ""


class Api(Part, kw_only=True):
    """One device of a GPU API, or why the API cannot be asked."""

    error: Annotated[Text, Is("alone: why it cannot be queried")] = ""
    platform: Text = ""
    name: Text = ""
    vendor: Text = ""
    version: Text = ""
    driver: Text = ""
    compute_units: Count | None = None
    global_memory_bytes: Count | None = None
    local_memory_bytes: Count | None = None
    max_work_group_size: Count | None = None
    extensions: Texts = []


class Host(Part, kw_only=True):
    """This machine, where the model ran on another one."""

    cpu: Text = ""
    cpus: Count = 0
    load_average: list[float] = []
    system: Text = ""


class Device(Part, kw_only=True):
    """What ran the model, in its own words; without `serial` it is no device of adb."""

    serial: Text = ""
    virtual: bool = False
    manufacturer: Text = ""
    model: Text = ""
    product: Text = ""
    soc: Text = ""
    soc_manufacturer: Text = ""
    hardware: Text = ""
    fingerprint: Text = ""
    release: Annotated[Text, Is("of Android")] = ""
    sdk: Annotated[Text, Is("Android's API level")] = ""
    build: Annotated[Text, Is("`user`, `userdebug`, …")] = ""
    abis: Texts = []
    page_bytes: Count | Text = ""
    kernel: Count | Text = ""
    apk_sha256: Text = ""
    runner_sha256: Annotated[Text, Is("of the native runner (route `shell`)")] = ""


class Reading(Part, kw_only=True):
    """How hot a device was at one moment."""

    time_s: Annotated[float, Is("since monitoring began")]
    stage: Text = ""
    status: Annotated[Text, Is("Android's term: none, light, moderate, severe, …")] = "unknown"
    temperatures: Annotated[dict[Text, float], Is("by kind (`skin`, `gpu`, …), in degrees Celsius")] = {}
    battery_percent: Count | None = None


class Thermal(Part, kw_only=True):
    """How hot it was."""

    before: Annotated[Text, Is("Android's term: none, light, moderate, severe, …")] = "unknown"
    after: Text = "unknown"
    throttled: Annotated[bool, Is("during the measurement")] = False
    waited_s: Annotated[float, Is("until it was cool")] = 0.0
    readings: Annotated[list[Reading] | None, Is("during the measurement (place `device`)")] = None


class Event(Part, kw_only=True):
    """What went wrong on the way to a device, and was made good."""

    step: Text
    error: Text
    text: Text
    time_s: float = 0.0


class Runner(Part, kw_only=True):
    """The native runner."""

    made_by: Annotated[Text, Is("which compiler made it")] = ""


class Environment(File, kw_only=True):
    """Machine, drivers, versions, the library's digest. In the place `device` all but `host` is the device's."""

    FILE = "environment.json"
    time: Text = ""
    cpu: Text = ""
    cpus: Count = 0
    load_average: list[float] = []
    system: Text = ""
    python: Text = ""
    packages: Annotated[Words, Is("versions by name")] = {}
    library: Library = field(default_factory=Library)
    driver_settings: Annotated[Words, Is("settings given to the CPU's drivers")] = {}
    opencl_devices: Annotated[
        list[Api], Meta(max_length=1 << 10), Is("with one `error` if OpenCL cannot be queried")
    ] = []
    gles_devices: Annotated[
        list[Api], Meta(max_length=1 << 10), Is("with one `error` if OpenGL ES cannot be queried")
    ] = []
    device: Annotated[Device, Is("places `jvm` and `device`")] = field(default_factory=Device)
    thermal: Annotated[Thermal, Is("places `jvm` and `device`")] = field(default_factory=Thermal)
    host: Annotated[Host, Is("place `device`")] = field(default_factory=Host)
    runner_classes_sha256: Annotated[
        Text,
        Is("of the APK's `assets/classes.sha256`: the dexed classes are those that ran (place `jvm`)"),
    ] = ""
    route: Annotated[
        Text, Is("`app`, or `shell` for the native runner: figures of the two are never pooled (place `device`)")
    ] = ""
    runner: Annotated[Runner, Is("route `shell`")] = field(default_factory=Runner)
    device_events: Annotated[list[Event], Meta(max_length=1 << 16), Is("place `device`")] = []


# --- others


class Target(File, kw_only=True):
    """The device as a [target](targets.md), which has all of its fields."""

    FILE = "target.json"
    api: Annotated[Text, Is("`opencl` or `gles`")] = "opencl"
    name: Text = ""


def files() -> dict[str, type[Any]]:
    """The type of each file by its name, in the order of the page."""
    from host_tools.record import spec  # which needs the types above

    kinds = (
        Status,
        Verdicts,
        Timings,
        Cold,
        Second,
        Tensors,
        Reference,
        Profile,
        Environment,
        Compared,
        Peers,
        CpuTensors,
        Alone,
        Bisect,
        Ranges,
        Model,
        Target,
        ErrorFile,
    )
    return {kind.FILE: kind for kind in (spec.RunSpec, *kinds)}


def of(kind: type[T], value: Any) -> T:
    """A plain value as its type. msgspec.ValidationError: it is not of it, and where."""
    return msgspec.convert(value, kind)


def plain(value: Any) -> Any:
    """A value of these types as JSON has it."""
    return msgspec.to_builtins(value)


def number(value: float) -> Real:
    """A float as JSON can hold it."""
    return value if -float("inf") < value < float("inf") else str(float(value))  # type: ignore[return-value]  # inf, -inf, nan


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
