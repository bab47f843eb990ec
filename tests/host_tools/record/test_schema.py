"""The schema: its page says what it says, and what it reads is sound, bounded, and told in a sentence otherwise."""

import json
import os
import re

import msgspec
import numpy as np
import pytest

from host_tools.base import settings
from host_tools.base.errors import Misuse
from host_tools.dev.fuzz import good_folder
from host_tools.record import json_schema, reading, run_folder, schema, spec as specs
from tests.host_tools import run_folders
from tests.host_tools.record import schema_check

PAGE = (settings.ROOT / "docs" / "run_folder.md").read_text(encoding="utf-8")


def test_the_fields_that_the_page_names_of_the_most_read_files_are_theirs():
    parts = json.loads(json_schema.SCHEMA.read_text(encoding="utf-8"))["$defs"]
    fields = {field for part in parts.values() for field in part["properties"]}
    for heading in ("`status.json`", "`verdicts.json`", "`timings.json`", "`inv run --json`"):
        section = PAGE.split(f"### {heading}")[1].split("\n#")[0]
        paths = re.findall(r"^- ((?:`[^`]+`(?:, )?)+)", section, re.MULTILINE)
        named = [word for path in paths for word in re.findall(r"[a-z_]+", path)]
        assert named and {*named} <= fields, heading


def test_the_json_schema_has_every_file_and_its_references_lead_somewhere():
    text = json_schema.SCHEMA.read_text(encoding="utf-8")
    assert text == json_schema.made(), "run: python -m host_tools.record.json_schema"
    parts = json.loads(text)["$defs"]
    assert {*json_schema.types()} < {*parts}
    assert {*re.findall(r'"\$ref": "#/\$defs/([^"]+)"', text)} < {*parts}
    failure = parts["run --json"]["properties"]["error"]["anyOf"]
    assert {"$ref": "#/$defs/Failure"} in failure and "tried" in parts["Failure"]["required"]


def test_the_json_schema_tells_every_field():
    parts = json.loads(json_schema.SCHEMA.read_text(encoding="utf-8"))["$defs"]
    for file, kind in json_schema.types().items():
        assert {*parts[file]["properties"]} == {field.encode_name for field in msgspec.structs.fields(kind)}, file


@pytest.mark.parametrize("name", sorted(good_folder.FILES))
def test_what_is_good_is_known_to_the_last_field(name):
    if name != "target.json":  # its fields are those of docs/targets.md
        assert schema.unknown(schema.files()[name], good_folder.FILES[name]) == []


def test_a_field_that_nobody_knows_is_found_in_a_writer_and_ignored_by_readers(tmp_path):
    folder = run_folders.make(tmp_path)
    timings = folder.json("timings.json")
    timings["init_us"]["xnnpack"]["new_us"] = 1
    run_folder.write_json(folder.path / "timings.json", timings)
    run_folder.write_json(folder.path / "new.json", {})
    assert schema_check.wrong(folder.path) == [
        "new.json is not in the schema",
        "timings.json: $.init_us.xnnpack.new_us",
    ]
    assert folder.read(schema.Timings).init_us["xnnpack"].total_us == 900


def test_what_the_analysis_writes_is_as_the_schema_has_it(tmp_path):
    from host_tools.judge import compare, peers
    from host_tools.show import perfetto_trace

    far = [np.float32([[0, np.inf]])], [np.float32([[0, 1]])]
    folder = run_folders.make(tmp_path, *far, profile=run_folders.PROFILE)
    peers.judge(folder, compare.compare(folder))
    perfetto_trace.write(folder)
    assert schema_check.wrong(folder.path) == [] and folder.read(schema.Compared).outputs[0].max_error == "inf"


BAD = {
    "wrong type": (b'{"threads": "1", "init_us": {}, "samples_us": {}}', "Expected `int`, got `str` - at `$.threads`"),
    "missing": (b'{"threads": 1, "samples_us": {}}', "missing required field `init_us`"),
    "deep in": (b'{"threads": 1, "init_us": {}, "samples_us": {"quadra": [1, null]}}', "at `$.samples_us[...][1]`"),
    "negative": (b'{"threads": -1, "init_us": {}, "samples_us": {}}', "Expected `int` >= 0"),
    "huge": (b'{"threads": 1' + b"0" * 5000 + b', "init_us": {}, "samples_us": {}}', "out of range"),
    "NaN": (b'{"threads": NaN, "init_us": {}, "samples_us": {}}', "malformed"),
    "cut": (b'{"threads": 1, "init_us"', "truncated"),
    "empty": (b"", "truncated"),
    "a list": (b"[]", "Expected `object`, got `array`"),
    "not UTF-8": (b'{"unknown": "\xff", "threads": 1, "init_us": {}, "samples_us": {}}', "utf-8"),
    "half a pair": (b'{"xnnpack_error": "\\ud800", "threads": 1, "init_us": {}, "samples_us": {}}', "malformed"),
    "nested": (b'{"unknown": ' + b"[" * 100000, "nested too deeply"),
    "long": (
        b'{"xnnpack_error": "' + b"x" * 70000 + b'", "threads": 1, "init_us": {}, "samples_us": {}}',
        "length <= 65536",
    ),
}


@pytest.mark.parametrize("how", sorted(BAD))
def test_damaged_json_names_the_file_and_the_place(how, tmp_path):
    folder, (content, reason) = run_folders.make(tmp_path), BAD[how]
    (folder.path / "timings.json").write_bytes(content)
    with pytest.raises(Misuse) as caught:
        folder.read(schema.Timings)
    assert "timings.json" in caught.value.tried and reason in caught.value.came_back and caught.value.do_next
    with pytest.raises(Misuse):
        folder.json("timings.json")


def test_another_version_is_told_as_one(tmp_path):
    folder = run_folders.make(tmp_path, timings={"schema_version": 2, "samples": "of another kind"})
    with pytest.raises(Misuse, match="schema_version is 2, this Quadra reads 1") as caught:
        folder.read(schema.Timings)
    assert "the Quadra that made it" in caught.value.do_next


def test_what_is_no_ordinary_file_is_not_waited_for(tmp_path):
    folder = run_folders.make(tmp_path)
    file = folder.path / "timings.json"
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(Misuse, match="not a regular file"):
        folder.read(schema.Timings)
    file.unlink()
    for target, reason in (
        ("/dev/zero", "not a regular file"),
        (file.name, "levels of symbolic links"),
        ("..", "not a regular file"),
    ):
        file.symlink_to(target)
        with pytest.raises(Misuse, match=reason):
            reading.json_file(file, schema.Timings)
        file.unlink()
    file.mkdir()
    with pytest.raises(Misuse, match="not a regular file"):
        folder.read(schema.Timings)


def test_a_file_that_says_it_is_huge_is_not_read(tmp_path):
    folder = run_folders.make(tmp_path)
    os.truncate(folder.path / "timings.json", 1 << 40)
    with pytest.raises(Misuse, match="it has 1099511627776 bytes"):
        folder.read(schema.Timings)


def npy(header: str, values: bytes = b"", version: bytes = b"\x01\x00") -> bytes:
    return b"\x93NUMPY" + version + len(header).to_bytes(2, "little") + header.encode("latin-1") + values


HEADER = "{{'descr': {}, 'fortran_order': False, 'shape': {}, }}"
ARRAYS = {
    "more than there is": npy(HEADER.format("'<f4'", "(1000000, 1000000, 1000)"), bytes(16)),
    "more than fits": npy(HEADER.format("'<f4'", "(99999999999999999999,)"), bytes(16)),
    "negative": npy(HEADER.format("'<f4'", "(-4, -1)"), bytes(16)),
    "no elements, huge sides": npy(HEADER.format("'<f4'", "(0, 99999999999999)")),
    "less than there is": npy(HEADER.format("'<f4'", "(3,)"), bytes(16)),
    "texts": npy(HEADER.format("'|S4'", "(4,)"), bytes(16)),
    "times": npy(HEADER.format("'<M8[s]'", "(2,)"), bytes(16)),
    "complex": npy(HEADER.format("'<c8'", "(2,)"), bytes(16)),
    "fields": npy(HEADER.format("[('a', '<f4')]", "(4,)"), bytes(16)),
    "unclosed": npy("{'descr': '<f4', 'fortran_order': False, 'shape': ('''"),
    "nested": npy("(" * 9000),
    "no header": b"\x93NUMPY\x01\x00",
    "another version": npy(HEADER.format("'<f4'", "(4,)"), bytes(16), b"\x07\x00"),
    "no bytes": b"",
}


@pytest.mark.parametrize("how", sorted(ARRAYS))
def test_a_damaged_array_names_the_file(how, tmp_path):
    folder = run_folders.make(tmp_path)
    (folder.path / "outputs" / "000.npy").write_bytes(ARRAYS[how])
    with pytest.raises(Misuse, match="it is damaged") as caught:
        folder.arrays("outputs")
    assert "outputs/000.npy" in caught.value.tried


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64", "int8", "uint8", "int64", "uint64", "bool"])
@pytest.mark.parametrize("shape", [(), (0,), (3, 4), (1, 2, 0, 4)])
def test_arrays_come_back_as_they_went(dtype, shape, tmp_path):
    array = np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape).astype(dtype)
    run_folder.write_arrays(tmp_path / "outputs", [array])
    back = reading.array(tmp_path / "outputs" / "000.npy")
    assert back.dtype == array.dtype and back.shape == array.shape and back.flags.writeable
    np.testing.assert_array_equal(back, array)
    np.testing.assert_array_equal(np.load(tmp_path / "outputs" / "000.npy"), array)


def test_other_ways_to_write_an_array_are_read_too(tmp_path):
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    for written in (np.asfortranarray(array), array.astype(">f4")):
        np.save(tmp_path / "a.npy", written)
        back = reading.array(tmp_path / "a.npy")
        assert back.dtype == np.float32
        np.testing.assert_array_equal(back, array)


def test_a_profile_whose_rows_are_of_no_partition_is_refused(tmp_path):
    value = json.loads(json.dumps(run_folders.PROFILE))
    value["invokes"][1]["dispatch_us"].append(1.0)
    folder = run_folders.make(tmp_path, profile=value)
    with pytest.raises(Misuse, match="row 1 of invokes has 3 times"):
        folder.read(schema.Profile)


def test_the_spec_is_understood_whole_or_not_at_all(tmp_path):
    folder = run_folders.make(tmp_path)
    run_folder.write_json(folder.path / "spec.json", {**folder.spec().to_json(), "stride": 2})
    with pytest.raises(Misuse, match="unknown field `stride`"):
        folder.spec()
    assert specs.RunSpec.FILE == "spec.json"
