"""The sanitizers see what they are for: planted defects, built with the delegate's flags and run as it is run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from host_tools.base import child_process, settings
from host_tools.base.errors import JudgementFailed, Misuse
from host_tools.build import bazel
from host_tools.dev import repository, sanitize

_PLANTED = "//tests/native:planted_defects.so"
_CALL = "import ctypes, sys; getattr(ctypes.CDLL(sys.argv[1]), sys.argv[2])(*[%s])"
ADDRESS, THREAD = ("address", "undefined"), ("thread",)
_DEFECTS = [
    (ADDRESS, "HeapOverflow", "4, 4", "heap-buffer-overflow"),
    (ADDRESS, "SignedOverflow", "2147483647, 1", "signed integer overflow"),
    (ADDRESS, "FloatToInt", "ctypes.c_float(1e20)", "outside the range of representable values"),
    (THREAD, "Race", "100000", "data race"),
]
_HARMLESS = {
    "HeapOverflow": "4, 3",
    "SignedOverflow": "2147483646, 1",
    "FloatToInt": "ctypes.c_float(1e9)",
    "Race": "0",
}


@pytest.fixture(scope="session")
def planted():
    """planted(names): the library with the defects, built with these sanitizers."""
    return lambda names: bazel.build([_PLANTED], sanitizers=names)[_PLANTED][0]


def call(library: Path, folder: Path, function: str, arguments: str) -> tuple[int, list[str]]:
    """The exit status of a Python that calls the function, and the reports it left."""
    done = child_process.run(
        [sys.executable, "-X", "faulthandler", "-c", _CALL % arguments, library, function],
        env=sanitize.environment(library, folder),
        timeout_s=60,
        check=False,
    )
    return done.returncode, sanitize.collect(folder)


@pytest.mark.parametrize(
    ("names", "function", "arguments", "words"), _DEFECTS, ids=[function for _, function, _, _ in _DEFECTS]
)
def test_a_planted_defect_is_reported_with_its_place_and_ends_the_process(
    planted, tmp_path, names, function, arguments, words
):
    library = planted(names)
    assert call(library, tmp_path, function, _HARMLESS[function]) == (0, [])
    status, reports = call(library, tmp_path, function, arguments)
    assert status, "it went on"
    assert len(reports) == 1 and words in reports[0] and "planted_defects.cc" in reports[0], reports
    assert not sanitize.collect(tmp_path), "a report counts once"


def test_a_usual_library_needs_nothing(tmp_path):
    library = bazel.library()
    assert sanitize.environment(library, tmp_path / "reports") == {} and not (tmp_path / "reports").exists()


def test_each_sanitizer_has_its_flags_and_its_build_folder(monkeypatch):
    words = []
    monkeypatch.setattr(bazel, "_bazel", lambda verb, targets, flags, env=None: words.append(flags) or (_Done, []))
    bazel.build(["//x"], sanitizers=sanitize.parse("undefined,address"))
    bazel.build(["//x"], sanitizers=sanitize.parse("thread"))
    assert words == [
        ["--config=address", "--config=undefined", "--platform_suffix=-address-undefined"],
        ["--config=thread", "--platform_suffix=-thread"],
    ]
    configs = (settings.ROOT / ".bazelrc").read_text()
    assert all(f"build:{name} --config=sanitize" in configs for name in sanitize.RUNTIMES)


class _Done:
    returncode = 0


@pytest.mark.parametrize(
    ("text", "file", "others"),
    [("undefined,address", "tests/test_vectors.py", 8), ("thread", "tests/test_lifetime.py", 1)],
)
def test_the_tests_that_load_the_delegate_get_the_sanitized_one(monkeypatch, text, file, others):
    handed = {}
    monkeypatch.setattr(sanitize, "library", lambda names: Path(f"/built/{'-'.join(names)}.so"))
    monkeypatch.setattr(child_process, "hand_over", lambda argv, cwd, env: handed.update(argv=argv, env=env) or 1)
    with pytest.raises(JudgementFailed):
        repository.run_tests(only="conv", sanitizers=text)
    assert handed["env"]["QUADRA_LIBRARY"] == f"/built/{'-'.join(sanitize.parse(text))}.so"
    files = [word for word in handed["argv"] if word.startswith("tests/")]
    assert file in files and len(files) > others and "conv" in handed["argv"]
    assert all((settings.ROOT / name).is_file() for name in files)


@pytest.mark.parametrize(
    ("text", "words"),
    [("memory", "'memory' is none of"), ("", "'' is none of"), ("address,thread", "do not go together")],
)
def test_a_sanitizer_that_does_not_exist_is_misuse(text, words):
    with pytest.raises(Misuse, match=words):
        sanitize.parse(text)
