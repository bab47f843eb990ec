"""The options page and the C struct say what the one options table says."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROW = re.compile(r'QUADRA_OPTION\((\w+), (\w+), "([^"]*)", "([^"]*)",\s*"([^"]*)"\)')


def table():
    text = (ROOT / "delegate_native/delegate/options.def").read_text()
    rows = ROW.findall(text)
    assert len(rows) == text.count("\nQUADRA_OPTION("), "a row that this test cannot read"
    return rows


def test_the_page_lists_every_option_with_its_values_default_and_help():
    lines = (ROOT / "docs/options.md").read_text().splitlines()
    end = next(i for i, line in enumerate(lines) if line.startswith("## "))
    documented = [line for line in lines[:end] if line.startswith("| `")]
    expected = []
    for name, kind, default, values, text in table():
        shown = values if kind == "Text" else values.replace("|", ", ")
        expected.append(f"| `{name}` | {shown} | {f'`{default}`' if default else 'empty'} | {text} |")
    assert documented == expected


def test_the_c_struct_has_a_field_for_every_option_in_order():
    header = (ROOT / "delegate_native/delegate/quadra.h").read_text()
    body = header[header.index("typedef struct QuadraDelegateOptions {") : header.index("} QuadraDelegateOptions;")]
    fields = re.findall(r"^  (const char\*|int) (\w+);", body, re.M)
    expected = [("int" if kind in ("Int", "Flag") else "const char*", name) for name, kind, *_ in table()]
    assert fields == expected
