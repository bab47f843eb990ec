"""What rotation.py leaves out of a run has siblings in it, and each test has its turn."""

import re
from pathlib import Path

import pytest

from tests import rotation

TESTS = Path(__file__).parent
VECTORS = "tests/test_vectors.py::test_vector_is_right_on_gpu"
OWN = [
    f"{VECTORS}[{batch}-{api}-own]" for api in ("opencl", "gles") for batch in ("add-a+b", "add-c", "add-d", "mul-a")
]
OTHERS = [f"{VECTORS}[add-{i}-gles-adreno-640]" for i in range(10)]
CACHE = [f"tests/test_cache.py::test_{name}" for name in ("x[opencl]", "x[gles]", "y[opencl]", "z")]
WORDS = [f"{number:08x}" for number in range(60)]


def kept(tests, word):
    out = rotation.left_out(tests, word)
    return [test for test in tests if test not in out]


@pytest.mark.parametrize("row", rotation.ROWS, ids=lambda row: row.pattern)
def test_a_row_is_of_tests_that_there_are(row):
    file, name, more = re.fullmatch(r"([\w/]+\.py)::(\w*)(\[?.*)", row.pattern).groups()
    (path,) = [
        path for path in TESTS.rglob(file.rpartition("/")[2]) if f"tests/{path.relative_to(TESTS)}".endswith(file)
    ]
    source = path.read_text(encoding="utf-8")
    assert re.search(rf"^def {name}\w*{r'[(]' if more else ''}", source, re.MULTILINE)
    if not row.of and not name:
        assert "backend" in source  # what tells an API's tests apart


def test_a_word_chooses_the_same_every_time_and_another_one_others():
    chosen = [kept(OTHERS, word) for word in WORDS]
    assert chosen == [kept(list(OTHERS), word) for word in WORDS]
    assert {len(one) for one in chosen} == {4}  # of ten a third, rounded up
    assert {test for one in chosen for test in one} == set(OTHERS)
    assert kept(OTHERS, rotation.ALL) == OTHERS


def test_of_tests_that_differ_in_the_api_one_runs():
    chosen = [kept(CACHE, word) for word in WORDS]
    assert all(one[-2:] == CACHE[-2:] and len(one) == 3 for one in chosen)
    assert {one[0] for one in chosen} == set(CACHE[:2])


def test_the_first_of_each_op_runs_on_both_apis_and_every_vector_on_one():
    firsts = {test for test in OWN if "add-a+b" in test or "mul-a" in test}
    chosen = [kept(OWN, word) for word in WORDS]
    assert all(firsts < set(one) and len(one) == len(OWN) - 2 for one in chosen)
    assert all({"add-c", "add-d"} <= {re.search(r"\[(.*)-\w+-own", test)[1] for test in one} for one in chosen)
    assert {test for one in chosen for test in one} == set(OWN)


def test_what_has_no_siblings_or_no_row_is_never_left_out():
    alone = [
        CACHE[-1],
        CACHE[-2],
        OTHERS[0],
        "tests/test_options.py::test_x[opencl]",
        "tests/test_options.py::test_x[gles]",
    ]
    assert all(kept(alone, word) == alone for word in WORDS)
