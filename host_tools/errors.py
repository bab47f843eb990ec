"""Errors a user meets. Each says what was tried, what came back and what to do next.

Exit codes of every task:
  0   done
  1   the judgement failed: a test, a comparison, a limit
  2   misuse: a wrong option, a file that is not there
  70+ infrastructure: a tool, the network, a device; running again may help
"""


class QuadraError(Exception):
    """Base of all errors that end a task with a sentence instead of a traceback."""

    exit_code = 70

    def __init__(self, tried: str, came_back: str, do_next: str = "") -> None:
        super().__init__(tried, came_back, do_next)
        self.tried, self.came_back, self.do_next = tried, came_back, do_next

    def __str__(self) -> str:
        text = f"{self.tried}: {self.came_back}"
        return f"{text}\n  next: {self.do_next}" if self.do_next else text


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


class FetchFailed(QuadraError):
    """Something could not be brought from the network, or came damaged."""

    exit_code = 74


class FolderNotWritable(QuadraError):
    """A folder that results go to cannot be written."""

    exit_code = 75


class BuildFailed(QuadraError):
    """The native code did not build."""

    exit_code = 76


class RunFailed(QuadraError):
    """A run of a model did not come to its end."""

    exit_code = 77
