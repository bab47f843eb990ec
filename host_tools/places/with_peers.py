"""Quadra and its peers in the runner of Android: who starts cold, and what happens when a peer takes the app down.

The same in Android's runtime on a JVM and on devices; `start(mode, names)` is what differs: it runs the runner once, to its end,
with these peers (None: those of the RunSpec), and leaves what it wrote in the run folder.
"""

from collections.abc import Callable, Sequence

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
