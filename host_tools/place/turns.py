"""Quadra and its peers in the runner of Android: who starts cold, and what happens when a peer takes the app down.

The same in the app place and on devices; `start(mode, names)` is what differs: it runs the runner once, to its end,
with these peers (None: those of the RunSpec), and leaves what it wrote in the run folder.
"""

from typing import Callable, Dict, Optional, Sequence

from host_tools import peers
from host_tools.errors import Misuse, QuadraError, RunFailed
from host_tools.place.child import Child, take_cold

Start = Callable[[str, Optional[Sequence[str]]], None]


def cold_starts(child: Child, start: Start) -> Dict[str, Dict[str, int]]:
    """By key: Quadra and each GPU peer, in processes of their own, each with an empty driver cache."""
    start("cold", None)
    starts = {"quadra": take_cold(child.folder)}
    for name in child.spec.peers:
        if name in peers.SHIPPED:
            try:
                start("cold", [name])
                starts[peers.key(name)] = take_cold(child.folder)
            except QuadraError as error:  # the run will say why
                if child.state != "crashed" and not isinstance(error, (RunFailed, Misuse)):
                    raise
            child.state = "failed"
    return starts


def run_with_peers(child: Child, start: Start) -> Dict[str, str]:
    """The run. A peer that takes the process down is left out of the next try; returns why, as in timings.json."""
    names, lost = list(child.spec.peers), {}
    while True:
        try:
            start("run", names)
            return lost
        except QuadraError as error:
            guilty = [name for name in names if child.state == "crashed" and child.stage.endswith(f" {name}")]
            if not guilty:
                raise
            lost[f"{peers.key(guilty[0])}_error"] = error.came_back.splitlines()[0]
            names.remove(guilty[0])
            child.state = "failed"
