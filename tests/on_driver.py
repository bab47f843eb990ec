"""A session of tests on one row of the table of drivers (`pytest --driver ROW`): which tests concern the row, and what came
of them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from host_tools.base.errors import FetchFailed, QuadraError
from host_tools.build import bazel
from host_tools.drivers import driver_table, results
from host_tools.drivers.driver import Driver, Entry
from tests.delegate import Refused

_LONGEST_REASON = 1500
_CASES, _NOTE = "driver_cases", "driver_note"  # properties of a test's report


@dataclass
class OnDriver:
    """path: where results are kept; None: failures are shown as those of any test."""

    driver: Driver
    entry: Entry
    path: Path | None = None
    done: frozenset[str] = frozenset()
    is_xdists: bool = False  # one of xdist's processes: the one that started them writes
    _open: dict[str, list[results.Case]] = field(default_factory=dict)
    _started: float = field(default_factory=time.monotonic)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node):
        """xdist's processes leave out what was done when the session began: they must agree."""
        node.workerinput["driver_done"] = sorted(self.done)

    def pytest_collection_modifyitems(self, config, items):
        kept = [item for item in items if self._concerns(item) and item.nodeid not in self.done]
        config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
        items[:] = kept

    def _concerns(self, item) -> bool:
        params = _params_of(item)
        run = params.get("run")
        if self.driver.library and getattr(run, "target", "").startswith("cpu-"):
            return False  # phones' library has no kernels for CPUs
        backend = getattr(run, "backend", params.get("backend"))
        return backend == self.driver.backend or (not backend and "backends" in item.fixturenames)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        """In the process that ran the test: exceptions do not reach the one that writes."""
        report = yield
        if self.path:
            run = _params_of(item).get("run")
            report.user_properties.append(("precision", getattr(run, "precision", "f32")))
            if report.skipped:
                reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
                report.user_properties.append((_NOTE, [results.SKIPPED, reason.removeprefix("Skipped: ")]))
            elif call.excinfo:
                report.user_properties.append((_NOTE, list(outcome_of(call.excinfo.value))))
        return report

    def pytest_runtest_logreport(self, report):
        if not self.path or self.is_xdists:
            return
        told = dict(report.user_properties)
        cases = self._open.setdefault(report.nodeid, [])
        if report.when == "call" and told.get(_CASES):
            cases += [results.Case(*one) for one in told[_CASES]]
        elif report.when == "call" or _NOTE in told:
            outcome, reason = told.get(_NOTE, [results.RIGHT, ""])
            cases.append(results.Case("", outcome, reason, round(report.duration, 3)))
        elif report.when not in ("setup", "teardown"):  # the process of pytest itself died
            cases.append(results.Case("", results.WRONG, str(report.longrepr)[:_LONGEST_REASON]))
        if report.when not in ("setup", "call"):
            kind = next((name for name, file in results.KINDS.items() if report.nodeid.startswith(file)), "")
            found = self._open.pop(report.nodeid)
            if kind:
                results.append(self.path, results.Record(report.nodeid, kind, told.get("precision", "f32"), found))

    def pytest_sessionfinish(self):
        if self.path and not self.is_xdists:
            results.append(self.path, results.Session(time.monotonic() - self._started))


def _params_of(item) -> dict:
    return item.callspec.params if hasattr(item, "callspec") else {}


_begun: list[OnDriver] = []


def session() -> OnDriver | None:
    """The one that was begun; None: the tests run on the usual drivers."""
    return _begun[0] if _begun else None


def begin(config) -> None:
    """For pytest's configuration: makes the session one of the row that --driver names."""
    name, path = config.getoption("--driver"), config.getoption("--driver-results")
    if not name:
        return
    try:
        driver = driver_table.find(name)
        entry = driver.enter()
    except QuadraError as error:
        raise pytest.UsageError(str(error)) from error
    known = results.read(Path(path)) if path else None
    done = getattr(config, "workerinput", {}).get("driver_done", known.tests if known else ())
    made = OnDriver(driver, entry, Path(path) if path else None, frozenset(done), hasattr(config, "workerinput"))
    _begun.append(made)
    config.pluginmanager.register(made, "on-driver")


def entry() -> Entry:
    """How the session's driver is entered."""
    found = session()
    return found.entry if found else Entry()


def backends(usual: tuple[str, ...]) -> tuple[str, ...]:
    """Those that tests take turns with; the row's alone on a row."""
    found = session()
    return (found.driver.backend,) if found else usual


def sample_only() -> bool:
    """Whether the driver is too slow for all but the first vectors and few examples."""
    found = session()
    return bool(found and found.driver.sample_only)


def library() -> Path:
    """The delegate's .so of this session."""
    found = session()
    return library_of(found.driver if found else None)


def library_of(driver: Driver | None) -> Path:
    """The row's own, QUADRA_LIBRARY, or what Bazel builds from this checkout."""
    if driver and driver.library:
        return driver.library()
    given = os.environ.get("QUADRA_LIBRARY")
    return Path(given) if given else bazel.library()


def outcome_of(problem: BaseException) -> tuple[str, str]:
    """wrong, refused, or skipped where a model could not be fetched; and the reason in one text."""
    text = str(problem).strip() or type(problem).__name__
    if isinstance(problem, FetchFailed):
        return results.SKIPPED, text.splitlines()[0][:_LONGEST_REASON]
    text = text if isinstance(problem, AssertionError) else f"{type(problem).__name__}: {text}"
    return results.REFUSED if isinstance(problem, Refused) else results.WRONG, text[:_LONGEST_REASON]


class Cases:
    """Cases of one test. On a row whose results are kept each has its own, and a failure does not keep the next from being
    tried; elsewhere the first failure ends the test."""

    def __init__(self, request: pytest.FixtureRequest) -> None:
        found = session()
        self.apart = bool(found and found.path)
        self._found: list[list] = []
        request.node.user_properties.append((_CASES, self._found))

    def __call__(self, name: str, check: Callable[[], str | None]) -> bool:
        """Whether the case is right. What `check` returns is noted with it."""
        if not self.apart:
            check()
            return True
        started = time.monotonic()
        try:
            outcome, reason = results.RIGHT, check() or ""
        except Exception as problem:
            outcome, reason = outcome_of(problem)
        self._found.append([name, outcome, reason, round(time.monotonic() - started, 3)])
        return outcome == results.RIGHT

    def together(self, names: list[str], check: Callable[[], None], alone: Callable[[int], None]) -> None:
        """Cases that share a model; where that fails, each is tried alone."""
        if not self.apart or len(names) == 1:
            self(names[0], check)
            return
        started = time.monotonic()
        try:
            check()
            each = round((time.monotonic() - started) / len(names), 3)
            self._found.extend([name, results.RIGHT, "", each] for name in names)
        except Exception as problem:
            right = [self(name, lambda i=i: alone(i)) for i, name in enumerate(names)]
            if all(right):  # only together
                outcome, reason = outcome_of(problem)
                self._found.append(["together: " + ", ".join(names), outcome, reason, 0.0])
