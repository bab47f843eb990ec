"""Runs models through LiteRT's CompiledModel, with Quadra as its GPU accelerator, in a worker process."""

from __future__ import annotations

from tests.delegate import Quadra


class Compiled(Quadra):
    """Its library is libLiteRtGpuAccelerator.so."""

    module = "tests.compiled_worker"


def variables(backend: str, **given: str) -> dict[str, str]:
    """Options of the delegate as the environment names them. What can run on the GPU does, however little it is."""
    named = {"backend": backend, "small_partitions_allowed": "1", **given}
    return {f"QUADRA_{name.upper()}": value for name, value in named.items()}
