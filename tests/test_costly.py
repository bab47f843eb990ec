"""The rows of costly.py are of tests that there are, and leave the others alone."""

import re
from pathlib import Path

import pytest

from tests import costly

TESTS = Path(__file__).parent


@pytest.mark.parametrize("pattern", [pattern for pattern, _ in costly.ROWS])
def test_it_is_of_a_test_that_is_there(pattern):
    file, name, parameters = re.fullmatch(r"([\w/]+\.py)::(\w+)(\[?.*)", pattern).groups()
    (path,) = [path for path in TESTS.rglob(file.rpartition("/")[2]) if str(path).endswith(f"/{file}")]
    ending = r"\(" if parameters else ""
    assert re.search(rf"^def {name}\w*{ending}", path.read_text(encoding="utf-8"), re.MULTILINE)


def test_parameters_are_looked_at():
    test = "tests/test_cache.py::test_a_hit_whose_binaries_are_not_taken_compiles_and_mends_the_file"
    assert [costly.is_costly(f"{test}[{api}]") for api in ("gles", "opencl")] == [True, False]
    assert costly.is_costly("tests/test_sizes.py::test_sizes_that_another_partition_makes_follow_a_resize[x-2-opencl]")
    assert not costly.is_costly(
        "tests/test_sizes.py::test_sizes_that_another_partition_makes_follow_a_resize[x-1-gles]"
    )
