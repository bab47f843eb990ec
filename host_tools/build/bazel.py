"""Builds and tests the native code with Bazel, and says where the results are."""

import json
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from host_tools.base import child_process, cpu_drivers, settings
from host_tools.base.errors import BuildFailed, JudgementFailed, ToolMissing
from host_tools.base.progress import progress
from host_tools.build import ndk

LIBRARY = "//delegate_native:libquadra.so"
ANDROID = "//delegate_native:{abi}"
RUNNER = "//delegate_native/runner:{abi}"
ACCELERATOR = "//delegate_native/accelerator:libLiteRtGpuAccelerator.so"
BESIDE = "//delegate_native/accelerator:libquadra.so"
ANDROID_ACCELERATOR = "//delegate_native:accelerator-{abi}"
EVERYTHING = "//..."

_DEADLINE_S = 3600.0
_PROGRESS = re.compile(
    r"^\[[\d,]+ / [\d,]+\] |^(Loading|Analyzing):|^INFO:|^FAILED: Build did NOT|^Starting local Bazel|^\s*$"
)
# "[21 / 172] Compiling x.cc; 0s processwrapper-sandbox ... (2 actions running)": what it does, without how.
_STEP = re.compile(r"(\[[\d,]+ / [\d,]+\] .+?)(?:; \d+s .*| \.\.\. .*)?$")
_BUSY = re.compile(r"^Another command ")  # "(pid=17) is running. Waiting for it to complete on the server …"
# Exit statuses of `bazel`; any other means that Bazel itself could not work.
_BUILD_FAILED, _TESTS_FAILED, _NO_TESTS = 1, 3, 4


@dataclass(frozen=True)
class AndroidLibrary:
    """What a build for one ABI left: the library, the same with its symbols, and the objects that it was linked from."""

    abi: str
    path: Path
    unstripped: Path
    objects: list[Path]


def library(debug: bool = False, sanitizers: Sequence[str] = ()) -> Path:
    """Builds the delegate for this machine; returns libquadra.so."""
    return build([LIBRARY], debug, sanitizers)[LIBRARY][0]


def phone_library() -> Path:
    """Builds the delegate for this machine as phones get it, without the kernels for CPUs; returns libquadra.so."""
    done, events = _bazel("build", [LIBRARY], ["--config=phone", "--platform_suffix=-phone"])
    if done.returncode != 0:
        raise _build_failed([LIBRARY], done)
    return _outputs(events)[LIBRARY][0]


def accelerator() -> Path:
    """Builds the accelerator for LiteRT's CompiledModel for this machine, in a folder with the delegate; returns
    libLiteRtGpuAccelerator.so."""
    return build([ACCELERATOR, BESIDE])[ACCELERATOR][0]


def build(targets: Sequence[str], debug: bool = False, sanitizers: Sequence[str] = ()) -> dict[str, list[Path]]:
    """Builds targets; returns the files of each, by label."""
    done, events = _bazel("build", targets, _flags(debug, sanitizers))
    if done.returncode != 0:
        raise _build_failed(targets, done)
    return _outputs(events)


def android(abis: Sequence[str], debug: bool = False) -> dict[str, AndroidLibrary]:
    """Builds the delegate for Android ABIs, with the NDK or what stands in for it; by ABI. debug: it is not stripped. Beside
    it, unless debug, lies the accelerator."""
    targets = {abi: ANDROID.format(abi=abi) for abi in abis}
    beside = [] if debug else [ANDROID_ACCELERATOR.format(abi=abi) for abi in abis]
    events = _for_android([*targets.values(), *beside], debug)
    made = {group: _outputs(events, group) for group in ("default", "unstripped", "objects")}
    library = made["unstripped" if debug else "default"]
    return {
        abi: AndroidLibrary(abi, library[label][0], made["unstripped"][label][0], made["objects"][label])
        for abi, label in targets.items()
    }


def runners(abis: Sequence[str]) -> dict[str, Path]:
    """Builds the program that runs a model from a device's shell; by ABI."""
    targets = {abi: RUNNER.format(abi=abi) for abi in abis}
    made = _outputs(_for_android(list(targets.values())))
    return {abi: made[label][0] for abi, label in targets.items()}


def accelerators(abis: Sequence[str]) -> dict[str, Path]:
    """Builds the accelerator for LiteRT's CompiledModel for Android; by ABI."""
    targets = {abi: ANDROID_ACCELERATOR.format(abi=abi) for abi in abis}
    made = _outputs(_for_android(list(targets.values())))
    return {abi: made[label][0] for abi, label in targets.items()}


def prepare_android(abis: Sequence[str], runner_abis: Sequence[str]) -> None:
    """Builds what android() and runners() build, in one go: they then only look."""
    libraries = [label.format(abi=abi) for label in (ANDROID, ANDROID_ACCELERATOR) for abi in abis]
    _for_android(libraries + [RUNNER.format(abi=abi) for abi in runner_abis])


def test(targets: Sequence[str] = (EVERYTHING,)) -> list[str]:
    """Builds targets and runs those of them that are tests; returns the labels that passed."""
    told = [f"--test_env={name}={value}" for name, value in cpu_drivers.only_pocl().items()]
    done, events = _bazel("test", targets, [*_flags(), *told])
    if done.returncode == _TESTS_FAILED:
        raise JudgementFailed(f"native tests {' '.join(targets)}", _report(done), "the logs above name the cases")
    if done.returncode not in (0, _NO_TESTS):
        raise _build_failed(targets, done)
    summaries = [e for e in events if "testSummary" in e]
    return sorted(e["id"]["testSummary"]["label"] for e in summaries)


def compile_commands(targets: str) -> list[list[str]]:
    """The command lines that compile the C++ sources of `targets` for this machine, as Bazel runs them."""
    query = f'mnemonic("CppCompile", {targets})'
    answer = json.loads(_ask("aquery", *_flags(), "--output=jsonproto", query))
    return [action["arguments"] for action in answer.get("actions", [])]


def places() -> dict[str, Path]:
    """Where command lines run (`execution_root`), and where the sources of others are (`output_base`/external)."""
    lines = _ask("info", *_flags(), "execution_root", "output_base").splitlines()
    return {name: Path(path) for name, path in (line.split(": ", 1) for line in lines)}


def clean() -> None:
    """Removes what Bazel built."""
    child_process.run([*_start(), "clean"], cwd=settings.ROOT, timeout_s=120)


def shutdown() -> None:
    """Ends Bazel's server of this output base."""
    child_process.run([*_start(), "shutdown"], cwd=settings.ROOT, timeout_s=120)


def _flags(debug: bool = False, sanitizers: Sequence[str] = ()) -> list[str]:
    """Sanitized builds have output folders of their own, so that they and others do not undo each other."""
    if sanitizers:
        return [*(f"--config={name}" for name in sanitizers), f"--platform_suffix=-{'-'.join(sanitizers)}"]
    return ["--config=debug" if debug else "--config=release"]


def _for_android(targets: Sequence[str], debug: bool = False) -> list[dict[str, Any]]:
    """Builds targets for Android; returns Bazel's events."""
    flags = ["--config=debug" if debug else "--config=android", "--output_groups=default,unstripped,objects"]
    done, events = _bazel("build", targets, flags, ndk.find().environment)
    if done.returncode != 0:
        raise _build_failed(targets, done)
    return events


def _bazel(
    verb: str, targets: Sequence[str], flags: Sequence[str], env: Mapping[str, str] | None = None
) -> tuple[child_process.Completed, list[dict[str, Any]]]:
    with tempfile.TemporaryDirectory(prefix="quadra-bazel-") as folder:
        events_file = Path(folder) / "events.json"
        argv = [*_start(), verb, *flags]
        argv += [f"--build_event_json_file={events_file}", "--color=no", "--curses=no", "--show_progress_rate_limit=1"]
        if _is_debian():
            argv.append("--config=debian")
        title = f"{verb} {' '.join(targets)}"
        with progress(title) as show:
            words = [*argv, "--", *targets]
            done = child_process.run(
                words, cwd=settings.ROOT, env=env, timeout_s=_DEADLINE_S, check=False, on_line=_steps(show)
            )
        lines = events_file.read_text().splitlines() if events_file.exists() else []
    return done, [json.loads(line) for line in lines]


def _steps(show: Callable[[str], None]) -> Callable[[str], None]:
    """Tells `show` of the steps among Bazel's lines."""

    def on_line(line: str) -> None:
        if _BUSY.match(line):
            show("waits for another build of this clone to end")
        elif step := _STEP.match(line):
            show(step[1])

    return on_line


def _ask(verb: str, *words: str) -> str:
    argv = [*_start(), verb, *(["--config=debian"] if _is_debian() else []), *words]
    return child_process.run(
        argv, cwd=settings.ROOT, timeout_s=_DEADLINE_S, hint="check that `./inv build` works"
    ).stdout


def _start() -> list[str]:
    config = settings.read()
    if not shutil.which(config.bazel):
        raise ToolMissing(
            "build the native code", f"`{config.bazel}` was not found", "`./inv doctor` says what to install"
        )
    base = config.bazel_output_base
    return [config.bazel, f"--output_base={base}"] if base else [config.bazel]


def _is_debian() -> bool:
    """Debian's Bazel 4.2.3 needs flags of its own, and does not tell its version."""
    found = shutil.which(settings.read().bazel)
    return found in ("/usr/bin/bazel", "/bin/bazel") and Path("/usr/share/bazel/A-server.jar").exists()


def _outputs(events: list[dict[str, Any]], output_group: str = "default") -> dict[str, list[Path]]:
    sets = {e["id"]["namedSet"]["id"]: e["namedSetOfFiles"] for e in events if "namedSetOfFiles" in e}

    def files(set_id: str) -> list[Path]:
        one = sets[set_id]
        found = [Path(unquote(urlparse(f["uri"]).path)) for f in one.get("files", [])]
        return found + [path for inner in one.get("fileSets", []) for path in files(inner["id"])]

    result: dict[str, list[Path]] = {}
    for event in events:
        if event.get("completed", {}).get("success"):
            groups = event["completed"].get("outputGroup", [])
            ids = [s["id"] for g in groups if g["name"] == output_group for s in g.get("fileSets", [])]
            result[event["id"]["targetCompleted"]["label"]] = [path for i in ids for path in files(i)]
    return result


def _build_failed(targets: Sequence[str], done: child_process.Completed) -> BuildFailed:
    do_next = "fix the errors above, then build again"
    if done.returncode != _BUILD_FAILED:
        do_next = "check that Bazel works: `./inv doctor`; HOME and QUADRA_BAZEL_OUTPUT_BASE say where it writes"
    return BuildFailed(f"build {' '.join(targets)}", _report(done), do_next)


def _report(done: child_process.Completed) -> str:
    lines = [line for line in (done.stderr + done.stdout).splitlines() if not _PROGRESS.match(line)]
    return f"bazel ended with {done.returncode}" + "".join(f"\n  | {line}" for line in lines[-60:])
