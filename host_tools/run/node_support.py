"""Which nodes of a model the delegate would take, and why not the others. Nothing is run on a GPU."""

import functools
import tempfile
from pathlib import Path

from msgspec import structs

from host_tools.base.errors import JudgementFailed, Misuse, RunFailed
from host_tools.drivers import driver_table
from host_tools.judge import limits
from host_tools.places import on_host
from host_tools.record import reading, run_folder, schema, verdicts
from host_tools.record.spec import RunSpec
from host_tools.request import from_arguments, models
from host_tools.request.run_options import RunOptions
from host_tools.run import chosen_driver, device_target, requested

_GLES = "-gles"  # how the names of OpenGL ES targets end


def make_spec(
    model: str, target: str = "", precision: str = "f32", backend: str = "", driver: str = "", signature: str = ""
) -> RunSpec:
    """backend: opencl, gles, or empty: what the target says. driver: a row of the table of drivers, whose device is the target.
    signature: whose graph alone is planned; empty: all that the model has."""
    if backend not in ("", "opencl", "gles"):
        raise Misuse("read --backend", f"{backend!r} is not one of opencl, gles", "choose one of these")
    if driver:
        if target:
            came_back = "the driver's own device is the target, and --target names another"
            raise Misuse(f"plan for the driver {driver}", came_back, "omit one of the two")
        chosen_driver.find(driver, backend)
        return from_arguments.make_spec(
            model,
            backend="null",
            precision=precision,
            driver=driver,
            signature=signature,
            peers=(),
            deadline_s=120.0,
        )
    if backend == "gles":
        target = _of_gles(target or "generic")
    spec = from_arguments.make_spec(
        model, backend="null", precision=precision, target=target, signature=signature, deadline_s=120.0
    )
    if backend and api_of(spec) != backend:
        raise Misuse(
            f"make a plan for {verdicts.APIS[backend]}",
            f"the target {target or 'generic'} is of {verdicts.APIS.get(api_of(spec), api_of(spec))}",
            "give another target, or omit --backend",
        )
    return spec


def of_options(options: RunOptions) -> tuple[RunSpec, schema.Verdicts, verdicts.Verdicts]:
    """What is asked for with these options, and the answer. on: a device, whose GPU is the target; host: none is asked."""
    target, backend = options.target, options.backend
    if options.on != "host":
        if target or options.driver:
            came_back = "the device's own GPU is the target, and --target or --driver names another"
            raise Misuse(f"plan for --on {options.on}", came_back, "omit one of the two")
        models.find(options.model)
        target, backend = str(device_target.ask(options, Path(_targets().name))), ""
    spec = make_spec(options.model, target, options.precision, backend, options.driver)
    return spec, *ask(spec, requested.library(options))


@functools.cache
def _targets() -> tempfile.TemporaryDirectory[str]:
    """A folder that lasts as long as the process: specs name files there."""
    return tempfile.TemporaryDirectory(prefix="quadra-targets-")


def _of_gles(target: str) -> str:
    """`mali-g76` and `mali-g76-gles` both mean the latter; a path stays one."""
    twin = target if target.endswith(_GLES) else target + _GLES
    return twin if (from_arguments.TARGETS / f"{twin}.json").is_file() else target


def api_of(spec: RunSpec) -> str:
    """The GPU API that the target of `spec` stands for."""
    if spec.driver:
        return driver_table.find(spec.driver).backend
    file = spec.options.get("target")
    return reading.json_file(Path(file), schema.Target).api if file else "opencl"


def ask(spec: RunSpec, library: Path) -> tuple[schema.Verdicts, verdicts.Verdicts]:
    """The delegate's report by the null backend, and what it says. Misuse where it cannot read the target."""
    with tempfile.TemporaryDirectory(prefix="quadra-support-") as folder:
        if spec.driver:
            spec = _for_its_device(spec, library, Path(folder))
        report = on_host.verdicts(spec, library, Path(folder))
    found = verdicts.read(report)
    if found.backend == "none":
        sentence = "; ".join(why for _, why in found.failures)
        target = spec.options.get("target", "generic")
        raise Misuse(f"plan {spec.model.name} for {target}", sentence, "see docs/targets.md")
    return report, found


def _for_its_device(spec: RunSpec, library: Path, folder: Path) -> RunSpec:
    """The spec with the target that the device of its driver is; without the driver, which need not be there to plan for it."""
    entry = on_host.entered(spec)
    options = {**entry.options, "backend": api_of(spec), **device_target.NO_NODE}
    found = on_host.verdicts(structs.replace(spec, options=options), library, folder)
    if not found.device.target:
        raise RunFailed(
            f"ask the driver {spec.driver} for its device", "; ".join(found.backend_notes), "`./inv doctor`"
        )
    path = folder / "device.json"
    run_folder.write_json(path, found.device.target)
    return structs.replace(spec, driver="", options={**spec.options, "target": str(path)})


def check(spec: RunSpec, report: schema.Verdicts, most: int | None) -> None:
    """JudgementFailed: more nodes than `most` would stay on the CPU; None: any number may."""
    problem = limits.nodes_problem([node for node in report.nodes if node.on == "cpu"], most)
    if problem:
        do_next = f"`./inv advise {spec.model.path}` says how to write the model instead"
        raise JudgementFailed(f"plan {spec.model.name} for {report.target}", problem, do_next)
