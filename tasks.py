"""The tasks of `./inv`: each parses, calls one function of host_tools and prints. Imports stay inside the
tasks, so that listing them is quick. Exit status: 0 done, 1 the judgement failed, 2 misuse, 70 and up
infrastructure, 130 Ctrl-C (host_tools/base/errors.py).

In host_tools/tasks/: task_arguments.py reads the command line and has the few letters of options, choices.py the values that
options may have, task_words.py what may follow a task without an option. Help shows these, and each default that is a value;
an option's text says what omitting it means only where the default is empty."""

from pathlib import Path
from typing import TYPE_CHECKING

from invoke.context import Context
from invoke.exceptions import Exit
from invoke.tasks import task

from host_tools.request import run_options
from host_tools.request.run_options import DEVICES, HELP, RunOptions
from host_tools.tasks.shared_options import task_of_a_run

if TYPE_CHECKING:
    from host_tools.record.run_folder import RunFolder


@task(help={"json": "Print one JSON document instead of the table: docs/run_folder.md."})
def doctor(c: Context, json: bool = False) -> None:
    """Check what this machine needs and say exactly what to install."""
    from host_tools.tasks import doctor

    raise Exit(code=doctor.main(json))


@task(
    help={
        "fetch": "Fetch the models that can be fetched and are not here yet.",
        "path": "Print only the path of this model (a listed name, or a file); fetch it if needed (default: print the list).",
        "json": "Print one JSON document instead of the tables: docs/run_folder.md.",
        "make": "Make a model with random weights instead: a decoder as litert-torch exports it (default: none).",
        "sizes": "With --make: qwen3-0.6b, smollm2-135m or gemma3-270m, and what is otherwise, as"
        " qwen3-0.6b,layers=2,weights=int4,positions=256,prefill=16+64: docs/generate.md.",
        "seed": "With --make: of its weights.",
        "out": "With --make: the file.",
    }
)
def models(
    c: Context, fetch: bool = False, path: str = "", json: bool = False, make: str = "", sizes: str = "smollm2-135m",
    seed: int = 1, out: str = "decoder.tflite",
) -> None:  # fmt: skip
    """List your own models and those that can be fetched; --fetch fetches them, --make makes one.

    Your own models: set QUADRA_MODELS_DIR to their folder. It is searched first.
    """
    from host_tools.base import json_text, terminal
    from host_tools.request import models
    from host_tools.tasks import list_models

    if make:
        print(list_models.make(sizes, seed, Path(out).expanduser()))
        return
    if path:
        print(models.find(path).path)
        return
    if fetch:
        models.fetch(models.catalogue().values())
    if json:
        print(json_text.text(list_models.rows()))
    else:
        list_models.show(terminal.console())


@task(
    iterable=["names"],
    help={
        "names": "Only these (default: all).",
        "fetch": "Fetch those that can be fetched and are not here yet.",
        "json": "Print JSON instead of a table.",
    },
)
def drivers(c: Context, names: list[str], fetch: bool = False, json: bool = False) -> None:
    """List the drivers and compilers that this machine can run, and which are here; --fetch fetches them.

    `inv run`, `inv parity` and `inv support` take one with --driver. None is installed: docs/drivers.md.
    """
    from json import dumps

    from host_tools.base import terminal
    from host_tools.tasks import drivers

    chosen = drivers.named(names)
    if fetch:
        drivers.fetch(chosen)
    found = drivers.states(chosen)
    if json:
        print(dumps(drivers.to_json(found), indent=1))
    else:
        drivers.show(found, terminal.console())


_LAB_HELP = "devices of a lab, instead of --on: its scheduler's address, or localhost (default: no lab)."
_ABI_HELP = "An Android ABI, or all"
_ABIS_HELP = "ABIs, separated by commas (default: all)."


@task(
    help={"debug": "With symbols and without optimisation.", "abi": f"{_ABI_HELP} (default: build for this machine)."}
)
def build(c: Context, debug: bool = False, abi: str = "") -> None:
    """Build the delegate and the accelerator for LiteRT's CompiledModel, for this machine or for Android; print their paths.

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
        "peers": "Include TFLite's stock GPU delegate, to measure beside ours.",
    }
)
def apk(
    c: Context, abi: str = "", libraries: str = "", out: str = "", release: bool = False, peers: bool = False
) -> None:
    """Make the test app's APK, without Gradle or an SDK; inspect it and show the findings."""
    from host_tools.base import terminal
    from host_tools.build import apk

    apk.show(apk.from_arguments(abi, libraries, out, release=release, peers=peers), terminal.console())


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

    aar.show(aar.from_arguments(abi, out, release), terminal.console())


@task(help={"out": "The folder for the wheel (default: .cache/wheel)."})
def wheel(c: Context, out: str = "") -> None:
    """Make the Python wheel of the delegate, for this machine; print where it is and what it needs.

    `pip install` it, then `quadra.load_delegate()`. See docs/use_in_an_app.md.
    """
    from host_tools.base import terminal
    from host_tools.build import wheel

    wheel.show(wheel.from_arguments(out), terminal.console())


@task(help={"out": "The folder for them (default: .cache/release)."})
def release(c: Context, out: str = "") -> None:
    """Make what is published: two wheels, the Maven repository of the AAR, a bill of materials and checksums.

    Without an NDK (ANDROID_NDK_HOME) what is for Android comes from the stand-in, for tests, and no repository is made.
    """
    from host_tools.base import terminal
    from host_tools.dev import release

    release.show(release.from_arguments(out), terminal.console())


@task(help={"out": "A folder for the site (default: .cache/docs/site).", "open": "Show it in the browser."})
def docs(c: Context, out: str = "", open: bool = False) -> None:
    """Build README.md and docs/ as a site that needs no network; print its first page. Checks every link.

    Exit status 1: a link leads nowhere, or a page is in no menu (mkdocs.yml).
    """
    from host_tools.dev import site

    print(site.from_arguments(out, open))


@task(
    help={
        "library": "A shared library to measure (default: the delegate, built for this machine).",
        "abi": f"{_ABI_HELP}: build and check it (default: only measure this machine's library).",
        "json": "Print one JSON document instead of the table: docs/run_folder.md.",
    }
)
def size(c: Context, library: str = "", abi: str = "", json: bool = False) -> None:
    """Show the delegate's size: bytes by part, exports, needed libraries, compiler.

    With --abi also the accelerator for LiteRT and the native runner, checked against Android's requirements and the budgets.
    Exit status 1: one is missed.
    """
    from host_tools.base import json_text
    from host_tools.build import android_check, bazel, ndk, size

    if not abi:
        measured = size.measure(Path(library) if library else bazel.library())
        print(json_text.text(measured)) if json else size.show(measured)
        return
    abis = ndk.abis(abi)
    checked = [android_check.check(one) for one in bazel.android(abis).values()]
    checked += [android_check.check_accelerator(one, path) for one, path in bazel.accelerators(abis).items()]
    checked += [android_check.check_runner(one, path) for one, path in bazel.runners(abis).items()]
    if json:
        print(json_text.text(checked))
    else:
        for one in checked:
            android_check.show(one)
    android_check.fail_if_wrong(checked)


@task(
    help={
        "only": "Run the Python tests whose names match this (pytest -k), and no native tests (default: all tests).",
        "slow": "Also run the slow tests.",
        "turn": "Which of the tests with siblings, of whose kind a run of all has a part: a commit or any other word; all: every"
        " one (default: those that the commit chooses).",
        "args": "Files, folders and options for pytest: --args='-x tests/host_tools/judge'. With a file or folder no native"
        " tests are run, but those that it names: --args tests/native/json_test.cc (default: none).",
        "sanitize": "Build the delegate with sanitizers, address,undefined or thread, and run the tests that load it:"
        " vectors, random graphs, real models, bad input, lifetimes; with thread those of lifetimes (default: none).",
        "drivers": "Instead, run vectors, random graphs, dead lanes, lifetimes and real models on these rows of the table of"
        " drivers, separated by commas; alone: on all. What is kept of an earlier start is not run again. --only and --args"
        " choose tests, with pytest's own output (default: none).",
        "fresh": "With --drivers: run everything again.",
        "results": "With --drivers: run nothing, show the results that are kept.",
        "json": "With --drivers: print one JSON document instead of the matrix.",
    },
    optional=["drivers"],
)
def test(
    c: Context, only: str = "", slow: bool = False, turn: str = "", args: str = "", sanitize: str = "", drivers: str = "",
    fresh: bool = False, results: bool = False, json: bool = False,
) -> None:  # fmt: skip
    """Build everything and run the tests: native ones with Bazel, then pytest.

    One file: --args tests/test_cache.py, or --args tests/native/json_test.cc.

    With --sanitize, a sanitizer's report is printed, and the test that caused it fails. With --drivers, the tests run on other
    drivers, and what they found is printed as a matrix: docs/testing.md.
    """
    from host_tools.base import terminal
    from host_tools.dev import driver_matrix, repository

    if drivers or fresh or results or json:
        asked = driver_matrix.Asked(drivers, slow, only, args, sanitize, fresh, results, json)
        driver_matrix.do(asked, terminal.console())
        return
    repository.run_tests(only=only, slow=slow, args=args, sanitizers=sanitize, turn=turn)


@task(
    help={
        "fix": "Let the tools fix what they can.",
        "only": "Checks, separated by commas (default: all).",
    }
)
def lint(c: Context, fix: bool = False, only: str = "") -> None:
    """Check the sources with ruff, mypy, clang-format, clang-tidy and google-java-format.

    Exit status 1: one of them found something. Settings: pyproject.toml, .clang-format, .clang-tidy.
    """
    from host_tools.base import terminal
    from host_tools.dev import lint

    outcomes = lint.run(only, fix)
    lint.show(outcomes, terminal.console())
    lint.fail_if_wrong(outcomes)


@task(
    help={
        "what": "What to mutate: models, options, folders, cache or reader. Or the folder of a finding, to run it again.",
        "seconds": "How long.",
        "seed": "Seed of the cases: the same seed gives the same cases.",
        "library": "An existing libquadra.so (default: build it); sanitizers in it are detected.",
        "sanitize": "Build it with these: address,undefined finds more, but is several times slower (default: none).",
    }
)
def fuzz(c: Context, what: str, seconds: float = 60.0, seed: int = 1, library: str = "", sanitize: str = "") -> None:
    """Look for crashes and hangs: mutated models, delegate options, run folders or cache files.

    models: with the delegate, on null, OpenCL and OpenGL ES, the interpreter survives what it survives alone, with the
    same numbers. options: options, environment and target files; the library works or reports an error. folders:
    readers of damaged run folders end in an error message. cache: damaged files of the cache of compiled models are
    refused with a reason, and the numbers stay the same. reader: libFuzzer inside the native reader of such files, which
    needs libclang-rt-22-dev; it ends with its first finding. Findings are minimised and kept among the run folders.
    Exit status 1: there is one.
    """
    from host_tools.base import terminal
    from host_tools.base.progress import progress
    from host_tools.dev.fuzz import fuzz as fuzzing

    with progress(f"fuzz {what}") as show:
        result = fuzzing.run(what, seconds, seed, _file(library), sanitize, show)
    fuzzing.show(result, terminal.console())
    fuzzing.fail_if_wrong(result)


@task(help={"all": "Also the Python environment; the next start makes a new one."})
def clean(c: Context, all: bool = False) -> None:
    """Remove what was built. Run folders and fetched models stay."""
    from host_tools.dev import repository

    repository.clean(everything=all)


@task
def lock(c: Context) -> None:
    """Regenerate requirements.lock from pyproject.toml (needs the network)."""
    from host_tools.dev import repository

    repository.lock()


_ON_HELP = DEVICES[0].upper() + DEVICES[1:]
_LITERT_HELP = "Not the app: put Quadra beside the programs that LiteRT's CLI pushed, as their GPU accelerator."
_FOLDER_HELP = "With --litert: the folder of LiteRT's programs there (default: LITERT_CLI_ANDROID_ROOT, or /data/local/tmp/litert-cli)."
_PLANNED_HELP = {
    "target": "The device to plan for: a JSON file, or a name from host_tools/request/targets (default: generic).",
    "backend": "The GPU API to plan for (default: the target's).",
}


@task_of_a_run(
    run_options.ALL,
    help={
        "json": "Print one JSON document instead of the tables, also when the run fails: docs/run_folder.md.",
        "max_ms": "Fail (status 1) if an inference takes longer, in ms: the headline's median, and what every one waits besides"
        " (default: no limit).",
        "max_cpu_nodes": "Fail (status 1) if more nodes stay on the CPU (default: no limit).",
        "junit": "Also write the results into this file, as JUnit XML (default: none).",
    },
)
def run(
    c: Context, options: RunOptions, json: bool = False, max_ms: float = 0.0, max_cpu_nodes: int = -1, junit: str = ""
) -> None:
    """Run a model with the delegate in the stock runtime, and judge it against the CPU.

    Prints where each node ran, the error of each output and times beside XNNPACK's, and writes a run folder with
    a report. Exit status 1: an output is wrong, or with --same not the same every time, or a limit is exceeded.
    """
    from host_tools.base import terminal
    from host_tools.judge.limits import Limits
    from host_tools.run import model_runs, requested
    from host_tools.tasks import run as run_task

    def asked() -> model_runs.Requests:
        return requested.specs(options), requested.places(options)

    limits = Limits(max_ms or None, max_cpu_nodes if max_cpu_nodes >= 0 else None)
    wanted = model_runs.Wanted(limits, Path(junit).expanduser() if junit else None)
    if json:
        raise Exit(code=run_task.run_as_json(asked, wanted))
    run_task.run(asked, terminal.console(), wanted)


@task_of_a_run(
    ("model", "backend", "target", "precision", "driver", "library", "on", "via"),
    help={
        **_PLANNED_HELP,
        "on": "Ask this device for its GPU, and plan for it: a serial or name of `inv device list`, any, or virtual; host: none"
        " is asked.",
        "driver": "Plan for the device of this driver: a name from `inv drivers` (default: none).",
        "max_cpu_nodes": "Fail (status 1) if more nodes would stay on the CPU (default: no limit).",
        "json": "Print JSON instead of a table.",
    },
    defaults={"backend": ""},
)
def support(c: Context, options: RunOptions, json: bool = False, max_cpu_nodes: int = -1) -> None:
    """Show which nodes of a model would run on the GPU, and why the others would not. Nothing is run.

    Exit status 1: more stay on the CPU than --max-cpu-nodes allows.
    """
    from json import dumps

    from host_tools.base import terminal
    from host_tools.run import node_support
    from host_tools.tasks import support as support_task

    spec, report, found = node_support.of_options(options)
    if json:
        print(dumps(support_task.to_json(spec, report, found), indent=1))
    else:
        support_task.show(spec, found, terminal.console())
    node_support.check(spec, report, max_cpu_nodes if max_cpu_nodes >= 0 else None)


@task_of_a_run(
    (
        "model", "backend", "precision", "float32_nodes", "options", "target", "threads", "cache", "timeout", "library", "api",
        "driver",
    ),
    help={
        "model": "A decoder with signatures prefill_N and decode: a name from `inv models`, or a path.",
        "steps": "How many tokens to generate.",
        "prompt": "Token ids, as 1,2,3; or one number: so many random ones (default: the longest prefill that fits, and one).",
        "seed": "Seed of a random prompt.",
        "free": "Quadra takes its own tokens, too (default: the CPU's, so that each step is compared).",
        "against": "What to compare with: builtin, the interpreter's plain kernels, xnnpack, or none.",
        "cache": "A folder for compiled models, read and written (default: none).",
        "timeout": "Deadline of one process, in seconds.",
        "in_place": "With --api compiled: caches are inputs and outputs in one buffer each.",
        "json": "Print one JSON document instead of the table, also when it fails: docs/run_folder.md.",
    },
    defaults={"timeout": 600},
)  # fmt: skip
def generate(
    c: Context, options: RunOptions, steps: int = 32, prompt: str = "", seed: int = 1, free: bool = False,
    against: str = "builtin", in_place: bool = False, json: bool = False,
) -> None:  # fmt: skip
    """Generate tokens with a decoder, beside the CPU's kernels: tokens per second, memory, and whether logits and tokens agree.

    Runs prefill and decode of a language model that litert-torch exported, on this machine: docs/generate.md. Exit status 1: a
    token or the logits are not the CPU's.
    """
    from host_tools.base import terminal
    from host_tools.run.token_generation import Asked
    from host_tools.tasks import generate as generate_task

    asked = Asked(steps, prompt, seed, free, against, in_place)
    if json:
        raise Exit(code=generate_task.run_as_json(options, asked))
    generate_task.run(options, asked, terminal.console())


@task_of_a_run(
    ("model", "backend", "target", "image", "range", "seed", "inputs", "library"),
    help={**_PLANNED_HELP, "json": "Print JSON instead of tables."},
    defaults={"backend": ""},
)
def advise(c: Context, options: RunOptions, json: bool = False) -> None:
    """Say what in a model costs time or accuracy on a GPU, node by node, and how to write it instead.

    Splits between GPU and CPU with the bytes that cross, kernels that only move numbers, channel counts that waste
    lanes, ops with a cheaper equivalent, values out of float16's range. Each of several signatures is run once, on the CPU;
    nothing on a GPU.
    """
    from json import dumps

    from host_tools.base import terminal
    from host_tools.debug import model_advice
    from host_tools.tasks import advise as advise_task

    specs = model_advice.specs_of(options)
    found, note = model_advice.find(specs, _library(options.library))
    if json:
        print(dumps(advise_task.to_json(specs[0], found, note), indent=1))
    else:
        advise_task.show(specs[0], found, note, terminal.console())


_ONE_RUN = {"run": "`latest` (default), the id of a run or a prefix of it, a model (its newest run), or a path."}


@task(
    help={
        **_ONE_RUN,
        "tolerance": HELP["tolerance"].replace("the usual tolerance", "those of the run"),
        "metric": HELP["metric"],
        "json": "Print one JSON document instead of the table: docs/run_folder.md.",
    },
    iterable=["tolerance", "metric"],
)
def compare(
    c: Context,
    run: str = "latest",
    tolerance: list[str] | None = None,
    metric: list[str] | None = None,
    json: bool = False,
) -> None:
    """Judge a run's outputs against the CPU's again: largest error and where, NaN, infinity. Status 1: wrong."""
    from host_tools.base import json_text, terminal
    from host_tools.judge import rejudge
    from host_tools.show import over_inputs_table

    found = rejudge.again(_find_run(run), tolerance or [], metric or [])
    if json:
        print(json_text.text(rejudge.to_json(found)))
    else:
        over_inputs_table.show_judged(found, terminal.console())
    found.check()


@task(
    iterable=["runs"],
    help={
        "runs": "Two runs of one model: each as `latest`, an id or a prefix of it, a model (its newest run), or a path.",
        "plans": "Also show what differs in the plans: kernels, dispatches, tensors.",
        "top": "How many rows of each table to show (0: all).",
        "json": "Print one JSON document instead of tables: docs/run_folder.md.",
    },
)
def diff(c: Context, runs: list[str], plans: bool = False, top: int = 20, json: bool = False) -> None:
    """Compare two runs: verdicts that changed, outputs, times with effect size and confidence, memory, plans.

    Exit status 1: a verdict, a plan or an output differs. Times do not count: `inv regress` judges these.
    """
    from host_tools.base import terminal
    from host_tools.tasks import run_diffs

    if run_diffs.show(runs, top, plans, json, terminal.console(), _find_run):
        raise Exit(code=1)


@task(
    help={
        **_ONE_RUN,
        "top": "How many dispatches to show.",
        "json": "Print one JSON document instead of the tables, with all dispatches: docs/run_folder.md.",
    }
)
def profile(c: Context, run: str = "latest", top: int = 20, json: bool = False) -> None:
    """Show where the time of a run went, per dispatch and kernel; writes a trace for ui.perfetto.dev.

    The run must have been made with --profile.
    """
    from rich.markup import escape

    from host_tools.base import json_text, terminal
    from host_tools.judge import judged
    from host_tools.record import profile
    from host_tools.show import perfetto_trace, run_pages

    folder = _find_run(run)
    found, console = profile.read(folder), terminal.console()
    if json:
        run_pages.write(judged.judge(folder))
        print(
            json_text.text(
                {"folder": folder.path, "trace": folder.path / perfetto_trace.FILE, **profile.to_json(found)}
            )
        )
        return
    console.print(f"[bold]{escape(folder.spec().label)}[/], run {escape(folder.path.name)}")
    profile.show(found, console, top)
    run_pages.write(judged.judge(folder))
    print(f"trace  {folder.path / perfetto_trace.FILE}  (open it in ui.perfetto.dev)")


@task(
    help={
        **_ONE_RUN,
        "model_explorer": "Instead, write overlays for Model Explorer into this folder: verdicts, and errors (after"
        " `inv bisect`) and times (with --profile) of each node (default: write the report).",
        "open": "With --model-explorer: start Model Explorer with the model and the overlays, until Ctrl-C.",
    }
)
def report(c: Context, run: str = "latest", model_explorer: str = "", open: bool = False) -> None:
    """Write a run's HTML report again and print its path; or overlays per node for Model Explorer."""
    from host_tools.base.errors import Misuse
    from host_tools.judge import judged
    from host_tools.show import model_explorer as overlays, run_pages
    from host_tools.tasks import open_page

    folder = _find_run(run)
    if open and not model_explorer:
        raise Misuse("open the report", "--open starts Model Explorer, and needs --model-explorer", "`./inv open`")
    if model_explorer:
        written = overlays.write(folder, Path(model_explorer).expanduser().resolve())
        print(*written, sep="\n", flush=True)
        if open and (status := open_page.in_model_explorer(folder, written)):
            raise Exit(code=status)
        return
    print(run_pages.write(judged.judge(folder)))


@task(
    iterable=["words"],
    help={
        "words": "NAME: a folder's name or a prefix of it, its model or suite, or bench, regress or parity.",
        "top": "How many to list, the newest (0: all).",
        "json": "Print one JSON document instead of the table: docs/run_folder.md.",
        "all": "Remove each that a name fits, as all runs of a model; otherwise a name has to fit one only.",
        "to": "Instead of names: remove the oldest until the others take no more than this: bytes, 300M, 2G (no default).",
    },
)
def runs(c: Context, words: list[str], top: int = 20, json: bool = False, all: bool = False, to: str = "") -> None:
    """List the runs, benches and regression runs that there are, with model, place, verdict, time and size; remove them.

    `inv open NAME` shows one. Tasks that take a run take the same names: of several runs of one model the newest.
    """
    from host_tools.base import terminal
    from host_tools.tasks import runs

    runs.do(words, runs.Options(top, json, all, to), terminal.console())


@task(
    name="open",
    help={
        "run": "A run, a bench or a regression run: its name or a prefix of it, its model or suite, or a path; `latest` is the"
        " newest run, bench the newest bench (default: whichever ended last).",
    },
)
def open_(c: Context, run: str = "") -> None:
    """Open the page of a run, a bench or a regression run in a browser; print its path."""
    from host_tools.tasks import open_page

    open_page.show(run)


@task_of_a_run(
    (
        "model", "backend", "precision", "target", "image", "range", "seed", "options", "inputs", "timeout", "library", "on", "apk",
        "signature", "size",
    ),
    help={
        "against": "What to compare with instead of the CPU: another backend, precision, target, on or library, e.g."
        " backend=gles,precision=f32.",
        "tolerance": "Tolerance of errors relative to a tensor's range (default: 1e-4 with float32, 1e-2 with float16).",
        "all": "Show every tensor, not only those around the first wrong one.",
        "timeout": "Deadline of one process, in seconds.",
        "json": "Print one JSON document instead of the tables, with every tensor: docs/run_folder.md.",
    },
)  # fmt: skip
def bisect(
    c: Context, options: RunOptions, against: str = "cpu", tolerance: float = 0.0, all: bool = False, json: bool = False
) -> None:
    """Find the first op that computes wrong results, and extract it as a model of its own.

    Runs the model once with every tensor kept that a kernel stores, and compares each with the CPU's. An op is blamed
    only if it is wrong on the GPU's own inputs; with float16, a run in float32 tells a wrong kernel from insufficient precision.
    Exit status 1: an op is wrong. See docs/find_the_fault.md.
    """
    from host_tools.base import terminal
    from host_tools.tasks import bisect as bisect_task

    bisect_task.run(options, against, tolerance, everything=all, json=json, console=terminal.console())


@task_of_a_run(
    (
        "model", "image", "range", "seed", "inputs", "backend", "target", "library", "precision", "signature", "size",
    ),
    help={
        "error": "Find the fewest nodes to leave in float32 for this error relative to an output's range, e.g. 0.01 (default: only show the values).",
        "precision": "Of the plan that says what the delegate keeps in float32 by itself, and of the runs of --error.",
        "size": HELP["size"],
        "top": "How many tensors to show (0: all).",
        "json": "Print JSON instead of a table.",
    },
    defaults={"precision": "f16"},
)  # fmt: skip
def overflow(c: Context, options: RunOptions, top: int = 12, json: bool = False, error: float = 0.0) -> None:
    """Show how large a model's values get, which of them overflow float16, and which ops that concerns.

    Runs the model once on the CPU, with floats, and asks the delegate what it keeps in float32 by itself; with --error
    also runs it on the GPU, some dozen times, to find the option float32_nodes. Give real inputs (--image, --inputs):
    random ones say little.
    """
    from json import dumps

    from host_tools.base import terminal
    from host_tools.debug import half_ranges
    from host_tools.tasks import overflow as overflow_task

    asked = half_ranges.find(options, error)
    if json:
        print(dumps(half_ranges.to_json(asked), indent=1))
        return
    for one in asked:
        overflow_task.show(one.spec, one.ranges, terminal.console(), top)
        if one.searched:
            overflow_task.show_search(one.spec, one.searched, error, terminal.console())


@task(
    iterable=["words"],
    help={
        "words": "A run is `latest` (which show takes by default), its id or a prefix of it, or a path.",
        "top": "How many rows of each table to show, 0: all (default: 40; of a diff 20).",
        "in_order": "Dispatches and tensors in the plan's order (default: the largest first).",
        "map": "Also write a picture of the memory over time here, as .html or .svg (default: none).",
        "texts": "Also the lines that differ in kernels' texts.",
        "target": "The device to plan for: a JSON file, or a name from host_tools/request/targets (default: generic).",
        "precision": HELP["precision"],
        "backend": "The GPU API to plan for (default: the target's).",
        "out": "The plan's file (default: MODEL-TARGET-PRECISION.quadra here); those of further partitions get a number. MODEL:SIGNATURE makes those of one signature.",
        "cache": "Write it into this cache folder (serialization_dir) instead: a start on the target then only compiles kernels (default: none).",
        "reader": "With --cache: the libquadra.so that will read it, e.g. the one for Android (default: this machine's).",
        "json": "Print one JSON document instead of the tables: docs/run_folder.md.",
        "library": HELP["library"],
    },
)
def plan(
    c: Context, words: list[str], top: int = -1, in_order: bool = False, map: str = "", texts: bool = False, target: str = "",
    precision: str = "f32", backend: str = "", out: str = "", cache: str = "", reader: str = "", library: str = "",
    json: bool = False,
) -> None:  # fmt: skip
    """Read, compare and make plans: `show` one, `diff` two, `make` one for another GPU.

    A plan is what a GPU is told to do for a part of a model: which kernels run in which order on which tensors, and where each
    tensor lies in memory, from when to when. It is made for one GPU, and every run folder has those of its run.

    `inv plan` shows the newest run's: dispatches with their arguments, buffers, tensors with their lifetimes; those that take
    most time (of a profiled run) or most bytes come first. `inv plan show --map memory.html` draws the memory.

    `inv plan diff RUN RUN` says what a change did to the kernels: exit status 1 if the plans differ. `inv plan diff latest
    MODEL-mali-g76-f32.quadra` takes files, too.

    `inv plan make MODEL --target mali-g76` makes one on this machine for a phone's GPU; nothing is run. `inv replay` runs a
    plan, dispatch by dispatch. See docs/replay.md.
    """
    from host_tools.base import terminal
    from host_tools.tasks import plans

    options = plans.Options(top, in_order, map, texts, target, precision, backend, out, cache, reader, json)
    status = plans.do(words, options, _file(library), terminal.console())
    if status:
        raise Exit(code=status)


@task(
    help={
        "what": "A model (a name from `inv models`, or a .tflite file; MODEL:SIGNATURE for one of several), a run, or a plan's file, as it is. With --peer: models, separated by commas.",
        "gpu": "Phones' GPUs, separated by commas (default: all whose compiler is there).",
        "precision": "Of a model's kernels; runs and plans have theirs.",
        "top": "How many kernels to show (0: all).",
        "json": "Also write all figures into this file (default: none).",
        "backend": "Of a model's kernels: gles or opencl; runs and plans have theirs (default: gles, with --peer the peer's, with --check both).",
        "peer": "Instead, TFLite's stock GPU delegate's kernels beside Quadra's, by the same compilers: shipped-gles, or shipped-opencl, which is what it takes on phones that have OpenCL; or ml-drift, LiteRT's own kernels, from the wheel ai-edge-litert (default: none).",
        "roofline": "Show the dispatches instead of the kernels: what bounds each on the phone, arithmetic, bytes or launches, by published numbers.",
        "check": "Instead, compare some models' convolutions with the committed table: exit status 1 if a figure is worse.",
        "keep": "With --check: regenerate that table.",
        "install": "Instead, fetch the compilers from Debian's packages into the cache; nothing is installed in the system. With --backend opencl those of OpenCL, with --peer ml-drift those of Vulkan.",
        "library": HELP["library"],
    },
)
def analyse(
    c: Context, what: str = "", gpu: str = "", precision: str = "f32", top: int = 20, json: str = "",
    peer: str = "", backend: str = "", roofline: bool = False, check: bool = False, keep: bool = False,
    install: bool = False, library: str = "",
) -> None:  # fmt: skip
    """Show what phones' GPU compilers make of a model's kernels: registers, spills, and the instructions executed.

    Mesa's compilers for Adreno and Mali, on this machine, without a phone: counts, never milliseconds. Nothing is run, but
    with --peer the peer, once. Run `inv analyse --install` once before. See docs/analyse.md.
    """
    from host_tools.base import terminal
    from host_tools.base.errors import Misuse
    from host_tools.tasks import analyse

    console = terminal.console()
    if install:
        analyse.install(gpu, console, backend, peer)
        return
    if check:
        analyse.check(gpu, _file(library), keep, console, backend)
        return
    if not what:
        raise Misuse("inv analyse", "no model, run or plan is given", "`./inv --help analyse`")
    if peer and roofline:
        raise Misuse("inv analyse --roofline", "a peer's bytes are not known by tensor", "omit --peer or --roofline")
    if peer:
        analyse.show_beside(analyse.ask_beside(what, peer, gpu, precision, _file(library), backend), console, json)
        return
    found = analyse.ask(what, gpu, precision, _file(library), backend or "gles")
    if json:
        analyse.write_json(found, Path(json).expanduser())
    analyse.show(found, console, top, roofline)


@task(
    help={
        "plan": "A run (`latest`, the default; a prefix of its id; a path), or a plan's file.",
        "against": "Compare every tensor: cpu, or a run whose tensors were kept (`inv bisect` makes one) (default: only the outputs).",
        "step": "Show each dispatch's tensors as numbers; on a terminal, wait for Enter after each.",
        "time": "Measure each dispatch.",
        "oclgrind": "On Oclgrind's simulator, which reports bad memory accesses and races, by dispatch.",
        "model": "The model of a plan's file: for its inputs, and for --against cpu (default: the run's).",
        **{key: HELP[key] for key in ("image", "range")},
        "inputs": "A folder with an array for each input: 000.npy, 001.npy, … (default: those of the run).",
        "seed": "Random inputs from this seed (default: the run's inputs; of a plan alone 1).",
        "runs": "How often to measure (default: 10).",
        "tolerance": "Tolerance of errors relative to a tensor's range (default: 1e-4 with float32, 1e-2 with float16).",
        "timeout": "Deadline, in seconds.",
        "top": "How many dispatches of --time to show (0: all).",
        "all": "With --against: show every tensor, not only those around the first that differs.",
        "json": "Print one JSON document instead of the tables, with every dispatch and tensor: docs/run_folder.md.",
    }
)
def replay(
    c: Context, plan: str = "latest", against: str = "", step: bool = False, time: bool = False, oclgrind: bool = False,
    model: str = "", inputs: str = "", seed: int = -1, image: str = "", range: str = "", runs: int = 0,
    tolerance: float = 0.0, timeout: int = 300, top: int = 20, all: bool = False, json: bool = False,
) -> None:  # fmt: skip
    """Run a plan on this machine, dispatch by dispatch, without TFLite and without the delegate.

    Also a plan that was made for a phone's GPU. The outputs are compared with the run's, with --against every tensor:
    the first dispatch that differs is named. Exit status 1: something differs. See docs/replay.md.
    """
    from contextlib import nullcontext

    from host_tools.base import json_text, terminal
    from host_tools.base.progress import progress
    from host_tools.places.place import quiet
    from host_tools.tasks import replays

    wanted = replays.asked(
        model=model, inputs=inputs, seed=seed, image=image, value_range=range, against=against, step=step, time=time,
        runs=runs, oclgrind=oclgrind, tolerance=tolerance, timeout=float(timeout),
    )  # fmt: skip
    with nullcontext(quiet) if step else progress(f"replay {plan}") as show:
        outcomes = replays.run(plan, wanted, show)
    if json:
        print(json_text.text(replays.to_json(outcomes)))
    else:
        replays.show(outcomes, wanted, terminal.console(), top, all)
    replays.fail_if_wrong(outcomes)


@task(
    iterable=["words"],
    help={
        "to": "Remove the least recently used files until the others take no more than this: bytes, 300M, 2G (no default: prune needs it).",
        "top": "How many rows of each table (default: all; of a diff 20).",
        "json": "Print one JSON document instead of the table: docs/run_folder.md.",
    },
)
def cache(c: Context, words: list[str], to: str = "", top: int = 0, json: bool = False) -> None:
    """Look at a cache of compiled models (the folder of `serialization_dir`): list, show, verify, diff, prune.

    Exit status 1: verify found a bad file, or the two of diff differ. `inv plan show`, `inv plan diff` and `inv replay` take
    such files, too. See docs/replay.md.
    """
    from host_tools.base import terminal
    from host_tools.tasks import caches

    status = caches.do(words, to, top, terminal.console(), json)
    if status:
        raise Exit(code=status)


@task(
    help={
        "loop": "Only the last part, the device workflow: APK, virtual device, install, push, run, pull, compare, report."
    }
)
def demo(c: Context, loop: bool = False) -> None:
    """Run a demonstration: a person's mask from a photograph, on this machine and on a virtual device.

    On OpenCL and OpenGL ES; every output is judged against the CPU.
    """
    from host_tools.tasks import demo

    demo.loop() if loop else demo.show()


@task(
    iterable=["models", "size"],
    help={
        "models": "Models to measure, by name or path: `inv bench A B` (default: those that `inv models --fetch` fetches and"
        " that are here, if they run wholly on the delegate).",
        "on": "host: beside XNNPACK at 1 and 2 threads. jvm, or a device (a serial or name, virtual, any): in Android's TFLite"
        " runtime, beside XNNPACK and TFLite's stock GPU delegate, at 1 thread (default: host).",
        "backend": "The GPU API (default: opencl; with --on jvm, a device or --lab those of the peers).",
        "runs": "Timed inferences of each runtime (default: 50; with --on jvm 10, on devices 20).",
        "limit": "Fail (status 1) if the geometric mean of the ratios to XNNPACK at one thread exceeds this (default: no limit)."
        " With both backends, OpenCL's counts. On a busy machine, too: the error says so.",
        "limit_shipped": "Fail (status 1) if the mean of the ratios to TFLite's stock GPU delegate exceeds this (default: no limit)."
        " With --on jvm, a device or --lab.",
        "json": "Print one JSON document instead of a table, also when the bench fails: docs/run_folder.md.",
        "library": HELP["library"],
        "api": "On the host: the interpreter, LiteRT's CompiledModel, or both side by side (default: interpreter).",
        "peer": "Only these, separated by commas: on the host xnnpack, litert-gpu (LiteRT's own GPU accelerator), with --on jvm, a device"
        " or --lab xnnpack and the shipped ones (TFLite's stock GPU delegate) (default: xnnpack; not on the host all).",
        "twins": "Make the float twin of each quantised model that has none here, and measure it, too: the same nodes, with the floats"
        " that its integers stand for.",
        "defaults": "Also measure each side in the precision that is its default: Quadra's is float32, that of TFLite's stock GPU"
        " delegate half. Other rows have both in float32.",
        "size": HELP["size"],
        "resume": "Continue the bench of this folder; its figures are not measured again (default: start a new one).",
        "lab": f"Measure each model on one of the {_LAB_HELP}",
    },
)
def bench(
    c: Context,
    models: list[str],
    on: str = "",
    backend: str = "",
    api: str = "",
    defaults: bool = False,
    twins: bool = False,
    runs: int = 0,
    limit: float = 0.0,
    limit_shipped: float = 0.0,
    json: bool = False,
    library: str = "",
    peer: str = "",
    size: list[str] | None = None,
    resume: str = "",
    lab: str = "",
) -> None:
    """Measure models beside XNNPACK and TFLite's stock GPU delegate: speed, memory, start-up; as table, JSON and page.

    Every model runs in its own processes; on the CPU, the GPU driver gets as many threads as XNNPACK.
    Status 1: an output is wrong, a model failed, or a limit was exceeded. Not on the host, another runtime's failure is a finding.
    """
    from host_tools.base import terminal
    from host_tools.measure import bench_request
    from host_tools.tasks import bench as bench_task

    words = bench_request.Words(
        tuple(models),
        on,
        backend,
        peer,
        api,
        twins,
        runs,
        resume,
        limit,
        limit_shipped,
        lab,
        tuple(size or ()),
        defaults,
    )
    if json:
        raise Exit(code=bench_task.run_as_json(words, _file(library)))
    bench_task.run(words, _file(library), terminal.console())


@task(
    help={
        "suite": "A suite file (TOML), or a name: nightly, quick.",
        "on": "Where: host, jvm, or devices, separated by commas (default: the suite's). Devices: " + DEVICES,
        "baseline": "Compare with the result saved under this name (default: with none).",
        "save": "Save the result under this name, if it is complete and right (default: not saved).",
        "library": HELP["library"],
        "lab": f"Run each cell on one of the {_LAB_HELP}",
        "resume": "Continue the session of this folder; its finished launches are not run again (default: start a new one).",
        "json": "Print one JSON document instead of the tables, as regress.json has it: docs/regress.md.",
    }
)
def regress(
    c: Context,
    suite: str,
    on: str = "",
    baseline: str = "",
    save: str = "",
    library: str = "",
    lab: str = "",
    resume: str = "",
    json: bool = False,
) -> None:
    """Run a suite of models, launch after launch, and report regressions from a baseline, with effect size and confidence.

    Writes a page, JUnit XML, JSON and a trace of each run. Exit status 1: something is worse or wrong; 70 and up:
    something could not run.
    """
    from host_tools.base import json_text, terminal
    from host_tools.measure import regress_suite as regression
    from host_tools.show.regression import exports, page, table

    found = regression.run(suite, on, baseline, save, _file(library), lab, resume)
    if json:
        print(json_text.text({"folder": found.folder, **exports.whole(found)}))
    else:
        table.show(found, terminal.console())
        print(f"report      {found.folder / page.FILE}")
    if found.state != "complete":
        raise Exit(code=130)
    regression.fail_if_wrong(found)


@task(
    iterable=["op"],
    help={
        "op": "Only these ops, by their TFLite names, e.g. CONV_2D.",
        "quick": "A few vectors of each op instead of all.",
        "driver": "On this driver instead of the usual two: a name from `inv drivers` (default: none).",
        "json": "Print JSON instead of a table.",
        "library": HELP["library"],
        "on": "Run vectors, random graphs, dead lanes and models on a device: a serial, any or virtual; host: vectors here.",
        "fresh": "With --on: start anew where an earlier run was interrupted.",
    },
)
def parity(
    c: Context,
    op: list[str],
    quick: bool = False,
    driver: str = "",
    json: bool = False,
    library: str = "",
    on: str = "host",
    fresh: bool = False,
) -> None:
    """Run every op's test vectors on both backends, in every precision and storage; show which are right.

    Status 1: a vector is wrong, or an op is missing somewhere. With --on a page and JSON that can be sent on: they name no
    device, computer or user.
    """
    from json import dumps

    from host_tools.base import terminal
    from host_tools.base.progress import progress
    from host_tools.parity import vector_parity
    from host_tools.run import chosen_driver
    from host_tools.tasks import parity as parity_task

    row = chosen_driver.find(driver, on=on)
    if on != "host":
        parity_task.on_device(on, _file(library), op, quick, fresh, json)
        return
    with progress("parity") as show:
        if row:
            row.check()
        found = vector_parity.measure(_library(library, driver), op, quick, show, driver)
    if json:
        print(dumps(parity_task.to_json(found), indent=1))
    else:
        parity_task.show(found, terminal.console())
    vector_parity.fail_if_wrong(found)


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
    from host_tools.tasks import push

    push.push(models, on, clean)


@task(
    help={
        "on": _ON_HELP,
        "apk": "This APK (default: one made for the device).",
        "peers": "An APK that includes TFLite's stock GPU delegate.",
        "fresh": "First uninstall the app, with its files.",
        "litert": _LITERT_HELP,
        "folder": _FOLDER_HELP,
    }
)
def install(
    c: Context,
    on: str = "any",
    apk: str = "",
    peers: bool = False,
    fresh: bool = False,
    litert: bool = False,
    folder: str = "",
) -> None:
    """Install the test app on devices, unless that very APK is there; `inv run` does it by itself. Or put Quadra beside LiteRT.

    With --litert: `litert run MODEL --android --gpu` runs on Quadra from then on. No file of LiteRT's is touched.
    """
    from host_tools.base import terminal
    from host_tools.base.errors import Misuse
    from host_tools.tasks import install

    if folder and not litert:
        raise Misuse("install with --folder", "it is the folder of LiteRT's programs", "add --litert")
    if litert and (apk or peers or fresh):
        raise Misuse("install with --litert", "--apk, --peers and --fresh are of the test app", "omit them")
    if litert:
        install.install_beside_litert(on, folder, terminal.console())
        return
    install.install(on, _file(apk), terminal.console(), fresh=fresh, shipped=peers)


@task(
    help={
        "on": _ON_HELP,
        "litert": "Quadra that `inv install --litert` put there, not the app.",
        "folder": _FOLDER_HELP,
    }
)
def uninstall(c: Context, on: str = "any", litert: bool = False, folder: str = "") -> None:
    """Uninstall the test app from devices, with its files; or take Quadra away from beside LiteRT."""
    from host_tools.base import terminal
    from host_tools.base.errors import Misuse
    from host_tools.tasks import install

    if folder and not litert:
        raise Misuse("uninstall with --folder", "it is the folder of LiteRT's programs", "add --litert")
    if litert:
        install.uninstall_beside_litert(on, folder, terminal.console())
        return
    install.uninstall(on, terminal.console())


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
    iterable=["words", "fault"],
    help={
        "name": "Which virtual device; stop also takes `all`.",
        "fault": "Inject this fault; may be repeated.",
        "json": "Print JSON instead of a table.",
    },
)
def device(
    c: Context, words: list[str], name: str = "virtual", fault: list[str] | None = None, json: bool = False
) -> None:
    """List devices; start and stop virtual ones, which need no hardware, and inject faults into them.

    list: phones, emulators and virtual devices, their states, and who is using them. start, stop: a virtual device. fault: injects
    faults, STEP:KIND[=VALUE][@N][xTIMES], or `none` to clear all; alone it shows those injected. faults: which there are.
    `inv device start`, then `inv run MODEL --on virtual`. See docs/devices.md and docs/virtual_device.md.
    """
    from host_tools.base import terminal
    from host_tools.tasks import devices

    devices.do(words, devices.Options(name, tuple(fault or ()), json), terminal.console())


@task(
    iterable=["words"],
    help={
        "words": "scheduler: one for the lab. worker: on each host, offers its devices to the scheduler at HOST:PORT (default: localhost). Both serve until Ctrl-C.",
        "host": "The name of this host (default: the machine's).",
        "listen": "The address of this machine to listen on; others cannot reach localhost.",
        "port": "The port to listen on.",
    },
)
def lab(c: Context, words: list[str], host: str = "", listen: str = "localhost", port: int = 8786) -> None:
    """Serve a lab, devices on several hosts, for `inv regress --lab` and `inv bench --lab`: scheduler, worker.

    Only on a network you trust: who reaches the scheduler can run code on every host. See docs/lab.md.
    """
    from host_tools.tasks import lab_servers

    lab_servers.lab(words, host, listen, port)


def _library(given: str, driver: str = "") -> Path:
    from host_tools.run import chosen_driver

    return chosen_driver.library(_file(given), driver)


def _file(given: str) -> Path | None:
    from host_tools.request import from_arguments

    return from_arguments.file(given)


def _find_run(name: str) -> "RunFolder":
    from host_tools.base import settings
    from host_tools.record import run_folder

    return run_folder.find(name, settings.read().runs_dir)
