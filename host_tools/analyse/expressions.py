"""Whole-number expressions of kernels' texts, computed for all work-items of a dispatch at once."""

import ast
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

_WORDS = ((r"&&", " and "), (r"\|\|", " or "), (r"!(?!=)", " not "), (r"(?<=[\d.])f\b", ""), (r"\btrue\b", "True"))
_CALLS: dict[str, Callable[..., Any]] = {
    "int": lambda v: np.trunc(v).astype(np.int64),
    "float": lambda v: np.asarray(v, np.float64),
    "min": np.minimum,
    "max": np.maximum,
    "abs": np.abs,
    "clamp": np.clip,
}
_SIDES = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.LShift: np.left_shift,
    ast.RShift: np.right_shift,
    ast.BitAnd: np.bitwise_and,
}
_COMPARED = {
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
    ast.Eq: np.equal,
    ast.NotEq: np.not_equal,
}


class NotKnown(Exception):
    """The expression has something that this does not compute, such as a number that the GPU reads."""


def value(text: str, names: Mapping[str, Any]) -> Any:
    """Of an expression. names: numbers, or arrays that broadcast over z, y, x. NotKnown: it cannot be told."""
    text = text.strip()
    choice = _choice(text)
    if choice:
        condition, first, second = (value(part, names) for part in choice)
        return np.where(condition, first, second)
    for pattern, word in _WORDS:
        text = re.sub(pattern, word, text)
    try:
        return _value(ast.parse(text.strip(), mode="eval").body, names)
    except (SyntaxError, ValueError, TypeError, OverflowError, MemoryError) as error:
        raise NotKnown(text) from error


def _choice(text: str) -> tuple[str, str, str] | None:
    """The parts of `c ? a : b`, where that is the whole of it."""
    depth, asked, marks = 0, -1, 0
    for at, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0 and letter == "?":
            asked, marks = (at if asked < 0 else asked), marks + 1
        if depth == 0 and letter == ":":
            marks -= 1
            if marks == 0:
                return text[:asked], text[asked + 1 : at], text[at + 1 :]
    return None


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return np.asarray(node.value)
    if isinstance(node, (ast.Name, ast.Attribute)):
        name = ast.unparse(node)
        if names.get(name) is None:
            raise NotKnown(name)
        return names[name]
    if isinstance(node, ast.BinOp):
        return _binary(node.op, _value(node.left, names), _value(node.right, names))
    if isinstance(node, ast.UnaryOp):
        operand = _value(node.operand, names)
        return np.logical_not(operand) if isinstance(node.op, ast.Not) else -operand
    if isinstance(node, ast.BoolOp):
        join = np.logical_and if isinstance(node.op, ast.And) else np.logical_or
        found = _value(node.values[0], names)
        for other in node.values[1:]:
            found = join(found, _value(other, names))
        return found
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARED:
        compare = _COMPARED[type(node.ops[0])]
        return compare(_value(node.left, names), _value(node.comparators[0], names))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _CALLS:
        return _CALLS[node.func.id](*(_value(one, names) for one in node.args))
    raise NotKnown(ast.unparse(node))


def _binary(op: ast.operator, left: Any, right: Any) -> Any:
    if type(op) in _SIDES:
        return _SIDES[type(op)](left, right)
    if isinstance(op, (ast.Div, ast.Mod)):
        if np.any(np.asarray(right) == 0):
            raise NotKnown("a division by zero")
        quotient = np.asarray(left) / right
        if isinstance(op, ast.Div) and (np.asarray(left).dtype.kind == "f" or np.asarray(right).dtype.kind == "f"):
            return quotient
        whole = np.trunc(quotient).astype(np.int64)  # towards zero, as in C
        return whole if isinstance(op, ast.Div) else left - whole * right
    raise NotKnown(type(op).__name__)
