"""Sparse constants of the TFLite format: dense arrays to (values, SparsityParameters) and no further."""

from __future__ import annotations

from dataclasses import dataclass, field

import flatbuffers
import numpy as np
import tflite

from tests import flat


@dataclass(frozen=True)
class Level:
    """One level of the storage tree: dense with a size, or CSR with segments and indices."""

    dense_size: int = 0
    segments: list[int] | None = None
    indices: list[int] | None = None


@dataclass(frozen=True)
class Sparse:
    values: np.ndarray
    traversal: list[int]
    block_map: list[int] = field(default_factory=list)
    levels: list[Level] = field(default_factory=list)

    def write(self, builder: flatbuffers.Builder) -> int:
        levels = [self._write_level(builder, level) for level in self.levels]
        block_map = flat.ints(builder, self.block_map) if self.block_map else None
        return flat.table(
            builder,
            "SparsityParameters",
            TraversalOrder=flat.ints(builder, self.traversal),
            BlockMap=block_map,
            DimMetadata=flat.offsets(builder, levels),
        )

    @staticmethod
    def _write_level(builder: flatbuffers.Builder, level: Level) -> int:
        if level.segments is None:
            return flat.table(
                builder, "DimensionMetadata", Format=tflite.DimensionType.DENSE, DenseSize=level.dense_size
            )
        kind, segments = _index_vector(builder, level.segments)
        _, indices = _index_vector(builder, level.indices or [], kind)
        return flat.table(
            builder,
            "DimensionMetadata",
            Format=tflite.DimensionType.SPARSE_CSR,
            ArraySegmentsType=kind,
            ArraySegments=segments,
            ArrayIndicesType=kind,
            ArrayIndices=indices,
        )


def _index_vector(builder: flatbuffers.Builder, values: list[int], kind: int | None = None) -> tuple[int, int]:
    """The narrowest of the three index types that holds the numbers (real files use all three)."""
    types = tflite.SparseIndexVector
    top = max(values, default=0)
    if kind is None:
        kind = types.Uint8Vector if top < 256 else types.Uint16Vector if top < 65536 else types.Int32Vector
    name, dtype = {
        types.Uint8Vector: ("Uint8Vector", np.uint8),
        types.Uint16Vector: ("Uint16Vector", np.uint16),
        types.Int32Vector: ("Int32Vector", np.int32),
    }[kind]
    return kind, flat.table(builder, name, Values=builder.CreateNumpyVector(np.asarray(values, dtype)))


def encode(
    dense: np.ndarray,
    csr: tuple[int, ...] | None = None,
    block: dict[int, int] | None = None,
    order: tuple[int, ...] | None = None,
) -> Sparse:
    """Encodes `dense`. `block` maps an axis to its block size; `order` is the traversal of the outer axes;
    `csr` names the outer levels (positions in the traversal) kept as CSR, by default the last outer one."""
    rank, block = dense.ndim, dict(sorted((block or {}).items()))
    order = tuple(order or range(rank))
    csr = (rank - 1,) if csr is None else csr
    outer_shape = [size // block.get(axis, 1) for axis, size in enumerate(dense.shape)]
    split = dense.reshape([part for axis, size in enumerate(outer_shape) for part in (size, block.get(axis, 1))])
    tree = split.transpose([2 * axis for axis in order] + [2 * axis + 1 for axis in range(rank)])
    shape = [outer_shape[axis] for axis in order]
    prefixes: list[tuple[int, ...]] = [()]
    levels: list[Level] = []
    for depth, size in enumerate(shape):
        if depth not in csr:
            prefixes = [(*p, i) for p in prefixes for i in range(size)]
            levels.append(Level(dense_size=size))
            continue
        kept = [[i for i in range(size) if np.any(tree[(*p, i)])] for p in prefixes]
        segments = np.concatenate([[0], np.cumsum([len(k) for k in kept])]).astype(int).tolist()
        levels.append(Level(segments=segments, indices=[i for k in kept for i in k]))
        prefixes = [(*p, i) for p, k in zip(prefixes, kept) for i in k]
    levels += [Level(dense_size=size) for size in block.values()]
    values = np.concatenate([tree[p].ravel() for p in prefixes]) if prefixes else np.zeros(0, dense.dtype)
    return Sparse(values.astype(dense.dtype), [*order, *range(rank, rank + len(block))], list(block), levels)
