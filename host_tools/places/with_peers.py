"""Quadra and its peers in one run: their cold starts, their second starts, and a run that goes on without a peer that
ended the process.

The same on this machine, in Android's runtime on a JVM and on devices; `start(mode, names)` is what differs: it runs the runner once, to its end,
with these peers (None: those of the RunSpec), and leaves what it wrote in the run folder.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from host_tools.base.errors import Misuse, QuadraError, RunFailed
from host_tools.places.attempt import Attempt, take_cold
from host_tools.record import peer_names, schema

Start = Callable[[str, Sequence[str] | None], None]


def cold_starts(attempt: Attempt, start: Start) -> dict[str, schema.Cold]:
    """By key: Quadra and each GPU peer, in processes of their own, each with an empty driver cache."""
    start("cold", None)
    starts = {"quadra": take_cold(attempt.folder)}
    for name in attempt.spec.peers:
        if name in peer_names.SHIPPED:
            try:
                start("cold", [name])
                starts[peer_names.key(name)] = take_cold(attempt.folder)
            except QuadraError as error:  # the run will say why
                if attempt.state != "crashed" and not isinstance(error, (RunFailed, Misuse)):
                    raise
            attempt.state = "failed"
    return starts


def second_starts(attempt: Attempt, start: Callable[[str, Path], None], folder: Path) -> dict[str, Any]:
    """Starts of Quadra, XNNPACK and each GPU peer from what a first one kept in a folder of its own, as timings.json has them.

    start(name, kept): starts one of them (no name: Quadra) in a process of its own. folder: empty, for what they keep. They take
    turns: what slows the machine slows all. Who does not start is left out: the run will say why.
    """
    names = {"quadra": "", **{peer_names.key(name): name for name in attempt.spec.peers}}
    found: dict[str, list[schema.Cold]] = {}
    for round_ in range(1 + attempt.spec.second_starts):  # the first of them keeps
        for key, name in names.items():
            kept = folder / key
            kept.mkdir(parents=True, exist_ok=True)
            if round_ and key not in found:
                continue
            try:
                start(name, kept)
                found.setdefault(key, []).extend([take_cold(attempt.folder)] if round_ else [])
            except QuadraError as error:
                if not name or (attempt.state != "crashed" and not isinstance(error, (RunFailed, Misuse))):
                    raise
                found.pop(key, None)
                attempt.state = "failed"
    return {
        "second_us": {key: [one.total_us for one in starts] for key, starts in found.items()},
        "second_cpu_us": {key: [one.cpu_us or 0 for one in starts] for key, starts in found.items()},
        "kept_bytes": {
            key: sum(file.stat().st_size for file in (folder / key).rglob("*") if file.is_file())
            for key in found
            if key != peer_names.XNNPACK
        },
    }


def run_with_peers(attempt: Attempt, start: Start) -> dict[str, str]:
    """The run. A peer that takes the process down is left out of the next try; returns why, as in timings.json."""
    names: list[str] = list(attempt.spec.peers)
    lost: dict[str, str] = {}
    while True:
        try:
            start("run", names)
            return lost
        except QuadraError as error:
            guilty = [name for name in names if attempt.state == "crashed" and attempt.stage.endswith(f" {name}")]
            if not guilty:
                raise
            lost[f"{peer_names.key(guilty[0])}_error"] = error.came_back.splitlines()[0]
            names.remove(guilty[0])
            attempt.state = "failed"
