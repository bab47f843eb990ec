"""The distinct kernel sources of models, for any target and precision, as the null backend writes them.

They are kept in `.cache/kernel_texts`, by the library that made them: a model that was asked for before is not run again.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from host_tools.base import digests
from host_tools.base.settings import ROOT
from tests.delegate import TARGETS, Quadra

CACHE = ROOT / ".cache" / "kernel_texts"
ENDING = {"opencl": "cl", "gles": "comp"}
_KEPT_LIBRARIES = 3


@dataclass(frozen=True)
class Target:
    """A target's file. `language`: of its kernels."""

    name: str
    path: Path

    @cached_property
    def language(self) -> str:
        return json.loads(self.path.read_text(encoding="utf-8")).get("api", "opencl")

    @property
    def is_cpu(self) -> bool:
        return self.name.startswith("cpu-")


@dataclass(frozen=True)
class Kernel:
    """A kernel of a model: its name there, and its source, which others may share."""

    name: str
    path: Path


@dataclass(frozen=True)
class Dumped:
    """What a model became for a target."""

    kernels: tuple[Kernel, ...]
    on_cpu: tuple[str, ...]  # nodes that no kernel computes, and why
    error: str


def targets(folder: Path) -> list[Target]:
    """Of every file of the toolkit, and a phone that keeps its tensors in buffers, in OpenGL ES. `folder`: for its file."""
    names = [path.stem for path in sorted(TARGETS.glob("*.json"))]
    return [*(Target(name, TARGETS / f"{name}.json") for name in names), twin("mali-g76-buffers", folder)]


def twin(name: str, folder: Path) -> Target:
    """An OpenCL target's GPU in OpenGL ES, with tensors stored as in OpenCL."""
    path = folder / f"{name}.json"
    if not path.exists():
        target = json.loads((TARGETS / f"{name}.json").read_text(encoding="utf-8"))
        stated = {"storage": target["storage"]} if "storage" in target else {}
        gles = json.loads((TARGETS / f"{name.removesuffix('-buffers')}-gles.json").read_text(encoding="utf-8"))
        path.write_text(json.dumps({**gles, **stated}), encoding="utf-8")
    return Target(f"{name}-gles", path)


class KernelTexts:
    """The store of one library's."""

    def __init__(self, quadra: Quadra, root: Path = CACHE) -> None:
        self._quadra = quadra
        self.folder = root / digests.sha256_of(quadra.library)[:16]
        if not self.folder.exists():
            _drop_old(root)
        self.folder.mkdir(parents=True, exist_ok=True)
        os.utime(self.folder)

    def of(self, model: bytes, target: Target, precision: str) -> Dumped:
        """The kernels of a model, made or kept."""
        words = [hashlib.sha256(part).hexdigest() for part in (model, target.path.read_bytes())]
        key = hashlib.sha256(" ".join([*words, precision]).encode()).hexdigest()
        record = self.folder / "models" / key[:2] / f"{key}.json"
        try:
            told = json.loads(record.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            told = self._dump(model, target, precision)
            write(record, json.dumps(told).encode())
        kernels = tuple(Kernel(name, self.folder / file) for name, file in told["kernels"])
        return Dumped(kernels, tuple(told["on_cpu"]), told["error"])

    def _dump(self, model: bytes, target: Target, precision: str) -> dict:
        with tempfile.TemporaryDirectory(prefix="quadra-texts-") as name:
            given = {"backend": "null", "precision": precision, "dump_dir": name, "target": str(target.path)}
            outcome = self._quadra.run(model, **given)
            paths = sorted(Path(name).glob("partition_*/kernels/*"))
            kernels = [(path.stem, self._keep(path)) for path in paths]
        return {"kernels": kernels, "on_cpu": outcome.on_cpu(), "error": outcome.error}

    def _keep(self, path: Path) -> str:
        """The name of the source's file here."""
        content = path.read_bytes()
        digest = hashlib.sha256(content).hexdigest()[:20]
        name = f"sources/{digest[:2]}/{digest}{path.suffix}"
        if not (self.folder / name).exists():
            write(self.folder / name, content)
        return name


def distinct(kernels: Iterable[Kernel]) -> list[Path]:
    return list(dict.fromkeys(kernel.path for kernel in kernels))


def write(path: Path, content: bytes) -> None:
    """Whole or not there: several processes of tests share the store."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.{os.getpid()}")
    new.write_bytes(content)
    new.replace(path)


def _drop_old(root: Path) -> None:
    """Those of the libraries that were used longest ago."""
    folders = sorted((f for f in root.glob("*") if f.is_dir()), key=lambda f: f.stat().st_mtime, reverse=True)
    for folder in folders[_KEPT_LIBRARIES - 1 :]:
        shutil.rmtree(folder, ignore_errors=True)
