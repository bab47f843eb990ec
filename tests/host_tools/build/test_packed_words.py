"""The words of packed texts: their files are as the script writes them, and save about what new ones would."""

import pytest

from host_tools.build import packed_words

EACH = pytest.mark.parametrize("table", packed_words.TABLES, ids=lambda table: table.struct)


@EACH
def test_files_are_as_written_and_their_words_halve_the_texts(table):
    words = packed_words.committed(table)
    assert table.path.read_text(encoding="utf-8") == packed_words.header(table, words)
    assert len(set(words)) == len(words) > 128
    plain = sum(len(text) + 1 for text in packed_words.texts(table))
    assert packed_words.packed_bytes(table, words) < plain / 2


@EACH
@pytest.mark.slow
def test_words_chosen_anew_would_not_save_much_more(table):
    now = packed_words.packed_bytes(table, packed_words.committed(table))
    anew = packed_words.packed_bytes(table, packed_words.choose(table))
    assert now - anew < 1000, "run: python -m host_tools.build.packed_words"
