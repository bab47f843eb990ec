"""`am instrument`: its command, and what its output means.

Its exit status is 0 whatever happened, and some of its texts say "success" where nothing ran. What counts is how the
output ends. The forms are those of Android's own tools (Am, Instrument, ddmlib's InstrumentationResultParserTest).
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

RUNNER = "org.quadra.runner/.QuadraRunner"
RESULT_OK = -1  # INSTRUMENTATION_CODE of an instrumentation that finished

# How it ended.
COMPLETE = "complete"
FAILED = "failed"  # the runner said why
CRASHED = "crashed"
CRASHED_NATIVELY = "crashed natively"
NOT_RESPONDING = "not responding"
MISSING = "missing"  # no such instrumentation: the app is not installed, or another version is
REFUSED = "refused"  # by `am`, or the system
SYSTEM_CRASHED = "system crashed"
CUT_OFF = "cut off"  # it began, and did not end
EMPTY = "empty"

_LONGEST = 1 << 16  # of one value; what a device says is not trusted to be short
_MOST_STATUSES = 10000
_KINDS = ("STATUS_CODE", "STATUS", "RESULT", "CODE", "FAILED", "ABORTED")
_LINE = re.compile(rf"^INSTRUMENTATION_({'|'.join(_KINDS)}): ?(.*)$", re.DOTALL)
_GLUED = re.compile(r"^(.+?)(INSTRUMENTATION_(?:STATUS_CODE|CODE): -?\d+\s*)$", re.DOTALL)
_ON_ERROR = re.compile(r"^onError: commandError=\w+ message=(.*)$", re.DOTALL)
_UNREACHABLE = ("Unable to find instrumentation", "INSTRUMENTATION_FAILED")


def command(arguments: Mapping[str, str], runner: str = RUNNER) -> list[str]:
    """The words of the command; -w waits for the end, -r gives every status; run-as knows user 0 only."""
    words = ["am", "instrument", "-w", "-r", "--user", "0"]
    for key, value in arguments.items():
        words += ["-e", key, value]
    return [*words, runner]


@dataclass
class Status:
    """One block of INSTRUMENTATION_STATUS. code: 1 a test starts, 2 in progress, 0 fine, -1 error, -2 failed,
    -3 ignored, -4 an assumption failed; None: the block was never closed."""

    values: dict[str, str] = field(default_factory=dict)
    code: int | None = None


@dataclass
class Outcome:
    """What the whole output says."""

    statuses: list[Status] = field(default_factory=list)
    result: dict[str, str] = field(default_factory=dict)
    code: int | None = None
    failed: str = ""  # INSTRUMENTATION_FAILED, or what `am` said instead of starting
    aborted: str = ""
    other: list[str] = field(default_factory=list)  # lines of no known form: usage, stack traces

    @property
    def stage(self) -> str:
        """The last one that the runner told."""
        return next((s.values["stage"] for s in reversed(self.statuses) if "stage" in s.values), "")

    @property
    def unfinished(self) -> str:
        """A test that started and did not end; empty where none did."""
        open_tests: dict[str, None] = {}
        for status in self.statuses:
            name = f"{status.values.get('class', '')}#{status.values.get('test', '')}"
            if status.code == 1:
                open_tests[name] = None
            elif status.code is not None and status.code <= 0:
                open_tests.pop(name, None)
        return next(iter(open_tests), "")

    @property
    def kind(self) -> str:
        """One of the words above."""
        if self.aborted:
            return SYSTEM_CRASHED
        if self.failed:
            return MISSING if any(word in self.failed for word in _UNREACHABLE) else REFUSED
        short = self.result.get("shortMsg", "")
        if short:
            return _crash_of(short, self.result.get("longMsg", ""))
        if self.code is None:
            return self._without_end()
        if self.code != RESULT_OK:
            return FAILED
        return CUT_OFF if self.unfinished else COMPLETE

    @property
    def sentence(self) -> str:
        """What came back, for a person."""
        short, long = self.result.get("shortMsg", ""), self.result.get("longMsg", "")
        said = [self.aborted or self.failed, short, long if long != short else "", self.result.get("error", "")]
        words = "; ".join(" ".join(part.split()) for part in said if part.strip())
        return words[:1000] or " | ".join(self.other[:3])[:300] or "it printed nothing that says why"

    def _without_end(self) -> str:
        if self.statuses or self.result:
            return CUT_OFF
        return REFUSED if any(line.strip() for line in self.other) else EMPTY


def _crash_of(short: str, long: str) -> str:
    if short == "keyDispatchingTimedOut" or "ANR" in short or long.startswith(("ANR", "Input dispatching timed out")):
        return NOT_RESPONDING
    if "Native crash" in short or "Native crash" in long:
        return CRASHED_NATIVELY
    return CRASHED


class Parser:
    """Takes lines as they come; a value goes on over the lines that follow it."""

    def __init__(self, on_stage: Callable[[str], None] = lambda stage: None) -> None:
        self.outcome = Outcome()
        self._on_stage = on_stage
        self._block: Status | None = None
        self._values: dict[str, str] | None = None  # whose last value goes on
        self._key = ""

    def line(self, text: str) -> None:
        text = text.rstrip("\r\n")
        glued = _GLUED.match(text)
        if glued and not text.startswith("INSTRUMENTATION_"):
            self.line(glued.group(1))
            text = glued.group(2)
        match, on_error = _LINE.match(text), _ON_ERROR.match(text)
        if match:
            getattr(self, f"_on_{match.group(1).lower()}")(match.group(2))
        elif on_error:
            self.outcome.failed = self.outcome.failed or on_error.group(1)
        elif self._values is not None:
            self._values[self._key] = f"{self._values[self._key]}\n{text}"[:_LONGEST]
        elif len(self.outcome.other) < _MOST_STATUSES:
            self.outcome.other.append(text[:_LONGEST])

    def end(self) -> Outcome:
        """No more lines will come."""
        self._close(None)
        return self.outcome

    def _on_status(self, rest: str) -> None:
        self._block = self._block or Status()
        self._begin(self._block.values, rest)
        if self._key == "stage":
            self._on_stage(self._block.values["stage"])
        # `am` says a component that cannot be found as a status, before INSTRUMENTATION_FAILED.
        if self._key == "Error" and not self.outcome.failed:
            self.outcome.failed = self._block.values["Error"]

    def _on_status_code(self, rest: str) -> None:
        self._block = self._block or Status()
        self._close(_number(rest))

    def _on_result(self, rest: str) -> None:
        self._close(None)
        self._begin(self.outcome.result, rest)

    def _on_code(self, rest: str) -> None:
        self._close(None)
        self.outcome.code = _number(rest)

    def _on_failed(self, rest: str) -> None:
        self._close(None)
        known = self.outcome.failed
        self.outcome.failed = f"INSTRUMENTATION_FAILED: {rest}" + (f" ({known})" if known else "")

    def _on_aborted(self, rest: str) -> None:
        self._close(None)
        self.outcome.aborted = rest or "the system ended it"

    def _begin(self, values: dict[str, str], rest: str) -> None:
        self._key, _, value = rest.partition("=")
        values[self._key] = value[:_LONGEST]
        self._values = values

    def _close(self, code: int | None) -> None:
        self._values = None
        if self._block is not None:
            self._block.code = code
            if len(self.outcome.statuses) < _MOST_STATUSES:
                self.outcome.statuses.append(self._block)
            self._block = None


def parse(text: str) -> Outcome:
    """The outcome of a whole output."""
    parser = Parser()
    for line in text.splitlines():
        parser.line(line)
    return parser.end()


def _number(text: str) -> int | None:
    found = re.match(r"\s*(-?\d{1,9})\s*$", text)
    return int(found.group(1)) if found else None
