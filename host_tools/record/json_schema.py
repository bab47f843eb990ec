"""docs/schema/run_folder.json, from schema.py and printed.py: `python -m host_tools.record.json_schema` writes it anew."""

import json
import re
from typing import Any

import msgspec

from host_tools.base import settings
from host_tools.record import printed, schema

SCHEMA = settings.ROOT / "docs" / "schema" / "run_folder.json"
_LINK = re.compile(r"\[([^]]+)\]\([^)]+\)")


def types() -> dict[str, type[Any]]:
    """The documented types: files of a run folder, and what tasks print with --json."""
    return {**schema.files(), **{kind.FILE: kind for kind in printed.DOCUMENTS}}


def made() -> str:
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


if __name__ == "__main__":
    SCHEMA.write_text(made(), encoding="utf-8")
