"""What tasks find out about a run afterwards: comparisons, peers, the first wrong op, ranges."""

from typing import Annotated, Literal

from msgspec import Meta

from host_tools.record.schema_fields import Count, File, Index, Indexes, Is, Part, Real, Text, Texts, Whole

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
    rms_error: Annotated[Real, Is("root mean square")] = 0.0
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
    tolerance: Annotated[
        list[Real], Meta(max_length=2), Is("that it was judged by, as in `spec.json`; empty: by the usual rule")
    ] = []
    beyond: Annotated[Count, Is("numbers that are further off than `tolerance` allows")] = 0
    right_by: Annotated[
        Text, Is("why an output of a quantised model is right beyond `allowed`; empty: it is not beyond, or wrong")
    ] = ""
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
    findings: Annotated[
        Texts,
        Is(
            "what the judgement found out about the reference: where XNNPACK differs by more than rounding explains; outputs that magnify rounding, or are one number everywhere"
        ),
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


# --- over_inputs.json, metrics.json


class OutputOverInputs(Part, kw_only=True):
    """One output over all inputs. Errors are in the output's own unit; of labels only `relative` and `different` say something."""

    index: Count
    name: Text
    dtype: Text
    labels: Annotated[bool, Is("integers without a scale")] = False
    range: Annotated[Real, Is("largest minus smallest value on the CPU, of all inputs")]
    max_error: Annotated[Real, Is("the largest of all inputs")]
    mean_error: Real
    rms_error: Annotated[Real, Is("root mean square")]
    quantiles: Annotated[
        dict[Text, Real],
        Meta(max_length=16),
        Is("by share: so many numbers are off by at most this (up to 1.2 % too much)"),
    ]
    cosine: Annotated[Real, Is("similarity to the CPU's, the least of all inputs; `nan`: a side is zero")]
    psnr_db: Annotated[Real, Is("peak signal-to-noise ratio over all inputs, by `range`; `inf`: equal")]
    different: Annotated[Count, Is("numbers that are not equal")]
    relative: Annotated[
        list[Real],
        Meta(max_length=1 << 17),
        Is("by input: `relative` of its `compare.json`, an error of that input's range"),
    ]
    allowed: Annotated[list[Real], Meta(max_length=1 << 17), Is("by input: its limit")]
    wrong: Annotated[Indexes, Is("inputs with which it is wrong, by place in `names`")] = []
    problem: Annotated[Text, Is("empty: right with every input")] = ""


class OverInputs(File, kw_only=True):
    """The judgement of a run with many inputs: the run's own, which is the first, and those of `set/`."""

    FILE = "over_inputs.json"
    ok: Annotated[bool, Is("every output is right with every input")]
    names: Annotated[list[Text], Meta(max_length=1 << 17), Is("of the inputs: of their files or folders")]
    outputs: Annotated[list[OutputOverInputs], Meta(max_length=1 << 16), Is("in the model's order")]


class MetricRow(Part, kw_only=True):
    """A metric of the user's."""

    name: Text
    mean: Annotated[Real, Is("over the inputs; the limits are its")]
    least: Real
    most: Real
    at_least: Annotated[Real | None, Is("a limit; null: none")] = None
    at_most: Annotated[Real | None, Is("a limit; null: none")] = None
    values: Annotated[list[Real], Meta(max_length=1 << 17), Is("by input")]
    problem: Annotated[Text, Is("empty: within the limits")] = ""


class Metrics(File, kw_only=True):
    """What the user's metrics say of Quadra's outputs and the CPU's."""

    FILE = "metrics.json"
    names: Annotated[list[Text], Meta(max_length=1 << 17), Is("of the inputs")]
    metrics: Annotated[list[MetricRow], Meta(max_length=1 << 8), Is("in the order of the command")]


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
            "`kernel`: wrong with floats too; `precision`: right with floats; `model`: the CPU's own result is not finite; `input`: an input is corrupted on upload; `accumulated`: no op alone is wrong; `unknown`: outputs are wrong, kept tensors are not; or the op is right when it is cut out"
        ),
    ]
    row: Annotated[Index, Is("the first wrong one; -1: none")] = -1
    sentence: Annotated[Text, Is("for people")]
    model: Annotated[Text, Is("the wrong op as a model, in this folder; empty: none was cut")] = ""
    command: Annotated[Text, Is("that runs it")] = ""
    reproduced: Annotated[bool | None, Is("whether that command was wrong, too")] = None


# --- ranges.json


class Range(Part, kw_only=True):
    """One float tensor of the graph that was run, or of a composite's decomposition in it."""

    tensor: Annotated[Count, Is("its number in the graph; those of decompositions follow the graph's own")]
    name: Text
    node: Annotated[Index, Is("that makes it; -1: an input or a constant")] = -1
    op: Annotated[Text, Is("that makes it; within a composite, the op of its decomposition")] = ""
    readers: Annotated[Indexes, Is("nodes that read it")] = []
    steps: Annotated[
        Indexes, Is("ops that make or read it, counted through with those of decompositions in the composites' places")
    ] = []
    constant: bool = False
    largest: Annotated[Real, Is("magnitude of its finite numbers")] = 0.0
    nan: Count = 0
    inf: Count = 0
    kept: Annotated[bool | None, Is("all that make or read it stay in float32 by themselves; null: not known")] = None


class Ranges(File, kw_only=True):
    """How large a model's numbers get on the CPU."""

    FILE = "ranges.json"
    ops: Annotated[Texts, Is("TFLite's names of the nodes")]
    tensors: Annotated[list[Range], Meta(max_length=1 << 20), Is("in the order of the nodes that make them")]
    closed: Annotated[Indexes, Is("nodes that run other graphs, into which nobody looked: IF, WHILE")] = []


# --- repeats.json, determinism.json


class Repeats(File, kw_only=True):
    """Results of equal inferences in one process, by digests. Goes into `determinism.json`."""

    FILE = "repeats.json"
    names: Annotated[Texts, Is("of the values that are compared")]
    results: Annotated[list[Texts], Meta(max_length=1 << 20), Is("each once: a digest for each value")]
    inferences: Annotated[Indexes, Is("the result of each inference, by its place in `results`")]


class Spread(Part, kw_only=True):
    """How one value differs between inferences, bit by bit. The usual one is that of most of them."""

    inferences: Annotated[Count, Is("in how many it is not the usual one")] = 0
    numbers: Annotated[Count, Is("how many it has")] = 0
    different: Annotated[Count, Is("how many of them differ, at most")] = 0
    max_error: Annotated[
        Real, Is("the largest difference; `nan`: NaN on one side only; 0: other bits of the same number")
    ] = 0.0


class DifferentOutput(Spread, kw_only=True):
    """An output that differs."""

    index: Count
    name: Text


class DifferentDispatch(Spread, kw_only=True):
    """A dispatch that is the first to differ in some inferences. `inferences` and the others are of its tensor."""

    first_in: Annotated[Count, Is("in how many inferences it is the first")]
    partition: Count
    dispatch: Annotated[Text, Is("that made the tensor")]
    nodes: Annotated[Indexes, Is("that run as this dispatch; none: an input is brought to the GPU")]
    ops: Annotated[Text, Is("TFLite's names of these")] = ""
    tensor: Annotated[Count, Is("its number in the graph that ran")]


class Determinism(File, kw_only=True):
    """Equal inferences, compared bit by bit."""

    FILE = "determinism.json"
    ok: Annotated[bool, Is("nothing differs and nothing failed")]
    sentence: Annotated[Text, Is("for people")]
    inferences: Annotated[Count, Is("of one process; fewer than `spec.json` asks for: the deadline ended them")] = 0
    inferences_different: Count = 0
    processes: Annotated[Count, Is("whose first inferences were compared; fewer: as above")] = 0
    processes_different: Count = 0
    failed: Annotated[Count, Is("processes that failed")] = 0
    error: Annotated[Text, Is("of the first of these")] = ""
    outputs: Annotated[list[DifferentOutput], Meta(max_length=1 << 16), Is("those that differ")] = []
    copied: Annotated[Count, Is("inferences that were run again with copies of all tensors, to find the dispatch")] = 0
    copied_different: Annotated[Count, Is("how many of them differ")] = 0
    dispatches: Annotated[
        list[DifferentDispatch],
        Meta(max_length=1 << 20),
        Is("those that are the first to differ, in the order of execution"),
    ] = []
    note: Annotated[Text, Is("why no dispatch is named")] = ""
