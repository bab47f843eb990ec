"""Which of several devices' errors gives the exit status."""

from pathlib import Path

import pytest

from host_tools.base import errors
from host_tools.base.errors import (
    AppCrashed,
    DeviceBusy,
    DeviceLost,
    DeviceNotFound,
    DeviceUnusable,
    JudgementFailed,
    Misuse,
    RunFailed,
)


@pytest.mark.parametrize(
    ("kinds", "worst"),
    [
        ([DeviceUnusable, JudgementFailed, AppCrashed, Misuse], JudgementFailed),
        ([DeviceNotFound, RunFailed, Misuse], Misuse),
        ([DeviceUnusable, DeviceBusy, DeviceLost], DeviceLost),
        ([DeviceBusy, DeviceUnusable], DeviceBusy),
        ([DeviceUnusable, AppCrashed, RunFailed], AppCrashed),
    ],
)
def test_the_worst_is_what_is_wrong_with_a_model_then_with_a_run_then_with_a_device_and_the_first_of_equals(
    kinds, worst
):
    assert type(errors.worst(kind("use it", "it is bad") for kind in kinds)) is worst


def test_without_an_error_there_is_no_worst():
    assert errors.worst([]) is None


def test_a_device_is_skipped_where_nothing_was_begun_on_it():
    error = DeviceUnusable("use it", "it is offline", "plug it in")
    assert errors.line("a", error) == "a: skipped, status 82: use it: it is offline\n  next: plug it in"
    error.kept = Path("a_run")
    assert errors.line("a", error).startswith("a: failed, status 82: ")
    assert not errors.skipped(RunFailed("run it", "it crashed"))
