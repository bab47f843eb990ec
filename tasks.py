"""The tasks of `./inv`: each parses, calls one function of host_tools and prints. Imports stay inside the
tasks, so that listing them is quick. Exit status: 0 done, 1 the judgement failed, 2 misuse, 70 and up
infrastructure, 130 Ctrl-C (host_tools/base/errors.py)."""

from pathlib import Path
from typing import TYPE_CHECKING

from invoke.context import Context
from invoke.exceptions import Exit
from invoke.tasks import task

if TYPE_CHECKING:
    from host_tools.record.run_folder import RunFolder


@task
def doctor(c: Context) -> None:
    """Check what this machine needs and say exactly what to install."""
    from host_tools.tasks import doctor

    raise Exit(code=doctor.main())


@task(
    help={
        "fetch": "Fetch the models that can be fetched and are missing here.",
        "path": "Print only the path of this model (a listed name, or a file); fetch it if needed.",
    }
)
def models(c: Context, fetch: bool = False, path: str = "") -> None:
    """List the models that have a name, and where they are; --fetch fetches them.

    Your own models: set QUADRA_MODELS_DIR to their folder. It is searched first.
    """
    from host_tools.request import models

    if path:
        print(models.find(path).path)
        return
    if fetch:
        models.fetch(entry for entry, where in models.status() if not where)
    models.show()


_ABI_HELP = "An Android ABI: arm64-v8a, armeabi-v7a, x86_64, or all."
_ABIS_HELP = "An ABI, or several with a comma between them: arm64-v8a, armeabi-v7a, x86_64 (default: all three)."


@task(help={"debug": "With symbols and without optimisation.", "abi": f"{_ABI_HELP} (Default: this machine.)"})
def build(c: Context, debug: bool = False, abi: str = "") -> None:
    """Build the delegate for this machine, or for Android; print where libquadra.so is, and where the accelerator for LiteRT's
    CompiledModel, in a folder with both.

    Android builds use the NDK of ANDROID_NDK_HOME (r27 or later), or one assembled from packages, for tests.
    """
    from host_tools.build import apk, bazel, ndk

    if not abi:
        print(bazel.library(debug=debug))
        if not debug:
            print(bazel.accelerator())
        return
    folder = apk.DEBUG_LIBRARIES if debug else apk.LIBRARIES
    for made in bazel.android(ndk.abis(abi), debug=debug).values():
        print(apk.keep(made.abi, made.path, folder))


@task(
    help={
        "abi": _ABIS_HELP,
        "libraries": "A folder with ABI/libquadra.so, already built (default: build them).",
        "out": "The APK's path (default: .cache/android/quadra-runner.apk).",
        "release": "Not debuggable, and signed with the key of QUADRA_KEYSTORE.",
        "peers": "Include the GPU delegate that TFLite ships, to measure beside ours.",
    }
)
def apk(
    c: Context, abi: str = "", libraries: str = "", out: str = "", release: bool = False, peers: bool = False
) -> None:
    """Make the test app's APK, without Gradle or an SDK; inspect it and show the findings."""
    from host_tools.base import terminal
    from host_tools.build import apk

    apk.show(apk.from_arguments(abi, libraries, out, release=release, peers=peers), terminal.console(width=150))


@task(
    help={
        "abi": _ABIS_HELP,
        "out": "The folder of a Maven repository (default: .cache/android/maven).",
        "release": "Refuse libraries that were not built with an NDK.",
    }
)
def aar(c: Context, abi: str = "", out: str = "", release: bool = False) -> None:
    """Make the AAR that puts the delegate into an app; inspect it and publish it in a local Maven repository.

    Prints what a Gradle script says to take it. See docs/use_in_an_app.md.
    """
    from host_tools.base import terminal
    from host_tools.build import aar

    aar.show(aar.from_arguments(abi, out, release), terminal.console(width=150))


@task(help={"out": "The folder for the wheel (default: .cache/wheel)."})
def wheel(c: Context, out: str = "") -> None:
    """Make the Python wheel of the delegate, for this machine; print where it is and what it needs.

    `pip install` it, then `quadra.load_delegate()`. See docs/use_in_an_app.md.
    """
    from host_tools.base import terminal
    from host_tools.build import wheel

    wheel.show(wheel.from_arguments(out), terminal.console())


@task(
    help={
        "library": "A shared library to measure (default: the delegate, built for this machine).",
        "abi": f"{_ABI_HELP} Builds and checks it.",
    }
)
def size(c: Context, library: str = "", abi: str = "") -> None:
    """Show the delegate's size: bytes by part, exports, needed libraries, compiler.

    With --abi also the accelerator for LiteRT, the shell's runner, Android's requirements for them, and the budgets. Exit status 1: one was missed.
    """
    from host_tools.build import android_check, bazel, ndk, size

    if not abi:
        size.show(size.measure(Path(library) if library else bazel.library()))
        return
    abis = ndk.abis(abi)
    checked = [android_check.check(one) for one in bazel.android(abis).values()]
    checked += [android_check.check_accelerator(one, path) for one, path in bazel.accelerators(abis).items()]
    checked += [android_check.check_runner(one, path) for one, path in bazel.runners(abis).items()]
    android_check.judge([android_check.show(one) for one in checked])


@task(
    help={
        "only": "Run the Python tests whose names match this (pytest -k), and no native tests.",
        "slow": "Also run the slow tests.",
        "args": "More arguments for pytest, e.g. --args='-x tests/host_tools'.",
        "sanitize": "Build the delegate with sanitizers, address,undefined or thread, and run the tests that load it:"
        " vectors, random graphs, real models, bad input, lifetimes; with thread those of lifetimes.",
    }
)
def test(c: Context, only: str = "", slow: bool = False, args: str = "", sanitize: str = "") -> None:
    """Build everything and run the tests: native ones with Bazel, then pytest.

    With --sanitize, a sanitizer's report is printed, and the test that caused it fails.
    """
    from host_tools.tasks import repository

    repository.run_tests(only=only, slow=slow, args=args, sanitizers=sanitize)


@task(
    help={
        "fix": "Let the tools fix what they can.",
        "only": "Checks, separated by commas, e.g. ruff,mypy (default: all).",
    }
)
def lint(c: Context, fix: bool = False, only: str = "") -> None:
    """Check the sources with ruff, mypy, clang-format, clang-tidy and google-java-format.

    Exit status 1: one of them found something. Settings: pyproject.toml, .clang-format, .clang-tidy.
    """
    from host_tools.base import terminal
    from host_tools.tasks import lint

    outcomes = lint.run(only, fix)
    lint.show(outcomes, terminal.console())
    lint.judge(outcomes)


@task(
    help={
        "what": "What to mutate: models, options, folders or cache. Or the folder of a finding, to run it again.",
        "seconds": "How long (default: 60).",
        "seed": "Which cases: the same seed gives the same cases.",
        "library": "An existing libquadra.so (default: build it); sanitizers in it are detected.",
        "sanitize": "Build it with these: address,undefined finds more, but is several times slower.",
    }
)
def fuzz(c: Context, what: str, seconds: float = 60.0, seed: int = 1, library: str = "", sanitize: str = "") -> None:
    """Look for crashes and hangs: mutated models, delegate options, run folders or cache files.

    models: with the delegate, on null, OpenCL and OpenGL ES, the interpreter survives what it survives alone, with the
    same numbers. options: options, environment and target files; the library works or reports an error. folders:
    readers of damaged run folders end in an error message. cache: damaged files of the cache of compiled models are
    refused with a reason, and the numbers stay the same. Findings are minimised and kept among the run folders.
    Exit status 1: there is one.
    """
    from host_tools.base import terminal
    from host_tools.base.progress import progress
    from host_tools.tasks.fuzz import fuzz as fuzzing

    with progress(f"fuzz {what}") as show:
        result = fuzzing.run(what, seconds, seed, _file(library), sanitize, show)
    fuzzing.show(result, terminal.console(width=150))
    fuzzing.judge(result)


@task(help={"all": "Also the Python environment; the next start makes a new one."})
def clean(c: Context, all: bool = False) -> None:
    """Remove what was built. Run folders and fetched models stay."""
    from host_tools.tasks import repository

    repository.clean(everything=all)


@task
def lock(c: Context) -> None:
    """Regenerate requirements.lock from pyproject.toml (needs the network)."""
    from host_tools.tasks import repository

    repository.lock()


_ON_WORDS = (
    "a serial or a name from `inv devices`; any, the first that is free; all, in parallel; virtual (started if needed)."
)
_ON_HELP = _ON_WORDS[0].upper() + _ON_WORDS[1:]
_RUN_HELP = {
    "model": "A name from `inv models`, or a path to a .tflite file.",
    "backend": "The GPU API: opencl, gles, or auto, which takes the first of these that works.",
    "precision": "f32: all float32. f32_f16: stored as float16. f16: computed in float16 too.",
    "float32_nodes": "With f32_f16 and f16: nodes of the model that stay in float32, by index: 12-14,20.",
    "target": "Make kernels for this device: a JSON file, or a name from host_tools/request/targets (default: ask the driver).",
    "image": "A picture for the model's input (default: random values).",
    "range": "LOW,HIGH to scale a picture's 0..255, or random values, to (default: the range that the model expects).",
    "seed": "Which random values: the same seed gives the same values.",
    "inputs": "A folder with an array for each of the model's inputs: 000.npy, 001.npy, …",
    "runs": "Timed inferences of each runtime.",
    "threads": "For XNNPACK, and for the GPU driver if it runs on this machine's CPU.",
    "profile": "Also measure every dispatch.",
    "cold": "Also time a start with an empty driver cache.",
    "cache": "A folder with compiled models of earlier starts, which this one takes and fills; on devices the app's own,"
    " of which the run folder gets a copy.",
    "timeout": "Deadline of one process, in seconds.",
    "library": "An existing libquadra.so (default: build it).",
    "on": "Where: host, this machine (default); app, Android's runtime and the APK's own code on this machine; or devices:"
    f" {_ON_WORDS}",
    "api": "Through what the model runs: interpreter, or compiled, LiteRT's CompiledModel (on this machine only).",
    "peer": "Other runtimes, alternating: xnnpack; with --on app or devices also shipped-opencl, shipped-gles; separated by commas.",
    "apk": "On devices: this APK of the test app (default: one made for the device).",
}


@task(help=_RUN_HELP)
def run(
    c: Context, model: str, backend: str = "auto", precision: str = "f32", target: str = "", image: str = "",
    range: str = "", seed: int = 1, runs: int = 20, threads: int = 1, profile: bool = False, cold: bool = False,
    timeout: int = 300, library: str = "", on: str = "host", peer: str = "xnnpack", apk: str = "", inputs: str = "",
    float32_nodes: str = "", cache: str = "", api: str = "interpreter",
) -> None:  # fmt: skip
    """Run a model with the delegate in the stock runtime, and judge it against the CPU.

    Prints where each node ran, the error of each output and times beside XNNPACK's, and writes a run folder with
    a report. Exit status 1: an output is wrong.
    """
    from host_tools.base import terminal
    from host_tools.places import where
    from host_tools.record import peer_names
    from host_tools.request import from_arguments
    from host_tools.tasks import judged_runs

    spec = from_arguments.make_spec(
        model, backend=backend, precision=precision, target=target, image=image, value_range=range, seed=seed,
        repetitions=runs, threads=threads, deadline_s=float(timeout), peers=peer_names.parse(peer), profile=profile,
        cold=cold, arrays=inputs, float32_nodes=float32_nodes, cache=cache, api=api,
        **from_arguments.destination(on),
    )  # fmt: skip
    judged_runs.run(spec, where.parse(on, _file(library), _file(apk)), terminal.console())


@task(
    help={
        **{
            k: _RUN_HELP[k]
            for k in (
                "model",
                "backend",
                "precision",
                "image",
                "range",
                "seed",
                "runs",
                "threads",
                "profile",
                "timeout",
                "library",
            )
        },
        "on": _ON_HELP,
    }
)
def shell_run(
    c: Context, model: str, on: str = "any", backend: str = "auto", precision: str = "f32", image: str = "",
    range: str = "", seed: int = 1, runs: int = 20, threads: int = 1, profile: bool = False, timeout: int = 300,
    library: str = "",
) -> None:  # fmt: skip
    """Run a model from a device's shell, without the app, with a small native runner; judge it like `inv run`.

    Its times differ from an app's, and are never pooled with them.
    """
    from host_tools.base import terminal
    from host_tools.places import where
    from host_tools.request import from_arguments
    from host_tools.tasks import judged_runs

    spec = from_arguments.make_spec(
        model, backend=backend, precision=precision, image=image, value_range=range, seed=seed, repetitions=runs,
        threads=threads, deadline_s=float(timeout), place="device", device=on, route="shell", profile=profile,
    )  # fmt: skip
    judged_runs.run(spec, where.parse(on, _file(library), route="shell"), terminal.console())


@task(
    help={
        **{key: _RUN_HELP[key] for key in ("model", "precision", "library")},
        "target": "The device to plan for: a JSON file, or a name from host_tools/request/targets (default: generic).",
        "backend": "The GPU API to plan for: opencl or gles (default: the target's).",
        "json": "Print JSON instead of a table.",
    }
)
def coverage(
    c: Context,
    model: str,
    backend: str = "",
    target: str = "",
    precision: str = "f32",
    json: bool = False,
    library: str = "",
) -> None:
    """Show which nodes of a model would run on the GPU, and why the others would not. Nothing is run."""
    from json import dumps

    from host_tools.base import terminal
    from host_tools.tasks import coverage

    spec = coverage.make_spec(model, target, precision, backend)
    report, found = coverage.ask(spec, _library(library))
    if json:
        print(dumps(coverage.to_json(spec, report, found), indent=1))
    else:
        coverage.show(spec, found, terminal.console())


@task(
    help={
        **{key: _RUN_HELP[key] for key in ("model", "image", "range", "seed", "inputs", "library")},
        "target": "The device to plan for: a JSON file, or a name from host_tools/request/targets (default: generic).",
        "backend": "The GPU API to plan for: opencl or gles (default: the target's).",
        "json": "Print JSON instead of tables.",
    }
)
def advise(
    c: Context, model: str, backend: str = "", target: str = "", image: str = "", range: str = "", seed: int = 1,
    inputs: str = "", json: bool = False, library: str = "",
) -> None:  # fmt: skip
    """Say what in a model costs time or exactness on a GPU, node by node, and how to write it instead.

    Splits between GPU and CPU with the bytes that cross, kernels that only move numbers, channel counts that waste
    lanes, ops with a cheaper equivalent, numbers beyond half. Runs the model once, on the CPU; nothing on a GPU.
    """
    from json import dumps

    from msgspec import structs

    from host_tools.base import terminal
    from host_tools.request import from_arguments
    from host_tools.tasks import advise, coverage

    plan = coverage.make_spec(model, target, "f32", backend)
    given = from_arguments.make_spec(model, image=image, value_range=range, seed=seed, arrays=inputs)
    spec = structs.replace(plan, inputs=given.inputs)
    found, note = advise.find(spec, _library(library))
    if json:
        print(dumps(advise.to_json(spec, found, note), indent=1))
    else:
        advise.show(spec, found, note, terminal.console())


_ONE_RUN = {"run": "`latest` (default), the id of a run or its beginning, or the path of a run folder."}


@task(help=_ONE_RUN)
def compare(c: Context, run: str = "latest") -> None:
    """Judge the outputs of a run against the CPU's: largest error, where, NaN and infinity. Status 1: wrong."""
    from host_tools.base import terminal
    from host_tools.judge import compare, judged

    folder = _find_run(run)
    found = compare.compare(folder)
    compare.show(found, terminal.console())
    judged.Judged(folder, found).check()


@task(help={**_ONE_RUN, "top": "How many dispatches to show."})
def profile(c: Context, run: str = "latest", top: int = 20) -> None:
    """Show where the time of a run went, per dispatch and kernel; writes trace.json for ui.perfetto.dev.

    The run must have been made with --profile.
    """
    from host_tools.base import terminal
    from host_tools.record import profile
    from host_tools.show import perfetto_trace

    folder = _find_run(run)
    found = profile.read(folder)
    profile.show(found, terminal.console(), top)
    print(f"trace  {perfetto_trace.write(folder)}  (open it in ui.perfetto.dev)")


@task(
    help={
        **_ONE_RUN,
        "model_explorer": "Instead, write overlays for Model Explorer into this folder: verdicts, and errors (after"
        " `inv bisect`) and times (with --profile) of each node.",
    }
)
def report(c: Context, run: str = "latest", model_explorer: str = "") -> None:
    """Write the HTML report of a run again; print its path. Or write what it says of each node, for Model Explorer."""
    from host_tools.judge import judged
    from host_tools.show import model_explorer as overlays, report

    folder = _find_run(run)
    if model_explorer:
        print(*overlays.write(folder, Path(model_explorer).expanduser()), sep="\n")
        return
    print(report.write(judged.judge(folder)))


@task(
    help={
        **{key: _RUN_HELP[key] for key in ("model", "backend", "precision", "target", "image", "range", "seed")},
        **{key: _RUN_HELP[key] for key in ("inputs", "timeout", "library", "on", "apk")},
        "against": "What to compare with instead of the CPU: another backend, precision, target, on or library, e.g."
        " backend=gles,precision=f32.",
        "tolerance": "Allowed error, of a tensor's range (default: 1e-4 with floats, 1e-2 with halves).",
        "all": "Show every tensor, not only those around the first wrong one.",
    }
)
def bisect(
    c: Context, model: str, backend: str = "auto", precision: str = "f32", target: str = "", image: str = "",
    range: str = "", seed: int = 1, inputs: str = "", timeout: int = 300, library: str = "", on: str = "host",
    apk: str = "", against: str = "cpu", tolerance: float = 0.0, all: bool = False,
) -> None:  # fmt: skip
    """Find the first op that computes wrong numbers, and cut it out as a model of its own.

    Runs the model once with every tensor kept that a kernel stores, and compares each with the CPU's. An op is blamed
    only if it is wrong on the GPU's own inputs; with halves, floats tell a wrong kernel from too small a precision.
    Exit status 1: an op is wrong. See docs/find_the_fault.md.
    """
    from host_tools.base import terminal
    from host_tools.base.progress import progress
    from host_tools.show import bisect_table
    from host_tools.tasks import bisect

    asked = bisect.asked(
        model, backend=backend, precision=precision, target=target, image=image, value_range=range, seed=seed,
        arrays=inputs, deadline_s=float(timeout), on=on, library=_file(library), apk=_file(apk), against=against,
    )  # fmt: skip
    with progress(f"bisect {model}") as show:
        folder, found = bisect.run(*asked, show, tolerance)
    bisect_table.show(folder, found, terminal.console(width=150), everything=all)
    bisect.judge(found)


@task(
    help={
        **{
            key: _RUN_HELP[key] for key in ("model", "image", "range", "seed", "inputs", "backend", "target", "library")
        },
        "error": "Find the fewest nodes to leave in float32 for this largest error, of an output's range, e.g. 0.01.",
        "precision": "For --error: f16 (default) or f32_f16.",
        "top": "How many tensors to show (0: all).",
        "json": "Print JSON instead of a table.",
    }
)
def overflow(
    c: Context, model: str, image: str = "", range: str = "", seed: int = 1, inputs: str = "", top: int = 12,
    json: bool = False, error: float = 0.0, precision: str = "f16", backend: str = "auto", target: str = "",
    library: str = "",
) -> None:  # fmt: skip
    """Show how large a model's numbers get, which of them half precision cannot hold, and which ops that concerns.

    Runs the model once on the CPU, with floats; with --error also on the GPU, some dozen times, to find the option
    float32_nodes. Give real inputs (--image, --inputs): random ones say little.
    """
    from json import dumps

    from host_tools.base import terminal
    from host_tools.base.progress import progress
    from host_tools.places import where
    from host_tools.request import from_arguments
    from host_tools.tasks import float32_nodes, overflow

    spec = from_arguments.make_spec(
        model, image=image, value_range=range, seed=seed, arrays=inputs, peers=(), backend=backend, precision=precision,
        target=target,
    )  # fmt: skip
    found, searched = overflow.ask(spec), None
    if error:
        with progress(f"overflow {model}") as show:
            (place,) = where.parse("host", _file(library))
            searched = float32_nodes.find(spec, place, overflow.at_risk(found), error, show)
    if json:
        print(dumps(overflow.to_json(spec, found, searched), indent=1))
        return
    overflow.show(spec, found, terminal.console(), top)
    if searched:
        overflow.show_search(spec, searched, error, terminal.console())


@task(
    iterable=["words"],
    help={
        "words": "show RUN|FILE (default: latest); diff A B, two runs or files; make MODEL.",
        "top": "How many rows of each table to show (0: all; of a diff 20).",
        "map": "show: also write a picture of the memory over time here, as .html or .svg.",
        "texts": "diff: also the lines that differ in kernels' texts.",
        "target": "make: the device to plan for: a JSON file, or a name from host_tools/request/targets (default: generic).",
        "precision": "make: f32, f32_f16 or f16.",
        "backend": "make: the GPU API to plan for, opencl or gles (default: the target's).",
        "out": "make: the plan's file (default: MODEL-TARGET-PRECISION.quadra here); those of further partitions get a number.",
        "cache": "make: instead put it into this folder of the option serialization_dir: that start on the target only compiles.",
        "reader": "make: the libquadra.so that will read it there, for Android perhaps (default: this machine's).",
        "library": _RUN_HELP["library"],
    },
)
def plan(
    c: Context, words: list[str], top: int = 0, map: str = "", texts: bool = False, target: str = "",
    precision: str = "f32", backend: str = "", out: str = "", cache: str = "", reader: str = "", library: str = "",
) -> None:  # fmt: skip
    """Read, compare and make plans: `show` lists one, `diff` tells two apart, `make` plans for another GPU.

    show: dispatches with their arguments, buffers, tensors with their lifetimes. diff: exit status 1 if the plans
    differ. make: on this machine, for a phone's target; nothing is run. `inv replay` runs a plan. See docs/replay.md.
    """
    from host_tools.base import terminal
    from host_tools.tasks import plans

    options = plans.Options(top, map, texts, target, precision, backend, out, cache, reader)
    status = plans.do(words, options, _file(library), terminal.console())
    if status:
        raise Exit(code=status)


@task(
    help={
        "what": "A model (a name from `inv models`, or a .tflite file), a run, or a plan's file, as it is.",
        "gpu": "GPUs with commas between: adreno-630, adreno-740, mali-g76, mali-g610 (default: all that can be asked).",
        "precision": "Of a model: f32, f32_f16 or f16.",
        "top": "How many kernels to show (0: all).",
        "json": "Also write all figures into this file.",
        "check": "Instead, compare some models' convolutions with the committed table: exit status 1 if a figure is worse.",
        "keep": "With --check: write that table anew.",
        "install": "Instead, fetch the compilers from Debian's packages into the cache; nothing is installed in the system.",
        "library": _RUN_HELP["library"],
    },
)
def analyse(
    c: Context, what: str = "", gpu: str = "", precision: str = "f32", top: int = 20, json: str = "",
    check: bool = False, keep: bool = False, install: bool = False, library: str = "",
) -> None:  # fmt: skip
    """Show what phones' GPU compilers make of a model's kernels: registers, spills, and the instructions executed.

    Mesa's compilers for Adreno and Mali, on this machine, without a phone: counts, never milliseconds. Nothing is run.
    Once before: `inv analyse --install`. See docs/analyse.md.
    """
    from host_tools.base import terminal
    from host_tools.base.errors import Misuse
    from host_tools.tasks import analyse

    console = terminal.console(width=150)
    if install:
        analyse.install(gpu, console)
        return
    if check:
        analyse.check(gpu, _file(library), keep, console)
        return
    if not what:
        raise Misuse("inv analyse", "no model, run or plan is given", "`./inv --help analyse`")
    found = analyse.ask(what, gpu, precision, _file(library))
    if json:
        analyse.write_json(found, Path(json).expanduser())
    analyse.show(found, console, top)


@task(
    help={
        "plan": "A run (`latest`, the default; the beginning of its id; a path), or a plan's file.",
        "against": "Compare every tensor: cpu, or a run whose tensors were kept (`inv bisect` makes one).",
        "step": "Show each dispatch's tensors as numbers; on a terminal, wait for Enter after each.",
        "time": "Measure each dispatch.",
        "oclgrind": "On Oclgrind's simulator, which reports bad memory accesses and races, by dispatch.",
        "model": "Of which model a plan's file is: its inputs are made as `inv run` makes them, and the CPU can be asked.",
        **{key: _RUN_HELP[key] for key in ("image", "range")},
        "inputs": "A folder with an array for each input: 000.npy, 001.npy, … (default: those of the run).",
        "seed": "Random inputs from this seed instead of the run's (default, of a plan alone: 1).",
        "runs": "How often to measure (default: 10).",
        "tolerance": "Allowed error, of a tensor's range (default: 1e-4 with floats, 1e-2 with halves).",
        "timeout": "Deadline in seconds.",
        "top": "How many dispatches of --time to show (0: all).",
        "all": "With --against: show every tensor, not only those around the first that differs.",
    }
)
def replay(
    c: Context, plan: str = "latest", against: str = "", step: bool = False, time: bool = False, oclgrind: bool = False,
    model: str = "", inputs: str = "", seed: int = -1, image: str = "", range: str = "", runs: int = 0,
    tolerance: float = 0.0, timeout: int = 300, top: int = 20, all: bool = False,
) -> None:  # fmt: skip
    """Run a plan on this machine, dispatch by dispatch, without TFLite and without the delegate.

    Also a plan that was made for a phone's GPU. The outputs are compared with the run's, with --against every tensor:
    the first dispatch that differs is named. Exit status 1: something differs. See docs/replay.md.
    """
    from contextlib import nullcontext

    from host_tools.base import terminal
    from host_tools.base.progress import progress
    from host_tools.places.place import quiet
    from host_tools.tasks import replays

    wanted = replays.asked(
        model=model, inputs=inputs, seed=seed, image=image, value_range=range, against=against, step=step, time=time,
        runs=runs, oclgrind=oclgrind, tolerance=tolerance, timeout=float(timeout),
    )  # fmt: skip
    with nullcontext(quiet) if step else progress(f"replay {plan}") as show:
        outcomes = replays.run(plan, wanted, show)
    for outcome in outcomes:
        replays.show(outcome, wanted, terminal.console(), top, all)
    replays.judge(outcomes)


@task(
    iterable=["words"],
    help={
        "words": "list FOLDER; show FILE; verify FOLDER, or one file; diff A B; prune FOLDER.",
        "to": "prune: remove the least recently used files until the others take no more: bytes, 300M, 2G.",
        "top": "show, diff: how many rows of each table (0: all; of a diff 20).",
    },
)
def cache(c: Context, words: list[str], to: str = "", top: int = 0) -> None:
    """Look at a cache of compiled models (the folder of `serialization_dir`): list, show, verify, diff, prune.

    Exit status 1: verify found a bad file, or the two of diff differ. `inv plan show`, `inv plan diff` and `inv replay` take
    such files, too. See docs/replay.md.
    """
    from host_tools.base import terminal
    from host_tools.tasks import caches

    status = caches.do(words, to, top, terminal.console())
    if status:
        raise Exit(code=status)


@task(
    help={"loop": "Only the last part, a phone's loop: APK, virtual device, install, push, run, pull, compare, report."}
)
def demo(c: Context, loop: bool = False) -> None:
    """See it work: a person's mask from a photograph, here, and then as on a phone, on a virtual device.

    On OpenCL and OpenGL ES; every output is judged against the CPU.
    """
    from host_tools.tasks import demo

    demo.loop() if loop else demo.show()


@task(
    iterable=["models"],
    help={
        "models": "Models to measure, by name or path (default: those that run wholly on the delegate; with --peer all).",
        "backend": "opencl, gles, or both (default: opencl; with --peer those of the given runtimes).",
        "runs": "Timed inferences of each runtime (default: 50; with --peer 10).",
        "limit": "Fail (status 1) if the geometric mean of the ratios to XNNPACK at one thread exceeds this; 0: no limit."
        " With both backends, OpenCL's counts.",
        "limit_shipped": "Fail if the same mean relative to the shipped GPU delegate exceeds this; 0: no limit.",
        "json": "Print the figures as JSON instead of a table.",
        "library": _RUN_HELP["library"],
        "peer": "In Android's runtime instead, beside xnnpack, shipped-opencl, shipped-gles (TFLite's own GPU delegate);"
        " separated by commas. One thread.",
        "resume": "Continue the bench of this folder; its figures are not measured again.",
    },
)
def bench(
    c: Context,
    models: list[str],
    backend: str = "",
    runs: int = 0,
    limit: float = 0.0,
    limit_shipped: float = 0.0,
    json: bool = False,
    library: str = "",
    peer: str = "",
    resume: str = "",
) -> None:
    """Measure models beside XNNPACK at 1 and 2 threads: speed, memory, start-up, programs; as table, JSON and page.

    Every model runs in its own processes; on the CPU, the GPU driver gets as many threads as XNNPACK.
    Status 1: an output is wrong, a model failed, or a limit was exceeded. With --peer, another runtime's failure is a finding.
    """
    import sys
    from json import dumps

    from host_tools.base import terminal
    from host_tools.base.progress import progress
    from host_tools.judge import bench_figures
    from host_tools.places import where
    from host_tools.show import bench_page, bench_table
    from host_tools.tasks import bench

    asked, absent = bench.asked(models, backend, peer, runs, resume)
    for name in absent:
        print(f"left out: {name} is not in a folder of QUADRA_MODELS_DIR", file=sys.stderr)
    (place,) = where.parse(asked.place, _file(library))
    with progress("bench") as show:
        result = bench.measure(asked, place, show, bench_page.write, resume)
    if json:
        print(dumps(bench_figures.to_json(result), indent=1))
    else:
        bench_table.show(result, terminal.console())
    bench_figures.judge(result, limit, limit_shipped)


@task(
    help={
        "suite": "A suite file (TOML), or a name: nightly, quick.",
        "on": "Where: host, app, or devices, separated by commas (default: the suite's). Devices: " + _ON_WORDS,
        "baseline": "Compare with the result saved under this name.",
        "save": "Save the result under this name, if it is complete and right.",
        "library": _RUN_HELP["library"],
        "lab": "Run each cell on one of the devices of a lab, instead of --on: its scheduler's address, or localhost.",
    }
)
def regress(
    c: Context, suite: str, on: str = "", baseline: str = "", save: str = "", library: str = "", lab: str = ""
) -> None:
    """Run a suite of models, launch after launch, and report regressions from a baseline, with size and confidence.

    Writes a page, JUnit XML, JSON and a trace of each run. Exit status 1: something is worse or wrong; 70 and up:
    something could not run.
    """
    from host_tools.base import terminal
    from host_tools.show.regression import page, table
    from host_tools.tasks import regress as regression

    found = regression.run(suite, on, baseline, save, _file(library), lab)
    table.show(found, terminal.console())
    print(f"report      {found.folder / page.FILE}")
    if found.state != "complete":
        raise Exit(code=130)
    regression.judge(found)


@task(
    iterable=["op"],
    help={
        "op": "Only this op, by its TFLite name, e.g. CONV_2D; may be repeated.",
        "quick": "A few vectors of each op instead of all.",
        "json": "Print JSON instead of a table.",
        "library": _RUN_HELP["library"],
    },
)
def parity(c: Context, op: list[str], quick: bool = False, json: bool = False, library: str = "") -> None:
    """Run every op's test vectors on both backends, in every precision and storage; show which are right.

    Status 1: a vector is wrong, or an op is missing somewhere.
    """
    from json import dumps

    from host_tools.base import terminal
    from host_tools.base.progress import progress
    from host_tools.tasks import parity

    with progress("parity") as show:
        found = parity.measure(_library(library), op, quick, show)
    if json:
        print(dumps(parity.to_json(found), indent=1))
    else:
        parity.show(found, terminal.console())
    parity.judge(found)


@task(help={"json": "Print JSON instead of a table."})
def devices(c: Context, json: bool = False) -> None:
    """List phones and virtual devices, their states, and who is using them."""
    from host_tools.base import terminal
    from host_tools.tasks import connected_devices

    connected_devices.devices(terminal.console(), json)


@task(
    iterable=["models"],
    help={
        "models": "Models to copy there, by name or path.",
        "on": _ON_HELP,
        "clean": "Empty the device's store first.",
    },
)
def push(c: Context, models: list[str], on: str = "any", clean: bool = False) -> None:
    """Copy models onto devices, each once, by its content: `inv push MODEL... --on all`."""
    from host_tools.tasks import connected_devices

    connected_devices.push(models, on, clean)


@task(
    help={
        "on": _ON_HELP,
        "apk": "This APK (default: one made for the device).",
        "peers": "An APK that includes the GPU delegate that TFLite ships.",
        "fresh": "First remove the installed app and its files.",
        "remove": "Only remove it.",
    }
)
def install(
    c: Context, on: str = "any", apk: str = "", peers: bool = False, fresh: bool = False, remove: bool = False
) -> None:
    """Install the test app on devices, unless that very APK is there. `inv run` does it by itself."""
    from host_tools.base import terminal
    from host_tools.tasks import install

    install.install(on, _file(apk), terminal.console(), fresh=fresh, shipped=peers, remove=remove)


@task(
    help={
        "run": "The id of a run, or its beginning (default: all).",
        "on": _ON_HELP,
        "cache": "Also the app's code cache: what drivers compiled.",
    }
)
def pull(c: Context, run: str = "", on: str = "any", cache: bool = False) -> None:
    """Fetch interrupted runs from a device, each into its run folder, and remove them there."""
    from host_tools.base import terminal
    from host_tools.tasks import pull_runs

    pull_runs.pull(on, run, cache, terminal.console())


@task(
    iterable=["fault"],
    help={
        "what": "start; stop; list (default); fault: injects --fault, or shows the injected ones; faults: lists all that there are.",
        "name": "Which virtual device (default: virtual; stop also accepts `all`).",
        "fault": "The fault: STEP:KIND[=VALUE][@N][xTIMES], or none to clear all; may be repeated.",
    },
)
def device(c: Context, what: str = "list", name: str = "virtual", fault: list[str] | None = None) -> None:
    """Start, stop or list virtual devices, which need no hardware; inject faults: start, stop, list, fault, faults.

    `inv device start`, then `inv run MODEL --on virtual`; `inv device stop`. See docs/virtual_device.md.
    """
    from host_tools.base import terminal
    from host_tools.tasks import virtual_devices

    virtual_devices.device(what, name, fault or [], terminal.console())


@task(
    iterable=["words"],
    help={
        "words": "scheduler: one for the lab; worker [HOST:PORT]: on each host, offers its devices to the scheduler there (default: localhost). Both serve until Ctrl-C.",
        "host": "worker: the name of this host (default: the machine's).",
        "listen": "scheduler: the address of this machine to listen on (default: localhost, which others cannot reach).",
        "port": "scheduler: the port to listen on.",
    },
)
def lab(c: Context, words: list[str], host: str = "", listen: str = "localhost", port: int = 8786) -> None:
    """Serve a lab, devices on several hosts, for `inv regress --lab`: scheduler, worker.

    Only on a network you trust: who reaches the scheduler can run code on every host. See docs/lab.md.
    """
    from host_tools.tasks import lab_servers

    lab_servers.lab(words, host, listen, port)


def _library(given: str) -> Path:
    from host_tools.build import bazel

    return _file(given) or bazel.library()


def _file(given: str) -> Path | None:
    """The given file; None: none was given."""
    from pathlib import Path

    from host_tools.base.errors import Misuse

    path = Path(given).expanduser().resolve()
    if given and not path.is_file():
        raise Misuse(f"load {given}", "there is no such file", "leave it away to have one made")
    return path if given else None


def _find_run(name: str) -> "RunFolder":
    from host_tools.base import settings
    from host_tools.record import run_folder

    return run_folder.find(name, settings.read().runs_dir)
