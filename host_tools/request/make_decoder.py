"""Decoders of any size with random weights, with the ops of litert-torch 0.10's exports in their order."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from host_tools.request.decoder_sizes import TRANSFORMERS, Sizes
from host_tools.request.decoder_tree import Graph, Tree, Value, Weights, numbers

_CHUNK = 1 << 24  # numbers that are drawn at once
_STEP = {"int8": 127, "int4": 7}  # the largest integer
_CACHE_SCALE = 6 / 127  # of int8: keys and values are about as large as a standard deviation


def write(sizes: Sizes, path: Path, seed: int = 0) -> None:
    """The file. Equal sizes and seeds give equal bytes."""
    tree = Tree()
    weights = _Weights(tree, sizes, seed)
    kind = _Transformers if sizes.form == TRANSFORMERS else _Generative
    signatures = [(f"prefill_{count}", count) for count in sizes.prefill] + [("decode", 1)]
    graphs = [tree.graph(name) for name, _ in signatures]
    for graph, (_, count) in zip(graphs, signatures):
        kind(sizes, tree, graph, weights, count).make()
    tree.write(path)


class _Weights:
    """Random weights by name; graphs share them."""

    def __init__(self, tree: Tree, sizes: Sizes, seed: int) -> None:
        self._tree, self._sizes, self._seed = tree, sizes, seed
        self._made: dict[str, Weights] = {}

    def matrix(self, name: str, rows: int, columns: int, deviation: float = 0.0) -> Weights:
        """deviation: of its numbers (default: that which keeps the deviation of a product's rows)."""
        if name not in self._made:
            self._made[name] = self._matrix((rows, columns), deviation or columns**-0.5, len(self._made))
        return self._made[name]

    def vector(self, name: str, size: int) -> Weights:
        """The gains of a norm, around one."""
        if name not in self._made:
            number = len(self._made)
            gains = 1 + 0.1 * self._random(number).standard_normal(size, np.float32)
            self._made[name] = Weights((size,), "float32", self._tree.behind(4 * size, gains.tobytes))
        return self._made[name]

    def _random(self, number: int) -> np.random.Generator:
        return np.random.default_rng((self._seed, number))

    def _matrix(self, shape: tuple[int, int], deviation: float, number: int) -> Weights:
        count, kind = numbers(shape), self._sizes.weights
        if kind == "f32":
            make: Callable[[], bytes] = partial(self._floats, number, count, deviation)
            return Weights(shape, "float32", self._tree.behind(4 * count, make))
        if kind == "f16":
            make = partial(self._halfs, number, count, deviation)
            return Weights(shape, "float16", self._tree.behind(2 * count, make))
        # Integers are evenly spread: their deviation is the largest, by the square root of 3.
        scale = deviation * 3**0.5 / _STEP[kind]
        if kind == "int8":
            buffer = self._tree.behind(count, partial(self._integers, number, count))
            return Weights(shape, kind, buffer, scales=np.full(shape[0], scale, np.float32))
        buffer = self._tree.behind(-(-count // 2), partial(self._nibbles, number, count))
        blocks = np.full(count // self._sizes.block, scale, np.float16)
        scales = self._tree.behind(blocks.nbytes, blocks.tobytes)
        return Weights(shape, kind, buffer, blocks=(scales, self._sizes.block))

    def _floats(self, number: int, count: int, deviation: float) -> bytes:
        random, made = self._random(number), np.empty(count, np.float32)
        for at in range(0, count, _CHUNK):
            part = made[at : at + _CHUNK]
            random.standard_normal(part.size, np.float32, part)
        made *= np.float32(deviation)
        return made.tobytes()

    def _halfs(self, number: int, count: int, deviation: float) -> bytes:
        return np.frombuffer(self._floats(number, count, deviation), np.float32).astype(np.float16).tobytes()

    def _integers(self, number: int, count: int) -> bytes:
        return self._random(number).integers(-127, 128, count, np.int8).tobytes()

    def _nibbles(self, number: int, count: int) -> bytes:
        made = self._random(number).integers(-7, 8, count + count % 2, np.int8).astype(np.uint8) & 15
        return (made[::2] | made[1::2] << 4).astype(np.uint8).tobytes()


@dataclass
class _Signature:
    """One signature: `count` tokens. A prefill ends with the last layer's keys and values, all that its outputs depend on."""

    sizes: Sizes
    tree: Tree
    graph: Graph
    stored: _Weights
    count: int

    @property
    def is_decode(self) -> bool:
        return bool(self.graph.tree.name == "decode")

    def make(self) -> None:
        raise NotImplementedError

    # What both forms have in common.

    def weights(self, name: str, rows: int, columns: int) -> Value:
        return self.graph.as_floats(self.graph.weights(name, self.stored.matrix(name, rows, columns)))

    def linear(self, name: str, x: Value, rows: int) -> Value:
        return self.graph.fully_connected(x, self.weights(name, rows, x.shape[-1]))

    def embedding(self, tokens: Value) -> Value:
        g, sizes = self.graph, self.sizes
        table = self.weights("embedding", sizes.vocabulary, sizes.width)
        flat = g.reshape(tokens, [self.count])
        rows = g.op("EMBEDDING_LOOKUP", [flat, table], (self.count, sizes.width), dtype="float32")
        return g.reshape(rows, (1, self.count, sizes.width))

    def logits(self, x: Value) -> Value:
        x = self.norm("final_norm", x)
        return self.graph.fully_connected(x, self.weights("embedding", self.sizes.vocabulary, self.sizes.width))

    def norm(self, name: str, x: Value) -> Value:
        gains = self.graph.weights(name, self.stored.vector(name, x.shape[-1]))
        body = self.tree.graph(f"odml.rms_norm.impl_{len(self.tree.model.subgraphs)}")
        a, b = body.input("x", x.shape), body.input("gains", gains.shape)
        is_one = numbers(x.shape[:-1]) == 1
        mean_shape = (*x.shape[:-1], 1) if is_one else x.shape[:-1]
        y = body.mul(a, a)
        y = body.op("MEAN", [y, body.const([len(x.shape) - 1])], mean_shape, "ReducerOptions", keepDims=is_one)
        y = body.add(y, body.const(np.full([1] * len(x.shape) if is_one else [], self.sizes.epsilon), "float32"))
        y = y if is_one else body.reshape(y, (*x.shape[:-1], 1))
        y = body.mul(body.mul(a, body.op("RSQRT", [y], y.shape)), b)
        body.output(y)
        return self.graph.composite("odml.rms_norm", [x, gains], x.shape, body, epsilon=self.sizes.epsilon)

    def angles(self, positions: Value, base: float) -> Value:
        half = self.sizes.head_size // 2
        steps = base ** -(np.arange(half, dtype=np.float64) / half)
        return self.graph.mul(positions, self.graph.const(steps.reshape(1, 1, half), "float32"))

    def waves(self, angles: Value) -> tuple[Value, Value]:
        return self.graph.op("COS", [angles], angles.shape), self.graph.op("SIN", [angles], angles.shape)

    def float_positions(self, positions: Value) -> Value:
        shaped = self.graph.reshape(positions, (1, self.count, 1))
        return self.graph.op("CAST", [shaped], shaped.shape, dtype="float32")

    def first_position(self, positions: Value) -> Value:
        if self.count > 1:
            positions = self.graph.slice(positions, [0], [1])
        return self.graph.reshape(positions, ())

    def pack(self, *parts: Value) -> Value:
        return self.graph.op("PACK", parts, (4,), "PackOptions", valuesCount=4)

    def update(self, cache: Value, new: Value, start: Value) -> Value:
        g = self.graph
        if cache.dtype == "float32":
            return g.op("DYNAMIC_UPDATE_SLICE", [cache, new, start], cache.shape)
        new = g.on_grid(g.op("QUANTIZE", [new], new.shape, "QuantizeOptions", dtype=cache.dtype), _CACHE_SCALE)
        made = g.op("DYNAMIC_UPDATE_SLICE", [cache, new, start], cache.shape, version=2)
        return g.on_grid(made, _CACHE_SCALE)

    def cache(self, name: str, shape: Sequence[int]) -> Value:
        if self.sizes.caches == "f32":
            return self.graph.input(name, shape)
        return self.graph.on_grid(self.graph.input(name, shape, self.sizes.caches), _CACHE_SCALE)

    def read(self, cache: Value) -> Value:
        """As attention takes it."""
        if cache.dtype == "float32":
            return cache
        return self.graph.op("DEQUANTIZE", [cache], cache.shape, "DequantizeOptions", version=2, dtype="float32")

    def silu(self, x: Value) -> Value:
        return self.graph.mul(x, self.graph.op("LOGISTIC", [x], x.shape))

    def halves(self, x: Value) -> tuple[Value, Value]:
        *outer, size = x.shape
        return tuple(self.graph.slice(x, (0, 0, 0, at), (*outer, size // 2)) for at in (0, size // 2))  # type: ignore[return-value]


class _Transformers(_Signature):
    """export_hf of Qwen3: rotary positions by halves that change places, values with the positions last, a mask as input."""

    def make(self) -> None:
        g, s = self.graph, self.sizes
        tokens, positions = g.input("tokens", (1, self.count), "int32"), g.input("input_pos", (self.count,), "int32")
        mask = g.input("mask", (1, 1, self.count, s.positions))
        shapes = {"k": (1, s.kv_heads, s.positions, s.head_size), "v": (1, s.kv_heads, s.head_size, s.positions)}
        caches = {
            f"kv_cache_{kind}_{layer}": self.cache(f"kv_cache_{kind}_{layer}", shapes[kind])
            for layer in range(s.layers)
            for kind in "kv"
        }
        x = self.embedding(tokens)
        angles = self.angles(self.float_positions(positions), s.rope_base)
        self._cos, self._sin = self.waves(g.concat([angles, angles], 2))
        self._starts: tuple[Value, Value] | None = None
        self._mask: Value | None = None
        made: dict[str, Value] = {}
        for layer in range(s.layers):
            name = f"layer_{layer}"
            ends = self.is_decode or layer < s.layers - 1
            y = self.norm(f"{name}/input_norm", x)
            q = self._heads(f"{name}/q", y, s.heads) if ends else None
            k = self._heads(f"{name}/k", y, s.kv_heads)
            v = None if self.count == 1 else self._split(self.linear(f"{name}/v_proj", y, s.kv_heads * s.head_size))
            q = self._rotated(q) if q else None
            k = self._rotated(k)
            if v:
                v = g.op("TRANSPOSE", [v, g.const([0, 2, 3, 1])], (1, s.kv_heads, s.head_size, self.count))
            else:
                v = self.linear(f"{name}/v_proj", y, s.kv_heads * s.head_size)
                v = g.reshape(v, (1, s.kv_heads, s.head_size, 1))
            keys, values = f"kv_cache_k_{layer}", f"kv_cache_v_{layer}"
            if not self._starts:
                zero, first = g.const(0), self.first_position(positions)
                start = self.pack(zero, zero, first, zero)
                made[keys] = self.update(caches[keys], k, start)
                self._starts = start, self.pack(zero, zero, zero, first)
            else:
                made[keys] = self.update(caches[keys], k, self._starts[0])
            made[values] = self.update(caches[values], v, self._starts[1])
            if q:
                x = self._behind_attention(
                    name, x, self._attention(q, self.read(made[keys]), self.read(made[values]), mask)
                )
        if self.is_decode:
            made["logits"] = self.logits(x)
        g.output(*made.values())
        self.tree.signature(g, {"tokens": tokens, "input_pos": positions, "mask": mask, **caches}, made)

    def _split(self, x: Value) -> Value:
        size = self.sizes.head_size
        return self.graph.reshape(x, (1, self.count, x.shape[-1] // size, size))

    def _heads(self, name: str, y: Value, count: int) -> Value:
        x = self._split(self.linear(f"{name}_proj", y, count * self.sizes.head_size))
        return self.graph.swap(self.norm(f"{name}_norm", x) if self.sizes.head_norms else x)

    def _rotated(self, x: Value) -> Value:
        g = self.graph
        straight = g.mul(x, self._cos)
        first, second = self.halves(x)
        turned = g.concat([g.mul(second, g.const(-1.0, "float32")), first], 3)
        return g.add(straight, g.mul(turned, self._sin))

    def _attention(self, q: Value, k: Value, v: Value, mask: Value) -> Value:
        g, s = self.graph, self.sizes
        rows = s.group * self.count
        q = g.mul(q, g.const(s.head_size**-0.5, "float32"))
        q = g.reshape(q, (1, s.kv_heads, rows, s.head_size))
        scores = g.matmul(q, k, transposed=True)
        self._mask = self._mask or (g.concat([mask] * s.group, 2) if s.group > 1 else mask)
        scores = g.add(scores, self._mask)
        shares = g.op("SOFTMAX", [scores], scores.shape, "SoftmaxOptions", beta=1.0)
        y = g.matmul(shares, v, transposed=True)
        width = s.heads * s.head_size
        if self.count == 1:
            return g.reshape(y, (1, width))
        y = g.swap(g.reshape(y, (1, s.heads, self.count, s.head_size)))
        return g.reshape(y, (1, self.count, width))

    def _behind_attention(self, name: str, x: Value, attended: Value) -> Value:
        g, s = self.graph, self.sizes
        x = g.add(x, self.linear(f"{name}/o_proj", attended, s.width))
        y = self.norm(f"{name}/post_norm", x)
        gate = self.silu(self.linear(f"{name}/gate_proj", y, s.hidden))
        y = g.mul(gate, self.linear(f"{name}/up_proj", y, s.hidden))
        return g.add(x, self.linear(f"{name}/down_proj", y, s.width))


class _Generative(_Signature):
    """The examples of litert-torch (SmolLM, Gemma 3): one product for queries, keys and values, the mask looked up by position, and
    the attention as a composite."""

    def make(self) -> None:
        g, s = self.graph, self.sizes
        tokens, positions = g.input("tokens", (1, self.count), "int32"), g.input("input_pos", (self.count,), "int32")
        shape = (1, s.positions, s.kv_heads, s.head_size)
        caches = {
            f"kv_cache_{kind}_{layer}": self.cache(f"kv_cache_{kind}_{layer}", shape)
            for layer in range(s.layers)
            for kind in "kv"
        }
        x = self.embedding(tokens)
        if s.sandwich:
            x = g.mul(x, g.const(s.width**0.5, "float32"))
        floats = self.float_positions(positions)
        local = self.waves(self.angles(floats, s.local_rope_base)) if s.local else None
        everywhere = self.waves(self.angles(floats, s.rope_base))
        mask = self._mask(positions)
        near = self._window(positions, mask) if s.local else mask
        start: Value | None = None
        made: dict[str, Value] = {}
        for layer in range(s.layers):
            name, is_local = f"layer_{layer}", bool(s.local) and (layer + 1) % s.local != 0
            waves = local if is_local and local else everywhere
            ends = self.is_decode or layer < s.layers - 1
            q, k, v = self._projected(name, self.norm(f"{name}/input_norm", x), ends)
            q = self._rotated(q, waves) if q else None
            k = self._rotated(k, waves)
            if not start:
                zero = g.const(0)
                start = self.pack(zero, self.first_position(positions), zero, zero)
            keys, values = f"kv_cache_k_{layer}", f"kv_cache_v_{layer}"
            made[keys] = self.update(caches[keys], k, start)
            made[values] = self.update(caches[values], v, start)
            if q:
                y = self._attention(q, self.read(made[keys]), self.read(made[values]), near if is_local else mask)
                x = self._behind_attention(name, x, g.reshape(y, (1, self.count, s.heads * s.head_size)))
        if self.is_decode:
            made["logits"] = self.logits(x)
        g.output(*made.values())
        self.tree.signature(g, {"tokens": tokens, "input_pos": positions, **caches}, made)

    def _mask(self, positions: Value) -> Value:
        """Rows of a constant, NaN for positions beyond it."""
        g, s = self.graph, self.sizes
        ones = (1,) * self.is_decode
        row = (1,) * (2 * self.is_decode)
        outside = g.op("LESS", [positions, g.const(np.zeros(ones))], (self.count,), dtype="bool")
        wrapped = g.add(positions, g.const(np.full(ones, s.positions)))
        index = g.op("SELECT", [outside, wrapped, positions], (self.count,), "SelectOptions", dtype="int32")
        index = g.reshape(index, (self.count, 1))
        least = g.op("GREATER_EQUAL", [index, g.const(np.zeros(row))], index.shape, dtype="bool")
        most = g.op("LESS_EQUAL", [index, g.const(np.full(row, s.positions - 1))], index.shape, dtype="bool")
        inside = g.op("LOGICAL_AND", [least, most], index.shape)
        inside = g.op("REDUCE_ALL", [inside, g.const([1])], (self.count,), "ReducerOptions")
        size = s.positions
        causal = np.where(np.tri(size, dtype=bool), np.float32(0), np.float32(-np.inf)).reshape(size, 1, 1, size)
        rows = g.op("GATHER_ND", [g.const(causal, "float32"), index], (self.count, 1, 1, size))
        rows = rows if self.count == 1 else g.reshape(rows, (1, 1, self.count, size))
        inside = g.reshape(inside, (1, 1, self.count, 1))
        inputs = [inside, rows, g.const(np.nan, "float32")]
        return g.op("SELECT_V2", inputs, rows.shape, "SelectV2Options", dtype="float32")

    def _window(self, positions: Value, mask: Value) -> Value:
        g, s = self.graph, self.sizes
        seen = g.const(np.arange(s.positions).reshape(1, 1, s.positions))
        width = g.const(np.full((1,) * (2 * self.is_decode), s.window))
        index = g.reshape(positions, (self.count, 1))
        shape = (1, self.count, s.positions)
        before = g.reshape(g.arithmetic("SUB", index, width), (1, self.count, 1))
        above = g.op("GREATER", [seen, before], shape, dtype="bool")
        after = g.reshape(g.add(index, width), (1, self.count, 1))
        below = g.op("LESS", [seen, after], shape, dtype="bool")
        near = g.op("LOGICAL_AND", [above, below], shape)
        inputs = [near, g.const(0.0, "float32"), g.const(-np.inf, "float32")]
        near = g.op("SELECT_V2", inputs, shape, "SelectV2Options", dtype="float32")
        return g.op("MINIMUM", [mask, g.reshape(near, mask.shape)], mask.shape)

    def _projected(self, name: str, y: Value, ends: bool) -> tuple[Value | None, Value, Value]:
        """Queries (where they are needed), keys and values: [1, tokens, heads, size]."""
        g, s = self.graph, self.sizes
        packed = self.linear(f"{name}/qkv_proj", y, (s.heads + 2 * s.kv_heads) * s.head_size)
        q: Value | None = None
        if s.sandwich:  # heads one after the other
            x = g.reshape(packed, (1, self.count, s.heads + 2 * s.kv_heads, s.head_size))
            places = {"q": (0, s.heads), "k": (s.heads, s.kv_heads), "v": (s.heads + s.kv_heads, s.kv_heads)}
            found = {
                kind: g.slice(x, (0, 0, places[kind][0], 0), (1, self.count, places[kind][1], s.head_size))
                for kind in ("qkv" if ends else "kv")
            }
            q, k, v = found.get("q"), found["k"], found["v"]
        else:  # a group of queries, its keys and its values
            size, group = s.head_size, s.group * s.head_size
            x = g.reshape(packed, (1, self.count, s.kv_heads, group + 2 * size))
            part = g.slice(x, (0, 0, 0, 0), (1, self.count, s.kv_heads, group)) if ends else None
            k, v = (g.slice(x, (0, 0, 0, at), (1, self.count, s.kv_heads, size)) for at in (group, group + size))
            if part:
                # For one token this RESHAPE and the exchange of axes behind it are one.
                q = g.reshape(part, (1, s.heads, 1, size) if self.count == 1 else (1, self.count, s.heads, size))
        if s.head_norms:
            q = self.norm(f"{name}/q_norm", q) if q else None
            k = self.norm(f"{name}/k_norm", k)
        return q, k, v

    def _rotated(self, x: Value, waves: tuple[Value, Value]) -> Value:
        g, (cos, sin) = self.graph, waves
        x = x if self.count == x.shape[2] == 1 else g.swap(x)
        first, second = self.halves(x)
        one = g.arithmetic("SUB", g.mul(first, cos), g.mul(second, sin))
        other = g.add(g.mul(second, cos), g.mul(first, sin))
        y = g.concat([one, other], 3)
        return y if y.shape[1] == y.shape[2] == 1 else g.swap(y)

    def _attention(self, q: Value, k: Value, v: Value, mask: Value) -> Value:
        s = self.sizes
        body = self.tree.graph(f"odml.scaled_dot_product_attention.impl_{len(self.tree.model.subgraphs)}")
        ends = [body.input(name, one.shape) for name, one in zip("qkvm", (q, k, v, mask))]
        body.output((self._one_head if s.kv_heads == 1 else self._groups)(body, *ends))
        scale = s.head_size**-0.5
        return self.graph.composite("odml.scaled_dot_product_attention", [q, k, v, mask], q.shape, body, scale=scale)

    def _groups(self, g: Graph, q: Value, k: Value, v: Value, mask: Value) -> Value:
        """The decomposition: keys and values are repeated for each query head of their group."""
        s, root = self.sizes, g.const(self.sizes.head_size**-0.25, "float32")
        size, long = s.head_size, s.positions
        spread = (1, s.kv_heads, s.group, long, size)

        def repeated(x: Value) -> Value:
            x = g.reshape(x, (1, s.kv_heads, 1, long, size))
            return g.op("BROADCAST_TO", [x, g.const(spread)], spread, version=2)

        keys, values = g.swap(k), g.swap(v)
        keys = g.reshape(repeated(keys), (1, s.heads, long, size))
        values = repeated(values)
        q = g.mul(q, root)
        q = q if self.count == 1 else g.swap(q)
        keys = g.op("TRANSPOSE", [g.mul(keys, root), g.const([0, 1, 3, 2])], (1, s.heads, size, long))
        q = g.reshape(q, (s.heads, self.count, size))
        shares = self._shares(g, q, g.reshape(keys, (s.heads, size, long)), mask)
        return self._mixed(g, shares, g.reshape(values, (s.heads, long, size)))

    def _one_head(self, g: Graph, q: Value, k: Value, v: Value, mask: Value) -> Value:
        """The same for one head of keys. The converter writes a RESHAPE where keys are to be transposed, so that this is another
        function than the composite's name says; runtimes go by the name."""
        s, root = self.sizes, g.const(self.sizes.head_size**-0.25, "float32")
        size, long = s.head_size, s.positions
        values = g.reshape(v, (long, size))
        q = g.mul(q, root)
        q = q if self.count == 1 else g.swap(q)
        keys = g.reshape(g.mul(k, root), (1, 1, size, long))
        spread = (1, s.heads, size, long)
        keys = g.op("BROADCAST_TO", [keys, g.const(spread)], spread, version=2)
        q = g.reshape(q, (s.heads, self.count, size))
        return self._mixed(g, self._shares(g, q, g.reshape(keys, (s.heads, size, long)), mask), values)

    def _shares(self, g: Graph, q: Value, keys: Value, mask: Value) -> Value:
        scores = g.add(g.matmul(q, keys, transposed=False), mask)
        shares = g.op("SOFTMAX", [scores], scores.shape, "SoftmaxOptions", beta=1.0)
        return g.reshape(shares, (self.sizes.heads, self.count, self.sizes.positions))

    def _mixed(self, g: Graph, shares: Value, values: Value) -> Value:
        s, y = self.sizes, g.matmul(shares, values, transposed=False)
        if self.count == 1:
            return g.reshape(y, (1, 1, s.heads, s.head_size))
        return g.swap(g.reshape(y, (1, s.heads, self.count, s.head_size)))

    def _behind_attention(self, name: str, x: Value, attended: Value) -> Value:
        g, s = self.graph, self.sizes
        y = self.linear(f"{name}/o_proj", attended, s.width)
        x = g.add(x, self.norm(f"{name}/post_attention_norm", y) if s.sandwich else y)
        y = self.norm(f"{name}/pre_feed_forward_norm", x)
        gate = self.linear(f"{name}/gate_proj", y, s.hidden)
        gate = g.op("GELU", [gate], gate.shape, "GeluOptions", approximate=True) if s.sandwich else self.silu(gate)
        y = self.linear(f"{name}/down_proj", g.mul(gate, self.linear(f"{name}/up_proj", y, s.hidden)), s.width)
        return g.add(x, self.norm(f"{name}/post_feed_forward_norm", y) if s.sandwich else y)
