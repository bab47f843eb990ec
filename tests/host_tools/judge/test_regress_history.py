"""The history: whole launches or nothing, several processes at once, and files that are not what they should be."""

import multiprocessing
import sqlite3
from pathlib import Path

import pytest

from host_tools.base.errors import HistoryUnusable
from host_tools.judge.regression.history import INTERRUPTED, RUNNING, History
from host_tools.judge.regression.launch import FAILED, Launch
from tests.host_tools.judge import regress_cases


def filled(path, count=3):
    with History(path) as history:
        session = history.begin("suite", Path("/runs/x"))
        cell = history.cell(session, "a/b", "dev\udc80ice")
        history.describe(cell, "lib", {"GPU": "g"})
        for number in range(count):
            history.add(cell, regress_cases.launch(number))
        history.save("good", [cell])
        return cell


def test_every_sample_comes_back(tmp_path):
    cell = filled(tmp_path / "h.sqlite")
    with History(tmp_path / "h.sqlite") as history:
        stored = history.stored(cell)
        assert list(stored.launches) == [regress_cases.launch(n) for n in range(3)]
        assert stored.library == "lib" and stored.conditions == {"GPU": "g"} and stored.state == RUNNING
        assert history.baseline("good", "a/b", "dev\udc80ice") == stored and history.names() == ["good"]
        assert history.baseline("good", "a/b", "other") is None and history.devices("good", "a/b") == ["dev?ice"]
        assert history.past("a/b", "dev\udc80ice", 99) == [stored] and not history.past("a/b", "dev\udc80ice", 1)


def test_a_name_moves_and_the_old_result_stays(tmp_path):
    first = filled(tmp_path / "h.sqlite")
    second = filled(tmp_path / "h.sqlite")
    with History(tmp_path / "h.sqlite") as history:
        assert history.baseline("good", "a/b", "dev\udc80ice").id == second
        assert len(history.stored(first).launches) == 3


def test_the_state_of_a_session_and_the_reason_of_a_launch(tmp_path):
    with History(tmp_path / "h.sqlite") as history:
        session = history.begin("suite", tmp_path)
        cell = history.cell(session, "a", "b")
        history.add(cell, Launch(0, 1.0, FAILED, "the app crashed", 92))
        history.end(session, INTERRUPTED)
        stored = history.stored(cell)
    assert stored.state == INTERRUPTED and stored.launches[0].error == "the app crashed"
    assert stored.launches[0].exit_code == 92 and not stored.launches[0].ok


def test_facts_that_are_alike_are_kept_once(tmp_path):
    filled(tmp_path / "h.sqlite", 5)
    with sqlite3.connect(tmp_path / "h.sqlite") as db:
        assert db.execute("SELECT count(*) FROM facts").fetchone() == (1,)
        assert db.execute("SELECT count(*) FROM launches").fetchone() == (5,)


def test_half_a_launch_is_never_there(tmp_path):
    cell = filled(tmp_path / "h.sqlite")
    broken = regress_cases.launch(9)
    broken.samples["last"] = ["no number"]
    with History(tmp_path / "h.sqlite") as history:
        with pytest.raises(HistoryUnusable):
            history.add(cell, broken)
        with pytest.raises(HistoryUnusable):
            history.add(cell + 999, regress_cases.launch(10))  # a cell that is not there: foreign keys hold
        assert len(history.stored(cell).launches) == 3


def _write(path, start, count):
    start.wait()
    with History(path) as history:
        session = history.begin("suite", path.parent)
        cell = history.cell(session, "a", "b")
        for number in range(count):
            history.add(cell, regress_cases.launch(number))
        history.end(session, "complete")


def test_processes_write_at_once_also_into_a_file_that_is_new(tmp_path):
    context = multiprocessing.get_context("spawn")
    start, path = context.Event(), tmp_path / "h.sqlite"
    workers = [context.Process(target=_write, args=(path, start, 10)) for _ in range(3)]
    for worker in workers:
        worker.start()
    start.set()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0] * 3
    with History(path) as history:
        assert [len(one.launches) for one in history.past("a", "b", 99)] == [10] * 3


@pytest.mark.parametrize("content", [b"hello, this is no database\n" * 100, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_file_that_is_no_history_is_a_sentence(tmp_path, content):
    path = tmp_path / "h.sqlite"
    path.write_bytes(content)
    with pytest.raises(HistoryUnusable, match="(?s)read the history .*next: move it away") as caught:
        History(path)
    assert caught.value.exit_code == 78 and path.read_bytes() == content


def test_a_database_of_another_program_is_left_alone(tmp_path):
    path = tmp_path / "h.sqlite"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE theirs (x)")
    before = path.read_bytes()
    with pytest.raises(HistoryUnusable, match="a database of another program"):
        History(path)
    assert path.read_bytes() == before


def test_a_history_of_a_later_quadra_is_left_alone(tmp_path):
    filled(tmp_path / "h.sqlite")
    with sqlite3.connect(tmp_path / "h.sqlite") as db:
        db.execute("PRAGMA user_version = 7")
    with pytest.raises(HistoryUnusable, match="its version is 7, this Quadra writes 1"):
        History(tmp_path / "h.sqlite")


def test_damage_anywhere_is_an_error_or_does_no_harm(tmp_path):
    """Every page once overwritten: no wrong number, no traceback."""
    path, damaged = tmp_path / "h.sqlite", tmp_path / "d.sqlite"
    cell = filled(path, 6)
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = path.read_bytes()
    with History(path) as history:
        expected = history.stored(cell)
    for at in range(0, len(content), 4096):
        for name in ("d.sqlite-wal", "d.sqlite-shm"):
            (tmp_path / name).unlink(missing_ok=True)
        damaged.write_bytes(content[:at] + b"\xa5" * 512 + content[at + 512 :])
        try:
            with History(damaged) as history:
                assert history.stored(cell) == expected
        except HistoryUnusable:
            pass
    for length in range(4096, len(content) - 4096, 4096):
        damaged.write_bytes(content[:length])
        with pytest.raises(HistoryUnusable):
            with History(damaged) as history:
                history.stored(cell)


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "h.sqlite").mkdir()
    with pytest.raises(HistoryUnusable, match="SQLite says: unable to open database file"):
        History(tmp_path / "h.sqlite")
