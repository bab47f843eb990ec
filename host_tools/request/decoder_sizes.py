"""Sizes of decoders that can be made for tests, and those of public models."""

from dataclasses import dataclass, replace
from typing import Any

from host_tools.base.errors import Misuse

TRANSFORMERS, GENERATIVE = "transformers", "generative"
WEIGHTS = ("f32", "f16", "int8", "int4")
CACHES = ("f32", "int8")
_MOST_SCORES = 1 << 29  # numbers of the constant mask of GENERATIVE


@dataclass(frozen=True)
class Sizes:
    """form: how litert-torch writes it. TRANSFORMERS: export_hf, with a mask as input and caches whose values are transposed.
        GENERATIVE: its own examples, with the mask and the attention composite inside. sandwich: norms behind attention and
        feed-forward, a scaled embedding and GELU, as Gemma has them. local: a layer is global if its number, from 1, is a multiple of it,
        otherwise it sees `window` tokens; 0: all are global. block: numbers of a row that share a scale (int4). caches: what keys and values are
    kept as; int8 is quantised, and floats again where attention reads it."""

    form: str
    layers: int
    width: int
    heads: int
    kv_heads: int
    head_size: int
    hidden: int
    vocabulary: int
    positions: int = 1280
    prefill: tuple[int, ...] = (128,)
    weights: str = "int8"
    block: int = 32
    caches: str = "f32"
    head_norms: bool = False
    sandwich: bool = False
    local: int = 0
    window: int = 512
    rope_base: float = 10_000.0
    local_rope_base: float = 10_000.0
    epsilon: float = 1e-6

    @property
    def group(self) -> int:
        return self.heads // self.kv_heads

    @property
    def parameters(self) -> int:
        attention = 2 * self.width * self.head_size * (self.heads + self.kv_heads)
        return self.vocabulary * self.width + self.layers * (attention + 3 * self.width * self.hidden)


PRESETS = {
    "qwen3-0.6b": Sizes(TRANSFORMERS, 28, 1024, 16, 8, 128, 3072, 151936, head_norms=True, rope_base=1e6),
    "smollm2-135m": Sizes(GENERATIVE, 30, 576, 9, 3, 64, 1536, 49152, rope_base=1e5, epsilon=1e-5),
    "gemma3-270m": Sizes(
        GENERATIVE, 18, 640, 4, 1, 256, 2048, 262144, head_norms=True, sandwich=True, local=6, rope_base=1e6
    ),
}
_NUMBERS = ("layers", "width", "heads", "kv_heads", "head_size", "hidden", "vocabulary", "positions", "block", "window")
_OTHERS = ("weights", "caches", "prefill")


def chosen(words: str) -> Sizes:
    """`qwen3-0.6b,layers=2,weights=int4,prefill=16+64`: a preset and what is otherwise. Misuse: no such name or value."""
    preset, *pairs = [word.strip() for word in words.split(",")]
    if preset not in PRESETS:
        raise _wrong(words, f"{preset!r} is not one of {', '.join(PRESETS)}", "begin with one of these")
    sizes = PRESETS[preset]
    for pair in pairs:
        name, _, value = pair.partition("=")
        if name not in {*_NUMBERS, *_OTHERS}:
            raise _wrong(words, f"there is no size {name!r}", f"one of {', '.join((*_NUMBERS, *_OTHERS))}")
        sizes = replace(sizes, **{name: _value(words, name, value)})
    _check(words, sizes)
    return sizes


def _value(words: str, name: str, value: str) -> Any:
    if name in ("weights", "caches"):
        return value
    parts = value.split("+") if name == "prefill" else [value]
    if not all(part.isascii() and part.isdigit() and 0 < int(part) < 1 << 24 for part in parts):
        raise _wrong(
            words, f"{name}={value} is no count", "give whole numbers from 1 on, with + between several of prefill"
        )
    return tuple(sorted({int(part) for part in parts})) if name == "prefill" else int(value)


def _check(words: str, sizes: Sizes) -> None:
    if sizes.weights not in WEIGHTS:
        raise _wrong(words, f"weights={sizes.weights} is not one of {', '.join(WEIGHTS)}", "give one of these")
    if sizes.caches not in CACHES:
        raise _wrong(words, f"caches={sizes.caches} is not one of {', '.join(CACHES)}", "give one of these")
    if sizes.heads % sizes.kv_heads:
        raise _wrong(words, f"{sizes.heads} heads cannot share {sizes.kv_heads} of keys", "let kv_heads divide heads")
    if sizes.head_size % 2:
        raise _wrong(words, f"head_size={sizes.head_size} is odd", "rotary positions need pairs")
    if max(sizes.prefill) > sizes.positions:
        raise _wrong(words, f"the caches hold {sizes.positions} tokens, fewer than a prefill", "give more positions")
    rows = (sizes.width, sizes.heads * sizes.head_size, sizes.hidden)
    if sizes.weights == "int4" and any(row % sizes.block for row in rows):
        raise _wrong(words, f"blocks of {sizes.block} do not divide rows of {rows}", "give another block")
    if sizes.form == GENERATIVE and sizes.positions**2 > _MOST_SCORES:
        raise _wrong(words, f"its mask of {sizes.positions} x {sizes.positions} is a constant", "give fewer positions")
    if sizes.sandwich and sizes.kv_heads != 1:
        raise _wrong(words, f"this form has one head of keys, not {sizes.kv_heads}", "omit kv_heads")


def _wrong(words: str, came_back: str, do_next: str) -> Misuse:
    return Misuse(f"make the decoder {words!r}", came_back, do_next)
