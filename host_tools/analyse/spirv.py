"""Vulkan's kernels, SPIR-V, as the analysis handles them: as a text, and as a module that can be followed.

As a text: a line with the kernel's name and its bindings with their VkDescriptorType, as `main 0:6 1:2`; behind it all
words in hexadecimal.
"""

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

_HEAD = re.compile(r"\S+(?: \d+:\d+)*\n07230203", re.ASCII)  # behind the bindings the magic word
_MAGIC = 0x07230203
_SAMPLER, _COMBINED, _SAMPLED, _STORAGE_IMAGE, _UNIFORM, _STORAGE = 0, 1, 2, 3, 6, 7  # VkDescriptorType
_CLASS_UNIFORM, _CLASS_STORAGE = 2, 12  # storage classes of buffers; UniformConstant has images

# Opcodes by their numbers.
(ENTRY_POINT, EXECUTION_MODE, TYPE_BOOL, TYPE_INT, TYPE_FLOAT, TYPE_VECTOR, TYPE_MATRIX) = 15, 16, 20, 21, 22, 23, 24
(TYPE_IMAGE, TYPE_SAMPLER, TYPE_SAMPLED_IMAGE, TYPE_ARRAY, TYPE_RUNTIME_ARRAY, TYPE_STRUCT) = 25, 26, 27, 28, 29, 30
(TYPE_POINTER, CONSTANT_TRUE, CONSTANT_FALSE, CONSTANT, CONSTANT_COMPOSITE, CONSTANT_NULL) = 32, 41, 42, 43, 44, 46
(FUNCTION, FUNCTION_PARAMETER, FUNCTION_END, VARIABLE, DECORATE, MEMBER_DECORATE, LABEL) = 54, 55, 56, 59, 71, 72, 248
_LOCAL_SIZE, _BUILT_IN, _ARRAY_STRIDE, _BINDING, _OFFSET = 17, 11, 6, 33, 35
_BRANCHES = (249, 250, 251, 252, 253, 254, 255)  # end a block
_WITHOUT_RESULT = (62, 63, 99, 224, 225, 246, 247, *_BRANCHES)  # of those that stand in functions


class Instruction(NamedTuple):
    """Of a block. type, result: 0 where it has none. operands: the words behind them."""

    op: int
    type: int
    result: int
    operands: tuple[int, ...]


class Type(NamedTuple):
    op: int
    operands: tuple[int, ...]


@dataclass
class Function:
    parameters: list[int] = field(default_factory=list)
    first: int = 0  # its first block
    blocks: dict[int, list[Instruction]] = field(default_factory=dict)


@dataclass
class Module:
    """entry: the kernel's function. group: work-items of a group along x, y, z."""

    name: str = ""
    entry: int = 0
    group: tuple[int, int, int] = (1, 1, 1)
    types: dict[int, Type] = field(default_factory=dict)
    constants: dict[int, Any] = field(default_factory=dict)  # numbers, or lists of them; None: not looked at
    variables: dict[int, tuple[int, int]] = field(default_factory=dict)  # of the module: pointer's type, storage class
    bindings: dict[int, int] = field(default_factory=dict)  # of variables
    built_ins: dict[int, int] = field(default_factory=dict)
    strides: dict[int, int] = field(default_factory=dict)  # of arrays
    offsets: dict[tuple[int, int], int] = field(default_factory=dict)  # of a structure's members
    functions: dict[int, Function] = field(default_factory=dict)

    def pointee(self, pointer_type: int) -> int:
        return self.types[pointer_type].operands[1]

    def descriptors(self) -> dict[int, int]:
        """VkDescriptorType of each binding."""
        return {
            binding: self._descriptor(*self.variables[name])
            for name, binding in sorted(self.bindings.items(), key=lambda one: one[1])
        }

    def _descriptor(self, pointer_type: int, storage_class: int) -> int:
        if storage_class in (_CLASS_UNIFORM, _CLASS_STORAGE):
            return _UNIFORM if storage_class == _CLASS_UNIFORM else _STORAGE
        held = self.types[self.pointee(pointer_type)]
        if held.op == TYPE_IMAGE:
            return _STORAGE_IMAGE if held.operands[5] == 2 else _SAMPLED
        return _COMBINED if held.op == TYPE_SAMPLED_IMAGE else _SAMPLER


def is_one(text: str) -> bool:
    return _HEAD.match(text) is not None


def as_text(code: bytes, entry: str) -> str:
    """ValueError: it is no SPIR-V."""
    module = parse(_words(code))
    bindings = "".join(f" {binding}:{kind}" for binding, kind in module.descriptors().items())
    return f"{entry}{bindings}\n{''.join(f'{word:08x}' for word in _words(code))}"


def of_text(text: str) -> Module:
    code = bytes.fromhex(text.partition("\n")[2])
    return parse(struct.unpack(f">{len(code) // 4}I", code))


def _words(code: bytes) -> tuple[int, ...]:
    words = struct.unpack(f"<{len(code) // 4}I", code[: len(code) // 4 * 4])
    if not words or words[0] != _MAGIC:
        raise ValueError("this is no SPIR-V")
    return words


def parse(words: Sequence[int]) -> Module:
    module, function = Module(), Function()
    block: list[Instruction] = []
    at = 5
    while at < len(words):
        op, count = words[at] & 0xFFFF, words[at] >> 16
        if not count:
            raise ValueError("an instruction has no words")
        rest = tuple(words[at + 1 : at + count])
        at += count
        if op == FUNCTION:
            function = module.functions[rest[1]] = Function()
        elif op == FUNCTION_PARAMETER:
            function.parameters.append(rest[1])
        elif op == LABEL:
            block = function.blocks[rest[0]] = []
            function.first = function.first or rest[0]
        elif op == FUNCTION_END:
            block = []
        elif function.first and function.blocks:
            block.append(_instruction(op, rest))
        else:
            _declare(module, op, rest)
    return module


def _instruction(op: int, rest: tuple[int, ...]) -> Instruction:
    if op in _WITHOUT_RESULT:
        return Instruction(op, 0, 0, rest)
    return Instruction(op, rest[0], rest[1] if len(rest) > 1 else 0, rest[2:])


def _declare(module: Module, op: int, rest: tuple[int, ...]) -> None:
    """Of what stands before all functions."""
    if op == ENTRY_POINT:
        module.entry = rest[1]
        module.name = struct.pack(f"<{len(rest) - 2}I", *rest[2:]).split(b"\0")[0].decode("utf-8", "replace")
    elif op == EXECUTION_MODE and rest[1] == _LOCAL_SIZE:
        module.group = (rest[2], rest[3], rest[4])
    elif op == DECORATE:
        _decorate(module, rest)
    elif op == MEMBER_DECORATE and rest[2] == _OFFSET:
        module.offsets[rest[0], rest[1]] = rest[3]
    elif TYPE_BOOL <= op <= TYPE_POINTER:
        module.types[rest[0]] = Type(op, rest[1:])
    elif op in (CONSTANT_TRUE, CONSTANT_FALSE):
        module.constants[rest[1]] = op == CONSTANT_TRUE
    elif op == CONSTANT:
        module.constants[rest[1]] = _constant(module.types[rest[0]], rest[2:])
    elif op == CONSTANT_COMPOSITE:
        module.constants[rest[1]] = [module.constants.get(part) for part in rest[2:]]
    elif op == CONSTANT_NULL:
        module.constants[rest[1]] = zero(module, rest[0])
    elif op == VARIABLE:
        module.variables[rest[1]] = (rest[0], rest[2])


def _decorate(module: Module, rest: tuple[int, ...]) -> None:
    target, what, *more = rest
    if what == _BINDING:
        module.bindings[target] = more[0]
    elif what == _BUILT_IN:
        module.built_ins[target] = more[0]
    elif what == _ARRAY_STRIDE:
        module.strides[target] = more[0]


def _constant(kind: Type, words: tuple[int, ...]) -> int | float | None:
    if kind.op == TYPE_INT and kind.operands[0] <= 32:
        signed = bool(kind.operands[1])
        return words[0] - (1 << 32) if signed and words[0] >> 31 else words[0]
    if kind.op == TYPE_FLOAT and kind.operands[0] == 32:
        return float(struct.unpack("<f", struct.pack("<I", words[0]))[0])
    return None


def zero(module: Module, of: int) -> Any:
    """Of a type; None where it is not looked at."""
    kind = module.types[of]
    if kind.op in (TYPE_INT, TYPE_BOOL):
        return 0
    if kind.op == TYPE_FLOAT:
        return 0.0
    if kind.op in (TYPE_VECTOR, TYPE_MATRIX):
        return [zero(module, kind.operands[0]) for _ in range(kind.operands[1])]
    if kind.op == TYPE_ARRAY:
        return [zero(module, kind.operands[0]) for _ in range(module.constants[kind.operands[1]] or 0)]
    if kind.op == TYPE_STRUCT:
        return [zero(module, part) for part in kind.operands]
    return None
