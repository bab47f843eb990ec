"""Files of the cache are read as they are written down; whatever is damaged in one is told."""

import random

import pytest

from host_tools.base.errors import Misuse
from host_tools.record import cache_file
from host_tools.record.content_hash import content_hash
from tests.host_tools.record import cache_files

PLAN = b"a plan" * 20


def read(data, tmp_path):
    (tmp_path / "m_00.quadra").write_bytes(data)
    return cache_file.read(tmp_path / "m_00.quadra")


@pytest.mark.parametrize(
    ("data", "low", "high"),
    [
        (b"", 0xEA4CDB56528F774D, 0x18991D725A7B4820),
        (b"abc", 0x7132498D7838501E, 0x54C6B005A1644302),
        (b"12345678", 0xFE0DF19369CF44AE, 0x30B2752950A321C6),
        (b"a text of some length", 0x4E02C5B99E3CBBC6, 0x818FE9E67FF8BEC2),
    ],
)
def test_the_hash_is_that_of_the_library(data, low, high):
    assert content_hash(data) == (low, high)


def test_long_data_is_hashed_in_parts(monkeypatch):
    data = bytes(range(256)) * 9 + b"end"
    whole = content_hash(data)
    monkeypatch.setattr("host_tools.record.content_hash._AT_ONCE", 64)
    assert content_hash(data) == whole


@pytest.mark.parametrize("version", [1, 2])
def test_every_part_comes_back(version, tmp_path):
    found = read(cache_files.content(PLAN, version=version), tmp_path)
    assert (found.format, found.pointer_bytes, found.plan, found.words) == (version, 8, PLAN, cache_files.WORDS)
    assert found.said()["target"] == {"name": "small", "storage": "buffer"} and found.said()["graph"] == "00ff"
    assert (found.name_of("target"), found.name_of("device")) == ("small", "a [bold]CPU[/]")
    assert [bytes(b["bytes"]) for b in found.binaries()] == ([b"machine code"] if version == 2 else [])
    assert found.verify() == ""


def test_every_flipped_bit_is_seen(tmp_path):
    data = cache_files.content(PLAN)
    chosen = random.Random(1)
    for at in range(len(data)):
        damaged = bytearray(data)
        damaged[at] ^= 1 << chosen.randrange(8)
        try:
            found = read(bytes(damaged), tmp_path)
        except Misuse:
            continue
        assert found.verify(), at


def test_every_other_length_is_refused(tmp_path):
    data = cache_files.content(PLAN)
    for size in range(0, len(data), 3):
        with pytest.raises(Misuse):
            read(data[:size], tmp_path)
    with pytest.raises(Misuse, match="its header tells of"):
        read(data + b"x", tmp_path)


def test_foreign_and_damaged_files_are_named(tmp_path):
    with pytest.raises(Misuse, match="no file of the cache"):
        read(b"something else", tmp_path)
    with pytest.raises(Misuse, match="the format 3, this Quadra reads 1 and 2"):
        read(cache_files.content(PLAN).replace(b"QUADRAP\n\2", b"QUADRAP\n\3", 1), tmp_path)
    assert "its binaries are damaged" in read(cache_files.content(PLAN, compiled=b"\xff" * 40), tmp_path).verify()
    assert read(cache_files.content(PLAN, words="target {broken\nnothing\n"), tmp_path).name_of("target") == "{broken"
