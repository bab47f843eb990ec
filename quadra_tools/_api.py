"""The functions of quadra_tools. Each does what the task of its name does, without printing."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from host_tools.base.errors import Misuse
from quadra_tools._results import Bench, Device, Result, Support, device_of, nodes_of, result_of

if TYPE_CHECKING:
    import numpy as np

    from host_tools.judge.own_metrics import Metric

File = str | PathLike[str]
Arrays = Mapping[str, "np.ndarray"] | Sequence["np.ndarray"]  # of one input
Metrics = Sequence[str | Callable[[Mapping[str, "np.ndarray"], Mapping[str, "np.ndarray"], str], float]]
Precision = Literal["f32", "f32_f16", "f16"]


def run(
    model: File,
    on: str = "host",
    *,
    backend: Literal["auto", "opencl", "gles"] = "auto",
    precision: Precision = "f32",
    inputs: File | Arrays | Iterable[Arrays] | None = None,
    image: File | None = None,
    range: tuple[float, float] | None = None,
    seed: int = 1,
    signature: str = "",
    size: Mapping[str, Sequence[int]] | None = None,
    max_error: float = 0.0,
    runs: int = 20,
    threads: int = 1,
    peers: Sequence[str] = ("xnnpack",),
    target: str = "",
    options: Mapping[str, object] | None = None,
    float32_nodes: str = "",
    cache: File | None = None,
    api: Literal["interpreter", "compiled"] = "interpreter",
    via: Literal["", "app", "shell"] = "",
    driver: str = "",
    profile: bool = False,
    cold: bool = False,
    timeout_s: float = 300.0,
    sustained_s: int = 0,
    warm_up: int = 2,
    delay_ms: int = 0,
    cpus: str = "",
    library: File | None = None,
    apk: File | None = None,
    tolerances: Mapping[str, tuple[float, float]] | None = None,
    metrics: Metrics = (),
) -> Result:
    """Runs a model with the delegate at one place, judges every output against the CPU's, times it, writes a run folder.

    model: a path, or a name of `quadra models`. on: host, this machine; a device's serial; any, the first that is free; jvm or
    virtual in a clone. inputs: an array for each of the model's inputs, by name or in the model's order, of its type and shape;
    or a folder of .npy files, or an .npz file; None: random values from `seed`. Many inputs are judged together: a list or an
    iterator of these, or a folder of folders and .npz files. image: a picture for the one picture input, or a folder of many,
    resized to it, its 0..255 scaled to `range` (None: what the model expects); range is also that of random values. signature: which of several;
    a model with several needs it. size: the shapes of inputs whose sizes the model leaves free. max_error: outputs are right up
    to this largest error, relative to their range; 0: the usual tolerance. runs: timed inferences of each runtime. peers: other
    runtimes to time beside Quadra. options: more of the delegate's. sustained_s: how long Quadra runs on without a pause after the
    measurement. warm_up: inferences before the timed ones. delay_ms: a pause before each of these. cpus: the processor cores to run on,
    4-7 or 0,2, on this machine and from a device's shell. cache: a folder for compiled models. library, apk: instead
    of those that come with the toolkit.

    Raises the errors that the module's text lists; wrong outputs are no error.
    """
    from host_tools.places.place import quiet
    from host_tools.request.run_options import RunOptions
    from host_tools.run import model_runs, requested
    from host_tools.show import report

    more = ",".join(
        f"{name}={int(value) if isinstance(value, bool) else value}" for name, value in (options or {}).items()
    )
    with _folder_of(inputs, fspath(model), signature) as arrays:
        wanted = RunOptions(
            fspath(model), on=on, backend=backend, precision=precision, inputs=arrays, image=fspath(image or ""),
            range=",".join(map(repr, range or ())), seed=seed, signature=signature, size=_sizes(size), max_error=max_error, runs=runs,
            threads=threads, peer=",".join(peers), target=target, options=more, float32_nodes=float32_nodes,
            cache=fspath(cache or ""), api=api, via=via, driver=driver, profile=profile, cold=cold, timeout=timeout_s, warm_up=warm_up,
            delay=delay_ms, cpus=cpus,
            for_=f"{sustained_s}s" if sustained_s else "", library=fspath(library or ""), apk=fspath(apk or ""),
            tolerance=tuple(_words(tolerances)), metric=tuple(one for one in metrics if isinstance(one, str)),
        )  # fmt: skip
        specs = requested.specs(wanted)
        if len(specs) != 1:
            names = ", ".join(spec.signature for spec in specs)
            raise Misuse(f"run {fspath(model)}", f"it has {len(specs)} signatures", f"give signature=, one of: {names}")
        places = requested.places(wanted)
        if len(places) != 1:
            named = ", ".join(place.name for place in places)
            raise Misuse(f"run on {on!r}", f"that is {len(places)} places", f"run on each: {named}")
        places[0].prepare(specs[0].peers)
        judged = model_runs.run_shown(specs[0], places[0], quiet, _functions(metrics))
    if specs[0].inputs.arrays:
        report.write(judged)  # its command names the run's own copy of the arrays now
    return result_of(judged)


def compare(
    run: File | Result = "latest",
    *,
    tolerances: Mapping[str, tuple[float, float]] | None = None,
    metrics: Metrics = (),
) -> Result:
    """Judges a run again. run: a run folder, its id or a prefix of it, a model (its newest run), latest, or a Result.

    tolerances, metrics: as those of `run`; None and empty: the tolerances that it was judged by, and the metrics that it has.
    """
    from host_tools.base import settings
    from host_tools.judge import rejudge
    from host_tools.record import run_folder

    name = str(run.folder) if isinstance(run, Result) else fspath(run)
    named = [one for one in metrics if isinstance(one, str)]
    folder = run_folder.find(name, settings.read().runs_dir)
    return result_of(rejudge.again(folder, _words(tolerances), [*named, *_functions(metrics)]))


def support(
    model: File,
    target: str = "",
    *,
    backend: Literal["", "opencl", "gles"] = "",
    precision: Precision = "f32",
    driver: str = "",
    library: File | None = None,
) -> Support:
    """Which nodes of a model would run on the GPU, and why the others would not. Nothing is run.

    target: the device to plan for, a name (docs/targets.md) or a JSON file; empty: a generic one. backend: empty: the target's.
    driver: plan for the device of this driver instead.
    """
    from host_tools.request.run_options import RunOptions
    from host_tools.run import node_support as task

    spec, report, found = task.of_options(
        RunOptions(fspath(model), backend, precision, target, driver=driver, library=fspath(library or ""))
    )
    return Support(
        spec.model.name, task.api_of(spec), found.target, found.precision, found.partitions, nodes_of(report)
    )


def bench(
    *models: File,
    on: str = "host",
    backend: Literal["", "opencl", "gles", "both"] = "",
    peers: Sequence[str] = (),
    api: Literal["interpreter", "compiled", "both"] = "interpreter",
    runs: int = 0,
    size: Mapping[str, Sequence[int]] | None = None,
    library: File | None = None,
) -> Bench:
    """Measures models beside other runtimes: inferences, starts and memory. It takes minutes, and wants a quiet machine.

    models: paths or names; none: those of `quadra models` that are here. on: host, jvm, virtual, any, or a device's serial: one
    place. backend, peers, runs: empty or 0: as the task has it, on a device XNNPACK and TFLite's stock GPU delegate, 20 runs.
    A model that fails is a row with its reason, and raises nothing.
    """
    from host_tools.judge import bench_figures
    from host_tools.measure import bench_session as task
    from host_tools.measure.bench_request import Words
    from host_tools.show import bench_page

    words = Words(
        tuple(fspath(one) for one in models), on, backend, ",".join(peers), api, repetitions=runs, sizes=_sizes(size)
    )
    found = task.measured(words, _path(library))
    return Bench(found.folder, found.folder / bench_page.FILE, bench_figures.document(found))


def devices() -> list[Device]:
    """Phones, emulators and virtual devices that adb sees, whatever their state."""
    from host_tools.phone.adb import choice

    return [device_of(one) for one in choice.found()]


def _sizes(size: Mapping[str, Sequence[int]] | None) -> tuple[str, ...]:
    """As --size has them."""
    return tuple(f"{name}={'x'.join(map(str, shape))}" for name, shape in (size or {}).items())


def _words(tolerances: Mapping[str, tuple[float, float]] | None) -> list[str]:
    """As --tolerance has them."""
    found = (tolerances or {}).items()
    return [f"{name}{'=' if name else ''}{absolute!r},{relative!r}" for name, (absolute, relative) in found]


def _functions(metrics: Metrics) -> list[Metric]:
    """The metrics that are functions, under their names."""
    from host_tools.judge.own_metrics import Metric

    return [Metric(getattr(one, "__name__", "metric"), one) for one in metrics if not isinstance(one, str)]


@contextlib.contextmanager
def _folder_of(inputs: Any, model: str, signature: str) -> Iterator[str]:
    """A folder with the arrays, as --inputs takes it; of many inputs with a folder for each. Empty: there are none."""
    if inputs is None or isinstance(inputs, (str, PathLike)):
        yield fspath(inputs or "")
        return
    import numpy as np

    with tempfile.TemporaryDirectory(prefix="quadra-inputs-") as name:
        folder = Path(name)
        one = isinstance(inputs, Mapping) or (
            isinstance(inputs, Sequence) and all(isinstance(array, np.ndarray) for array in inputs)
        )
        if one:
            _save(inputs, folder, model, signature)
        else:
            count = -1
            for count, each in enumerate(inputs):
                (folder / f"{count:05d}").mkdir()
                _save(each, folder / f"{count:05d}", model, signature)
            if count < 0:
                raise Misuse(f"give {model} its inputs", "there are none", "give an array for each input of the model")
        yield name


def _save(arrays: Any, folder: Path, model: str, signature: str) -> None:
    import numpy as np

    for index, array in enumerate(_in_order(arrays, model, signature)):
        np.save(folder / f"{index:03d}.npy", np.asarray(array), allow_pickle=False)


def _in_order(arrays: Any, model: str, signature: str) -> list[Any]:
    """An array for each input of the model. Misuse: there are others."""
    from host_tools.request import from_arguments, inputs, models

    name, named = from_arguments.split(model)
    names = [one.name for one in inputs.of_model(models.find(name).path.read_bytes(), signature or named)]
    given = list(arrays) if isinstance(arrays, Mapping) else names[: len(arrays)] + ["?"] * (len(arrays) - len(names))
    if sorted(given) != sorted(names):
        came_back = f"there are {len(given)} arrays ({', '.join(given)}), and its inputs are {', '.join(names)}"
        raise Misuse(f"give {model} its inputs", came_back, "give an array for each, by these names or in this order")
    return [arrays[one] for one in names] if isinstance(arrays, Mapping) else list(arrays)


def _path(given: File | None) -> Path | None:
    from host_tools.request import from_arguments

    return from_arguments.file(fspath(given or ""))
