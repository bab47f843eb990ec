"""Which device of a lab gets which cells, without a lab."""

import threading

from host_tools.judge.regression.suite import Cell
from host_tools.measure.cell_queue import All, Shared

CELLS = [Cell(f"m{number}") for number in range(12)]
GO = threading.Event()


def names(cells):
    return [int(cell.model[1:]) for cell in cells]


def test_devices_take_a_few_cells_and_fewer_towards_the_end():
    deal, taken, sizes = Shared(CELLS, ["a", "b"], lambda name: False), [], []
    while cells := deal.take("a", GO) or deal.take("b", GO):
        taken += names(cells)
        sizes.append(len(cells))
    assert sorted(taken) == list(range(12)) and sizes == sorted(sizes, reverse=True) and sizes[0] == 3
    assert not deal.left() and not deal.notes
    every = All(CELLS)
    assert [len(every.take(one, GO)) for one in ("a", "b", "a", "b")] == [12, 12, 0, 0], "without a lab: each all"


def test_a_cell_goes_where_it_can_be_compared_while_that_device_is_there():
    wanted = dict.fromkeys(CELLS[:6], ("b",)) | {CELLS[11]: ("gone",)}
    deal = Shared(CELLS, ["a", "b"], lambda name: False, lambda cell: wanted.get(cell, ()))
    assert names(deal.take("a", GO)) == [6, 7, 8] and names(deal.take("b", GO)) == [0, 1, 2]
    assert deal.failed("b", CELLS[0], "use b: unplugged", CELLS[:3], lost=True)
    assert deal.notes == ["b is lost: unplugged; its 3 unfinished cells may go to other devices"]
    rest = []
    while cells := deal.take("a", GO):
        rest += names(cells)
    assert sorted(rest) == [0, 1, 2, 3, 4, 5, 9, 10, 11]


def test_a_device_that_comes_back_gets_other_cells():
    there = []
    deal = Shared(CELLS[:6], ["a", "b"], lambda name: name in there)
    assert names(deal.take("a", GO)) == [0, 1] and names(deal.take("b", GO)) == [2]
    assert deal.failed("b", CELLS[2], "unplugged", [CELLS[2]], lost=True)
    there.append("b")
    soon = threading.Event()
    threading.Timer(5, soon.set).start()  # else it would wait for what a has in hand
    assert names(deal.take("b", soon)) == [3] and deal.notes[-1] == "b is back"
    assert deal.failed("a", CELLS[0], "no", CELLS[:2], lost=False) and deal.notes[-1].startswith("a is set aside")
    assert 0 in names(deal.take("b", soon)), "b may take it"


def test_the_last_device_keeps_its_error_and_what_nobody_took_is_left():
    deal = Shared(CELLS[:4], ["a", "b"], lambda name: False)
    deal.take("a", GO), deal.take("b", GO)
    assert deal.failed("a", CELLS[0], "no", [CELLS[0]], lost=True)
    assert not deal.failed("b", CELLS[1], "no", [CELLS[1]], lost=True), "nobody else is there"
    stopped = threading.Event()
    stopped.set()
    assert deal.take("b", stopped) == [] and CELLS[0] in deal.left()


def test_a_device_that_cannot_be_used_is_a_note_where_others_run_its_cells_and_has_all_of_them_otherwise():
    deal = Shared([1, 2], ["a"], lambda name: True)
    assert deal.leave("b", "it is locked") == [] and deal.notes == ["b is not used: it is locked"]
    assert All([1, 2]).leave("b", "it is locked") == [1, 2]
