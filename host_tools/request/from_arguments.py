"""From the words of the command line to a checked RunSpec."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec import structs

from host_tools.base import digests, settings
from host_tools.base.close_names import did_you_mean
from host_tools.base.errors import Misuse
from host_tools.record import peer_names, reading, schema, spec as specs
from host_tools.request import delegate_options, input_sets, inputs, models, run_options, signatures, views
from host_tools.request.run_options import RunOptions

_UNITS_S = {"s": 1, "m": 60, "h": 3600}
TARGETS = settings.ROOT / "host_tools" / "request" / "targets"
_FOR_TESTS = ("large-tiles", "large-tiles-gles", "mali-g76-buffers", "separate-buffers")


def each(options: RunOptions) -> Iterator[RunOptions]:
    """What a task runs of a model, one after the other: each of several signatures, with the sizes and tolerances that are its own."""
    for entry in entries(options.model, options.signature, options.size, options.tolerance):
        named = {"model": entry["model"], "signature": entry["signature"]}
        yield replace(options, **named, size=tuple(entry["sizes"]), tolerance=tuple(entry.get("tolerances", ())))


def spec_of(options: RunOptions) -> specs.RunSpec:
    """A checked RunSpec of one of `each`."""
    fields = {
        field: _READ.get(name, lambda value: value)(getattr(options, name))
        for name, field in run_options.spec_fields().items()
    }
    fields |= {**same_counts(options.same), **destination(options.on)}
    return make_spec(
        options.model, signature=options.signature, sizes=options.size, tolerances=options.tolerance, **fields
    )


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
    signature: str = "",
    sizes: Sequence[str] = (),
    tolerances: Sequence[str] = (),
    metrics: Sequence[str] = (),
    **fields: Any,
) -> specs.RunSpec:
    """A checked RunSpec. model: a name or a path. `fields` are those of RunSpec, with `backend` and `precision` beside
    them; `options` are further ones of the delegate, as words; `sizes` are NAME=1x64x48x3, `tolerances` NAME=ABS,REL; `image`
    and `arrays` may have many inputs (input_sets)."""
    if split(model)[1]:
        came_back = "that is a signature of a model, and this takes a whole model"
        raise Misuse(f"read the model {model}", came_back, f"give {split(model)[0]}")
    found = models.find(model)
    settings.utf8_path(found.path, "read the model", "rename it, or the folder that it is in")
    view = views.of_model(found.name, found.sha256)
    wanted = inputs.parse_range(value_range) if value_range else view.value_range
    source, input_set = _source(image, arrays, signature, specs.InputSpec("random", seed, wanted))
    if sizes:
        source = structs.replace(source, sizes=inputs.parse_sizes(sizes))
        inputs.sized(inputs.of_model(found.path.read_bytes(), signature), source.sizes)
    elif signature:
        signatures.entry(found.path.read_bytes(), signature)
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
    run_id = specs.new_run_id(found.name)  # a place gives it another one
    fields["tolerances"] = specs.tolerances_of(tolerances)
    fields["metrics"] = tuple(metrics)
    return specs.checked(specs.RunSpec(run_id, reference, source, signature, chosen, input_set=input_set, **fields))


def _source(image: str, arrays: str, signature: str, usual: specs.InputSpec) -> tuple[specs.InputSpec, str]:
    """Where the input comes from, the first of many; and the folder of these."""
    if image and arrays:
        raise Misuse("read the inputs", "--image and --inputs are both given", "give one of them")
    if image:
        given = Path(image).expanduser().resolve()
        many = given.is_dir()
        picture = input_sets.pictures(given)[0] if many else given
        inputs.open_picture(picture)
        settings.utf8_path(picture, "open the picture", "rename it, or the folder that it is in")
        found = structs.replace(usual, kind="picture", picture=str(picture), picture_sha256=digests.sha256_of(picture))
    elif arrays:
        given = folder_of_inputs(arrays, signature)
        many = input_sets.is_set(given)
        found = structs.replace(usual, kind="arrays", arrays=str(input_sets.arrays(given)[0] if many else given))
    else:
        return usual, ""
    return found, str(given) if many else ""


def tolerances_of_each(words: Sequence[str], tolerances: Sequence[str]) -> dict[str, list[str]]:
    """By word, which of the tolerances are of its outputs. Misuse: one is of none."""
    names = {word: _output_names(word) if tolerances else set[str]() for word in words}
    for name in specs.tolerances_of(tolerances):
        if name and not any(name in known for known in names.values()):
            known = "; ".join(f"{word} has {', '.join(sorted(found))}" for word, found in names.items())
            raise Misuse(f"give the output '{name}' a tolerance", "no model has such an output", known)
    return {
        word: [one for one in tolerances if (name := one.rpartition("=")[0]) in known or not name]
        for word, known in names.items()
    }


def same_counts(given: str) -> dict[str, Any]:
    """The fields of a RunSpec for `--same N` and `--same INFERENCES,PROCESSES`; none: it is not given."""
    counts = given.split(",") if given else []
    if len(counts) > 2 or not all(count.strip().isascii() and count.strip().isdigit() for count in counts):
        do_next = "give one number, or inferences and processes: --same 50,10"
        raise Misuse("read --same", f"{given!r} is not N, nor INFERENCES,PROCESSES", do_next)
    return {"same_inferences": int(counts[0]), "same_processes": int(counts[-1])} if counts else {}


def seconds(given: str) -> int:
    """Those of `--for`: 90s, 10m, 2h; none: it is not given."""
    count, unit = given[:-1], given[-1:]
    if given and not (count.isascii() and count.isdecimal() and len(count) < 7 and unit in _UNITS_S):
        raise Misuse("read --for", f"{given!r} is no time", "give seconds, minutes or hours: 90s, 10m, 1h")
    return int(count) * _UNITS_S[unit] if given else 0


# Options whose values are not yet those of the spec's fields.
_READ: Mapping[str, Callable[[Any], Any]] = {"peer": peer_names.parse, "for_": seconds, "timeout": float}


def file(given: str) -> Path | None:
    """The given file; None: none was given. Misuse: there is none."""
    path = Path(given).expanduser().resolve()
    if given and not path.is_file():
        raise Misuse(f"load {given}", "there is no such file", "omit it to have one made")
    return path if given else None


def split(word: str) -> tuple[str, str]:
    """`MODEL:SIGNATURE` as both; both may have colons. A model alone has no signature, nor has what is no model at all."""
    if models.is_known(word):
        return word, ""
    colons = [index for index, letter in enumerate(word[:-1]) if letter == ":"]
    known = (index for index in colons if models.is_known(word[:index]))
    index = next(known, len(word))
    return word[:index], word[index + 1 :]


def label(word: str) -> str:
    """What a word stands for, for people: the model's name, and the signature where one is named."""
    model, signature = split(word)
    name = models.find(model).name
    return f"{name}:{signature}" if signature else name


def float_twin(word: str) -> str:
    """The word of the same with floats, where it is here; empty: it is not."""
    model, signature = split(word)
    twin = models.float_twin(model)
    return f"{twin}:{signature}" if twin and signature else twin


def each_signature(model: str, signature: str = "") -> list[str]:
    """What a word stands for, as words for `make_spec`: the signature it names, or each of several that the model has, or the
    main graph."""
    name, named = split(model)
    if signature and named and signature != named:
        raise Misuse(f"run {model}", f"--signature names another one, {signature}", "name one of the two")
    if signature or named:
        return [f"{name}:{signature or named}"]
    try:
        found = signatures.to_run(models.find(name).path.read_bytes())
    except Misuse:  # who reads more of the file says what is wrong with it
        return [name]
    return [f"{name}:{one}" if one else name for one in found]


def sizes_of_each(words: Sequence[str], sizes: Sequence[str]) -> dict[str, list[str]]:
    """By word, which of the sizes (NAME=1x64x48x3) are of its inputs. Misuse: one is of none."""
    names = {word: _input_names(word) if sizes else set[str]() for word in words}
    for name in inputs.parse_sizes(sizes):
        if not any(name in known for known in names.values()):
            known = "; ".join(f"{word} has {', '.join(sorted(found))}" for word, found in names.items())
            raise Misuse(f"give the input '{name}' a size", "no model has such an input", known)
    return {word: [size for size in sizes if size.rpartition("=")[0] in known] for word, known in names.items()}


def entries(model: str, signature: str, sizes: Sequence[str], tolerances: Sequence[str] = ()) -> list[dict[str, Any]]:
    """What a task runs of a model, one after the other: arguments of `make_spec`."""
    words = each_signature(model, signature)
    limits = tolerances_of_each(words, tolerances)
    found = []
    for word, own in sizes_of_each(words, sizes).items():
        name, one = split(word)
        given = {"tolerances": limits[word]} if tolerances else {}
        found.append({"model": name, "signature": one, "sizes": own, **given})
    return found


def _input_names(word: str) -> set[str]:
    model, signature = split(word)
    return {tensor.name for tensor in inputs.of_model(models.find(model).path.read_bytes(), signature)}


def _output_names(word: str) -> set[str]:
    model, signature = split(word)
    return {name for name, _ in signatures.entry(models.find(model).path.read_bytes(), signature).outputs}


def folder_of_inputs(given: str, signature: str = "") -> Path:
    """The folder of `--inputs`, or in it that of the signature, or a .npz file. Misuse: there is none."""
    path = Path(given).expanduser().resolve()
    if not path.is_dir() and not (path.suffix == inputs.NPZ and path.is_file()):
        raise Misuse(f"read the inputs of {given}", "there is no such folder", "give one with 000.npy, 001.npy, …")
    if signature and "/" not in signature and (path / signature).is_dir():
        path /= signature
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
    names = listed_targets()
    listed = f"give a JSON file, or one of: {', '.join(names) or 'none'}"
    raise Misuse(f"find the target {target!r}", "there is no such file", did_you_mean(target, names, listed))


def listed_targets() -> list[str]:
    """The targets of devices, by name. Those for tests alone can be given by name, too, and are in no list."""
    return sorted(path.stem for path in TARGETS.glob("*.json") if path.stem not in _FOR_TESTS)


def _checked_target(path: Path) -> Path:
    """The delegate reads it; here only what would otherwise leave every node to the CPU."""
    content = reading.content(path, reading.JSON_BYTES)
    reading.json_bytes(
        content, schema.Target, f"the target {path}", "give a file as those in host_tools/request/targets are"
    )
    return path
