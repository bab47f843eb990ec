"""What a model is to be run with: the options that `inv run`, `bisect`, `overflow`, `advise`, `generate` and the Python API share.

An option is a field here. Its text is the help of every task that has it (tasks.py names these), its name that of the option
(a `_` at the end is left out), and `spec` the argument of from_arguments.make_spec that gets it: a field of a RunSpec too, where
`inv run` should be able to say it (as_command). Imports next to nothing: every start of `./inv` reads this file."""

from dataclasses import Field, dataclass, field, fields
from typing import Any

_DEVICES = (
    "a serial or name of `inv device list`; any, the one of ANDROID_SERIAL or the first that is free; all, in parallel;"
    " virtual (started if needed)."
)


def _option(default: Any, text: str, spec: str = "") -> Any:
    return field(default=default, metadata={"help": text, "spec": spec})


@dataclass(frozen=True)
class RunOptions:
    """As they are written on the command line; nothing is checked yet."""

    model: str = field(metadata={
        "help": "A name from `inv models`, or a path to a .tflite file, or to a bundle (.litertlm, .task).", "spec": "",
    })  # fmt: skip
    backend: str = _option("auto", "The GPU API; auto takes the first of opencl and gles that works.", "backend")
    precision: str = _option(
        "f32", "f32: all float32. f32_f16: stored as float16. f16: computed in float16 too.", "precision"
    )
    target: str = _option(
        "",
        "Make kernels for this device: a JSON file, or a name from host_tools/request/targets (default: ask the driver).",
        "target",
    )
    image: str = _option(
        "",
        "A picture for the model's input, or with `run` a folder of pictures, judged together (default: random values).",
        "image",
    )
    range: str = _option(
        "",
        "LOW,HIGH to scale a picture's 0..255, or random values, to (default: the range that the model expects).",
        "value_range",
    )
    seed: int = _option(1, "Seed of the random values.", "seed")
    inputs: str = _option(
        "",
        "A folder with an array for each of the model's inputs: NAME.npy, or 000.npy, 001.npy, …; those of a signature"
        " may be in a folder of its name there. Or an .npz file; or with `run` a folder of such folders and files, judged together"
        " (default: random values).",
        "arrays",
    )
    signature: str = _option("", "Only this signature of the model (default: each of several).")
    size: tuple[str, ...] = _option(
        (),
        "The shape of an input whose sizes are free, NAME=1x64x48x3; may be repeated (default: the model's own).",
    )
    runs: int = _option(20, "Timed inferences of each runtime.", "repetitions")
    threads: int = _option(1, "For XNNPACK, and for the GPU driver if it runs on this machine's CPU.", "threads")
    warm_up: int = _option(2, "Inferences of each runtime before those that are timed.", "warm_up")
    delay: int = _option(
        0, "Pause before each timed inference, in ms, as between an app's frames (default: none).", "delay_ms"
    )
    cpus: str = _option(
        "",
        "Run on these processor cores only, 4-7 or 0,2: on this machine, and on a device with --via shell. Android's apps cannot"
        " choose theirs (default: all).",
        "cpus",
    )
    profile: bool = _option(False, "Also measure every dispatch.", "profile")
    cold: bool = _option(False, "Also time a start with an empty driver cache.", "cold")
    timeout: float = _option(300, "Deadline of one process, in seconds, beside --for.", "deadline_s")
    max_error: float = _option(
        0.0,
        "Fail (status 1) if the largest error of an output exceeds this share of its range, e.g. 0.001; outputs are then"
        " judged by it alone (default: the usual tolerance).",
        "max_error",
    )
    peer: str = _option(
        "xnnpack",
        "Other runtimes to measure, interleaved, separated by commas: litert-gpu on this machine only, the shipped ones with --on jvm"
        " or on devices.",
        "peers",
    )
    api: str = _option(
        "interpreter", "Runtime API: the interpreter, or LiteRT's CompiledModel (on this machine only).", "api"
    )
    driver: str = _option(
        "", "Run on this driver instead of the usual one: a name from `inv drivers` (default: none).", "driver"
    )
    via: str = _option(
        "",
        "On devices: app, the test app, or shell, a small native program in the device's shell, without the app."
        " Times of the two differ and are never pooled (default: app).",
        "route",
    )
    float32_nodes: str = _option(
        "",
        "With f32_f16 and f16: nodes of the model that stay in float32, by index: 12-14,20 (default: none).",
        "float32_nodes",
    )
    options: str = _option(
        "", "More options of the delegate, as self_check=1,tuning=fast: docs/options.md (default: none).", "options"
    )
    cache: str = _option(
        "",
        "A folder for compiled models, read and written; on devices the app's own is used, and copied into the run"
        " folder (default: none).",
        "cache",
    )
    same: str = _option(
        "",
        "N, or INFERENCES,PROCESSES, from 2: also compare N equal inferences of one process, and of N processes the first,"
        " bit by bit; name the first dispatch that differs (default: do not).",
    )
    for_: str = _option(
        "",
        "After the measurement run Quadra without a pause for so long, 90s, 10m or 1h: how its speed, the device's temperatures and"
        " clocks change (default: do not).",
        "sustained_s",
    )
    tolerance: tuple[str, ...] = _option(
        (),
        "NAME=ABS,REL: each number of this output may be off by ABS, in its own unit, plus REL times the CPU's number;"
        " without NAME= of all others; may be repeated (default: the usual tolerance).",
    )
    metric: tuple[str, ...] = _option(
        (),
        "Also measure top1, top5, iou (of an output: top1:NAME), or FILE.py:FUNCTION(outputs, cpu_outputs, name); with"
        " =LEAST or =LEAST..MOST fail (status 1) if its mean over the inputs is outside; may be repeated (default: none).",
        "metrics",
    )
    on: str = _option(
        "host",
        "Where: host, this machine; jvm, Android's TFLite runtime and the APK's Java code on this machine's JVM; or"
        f" devices: {_DEVICES}",
    )
    library: str = _option("", "An existing libquadra.so (default: build it).")
    apk: str = _option("", "On devices: this APK of the test app (default: one made for the device).")


DEVICES = _DEVICES
OPTIONS: dict[str, Field[Any]] = {one.name: one for one in fields(RunOptions)}
HELP: dict[str, str] = {name: one.metadata["help"] for name, one in OPTIONS.items()}
ALL = tuple(OPTIONS)


def spec_fields() -> dict[str, str]:
    """By option, the argument of make_spec that it becomes; the others mean more than that."""
    return {name: one.metadata["spec"] for name, one in OPTIONS.items() if one.metadata["spec"]}
