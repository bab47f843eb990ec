"""From the words of the command line to a checked RunSpec."""

from pathlib import Path
from typing import Any

from host_tools.base import digests, settings
from host_tools.base.close_names import did_you_mean
from host_tools.base.errors import Misuse
from host_tools.record import reading, schema, spec as specs
from host_tools.request import delegate_options, inputs, models, views

TARGETS = settings.ROOT / "host_tools" / "request" / "targets"


def make_spec(
    model: str,
    *,
    image: str = "",
    value_range: str = "",
    seed: int = 1,
    target: str = "",
    arrays: str = "",
    float32_nodes: str = "",
    cache: str = "",
    options: str = "",
    **fields: Any,
) -> specs.RunSpec:
    """A checked RunSpec. `fields` are those of RunSpec, with `backend` and `precision` beside them; `options` are
    further ones of the delegate, as words."""
    found = models.find(model)
    settings.utf8_path(found.path, "read the model", "rename it, or the folder that it is in")
    view = views.of_model(found.name)
    wanted = inputs.parse_range(value_range) if value_range else view.value_range
    if image and arrays:
        raise Misuse("read the inputs", "--image and --inputs are both given", "give one of them")
    if image:
        picture = Path(image).expanduser().resolve()
        inputs.open_picture(picture)
        settings.utf8_path(picture, "open the picture", "rename it, or the folder that it is in")
        source = specs.InputSpec("picture", seed, wanted, str(picture), digests.sha256_of(picture))
    elif arrays:
        source = specs.InputSpec("arrays", seed, wanted, arrays=str(folder_of_inputs(arrays)))
    else:
        source = specs.InputSpec("random", seed, wanted)
    chosen = {"backend": fields.pop("backend", "auto"), "precision": fields.pop("precision", "f32")}
    chosen |= delegate_options.parse(options)
    if target:
        chosen["target"] = str(target_file(target))
    if float32_nodes:
        chosen["float32_nodes"] = float32_nodes
    if cache:
        kept = settings.make_folder(Path(cache).expanduser().resolve(), "--cache")
        chosen["serialization_dir"] = str(settings.utf8_path(kept, "open the cache", "rename the folder"))
    reference = specs.ModelRef(found.name, str(found.path), found.sha256)
    return specs.checked(specs.RunSpec(specs.new_run_id(found.name), reference, source, chosen, **fields))


def folder_of_inputs(given: str) -> Path:
    """The folder of `--inputs`. Misuse: there is none."""
    path = Path(given).expanduser().resolve()
    if not path.is_dir():
        raise Misuse(f"read the inputs of {given}", "there is no such folder", "give one with 000.npy, 001.npy, …")
    return settings.utf8_path(path, "read the inputs", "rename the folder")


def destination(on: str) -> dict[str, Any]:
    """The fields of a RunSpec that say where, for a word of `--on`; which device it means is known when it is run."""
    return {"place": on} if on in ("host", "jvm") else {"place": "device", "device": on}


def target_file(target: str) -> Path:
    """The file of a target: a path, or a name of host_tools/request/targets."""
    path = Path(target).expanduser()
    for candidate in (path, TARGETS / f"{target}.json"):
        if candidate.is_file():
            do_next = "rename it, or the folder that it is in"
            return _checked_target(settings.utf8_path(candidate.resolve(), "read the target", do_next))
    names = target_names()
    listed = f"give a JSON file, or one of: {', '.join(names) or 'none'}"
    raise Misuse(f"find the target {target!r}", "there is no such file", did_you_mean(target, names, listed))


def target_names() -> list[str]:
    """The targets that can be given by name."""
    return sorted(path.stem for path in TARGETS.glob("*.json"))


def _checked_target(path: Path) -> Path:
    """The delegate reads it; here only what would otherwise leave every node to the CPU."""
    content = reading.content(path, reading.JSON_BYTES)
    reading.json_bytes(
        content, schema.Target, f"the target {path}", "give a file as those in host_tools/request/targets are"
    )
    return path
