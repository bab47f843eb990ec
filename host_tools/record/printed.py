"""What tasks print with --json, as types: one document on stdout. docs/run_folder.md has their tables, as those of the files.

The same types are read by whoever calls a task: `msgspec.json.decode(stdout, type=RunDocument)`.
"""

from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta, json

from host_tools.base.errors import QuadraError, shown
from host_tools.record.headline import Headline
from host_tools.record.schema import (
    Compared,
    Count,
    Determinism,
    File,
    Is,
    Metrics,
    OverInputs,
    Part,
    PeerRow,
    Real,
    Sustained,
    Text,
    Texts,
    Words,
    number,
    plain,
)

Rows = Meta(max_length=1 << 20)


class Failure(Part, kw_only=True):
    """Why a task, or a run of it, failed."""

    kind: Annotated[Text, Is("`Misuse`, `RunFailed`, `DeviceLost`, …: `host_tools/base/errors.py`")]
    exit_status: Annotated[Count, Is("that a task with this error alone has")]
    tried: Text
    came_back: Text
    do_next: Text
    folder: Annotated[Text, Is("the run folder that it left; empty: none")] = ""


# --- run --json


class Times(Part, kw_only=True):
    """Of one runtime, in microseconds; null: not measured."""

    start: Annotated[Count | None, Is("up to the end of the first inference")] = None
    first: Annotated[Count | None, Is("the first inference")] = None
    median: Annotated[float | None, Is("of the inferences after the warm-up, as the next two")] = None
    minimum: float | None = None
    processor: Annotated[float | None, Is("median of the processor time")] = None
    samples: Annotated[Count, Is("how many inferences")] = 0


class Ratio(Part, kw_only=True):
    """Quadra's time relative to another's, by the [headline's clock](#which-time-is-the-headline) and by the others."""

    clock: Annotated[Literal["processor", "wall"], Is("the headline's: processor time or wall-clock time")]
    ratio: Annotated[Real, Is("by that clock, of medians")]
    reliable: Annotated[bool, Is("false: the machine was busy")]
    doubt: Annotated[Text, Is("why it is not reliable")] = ""
    median: Annotated[Real, Is("of wall-clock time, as the next")]
    minimum: Real
    processor: Annotated[Real, Is("of processor time; `nan`: not measured")]


def ratio(found: Headline) -> Ratio:
    """A headline as documents have it."""
    median, minimum, processor = map(number, (found.ratios.median, found.ratios.minimum, found.ratios.processor))
    return Ratio(
        clock=found.clock,
        ratio=number(found.ratio),
        reliable=found.reliable,
        doubt=found.doubt,
        median=median,
        minimum=minimum,
        processor=processor,
    )


class RunAt(Part, kw_only=True):
    """One run: at one place."""

    place: Annotated[Text, Is("`host`, `jvm`, a serial, or `virtual NAME`")]
    result: Annotated[
        Literal["right", "wrong", "not judged", "failed", "skipped"],
        Is("`not judged`: the CPU has no result; `failed`: see `error`; `skipped`: so is a device that cannot be used"),
    ]
    folder: Annotated[Text, Is("the run folder; empty: there is none")] = ""
    report: Annotated[Text, Is("its page")] = ""
    model: Text = ""
    signature: Annotated[Text, Is("that ran; empty: the main graph")] = ""
    backend: Annotated[Text, Is("that ran: as in `verdicts.json`")] = ""
    gpu: Annotated[Text, Is("the device's name")] = ""
    driver: Annotated[Text, Is("the row of the [table of drivers](drivers.md) that ran; empty: the usual driver")] = ""
    nodes: Annotated[Count, Is("of the model")] = 0
    nodes_on_gpu: Count = 0
    partitions: Count = 0
    compared: Annotated[Compared | None, Is("as `compare.json`; null: nothing was compared")] = None
    over_inputs: Annotated[
        OverInputs | None, Is("as `over_inputs.json`; null: one input. `compared` is of the first")
    ] = None
    metrics: Annotated[Metrics | None, Is("as `metrics.json`; null: without `--metric`")] = None
    determinism: Annotated[Determinism | None, Is("as `determinism.json`; null: without `--same`")] = None
    sustained: Annotated[Sustained | None, Is("as `sustained.json`; null: without `--for`")] = None
    peers: Annotated[list[PeerRow], Rows, Is("as in `peers.json`")] = []
    times: Annotated[
        dict[Text, Times], Is("in microseconds, by the keys of `timings.json`: `quadra`, `xnnpack`, …")
    ] = {}
    clock: Annotated[Literal["processor", "wall"] | None, Is("whose median is the headline; null: it failed")] = None
    ratios: Annotated[dict[Text, Ratio], Is("by the keys of the other runtimes")] = {}
    cold_start_us: Annotated[Count | None, Is("Quadra's with `--cold`")] = None
    error: Annotated[Failure | None, Is("why it failed or was skipped")] = None


class RunDocument(File, kw_only=True):
    """`inv run --json`."""

    FILE = "run --json"
    exit_status: Annotated[Count, Is("of the task")]
    error: Annotated[Failure | None, Is("what gave it; null: all is right")] = None
    runs: Annotated[list[RunAt], Rows, Is("in the order of `--on`; empty: none began")] = []


# --- bench --json, bench.json

Kinds = dict[Text, float]  # median, minimum, processor


class BenchRunner(Part, kw_only=True):
    """One runtime with one model. Times in microseconds, as `median`, `minimum` and `processor`."""

    error: Annotated[Text, Is("why it did not run")] = ""
    nodes_taken: Annotated[Count | None, Is("null: not known")] = None
    nodes: Count | None = None
    right: bool | None = None
    relative_error: Real = 0.0
    steady: Annotated[
        dict[Text, Kinds],
        Is("by number of threads; with `wait` where each of Quadra's waits so long, at least, without computing"),
    ] = {}
    cold: Annotated[Kinds, Is("a start with an empty driver cache; `median` is its time")] = {}
    warm: Kinds = {}
    second: Annotated[Kinds, Is("a start with what an earlier one kept")] = {}
    kept_bytes: Annotated[Count | None, Is("what that kept (on the JVM); 0: nothing, so there is no such start")] = None


class BenchRow(Part, kw_only=True):
    """A model on one backend."""

    model: Text
    backend: Text
    shapes: Annotated[Text, Is("in which its inputs ran whose sizes are free")] = ""
    twin: Annotated[Text, Is("the same model with floats (X of X_quant, X_int8, X_ptq), measured too")] = ""
    api: Annotated[Text, Is("`interpreter`, or `compiled`: LiteRT's CompiledModel")] = "interpreter"
    error: Annotated[Text, Is("why there are no figures")] = ""
    device: Annotated[Text, Is("the GPU")] = ""
    defaults: Annotated[
        bool, Is("each side in the precision that is its default: Quadra in float32, the others as they choose")
    ] = False
    ran_on: Annotated[Text, Is("the device")] = ""
    who: Annotated[Text, Is("the device in words, with its Android")] = ""
    heat: Annotated[Text, Is("of the device while it was measured: thermal status, degrees")] = ""
    on_cpu: Annotated[bool, Is("the GPU is a CPU")] = False
    unsure: Annotated[bool, Is("the error is above the usual limit, and as large as rounding makes it")] = False
    runs: Annotated[Texts, Is("names of its run folders")] = []
    runners: Annotated[dict[Text, BenchRunner], Is("by their keys in `timings.json`")] = {}
    sizes: Annotated[
        dict[Text, Count],
        Is("programs, dispatches, bytes; `constant_bytes`: weights on the GPU, `file_constant_bytes`: in the file"),
    ] = {}
    whole: Annotated[bool, Is("Quadra took every node")]
    over: Annotated[
        dict[Text, dict[Text, Ratio | None]],
        Is("by peer, then `steady`, `cold`, `warm`, `second`; with one thread; null: one did not run or is wrong"),
    ]
    over_twin: Annotated[Real | None, Is("Quadra's time relative to its own for `twin`")] = None


class BenchMean(Part, kw_only=True):
    """The geometric mean of Quadra's time relative to another's."""

    backend: Text
    peer: Text
    what: Annotated[Text, Is("`steady`, `cold`, `warm`, `second`")]
    threads: Count
    models: Annotated[Count, Is("how many")]
    whole: Annotated[bool, Is("only models that Quadra took wholly")]
    headline: Ratio
    limit: Annotated[float, Is("given by `--limit` or `--limit-shipped`; 0: none")] = 0.0
    verdict: Annotated[Text, Is("on the limit: `met`, `exceeded`, or `not reliable`: the machine was busy")] = ""
    api: Annotated[Text, Is("`interpreter` or `compiled`")] = "interpreter"
    defaults: Annotated[bool, Is("of rows with `defaults`")] = False


class BenchDocument(File, kw_only=True):
    """`inv bench --json`; the same is kept as `bench.json`."""

    FILE = "bench.json"
    schema_version: Annotated[int, Is("4")] = 4
    exit_status: Annotated[Count, Is("of the task; in the file always 0")] = 0
    error: Annotated[Failure | None, Is("what gave it")] = None
    place: Annotated[Text, Is("`host`, `jvm`, or `device`: that of `--on`, or those of a lab")] = ""
    device: Annotated[Text, Is("the device of `--on`")] = ""
    models: Texts = []
    backends: Texts = []
    apis: Texts = []
    peers: Texts = []
    threads: list[Count] = []
    repetitions: Count = 0
    limit: Annotated[float, Is("`--limit`; 0: none")] = 0.0
    limit_shipped: Annotated[float, Is("`--limit-shipped`; 0: none")] = 0.0
    sizes: Annotated[Texts, Is("`--size`")] = []
    defaults: Annotated[bool, Is("`--defaults`")] = False
    finished: Annotated[bool, Is("false during the bench, and of an interrupted one")] = False
    cpu: Text = ""
    cpus: Count = 0
    load_average: float = 0.0
    library: Annotated[dict[Text, Any], Is("the delegate: path, digest; none where devices of a lab had several")] = {}
    devices: Annotated[Words, Is("GPU by backend; in a lab by device and API")] = {}
    notes: Annotated[Texts, Is("what happened to the devices of a lab")] = []
    geometric_means: Annotated[list[BenchMean], Rows] = []
    rows: Annotated[list[BenchRow], Rows] = []


# --- diff --json


class Change(Part, kw_only=True):
    """One thing that differs. Empty: that side does not have it."""

    what: Text
    a: Text
    b: Text


class NodeChange(Part, kw_only=True):
    """A node whose verdict changed."""

    node: Annotated[Text, Is("SUBGRAPH:INDEX")]
    op: Text
    a: Annotated[Text, Is("`GPU`, or `CPU: ` and the reason")]
    b: Text


class OutputPair(Part, kw_only=True):
    """An output of both runs. Errors are relative to the output's range; null: not compared."""

    name: Text
    a: Real | None
    b: Real | None
    a_right: bool | None
    b_right: bool | None
    same_bits: bool


class TimeChange(Part, kw_only=True):
    """A time of both runs: B relative to A. Null: too few samples."""

    what: Text
    unit: Annotated[Text, Is("`us`, `us of processor time`, or what it is a multiple of")]
    a: Annotated[float, Is("the median")]
    b: float
    a_samples: Count
    b_samples: Count
    percent: Annotated[float | None, Is("the shift from A to B (Hodges and Lehmann)")] = None
    low_percent: Annotated[float | None, Is("lower end of its 90 % confidence interval")] = None
    high_percent: Annotated[float | None, Is("upper end")] = None
    p: Annotated[float | None, Is("that chance alone makes such a difference (Mann and Whitney, exact)")] = None


class PlanChange(Part, kw_only=True):
    """The plans of one partition."""

    partition: Count
    same_kernels: Count
    words: Annotated[list[Change], Rows] = []
    memory: Annotated[list[Change], Rows] = []
    kernels: Annotated[list[Change], Rows, Is("entry points; `what` is the kernel")] = []
    dispatches: Annotated[list[Change], Rows] = []
    tensors: Annotated[list[Change], Rows] = []


class DiffDocument(File, kw_only=True):
    """`inv diff --json`."""

    FILE = "diff --json"
    a: Annotated[Text, Is("the run folder")]
    b: Text
    conditions: Annotated[Text, Is("what was not alike: then times say little; empty: all was")]
    differ: Annotated[bool, Is("a verdict, a plan or an output does: then the exit status is 1")]
    same_delegate: Annotated[bool, Is("both ran with one libquadra.so")] = False
    verdicts: Annotated[Texts, Is("of A and of B, a sentence")] = []
    nodes: Annotated[list[NodeChange], Rows, Is("whose verdict changed")] = []
    outputs: Annotated[list[OutputPair], Rows] = []
    plans: Annotated[list[PlanChange], Rows, Is("partitions whose plans differ")] = []
    plan_note: Annotated[Text, Is("why plans were not compared")] = ""
    times: Annotated[list[TimeChange], Rows] = []


# --- runs --json


class RunsRow(Part, kw_only=True):
    """A folder among the runs."""

    name: Text
    folder: Text
    kind: Annotated[Literal["run", "bench", "regress", "parity"], Is("which task made it")]
    subject: Annotated[Text, Is("its model, `N models`, or suite")]
    place: Annotated[Text, Is("`host`, `jvm`, or a device")]
    result: Annotated[
        Text,
        Is(
            "`right`, `wrong`, `not judged`; of regression runs `passed`, `regressed`, `inconclusive`, `failed`; or how it ended: "
            "`failed`, `crashed`, `timed out`, `interrupted`, `unfinished`; `damaged`: it cannot be read"
        ),
    ]
    backend: Text = ""
    precision: Text = ""
    ended: Annotated[Count, Is("seconds since 1970")]
    bytes: Annotated[Count, Is("of all its files")]


class RunsDocument(File, kw_only=True):
    """`inv runs list --json`."""

    FILE = "runs list --json"
    folder: Annotated[Text, Is("that has them")]
    runs: Annotated[list[RunsRow], Rows, Is("the newest first")] = []


# --- generate --json


class Calls(Part, kw_only=True):
    """Calls of the prefill signatures, or of `decode`."""

    tokens: Annotated[Count, Is("that they took; what fills up the last prefill is not counted")] = 0
    calls: Count = 0
    wall_us: Annotated[Count, Is("of all calls: the inferences alone")] = 0
    processor_us: Annotated[Count, Is("the process's processor time of these")] = 0
    median_us: Annotated[Count, Is("of one call, wall-clock time")] = 0
    tokens_per_s: Annotated[Real, Is("by wall-clock time; `nan`: no call")]


class Generated(Part, kw_only=True):
    """One runtime that generated tokens."""

    runtime: Annotated[Literal["quadra", "builtin", "xnnpack"], Is("Quadra, or kernels of the CPU")]
    chosen: Annotated[list[Count], Rows, Is("the token with the best logits of each step")]
    start_us: Annotated[Count, Is("make, prepare, and the first call of each signature that the prompt needs")]
    prefill: Calls
    decode: Calls
    steady_bytes: Annotated[Count, Is("Pss of the process after the last token")]
    peak_bytes: Annotated[Count, Is("the most resident memory (VmHWM)")]
    before_bytes: Annotated[Count, Is("Pss of the process before the model was opened")]
    rewrites: Annotated[
        Texts, Is("of the model, for the CPU's kernels; with such the memory is not that of the model")
    ] = []


class Moved(Part, kw_only=True):
    """Bytes that one decode step moves, by cause."""

    copied_bytes: Annotated[Count, Is("copied for inputs, outputs and states, as the delegate's report says")]
    copied_inputs_bytes: Annotated[Count, Is("of these, inputs, from host to GPU")] = 0
    copied_outputs_bytes: Annotated[Count, Is("of these, outputs, from GPU to host")] = 0
    copied_states_bytes: Annotated[
        Count, Is("of these, caches: between host and GPU, or on the GPU from one buffer to another")
    ] = 0
    host_copied_bytes: Annotated[Count, Is("copied by the runtime's API, to hand caches from step to step")]
    cache_bytes: Annotated[Count, Is("size of all caches")]
    logits_bytes: Count
    constant_bytes: Annotated[Count, Is("of `decode`'s plans: weights, which a step reads but for the rows of tables")]


class Step(Part, kw_only=True):
    """One call of `decode`."""

    token: Annotated[Count, Is("that it took")]
    chosen: Annotated[Count, Is("the token with Quadra's best logits")]
    expected: Annotated[Count, Is("with the CPU's")]
    difference: Annotated[Real, Is("the largest of the logits, relative to their range")]
    margin: Annotated[Real, Is("between the CPU's two best logits, relative to the range")]
    tokens: Annotated[
        Literal["equal", "undecided", "different"], Is("`undecided`: the margin is within two tolerances")
    ]


class Agreement(Part, kw_only=True):
    """Quadra's logits beside the CPU's."""

    ok: Annotated[bool, Is("no token differs, and no logit by more than the tolerance")] = False
    tolerance: float
    largest_difference: Real
    equal: Annotated[Count, Is("steps with the same token")] = 0
    undecided: Count = 0
    different: Count = 0
    steps: Annotated[list[Step], Rows, Is("with `--free` up to the first whose token is another one")] = []


class GenerateDocument(File, kw_only=True):
    """`inv generate --json`."""

    FILE = "generate --json"
    exit_status: Annotated[Count, Is("of the task")] = 0
    error: Annotated[Failure | None, Is("what gave it; null: all is right")] = None
    model: Text = ""
    api: Text = ""
    backend: Annotated[Text, Is("that ran it")] = ""
    precision: Text = ""
    device: Text = ""
    nodes: Annotated[Count, Is("of the signatures that ran")] = 0
    nodes_on_gpu: Count = 0
    cache: Annotated[Texts, Is("what the cache of compiled models had, for each plan")] = []
    positions: Annotated[Count, Is("tokens that the caches hold")] = 0
    vocabulary: Count = 0
    prefills: Annotated[list[Count], Is("tokens of each prefill call")] = []
    prompt: Annotated[list[Count], Rows] = []
    free: Annotated[bool, Is("each runtime took its own tokens; else Quadra took the CPU's")] = False
    runtimes: list[Generated] = []
    moved: Moved | None = None
    agreement: Annotated[Agreement | None, Is("null: the CPU was not asked")] = None


def failure(error: QuadraError) -> Failure:
    """An error as a document has it."""
    parts = [shown(part)[: 1 << 16] for part in (error.tried, error.came_back, error.do_next)]
    folder = shown(str(error.kept)) if isinstance(error.kept, Path) else ""
    return Failure(
        kind=type(error).__name__,
        exit_status=error.exit_code,
        tried=parts[0],
        came_back=parts[1],
        do_next=parts[2],
        folder=folder,
    )


def text(document: File) -> str:
    """A document as it is printed."""
    return json.format(json.encode(plain(document)), indent=1).decode()


DOCUMENTS: tuple[type[File], ...] = (RunDocument, BenchDocument, DiffDocument, RunsDocument, GenerateDocument)
