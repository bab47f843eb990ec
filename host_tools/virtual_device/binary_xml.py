"""Android's binary XML, as AndroidManifest.xml is in an APK (ResourceTypes.h of the platform's androidfw)."""

import struct
from dataclasses import dataclass, field
from typing import Dict, List, Optional, Union

_XML, _STRINGS, _RESOURCE_MAP = 0x0003, 0x0001, 0x0180
_START, _END = 0x0102, 0x0103
_UTF8, _NONE = 0x100, 0xFFFFFFFF
_TYPE_REFERENCE, _TYPE_STRING, _TYPE_BOOLEAN = 0x01, 0x03, 0x12
# Attributes are known by number; a shrunk APK has no names for them.
_NAMES = {
    0x01010001: "label", 0x01010003: "name", 0x0101000C: "hasCode", 0x0101000F: "debuggable", 0x01010021: "targetPackage",
    0x0101020C: "minSdkVersion", 0x0101021B: "versionCode", 0x0101021C: "versionName", 0x01010270: "targetSdkVersion",
    0x01010272: "testOnly", 0x0101028E: "required", 0x010104EA: "extractNativeLibs", 0x01010576: "versionCodeMajor",
}  # fmt: skip

Value = Union[str, int, bool]


class BadXml(Exception):
    """It is not binary XML, or damaged."""


@dataclass
class Element:
    """One element; attributes by their name, without the name space."""

    tag: str
    attributes: Dict[str, Value] = field(default_factory=dict)
    children: List["Element"] = field(default_factory=list)

    def all(self, tag: str) -> List["Element"]:
        return [child for child in self.children if child.tag == tag]

    def first(self, tag: str) -> "Element":
        """The first child of this tag, or an empty one."""
        return (self.all(tag) or [Element(tag)])[0]

    def text(self, name: str) -> str:
        return str(self.attributes.get(name, ""))

    def number(self, name: str, default: int = 0) -> int:
        value = self.attributes.get(name, default)
        return value if isinstance(value, int) else default

    def flag(self, name: str, default: bool = False) -> bool:
        return bool(self.attributes.get(name, default))


def parse(content: bytes) -> Element:
    """The root element. Only what it is made of is checked, not what it means."""
    try:
        return _parse(content)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise BadXml(f"Corrupt XML binary file ({error})") from error


def _parse(content: bytes) -> Element:
    kind, header, size = struct.unpack_from("<HHI", content)
    if kind != _XML or size > len(content):
        raise BadXml("Corrupt XML binary file")
    strings: List[str] = []
    numbers: List[int] = []
    root: Optional[Element] = None
    open_elements: List[Element] = []
    at = header
    while at < size:
        kind, header, length = struct.unpack_from("<HHI", content, at)
        chunk = content[at : at + length]
        if length < 8 or len(chunk) < length:
            raise BadXml("Corrupt XML binary file")
        if kind == _STRINGS:
            strings = _strings(chunk)
        elif kind == _RESOURCE_MAP:
            numbers = list(struct.unpack_from(f"<{(length - header) // 4}I", chunk, header))
        elif kind == _START:
            element = _element(chunk, header, strings, numbers)
            if open_elements:
                open_elements[-1].children.append(element)
            elif root is not None:
                raise BadXml("Corrupt XML binary file: two roots")
            root = root or element
            open_elements.append(element)
        elif kind == _END:
            if not open_elements:
                raise BadXml("Corrupt XML binary file: an element ends that did not begin")
            open_elements.pop()
        at += length
    if root is None or open_elements:
        raise BadXml("Corrupt XML binary file: it ends early")
    return root


def _element(chunk: bytes, header: int, strings: List[str], numbers: List[int]) -> Element:
    _, name, start, step, count = struct.unpack_from("<IIHHH", chunk, header)
    element = Element(strings[name])
    for i in range(count):
        _, key, raw, _, kind, data = struct.unpack_from("<IIIHxBI", chunk, header + start + i * step)
        known = _NAMES.get(numbers[key]) if key < len(numbers) else None
        element.attributes[known or strings[key]] = _value(kind, data, raw, strings)
    return element


def _value(kind: int, data: int, raw: int, strings: List[str]) -> Value:
    if kind == _TYPE_STRING:
        return strings[data]
    if raw != _NONE:
        return strings[raw]
    if kind == _TYPE_BOOLEAN:
        return data != 0
    return f"@0x{data:08x}" if kind == _TYPE_REFERENCE else data


def _strings(chunk: bytes) -> List[str]:
    count, _, flags, start, _ = struct.unpack_from("<IIIII", chunk, 8)
    offsets = struct.unpack_from(f"<{count}I", chunk, struct.unpack_from("<H", chunk, 2)[0])
    read = _utf8 if flags & _UTF8 else _utf16
    return [read(chunk, start + offset) for offset in offsets]


def _utf8(chunk: bytes, at: int) -> str:
    for _ in range(2):  # its length in characters, then in bytes: one byte or two each
        length, at = chunk[at], at + 1
        if length & 0x80:
            length, at = (length & 0x7F) << 8 | chunk[at], at + 1
    return chunk[at : at + length].decode("utf-8")


def _utf16(chunk: bytes, at: int) -> str:
    (length,) = struct.unpack_from("<H", chunk, at)
    at += 2
    if length & 0x8000:
        length, at = (length & 0x7FFF) << 16 | struct.unpack_from("<H", chunk, at)[0], at + 2
    return chunk[at : at + 2 * length].decode("utf-16-le")
