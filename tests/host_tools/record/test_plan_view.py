"""Plans are read by their schema; flatc, which knows nothing of us, writes what is read here."""

import random
import shutil
import subprocess

import pytest
from rich.console import Console

from host_tools.base.errors import Misuse
from host_tools.dev.fuzz import good_folder
from host_tools.record import flatbuffer_reader, plan_view
from host_tools.show import plan_table
from tests.host_tools import run_folders


def arg(kind, index=0, int_value=0, float_value=0.0):
    return {
        "kind": kind,
        "written": False,
        "view": "Memory",
        "index": index,
        "int_value": int_value,
        "float_value": float_value,
    }


PLAN = {
    "version": 1,
    "quadra": "0.1.0",
    "target": "host",
    "device": "a [bold]device[/]",
    "precision": "f32",
    "buffers": [
        {"kind": "Arena", "bytes": 5000000000},
        {"kind": "Constant", "bytes": 3, "data": [1, 2, 3]},
        {"kind": "Image", "width": 7, "height": 9, "cell": "Half"},
    ],
    "regions": [{"buffer": 1, "offset": 0, "bytes": 16}, {"buffer": 0, "offset": 64, "bytes": 128}],
    "tensors": [
        {"name": "t<0>", "shape": [1, 2, 3, 4], "buffer": 0, "offset": 64, "bytes": 96, "first_use": 0, "last_use": 1}
    ],
    "programs": [
        {
            "prelude": "p",
            "kernels": [{"entry": "k0_add", "name": "add", "source": "s"}],
            "fingerprint": 18446744073709551615,
        }
    ],
    "dispatches": [
        {
            "name": "000_add",
            "kernel": "add",
            "entry": "k0_add",
            "global": [8, 4, 1],
            "local": [8, 1, 1],
            "nodes": [3, 4],
            "args": [
                arg("Buffer", index=1),
                arg("Int", int_value=-5),
                arg("Float", float_value=0.5),
                arg("Buffer", index=99),
            ],
        }
    ],
    "activation_bytes": 1000,
    "activation_bytes_lower_bound": 900,
}


@pytest.fixture(scope="module")
def plan_bytes(tmp_path_factory):
    if not shutil.which("flatc"):
        pytest.skip("flatc is not installed")
    return good_folder.plan_bytes(PLAN, tmp_path_factory.mktemp("plan") / "flatc")


def read(data, tmp_path):
    (tmp_path / "plan.quadra").write_bytes(data)
    return plan_view.read(tmp_path / "plan.quadra")


def agrees(want, got):
    if isinstance(want, dict):
        return all(agrees(value, got[key]) for key, value in want.items())
    if isinstance(want, list):
        return len(want) == len(got) and all(map(agrees, want, got))
    return want == got


def test_every_value_comes_back(plan_bytes, tmp_path):
    plan = read(plan_bytes, tmp_path)
    assert agrees(PLAN, plan)
    assert plan["constant_bytes"] == 0 and plan["inputs"] == [] and plan["programs"][0]["options"] == ""


def test_the_compiled_schema_is_that_of_the_text(tmp_path):
    """Compared as it is read: the bytes differ from one version of flatc to the next."""
    if not shutil.which("flatc"):
        pytest.skip("flatc is not installed")
    text = plan_view.SCHEMA.with_suffix(".fbs")
    subprocess.run(["flatc", "--binary", "--schema", "-o", tmp_path, text], check=True, timeout=60)
    assert flatbuffer_reader.read_schema(plan_view.SCHEMA) == flatbuffer_reader.read_schema(tmp_path / "plan.bfbs"), (
        "write it: flatc --binary --schema -o delegate_native/plan delegate_native/plan/plan.fbs"
    )


def test_every_kind_of_the_schema_is_read():
    schema = flatbuffer_reader.read_schema(plan_view.SCHEMA)
    assert schema.root == "Plan" and schema.identifier == b"QDRA"
    known = {*flatbuffer_reader._SCALARS, "string", *schema.types, *schema.enums}
    assert {field.kind.strip("[]") for kind in schema.types.values() for field in kind.fields} <= known
    assert schema.types["Region"].struct_bytes == 24 and schema.types["Plan"].struct_bytes == 0


def test_a_default_of_the_schema_is_read(tmp_path):
    (tmp_path / "some.fbs").write_text(
        "enum E : byte { A = -3, B = 7 } table T { z:int = -5; e:E = B; a:string; f:[E]; } root_type T;"
    )
    (tmp_path / "some.json").write_text('{"f": ["A", "B"]}')
    for options in (("--binary", "--schema"), ("--binary",)):
        files = [tmp_path / name for name in ("some.fbs", "some.json")[: 3 - len(options)]]
        subprocess.run(["flatc", *options, "-o", tmp_path, *files], check=True, timeout=60)
    found = flatbuffer_reader.decode(
        (tmp_path / "some.bin").read_bytes(), flatbuffer_reader.read_schema(tmp_path / "some.bfbs")
    )
    assert list(found.items()) == [("z", -5), ("e", "B"), ("a", ""), ("f", ["A", "B"])]


def test_every_cut_is_an_error_and_never_a_crash(plan_bytes, tmp_path):
    for size in range(0, len(plan_bytes), 7):
        with pytest.raises(Misuse, match="it is damaged"):
            read(plan_bytes[:size], tmp_path)


def test_flipped_bytes_end_soon(plan_bytes, tmp_path):
    generator = random.Random(1)
    ended = 0
    for _ in range(400):
        data = bytearray(plan_bytes)
        for _ in range(4):
            data[generator.randrange(8, len(data))] = generator.randrange(256)
        try:
            read(bytes(data), tmp_path)
        except Misuse:
            ended += 1
    assert ended > 50


def test_the_tables_show_places_and_lifetimes(plan_bytes, tmp_path):
    console = Console(width=200, record=True, file=open("/dev/null", "w"))
    plan_table.show(read(plan_bytes, tmp_path), console, in_order=True)
    text = console.export_text()
    for word in ("000_add", "8×4×1", "b0+64 -5 0.5f region 99?", "t<0>", "0..1", "7 × 9 px", "a [bold]device[/]"):
        assert word in text, word


def test_the_largest_come_first_and_a_line_says_how_many_are_left_out(plan_bytes, tmp_path):
    plan = read(plan_bytes, tmp_path)
    one = plan["dispatches"][0]
    plan["dispatches"] = [{**one, "name": "nothing", "args": []}, one]
    plan["tensors"] = [{**plan["tensors"][0], "name": f"t{size}", "bytes": size} for size in (8, 64)]
    for asked, order in (
        ({"in_order": True}, ["nothing", one["name"], "t8", "t64"]),
        ({}, [one["name"], "nothing", "t64", "t8"]),
        ({"times_us": [3.0, 1.0]}, ["nothing", "75.0%", one["name"], "25.0%", "t64", "t8"]),
        ({"times_us": [3.0]}, [one["name"], "nothing", "t64", "t8"]),  # of another plan
        ({"top": 1}, [one["name"], "1 more dispatch: --top 0 shows all", "t64", "1 more tensor: --top 0 shows all"]),
    ):
        console = Console(width=200, record=True, file=open("/dev/null", "w"))
        plan_table.show(plan, console, **asked)
        said = console.export_text()
        assert sorted(order, key=said.index) == order and "100.0%" in said and ("… 1 more" in said) == ("top" in asked)


def test_a_run_without_plans_says_so(tmp_path):
    with pytest.raises(Misuse, match="every node stayed on the CPU"):
        plan_view.of_run(run_folders.make(tmp_path))
