"""How often each loop of a kernel's text runs in a dispatch: its bounds, computed for every work-item.

The texts are small and of one form: `for` loops over whole numbers, whose bounds follow from the dispatch's numbers
and the work-item's place. Where a bound follows from an outer loop's variable, the trips are the mean of those at its
first and last value, which is exact for bounds without steps. Where it depends on what the GPU reads, they are not known.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from host_tools.analyse import expressions, opencl_text
from host_tools.analyse.expressions import NotKnown
from host_tools.base.errors import Misuse
from host_tools.record.checked_plan import Dispatch

_MACRO = re.compile(r"^\s*#define\s+(\w+)\s+(.+)$", re.MULTILINE)
_COMMENT, _DIRECTIVE = re.compile(r"//[^\n]*"), re.compile(r"^\s*#[^\n]*$", re.MULTILINE)
_NUMBERS = re.compile(r"uniform numbers \{(.*?)\}")
_DECLARED = re.compile(
    r"(?:const\s+)?(?:(?:highp|mediump|lowp)\s+)?(?:int|bool|float|place_t)\s+(\w+\s*=.*)", re.DOTALL
)
_VECTOR = re.compile(r"ivec([234])\s+(\w+)\s*=\s*ivec\1\((\w+)(?:\.[xyzw]+)?\)$")  # of another's first parts
_PARTS = re.compile(r"ivec([234])\s+(\w+)\s*=\s*ivec\1\((.*)\)$", re.DOTALL)
_CHANGED = re.compile(r"(?:(?:\+\+|--)\s*(\w+)|(\w+)\s*(?:\+\+|--|([-+*/]?)=(?!=)(.*)))", re.DOTALL)
_UNTIL = re.compile(r"\s*while\s*(?=\()")
_BELOW = re.compile(r"(\w+)\s*<(?![<=])\s*(.+)$", re.DOTALL)
_FOR = re.compile(r"(?:int\s+)?(\w+)\s*=\s*(.+?);\s*(\w+)\s*<\s*(.+?);\s*(.+)$", re.DOTALL)
_RETURN = re.compile(r"\{?\s*return\s*;")
_MOST_ITEMS, _MOST_LOOPS = 1 << 26, 14
_BOUNDED = re.compile(r"\bmin\(\s*\d+\s*,")
_STEP = re.compile(r"(?:\+\+\w+|\w+\+\+|\w+\s*\+=\s*(.+))$", re.DOTALL)


@dataclass
class TextLoop:
    """A loop of the text. trips: of each work-item that computes, over z, y, x; None: not known."""

    trips: Any
    is_fixed: bool  # by the text alone, or at most a number that it names: a compiler may unroll it
    inner: list["TextLoop"] = field(default_factory=list)


@dataclass
class Trips:
    """A dispatch's work-items, and the loops of its kernel's text."""

    items: Any  # which work-items compute, over z, y, x: others end at once
    loops: list[TextLoop]
    shape: tuple[int, int, int]

    @property
    def count(self) -> int:
        """Work-items that compute."""
        return self.total(np.asarray(1))

    def lanes(self, group: Sequence[int], wave: int) -> int:
        """Lanes of the waves in which some work-item computes: a wave issues for all of its lanes. wave: its lanes."""
        items = np.broadcast_to(self.items, self.shape)
        x, y, z = group
        padded = np.pad(items, [(0, -count % side) for count, side in zip(self.shape, (z, y, x))])
        depth, height, width = (count // side for count, side in zip(padded.shape, (z, y, x)))
        groups = padded.reshape(depth, z, height, y, width, x).transpose(0, 2, 4, 1, 3, 5).reshape(-1, x * y * z)
        waves = np.pad(groups, [(0, 0), (0, -groups.shape[1] % wave)]).reshape(-1, wave)
        return int(np.count_nonzero(waves.any(axis=1))) * wave

    def total(self, each: Any) -> int:
        """The sum over the work-items that compute."""
        return round(float(np.sum(np.broadcast_to(self.items * each, self.shape), dtype=np.float64)))


def of(text: str, dispatch: Dispatch, numbers: Mapping[str, Any] | None = None) -> Trips:
    """text: prelude and kernel, in either language. numbers: of its uniforms, by name; None: the dispatch has them.

    Misuse: the dispatch has more work-items than a GPU takes.
    """
    too_many(dispatch)
    if opencl_text.is_one(text):
        numbers = opencl_text.numbers(text, dispatch) if numbers is None else numbers
        text = opencl_text.as_shader(text)
    try:
        first, last = (_Scan(text, dispatch, numbers, at_end).run() for at_end in (False, True))
    except RecursionError:  # a text that no kernel has
        x, y, z = dispatch.global_
        return Trips(np.asarray(True), [], (z, y, x))
    return Trips(first.items, _means(first.loops, last.loops), first.shape)


def too_many(dispatch: Dispatch) -> None:
    """Misuse: the dispatch has more work-items than a GPU takes."""
    if math.prod(dispatch.global_) > _MOST_ITEMS:
        raise Misuse(
            f"count the loops of {dispatch.name}",
            f"it has {math.prod(dispatch.global_)} work-items, more than {_MOST_ITEMS}",
            "make the plan again",
        )


def _means(first: Sequence[TextLoop], last: Sequence[TextLoop]) -> list[TextLoop]:
    """Of two scans of one text."""
    return [
        TextLoop(
            None if a.trips is None or b.trips is None else (a.trips + b.trips) / 2,
            a.is_fixed,
            _means(a.inner, b.inner),
        )
        for a, b in zip(first, last)
    ]


class _Scan:
    """One pass over main(): what is declared is computed, what is changed later is forgotten."""

    def __init__(self, text: str, dispatch: Dispatch, numbers: Mapping[str, Any] | None, at_end: bool) -> None:
        """at_end: variables of loops have their last values, else their first."""
        self._at_end = at_end
        text = _COMMENT.sub("", text)
        self._macros: list[tuple[str, str]] = _MACRO.findall(text)
        _, _, main = _DIRECTIVE.sub("", text).rpartition("void main()")
        self._text, self._at = self._expanded(main), 0
        self._names: dict[str, Any] = {
            **_places(dispatch),
            **(_numbers(text, dispatch) if numbers is None else numbers),
        }
        self._fixed = {f"gl_WorkGroupSize.{letter}" for letter in "xyz"}  # names that the text gives one value
        x, y, z = dispatch.global_
        self._trips = Trips(np.asarray(True), [], (z, y, x))
        self._depth = 0  # loops around
        self._choices: list[Any] = []  # conditions of the choices around; None: not known

    def run(self) -> Trips:
        self._statement(self._trips.loops)
        return self._trips

    def _expanded(self, text: str) -> str:
        for name, body in reversed(self._macros):  # a macro may use those before it
            text = re.sub(rf"\b{name}\b(?!\()", lambda _, body=body: f"({body})", text)  # type: ignore[misc]
        return text

    def _statement(self, loops: list[TextLoop]) -> None:
        self._space()
        if self._takes("{"):
            self._space()
            while not self._ends() and not self._takes("}"):
                self._statement(loops)
                self._space()
        elif self._word("for"):
            self._for(loops)
        elif self._word("while"):
            self._parentheses()
            self._body(TextLoop(None, False), loops)
        elif self._word("do"):
            self._do(loops)
        elif self._word("if"):
            self._if(loops)
        else:
            self._simple(self._until_semicolon())

    def _for(self, loops: list[TextLoop]) -> None:
        header = self._parentheses()
        found = _FOR.match(header.strip())
        loop, name = TextLoop(None, False), ""
        if found and found[1] == found[3]:
            name = found[1]
            loop = self._counted(name, *found.group(2, 4, 5))
        self._body(loop, loops)
        self._names.pop(name, None)

    def _do(self, loops: list[TextLoop]) -> None:
        """`do { ... } while (n < end);`, where the block adds to n."""
        end = self._end_of_block()
        loop = TextLoop(None, False)
        until = _UNTIL.match(self._text, end)
        if until:
            body, begin = self._text[self._at : end], self._at
            self._at = until.end()
            loop = self._counted_until(self._parentheses().strip(), body)
            behind, self._at = self._at, begin
            self._body(loop, loops)
            self._at = behind
        else:
            self._body(loop, loops)

    def _counted_until(self, condition: str, body: str) -> TextLoop:
        below = _BELOW.match(condition)
        if not below:
            return TextLoop(None, False)
        name, end = below[1], below[2]
        changes = re.compile(rf"\b{name}\s*\+=\s*([^;]+);|\+\+\s*{name}\s*;|\b{name}\s*\+\+\s*;")
        steps = [step or "1" for step in changes.findall(body)]
        try:
            if len(steps) != len(changes.findall(_outer(body))):  # some trips may not do it
                raise NotKnown(name)
            begin, by = self._value(name), sum(self._value(step) for step in steps)
            if np.any(by <= 0):
                raise NotKnown(name)
            trips = np.maximum(1, -(-(self._value(end) - begin) // by))
            for choice in self._choices:
                trips = np.where(self._known(choice), trips, 0)
        except NotKnown:
            return TextLoop(None, False)
        finally:
            self._names.pop(name, None)
        return TextLoop(trips, False)

    def _end_of_block(self) -> int:
        """Behind the braces that begin next."""
        at, depth = self._text.find("{", self._at), 0
        while 0 <= at < len(self._text):
            depth += (self._text[at] == "{") - (self._text[at] == "}")
            at += 1
            if not depth:
                return at
        return len(self._text)

    def _counted(self, name: str, first: str, end: str, step: str) -> TextLoop:
        """Also gives the loop's variable a value."""
        self._names.pop(name, None)
        *others, step = sorted(_split(step), key=lambda one: bool(re.search(rf"\b{name}\b", one.partition("+=")[0])))
        for other in others:
            self._simple(other)
        stepped = _STEP.match(step.strip())
        if not stepped:
            return TextLoop(None, False)
        try:
            begin, by = self._value(first), self._value(stepped[1] or "1")
            if np.any(by <= 0):
                raise NotKnown(step)
            trips = np.maximum(0, -(-(self._value(end) - begin) // by))
            self._names[name] = begin + np.maximum(trips - 1, 0) * by if self._at_end else begin
            for condition in self._choices:
                trips = np.where(self._known(condition), trips, 0)
        except NotKnown:
            return TextLoop(None, False)
        return TextLoop(trips, bool(_BOUNDED.search(end)) or self._is_fixed(f"{first} {end} {stepped[1] or ''}"))

    def _is_fixed(self, text: str) -> bool:
        """Whether all that it names is what the text gives one value."""
        return set(re.findall(r"[A-Za-z_][\w.]*", text)) <= self._fixed | {"min", "max", "int"}

    def _body(self, loop: TextLoop, loops: list[TextLoop]) -> None:
        loops.append(loop)
        self._depth += 1
        self._statement(loop.inner)
        self._depth -= 1

    def _if(self, loops: list[TextLoop]) -> None:
        try:
            condition = self._value(self._parentheses())
        except NotKnown:
            condition = None
        self._space()
        if not self._depth and not self._choices and _RETURN.match(self._text, self._at) and condition is not None:
            if self._trips.loops:  # it did something before: only what follows is not for it
                self._choices.append(np.logical_not(condition))
            else:
                self._trips.items = np.logical_and(self._trips.items, np.logical_not(condition))
        self._choose(condition, loops)
        self._space()
        if self._word("else"):
            self._choose(None if condition is None else np.logical_not(condition), loops)

    def _choose(self, condition: Any, loops: list[TextLoop]) -> None:
        self._choices.append(condition)
        self._statement(loops)
        self._choices.pop()

    @staticmethod
    def _known(condition: Any) -> Any:
        if condition is None:
            raise NotKnown("a condition")
        return condition

    def _simple(self, text: str) -> None:
        vector = _VECTOR.match(text.strip())
        if vector:
            for letter in "xyzw"[: int(vector[1])]:
                self._set(f"{vector[2]}.{letter}", f"{vector[3]}.{letter}")
            return
        parts = _PARTS.match(text.strip())
        if parts:
            for letter, part in zip("xyzw", _split(parts[3])):
                self._set(f"{parts[2]}.{letter}", part)
            return
        declared = _DECLARED.match(text.strip())
        if declared:
            for one in _split(declared[1]):
                name, _, expression = one.partition("=")
                self._set(name.strip(), expression)
                if text.strip().startswith("const ") and self._is_fixed(expression):
                    self._fixed.add(name.strip())
            return
        changed = _CHANGED.match(text.strip())
        if changed:
            name, op, by = changed[1] or changed[2], changed[3], changed[4] or ""
            if op:  # within a loop it is another number in each trip
                by = "" if self._depth else f"{name} {op} ({by})"
            self._set(name, by, self._choices)

    def _set(self, name: str, expression: str, choices: Sequence[Any] = ()) -> None:
        """Where the choices let it. Forgets the name where the expression cannot be told; empty: it is not looked at."""
        try:
            new = self._value(expression)
            for condition in choices:
                new = np.where(self._known(condition), new, self._value(name))
            self._names[name] = new
        except NotKnown:
            self._names.pop(name, None)

    def _value(self, text: str) -> Any:
        return expressions.value(text, self._names)

    def _ends(self) -> bool:
        return self._at >= len(self._text)

    def _space(self) -> None:
        while not self._ends() and self._text[self._at].isspace():
            self._at += 1

    def _takes(self, letter: str) -> bool:
        taken = self._text.startswith(letter, self._at)
        self._at += taken
        return taken

    def _word(self, word: str) -> bool:
        found = re.compile(rf"{word}\b").match(self._text, self._at)
        self._at = found.end() if found else self._at
        return bool(found)

    def _parentheses(self) -> str:
        """What is between the next pair."""
        begin = self._at = self._text.find("(", self._at) + 1
        depth = 1
        while depth and not self._ends():
            depth += (self._text[self._at] == "(") - (self._text[self._at] == ")")
            self._at += 1
        return self._text[begin : self._at - 1]

    def _until_semicolon(self) -> str:
        """A call of a macro with a block of its own needs no semicolon: the text goes on to the next one."""
        begin, depth = self._at, 0
        while not self._ends():
            letter = self._text[self._at]
            depth += (letter in "([") - (letter in ")]")
            if depth <= 0 and (letter == ";" or letter in "{}"):
                break
            self._at += 1
        text = self._text[begin : self._at]
        if not self._ends() and (self._text[self._at] == ";" or self._at == begin):
            self._at += 1
        return text


def _outer(block: str) -> str:
    """Without the blocks in it."""
    inside = block.strip().removeprefix("{").removesuffix("}")
    while (shorter := re.sub(r"\{[^{}]*\}", "", inside)) != inside:
        inside = shorter
    return inside


def _split(text: str) -> list[str]:
    """At commas outside of parentheses."""
    found, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            found.append("")
        else:
            found[-1] += letter
    return found


def _places(dispatch: Dispatch) -> dict[str, Any]:
    """The language's own names for where a work-item is."""
    names: dict[str, Any] = {}
    for axis, letter in enumerate("xyz"):
        shape = [1, 1, 1]
        shape[2 - axis] = -1
        place, group = np.arange(dispatch.global_[axis]).reshape(shape), dispatch.local[axis]
        names |= {
            f"gl_GlobalInvocationID.{letter}": place,
            f"gl_LocalInvocationID.{letter}": place % group,
            f"gl_WorkGroupID.{letter}": place // group,
            f"gl_WorkGroupSize.{letter}": np.asarray(group),
            f"gl_NumWorkGroups.{letter}": np.asarray(dispatch.global_[axis] // group),
        }
    return names


def _numbers(text: str, dispatch: Dispatch) -> dict[str, Any]:
    """The kernel's uniform block; empty where it has another count of numbers than the dispatch."""
    block = _NUMBERS.search(text)
    names = re.findall(r"(\w+)\s*;", block[1]) if block else []
    args = [arg for arg in dispatch.args if arg.kind != "Buffer"]
    if len(names) != len(args):
        return {}
    values = [arg.int_value if arg.kind == "Int" else arg.float_value for arg in args]
    return {name: np.asarray(one) for name, one in zip(names, values)}


def executions(trips: Trips, parents: Sequence[int]) -> list[int | None]:
    """How often each loop of the machine code runs its body, over all work-items that compute.

    parents: those of machine_code.Loop; the first is what lies in no loop. None: the loops of the text and of the machine
    code do not pair in one way, or the trips are not known.
    """
    found: list[int | None] = [trips.count, *[None] * (len(parents) - 1)]
    each: dict[int, Any] = {0: np.asarray(1)}
    for number, loop in sorted(_pairs(trips.loops, parents), key=lambda pair: pair[0]):
        if loop.trips is not None and parents[number] in each:
            each[number] = each[parents[number]] * loop.trips
            found[number] = trips.total(each[number])
    return found


_Pairs = list[tuple[int, TextLoop]]


def _pairs(loops: Sequence[TextLoop], parents: Sequence[int]) -> _Pairs:
    """Loops of the machine code with those of the text, in the order of both. Loops of the text that have none were
    unrolled: as few as possible, and rather those whose trips the text fixes. Empty: there is no one best way."""
    if max(_count(loops), len(parents)) > _MOST_LOOPS:
        return []
    inside: dict[int, list[int]] = {}
    for number, parent in enumerate(parents):
        inside.setdefault(parent, []).append(number)

    def ways(texts: Sequence[TextLoop], codes: Sequence[int]) -> Iterator[tuple[int, _Pairs]]:
        """With the price of each: of what is taken for unrolled."""
        if not texts:
            if not codes:
                yield 0, []
            return
        first, *rest = texts
        if codes:
            for price, inner in ways(first.inner, inside.get(codes[0], [])):
                for more, behind in ways(rest, codes[1:]):
                    yield price + more, [(codes[0], first), *inner, *behind]
        for price, pairs in ways([*first.inner, *rest], codes):
            yield price + (1 if first.is_fixed else _MOST_LOOPS), pairs

    found = sorted(ways(loops, inside.get(0, [])), key=lambda way: way[0])
    return found[0][1] if len(found) == 1 or (found and found[0][0] < found[1][0]) else []


def _count(loops: Sequence[TextLoop]) -> int:
    return sum(1 + _count(loop.inner) for loop in loops)
