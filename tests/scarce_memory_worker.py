"""Runs models as `tests.delegate_worker` does, in an address space that SPARE_MB says the room of, beyond what it has."""

from __future__ import annotations

import os
import resource
from pathlib import Path
from typing import Any

from tests import delegate_worker


def attempt(request: dict[str, Any]) -> dict[str, Any]:
    limits = resource.getrlimit(resource.RLIMIT_AS)
    if spare := os.environ.get("SPARE_MB"):
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        has = pages * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (has + (int(spare) << 20), limits[1]))
    reply = delegate_worker.attempt(request)
    resource.setrlimit(resource.RLIMIT_AS, limits)
    return reply


if __name__ == "__main__":
    delegate_worker.main(attempt)
