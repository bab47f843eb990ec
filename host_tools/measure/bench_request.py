"""What `inv bench` is asked for: the words of its command line, checked before anything runs."""

import json
from dataclasses import dataclass
from pathlib import Path

from host_tools.base.errors import Misuse
from host_tools.judge.bench_figures import Asked, peers_beside
from host_tools.measure import resumed_folder
from host_tools.record import peer_names, printed
from host_tools.request import float_twins, from_arguments, models, signatures

BACKENDS = {"opencl": ("opencl",), "gles": ("gles",), "both": ("opencl", "gles")}
APIS = {"interpreter": ("interpreter",), "compiled": ("compiled",), "both": ("interpreter", "compiled")}
# Those of the catalogue that run wholly on the delegate, and on XNNPACK.
MODELS = (
    "face_landmark",
    "hand_landmark_full",
    "hand_landmark_lite",
    "hand_recrop",
    "iris_landmark",
    "mediapipe/face_detection_full_range_sparse",
    "mediapipe/face_detection_short_range",
    "mediapipe/pose_detection",
    "palm_detection_full",
    "palm_detection_lite",
    "pose_landmark_full",
    "selfie_segmentation",
    "selfie_segmentation_landscape",
)
# A row starts three processes of an app, on the JVM or on a device: many runs of each would tell little more.
_REPETITIONS = {"host": 50, "jvm": 10, "device": 20}
_THREADS = {"host": (1, 2), "jvm": (1,), "device": (1,)}


@dataclass(frozen=True)
class Words:
    """Those of the command line. Limits: of geometric means, 0: none. lab: the address of a lab's scheduler."""

    models: tuple[str, ...] = ()
    on: str = ""
    backend: str = ""
    peer: str = ""
    api: str = ""
    twins: bool = False
    repetitions: int = 0
    resume: str = ""
    limit: float = 0.0
    limit_shipped: float = 0.0
    lab: str = ""
    sizes: tuple[str, ...] = ()
    defaults: bool = False


def asked(words: Words) -> tuple[Asked, list[str]]:
    """What the words ask for, and those of MODELS that are left out because they are not here.

    on: host, jvm or a device; none means that of the bench to resume, else host. peer: names with a comma between them; none
    means XNNPACK on the host, elsewhere all. api: a word of APIS, on the host; none means the interpreter. models: those of the
    catalogue are fetched; none means MODELS, as far as they are here. A quantised model brings its float twin, if
    that is here; with `twins` one is made where it is not. backend: none means OpenCL on the host, elsewhere those of the peers.
    """
    names = words.models
    for name in names:
        model, signature = from_arguments.split(name)
        path = models.find(model).path
        if signature:
            signatures.entry(path.read_bytes(), signature)
    earlier = _Earlier.of(words.resume)
    place, device = _place(words, earlier), "" if words.lab else words.on or earlier.device
    on_host = place == "host"
    apis = _one_of("--api", words.api or "interpreter", APIS)
    if not on_host and apis != ("interpreter",):
        came_back = "Android's runtime has no CompiledModel"
        raise Misuse(
            f"bench with --api {words.api} on the JVM or a device", came_back, "omit --api, or measure on the host"
        )
    if on_host and words.limit_shipped:
        came_back = "TFLite's stock GPU delegate runs in Android's runtime only"
        raise Misuse("bench with --limit-shipped on this machine", came_back, "add --on jvm, or a device's serial")
    peers, backends = (_on_host if on_host else _in_app)(words.peer, words.backend)
    if words.defaults and set(peers) == {peer_names.XNNPACK}:
        came_back = "XNNPACK computes in float32 by default, as Quadra does: it would be the same row"
        do_next = "add --peer litert-gpu" if on_host else "name a GPU delegate with --peer"
        raise Misuse(
            "bench with --defaults", came_back, f"{do_next}{', or add --on jvm or a device' if on_host else ''}"
        )
    absent = [] if names else [name for name in MODELS if not models.is_here(name)]
    if len(absent) == len(MODELS):
        models.require(MODELS, "bench")
    found = tuple(dict.fromkeys(names)) or tuple(name for name in MODELS if name not in absent)
    if words.twins:
        for name in found:
            model, _ = from_arguments.split(name)
            if not models.float_twin(model):
                float_twins.make(model)
    found = tuple(dict.fromkeys(one for name in found for one in (name, from_arguments.float_twin(name)) if one))
    found = tuple(one for name in found for one in from_arguments.each_signature(name))
    repetitions, threads = words.repetitions or _REPETITIONS[place], _THREADS[place]
    from_arguments.sizes_of_each(found, words.sizes)
    more = (words.limit, words.limit_shipped, words.sizes, words.defaults, device if place == "device" else "")
    return Asked(found, backends, peers, repetitions, place, threads, apis, *more), absent


def backends_of(word: str) -> tuple[str, ...]:
    return _one_of("--backend", word, BACKENDS)


def _one_of(option: str, word: str, known: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    if word not in known:
        raise Misuse(f"read {option}", f"{word!r} is not one of {', '.join(known)}", "choose one of these")
    return known[word]


def _place(words: Words, earlier: "_Earlier") -> str:
    if words.lab and words.on:
        raise Misuse("run with --lab and --on", "the lab says which devices there are", "omit one")
    known, tried = earlier.place, f"go on with the bench {words.resume}"
    if known == "device" and not (words.lab or words.on or earlier.device):
        raise Misuse(tried, "it ran in a lab", "add --lab and its address")
    usual = known or ("jvm" if words.resume else "host")  # nothing was written yet: on the JVM runs take long
    on = words.on if words.on in ("", "host", "jvm") else "device"
    place = on or ("device" if words.lab else usual)
    in_lab = known == "device" and not earlier.device
    if known and (place != known or (place == "device" and in_lab != bool(words.lab))):
        where = "in a lab" if in_lab else f"on {earlier.device or known}"
        raise Misuse(tried, f"it ran {where}", f"omit {'--lab' if words.lab else '--on'}, or --resume")
    return place


def check_device(resume: str, name: str) -> None:
    """Misuse where the bench to resume ran on another device than that of this name: figures of two are not compared."""
    known = _Earlier.of(resume).device
    if known and known != name:
        raise Misuse(
            f"go on with the bench {resume}", f"it ran on {known}, and this is {name}", "omit --on, or --resume"
        )


def _on_host(beside: str, backend: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(peers, backends); no peer means XNNPACK, no backend OpenCL."""
    known = (peer_names.XNNPACK, peer_names.LITERT)
    return _peers(beside or peer_names.XNNPACK, known, "add --on jvm, or a device, for the others"), backends_of(
        backend or "opencl"
    )


def _in_app(beside: str, backend: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(peers, backends); no peer means all, no backend those of the peers."""
    known = (peer_names.XNNPACK, *peer_names.SHIPPED)
    wanted = _peers(beside or ",".join(known), known, "choose from these")
    own = [b for b in BACKENDS["both"] if f"shipped-{b}" in wanted]
    backends = backends_of(backend) if backend else tuple(own) or ("opencl",)
    return tuple(dict.fromkeys(name for b in backends for name in peers_beside(wanted, b))), backends


def _peers(beside: str, known: tuple[str, ...], do_next: str) -> tuple[str, ...]:
    wanted = peer_names.parse(beside)
    for name in wanted:
        if name == peer_names.LITERT and name not in known:
            came_back = "LiteRT's GPU accelerator is measured as its Python wheel has it, on this machine only"
            raise Misuse(f"bench beside {name}", came_back, f"omit --on, or choose from {', '.join(known)}")
        if name not in known:
            raise Misuse("read --peer", f"{name!r} is not one of {', '.join(known)}", do_next)
    return wanted


def folder_of(name: str) -> Path:
    """The bench of this name or path."""
    return resumed_folder.of(name, "the bench", "bench")


@dataclass(frozen=True)
class _Earlier:
    """Where the bench to resume ran: words of its bench.json; empty where it does not say. device: that of --on."""

    place: str = ""
    device: str = ""

    @classmethod
    def of(cls, resume: str) -> "_Earlier":
        if not resume:
            return cls()
        try:
            document = json.loads((folder_of(resume) / printed.BenchDocument.FILE).read_text(encoding="utf-8"))
            place, device = document["place"], document.get("device", "")
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return cls()
        known = place in ("host", "jvm", "device")
        return cls(str(place), device if place == "device" and isinstance(device, str) else "") if known else cls()
