"""Writes the models that `./inv fuzz models` starts from: `python -m tests.fuzz_seeds FOLDER`. Every test vector, graphs
with several inputs and branches, and models that make no sense to begin with."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from hypothesis import HealthCheck, given, settings

from tests.bad_models import BAD_MODELS, make
from tests.random_graphs import graphs
from tests.vectors import all_cases

_MOST_BYTES = 60000
_GRAPHS = 40


def seeds() -> Iterator[tuple[str, bytes]]:
    """(name, file) of each."""
    yield from ((f"vector-{case.id}", case.model()) for case in all_cases())
    yield from ((f"bad-{name}", make(name)) for name in BAD_MODELS)
    yield from ((f"graph-{number:03}", raw) for number, raw in enumerate(_random_graphs()))


def _random_graphs() -> list[bytes]:
    """The same ones every time."""
    made = []

    @settings(
        max_examples=_GRAPHS, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck)
    )
    @given(graph=graphs())
    def collect(graph):
        made.append(graph.model.bytes())

    collect()
    return made


def main() -> None:
    folder = Path(sys.argv[1])
    for name, raw in seeds():
        if len(raw) <= _MOST_BYTES:
            (folder / f"{name.replace('/', '_')}.tflite").write_bytes(raw)


if __name__ == "__main__":
    main()
