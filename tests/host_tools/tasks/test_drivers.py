"""`inv drivers`: each row with what is true of it here; fetching goes on after one that fails."""

import io

import pytest
from rich.console import Console

from host_tools.base.errors import FetchFailed, Misuse, ToolMissing
from host_tools.drivers import driver_table
from host_tools.drivers.driver import Driver, Entry
from host_tools.tasks import drivers


def _missing(reason: str, do_next: str):
    def enter() -> Entry:
        raise ToolMissing("use it", reason, do_next)

    return enter


def _row(name: str, **more) -> Driver:
    return Driver(**{"name": name, "backend": "gles", "stands_for": "tests", "source": "", "enter": Entry, **more})


HERE = _row("near")
FAR = _row("far", enter=_missing("it is not in the folder", "./inv drivers --fetch far"), fetch=print, megabytes=7)
NEVER = _row("never", enter=_missing("there is no GPU", "buy one"), backend="opencl", lacks="everything")


def test_each_row_has_its_state():
    assert [one.word for one in drivers.states([HERE, FAR, NEVER])] == ["here", "to fetch", "missing"]


def test_the_table_says_what_to_do():
    console = Console(file=io.StringIO(), width=100)
    drivers.show(drivers.states([HERE, FAR, NEVER]), console)
    printed = console.file.getvalue()
    assert "to fetch, 7 MB" in printed and "lacks everything" in printed
    assert "never: there is no GPU; next: buy one" in printed and "`./inv drivers --fetch NAME` fetches one" in printed


def test_json_has_the_reason():
    one, two, three = drivers.to_json(drivers.states([HERE, FAR, NEVER]))["rows"]
    assert (one["state"], one["kind"], one["api"], one["reason"]) == ("here", "driver", "gles", "")
    assert (two["state"], two["megabytes"], two["do_next"]) == ("to fetch", 7, "./inv drivers --fetch far")
    assert (three["state"], three["reason"]) == ("missing", "there is no GPU")


def test_the_others_are_fetched_where_one_cannot_be():
    fetched = []

    def refuse(show):
        raise FetchFailed("fetch bad", "the network is away")

    rows = [_row("bad", fetch=refuse), _row("system"), _row("good", fetch=lambda show: fetched.append("good"))]
    with pytest.raises(FetchFailed, match="fetch bad"):
        drivers.fetch(rows)
    assert fetched == ["good"]


def test_names_are_those_of_the_table():
    assert [row.name for row in drivers.named(["angle", "pocl"])] == ["angle", "pocl"]
    assert drivers.named([]) == drivers.rows()
    with pytest.raises(Misuse, match="(?s)find the driver angel: .*did you mean angle"):
        drivers.named(["angel"])


def test_no_two_rows_share_a_name_and_each_says_what_it_is():
    names = [row.name for row in drivers.rows()]
    assert len({*names}) == len(names)
    for row in drivers.rows():
        assert row.stands_for and row.source and bool(row.megabytes) == (row.fetch is not None), row.name


def test_mesas_rows_are_missing_where_mesa_is(monkeypatch, tmp_path):
    monkeypatch.setattr(driver_table, "Path", lambda name: tmp_path)
    assert drivers.states([driver_table.find("softpipe")])[0].do_next.startswith("apt-get install libgl1-mesa-dri")
