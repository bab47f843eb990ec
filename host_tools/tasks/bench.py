"""`inv bench`: Quadra beside XNNPACK on this machine, with one and two threads; or, with --on jvm, beside XNNPACK and TFLite's
stock GPU delegate, all in one process inside Android's runtime, with one thread.

Every model and backend leaves a run folder, from which all figures are taken: an interrupted bench is resumed with
those that it has.
"""

import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from host_tools.base import settings
from host_tools.base.errors import FolderNotWritable, Misuse, QuadraError
from host_tools.base.progress import progress
from host_tools.judge import bench_figures, judged
from host_tools.judge.bench_figures import Asked, Bench, Row, add_recorded, peers_beside, take
from host_tools.places import where
from host_tools.places.place import Place, Show
from host_tools.record import machine, peer_names, printed, run_folder, schema
from host_tools.record.run_folder import RunFolder
from host_tools.record.spec import RunSpec
from host_tools.request import from_arguments, models
from host_tools.show import bench_page, bench_table

BACKENDS = {"opencl": ("opencl",), "gles": ("gles",), "both": ("opencl", "gles")}
APIS = {"interpreter": ("interpreter",), "compiled": ("compiled",), "both": ("interpreter", "compiled")}
# Those that run wholly on the delegate.
MODELS = (
    "body-pix-float-050-8",
    "deeplabv3_257_mv_gpu",
    "face_detection_front",
    "face_detection_full_range_sparse",
    "face_detection_short_range",
    "pose_detection",
    "face_landmark",
    "hand_landmark_full",
    "hand_recrop",
    "iris_landmark",
    "palm_detection_full",
    "palm_detection_lite",
    "pose_landmark_full",
    "selfie_segmentation",
    "selfie_segmentation_landscape",
)
_THREADS = {"host": (1, 2), "jvm": (1,)}
_REPETITIONS = {
    "host": 50,
    "jvm": 10,
}  # a row starts three Java processes there: many runs of each would tell little more
_SECOND_STARTS = 3  # each of each runtime is a Java process
_DEADLINE_S = {"host": 300.0, "jvm": 600.0}
_FILE = "bench.json"
_ASKED = ("options", "inputs", "place", "api", "peers", "threads", "cold", "second_starts")  # what a run must answer


@dataclass(frozen=True)
class Words:
    """Those of the command line. Limits: of geometric means, 0: none."""

    models: tuple[str, ...] = ()
    on: str = ""
    backend: str = ""
    peer: str = ""
    api: str = ""
    repetitions: int = 0
    resume: str = ""
    limit: float = 0.0
    limit_shipped: float = 0.0


def run(words: Words, library: Path | None, console: Console) -> None:
    """Measures, prints tables, judges."""
    result = _measured(words, library)
    bench_table.show(result, console)
    bench_figures.judge(result, words.limit, words.limit_shipped)


def run_as_json(words: Words, library: Path | None) -> int:
    """The same, printed as one JSON document, also where it fails; the exit status."""
    document = printed.BenchDocument()
    try:
        result = _measured(words, library)
        document = bench_figures.document(result)
        bench_figures.judge(result, words.limit, words.limit_shipped)
    except QuadraError as error:
        document.error, document.exit_status = printed.failure(error), error.exit_code
    print(printed.text(document))
    return document.exit_status


def _measured(words: Words, library: Path | None) -> Bench:
    wanted, absent = asked(
        words.models, words.backend, words.peer, words.repetitions, words.resume, words.on, words.api
    )
    for name in absent:
        print(f"left out: {name} is not in a folder of QUADRA_MODELS_DIR", file=sys.stderr)
    (place,) = where.parse(wanted.place, library)
    with progress("bench") as show:
        return measure(wanted, place, show, bench_page.write, words.resume)


def asked(
    names: Sequence[str], backend: str, beside: str, repetitions: int, resume: str = "", on: str = "", api: str = ""
) -> tuple[Asked, list[str]]:
    """What the words of the command line ask for, and models that are not here; all is checked before anything runs.

    on: host or jvm; none means that of the bench to resume, else host. beside: names of peers with a comma between them;
    none means XNNPACK on the host, all on the JVM. api: a word of APIS, on the host; none means the interpreter. names: none means MODELS on the host, all of the catalogue on the JVM, as far as they are
    here. A quantised model brings its float twin, if that is here. backend: none means OpenCL on the host, those of the
    peers on the JVM.
    """
    for name in names:
        models.find(name)
    place = _place(on, resume)
    apis = _one_of("--api", api or "interpreter", APIS)
    if place == "jvm" and apis != ("interpreter",):
        raise Misuse(
            f"bench with --on jvm --api {api}", "Android's runtime has no CompiledModel", "omit --on, or --api"
        )
    peers, backends = _on_jvm(beside, backend) if place == "jvm" else _on_host(beside, backend)
    known = _here() if place == "jvm" else _usual()
    found = tuple(dict.fromkeys(names)) or tuple(name for name, is_here in known if is_here)
    if not found:
        raise Misuse("bench", "no model is here", "`./inv models --fetch`, or set QUADRA_MODELS_DIR")
    absent = [] if names or place == "jvm" else [name for name, is_here in known if not is_here]
    found = tuple(dict.fromkeys(one for name in found for one in (name, models.float_twin(name)) if one))
    return Asked(found, backends, peers, repetitions or _REPETITIONS[place], place, _THREADS[place], apis), absent


def backends_of(word: str) -> tuple[str, ...]:
    return _one_of("--backend", word, BACKENDS)


def _one_of(option: str, word: str, known: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    if word not in known:
        raise Misuse(f"read {option}", f"{word!r} is not one of {', '.join(known)}", "choose one of these")
    return known[word]


def _place(on: str, resume: str) -> str:
    place = on or (_place_of(resume) if resume else "host")
    if place not in _THREADS:
        raise Misuse(
            f"bench with --on {place}", "a bench runs on host or jvm", "`./inv regress --on` measures on devices"
        )
    return place


def _on_host(beside: str, backend: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(peers, backends); no peer means XNNPACK, no backend OpenCL."""
    wanted = _peers(
        beside or peer_names.XNNPACK, (peer_names.XNNPACK, peer_names.LITERT), "add --on jvm for the others"
    )
    return wanted, backends_of(backend or "opencl")


def _peers(beside: str, known: tuple[str, ...], do_next: str) -> tuple[str, ...]:
    wanted = peer_names.parse(beside)
    for name in wanted:
        if name not in known:
            raise Misuse("read --peer", f"{name!r} is not one of {', '.join(known)}", do_next)
    return wanted


def _on_jvm(beside: str, backend: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(peers, backends); no peer means all, no backend those of the peers."""
    known = (peer_names.XNNPACK, *peer_names.SHIPPED)
    wanted = _peers(beside or ",".join(known), known, "choose from these")
    own = [b for b in BACKENDS["both"] if f"shipped-{b}" in wanted]
    backends = backends_of(backend) if backend else tuple(own) or ("opencl",)
    return tuple(dict.fromkeys(name for b in backends for name in peers_beside(wanted, b))), backends


def _usual() -> list[tuple[str, bool]]:
    """MODELS, and whether each is here or can be fetched."""
    status = {entry.name: bool(entry.member or where) for entry, where in models.status()}
    return [(name, status.get(name, False)) for name in MODELS]


def _here() -> list[tuple[str, bool]]:
    """All of the catalogue, those that run wholly on Quadra first, and whether each is here."""
    found = [(entry.name, bool(where)) for entry, where in models.status()]
    return sorted(found, key=lambda row: row[0] not in MODELS)


def measure(asked: Asked, place: Place, show: Show, keep: Callable[[Bench], Any], resume: str = "") -> Bench:
    """Runs every model on each backend; a model that fails is a row with its reason. `keep` gets the bench after each:
    an interrupted one is not lost. resume: the folder of such a bench, by name or path: its complete runs with this
    library are taken."""
    place.prepare(asked.peers)
    folder, facts = _folder(resume), machine.library_facts(place.delegate())
    if peer_names.LITERT in asked.peers:
        facts = {**facts, "litert_gpu": machine.litert_accelerator()}
    maker = _RowMaker(asked, place, folder, _finished(folder, facts["sha256"]))
    result = bench_of(folder, asked, (), facts)
    for number, name in enumerate(asked.models, 1):
        for backend, api in asked.kinds:
            head = f"{number}/{len(asked.models)} {name}: {bench_figures.way(backend, api)}"
            row = maker.row(name, backend, api, _after(f"{head}, ", show))
            result = bench_of(folder, asked, (*result.rows, row), facts)
            keep(result)
    return result


def _after(words: str, show: Show) -> Show:
    """Shows what goes on with these words before it."""
    return lambda text: show(words + text)


def bench_of(folder: Path, asked: Asked, rows: tuple[Row, ...], library_facts: dict[str, Any]) -> Bench:
    cpus = len(os.sched_getaffinity(0))
    return Bench(folder, asked, rows, library_facts, machine.cpu_name(), cpus, os.getloadavg()[0])


def _folder(resume: str) -> Path:
    runs_dir = settings.read().runs_dir
    if not resume:
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
        return settings.make_folder(runs_dir / f"bench-{stamp}", "QUADRA_RUNS_DIR")
    for folder in (runs_dir / resume, Path(resume).expanduser()):
        if folder.is_dir():
            return folder.resolve()
    do_next = "give the name or path of a folder that `inv bench` has made"
    raise Misuse(f"go on with the bench {resume}", f"{runs_dir / resume} is no folder", do_next)


def _place_of(resume: str) -> str:
    """Where the bench to resume ran; the JVM where nothing was written yet: its runs take long."""
    try:
        return str(json.loads((_folder(resume) / _FILE).read_text(encoding="utf-8"))["place"])
    except (OSError, ValueError, KeyError, TypeError):
        return "jvm"


def _finished(folder: Path, library_sha256: str) -> list[RunFolder]:
    """Complete runs with this library that are there already."""
    found = [RunFolder(folder / run_id) for run_id in run_folder.list_ids(folder)]
    whole = [one for one in found if one.is_complete()]
    return [one for one in whole if one.read(schema.Environment).library.sha256 == library_sha256]


@dataclass(frozen=True)
class _RowMaker:
    """Makes rows: by runs, or from those that are `done`."""

    asked: Asked
    place: Place
    folder: Path
    done: Sequence[RunFolder]

    @property
    def kept(self) -> Path:
        """Where Quadra keeps what a second start finds. Empty before each run: its first start is a cold one."""
        return self.folder / "kept"

    def row(self, name: str, backend: str, api: str, show: Show) -> Row:
        twin = models.float_twin(name)
        row = Row(name, backend, Path(twin).stem if twin.endswith(".tflite") else twin, api=api)
        if self.asked.place == "host" and api == "interpreter":
            add_recorded(row, name)
        try:
            for threads in self.asked.threads:
                words = f"{threads} thread{'s' if threads > 1 else ''}, " if len(self.asked.threads) > 1 else ""
                spec = self._spec(name, backend, api, threads)
                row.model = spec.model.name
                found = judged.judge(self._run(spec, _after(words, show)))
                found.check_backend()
                take(row, threads, found)
        except FolderNotWritable:
            raise  # no later model would fare better
        except QuadraError as error:
            row.error = " ".join(f"{error.tried}: {error.came_back}".split())
        return row

    def _spec(self, name: str, backend: str, api: str, threads: int) -> RunSpec:
        kind = self.asked.place
        cold = threads == 1
        peers = peers_beside(self.asked.peers, backend)
        if not cold or api != self.asked.apis[-1]:  # it has one API, and takes seconds: once for each model and backend
            peers = tuple(peer for peer in peers if peer != peer_names.LITERT)
        return from_arguments.make_spec(
            name,
            backend=backend,
            place=kind,
            api=api,
            peers=peers,
            repetitions=self.asked.repetitions,
            threads=threads,
            cold=cold,
            cache=str(self.kept) if cold and kind == "host" else "",
            second_starts=_SECOND_STARTS if cold and kind == "jvm" else 0,
            deadline_s=_DEADLINE_S[kind],
        )

    def _run(self, spec: RunSpec, show: Show) -> RunFolder:
        found = next((one for one in self.done if _same(one.spec(), spec)), None)
        try:
            return found or self.place.run(self.place.aim(spec), show, self.folder)
        finally:
            shutil.rmtree(self.kept, ignore_errors=True)


def _same(old: RunSpec, new: RunSpec) -> bool:
    """Whether a run answers what is asked; how often it was repeated does not matter."""
    same = all(getattr(old, k) == getattr(new, k) for k in _ASKED)
    return same and old.model.sha256 == new.model.sha256
