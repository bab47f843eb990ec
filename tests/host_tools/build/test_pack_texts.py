"""The texts that the delegate's build takes out of its sources."""

from __future__ import annotations

import importlib.util
import lzma
import re
from pathlib import Path

import pytest

from host_tools.base import settings

_SPEC = importlib.util.spec_from_file_location("pack_texts", settings.ROOT / "bazel" / "pack_texts.py")
assert _SPEC and _SPEC.loader
pack_texts = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(pack_texts)


@pytest.mark.parametrize(
    ("source", "is_for_cpus"),
    [("ops/cpu/x.cc", True), ("ops/conv_gpu.cc", False), ("opencl/pocl/x.cc", True), ("opencl/cl_x.cc", False)],
)
def test_phones_have_no_texts_for_cpus(source: str, is_for_cpus: bool):
    assert pack_texts._is_for_cpus(Path("delegate_native") / source) is is_for_cpus


def test_texts_are_what_a_compiler_makes_of_literals():
    source = r"""
constexpr const char* kRow = QUADRA_TEXT(R"(
  int x = 1; // "quoted", \n as it stands
)");
  return Unsupported("it has %d \"names\"; "
                     "%s", n, what);
  Other("no text"); TextOf("a\n", 1); TextOf("a\n", 2); Internal(variable);
"""
    assert pack_texts.texts([source]) == [
        '\n  int x = 1; // "quoted", \\n as it stands\n', 'it has %d "names"; %s', "a\n"
    ]  # fmt: skip


def test_symbols_stand_where_their_texts_are():
    wanted = ["abc", "a longer text, a longer text", ""]
    source = pack_texts.packed(wanted)
    packed = bytes(int(n) for row in re.findall(r"\.byte ([\d,]+)", source) for n in row.split(","))
    unpacker = lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=[pack_texts.SETTINGS])
    data = unpacker.decompress(packed)
    for text in wanted:
        place = int(re.search(rf"\.set {pack_texts.symbol_of(text)}, quadra_texts \+ (\d+)", source)[1])
        assert data[place:].startswith(text.encode() + b"\0")
    assert f".skip {len(data)}" in source


def test_two_texts_of_one_hash_are_an_error(monkeypatch):
    monkeypatch.setattr(pack_texts, "hash_of", len)
    with pytest.raises(SystemExit, match="two texts have one hash"):
        pack_texts.checked(["ab", "cd"])
