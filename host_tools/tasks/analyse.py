"""What `inv analyse` does: plans for phones' GPUs, their kernels through these GPUs' compilers, tables."""

import functools
import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from host_tools.analyse import (
    beside,
    figures,
    figures_table,
    gpu_rates,
    guard,
    mesa_packages,
    opencl_text,
    phone_compilers,
    phone_gpus,
    recorded_gles,
    recorded_opencl,
    recorded_vulkan,
    roofline,
    roofline_table,
)
from host_tools.analyse.beside import Pair
from host_tools.analyse.figures import Figures
from host_tools.analyse.phone_gpus import GPUS, Gpu
from host_tools.analyse.recorded_opencl import Recording
from host_tools.base import settings
from host_tools.base.errors import JudgementFailed, Misuse, ToolMissing, not_written, require_clone
from host_tools.base.progress import progress
from host_tools.record import named_plans, schema
from host_tools.record.checked_plan import Plan
from host_tools.request import from_arguments, layer, model_facts, models, phone
from host_tools.tasks import drivers, plans

ML_DRIFT = "ml-drift"
# The API of Quadra's kernels beside theirs, which are in the same: but ML Drift's, which are in Vulkan here.
PEERS = {"shipped-gles": "gles", "shipped-opencl": "opencl", ML_DRIFT: "opencl"}
BACKENDS = ("gles", "opencl")
# Ops that multiply and add: where a model's file does not say how often, its sum is not known.
_PRODUCTS = {
    "CONV_2D",
    "CONV_3D",
    "CONV_3D_TRANSPOSE",
    "DEPTHWISE_CONV_2D",
    "TRANSPOSE_CONV",
    "Convolution2DTransposeBias",
    "FULLY_CONNECTED",
    "BATCH_MATMUL",
    "UNIDIRECTIONAL_SEQUENCE_LSTM",
    "UNIDIRECTIONAL_SEQUENCE_RNN",
    "LSTM",
    "RNN",
    "SVDF",
}


@dataclass(frozen=True)
class Question:
    """Plans of a GPU, with what the model is made of, where that is known."""

    plans: list[Plan]
    nodes: list[tuple[str, int]]  # op and flops of each node; empty: not known


def install(gpus: str, console: Console, backend: str = "", peer: str = "") -> None:
    """gpus: those whose compilers to fetch; empty: all. backend: opencl brings those for OpenCL; peer: ml-drift those for
    Vulkan, in which its kernels are, and SwiftShader, before which it runs."""
    if peer == ML_DRIFT:
        backend = backend or "vulkan"
        drivers.fetch(drivers.named(["angle"]))
    vendors = {gpu.vendor: None for gpu in (phone_gpus.named(gpus) if gpus else GPUS)}
    for one in mesa_packages.install([phone_compilers.row_of(vendor, backend) for vendor in vendors]):
        console.print(f"Mesa {one.version}  {one.folder}", markup=False, soft_wrap=True)
    if backend == "opencl" and "adreno" in vendors:
        drivers.fetch(drivers.named([phone_compilers.OPENCL_DRIVER]))


def ask(word: str, gpus: str, precision: str, library: Path | None, backend: str = "gles") -> list[Figures]:
    """Of a model, a run or a plan's file. gpus: empty means all whose compilers are installed. backend: of a model's kernels."""
    if backend not in BACKENDS:
        raise Misuse("read --backend", f"{backend!r} is not one of {', '.join(BACKENDS)}", "choose one of these")
    if _is_model(word):
        chosen, given = _chosen(gpus, backend), None
    else:
        phone_gpus.named(gpus or GPUS[0].name)  # what is wrong with the words, first
        _require_any()
        given = _given(word)
        chosen = _chosen(gpus, given.plans[0].api)
    found = []
    with progress(f"analyse {word}") as show:
        for gpu in chosen:
            question = given or _made(word, gpu, precision, library, backend)
            found.append(figures.of(gpu, question.plans, _multiply_adds(question), show))
    return found


def ask_beside(words: str, peer: str, gpus: str, precision: str, library: Path | None, backend: str = "") -> list[Pair]:
    """words: models with commas between. peer: who else runs them, one of PEERS; its API is both sides'. backend: says the
    same, or is empty. The models of a GPU follow each other."""
    api = PEERS.get(peer)
    if api is None:
        problem = f"{peer!r} is not one of {', '.join(PEERS)}: these are who can be asked about"
        raise Misuse("read --peer", problem, "give one of these")
    if backend and backend != api:
        other = next((name for name, of in PEERS.items() if of == backend), "")
        problem = f"--backend {backend} beside {peer}, whose kernels are in {figures_table.API_TITLES[api]}"
        raise Misuse("inv analyse --peer", problem, f"--peer {other}" if other else "omit --backend")
    names = [word.strip() for word in words.split(",") if word.strip()]
    strange = [name for name in names if not _is_model(name)]
    if strange or not names:
        problem = f"{strange[0] if strange else words!r} is not a model: a peer runs models only"
        raise Misuse("inv analyse --peer", problem, "give models, with commas between: `inv models` lists them")
    chosen = _chosen(gpus, api)
    if peer == ML_DRIFT:
        for gpu in chosen:
            phone_compilers.require(gpu.vendor, "vulkan")
    pair = _beside_ml_drift if peer == ML_DRIFT else functools.partial(_beside_stock_delegate, peer)
    return [pair(name, gpu, precision, library) for gpu in chosen for name in names]


def _beside_ml_drift(name: str, gpu: Gpu, precision: str, library: Path | None) -> Pair:
    require_clone("record the kernels of ML Drift")
    from host_tools.places import ml_drift_kernels

    spec = from_arguments.make_spec(name, precision=precision, repetitions=1)
    with progress(f"analyse {name} on ML Drift") as show:
        recorded = ml_drift_kernels.record(spec, phone.read(gpu.name), phone_compilers.vulkan_headers(), show)
        calls = recorded_vulkan.read(recorded.calls)
        theirs = figures.of_launches(gpu, calls.launches, precision, show, "vulkan")
        theirs.memory = calls.memory
    (ours,) = ask(name, gpu.name, precision, library, PEERS[ML_DRIFT])
    return Pair(spec.model.name, ours, theirs, recorded.nodes, recorded.all_nodes, peer_is=beside.ML_DRIFT)


def _beside_stock_delegate(peer: str, name: str, gpu: Gpu, precision: str, library: Path | None) -> Pair:
    require_clone("record the kernels of the stock delegate")
    from host_tools.places import stock_kernels

    api = PEERS[peer]
    spec = from_arguments.make_spec(name, backend=api, precision=precision, place="jvm", repetitions=1, peers=(peer,))
    with progress(f"analyse {name} on the stock delegate") as show:
        if api == "gles":
            recorded = stock_kernels.record(spec, *gpu.shown, show)
            calls = Recording(recorded_gles.launches(recorded.calls), None, [])
        else:
            recorded = stock_kernels.record_opencl(spec, phone.read(gpu.name), show)
            calls = recorded_opencl.read(recorded.calls)
        theirs = figures.of_launches(gpu, calls.launches, precision, show, api)
        theirs.memory = calls.memory
        direct = _without_samplers(gpu, calls, precision, show) if api == "opencl" else None
    (ours,) = ask(name, gpu.name, precision, library, api)
    return Pair(spec.model.name, ours, theirs, recorded.nodes, recorded.all_nodes, tuple(calls.refused), direct)


def _without_samplers(gpu: Gpu, calls: Recording, precision: str, show: Callable[[str], None]) -> Figures | None:
    """Where Mesa makes too much of reads with them: of halves, on Adreno."""
    if gpu.kind != "adreno" or precision == "f32":
        return None
    launches = [replace(one, text=opencl_text.without_samplers(one.text)) for one in calls.launches]
    found = figures.of_launches(gpu, launches, precision, show, "opencl")
    found.memory = calls.memory
    return found


def _chosen(gpus: str, backend: str = "gles") -> list[Gpu]:
    """Those named; empty: all whose compilers are installed. ToolMissing: one's is not, or none is."""
    there = [gpu for gpu in GPUS if phone_compilers.installed(phone_compilers.row_of(gpu.vendor, backend))]
    chosen = phone_gpus.named(gpus) if gpus else there
    if not chosen:
        raise ToolMissing("ask phones' GPU compilers", "none is installed", phone_compilers.INSTALL)
    for gpu in chosen:
        phone_compilers.require(gpu.vendor, backend)
    return chosen


def _require_any() -> None:
    if not any(phone_compilers.installed(row) for row in phone_compilers.ARCHITECTURES):
        raise ToolMissing("ask phones' GPU compilers", "none is installed", phone_compilers.INSTALL)


def check(gpus: str, library: Path | None, keep: bool, console: Console, backend: str = "") -> None:
    """Compares the convolutions of some models with the committed table. keep: writes the table anew instead. backend: of
    kernels in this API alone. Where the compiler of OpenCL is not there, it compares the texts with the table's digests.

    JudgementFailed: some figure is worse, or a text has changed that cannot be compiled here. ToolMissing: the compilers are
    not those of the table.
    """
    if (gpus or backend) and keep:
        raise Misuse("inv analyse --check --keep", "the table is of all its GPUs and APIs", "omit --gpu and --backend")
    if backend not in ("", *BACKENDS):
        raise Misuse("read --backend", f"{backend!r} is not one of {', '.join(BACKENDS)}", "choose one of these")
    phone_gpus.named(gpus or guard.GPUS["gles"])  # what is wrong with the words, first
    table, rows, problems, asked = guard.read(), list[guard.Row](), list[str](), set[tuple[str, str]]()
    versions: set[str] = set()
    models.require(guard.MODELS, "compare kernels with the table")
    for api in (backend,) if backend else BACKENDS:
        for gpu in _guarded(gpus, api):
            tool = _compiler_of_table(gpu, api, table, keep, may_miss=api == "opencl" and not keep)
            if tool is None:
                problems += _changed(gpu, table, library)
                console.print(f"{gpu.name}: without its compiler of OpenCL only the texts were compared")
                continue
            versions.add(tool)
            asked.add((api, gpu.name))
            for precision in guard.PRECISIONS[api]:
                rows += _guarded_rows(gpu, api, precision, library)
    if keep:
        guard.TABLE.write_text(guard.Table(versions.pop(), tuple(rows)).to_json(), encoding="utf-8")
        console.print(f"{len(rows)} rows  {guard.TABLE}", markup=False, soft_wrap=True)
        return
    problems += guard.worse([row for row in table.rows if (row.api, row.gpu) in asked], rows)
    if problems:
        raise JudgementFailed(
            "compare kernels with the table", "; ".join(problems), "if it has to be: `--check --keep`"
        )
    console.print(f"{len(rows)} rows: none is worse")


def _guarded(gpus: str, api: str) -> list[Gpu]:
    """Those named, of the table's in this API."""
    wanted = {gpu.name for gpu in phone_gpus.named(gpus)} if gpus else set()
    return [gpu for gpu in phone_gpus.named(guard.GPUS[api]) if not wanted or gpu.name in wanted]


def _compiler_of_table(gpu: Gpu, api: str, table: guard.Table, keep: bool, may_miss: bool) -> str | None:
    """Its version. None: it may be missing, and is."""
    try:
        version = phone_compilers.require(gpu.vendor, api).version
    except ToolMissing:
        if may_miss:
            return None
        raise
    if not keep and version != table.mesa:
        problem = f"the compilers are of Mesa {version}, the table of {table.mesa}"
        raise ToolMissing("compare kernels with the table", problem, "`--check --keep` makes a table with one version")
    return version


def _guarded_rows(gpu: Gpu, api: str, precision: str, library: Path | None) -> list[guard.Row]:
    rows = [
        row for model in guard.MODELS for row in guard.rows_of(model, ask(model, gpu.name, precision, library, api))
    ]
    if api == "gles":
        rows += guard.rows_of(guard.LAYER, _ask_layer(gpu.name, library))
    return rows


def _changed(gpu: Gpu, table: guard.Table, library: Path | None) -> list[str]:
    found = []
    for model in guard.MODELS:
        for precision in guard.PRECISIONS["opencl"]:
            launches = figures.launches_of(_made(model, gpu, precision, library, "opencl").plans)
            texts = [(one.dispatch.entry, one.text) for one in launches]
            found += guard.changed(table.rows, model, gpu.name, precision, texts)
    return found


def _ask_layer(gpus: str, library: Path | None) -> list[Figures]:
    """Of guard.LAYER."""
    with tempfile.TemporaryDirectory(prefix="quadra-analyse-") as folder:
        path = Path(folder) / f"{guard.LAYER}.tflite"
        path.write_bytes(layer.convolution(size=48, channels=128, window=3))
        return ask(str(path), gpus, "f32", library)


def show(found: list[Figures], console: Console, top: int, by_bounds: bool = False) -> None:
    """by_bounds: the dispatches by what bounds each, instead of the kernels."""
    for number, one in enumerate(found):
        if number:
            console.print()
        if by_bounds:
            roofline_table.show(one, figures_table.title(one), console, top)
        else:
            figures_table.show(one, console, top)


def write_json(found: list[Figures], path: Path) -> None:
    _write([figures.to_json(one) | {"roofline": _roofline_json(one)} for one in found], path)


def _roofline_json(found: Figures) -> dict[str, Any] | None:
    roof = roofline.of(found, gpu_rates.of(found.gpu))
    return roofline.to_json(roof) if roof else None


def show_beside(pairs: list[Pair], console: Console, json_file: str) -> None:
    """json_file: also written; empty: none."""
    if json_file:
        _write(beside.to_json(pairs), Path(json_file).expanduser())
    beside.show(pairs, console)


def _write(rows: list[dict[str, Any]], path: Path) -> None:
    text = json.dumps(rows, indent=1)
    try:
        path.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise not_written(f"write {path}", error, "--json") from error


def _is_model(word: str) -> bool:
    """A model's file, or its name: in the catalogue, or in a folder of QUADRA_MODELS_DIR; a signature may follow."""
    word, _ = from_arguments.split(word)
    if word.endswith(".tflite") or word in models.catalogue():
        return True
    return any((folder / f"{word}.tflite").is_file() for folder in settings.read().models_dirs)


def _given(word: str) -> Question:
    """The plans of a run or a file, as they are."""
    named = named_plans.find(word)
    run = named[0].run
    nodes = [(node.op, node.flops) for node in run.read(schema.Model).nodes] if run else []
    return Question([one.checked() for one in named], nodes)


def _made(word: str, gpu: Gpu, precision: str, library: Path | None, backend: str) -> Question:
    name, signature = from_arguments.split(word)
    model = models.find(name)
    facts = model_facts.read(model.path.read_bytes(), model.name, signature)
    with tempfile.TemporaryDirectory(prefix="quadra-analyse-") as folder:
        target = gpu.gles_target
        if backend == "opencl":
            target = str(Path(folder) / f"{gpu.name}.json")
            Path(target).write_text(json.dumps(phone.read(gpu.name).target()), encoding="utf-8")
        options = plans.Options(
            target=target, precision=precision, backend=backend, out=str(Path(folder) / "made.quadra")
        )
        paths = plans.make(word, options, library)
        made = [named_plans.of_file(path).checked() for path in paths]
    return Question(made, [(node["op"], node["flops"]) for node in facts["nodes"]])


def _multiply_adds(question: Question) -> int:
    """Of the nodes that the plans run. 0: not known, as of shapes that the file does not have, or of another model."""
    nodes = {node for plan in question.plans for dispatch in plan.dispatches for node in dispatch.nodes}
    if not question.nodes or not nodes or not all(0 <= node < len(question.nodes) for node in nodes):
        return 0
    ran = [question.nodes[node] for node in nodes]
    if any(op in _PRODUCTS and not flops for op, flops in ran):
        return 0
    return sum(flops for _, flops in ran) // 2
