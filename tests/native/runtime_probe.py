"""A TFLite delegate made of ctypes callbacks: it walks the structs of a running interpreter at the offsets that
`abi_layout` printed, and hands what it finds to the test."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

Layout = dict[str, Any]
_NUMBER = {1: ctypes.c_uint8, 4: ctypes.c_int32, 8: ctypes.c_int64}


class View:
    """A struct in memory: `view.field` is the number or address stored in it."""

    def __init__(self, layout: Layout, kind: str, address: int) -> None:
        self._layout, self._kind, self.address = layout, kind, address

    def __getattr__(self, field: str) -> int:
        return self.read(field)

    def read(self, field: str, ctype: Any = None) -> Any:
        """A number; of an array within the struct, which holds int64, its first one."""
        offset, size = self._layout[self._kind][field]
        return (ctype or _NUMBER.get(size, ctypes.c_int64)).from_address(self.address + offset).value

    def inside(self, field: str, kind: str) -> View:
        """A struct kept inside this one."""
        return View(self._layout, kind, self.address + self._layout[self._kind][field][0])

    def behind(self, field: str, kind: str) -> View:
        """The struct that this one points to."""
        return View(self._layout, kind, self.read(field))

    def ints(self, field: str) -> list[int] | None:
        """The TfLiteIntArray that this one points to; None for a null pointer."""
        return int_array(self.read(field))

    def text(self, field: str) -> str:
        return ctypes.string_at(self.read(field)).decode()

    def call(self, field: str, *arguments: Any) -> int:
        """Calls a function pointer of a TfLiteContext with the context first."""
        function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, *[type(a) for a in arguments])(self.read(field))
        return function(self.address, *arguments)


def int_array(address: int) -> list[int] | None:
    if not address:
        return None
    size = ctypes.c_int32.from_address(address).value
    return list((ctypes.c_int32 * size).from_address(address + 4))


def make_int_array(values: list[int]) -> ctypes.Array:
    return (ctypes.c_int32 * (len(values) + 1))(len(values), *values)


class Probe:
    """Acts as ai_edge_litert's Delegate. `prepare(context, delegate)` runs when the interpreter applies it."""

    def __init__(self, layout: Layout, prepare: Callable[[View], None]) -> None:
        self.layout, self.errors, self._kept = layout, [], []
        size = layout["TfLiteDelegate"]["sizeof"]
        self._memory = ctypes.create_string_buffer(size + 64)  # what lies behind the struct stays zero
        self.address = ctypes.addressof(self._memory)
        self._set("TfLiteDelegate", self.address, "flags", 1)
        self._set(
            "TfLiteDelegate",
            self.address,
            "Prepare",
            self.callback(lambda context, _: self._guard(prepare, context), ctypes.c_int, 2),
        )

    def _get_native_delegate_pointer(self) -> int:
        return self.address

    def callback(self, function: Callable, result: Any, pointers: int) -> int:
        made = ctypes.CFUNCTYPE(result, *[ctypes.c_void_p] * pointers)(function)
        self._kept.append(made)
        return ctypes.cast(made, ctypes.c_void_p).value

    def registration(self, **callbacks: int) -> ctypes.Structure:
        """A TfLiteRegistration to pass by value."""
        size = self.layout["TfLiteRegistration"]["sizeof"]
        value = type("Registration", (ctypes.Structure,), {"_fields_": [("words", ctypes.c_int64 * (size // 8))]})()
        name = ctypes.create_string_buffer(b"QuadraProbe")
        self._kept += [name]
        fields = {"custom_name": ctypes.addressof(name), "version": 1, "builtin_code": 32, **callbacks}
        for field, number in fields.items():
            self._set("TfLiteRegistration", ctypes.addressof(value), field, number)
        return value

    def guarded(self, function: Callable) -> Callable:
        """For callbacks that return a status: exceptions are kept for the test and become an error."""
        return lambda *addresses: self._guard(function, *addresses)

    def _guard(self, function: Callable, context: int, *rest: Any) -> int:
        try:
            function(View(self.layout, "TfLiteContext", context), *rest)
            return 0
        except Exception as error:  # it must not unwind through the interpreter
            self.errors.append(error)
            return 1

    def _set(self, kind: str, address: int, field: str, number: int) -> None:
        offset, size = self.layout[kind][field]
        _NUMBER[size].from_address(address + offset).value = number


def tensor(context: View, index: int) -> View:
    return View(context._layout, "TfLiteTensor", context.tensors + index * context._layout["TfLiteTensor"]["sizeof"])


def node_and_registration(context: View, index: int) -> tuple[View, View]:
    node, registration = ctypes.c_void_p(), ctypes.c_void_p()
    status = context.call(
        "GetNodeAndRegistration", ctypes.c_int(index), ctypes.pointer(node), ctypes.pointer(registration)
    )
    assert status == 0
    return (
        View(context._layout, "TfLiteNode", node.value),
        View(context._layout, "TfLiteRegistration", registration.value),
    )


def floats(view: View) -> np.ndarray:
    """The numbers of a float32 tensor, in place."""
    return np.ctypeslib.as_array((ctypes.c_float * (view.bytes // 4)).from_address(view.data))
