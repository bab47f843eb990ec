"""Errors a user meets. Each says what was tried, what came back and what to do next.

Exit codes of every task:
  0   done
  1   the judgement failed: a test, a comparison, a limit
  2   misuse: a wrong option, a file that is not there
  70+ infrastructure: a tool, the network, a device; running again may help
  80+ of these: a device
  130 stopped with Ctrl-C
"""

from __future__ import annotations

import errno
from collections.abc import Iterable
from pathlib import Path

from host_tools.base import installed


class QuadraError(Exception):
    """Base of all errors that end a task with a sentence instead of a traceback."""

    exit_code = 70
    kept: Path | None = None  # the run folder, where a run that failed left one

    def __init__(self, tried: str, came_back: str, do_next: str = "") -> None:
        super().__init__(tried, came_back, do_next)
        self.tried, self.came_back, self.do_next = installed.said(tried), came_back, installed.said(do_next)

    def __str__(self) -> str:
        text = f"{self.tried}: {self.came_back}"
        text += f"\n  next: {self.do_next}" if self.do_next else ""
        return shown(f"{text}\n  kept: {self.kept}" if self.kept else text)


def shown(text: str) -> str:
    """Text whose bytes are not all UTF-8, as names of files may be: those show as \\xff."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace") if _is_escaped(text) else text


def _is_escaped(text: str) -> bool:
    return any("\udc80" <= letter <= "\udcff" for letter in text)


class JudgementFailed(QuadraError):
    """What was made is not what was wanted."""

    exit_code = 1


class Misuse(QuadraError):
    """What was asked cannot be done as asked."""

    exit_code = 2


class CommandFailed(QuadraError):
    """A program that we started ended with an error."""

    exit_code = 71


class CommandTimedOut(QuadraError):
    """A program that we started did not end in time and was stopped."""

    exit_code = 72


class ToolMissing(QuadraError):
    """A program, library or package that is needed is not installed."""

    exit_code = 73


def require_clone(tried: str) -> None:
    """ToolMissing in an installed toolkit, which cannot do it."""
    if installed.INSTALLED:
        raise needs_clone(tried)


def needs_clone(tried: str) -> ToolMissing:
    came_back = "it is built from the sources, which an installed quadra-tools does not have"
    return ToolMissing(tried, came_back, "clone the repository of Quadra, and do it there, by `./inv`")


class FetchFailed(QuadraError):
    """Something could not be brought from the network, or came damaged."""

    exit_code = 74


class FolderNotWritable(QuadraError):
    """A folder that results go to cannot be written."""

    exit_code = 75


# Why something cannot be written, and what helps: each has another remedy. {} is the setting that moves it.
_NOT_WRITTEN = {
    errno.EROFS: ("the file system is read-only", "set {} to a folder on another one, or mount it for writing"),
    errno.ENOSPC: ("the disk is full", "free space there, or set {} to a folder on another disk"),
    errno.EDQUOT: (
        "the disk quota is used up",
        "delete files of yours there, or set {} to a folder on another disk",
    ),
    errno.EACCES: ("permission denied", "set {} to a folder that you may write, or ask its owner for the right to"),
    errno.EPERM: ("permission denied", "set {} to a folder that you may write, or ask its owner for the right to"),
}


def not_written(tried: str, error: OSError, variable: str = "QUADRA_RUNS_DIR") -> FolderNotWritable:
    """The sentence for what the system said when `tried` failed. variable: the setting that moves it."""
    reason = error.strerror or str(error)
    found, do_next = _NOT_WRITTEN.get(error.errno or 0, (reason, "set {} to a folder that can be written"))
    return FolderNotWritable(tried, found, do_next.format(variable))


class BuildFailed(QuadraError):
    """The native code did not build."""

    exit_code = 76


class RunFailed(QuadraError):
    """A run of a model did not finish."""

    exit_code = 77


class HistoryUnusable(QuadraError):
    """The history of regression runs is damaged, foreign, or cannot be written."""

    exit_code = 78


class LabUnreachable(QuadraError):
    """The scheduler of a lab does not answer, or the lab has no device."""

    exit_code = 79


class DeviceError(QuadraError):
    """Base of what went wrong with one device: `serial` is its name for adb, `step` what was being done."""

    exit_code = 80
    retry = False  # whether the same request may succeed a moment later

    def __init__(self, tried: str, came_back: str, do_next: str = "", *, serial: str = "", step: str = "") -> None:
        super().__init__(tried, came_back, do_next)
        self.serial, self.step = serial, step


class DeviceNotFound(DeviceError):
    """No device of this name is connected, or none at all."""

    exit_code = 81


class DeviceUnusable(DeviceError):
    """It is connected, but offline, unauthorized, in recovery, or too old."""

    exit_code = 82


class DeviceBusy(DeviceError):
    """Another process works with it."""

    exit_code = 83


class DeviceTimedOut(DeviceError):
    """An operation did not end before its deadline."""

    exit_code = 84
    retry = True


class DeviceLost(DeviceError):
    """The connection broke: unplugged, rebooted, or the adb server died."""

    exit_code = 85
    retry = True


class TransferFailed(DeviceError):
    """What arrived is not what was sent."""

    exit_code = 86
    retry = True


class DeviceFull(DeviceError):
    """There is no room for what was to be written."""

    exit_code = 87


class DeviceRefused(DeviceError):
    """The device answered that it will not: a permission, a missing file, a command that failed."""

    exit_code = 88


class ReplyNotUnderstood(DeviceError):
    """The reply is malformed; nothing of it was used."""

    exit_code = 89


class InstallRefused(DeviceError):
    """The package manager did not take the APK."""

    exit_code = 90


class AppMissing(DeviceError):
    """The test app is not installed, or was uninstalled while it ran."""

    exit_code = 91


class AppCrashed(DeviceError):
    """The test app's process died."""

    exit_code = 92


class AppNotResponding(DeviceError):
    """The system stopped the test app because it did not answer."""

    exit_code = 93


class DeviceTooHot(DeviceError):
    """It did not cool down in time, or throttled while it was measured."""

    exit_code = 94


class DeviceRebooted(DeviceLost):
    """It restarted, or Android on it did, while something went on there."""

    exit_code = 95


class AppCrashedNatively(AppCrashed):
    """The test app's process was ended by a signal; there is a tombstone."""

    exit_code = 96


def rank(status: int) -> int:
    """How an exit status stands among those of several devices, 0 the worst: what is wrong with a model, with what was
    asked, with a run; at last a device that could not be used, which says nothing of them."""
    first = (JudgementFailed.exit_code, Misuse.exit_code)
    unusable = (DeviceNotFound.exit_code, DeviceUnusable.exit_code, DeviceBusy.exit_code)
    return first.index(status) if status in first else 3 if status in unusable else 2


def worst(errors: Iterable[QuadraError]) -> QuadraError | None:
    """The error that gives several devices' exit status; the first of equals. None: there is no error."""
    return min(errors, key=lambda error: rank(error.exit_code), default=None)


def skipped(error: QuadraError) -> bool:
    """Whether nothing was begun on the device: it could not be used."""
    return isinstance(error, (DeviceNotFound, DeviceUnusable, DeviceBusy)) and not error.kept


def line(name: str, error: QuadraError) -> str:
    """What became of one of several devices, with what to do next in a line of its own."""
    return f"{name}: {'skipped' if skipped(error) else 'failed'}, status {error.exit_code}: {error}"
