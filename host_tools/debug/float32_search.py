"""Which nodes half precision must leave in float32 for a wanted error: found by running sets of them.

First the nodes that make or read what half cannot hold. If that is not enough, more of them by their own error, as few as do
(halving). Then each half, quarter, … of the set that can be left out again is left out, as long as time and runs are left.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from msgspec import structs

from host_tools.base.units import counted, ranges_text
from host_tools.debug import wrong_op
from host_tools.judge import judged
from host_tools.places.place import Place, Show
from host_tools.record import schema
from host_tools.record.spec import RunSpec

_MOST_RUNS = 40
_MOST_S = 180.0  # then the smallest set so far is it: a model of 200 nodes would take a quarter of an hour


@dataclass
class Found:
    """nodes: None where not even all of them are enough. Errors are the largest of an output, of its range."""

    nodes: tuple[int, ...] | None
    error: float  # with these nodes (with all of them, where that is not enough)
    half_error: float  # with none
    runs: int
    smallest: bool = True  # no node can be left out; else runs or time ran out


class Search:
    """error: of a run with these nodes in float32. own_errors: of each node, by itself, in such a run."""

    def __init__(
        self,
        error: Callable[[tuple[int, ...]], float],
        own_errors: Callable[[tuple[int, ...]], dict[int, float]],
        nodes: Sequence[int],
        wanted: float,
        most_s: float = _MOST_S,
    ) -> None:
        self._error, self._own_errors, self.nodes, self.wanted = error, own_errors, nodes, wanted
        self.errors: dict[tuple[int, ...], float] = {}
        self._end = time.monotonic() + most_s

    def find(self, at_risk: Iterable[int]) -> Found:
        half = self._of(())
        if half <= self.wanted:
            return Found((), half, half, len(self.errors))
        every = self._of(self.nodes)
        if not every <= self.wanted:
            return Found(None, every, half, len(self.errors))
        chosen = tuple(sorted(set(at_risk) & set(self.nodes)))
        if not self._enough(chosen):
            chosen = self._grown(chosen)
        chosen, smallest = self._shrunk(chosen)
        return Found(chosen, self._of(chosen), half, len(self.errors), smallest)

    def _of(self, nodes: Iterable[int]) -> float:
        key = tuple(sorted(nodes))
        if key not in self.errors:
            found = self._error(key)
            self.errors[key] = found if found == found else float("inf")
        return self.errors[key]

    def _enough(self, nodes: Iterable[int]) -> bool:
        return self._of(nodes) <= self.wanted

    def _over(self) -> bool:
        return time.monotonic() >= self._end

    def _grown(self, chosen: tuple[int, ...]) -> tuple[int, ...]:
        """With as few more as it takes, the largest own errors first."""
        own = self._own_errors(chosen)
        more = sorted(set(self.nodes) - set(chosen), key=lambda node: -own.get(node, 0.0))
        low, high = 0, len(more)
        while high - low > 1 and not self._over():  # all of them are enough
            middle = (low + high) // 2
            if self._enough((*chosen, *more[:middle])):
                high = middle
            else:
                low = middle
        return tuple(sorted((*chosen, *more[:high])))

    def _shrunk(self, chosen: tuple[int, ...]) -> tuple[tuple[int, ...], bool]:
        size = (len(chosen) + 1) // 2
        while size and len(chosen) > 1:
            for start in range(0, len(chosen), size)[::-1]:
                fewer = chosen[:start] + chosen[start + size :]
                if len(self.errors) >= _MOST_RUNS or self._over():
                    return chosen, False
                if fewer and self._enough(fewer):
                    chosen = fewer
            size = (size + 1) // 2 if size > 1 else 0
        return chosen, True


def find(spec: RunSpec, place: Place, at_risk: Iterable[int], wanted: float, show: Show) -> Found:
    """Runs the model at `place` as `spec` asks, with its precision."""
    place.prepare()
    begun, count = time.monotonic(), 0

    def holding(nodes: tuple[int, ...]) -> RunSpec:
        options = {**spec.options, "float32_nodes": ranges_text(nodes)}
        return structs.replace(spec, options=options, repetitions=1, peers=(), profile=False, cold=False)

    def run(nodes: tuple[int, ...]) -> judged.Judged:
        nonlocal count
        head = _progress(count := count + 1, len(nodes), time.monotonic() - begun)
        show(head)
        found = judged.judge(place.run(place.aim(holding(nodes)), lambda text: show(f"{head}: {text}")))
        found.check_backend()
        return found

    def own_errors(nodes: tuple[int, ...]) -> dict[int, float]:
        show("each node by itself")
        return wrong_op.own_errors(holding(nodes), place, show)

    first = run(())
    report = first.folder.read(schema.Verdicts)
    nodes = [n.index for n in report.nodes if n.on == "gpu" and not n.subgraph]
    search = Search(lambda chosen: run(chosen).largest_error, own_errors, nodes, wanted)
    search.errors[()] = first.largest_error if first.largest_error == first.largest_error else float("inf")
    return search.find(at_risk)


def _progress(number: int, nodes: int, passed_s: float) -> str:
    """Of the run that begins now: which it is, and how much of the time for the search is left."""
    left = _MOST_S - passed_s
    end = f"at most {left:.0f} s left" if left > 0 else "the last ones"
    return f"run {number} of at most {_MOST_RUNS} ({end}), {counted(nodes, 'node')} in float32"
