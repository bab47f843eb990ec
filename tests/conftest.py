"""Options and fixtures that all tests share."""

import pytest

from host_tools import models, settings


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="also the tests that take long")


def pytest_collection_modifyitems(config, items):
    if not config.getoption("--slow"):
        for item in items:
            if item.get_closest_marker("slow"):
                item.add_marker(pytest.mark.skip(reason="slow: runs with `./inv test --slow`"))


@pytest.fixture(scope="session")
def model_path():
    """model_path(name): where a catalogue model is; fetches it, or skips with the reason when it cannot be had."""

    def path(name: str):
        entry = models.catalogue()[name]
        if not entry.member and not models.located(entry):
            folders = ":".join(map(str, settings.read().models_dirs)) or "not set"
            pytest.skip(f"the model {name} is not in QUADRA_MODELS_DIR ({folders})")
        return models.find(name).path

    return path
