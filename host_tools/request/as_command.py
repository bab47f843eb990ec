"""A RunSpec as the command that asks for it: what from_arguments.make_spec reads, the other way round."""

import shlex

from msgspec import structs

from host_tools.base import installed
from host_tools.record.spec import InputSpec, RunSpec
from host_tools.request import delegate_options, run_options, views

# Of a RunSpec's fields those that are written in another way.
_OTHERWISE = ("options", "tolerances", "metrics", "sustained_s")
_FLAGS = [f"--{name}" for name, option in run_options.OPTIONS.items() if option.default is False]
_OF_DRIVERS = ("backend", "egl_library", "opencl_library")  # comes with a row of the table of drivers
_OPTIONS = {"backend": "auto", "precision": "f32", "target": "", "float32_nodes": "", "serialization_dir": ""}


def run(spec: RunSpec) -> str:
    """`./inv run …`, quoted for a shell; what is as the task has it by default is left out. Says nothing of a library or an
    APK, which a spec does not have, and nothing of `keep_tensors` and `second_starts`, which other tasks ask for."""
    words = [installed.COMMAND, "run", spec.model.path or spec.model.name]
    of_driver = _OF_DRIVERS if spec.driver else ()
    options = {name: value for name, value in spec.options.items() if name not in of_driver}
    for name, default in _OPTIONS.items():
        value = options.get(name, default)
        words += _option("cache" if name == "serialization_dir" else name, value, default)
    words += _option("options", delegate_options.words(options), "")
    words += _inputs(_whole(spec), views.of_model(spec.model.name, spec.model.sha256).value_range)
    words += _option("signature", spec.signature, "")
    in_lab = "/" in spec.device  # HOST/DEVICE, which only a lab knows
    words += [] if in_lab else _option("on", spec.device or spec.place, "host")
    defaults = RunSpec("", spec.model)
    for option, field in run_options.spec_fields().items():
        if field in RunSpec.__struct_fields__ and field not in _OTHERWISE:
            words += _option(option, _text(getattr(spec, field)), _text(getattr(defaults, field)))
    words += [f"--tolerance={name}{'=' * bool(name)}{_text(limits)}" for name, limits in spec.tolerances.items()]
    words += [f"--metric={metric}" for metric in spec.metrics]
    words += _option("same", _text(tuple(dict.fromkeys((spec.same_inferences, spec.same_processes)))), "0")
    words += _option("for", f"{spec.sustained_s}s", "0s")
    return shlex.join(words)


def _whole(spec: RunSpec) -> InputSpec:
    """The inputs with the folder of all of them, where there are several."""
    if not spec.input_set:
        return spec.inputs
    field = "picture" if spec.inputs.kind == "picture" else "arrays"
    return structs.replace(spec.inputs, **{field: spec.input_set})


def _inputs(given: InputSpec, usual_range: tuple[float, float]) -> list[str]:
    words = _option("image", given.picture, "") + _option("inputs", given.arrays, "")
    words += _option("range", _text(given.value_range), _text(usual_range))
    words += [f"--size={name}={'x'.join(map(str, shape))}" for name, shape in given.sizes.items()]
    return words + _option("seed", str(given.seed), "1")


def _text(value: object) -> str:
    """As an option's value is written; empty: a flag that is not given."""
    if isinstance(value, tuple):
        return ",".join(map(_text, value))
    if isinstance(value, bool):
        return "yes" if value else ""
    return f"{value:.17g}" if isinstance(value, float) else str(value)


def _option(name: str, value: str, default: str) -> list[str]:
    if value == default:
        return []
    name = "--" + name.replace("_", "-")
    return [name] if name in _FLAGS else [f"{name}={value}"]
