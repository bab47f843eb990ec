"""Tables by hand: what is folded, what is left out, and what never is."""

import io
import re
from collections.abc import Sequence

import pytest
from rich.console import Console
from rich.markup import escape

from host_tools.base import terminal
from host_tools.base.short_names import short
from host_tools.base.text_table import Column, Table, identifier, number, text, word

NAME = "model/" + "block_" * 30 + "add"


def printed(table: Table, width: int, encoding: str = "utf-8") -> list[str]:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="readable")
    table.show(Console(file=file, width=width))
    file.seek(0)
    return file.read().splitlines()


def made(columns: Sequence[Column], *rows: Sequence[str]) -> Table:
    table = Table(columns)
    for row in rows:
        table.add_row(*row)
    return table


def test_what_fits_is_as_it_was_given_without_blanks_behind_it():
    lines = printed(
        made([text("op"), number("nodes"), text("reason")], ["ADD", "12", ""], ["CONV_2D", "3", "no room"]), 80
    )
    assert lines == ["op       nodes  reason", "ADD         12", "CONV_2D      3  no room"]


@pytest.mark.parametrize("nothing", ["", "–", "-", " "])
def test_a_column_that_says_nothing_is_not_there(nothing):
    lines = printed(
        made([text("op"), number("ms"), word("result")], ["ADD", nothing, "right"], ["MUL", "–", "right"]), 80
    )
    assert lines[0].split() == ["op", "result"]


def test_a_table_without_rows_has_its_columns():
    assert printed(made([text("op"), number("ms")]), 80) == ["op  ms"]


def test_texts_are_folded_between_words_and_behind_punctuation_the_widest_first():
    lines = printed(
        made([text("tensor"), text("why")], ["a/short/name", "a reason with many words in it, as they are"]), 36
    )
    assert lines == [
        "tensor        why",
        "a/short/name  a reason with many",
        "              words in it, as they",
        "              are",
    ]


def test_a_number_in_a_text_is_never_broken():
    cell = "off by 0.0183 of -1.5e-05 at 1×128×128×16, which is 12345678.25 or −3.5e+12 or -inf too much"
    for width in range(20, 90):
        lines = printed(made([text("", least=8)], [cell]), width)
        assert " ".join(lines).split() == cell.split(), width


def test_a_name_without_a_place_to_break_is_broken_anywhere_but_in_its_number():
    lines = printed(made([text("name", least=8)], ["x" * 15 + "1234567" + "y" * 15]), 20)
    assert lines == ["name", "x" * 15, "1234567" + "y" * 13, "yy"]


def test_an_identifier_loses_its_middle_and_with_it_all_of_a_number():
    table = made([identifier("tensor"), number("ms")], [f"model/conv_{'8' * 40}/Relu6", "1.25"])
    assert printed(table, 40)[1].split() == ["model/conv_…/Relu6", "1.25"]
    assert printed(table, 80)[1] == f"model/conv_{'8' * 40}/Relu6  1.25"
    in_log = printed(made([identifier("tensor"), number("ms")], [NAME, "1.25"]), terminal.ENDLESS)[1].split()
    assert in_log == [short(NAME), "1.25"] and len(in_log[0]) <= 48 < len(NAME), "the figures are in sight"
    assert short("a/name") == "a/name" and short(NAME, 16) == f"{NAME[:8]}…{NAME[-7:]}"
    for width in range(30, 200):
        assert not re.search(r"\d…|…\d", printed(made([identifier("")], [f"{NAME}{'12 45/' * 30}"]), width)[0])


def test_columns_without_room_go_by_rank_and_all_of_one_rank_together():
    columns = [text("model"), number("ms"), number("stock", 2), number("min", 1), number("ratio", 2), word("")]
    table = made(columns, ["a" * 16, "1.25", "2.50", "1.24", "0.50", "right"])
    assert printed(table, 80)[0].split() == ["model", "ms", "stock", "min", "ratio"]
    first = printed(table, 40)
    assert first[0].split() == ["model", "ms", "min"] and first[1].endswith("1.24  right")
    assert (
        " ".join(" ".join(first[2:]).split())
        == "no room for stock; ratio: a terminal of 49 columns or a pipe (| cat) shows all"
    )
    assert printed(table, 49)[0].split() == ["model", "ms", "stock", "min", "ratio"]
    assert printed(table, 48)[0].split() == ["model", "ms", "min"]
    assert printed(table, 30)[0].split() == ["model", "ms"]


def test_without_room_for_keys_and_verdicts_the_table_is_wider_than_the_terminal():
    lines = printed(
        made([text("model"), number("largest error"), word("")], ["a" * 16, "5.34567e-05", "not judged"]), 20
    )
    assert lines[-1] == "a" * 16 + "  5.34567e-05  not judged"


def test_the_last_of_too_few_cells_goes_on_over_the_columns_that_follow():
    columns = [text("model"), number("ms"), word("")]
    table = made(columns, ["a", "1.25", "right"], ["b", "failed: there was no driver at all"])
    assert printed(table, 80) == ["model    ms", "a      1.25  right", "b      failed: there was no driver at all"]
    assert printed(table, 20)[2:] == ["b      failed: there", "       was no driver", "       at all"]
    with pytest.raises(ValueError):
        table.add_row("a", "b", "c", "d")


def test_wide_characters_take_two_columns():
    lines = printed(made([text("model"), number("ms")], ["日本", "1"], ["abcd", "2"], ["日" * 9, "3"]), 20)
    assert lines[1:] == ["日本" + " " * 15 + "1", "abcd" + " " * 15 + "2", "日" * 8 + "   3", "日"]


def test_nothing_in_a_cell_reaches_the_terminal_as_a_command():
    lines = printed(made([text("name"), number("ms")], [escape("a\x1b[31m\x9b2J\a[bold]:heart:"), "1"]), 80)
    assert lines[1] == r"a\x1b[31m\x9b2J\x07[bold]:heart:   1"


def test_columns_stand_under_each_other_where_the_encoding_lacks_characters():
    lines = printed(made([text("shape"), number("ms")], ["1×8×8", "≥1"], ["1×16", "–"]), 80, "ascii")
    assert lines == ["shape   ms", "1x8x8  >=1", "1x16     -"]
