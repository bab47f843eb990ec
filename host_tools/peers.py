"""Who runs a model beside Quadra, in the same process, on the same inputs, in turns.

`xnnpack` is the interpreter's own way on the CPU. `shipped-opencl` and `shipped-gles` are the GPU delegate that
TFLite ships, unmodified, from Maven Central: it exists for Android only, so it runs where Android's runtime does.
"""

import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Dict, Iterable, Optional, Sequence, Tuple

from host_tools import compare, maven, run_folder
from host_tools.run_folder import RunFolder

XNNPACK = "xnnpack"
SHIPPED = {"shipped-opencl": "OpenCL", "shipped-gles": "OpenGL ES"}
ALIASES = ("tensorflow-lite-gpu", "tensorflow-lite-gpu-api")
_LIBRARY = "libtensorflowlite_gpu_jni.so"

# The shipped delegate asks for GPUs only, and chooses its kernels by their names. Where it does not know one, it takes
# plain buffers, which is what suits a CPU; a CPU's own name could be taken for a GPU of that vendor.
SHOWN_DEVICE = {"BIONIC_CL_GPU_FOR": _LIBRARY, "BIONIC_CL_NAME": "PoCL", "BIONIC_CL_VENDOR": "PoCL"}
# What TFLite's runtime logs when a delegate has taken its nodes, after the runner has said whose turn it is.
_TURN = re.compile(r"^stage: (?:start|give the model's nodes to) (\S+)$")
_TAKEN = re.compile(r"Replacing (\d+) out of (\d+) node\(s\) with delegate .*?, yielding (\d+) partition")


@dataclass(frozen=True)
class Peer:
    """How a peer did in one run. error: why it did not run."""

    name: str
    error: str = ""
    nodes: Optional[int] = None  # of the model; None: not known
    nodes_taken: Optional[int] = None
    partitions: Optional[int] = None
    relative: Tuple[float, ...] = ()  # largest error of each output, of its range on the CPU
    ok: Optional[bool] = None  # by the same measure as Quadra; None: not known


def judge(folder: RunFolder, judged: Optional[compare.Comparison]) -> Tuple[Peer, ...]:
    """Judges the peers of a run by what Quadra may be off, and writes peers.json."""
    timings = folder.json("timings.json")
    logged = _taken(folder)
    found = tuple(_judge(folder, name, judged, timings, logged.get(name, ())) for name in folder.spec().peers)
    rows = [{**asdict(peer), "relative": [compare.number(value) for value in peer.relative]} for peer in found]
    run_folder.write_json(folder.path / "peers.json", {"schema_version": 1, "peers": rows})
    return found


def sentence(peer: Peer) -> str:
    """What it took and how right it was, in words."""
    if peer.error:
        return "did not run"
    words = []
    if peer.nodes_taken is not None:
        parts = f"{peer.partitions} partition{'s' if peer.partitions != 1 else ''}"
        words.append(f"took {peer.nodes_taken} of {peer.nodes} nodes in {parts}")
    if peer.ok is not None:
        words.append(f"{'right' if peer.ok else 'WRONG'}, largest error {max(peer.relative, default=0.0):.1e} of the range")
    return "; ".join(words) or "ran; there is no CPU result to compare with"


def read(folder: RunFolder) -> Tuple[Peer, ...]:
    """What `judge` wrote; nothing where it did not."""
    rows = folder.optional_json("peers.json", {"peers": []})["peers"]
    return tuple(Peer(**{**row, "relative": tuple(float(v) for v in row["relative"])}) for row in rows)


def _judge(folder: RunFolder, name: str, judged, timings: Dict[str, Any], logged: Tuple[int, ...]) -> Peer:
    counts = dict(zip(("nodes_taken", "nodes", "partitions"), logged))
    error = timings.get(f"{key(name)}_error", "")
    group = f"{key(name)}_outputs"
    if error or not judged or not folder.has(group):
        return Peer(name, error, **counts)
    tensors, theirs, expected = folder.tensors(group), folder.arrays(group), folder.arrays("cpu_outputs")
    if not len(tensors) == len(theirs) == len(expected):
        return Peer(name, f"it left {len(theirs)} outputs, the CPU {len(expected)}", **counts)
    rows = zip(tensors, theirs, expected, judged.outputs)
    errors = [compare.measure(i, t, a, b, o.allowed) for i, (t, a, b, o) in enumerate(rows)]
    return Peer(name, "", **counts, relative=tuple(e.relative for e in errors), ok=all(e.ok for e in errors))


def _taken(folder: RunFolder) -> Dict[str, Tuple[int, ...]]:
    """(nodes taken, nodes, partitions) by peer, from the log."""
    if not folder.has("log.txt"):
        return {}
    return taken((folder.path / "log.txt").read_text(encoding="utf-8", errors="replace").splitlines())


def taken(log: Iterable[str]) -> Dict[str, Tuple[int, ...]]:
    """What `log` says that each delegate took: (nodes taken, nodes, partitions)."""
    whose, found = "", {}
    for line in log:
        turn, count = _TURN.match(line), _TAKEN.search(line)
        whose = turn.group(1) if turn else whose
        if count and whose:
            found.setdefault(whose, tuple(int(n) for n in count.groups()))
    return found


def key(name: str) -> str:
    """The name of a peer in timings.json and in folders."""
    return name.replace("-", "_")


def label(name: str) -> str:
    """The name of a peer for people; `name` may be its key."""
    name = name.replace("_", "-")
    return "XNNPACK" if name == XNNPACK else f"shipped, {SHIPPED[name]}" if name in SHIPPED else name


def needs_shipped(names: Sequence[str]) -> bool:
    return any(name in SHIPPED for name in names)


def library(abi: str) -> Path:
    """The shipped delegate's library."""
    return maven.aar_file("tensorflow-lite-gpu", f"jni/{abi}/{_LIBRARY}")


def parse(text: str) -> Tuple[str, ...]:
    """'xnnpack,shipped-opencl' as names; the RunSpec checks them."""
    return tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
