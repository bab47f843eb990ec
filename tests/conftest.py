"""Options and fixtures that all tests share."""

import os
import shutil
import signal
from pathlib import Path

import hypothesis
import pytest

from host_tools.base import cpu_drivers, settings
from host_tools.dev import sanitize
from host_tools.request import models
from tests import costly, lean_pocl, more_models, on_driver, rotation
from tests.delegate import REPORTS, UNOPTIMISED, Quadra

# The same examples every time; `--hypothesis-profile=search` looks for new ones.
hypothesis.settings.register_profile("default", deadline=None, derandomize=True, max_examples=30, database=None)
hypothesis.settings.register_profile("search", deadline=None, max_examples=1000, print_blob=True)
hypothesis.settings.load_profile("default")


def pytest_configure(config):
    # A shell that starts something in the background has it ignore SIGINT, and so all that it starts: no test of Ctrl-C
    # would mean anything.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # Whatever tests start has PoCL, also where they do not say so: drivers beside it have tests of their own.
    os.environ.update(lean_pocl.environment() or cpu_drivers.only_pocl())
    # Each of a thousand processes would start threads for numpy's matrices, which have nothing to do.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    on_driver.begin(config)


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="also the tests that take long")
    parser.addoption(
        "--turn", default=rotation.ALL, help="leave out those of tests/rotation.py that this word does not choose"
    )
    parser.addoption("--driver", default="", help="run the tests on this row of the table of drivers")
    parser.addoption("--driver-results", default="", help="keep what comes of them in this file, test by test")


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc):
    """Twenty thousand slow vectors are not made to be left out: that takes each of xdist's processes seconds."""
    parametrize = metafunc.parametrize

    def quick(names, values, *words, **more):
        values = list(values)
        kept = [one for one in values if not _is_slow(one)]
        parametrize(names, kept if kept and not isinstance(more.get("ids"), (list, tuple)) else values, *words, **more)

    if not metafunc.config.getoption("--slow"):
        metafunc.parametrize = quick


def _is_slow(value):
    return any(mark.name == "slow" for mark in getattr(value, "marks", ()))


def pytest_collection_modifyitems(config, items):
    # Left out and not skipped: to skip hundreds takes long.
    if not config.getoption("--slow"):
        named = [word for word in config.args if "::" in word]  # by hand: they run, whatever they cost
        slow = [
            item for item in items if item.get_closest_marker("slow") or (not named and costly.is_costly(item.nodeid))
        ]
        config.hook.pytest_deselected(items=slow)
        left_out = set(slow)
        items[:] = [item for item in items if item not in left_out]
        others = rotation.left_out([item.nodeid for item in items], config.getoption("--turn"))
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in others])
        items[:] = [item for item in items if item.nodeid not in others]


def pytest_report_header(config):
    turn = config.getoption("--turn")
    if turn == rotation.ALL or config.getoption("--slow"):
        return None
    chosen = f"of tests with siblings (tests/rotation.py) those that {turn} chooses"
    return f"{chosen}; the same again: ./inv test --turn {turn}; every one: --turn all"


def pytest_report_collectionfinish(config, items):
    """Words like `conv2d` select some tests and look green, though no case of the op that was meant is among them."""
    chosen = config.option.keyword and not config.option.file_or_dir
    if chosen and not any("test_vectors.py" in item.nodeid for item in items):
        return "no op case is among them: cases have their op's name, as conv_2d"
    return None


@pytest.fixture(scope="session", autouse=True)
def folders_of_tests(tmp_path_factory):
    """A test that names no folders writes to temporary ones. What drivers compile stays beside the checkout: it takes
    long. The toolkit counts the files there in every run, so thousands of kernels of `tests.delegate` lie elsewhere."""
    with pytest.MonkeyPatch.context() as patch:
        for word in ("RUNS_DIR", "DEVICES_DIR", "HISTORY"):
            patch.setenv(f"QUADRA_{word}", str(tmp_path_factory.getbasetemp() / "unnamed" / word.lower()))
        patch.setenv("QUADRA_DRIVER_CACHE_DIR", str(settings.ROOT / ".cache" / "toolkit-drivers"))
        if not Path("/dev/bus/usb").exists():  # an adb server would look for it for three seconds
            patch.setenv("ADB_USB", "0")
        yield
    shutil.rmtree(REPORTS, ignore_errors=True)


@pytest.fixture(autouse=True)
def sanitizers_have_nothing_to_report():
    """Where the library was built with sanitizers, a report fails the test that caused it, whichever process wrote it."""
    yield
    _nothing_reported()


def _nothing_reported():
    reports = sanitize.collect(REPORTS)
    assert not reports, "\n".join(reports)


@pytest.fixture(scope="session")
def model_path():
    """model_path(name): where a model is: of the catalogue, then it is fetched; or of tests/more_models.toml, then the test
    skips with the reason when it is not here."""

    def path(name: str):
        if name in models.catalogue():
            return models.find(name).path
        found, origin = more_models.located(name), more_models.known()[name].origin
        folders = ":".join(map(str, settings.read().models_dirs)) or "not set"
        return found or pytest.skip(f"{name}.tflite, by {origin}, is not in QUADRA_MODELS_DIR ({folders})")

    return path


@pytest.fixture(scope="session")
def library() -> Path:
    """The delegate's .so: QUADRA_LIBRARY, or what Bazel builds from this checkout; with --driver the row's own if it has one."""
    return on_driver.library()


@pytest.fixture(scope="session")
def quadra(library, request):
    """The worker process that runs models with the delegate. The drivers take kernels as they are: to optimise those of
    small cases takes longer than it saves. With --slow they do."""
    yield from _worker(library, {} if request.config.getoption("--slow") else UNOPTIMISED)


@pytest.fixture(scope="session")
def quadra_optimised(library):
    """The worker process for real models: the drivers optimise kernels, as for users."""
    yield from _worker(library, {})


def _worker(library, env):
    worker = Quadra(library, on_driver.entry(), **env)
    yield worker
    worker.close()
    _nothing_reported()


@pytest.fixture
def cases(request):
    """cases(name, check): a case among several of one test."""
    return on_driver.Cases(request)
