"""`inv test`: which tests its arguments choose."""

from types import SimpleNamespace

import pytest

from host_tools.base import child_process
from host_tools.base.errors import CommandFailed, FetchFailed, Misuse
from host_tools.build import bazel, ndk
from host_tools.dev import repository, sanitize
from tests import conftest


@pytest.fixture
def ran(monkeypatch):
    """What is given to Bazel and to pytest; neither is started."""
    seen = {}
    monkeypatch.setattr(bazel, "test", lambda targets: seen.update(native=list(targets)) or list(targets))
    monkeypatch.setattr(bazel, "prepare_android", lambda *abis: None)
    monkeypatch.setattr(ndk, "find", lambda: None)
    monkeypatch.setattr(repository, "_commit", lambda: "c0ffee")

    def hand_over(argv, cwd, env):
        seen.update(python=[word for word in argv[3:] if word != "--dist" and not word.isdigit()])
        return 0

    monkeypatch.setattr(child_process, "hand_over", hand_over)
    return seen


TOGETHER = ["--numprocesses", "worksteal"]
EVERYTHING = [bazel.EVERYTHING]


@pytest.mark.parametrize(
    ("asked", "native", "python"),
    [
        ({}, EVERYTHING, ["--turn", "c0ffee", *TOGETHER]),
        ({"turn": "all"}, EVERYTHING, ["--turn", "all", *TOGETHER]),
        ({"turn": "c0ffee", "only": "conv"}, None, ["--turn", "c0ffee", "-k", "conv"]),
        ({"slow": True}, EVERYTHING, ["--slow", *TOGETHER]),
        (
            {"args": "--junitxml tests/out.xml --basetemp tests/x --durations 9"},
            EVERYTHING,
            ["--junitxml", "tests/out.xml", "--basetemp", "tests/x", "--durations"],
        ),
        ({"only": "conv"}, None, ["-k", "conv"]),
        ({"args": "-x"}, EVERYTHING, ["-x"]),
        ({"args": "-x tests/host_tools/judge"}, None, ["-x", "tests/host_tools/judge"]),
        ({"args": "tests/test_cache.py::test_x[a]"}, None, ["tests/test_cache.py::test_x[a]"]),
        ({"args": "tests/native/json_test.cc"}, ["//tests/native:json_test"], None),
        ({"args": "./tests/native/json_test.cc"}, ["//tests/native:json_test"], None),
        ({"args": "-k docs"}, EVERYTHING, ["-k", "docs"]),
        ({"args": "-m README.md --ignore tests/native"}, EVERYTHING, ["-m", "README.md", "--ignore", "tests/native"]),
        ({"args": "--junitxml pyproject.toml"}, EVERYTHING, ["--junitxml", "pyproject.toml"]),
        ({"args": "-x tests"}, None, ["-x", "tests"]),
        (
            {"args": "tests/native/json_test.cc tests/test_cache.py -x tests/native/half_test.cc"},
            ["//tests/native:json_test", "//tests/native:half_test"],
            ["tests/test_cache.py", "-x"],
        ),
        ({"only": "conv", "args": "tests/native/half_test.cc"}, ["//tests/native:half_test"], ["-k", "conv"]),
    ],
)
def test_files_that_are_named_are_the_only_ones(ran, asked, native, python):
    repository.run_tests(**asked)
    assert (ran.get("native"), ran.get("python")) == (native, python)


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ({"args": "tests/native/gone_test.cc"}, "no such file"),
        ({"args": "tests/test_gone.py"}, "no such file"),
        ({"args": "test_cache.py"}, "(?s)no such file.*tests/"),
        ({"args": "gone::test_x"}, "no such file"),
        ({"args": "tests/native/json_test.cc tests/test_gone"}, "no such file"),
        ({"args": "tests/native/json_test.cc -x"}, "takes no options"),
        ({"args": "tests/native/json_test.cc cache"}, "takes no options"),
        ({"args": "tests/native/cache_file_fuzz.cc"}, "no native test"),
        ({"args": "delegate_native/base/json.cc"}, "(?s)no native test.*tests/native/"),
        ({"args": "tests/native/json_test.cc", "sanitizers": "address"}, "omit --sanitize"),
    ],
)
def test_a_native_file_that_cannot_be_run_is_misuse(ran, asked, problem):
    with pytest.raises(Misuse, match=problem):
        repository.run_tests(**asked)
    assert not ran


def test_a_sanitizer_runs_the_files_that_are_named_or_its_own(ran, monkeypatch, tmp_path):
    monkeypatch.setattr(sanitize, "library", lambda names: tmp_path)
    repository.run_tests(sanitizers="address", args="tests/test_cache.py -x")
    assert ran == {"python": ["tests/test_cache.py", "-x"]}
    repository.run_tests(sanitizers="address", args="-x")
    files = {word.removeprefix("tests/") for word in ran["python"][:-1]}
    assert ran["python"][-1] == "-x" and {"test_vectors.py", "test_lifetime.py", "test_sanitizers.py"} < files
    assert {"test_self_check.py", "test_split_sums.py", "test_gl_buffers.py", "test_models.py"} < files
    left_out = set(repository._NOT_SANITIZED)
    assert not left_out & files and all((repository.settings.ROOT / "tests" / name).is_file() for name in left_out)
    assert not {"test_references.py", "test_folders.py"} & files
    repository.run_tests(sanitizers="thread")
    assert ran["python"][:2] == ["tests/test_lifetime.py", "tests/test_sanitizers.py"]


def test_the_turn_is_the_checkouts_commit(monkeypatch, tmp_path):
    monkeypatch.setattr(repository.settings, "ROOT", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert repository._commit() == "none"
    for words in (
        ["init", "-q"],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x"],
    ):
        child_process.run(["git", *words], cwd=tmp_path, timeout_s=60)
    head = child_process.run(["git", "rev-parse", "HEAD"], cwd=tmp_path, timeout_s=60).stdout
    assert head.startswith(repository._commit()) and len(repository._commit()) == 10


def test_the_output_says_what_was_chosen_and_how_to_choose_it_again():
    def said(**given):
        return conftest.pytest_report_header(SimpleNamespace(getoption=lambda name: given[name.strip("-")]))

    assert "./inv test --turn c0ffee;" in said(turn="c0ffee", slow=False)
    assert not said(turn="all", slow=False) and not said(turn="c0ffee", slow=True)


def test_words_that_select_nothing_are_said(ran, monkeypatch):
    monkeypatch.setattr(child_process, "hand_over", lambda *words, **more: 5)
    with pytest.raises(CommandFailed, match="(?s)no quick test's name matches 'conv2d'.*next: .*conv_2d.*--slow"):
        repository.run_tests(only="conv2d")
    with pytest.raises(CommandFailed, match="found no tests"):
        repository.run_tests(args="tests/judge.py")


def test_a_word_that_selects_no_op_case_is_said():
    def said(keyword, *names, files=()):
        config = SimpleNamespace(option=SimpleNamespace(keyword=keyword, file_or_dir=list(files)))
        items = [SimpleNamespace(nodeid=name) for name in names]
        return conftest.pytest_report_collectionfinish(config, items)

    assert "no op case" in (said("conv2d", "tests/test_winograd.py::test_conv2d") or "")
    assert not said("conv_2d", "tests/test_winograd.py::test_x", "tests/test_vectors.py::test_y[conv_2d-a]")
    assert not said("", "tests/test_winograd.py::test_x") and not said("x", files=["tests/test_cache.py"])


def test_a_lock_without_a_network_says_what_to_do(monkeypatch):
    def run(argv, **_):
        if "install" in argv:
            raise CommandFailed("run pip", "exit status 1\n  | No matching distribution found")

    monkeypatch.setattr(child_process, "run", run)
    with pytest.raises(FetchFailed, match="(?s)No matching distribution.*next: connect to the network"):
        repository.lock()


def test_every_native_test_is_run_by_its_files_name():
    build = (repository.settings.ROOT / "tests/native/BUILD.bazel").read_text()
    for source in (repository.settings.ROOT / "tests/native").glob("*_test.cc"):
        assert f'    name = "{source.stem}",\n' in build, source
