"""How right the peers of a run were: those who ran the model beside Quadra, on the same inputs."""

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace

from host_tools.base.units import counted
from host_tools.judge import compare
from host_tools.record import run_folder, schema
from host_tools.record.peer_names import key
from host_tools.record.run_folder import RunFolder

# What TFLite's runtime logs when a delegate has taken its nodes, after the runner has said whose turn it is.
_TURN = re.compile(r"^stage: (?:start|give the model's nodes to) (\S+)$")
_TAKEN = re.compile(r"Replacing (\d+) out of (\d+) node\(s\) with delegate .*?, yielding (\d+) partition")
Taken = tuple[int, int, int]  # nodes taken, nodes, partitions


@dataclass(frozen=True)
class Peer:
    """How a peer did in one run. error: why it did not run."""

    name: str
    error: str = ""
    nodes: int | None = None  # of the model; None: not known
    nodes_taken: int | None = None
    partitions: int | None = None
    relative: tuple[float, ...] = ()  # largest error of each output, of its range on the CPU
    ok: bool | None = None  # by the same measure as Quadra; None: not known


def judge(folder: RunFolder, judged: compare.Comparison | None) -> tuple[Peer, ...]:
    """Judges the peers of a run by what Quadra may be off, and writes peers.json."""
    timings = folder.read(schema.Timings)
    logged = _taken(folder)
    found = tuple(_judge(folder, name, judged, timings, logged.get(name)) for name in folder.spec().peers)
    rows = [{**asdict(peer), "relative": [schema.number(value) for value in peer.relative]} for peer in found]
    run_folder.write_json(folder.path / "peers.json", {"schema_version": 1, "peers": rows})
    return found


def sentence(peer: Peer) -> str:
    """What it took and how right it was, in words."""
    if peer.error:
        return "did not run"
    words = []
    if peer.nodes_taken is not None:
        nodes, parts = counted(peer.nodes or 0, "node"), counted(peer.partitions or 0, "partition")
        words.append(f"took {peer.nodes_taken} of {nodes} in {parts}")
    if peer.ok is not None:
        words.append(
            f"{'right' if peer.ok else 'beyond the tolerance'}, largest error {max(peer.relative, default=0.0):.1e} of the range"
        )
    return "; ".join(words) or "ran; there is no CPU result to compare with"


def _judge(
    folder: RunFolder, name: str, judged: compare.Comparison | None, timings: schema.Timings, logged: Taken | None
) -> Peer:
    nodes_taken, nodes, partitions = logged or (None, None, None)
    peer = Peer(name, timings.error_of(key(name)), nodes, nodes_taken, partitions)
    group = f"{key(name)}_outputs"
    if peer.error or not judged or not folder.has(group):
        return peer
    tensors, theirs, expected = folder.tensors(group), folder.arrays(group), folder.arrays("cpu_outputs")
    if not len(tensors) == len(theirs) == len(expected) == len(judged.outputs):
        return replace(peer, error=f"it left {len(theirs)} outputs, the CPU {len(expected)}")
    rows = zip(tensors, theirs, expected, judged.outputs)
    reference = folder.optional(schema.Reference) or schema.Reference()
    least = (
        compare.TOLERANCE["f16"] if folder.spec().peer_defaults else 0.0
    )  # half precision is the default of GPU delegates
    errors = [compare.measure_peer(reference, i, t, a, b, max(o.allowed, least)) for i, (t, a, b, o) in enumerate(rows)]
    return replace(peer, relative=tuple(e.relative for e in errors), ok=all(e.ok for e in errors))


def _taken(folder: RunFolder) -> dict[str, Taken]:
    """By peer, from the log."""
    return taken(folder.log().splitlines())


def taken(log: Iterable[str]) -> dict[str, Taken]:
    """What `log` says that each delegate took."""
    whose = ""
    found: dict[str, Taken] = {}
    for line in log:
        turn, count = _TURN.match(line), _TAKEN.search(line)
        whose = turn.group(1) if turn else whose
        if count and whose:
            found.setdefault(whose, (int(count[1]), int(count[2]), int(count[3])))
    return found
