"""Errors of the same models in two places: this machine's interpreter, and Android's runtime with Android's library.

    python -m tests.places FOLDER FOLDER     # folders with run folders, e.g. those of `inv bench`, of either place

What Quadra computes is the same program on the same driver, so its outputs must be the same but for the last bits: the
two libraries were made by different compilers, which round constants of the kernels in their own ways.
"""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from host_tools.judge import compare
from host_tools.record import run_folder
from host_tools.record.run_folder import RunFolder

_CLOSE = 1e-5  # of an output's range, between the places
_NOISE_FACTOR = 3.0  # as in compare.py


@dataclass(frozen=True)
class Row:
    """A model on one backend. Errors are the largest of any output, of its range, each against its own reference."""

    model: str
    backend: str
    host_error: float
    app_error: float
    between: float  # the outputs of one place from those of the other
    moves: float  # how far a change of the last bit of the inputs moves the CPU's own
    right: bool  # in both places
    nodes: tuple[str, str]  # on the GPU of all: host, app

    @property
    def ok(self) -> bool:
        """The same nodes on the GPU, outputs that are right, and the same; or no further off than rounding explains."""
        limit = _NOISE_FACTOR * self.moves
        right = self.right or 0 < max(self.host_error, self.app_error) <= limit
        return right and self.nodes[0] == self.nodes[1] and self.between <= max(_CLOSE, limit)

    def __str__(self) -> str:
        close = "same" if self.between <= _CLOSE else f"rounding moves the CPU's by {self.moves:.0e}"
        verdict = close if self.ok else "DIFFERENT"
        errors = f"{self.host_error:9.1e} {self.app_error:9.1e} {self.between:9.1e}"
        return f"{self.model:34} {self.backend:7} {self.nodes[0]:>8} {self.nodes[1]:>8} {errors}  {verdict}"


HEAD = f"{'model':34} {'backend':7} {'host GPU':>8} {'JVM GPU':>8} {'host':>9} {'JVM':>9} {'between':>9}"


def row(host: RunFolder, app: RunFolder) -> Row:
    judged = [compare.compare(folder) for folder in (host, app)]
    errors = [max((o.relative for o in one.outputs), default=0.0) for one in judged]
    references = (folder.json("reference.json") for folder in (host, app))
    moves = max((m for value in references for m in value.get("last_bit_moves", [])), default=0.0)
    pairs = zip(host.arrays("outputs"), app.arrays("outputs"))
    between = max((compare.distance(theirs, ours) for ours, theirs in pairs), default=0.0)
    right, spec = all(one.ok for one in judged), host.spec()
    nodes = (_on_gpu(host), _on_gpu(app))
    return Row(spec.model.name, spec.options["backend"], *errors, between, moves, right, nodes)


def rows(folders: Iterable[Path]) -> list[Row]:
    """A row for each model and backend that ran to its end in both places; of several runs the last."""
    found: dict[tuple[str, str], dict[str, RunFolder]] = {}
    for folder in folders:
        for run_id in run_folder.list_ids(folder):
            one = RunFolder(folder / run_id)
            if one.is_complete() and one.has("cpu_outputs"):
                spec = one.spec()
                found.setdefault((spec.model.name, spec.options["backend"]), {})[spec.place] = one
    return [row(places["host"], places["jvm"]) for places in found.values() if {"host", "jvm"} <= places.keys()]


def _on_gpu(folder: RunFolder) -> str:
    nodes = folder.json("verdicts.json")["nodes"]
    return f"{sum(node['on'] == 'gpu' for node in nodes)}/{len(nodes)}"


def main(words: list[str]) -> int:
    found = rows(map(Path, words))
    print(HEAD)
    for one in found:
        print(one)
    different = sum(not one.ok for one in found)
    print(f"{len(found)} rows, {different} different")
    return 1 if different or not found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
