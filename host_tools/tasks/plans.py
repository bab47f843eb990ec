"""The words of `inv plan`: show, diff, make."""

import re
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from msgspec import structs
from rich.console import Console

from host_tools.base import json_text, settings
from host_tools.base.errors import not_written
from host_tools.build import artifacts, size
from host_tools.judge import plan_diff
from host_tools.places import on_host
from host_tools.record import cache_file, named_plans, plan_view, profile, schema
from host_tools.record.run_folder import RunFolder
from host_tools.record.spec import RunSpec
from host_tools.request import from_arguments
from host_tools.run import node_support
from host_tools.show import memory_map, plan_diff_table, plan_table

_SHOWN, _DIFFERENCES = 40, 20  # rows of each table, where --top does not say how many
_BUILD = re.compile(r"(?<=, )build [0-9a-f]+, [0-9]+ bits")


@dataclass(frozen=True)
class Options:
    """Those of the command line."""

    top: int = -1  # the subcommand's default
    in_order: bool = False
    map: str = ""
    texts: bool = False
    target: str = ""
    precision: str = "f32"
    backend: str = ""
    out: str = ""
    cache: str = ""
    reader: str = ""
    json: bool = False


def do(words: list[str], options: Options, library: Path | None, console: Console) -> int:
    """Does one subcommand of `inv plan`; the exit status. The command line has checked the words."""
    what, *given = words or ["show"]
    if what == "show":
        _show(given[0] if given else "latest", options, console)
        return 0
    if what == "diff":
        first, second = given
        return _diff(first, second, options, console)
    for path in make(given[0], options, library):
        console.print(str(path), markup=False, soft_wrap=True)
    return 0


def _show(word: str, options: Options, console: Console) -> None:
    plans = named_plans.find(word)
    for plan in () if options.json else plans:
        console.print(str(plan.path), markup=False, soft_wrap=True)
        times, hint = (
            _times_us(plan),
            "--top 0 shows all" + ("" if options.in_order else ", --in-order in the plan's order"),
        )
        plan_table.show(plan.value, console, _SHOWN if options.top < 0 else options.top, options.in_order, times, hint)
    if options.map:
        path = Path(options.map).expanduser()
        memory_map.write(plans, path)
    if options.json:
        print(json_text.text([{"path": plan.path, "partition": plan.partition, "plan": plan.value} for plan in plans]))
    elif options.map:
        console.print(f"\nmap  {path}", markup=False, soft_wrap=True)


def _times_us(plan: named_plans.NamedPlan) -> list[float]:
    """Those of the plan's dispatches, in its order. None where the run was not profiled."""
    if not plan.run or not plan.run.has(schema.Profile.FILE):
        return []
    return [one.time_us for one in profile.read(plan.run).dispatches if one.partition == plan.partition]


def _diff(first: str, second: str, options: Options, console: Console) -> int:
    """1: they differ."""
    left, right = named_plans.find(first), named_plans.find(second)
    equal = len(left) == len(right)
    if options.json:
        changes = [plan_diff.compare(a.checked(), b.checked()) for a, b in zip(left, right)]
        print(json_text.text({"plans": [len(left), len(right)], "changes": changes}))
        return 0 if equal and all(one.equal for one in changes) else 1
    if not equal:
        console.print(f"{len(left)} plans, and {len(right)}: the first {min(len(left), len(right))} are compared")
    for a, b in zip(left, right):
        console.print(f"A  {a.path}\nB  {b.path}\n", markup=False, soft_wrap=True)
        found = plan_diff.compare(a.checked(), b.checked())
        plan_diff_table.show(found, console, _DIFFERENCES if options.top < 0 else options.top, options.texts)
        equal = equal and found.equal
    return 0 if equal else 1


def make(model: str, options: Options, library: Path | None = None) -> list[Path]:
    """Plans for a target's GPU, made here; nothing is run. One file per partition: NAME.quadra, NAME-1.quadra, …
    `MODEL:SIGNATURE` has those of one signature."""
    name, signature = from_arguments.split(model)
    spec = node_support.make_spec(name, options.target, options.precision, options.backend, signature=signature)
    if options.cache:
        return _make_for_cache(spec, options, library or artifacts.library())
    with tempfile.TemporaryDirectory(prefix="quadra-plan-") as name:
        folder = Path(name)
        on_host.dump(spec, library or artifacts.library(), folder)
        found = plan_view.of_run(RunFolder(folder))
        of = "-".join(filter(None, (spec.model.name, signature)))
        default = f"{of}-{(options.target and Path(options.target).stem) or 'generic'}-{options.precision}.quadra"
        first = Path(options.out or default).expanduser()
        paths = [first, *(first.with_name(f"{first.stem}-{i}{first.suffix}") for i in range(1, len(found)))]
        for made, path in zip(found, paths):
            try:
                path.write_bytes(made.read_bytes())
            except OSError as error:
                raise not_written(f"write {path}", error, "--out") from error
    return paths


def _write_private(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    path.chmod(0o600)


def _make_for_cache(spec: RunSpec, options: Options, library: Path) -> list[Path]:
    """The plans as files of `serialization_dir`: a start with that folder on the target compiles and does nothing else."""
    folder = Path(options.cache).expanduser()
    reader = Path(options.reader).expanduser() if options.reader else library
    build, bits = size.build_of(reader)
    paths = []
    with tempfile.TemporaryDirectory(prefix="quadra-plan-") as name:
        kept = Path(name) / "kept"
        asked = structs.replace(spec, options={**spec.options, "serialization_dir": str(kept)})
        on_host.dump(asked, library, Path(name))
        settings.make_folder(folder, "--cache")
        for file in sorted(kept.glob(f"*{cache_file.ENDING}")):
            made = cache_file.read(file)
            key = _BUILD.sub(f"build {build}, {bits} bits", made.key, count=1).encode()
            magic, version, order, _ = made.parts.fixed
            parts = replace(made.parts, key=key, fixed=(magic, version, order, bits // 8))
            path = folder / cache_file.file_name("", key)
            try:
                for weights in parts.listed():
                    _write_private(weights.path(path), weights.read(file))
                _write_private(path, parts.pack())
            except OSError as error:
                raise not_written(f"write {path}", error, "--cache") from error
            paths.append(path)
    return paths
