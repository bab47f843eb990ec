"""Fixtures that tests of the native code share."""

import pytest

from host_tools.base.errors import QuadraError
from host_tools.build import maven

HEADERS = "headers/tensorflow/lite/"


@pytest.fixture(scope="session")
def headers():
    """The folder to search for TFLite's headers in."""
    try:
        names = [name for name in maven.members("tensorflow-lite") if name.startswith(HEADERS) and name.endswith(".h")]
        files = [maven.aar_file("tensorflow-lite", name) for name in names]
    except QuadraError as error:
        pytest.skip(f"TFLite's AAR is not to be had: {error}")
    return next(file for file in files if str(file).endswith("core/c/common.h")).parents[4]
