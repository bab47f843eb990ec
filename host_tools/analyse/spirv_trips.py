"""How often each loop of a Vulkan kernel runs in a dispatch: its control flow, followed for all work-items at once.

Whole numbers are computed from the work-item's place and the buffer of the kernel's numbers, as they were recorded. What is
read from memory is not known: where a loop depends on it, its trips are not, either.
"""

import functools
import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from host_tools.analyse import spirv
from host_tools.analyse.loop_trips import TextLoop, Trips, too_many
from host_tools.analyse.spirv import Function, Instruction, Module
from host_tools.record.checked_plan import Dispatch

# Opcodes by their numbers.
(LOAD, STORE, ACCESS_CHAIN, IN_BOUNDS, CALL, PHI, LOOP_MERGE, SELECTION_MERGE) = 61, 62, 65, 66, 57, 245, 246, 247
(BRANCH, BRANCH_CONDITIONAL, SWITCH, RETURN, RETURN_VALUE, EXTRACT, CONSTRUCT) = 249, 250, 251, 253, 254, 81, 80
(SHUFFLE, EXT_INST, SELECT, BARRIER, COPY, NOT) = 79, 12, 169, 224, 83, 200
_OF_IMAGES = range(86, 100)  # samples, fetches, reads, writes
_UNIFORM, _STORAGE, _WORKGROUP = 2, 12, 4  # storage classes
_PLACES = {24: "num_groups", 25: "size", 26: "group", 27: "local", 28: "global"}  # built-ins
_MOST_TRIPS = 20000
_UNDEFINED = object()  # a variable before its first store


def _divided(a: Any, b: Any) -> Any:
    b = np.where(np.asarray(b) == 0, 1, b)
    return np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))


_SIDES: dict[int, Callable[..., Any]] = {
    126: np.negative,
    128: np.add,
    130: np.subtract,
    132: np.multiply,
    134: _divided,
    135: _divided,
    137: lambda a, b: a - b * _divided(a, b),
    138: lambda a, b: a - b * _divided(a, b),
    139: lambda a, b: a % np.where(np.asarray(b) == 0, 1, b),
    194: lambda a, b: (np.asarray(a) & 0xFFFFFFFF) >> b,
    195: np.right_shift,
    196: np.left_shift,
    197: np.bitwise_or,
    198: np.bitwise_xor,
    199: np.bitwise_and,
    164: np.equal,
    165: np.not_equal,
    166: np.logical_or,
    167: np.logical_and,
    168: np.logical_not,
    170: np.equal,
    171: np.not_equal,
    172: np.greater,
    173: np.greater,
    174: np.greater_equal,
    175: np.greater_equal,
    176: np.less,
    177: np.less,
    178: np.less_equal,
    179: np.less_equal,
}
_AS_THEY_ARE = (COPY, 113, 114, 124)  # conversions between whole numbers, and OpBitcast
_OF_GLSL: dict[int, Callable[..., Any]] = {
    5: np.abs,
    38: np.minimum,
    39: np.minimum,
    41: np.maximum,
    42: np.maximum,
    44: np.clip,
    45: np.clip,
}


@dataclass
class _Pointer:
    """root: a variable; path: the indices of a part of it; None: it is not known which."""

    root: int
    path: tuple[int | None, ...] = ()


@dataclass
class _Loop:
    """A loop of the text, by its first block. bodies: how often its body ran, by the work-items that did: few sets of them."""

    parent: int
    order: int
    bodies: dict[int, tuple[Any, int]] = field(default_factory=dict)
    is_known: bool = True
    is_fixed: bool = True  # its bounds are the text's own


@dataclass
class _Value:
    """of: whole numbers or truths, for all work-items. is_fixed: by the text alone."""

    of: Any
    is_fixed: bool = False


class _Leaves(Exception):
    """The kernel cannot be followed."""


def of(text: str, dispatch: Dispatch, numbers: Mapping[str, Any]) -> Trips:
    """numbers: the bytes of bindings that are buffers of numbers, by their number as a word. Misuse: as loop_trips.of."""
    too_many(dispatch)
    x, y, z = dispatch.global_
    try:
        return _Run(spirv.of_text(text), dispatch, numbers).trips()
    except (_Leaves, RecursionError, KeyError, IndexError, ValueError, TypeError, struct.error):
        return Trips(np.asarray(True), [TextLoop(None, False)], (z, y, x))


class _Run:
    def __init__(self, module: Module, dispatch: Dispatch, numbers: Mapping[str, Any]) -> None:
        self._module, self._numbers = module, numbers
        self._places = _places(dispatch)
        x, y, z = dispatch.global_
        self._shape = (z, y, x)
        self._values: dict[int, Any] = {name: _constant(one) for name, one in module.constants.items()}
        self._memory: dict[int, Any] = {}
        self._live: Any = np.ones((1, 1, 1), bool)  # who has not returned
        self._touched: dict[int, Any] = {}  # who did something, by the identity of the set
        self._loops: dict[int, _Loop] = {}
        self._around: list[int] = []
        self._again: set[int] = set()  # blocks in which trips of loops end
        self._passes: list[list[Any]] = []  # of loops around: who did something in this trip
        self._edges: dict[tuple[int, int], Any] = {}
        self._unsure = 0  # choices around that are not known
        self._returned: Any = None

    def trips(self) -> Trips:
        self._call(self._module.functions[self._module.entry], [], self._live)
        items = functools.reduce(np.logical_or, self._touched.values(), np.zeros((1, 1, 1), bool))
        made = {head: self._text_loop(loop) for head, loop in self._loops.items()}
        top: list[TextLoop] = []
        for head, loop in sorted(self._loops.items(), key=lambda one: one[1].order):
            (made[loop.parent].inner if loop.parent else top).append(made[head])
        return Trips(items, top, self._shape)

    def _text_loop(self, loop: _Loop) -> TextLoop:
        if not loop.is_known:
            return TextLoop(None, False)
        own, around = _total(loop), _total(self._loops[loop.parent]) if loop.parent else np.asarray(1)
        return TextLoop(own / np.maximum(around, 1), loop.is_fixed)

    # --- Control flow: a set of work-items goes through blocks up to some block

    def _call(self, function: Function, given: list[Any], mask: Any) -> Any:
        for name, value in zip(function.parameters, given):
            self._values[name] = value
        before, self._returned = self._live, None
        self._run(function, function.first, mask, ())
        self._live = before
        return self._returned

    def _run(self, function: Function, label: int, mask: Any, until: tuple[int, ...], head: int = 0) -> dict[int, Any]:
        """Runs on, and says who arrives at which of the blocks `until`. head: a loop's first block, whose loop is under way."""
        arrived: dict[int, Any] = {}
        while mask is not None:
            if label in until:
                return _joined(arrived, {label: mask})
            block = function.blocks[label]
            merge = next((one for one in block if one.op in (LOOP_MERGE, SELECTION_MERGE)), None)
            if merge and merge.op == LOOP_MERGE and label != head:
                came = self._loop(function, label, merge, mask, until)
                next_label = merge.operands[0]
            else:
                head = 0
                came, next_label = self._block(function, label, block, merge, mask, until)
            arrived = _joined(arrived, {one: who for one, who in came.items() if one != next_label})
            label, mask = next_label, self._simpler(came.get(next_label))
        return arrived

    def _block(
        self, function: Function, label: int, block: list[Instruction], merge: Any, mask: Any, until: tuple[int, ...]
    ) -> tuple[dict[int, Any], int]:
        """One block, and what it chooses between. Who comes where, and where they go on together."""
        for one in block[:-1]:
            if one.op not in (LOOP_MERGE, SELECTION_MERGE):
                self._step(one, label, mask)
        for edge in [edge for edge in self._edges if edge[1] == label]:
            del self._edges[edge]
        end = block[-1]
        if end.op == BRANCH:
            self._edges[label, end.operands[0]] = mask
            return {end.operands[0]: mask}, end.operands[0]
        if end.op in (RETURN, RETURN_VALUE):
            if not self._unsure:
                self._live = self._live & ~mask
            if end.op == RETURN_VALUE:
                self._returned = self._values.get(end.operands[0])
            return {}, -1
        if end.op != BRANCH_CONDITIONAL:
            raise _Leaves
        return self._choice(function, label, end, merge, mask, until)

    def _choice(
        self, function: Function, label: int, end: Instruction, merge: Any, mask: Any, until: tuple[int, ...]
    ) -> tuple[dict[int, Any], int]:
        condition: _Value | None = self._values.get(end.operands[0])
        known = condition is not None
        ways: list[tuple[int, Any]] = []
        for target, wanted in ((end.operands[1], True), (end.operands[2], False)):
            who = _narrowed(mask, condition.of if wanted else np.logical_not(condition.of)) if condition else mask
            self._edges[label, target] = who
            ways.append((target, who))
        to = merge.operands[0] if merge and merge.op == SELECTION_MERGE else 0
        arrived: dict[int, Any] = {}
        leaving: dict[int, Any] = {}
        self._unsure += not known
        for target, who in ways:
            if who is None:
                continue
            stops = (*until, to) if to else until
            came = {target: who} if target in stops or not to else self._run(function, target, who, stops)
            gone = {one: them for one, them in came.items() if one in until and one != to and one not in self._again}
            leaving = _joined(leaving, gone)
            arrived = _joined(arrived, {one: them for one, them in came.items() if one not in gone})
        self._unsure -= not known
        if leaving:
            self._bounds(condition, known)
        if known or not arrived:  # else it is not known who leaves: all stay, and the loop is not known
            arrived = _joined(arrived, leaving)
        if to:
            return arrived, to
        inside = [target for target, who in ways if target not in until and who is not None]
        if len(inside) > 1:
            raise _Leaves
        return arrived, inside[0] if inside else -1

    def _bounds(self, condition: _Value | None, known: bool) -> None:
        if self._around:
            loop = self._loops[self._around[-1]]
            loop.is_known &= known
            loop.is_fixed &= condition is not None and condition.is_fixed

    def _loop(
        self, function: Function, head: int, merge: Instruction, mask: Any, until: tuple[int, ...]
    ) -> dict[int, Any]:
        to, again = merge.operands[:2]
        loop = self._loops.setdefault(head, _Loop(self._around[-1] if self._around else 0, len(self._loops)))
        loop.is_known &= not self._unsure
        self._around.append(head)
        self._again.add(again)
        arrived: dict[int, Any] = {}
        who: Any = mask
        for trip in range(_MOST_TRIPS + 1):
            self._passes.append([])
            came = self._run(function, head, who, (to, again, *until), head)
            touched = self._passes.pop()
            body = self._simpler(came.pop(again, None))
            arrived = _joined(arrived, came)
            for leaving in came.values():  # at the body's end: where it did something; at its beginning it did nothing
                if any(one is leaving or (one & leaving).any() for one in touched):
                    self._count(loop, self._simpler(leaving))
            if body is None:
                break
            self._count(loop, body)
            came = self._run(function, again, body, (head, to, *until))
            who = self._simpler(came.pop(head, None))
            arrived = _joined(arrived, came)
            if who is None:
                break
            if not loop.is_known or trip == _MOST_TRIPS:
                loop.is_known = False
                arrived = _joined(arrived, {to: who})
                break
        self._around.pop()
        return arrived

    @staticmethod
    def _count(loop: _Loop, who: Any) -> None:
        _, count = loop.bodies.get(id(who), (who, 0))
        loop.bodies[id(who)] = (who, count + 1)

    def _simpler(self, mask: Any) -> Any:
        """None: nobody. The set of all who are left as one object: what they store needs no choice."""
        if mask is None or mask is self._live:
            return mask
        if not mask.any():
            return None
        return self._live if bool(np.all(mask == self._live)) else mask

    # --- Values

    def _step(self, one: Instruction, label: int, mask: Any) -> None:
        if one.op == spirv.VARIABLE:
            self._memory[one.result] = self._values[one.operands[1]] if len(one.operands) > 1 else _UNDEFINED
            self._values[one.result] = _Pointer(one.result)
        elif one.op in (ACCESS_CHAIN, IN_BOUNDS):
            base = self._pointer(one.operands[0])
            self._values[one.result] = _Pointer(base.root, (*base.path, *map(self._index, one.operands[1:])))
        elif one.op == LOAD:
            self._values[one.result] = self._loaded(self._pointer(one.operands[0]), one.type, mask)
        elif one.op == STORE:
            self._store(self._pointer(one.operands[0]), self._values.get(one.operands[1]), mask)
        elif one.op == PHI:
            self._values[one.result] = self._phi(one, label, mask)
        elif one.op == CALL:
            given = [self._values.get(name) for name in one.operands[1:]]
            self._values[one.result] = self._call(self._module.functions[one.operands[0]], given, mask)
        elif one.op in _OF_IMAGES or one.op == BARRIER:
            self._touch(mask)
        else:
            self._values[one.result] = self._computed(one)

    def _touch(self, mask: Any) -> None:
        self._touched[id(mask)] = mask
        for one in self._passes:
            one.append(mask)

    def _pointer(self, name: int) -> _Pointer:
        found = self._values.get(name)
        return found if isinstance(found, _Pointer) else _Pointer(name)

    def _index(self, name: int) -> int | None:
        value = self._values.get(name)
        return int(np.ravel(value.of)[0]) if isinstance(value, _Value) and np.size(value.of) == 1 else None

    def _loaded(self, at: _Pointer, type_of: int, mask: Any) -> Any:
        if at.root in self._memory:
            value = self._memory[at.root]
            for step in at.path:
                value = value[step] if isinstance(value, list) and step is not None and step < len(value) else None
            return None if value is _UNDEFINED else value
        if at.root in self._module.built_ins:
            places = self._places.get(self._module.built_ins[at.root])
            return places[at.path[0]] if places and at.path and at.path[0] is not None else places
        pointer, storage_class = self._module.variables.get(at.root, (0, 0))
        if storage_class in (_STORAGE, _WORKGROUP):
            self._touch(mask)
        if storage_class != _UNIFORM or None in at.path:
            return None
        content = self._numbers.get(str(self._module.bindings.get(at.root)), b"")
        return self._read(content, *self._part(self._module.pointee(pointer), at.path))

    def _part(self, kind: int, path: Iterable[int | None]) -> tuple[int, int]:
        """Where it begins, and its type."""
        begin = 0
        for step in path:
            held, step = self._module.types[kind], step or 0
            if held.op == spirv.TYPE_STRUCT:
                begin, kind = begin + self._module.offsets.get((kind, step), 0), held.operands[step]
            elif held.op in (spirv.TYPE_ARRAY, spirv.TYPE_RUNTIME_ARRAY):
                begin, kind = begin + self._module.strides[kind] * step, held.operands[0]
            else:
                begin, kind = begin + 4 * step, held.operands[0]
        return begin, kind

    def _read(self, content: bytes, begin: int, kind: int) -> Any:
        held = self._module.types[kind]
        if held.op == spirv.TYPE_INT and begin + 4 <= len(content):
            return _Value(np.asarray(struct.unpack_from("<i" if held.operands[1] else "<I", content, begin)[0]))
        if held.op == spirv.TYPE_VECTOR:
            return [self._read(content, begin + 4 * i, held.operands[0]) for i in range(held.operands[1])]
        if held.op == spirv.TYPE_ARRAY:
            count = self._index(held.operands[1]) or 0
            return [self._read(content, begin + self._module.strides[kind] * i, held.operands[0]) for i in range(count)]
        return None

    def _store(self, at: _Pointer, value: Any, mask: Any) -> None:
        if at.root not in self._memory:
            self._touch(mask)
            return
        old = self._memory[at.root]
        if None in at.path:
            self._memory[at.root] = None
        elif not at.path:
            self._memory[at.root] = self._chosen(old, value, mask)
        else:
            kind = self._module.pointee(self._type_of(at.root))
            self._memory[at.root] = self._with_part(old, at.path, value, mask, kind)

    def _type_of(self, variable: int) -> int:
        for function in self._module.functions.values():
            for one in function.blocks[function.first]:
                if one.op == spirv.VARIABLE and one.result == variable:
                    return one.type
        raise _Leaves

    def _with_part(self, old: Any, path: tuple[int | None, ...], value: Any, mask: Any, kind: int) -> Any:
        if not path:
            return self._chosen(old, value, mask)
        held = self._module.types[kind]
        if not isinstance(old, list):
            if held.op == spirv.TYPE_STRUCT:
                count = len(held.operands)
            else:
                count = held.operands[1] if held.op != spirv.TYPE_ARRAY else self._index(held.operands[1]) or 0
            old = [old] * count
        step = path[0] or 0
        inner = held.operands[step] if held.op == spirv.TYPE_STRUCT else held.operands[0]
        return [self._with_part(one, path[1:], value, mask, inner) if i == step else one for i, one in enumerate(old)]

    def _chosen(self, old: Any, new: Any, mask: Any) -> Any:
        """For the work-items of the set the new value, for the others the old one."""
        if self._unsure and old is not _UNDEFINED:
            return None
        if mask is self._live or old is _UNDEFINED:
            return new
        if isinstance(old, list) and isinstance(new, list):
            return [self._chosen(a, b, mask) for a, b in zip(old, new)]
        if not isinstance(old, _Value) or not isinstance(new, _Value):
            return None
        return _Value(np.where(mask, new.of, old.of))

    def _phi(self, one: Instruction, label: int, mask: Any) -> Any:
        found: Any = _UNDEFINED
        came: Any = None
        for name, before in zip(one.operands[::2], one.operands[1::2]):
            who = self._edges.get((before, label))
            if who is None:
                continue
            value = self._values.get(name)
            if came is None:
                found, came = value, who
            elif isinstance(found, _Value) and isinstance(value, _Value) and not (came & who).any():
                found, came = _Value(np.where(who, value.of, found.of)), came | who
            else:  # also where it is not known who came from which block
                found, came = None, came | who
        return None if found is _UNDEFINED else found

    def _computed(self, one: Instruction) -> Any:
        if one.op == EXTRACT:
            value = self._values.get(one.operands[0])
            for step in one.operands[1:]:
                value = value[step] if isinstance(value, list) else None
            return value
        if one.op == CONSTRUCT:
            parts = [self._values.get(name) for name in one.operands]
            return [each for part in parts for each in (part if isinstance(part, list) and _is_flat(part) else [part])]
        if one.op == SHUFFLE:
            both = [self._values.get(name) for name in one.operands[:2]]
            all_parts = [part for side in both for part in (side if isinstance(side, list) else [None] * 4)]
            return [all_parts[step] if step < len(all_parts) else None for step in one.operands[2:]]
        if one.op == EXT_INST and one.operands[1] in _OF_GLSL:
            return self._each(one, _OF_GLSL[one.operands[1]], one.operands[2:])
        if one.op == SELECT:
            return self._each(one, np.where, one.operands)
        if one.op in _AS_THEY_ARE:
            return self._each(one, np.asarray, one.operands)
        if one.op == NOT:
            return self._each(one, np.invert, one.operands)
        return self._each(one, _SIDES[one.op], one.operands) if one.op in _SIDES else None

    def _each(self, one: Instruction, compute: Callable[..., Any], names: Iterable[int]) -> Any:
        """For each number of vectors, where all are known."""
        values = [self._values.get(name) for name in names]
        if any(value is None for value in values):
            return None
        kind = self._module.types[one.type]
        if kind.op != spirv.TYPE_VECTOR:
            return self._number(compute, values, one.type)
        sides = [value if isinstance(value, list) else [value] * kind.operands[1] for value in values]
        return [self._number(compute, list(each), kind.operands[0]) for each in zip(*sides)]

    def _number(self, compute: Callable[..., Any], values: list[Any], kind: int) -> _Value | None:
        if not all(isinstance(value, _Value) for value in values):
            return None
        held = self._module.types[kind]
        if held.op not in (spirv.TYPE_INT, spirv.TYPE_BOOL):
            return None
        found = compute(*(value.of for value in values))
        if held.op == spirv.TYPE_INT:
            found = _wrapped(found, bool(held.operands[1]))
        return _Value(found, all(value.is_fixed for value in values))


def _constant(value: Any) -> Any:
    if isinstance(value, list):
        return [_constant(one) for one in value]
    return _Value(np.asarray(value), is_fixed=True) if isinstance(value, int) else None  # also a truth


def _is_flat(part: list[Any]) -> bool:
    return all(not isinstance(one, list) for one in part)


def _wrapped(value: Any, signed: bool) -> Any:
    """As 32 bits hold it."""
    low = np.asarray(value, np.int64) & 0xFFFFFFFF
    return np.where(low >> 31 == 1, low - (1 << 32), low) if signed else low


def _narrowed(mask: Any, condition: Any) -> Any:
    """None: nobody. The same object where the condition is one for all."""
    if np.size(condition) == 1:
        return mask if bool(np.ravel(condition)[0]) else None
    found = mask & condition
    return found if found.any() else None


def _joined(a: dict[int, Any], b: dict[int, Any]) -> dict[int, Any]:
    found = dict(a)
    for label, who in b.items():
        if who is not None:
            found[label] = who if found.get(label) is None or found[label] is who else found[label] | who
    return found


def _total(loop: _Loop) -> Any:
    """Runs of its body, of each work-item."""
    return sum((np.asarray(who, np.int64) * count for who, count in loop.bodies.values()), np.asarray(0))


def _places(dispatch: Dispatch) -> dict[int, list[_Value]]:
    found: dict[int, list[_Value]] = {built_in: [] for built_in in _PLACES}
    for axis in range(3):
        shape = [1, 1, 1]
        shape[2 - axis] = -1
        place, group = np.arange(dispatch.global_[axis]).reshape(shape), dispatch.local[axis]
        by_name = {
            "num_groups": np.asarray(dispatch.global_[axis] // group),
            "size": np.asarray(group),
            "group": place // group,
            "local": place % group,
            "global": place,
        }
        for built_in, name in _PLACES.items():
            found[built_in].append(_Value(by_name[name]))
    return found
