"""Tests models of an app with pytest. Installed with quadra-tools; `pytest -p quadra_tools.pytest_plugin` in a clone.

    @pytest.mark.quadra("models/*.tflite", max_error=1e-3, max_cpu_nodes=0)
    def test_models(quadra_model):
        quadra_model.check()

The fixture `quadra_model` is the Result of a run of the mark's model; with several models, or a pattern that fits several files,
the test runs once for each. `check()` has the mark's limits. Further arguments of the mark are those of `quadra_tools.run`.
Paths are relative to the test's file. `--quadra-on` says where, for marks that do not: host, a device's serial, any.
A model runs once in a session for all tests with the same arguments.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from host_tools.base.errors import JudgementFailed

if TYPE_CHECKING:
    from quadra_tools import Result

_LIMITS = ("max_error", "max_ms", "max_cpu_nodes")
_PATHS = ("image", "inputs", "library", "apk", "cache")
_RUNS = pytest.StashKey[dict[str, "Result"]]()


@dataclass(frozen=True)
class Model:
    """A run with the limits of a mark. It has all that `result`, a quadra_tools.Result, has."""

    result: Result
    limits: dict[str, Any]

    def check(self, **limits: Any) -> Result:
        """As Result.check, with the mark's limits; those that are given here come before them."""
        __tracebackhide__ = True  # what failed is the test's line
        try:
            return self.result.check(**{**self.limits, **limits})
        except JudgementFailed as error:
            raise error.with_traceback(None) from None

    def ratio(self, peer: str = "xnnpack") -> float:
        """As Result.ratio: what could not be measured fails the test."""
        __tracebackhide__ = True
        try:
            return self.result.ratio(peer)
        except JudgementFailed as error:
            raise error.with_traceback(None) from None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.result, name)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("quadra", "models on GPUs, with Quadra")
    group.addoption(
        "--quadra-on",
        default="host",
        metavar="PLACE",
        help="where marked models run: host (default), a device's serial, any",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "quadra(*models, max_error=, max_ms=, max_cpu_nodes=, on=, …): models that the fixture quadra_model runs, and its limits",
    )
    config.stash[_RUNS] = {}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    mark = metafunc.definition.get_closest_marker("quadra")
    if "quadra_model" in metafunc.fixturenames and mark:
        folder = metafunc.definition.path.parent
        models = [one for word in mark.args for one in _models(str(word), folder)]
        metafunc.parametrize("quadra_model", models, indirect=True, ids=[Path(one).stem for one in models])


@pytest.fixture
def quadra_model(request: pytest.FixtureRequest) -> Model:
    """The result of a run of the model of the mark `quadra`, whose `check()` has the mark's limits."""
    import quadra_tools

    mark = request.node.get_closest_marker("quadra")
    if not mark or not hasattr(request, "param"):
        pytest.fail('the fixture quadra_model needs a model: @pytest.mark.quadra("model.tflite")', pytrace=False)
    limits = {name: value for name, value in mark.kwargs.items() if name in _LIMITS}
    arguments = {name: value for name, value in mark.kwargs.items() if name not in _LIMITS}
    arguments.setdefault("on", request.config.getoption("--quadra-on"))
    for name in _PATHS:
        if isinstance(arguments.get(name), str):
            arguments[name] = _found(arguments[name], request.node.path.parent)
    runs = request.config.stash[_RUNS]
    key = repr((request.param, sorted(arguments.items(), key=lambda one: one[0])))
    if key not in runs or not isinstance(arguments.get("inputs", ""), str):  # arrays are not told apart
        try:
            runs[key] = quadra_tools.run(request.param, **arguments)
        except quadra_tools.QuadraError as error:
            pytest.fail(str(error), pytrace=False)
    return Model(runs[key], limits)


def _models(word: str, folder: Path) -> Iterator[str]:
    """The files of a pattern; otherwise a file, or a name that the toolkit knows. Fails if a pattern fits no file."""
    if not set(word) & set("*?["):
        yield _found(word, folder)
        return
    path = Path(word)
    files = sorted(
        Path(path.anchor).glob(str(path.relative_to(path.anchor))) if path.is_absolute() else folder.glob(word)
    )
    if not files:
        pytest.fail(f"the mark quadra names no file: {folder / word}", pytrace=False)
    yield from map(str, files)


def _found(word: str, folder: Path) -> str:
    return str(folder / word) if (folder / word).exists() else word
