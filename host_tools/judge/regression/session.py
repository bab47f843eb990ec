"""One run of a suite, and what it found."""

import time
from dataclasses import dataclass, field
from pathlib import Path

from host_tools.judge.regression.cell_verdicts import Case
from host_tools.judge.regression.history import COMPLETE
from host_tools.judge.regression.suite import Suite


@dataclass
class Session:
    """One run of a suite, and what it found."""

    suite: Suite
    folder: Path
    number: int
    baseline: str = ""
    state: str = COMPLETE
    started: float = field(default_factory=time.time)
    ended: float = 0.0
    cases: list[Case] = field(default_factory=list)
    notes: list[str] = field(
        default_factory=list
    )  # sentences: what happened to the devices of a lab, what a run found of its own
    saved: str = ""  # what became of --save, as a sentence

    def of(self, verdict: str) -> list[Case]:
        return [case for case in self.cases if case.verdict == verdict]

    @property
    def broken(self) -> list[Case]:
        return [case for case in self.cases if case.error]
