"""What a run writes: how it ended, verdicts, times, tensors."""

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta, field

from host_tools.record.schema_fields import (
    Amount,
    Count,
    Counts,
    DriverNs,
    File,
    Index,
    Indexes,
    Is,
    Part,
    Real,
    Text,
    Texts,
    Whole,
)

# --- status.json, error.json


class Error(Part, kw_only=True):
    """Why a run did not finish."""

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
    note: Annotated[Text, Is("how the GPU computes it, where its op does not say that: composites")] = ""


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
    shared_constant_bytes: Annotated[Count, Is("of these, in memory once for other partitions, too")] = 0
    plan_bytes: Annotated[Count, Is("of `plan.quadra`")] = 0
    cache: Annotated[Text, Is("of compiled models: `off`, `hit`, or `miss: ` and why; then whether it was saved")] = (
        "off"
    )
    copied_bytes: Annotated[
        Count, Is("in each inference: inputs and outputs between the host and the GPU, and states")
    ] = 0
    copied_inputs_bytes: Annotated[Count, Is("of these, inputs")] = 0
    copied_outputs_bytes: Annotated[Count, Is("of these, outputs")] = 0
    copied_states_bytes: Annotated[Count, Is("of these, states whose input and output are not one memory")] = 0
    notes: Annotated[Texts, Is("what a driver made the delegate do otherwise than planned: a sentence each")] = []
    timings_us: Annotated[
        dict[Text, Count],
        Is(
            "of `import`, `passes`, `plan`, `compile`, `upload`, `first_launch` (each kernel that was compiled, once, before any inference), `tune`, `check`"
        ),
    ]
    spans: Annotated[
        list[Span],
        Meta(max_length=1 << 10),
        Is("the same steps, each time that it was done"),
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


class State(Part, kw_only=True):
    """A state that the option `states` keeps on the GPU."""

    name: Annotated[Text, Is("that it is read and written by")]
    element: Annotated[Text, Is("`float32` or `int32`")]
    shape: Annotated[list[Count], Meta(max_length=6)]
    device_bytes: Annotated[Count, Is("on the GPU: twice its size where two memories take turns")]


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
    hashed_bytes: Annotated[
        Count,
        Is("of weights, the model's and those in the cache's files, that a start with a cache read for their hashes"),
    ] = 0
    device: Annotated[Gpu, Is("the GPU")] = field(default_factory=Gpu)
    dispatch_times_by: Annotated[
        Text, Is("source of a profile: the driver's `timers`, or `waits` for each dispatch")
    ] = ""
    nodes: Annotated[list[Node], Meta(max_length=1 << 20), Is("one entry per node of the model")]
    partitions: Annotated[list[Partition], Meta(max_length=1 << 16), Is("one per plan")]
    states: Annotated[
        list[State], Meta(max_length=1 << 16), Is("with the option `states`: what stays on the GPU between inferences")
    ] = []
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


class Window(Part, kw_only=True):
    """The inferences that began in a piece of a sustained run."""

    start_ns: Annotated[Count, Is("when the first of them began, on the [clock](#times) of the run")]
    inferences: Annotated[int, Meta(ge=1, le=1 << 53)]
    median_us: Annotated[Count, Is("wall-clock time of one")]
    slowest_us: Count
    battery_ua: Annotated[
        Whole | None,
        Is("the battery's current at the end, in microamperes, as the device tells an app; makers differ in its sign"),
    ] = None


class Sustained(File, kw_only=True):
    """Quadra alone, inference after inference, with `--for`: what a device can keep up. The device's temperatures and clocks
    meanwhile are readings of `environment.json`."""

    FILE = "sustained.json"
    window_s: Annotated[float, Meta(gt=0), Is("length of a window; a slower inference has one of its own")]
    windows: Annotated[list[Window], Meta(min_length=1, max_length=1 << 12)]


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
    tensor: Annotated[Text, Is("its name in the graph, where `name` is a signature's")] = ""


Tensors_ = Annotated[list[Tensor], Meta(max_length=1 << 16)]


class Tensors(File, kw_only=True):
    """What the arrays of each folder are, in the order of their numbers."""

    FILE = "tensors.json"
    inputs: Tensors_ = []
    outputs: Tensors_ = []
    cpu_outputs: Tensors_ = []
    float_outputs: Tensors_ = []
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
    quantised: Annotated[bool, Is("the reference's kernels round what they compute to integers of 4 to 16 bits")] = (
        False
    )
    rounding: Annotated[
        list[Real],
        Meta(max_length=1 << 16),
        Is(
            "how far rounding to integers moves each output: the root mean square of the difference between the reference kernels with and without it, relative to the output's range (of labels, the share that differs); empty: nothing is rounded, or it is not known"
        ),
    ] = []
    error: Annotated[Text, Is("why there is no reference")] = ""


class ModelNode(Part, kw_only=True):
    """One node of the graph that ran."""

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
    tensors: Annotated[Count, Is("of the graph that ran")] = 0
    subgraph: Annotated[Count, Is("the graph that ran: 0, the main one, or a signature's")] = 0
    subgraphs: Annotated[Indexes, Is("that one, and those that its ops call; empty: in folders of older versions")] = []
    free_sizes: Annotated[
        dict[Text, Indexes], Is("by input: its shape where sizes are given when the model is run, which are -1")
    ] = {}
    nodes: Annotated[list[ModelNode], Meta(max_length=1 << 20), Is("of that graph, in order")] = []
