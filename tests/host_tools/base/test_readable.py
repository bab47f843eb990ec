"""Output in an encoding that lacks a character."""

import re

import pytest

from host_tools.base import readable, settings
from host_tools.base.readable import in_encoding


def test_signs_of_tables_read_alike_in_ascii():
    assert in_encoding("1×8×8 – ≥ 2 · ✓", "ascii") == "1x8x8 - >= 2 * +"
    assert in_encoding("1×8×8 – ≥ 2 · ✓", "latin-1") == "1×8×8 - >= 2 · +"


def test_what_no_sign_stands_for_is_escaped_and_nothing_is_lost():
    assert in_encoding("日\udc80", "ascii") == r"\u65e5\udc80" and in_encoding("日\udc80", "utf-8") == r"日\udc80"


def test_what_cannot_be_read_is_still_an_error():
    with pytest.raises(UnicodeDecodeError):
        b"\xff".decode("utf-8", readable.HANDLER)


def test_every_sign_that_the_toolkit_prints_has_its_likeness():
    sources = [path.read_text(encoding="utf-8") for path in (settings.ROOT / "host_tools").rglob("*.py")]
    signs = {one for source in sources for one in re.findall(r"[^\x00-\x7f]", source)}
    assert not {one for one in signs if in_encoding(one, "ascii").startswith("\\")}
