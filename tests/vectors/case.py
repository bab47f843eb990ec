"""What a test case is, and the data that feeds it."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tests.model_builder import Model


@dataclass(frozen=True)
class Feed:
    """One model input: shape and the values put there. `special` values are scattered over the random ones. Ints are
    from `low` to `high`, both included. Floats are multiples of `step` if it is given: a power of two, so that half
    holds them exactly and an op that chooses or rounds has the same answer there."""

    shape: tuple[int, ...]
    low: float = -2.0
    high: float = 2.0
    special: tuple[float, ...] = ()
    dtype: str = "float32"
    step: float = 0.0

    def make(self, seed: str) -> np.ndarray:
        if self.dtype not in ("float16", "float32"):
            numbers = generator(seed).integers(int(self.low), int(self.high), self.shape, endpoint=True)
            values = np.asarray(numbers).astype(self.dtype)
        else:
            values = generator(seed).uniform(self.low, self.high, self.shape).astype(np.float32)
        if self.step:
            values = np.float32(self.step) * np.round(values / np.float32(self.step))
        flat = values.reshape(-1)
        if self.special:
            spots = generator(seed + "/spots").permutation(flat.size)[: len(self.special)]
            flat[spots] = self.special[: len(spots)]
        return values.astype(self.dtype)


@dataclass(frozen=True)
class Case:
    """A small model, its inputs and its expected outputs.

    `build(model, *inputs)` adds nodes and returns the output value or a tuple of them; `reference(*arrays)` gives the
    same in numpy. `place` says where the nodes must run: "gpu", "any" (Quadra may leave them to the CPU, but the
    result holds), or "cpu" with `reason` a word that the verdict must contain. `on_cpu` is False for what the CPU
    interpreter cannot run, or computes less exactly. `half` is False where the values do not fit in half precision. `subgraphs` make the model's
    further ones.
    """

    op: str
    name: str
    inputs: Sequence[tuple[int, ...] | Feed]
    build: Callable
    reference: Callable | None = None
    place: str = "gpu"
    reason: str = ""
    on_cpu: bool = True
    half: bool = True
    subgraphs: Sequence[Callable[[], Model]] = ()

    @property
    def id(self) -> str:
        return f"{self.op.lower()}-{self.name}"

    def feeds(self) -> list[np.ndarray]:
        feeds = [feed if isinstance(feed, Feed) else Feed(tuple(feed)) for feed in self.inputs]
        return [feed.make(f"{self.id}/{i}") for i, feed in enumerate(feeds)]

    def model(self) -> bytes:
        model = Model()
        inputs = [
            model.input(feed.shape, feed.dtype) if isinstance(feed, Feed) else model.input(feed) for feed in self.inputs
        ]
        model.output(*self.outputs(model, *inputs))
        return model.bytes(*(make() for make in self.subgraphs))

    def outputs(self, model: Model, *inputs) -> tuple:
        """Adds its nodes to a model that may have others."""
        return as_tuple(self.build(model, *inputs))

    def check(self, outcome, tolerance: float) -> None:
        """Asserts that the (last) outputs are right, and that all nodes are where `place` wants them."""
        outcome.check(self.expected(), tolerance, everything_on_gpu=self.place == "gpu")

    def expected(self) -> list[np.ndarray]:
        with np.errstate(all="ignore"):
            outputs = as_tuple(self.reference(*self.feeds()))
        return [np.asarray(output, _kept(np.asarray(output).dtype)) for output in outputs]


def _kept(dtype: np.dtype) -> np.dtype:
    """References compute in float64 and answer in float32; all other types are as the op has them."""
    return np.dtype(np.float32) if dtype.kind == "f" else dtype


def as_tuple(value) -> tuple:
    return value if isinstance(value, tuple) else (value,)


def generator(seed: str) -> np.random.Generator:
    """A generator that depends on the text alone, so that a case has the same numbers everywhere."""
    return np.random.default_rng(zlib.crc32(seed.encode()))


def constant(seed: str, shape: Sequence[int], low: float = -1.0, high: float = 1.0) -> np.ndarray:
    return generator(seed).uniform(low, high, tuple(shape)).astype(np.float32)


def sparse_constant(
    seed: str, shape: Sequence[int], block: dict[int, int] | None = None, density: float = 0.3
) -> np.ndarray:
    """Random values, zero outside a random choice of blocks (axis -> block size)."""
    block = block or {}
    kept = generator(seed + "/kept").random([n // block.get(i, 1) for i, n in enumerate(shape)]) < density
    mask = np.kron(kept, np.ones([block.get(i, 1) for i in range(len(shape))]))
    return (constant(seed, shape) * mask).astype(np.float32)
