"""The models that are mutated: the tests' own, written by a process of the tests, and small real ones."""

import sys
import tempfile
from pathlib import Path

from host_tools.base import child_process, settings

_MOST_BYTES = 1 << 18  # of a real model


def load() -> dict[str, bytes]:
    """Files by name, in an order that does not change."""
    with tempfile.TemporaryDirectory(prefix="quadra-fuzz-seeds-") as folder:
        child_process.run([sys.executable, "-m", "tests.fuzz_seeds", folder], cwd=settings.ROOT, timeout_s=300)
        paths = sorted(Path(folder).glob("*.tflite"))
        own = {path.stem: path.read_bytes() for path in paths}
    real = [path for models in settings.read().models_dirs for path in sorted(models.glob("*.tflite"))]
    small = {path.stem: path.read_bytes() for path in real if path.stat().st_size <= _MOST_BYTES}
    return {**own, **small}
