"""Files of the cache are read as they are written down; whatever is damaged in one is told."""

import random
import struct
from dataclasses import replace

import pytest

from host_tools.base.errors import Misuse
from host_tools.record import cache_file, flatbuffer_reader
from host_tools.record.content_hash import content_hash
from tests.host_tools.record import cache_files

PLAN = b"a plan" * 20


def read(data, tmp_path):
    (tmp_path / "m_00.quadra").write_bytes(data)
    return cache_file.read(tmp_path / "m_00.quadra")


@pytest.mark.parametrize(
    ("data", "low", "high"),
    [
        (b"", 0x51036B43132B96CB, 0xA549800039F9498D),
        (b"abc", 0xD60CEF127D2FBAE4, 0xB2CFF42CCA25E435),
        (b"12345678", 0xD6E929DB2021BE31, 0x52CBB8AF17F508DC),
        (b"a text of some length", 0x51AD296285467683, 0x101D271690388168),
        (bytes(range(75)), 0x13F81EEE4F057F1C, 0xF782E5FEE689819E),
    ],
)
def test_the_hash_is_that_of_the_library(data, low, high):
    assert content_hash(data) == (low, high)


def test_long_data_is_hashed_in_parts(monkeypatch):
    data = bytes(range(256)) * 9 + b"end"
    whole = content_hash(data)
    monkeypatch.setattr("host_tools.record.content_hash._AT_ONCE", 64)
    assert content_hash(data) == whole


def test_every_part_comes_back(tmp_path):
    data = cache_files.content(PLAN)
    found = read(data, tmp_path)
    assert (found.plan(), found.key, found.parts.pack()) == (PLAN, cache_files.KEY, data)
    assert found.said()["target"] == {"name": "small", "storage": "buffer"} and found.said()["graph"] == "00ff"
    assert (found.name_of("target"), found.name_of("device")) == ("small", "a [bold]CPU[/]")
    assert [bytes(b["bytes"]) for b in found.binaries()] == [b"machine code"]
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
    with pytest.raises(Misuse, match="the format 3, this Quadra reads 4"):
        read(cache_files.content(PLAN).replace(b"QUADRAP\n\4", b"QUADRAP\n\3", 1), tmp_path)
    assert "its binaries are damaged" in read(cache_files.content(PLAN, compiled=b"\xff" * 40), tmp_path).verify()
    assert read(cache_files.content(PLAN, key="target {broken\nnothing\n"), tmp_path).name_of("target") == "{broken"


WEIGHTS = ((6, 40), (40, 46), (100, 120))


def test_a_plan_has_the_weights_of_files_beside_it(tmp_path):
    data = cache_files.content(PLAN, weights=WEIGHTS)
    found = read(data, tmp_path)
    assert found.verify() == "a file of its weights: there is no such file"
    for begin, end in WEIGHTS:
        name, part = cache_files.weights_file(PLAN[begin:end])
        (tmp_path / name).write_bytes(part)
        assert cache_file.wrong_weights(tmp_path / name) == ""
    assert (found.plan(), found.plan_bytes(), found.verify()) == (PLAN, len(PLAN), "")
    assert found.parts.pack() == data and len(found.parts.plan) == len(PLAN) - 60
    whole = (tmp_path / name).read_bytes()
    for damaged in (b"", whole[:-1], whole + b"x", whole[:-1] + b"x"):
        (tmp_path / name).write_bytes(damaged)
        assert cache_file.wrong_weights(tmp_path / name) == "it is damaged"
        assert found.verify().startswith("a file of its weights: ")
        with pytest.raises(Misuse, match="a file of its weights: "):
            found.plan()


def test_lists_of_weights_that_make_no_sense_are_told(tmp_path):
    parts = read(cache_files.content(PLAN, weights=WEIGHTS), tmp_path).parts
    listed = [parts.weights[at : at + 32] for at in (0, 32, 64)]
    big = struct.pack("<QQQQ", 1 << 40, 8, 0, 0)
    empty = struct.pack("<QQQQ", 200, 0, 0, 0)
    for bad in (parts.weights[:-1], listed[1] + listed[0], listed[0] * 2, parts.weights + big, parts.weights + empty):
        assert read(replace(parts, weights=bad).pack(), tmp_path).verify() == "its list of weights is damaged"


def test_verdicts_are_read(tmp_path):
    found = read(cache_files.verdicts(), tmp_path)
    assert found.holds_verdicts and found.verify() == ""
    said = found.verdicts()
    assert said.taken == [True, False, True] and said.reasons == ["", "Quadra has no SUCH yet", ""]
    assert said.partitions == [([0], "aa"), ([2], "bb")] and said.untrusted == "self_check: conv2d"


def test_the_partitions_of_verdicts_have_their_inputs_and_outputs():
    found = flatbuffer_reader.decode(
        cache_file.Parts.parse(cache_files.verdicts()).plan, cache_file._schema("Verdicts")
    )
    first, last = found["partitions"]
    assert (first["inputs"], first["sizes"], first["ranks"]) == ([5], [1, 1, 1, 6, 7, 4] * 2, [4, 4])
    assert (last["inputs"], last["outputs"], len(last["sizes"])) == ([7], [8, 9], 18)
    assert (first["states"], last["states"], last["only_shapes"]) == (0, 1, 1)


def test_verdicts_that_end_too_early_are_told(tmp_path):
    parts = cache_file.Parts.parse(cache_files.verdicts())
    for length in range(len(parts.plan) - 8):  # at the end there is the first reason, which is empty
        damaged = replace(parts, plan=parts.plan[:length]).pack()
        assert read(damaged, tmp_path).verify().startswith("its verdicts are damaged: "), length


def test_verdicts_of_the_earlier_format_are_told(tmp_path):
    parts = cache_file.Parts.parse(cache_files.verdicts())
    for nodes in range(1, 40):
        old = replace(parts, plan=struct.pack(f"<{nodes + 1}i", nodes, *[1] * nodes), binaries=bytes(nodes + 1))
        assert read(old.pack(), tmp_path).verify().startswith("its verdicts are damaged: "), nodes
