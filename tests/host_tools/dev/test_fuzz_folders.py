"""Damaged run folders are the same for the same seed, reach every reader, and are told in sentences."""

import itertools
import json
import time

import pytest

from host_tools.base import errors
from host_tools.dev.fuzz import damage, folder_fuzzer, good_folder

_QUICK, _SLOW = 60, 3000


def some(seed, count):
    return list(itertools.islice(folder_fuzzer.cases(seed), count))


def test_the_same_seed_gives_the_same_cases_and_another_one_others():
    assert some(1, 50) == some(1, 50) != some(2, 50)
    chosen = some(1, 2000)
    assert {case.reader for case in chosen} == set(folder_fuzzer.READERS)
    assert {m.kind for case in chosen for m in case.mutations} == set(damage.MUTATIONS)
    assert {m.file for case in chosen for m in case.mutations} == set(good_folder.names())


@pytest.mark.parametrize("reader", sorted(folder_fuzzer.READERS))
def test_every_reader_reads_the_good_folder_to_its_end(reader, tmp_path, monkeypatch, capsys):
    """Else damage would be met by nobody."""
    monkeypatch.setenv("QUADRA_RUNS_DIR", str(tmp_path / "runs"))
    folder_fuzzer.READERS[reader].read(good_folder.copy(tmp_path, tmp_path / "runs"))


def test_damaged_folders_end_in_sentences(request, tmp_path):
    count = _SLOW if request.config.getoption("--slow") else _QUICK
    found = [finding for case in some(7, count) if (finding := folder_fuzzer.run_case(case, tmp_path))]
    assert not found, "\n\n".join(f"{one.case}\n{one.kind} {one.place}\n{one.text}" for one in found)


def planted(monkeypatch, read):
    monkeypatch.setitem(folder_fuzzer.READERS, "report", folder_fuzzer.Reader(lambda: read))
    return folder_fuzzer.Case(0, 0, "report", ())


def test_a_traceback_is_a_finding_with_its_place(monkeypatch, tmp_path):
    finding = folder_fuzzer.run_case(
        planted(monkeypatch, lambda folder: json.loads((folder / "log.txt").read_text())), tmp_path
    )
    assert finding.kind == "traceback" and finding.place.endswith("JSONDecodeError") and "Traceback" in finding.text
    assert (tmp_path / finding.case.name / good_folder.RUN_ID / "log.txt").exists()  # to be looked at


def test_a_hang_and_a_crash_are_findings_and_a_sentence_is_none(monkeypatch, tmp_path):
    import os

    def sentence(folder):
        raise errors.Misuse("read it", "it is damaged", "run again")

    monkeypatch.setattr(folder_fuzzer, "_DEADLINE_S", 0.3)
    assert folder_fuzzer.run_case(planted(monkeypatch, lambda folder: time.sleep(60)), tmp_path).kind == "hang"
    monkeypatch.setattr(folder_fuzzer, "_DEADLINE_S", 20.0)
    assert folder_fuzzer.run_case(planted(monkeypatch, lambda folder: os.kill(os.getpid(), 9)), tmp_path).kind == "died"
    assert folder_fuzzer.run_case(planted(monkeypatch, sentence), tmp_path) is None
    assert not (tmp_path / "0-0-report").exists()


def test_the_parents_memory_and_files_are_not_the_childs(monkeypatch, tmp_path):
    """A reader that asks for everything is stopped by its limit, not by the machine."""
    finding = folder_fuzzer.run_case(planted(monkeypatch, lambda folder: bytearray(64 << 30)), tmp_path)
    assert finding.kind == "traceback" and "MemoryError" in finding.place
