"""From the words of the command line to a finished run, and a short account of it for the terminal."""

import contextlib
import json
from pathlib import Path
from typing import Any, Callable, Dict, Optional

from rich.console import Console
from rich.markup import escape

from host_tools import compare, device_account, inputs, models, peers, place, report, settings, spec as specs, times, verdicts, views
from host_tools.errors import JudgementFailed, Misuse, QuadraError, ToolMissing
from host_tools.progress import progress
from host_tools.run_folder import RunFolder

TARGETS = settings.ROOT / "host_tools" / "targets"


def make_spec(
    model: str, *, image: str = "", value_range: str = "", seed: int = 1, target: str = "", **fields: Any
) -> specs.RunSpec:
    """A checked RunSpec. `fields` are those of RunSpec, with `backend` and `precision` beside them."""
    found = models.find(model)
    view = views.of_model(found.name)
    wanted = inputs.parse_range(value_range) if value_range else view.value_range
    if image:
        picture = Path(image).expanduser().resolve()
        inputs.open_picture(picture)
        source = specs.InputSpec("picture", seed, wanted, str(picture), specs.sha256_of(picture))
    else:
        source = specs.InputSpec("random", seed, wanted)
    options: Dict[str, str] = {"backend": fields.pop("backend", "auto"), "precision": fields.pop("precision", "f32")}
    if target:
        options["target"] = str(target_file(target))
    reference = specs.ModelRef(found.name, str(found.path), found.sha256)
    return specs.checked(specs.RunSpec(specs.new_run_id(found.name), reference, source, options, **fields))


def target_file(target: str) -> Path:
    """The file of a target: a path, or a name of host_tools/targets."""
    path = Path(target).expanduser()
    for candidate in (path, TARGETS / f"{target}.json"):
        if candidate.is_file():
            return _checked_target(candidate.resolve())
    names = ", ".join(sorted(p.stem for p in TARGETS.glob("*.json"))) or "none"
    raise Misuse(f"find the target {target!r}", "there is no such file", f"give a JSON file, or one of: {names}")


def _checked_target(path: Path) -> Path:
    """The delegate reads it; here only what would otherwise leave every node to the CPU."""
    try:
        if not isinstance(json.loads(path.read_text(encoding="utf-8")), dict):
            raise ValueError("not an object")
    except (OSError, ValueError) as error:
        do_next = "give a file as those in host_tools/targets are"
        raise Misuse(f"read the target {path}", f"it is not JSON: {error}", do_next) from error
    return path


def run_and_judge(spec: specs.RunSpec, library: Path, **where: Any) -> RunFolder:
    """Runs, compares where there is a reference, writes the report. Judging wrong outputs is up to the caller.

    where: what the place wants besides, a device and its APK.
    """
    with progress(f"run {spec.model.name} on {spec.options['backend']}") as show:
        return run_shown(spec, show, library, **where)


def run_shown(spec: specs.RunSpec, show: Callable[[str], None], library: Path, **where: Any) -> RunFolder:
    """The same, telling `show` what goes on."""
    try:
        folder = place.named(spec.place, spec.route).run(spec, library, show, **where)
    except QuadraError:
        _report_of_failed(spec)
        raise
    if folder.has("cpu_outputs"):
        show("compare")
        peers.judge(folder, compare.compare(folder))
    show("write the report")
    report.write(folder)
    return folder


def _report_of_failed(spec: specs.RunSpec) -> None:
    """A page of what there was, where the run left a folder."""
    kept = RunFolder(settings.read().runs_dir / spec.run_id)
    if kept.has("status.json"):
        with contextlib.suppress(QuadraError):
            report.write(kept)


def account(folder: RunFolder, console: Console) -> None:
    """What ran where, how right, how fast, and where to look on."""
    spec, report_value = folder.spec(), folder.json("verdicts.json")
    summary = verdicts.read(report_value)
    console.print(f"[bold]{escape(spec.model.name)}[/], {escape(inputs.describe(spec.inputs))}")
    asked = spec.options.get("backend", "auto")
    console.print(f"  {escape(summary.sentence())}")
    console.print(f"  {escape(summary.backend_sentence(asked))}  [dim]({escape(verdicts.words(summary))})[/]")
    device_account.show(folder, console)
    for api, sentence in summary.failures:
        console.print(f"  [yellow]{escape(api)} failed[/]: {escape(sentence)}")
    if summary.backend != "none":
        verdicts.show_cpu_reasons(summary, console)
    console.print()
    if folder.has("cpu_outputs"):
        compare.show(compare.compare(folder), console)
    else:
        console.print(
            f"[yellow]no CPU result to compare with[/]: {escape(folder.json('reference.json').get('error', ''))}"
        )
    for peer in peers.read(folder):
        if peer.name in peers.SHIPPED and not peer.error:
            console.print(f"{escape(peers.label(peer.name))}: {escape(peers.sentence(peer))}")
    console.print()
    times.summary(folder.json("timings.json"), console)
    console.print(f"\nrun folder  {escape(str(folder.path))}")
    console.print(f"report      {escape(str(folder.path / report.FILE))}")


def short_account(folder: RunFolder) -> str:
    """One sentence and where to look on."""
    found, timings = verdicts.read(folder.json("verdicts.json")), folder.json("timings.json")
    result, steady, ratio = compare.compare(folder), times.steady(timings), times.ratio(timings)
    error = max((output.relative for output in result.outputs), default=0.0)
    judged = f"{'right' if result.ok else 'WRONG'}, largest error {error:.1e} of the range"
    timed = f"{times.ms(steady['quadra'].median)} ms" + (f", {ratio.median:.1f} times XNNPACK's" if ratio else "")
    api = verdicts.APIS.get(found.backend, found.backend)
    return f"{api} ({found.device}): {found.sentence()}; {judged}; {timed}\nreport      {folder.path / report.FILE}"


def check_backend(folder: RunFolder) -> None:
    """ToolMissing when the backend that was asked for is not here: then the CPU ran everything."""
    asked, report_value = folder.spec().options.get("backend", "auto"), folder.json("verdicts.json")
    if asked != "auto" and report_value.get("backend") == "none":
        raise ToolMissing(
            f"run on {asked}",
            "; ".join(report_value.get("backend_notes", [])) or _first_reason(report_value),
            "`./inv doctor` says what to install; --backend auto takes what there is",
        )


def judge(folder: RunFolder) -> None:
    """JudgementFailed when an output of the run is wrong, ToolMissing when the backend asked for is not here."""
    check_backend(folder)
    if not folder.has("cpu_outputs"):
        return
    found = compare.problems(compare.compare(folder))
    if found:
        raise JudgementFailed(
            f"compare {folder.spec().model.name} with the CPU interpreter",
            "; ".join(found),
            f"`./inv profile`, `./inv plan` and the kernels in {folder.path} show what ran",
        )


def _first_reason(report_value: Dict[str, Any]) -> str:
    return next((node["reason"] for node in report_value["nodes"] if node["reason"]), "the delegate gave no reason")


def console(stderr: bool = False, width: Optional[int] = None) -> Console:
    """Where tables go. Off a terminal lines are not cut at 80 columns."""
    found = Console(stderr=stderr, highlight=False)
    if width or not found.is_terminal:
        return Console(stderr=stderr, highlight=False, width=width or 160)
    return found
