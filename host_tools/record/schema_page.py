"""The tables of docs/run_folder.md and docs/schema/run_folder.json, from schema.py and printed.py:
`python -m host_tools.record.schema_page` writes them anew."""

import json
import re
from collections.abc import Iterable, Iterator
from inspect import getdoc
from itertools import groupby
from typing import Any

import msgspec
from msgspec import inspect

from host_tools.base import settings
from host_tools.record import printed, schema

PAGE = settings.ROOT / "docs" / "run_folder.md"
SCHEMA = settings.ROOT / "docs" / "schema" / "run_folder.json"
_TABLE = re.compile(
    r"(<!-- fields of ([\w. -]+), by host_tools/record/schema_page.py -->\n).*?(<!-- end of fields -->\n)", re.DOTALL
)
_WORDS = {
    inspect.StrType: "text",
    inspect.IntType: "integer",
    inspect.FloatType: "number",
    inspect.BoolType: "true or false",
    inspect.AnyType: "any",
    inspect.NoneType: "null",
}
_LINK = re.compile(r"\[([^]]+)\]\([^)]+\)")
Row = tuple[str, str, str]  # field, type, meaning


def types() -> dict[str, type[Any]]:
    """The documented types: files of a run folder, and what tasks print with --json. The page has tables of some."""
    return {**schema.files(), **{kind.FILE: kind for kind in printed.DOCUMENTS}}


def written(page: str) -> str:
    """The page with its tables as the schema has them."""
    return _TABLE.sub(lambda found: f"{found[1]}{table(found[2])}{found[3]}", page)


def named(page: str) -> tuple[str, ...]:
    """The files whose tables the page has."""
    return tuple(name for _, name, _ in _TABLE.findall(page))


def json_schema() -> str:
    """All types as a JSON Schema: a definition for each file and document, by its name, and for each of their parts."""
    kinds = types()
    _, found = msgspec.json.schema_components(list(kinds.values()), ref_template="#/$defs/{name}")
    text = json.dumps(found)
    for file, kind in kinds.items():
        text = text.replace(f'"#/$defs/{kind.__name__}"', f'"#/$defs/{file}"')
    named_by = {kind.__name__: file for file, kind in kinds.items()}
    parts = {named_by.get(name, name): part for name, part in json.loads(_LINK.sub(r"\1", text)).items()}
    lines = [_definition(name, parts[name]) for name in (*kinds, *sorted(parts.keys() - kinds.keys()))]
    head = '{\n"$schema": "https://json-schema.org/draft/2020-12/schema",\n"$defs": {\n'
    return head + ",\n".join(lines) + "\n}\n}\n"


def _definition(name: str, part: dict[str, Any]) -> str:
    """A line for each property: changes of one are seen as such."""
    rest = {key: value for key, value in part.items() if key not in ("title", "properties")}
    fields = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in part["properties"].items()]
    return f'{json.dumps(name)}: {json.dumps(rest)[:-1]}, "properties": {{\n' + ",\n".join(fields) + "\n}}"


def table(file: str) -> str:
    """Rows for the fields of a file; those of what stands inside are named by their way."""
    kinds = types()
    struct = inspect.type_info(kinds[file])
    assert isinstance(struct, inspect.StructType), "types() has structs"
    rows = _merged(_rows(struct, "", {kind for name, kind in kinds.items() if name != file}))
    lines = [
        "| field | type | meaning |",
        "|---|---|---|",
        *(f"| {field} | {kind} | {text} |" for field, kind, text in rows),
    ]
    return "\n".join(lines) + "\n"


def _rows(struct: inspect.StructType, before: str, told: set[type]) -> Iterator[Row]:
    """told: what has a table of its own, or stands inside at several places, is told once."""
    for field in struct.fields:
        kind, text = _described(field.type)
        if field.name == "schema_version":
            continue  # the page says it of all
        path = f"{before}{field.encode_name}"
        inner, way = _inside(kind, path)
        yield (
            f"`{path}`" + ("" if field.required else "?"),
            _word(kind),
            text or (_meaning(inner) if inner else ""),
        )
        if inner and inner.cls not in told:
            told.add(inner.cls)
            yield from _rows(inner, way, told)


def _merged(rows: Iterable[Row]) -> Iterator[Row]:
    """Neighbours of one type whose names say enough share a row."""
    for (kind, text), group in groupby(rows, key=lambda row: (row[1], row[2])):
        fields = [field for field, _, _ in group]
        yield ", ".join(fields), kind, text


def _described(kind: inspect.Type) -> tuple[inspect.Type, str]:
    if isinstance(kind, inspect.Metadata):
        return kind.type, (kind.extra_json_schema or {}).get("description", "")
    return kind, ""


def _inside(kind: inspect.Type, path: str) -> tuple[Any, str]:
    """The struct that stands in a field, and what its fields' names begin with."""
    kind = _described(kind)[0]
    if isinstance(kind, inspect.StructType):
        return kind, f"{path}."
    if isinstance(kind, inspect.ListType):
        return _inside(kind.item_type, f"{path}[]")
    if isinstance(kind, inspect.DictType):
        return _inside(kind.value_type, f"{path}.KEY")
    if isinstance(kind, inspect.UnionType):
        found = [_inside(one, path) for one in kind.types]
        return next((one for one in found if one[0]), (None, ""))
    return None, ""


def _word(kind: inspect.Type) -> str:
    kind = _described(kind)[0]
    if isinstance(kind, inspect.LiteralType):
        return ", ".join(f"`{value}`" for value in kind.values)
    if isinstance(kind, inspect.StructType):
        return "object"
    if isinstance(kind, (inspect.ListType, inspect.VarTupleType)):
        return f"list of {_word(kind.item_type)}"
    if isinstance(kind, inspect.TupleType):
        return f"list of {len(kind.item_types)}: {_word(kind.item_types[0])}"
    if isinstance(kind, inspect.DictType):
        return f"object of {_word(kind.value_type)}"
    if isinstance(kind, inspect.UnionType):
        if any(isinstance(one, inspect.FloatType) for one in kind.types):
            return "number"  # the page says of all how null, infinities and NaN are written
        return " or ".join(
            _word(one) for one in kind.types if not (isinstance(one, inspect.NoneType) and len(kind.types) == 2)
        )
    return _WORDS[type(kind)]


def _meaning(struct: inspect.StructType) -> str:
    return (getdoc(struct.cls) or "").split("\n", 1)[0].rstrip(".")


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    SCHEMA.write_text(json_schema(), encoding="utf-8")
