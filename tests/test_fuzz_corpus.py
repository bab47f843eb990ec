"""What `./inv fuzz` once found: each gives what the interpreter alone gives, or an error; never a crash, a hang or wrong
numbers. A finding that is kept becomes one of these by moving its folder to tests/fuzz_corpus."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from host_tools.dev.fuzz import model_fuzzer, option_fuzzer

CORPUS = Path(__file__).with_name("fuzz_corpus")
FOLDERS = sorted(path.parent for path in CORPUS.glob("*/case.json"))
KINDS = {"models": (model_fuzzer, model_fuzzer.Models), "options": (option_fuzzer, option_fuzzer.Options)}


@pytest.fixture(scope="module")
def fuzzers(library):
    made = {kind: fuzzer(library) for kind, (_, fuzzer) in KINDS.items()}
    yield made
    for fuzzer in made.values():
        fuzzer.close()


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_what_was_found_is_mended(fuzzers, folder):
    words = json.loads((folder / "case.json").read_text())
    module, _ = KINDS[words["kind"]]
    finding = fuzzers[words["kind"]].run_case(module.from_folder(folder, words["case"]))
    assert not finding, f"{(folder / 'finding.txt').read_text()}{finding.kind}: {finding.place}\n{finding.text}"


def test_every_folder_of_the_corpus_is_a_finding():
    assert FOLDERS and sorted(path for path in CORPUS.iterdir()) == FOLDERS
