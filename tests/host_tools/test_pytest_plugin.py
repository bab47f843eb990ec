"""The plug-in for pytest, in a repository that tests its models: the real thing once, and with a stand-in for runs."""

import re

import pytest

import quadra_tools
from host_tools.base import settings
from host_tools.build import bazel
from tests.model_builder import one_convolution

pytest_plugins = ["pytester"]
TEN_LINES = """
import pytest


@pytest.mark.quadra("models/*.tflite", max_error=1e-3, max_cpu_nodes=0)
def test_models(quadra_model):
    quadra_model.check()
"""


class Stub:
    """Stands for quadra_tools.run; a model named wrong is wrong."""

    def __init__(self):
        self.asked = []

    def __call__(self, model, **arguments):
        self.asked.append((model, arguments))
        if "missing" in str(model):
            raise quadra_tools.Misuse("find the model", "there is none", "give another")
        return self

    ok, ms = True, 12.5

    def ratio(self, peer="xnnpack"):
        raise quadra_tools.JudgementFailed(f"divide by {peer}'s time", "not reliable: the machine was busy", "wait")

    def check(self, **limits):
        self.asked.append(limits)
        if limits.get("max_ms") == 1:
            raise quadra_tools.JudgementFailed("keep the limits", "it takes 12.5 ms", "wait")
        return self


@pytest.fixture(scope="module")
def library():
    """Built before: the home of a repository in a test is another one, where Bazel would build everything again."""
    return bazel.library()


@pytest.fixture
def app(pytester, monkeypatch):
    """A repository with two models."""
    monkeypatch.setenv("QUADRA_RUNS_DIR", str(pytester.path / "runs"))
    pytester.mkdir("models")
    for name in ("a", "b"):
        (pytester.path / "models" / f"{name}.tflite").write_bytes(one_convolution())
    return pytester


@pytest.fixture
def stub(monkeypatch):
    made = Stub()
    monkeypatch.setattr(quadra_tools, "run", made)
    return made


def run(app, text, *words):
    app.makepyfile(test_app=text)
    return app.runpytest("-p", "quadra_tools.pytest_plugin", "--strict-markers", *words)


def test_ten_lines_test_the_models_of_a_repository(app, library):
    assert len(TEN_LINES.split("\n")) <= 10
    result = run(app, TEN_LINES.replace("max_error=1e-3", f"max_error=1e-3, library='{library}'"), "-v")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*test_models?a? PASSED*", "*test_models?b? PASSED*"])
    assert len(list((app.path / "runs").glob("2*/report.html"))) == 2


def test_a_limit_that_is_exceeded_fails_the_test(app, library):
    result = run(app, TEN_LINES.replace("max_error=1e-3", f"max_ms=1e-6, library='{library}'"))
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*JudgementFailed*takes * ms *more than 1e-06 ms*"])
    assert "limits.py" not in result.stdout.str(), "the traceback ends in the test"


def test_the_marks_arguments_reach_the_run_and_its_limits_the_check(app, stub):
    (app.path / "face.jpg").touch()
    text = """
import pytest
@pytest.mark.quadra("models/a.tflite", "a_name", image="face.jpg", precision="f16", max_ms=20, max_error=0.5)
def test_one(quadra_model):
    assert quadra_model.ok and quadra_model.ms == 12.5
    quadra_model.check(max_error=0.25)
"""
    run(app, text, "--quadra-on=any").assert_outcomes(passed=2)
    arguments = {"image": str(app.path / "face.jpg"), "precision": "f16", "on": "any"}
    limits = {"max_ms": 20, "max_error": 0.25}
    assert stub.asked == [(str(app.path / "models" / "a.tflite"), arguments), limits, ("a_name", arguments), limits]


def test_a_mark_says_where_before_the_command_line_does(app, stub):
    run(app, TEN_LINES.replace("max_error=1e-3", 'on="host"'), "--quadra-on=any").assert_outcomes(passed=2)
    assert [one[1]["on"] for one in stub.asked[::2]] == ["host", "host"]


def test_tests_with_the_same_arguments_share_a_run(app, stub):
    text = """
import pytest
pytestmark = pytest.mark.quadra("models/a.tflite", max_ms=20)
def test_one(quadra_model): pass
def test_two(quadra_model): pass
@pytest.mark.quadra("models/a.tflite", precision="f16")
def test_three(quadra_model): pass
@pytest.mark.quadra("models/a.tflite", inputs=[1])
def test_four(quadra_model): pass
@pytest.mark.quadra("models/a.tflite", inputs=[1])
def test_five(quadra_model): pass
"""
    run(app, text).assert_outcomes(passed=5)
    assert len(stub.asked) == 4


@pytest.mark.parametrize(
    ("text", "outcome", "line"),
    [
        ("def test_a(quadra_model): pass", {"errors": 1}, "*the fixture quadra_model needs a model: @pytest.mark.quadra*"),
        ('@pytest.mark.quadra("none/*.tflite")\ndef test_a(quadra_model): pass', {"errors": 1}, "*names no file*"),
        ('@pytest.mark.quadra("missing")\ndef test_a(quadra_model): pass', {"errors": 1}, "find the model: there is none"),
        ('@pytest.mark.quadra("a", max_ms=1)\ndef test_a(quadra_model): quadra_model.check()', {"failed": 1}, "*it takes 12.5 ms*"),
        ('@pytest.mark.quadra("a")\ndef test_a(quadra_model): assert quadra_model.ratio("xnnpack") < 2', {"failed": 1}, "*time: not reliable: the machine was busy*"),
        ('@pytest.mark.quadra("a")\ndef test_a(): pass', {"passed": 1}, "*1 passed*"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_a_sentence(app, stub, text, outcome, line):
    result = run(app, f"import pytest\n{text}\n")
    result.stdout.fnmatch_lines([line])
    result.assert_outcomes(**outcome)


def test_without_a_mark_the_plug_in_leaves_tests_alone(app, stub):
    run(app, "def test_a(): pass\n").assert_outcomes(passed=1)
    assert stub.asked == []


def test_the_lines_of_the_page_are_collected(app, stub):
    page = (settings.ROOT / "docs" / "python_api.md").read_text()
    (lines,) = re.findall(r"```python\n(import pytest\n.*?)```", page, re.DOTALL)
    assert TEN_LINES.strip() in lines
    (app.path / "models" / "face.tflite").touch()
    result = run(app, lines, "--collect-only", "-q")
    result.stdout.fnmatch_lines(["*test_models?a?", "*test_models?face?", "*test_faces?face?", "*4 tests collected*"])


def test_the_package_names_the_plug_in():
    text = (settings.ROOT / "pyproject.toml").read_text()
    assert '[project.entry-points.pytest11]\nquadra = "quadra_tools.pytest_plugin"' in text
