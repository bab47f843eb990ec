"""The verdict on every metric of every cell. Three steps: `examine` a cell against its baseline, ask whether it is
`suspicious` (then it is launched more often), and `decide` over the whole suite.

regressed, improved: the launches differ by more than chance (p of the test, and the false discovery rate of the suite)
  and by more than the smallest amount that is worth an alarm, after the second look.
pass: they do not, and the noise could not hide much either (the interval of the shift ends below `see`).
inconclusive: everything else, with the reason. Unlike conditions are never compared.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from host_tools.judge.regression import exact, metrics, statistic
from host_tools.judge.regression.exact import IMPROVED, INCONCLUSIVE, PASS, REGRESSED
from host_tools.judge.regression.history import Stored
from host_tools.judge.regression.launch import Launch
from host_tools.judge.regression.suite import Limit, Suite
from host_tools.record import headline

_SUSPICIOUS = 0.1  # p of a first look
_SURE = 2.58  # standard deviations: one in a hundred by chance


@dataclass(frozen=True)
class Finding:
    """One metric of one cell. Values are one per launch; p is None where nothing was tested."""

    metric: str
    verdict: str
    text: str
    unit: str = ""
    before: tuple[float, ...] = ()
    now: tuple[float, ...] = ()
    shift: statistic.Shift | None = None
    q: float = 1.0
    least: float = 0.0  # smallest shift that is worth an alarm (logarithm)
    worth: str = ""  # the same in words: 2 %, or an amount where that is more
    small: str = ""  # why a shift that looks like one is passed: below `worth`
    doubt: str = ""  # why a difference would prove nothing
    waits: str = ""  # what processor time does not show
    looked_twice: bool = False

    @property
    def p(self) -> float | None:
        return self.shift.p if self.shift else None


@dataclass
class Case:
    """One cell on one device, as far as it ran."""

    key: str
    device: str
    row: int = 0  # in the history
    launches: list[Launch] = field(default_factory=list)
    conditions: dict[str, Any] = field(default_factory=dict)
    library: str = ""
    error: str = ""  # why it did not run to its end
    exit_code: int = 0
    baseline: Stored | None = None
    missing: str = ""  # why there is nothing to compare with; empty: none was asked for
    past: list[Stored] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    @property
    def good(self) -> list[Launch]:
        return [launch for launch in self.launches if launch.ok]

    @property
    def name(self) -> str:
        return f"{self.key} on {self.device}"

    @property
    def verdict(self) -> str:
        """The worst of all metrics."""
        found = {finding.verdict for finding in self.findings} or {INCONCLUSIVE}
        return next(verdict for verdict in (REGRESSED, INCONCLUSIVE, IMPROVED, PASS) if verdict in found)


def examine(case: Case, suite: Suite) -> list[Finding]:
    """A finding for each metric; those with a p get their verdict from `decide`."""
    now, before = case.good, _comparable(case)
    if not now:
        reason = case.error or "no launch completed"
        return [Finding(metric, INCONCLUSIVE, reason) for metric in metrics.METRICS if metric != "cold" or suite.cold]
    refused = unlike(case.baseline.conditions, case.conditions) if case.baseline else case.missing
    measure = metrics.measure_of(suite.measure, suite.threads, now, *([before] if before and not refused else []))
    found: list[Finding] = []
    for metric in metrics.TIMED:
        made = _timed(case, suite, metric, measure, [] if refused else before, refused)
        found += [made] if made else []
    facts = before[0].facts if before and not refused else None
    for metric in metrics.EXACT:
        exactly = exact.judge(metric, facts, _distinct(now))
        verdict = INCONCLUSIVE if exactly.verdict == PASS and refused else exactly.verdict
        text = f"{exactly.text}; not compared: {refused}" if refused else exactly.text
        found.append(Finding(metric, verdict, text))
    return found


def unlike(then: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Why times under these conditions must not be compared; empty where they may."""
    found = differences(then, now)
    if "model" in found:
        return "the model's file is another than the baseline's"
    return "; ".join(f"{name}: {said[0]} then, {said[1]} now" for name, said in found.items())


def differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """The conditions that are not the same, in words."""
    names = [name for name in dict.fromkeys([*one, *other]) if one.get(name) != other.get(name)]
    return {name: (_word(one.get(name)), _word(other.get(name))) for name in names}


def suspicious(findings: Sequence[Finding]) -> bool:
    """Whether more launches are worth their time: something may have changed, or the steady times say too little."""
    for finding in findings:
        if finding.waits:
            return True
        if not finding.shift or finding.doubt:
            continue
        if finding.shift.p <= _SUSPICIOUS and abs(finding.shift.effect) >= finding.least:
            return True
        if finding.metric == "steady" and finding.verdict == INCONCLUSIVE:
            return True
    return False


def decide(cases: Sequence[Case], suite: Suite) -> None:
    """The verdicts, with the false discovery rate over all tests of all cases."""
    places = [(case, i, one.shift.p) for case in cases for i, one in enumerate(case.findings) if one.shift]
    rates = statistic.discovery_rates([p for _, _, p in places])
    for (case, i, _), rate in zip(places, rates):
        case.findings[i] = decided(replace(case.findings[i], q=rate), suite)


def decided(finding: Finding, suite: Suite) -> Finding:
    """The verdict of a metric that was tested; one that was not keeps what it has."""
    shift, unit = finding.shift, finding.unit
    if shift is None:
        return finding
    words = _words(finding, shift)
    see = max(math.log1p(_limit(suite, finding.metric).see / 100), finding.least)
    if finding.waits:
        if not finding.looked_twice and suite.more:
            return replace(finding, verdict=INCONCLUSIVE, text=f"{finding.waits}; too few launches for a verdict")
        return replace(finding, verdict=REGRESSED, text=f"{finding.waits}; beside that {words}")
    sure = shift.p <= suite.false_alarms and finding.q <= suite.false_discoveries
    if sure and abs(shift.effect) >= finding.least:
        if finding.doubt:
            return replace(finding, verdict=INCONCLUSIVE, text=f"{words}; but {finding.doubt}")
        if not finding.looked_twice and suite.more:
            return replace(finding, verdict=INCONCLUSIVE, text=f"{words}; too few launches for a verdict")
        return replace(finding, verdict=REGRESSED if shift.effect > 0 else IMPROVED, text=words)
    if shift.high < see:
        small = _small(finding, shift, _limit(suite, finding.metric).see)
        return replace(finding, verdict=PASS, small=small, text=f"{words}; {small}" if small else words)
    hidden = f"up to {100 * math.expm1(shift.high):+z.1f} %" if math.isfinite(shift.high) else "anything"
    few = statistic.least_p(len(finding.before), len(finding.now)) > suite.false_alarms
    reason = "too few launches for any statement" if few else f"the noise may hide {hidden} (spread {_spread(finding)})"
    return replace(finding, verdict=INCONCLUSIVE, text=f"{words}; {reason}", unit=unit)


def _timed(
    case: Case, suite: Suite, metric: str, measure: str, before: Sequence[Launch], refused: str
) -> Finding | None:
    then = metrics.series(before, metric, measure) if before else None
    now = metrics.series(case.good, metric, measure, then.peer_us if then else None)
    if now is None:
        return None
    found = Finding(metric, INCONCLUSIVE, "", now.unit, then.values if then else (), now.values)
    if then is None:
        middle = metrics.text(_middle(now.values), now.unit)
        reason = refused or "no baseline was asked for"
        return replace(found, text=f"{middle}; not compared: {reason}", verdict=INCONCLUSIVE if refused else PASS)
    least, worth = _least(_limit(suite, metric), then, _middle(then.values))
    shift = statistic.shift(then.values, now.values)
    doubt = _doubt(case, metric, measure, shift, now.values, before)
    twice = len(case.good) > suite.launches or not suite.more
    waits = (
        _waits(_limit(suite, metric), then, before, case.good) if metric == "steady" and "processor" in measure else ""
    )
    made = replace(
        found, shift=shift, least=least, worth=worth, doubt=doubt, waits=waits, looked_twice=twice, q=shift.p
    )
    return decided(made, suite)


def _limit(suite: Suite, metric: str) -> Limit:
    return suite.limits["init" if metric == "cold" else metric]


def _least(limit: Limit, then: metrics.Series, middle: float) -> tuple[float, str]:
    """The smallest shift worth an alarm, as a logarithm and in words. Of processor time a fifth of the limit in us is
    enough: there is no jitter of a scheduler in it."""
    amount = limit.least / (5 if "processor" in then.unit else 1)
    share = amount / then.scale / middle
    if limit.percent / 100 >= share:
        return math.log1p(limit.percent / 100), f"{limit.percent:g} %"
    one, name = metrics.per_unit("bytes" if then.unit == "bytes" else "us")
    return math.log1p(share), f"{amount / one:g} {name}"


def _waits(limit: Limit, then: metrics.Series, before: Sequence[Launch], now: Sequence[Launch]) -> str:
    """A sentence where every inference waits, as in a sleep or at a lock, for longer than it did: no processor time tells it."""
    was, is_now = metrics.least_wait_us(before), metrics.least_wait_us(now)
    least = max(limit.least, limit.percent / 100 * then.scale * _middle(then.values))
    if is_now - was < least:
        return ""
    return f"{headline.waits(is_now)}, {was / 1e3:.2f} ms in the baseline"


def _small(finding: Finding, shift: statistic.Shift, see: float) -> str:
    """Why a shift passes whose interval excludes 0, or reaches `see` per cent."""
    looks = shift.low > 0 or shift.high < 0 or shift.high >= math.log1p(see / 100)
    return f"below {finding.worth}" if looks and finding.worth and abs(shift.effect) < finding.least else ""


def _doubt(
    case: Case, metric: str, measure: str, shift: statistic.Shift, now: Sequence[float], before: Sequence[Launch]
) -> str:
    """What else than the delegate would explain the difference."""
    drift = statistic.trend(now)
    if abs(drift) > _SURE and drift * shift.effect > 0 and metric != "memory":
        return f"the figures {'rise' if drift > 0 else 'fall'} from launch to launch: the machine had not settled"
    if metric not in ("steady", "first", "init") or measure != "wall":
        return ""
    theirs, ours = metrics.peer(before), metrics.peer(case.good)
    if theirs and ours:
        moved = statistic.shift(theirs, ours)
        if moved.p <= 0.01 and moved.effect * shift.effect > 0 and abs(moved.effect) >= abs(shift.effect) / 2:
            return f"XNNPACK moved by {moved.percent:+z.1f} %, too: the machine itself changed"
    return ""


def _comparable(case: Case) -> list[Launch]:
    return [launch for launch in case.baseline.launches if launch.ok] if case.baseline else []


def _distinct(launches: Sequence[Launch]) -> list[Mapping[str, Any]]:
    """The facts of each launch; kernels' texts are compared where they were kept."""
    return [launch.facts for launch in launches]


def _middle(values: Sequence[float]) -> float:
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _words(finding: Finding, shift: statistic.Shift) -> str:
    """The shift with its interval, and what it makes of the baseline's median: one estimate, so that the figures and the
    percentage always say the same."""
    then = _middle(finding.before)
    now = metrics.text(then * math.exp(shift.effect), finding.unit)
    ends = " to ".join(f"{100 * math.expm1(e):+z.1f}" if math.isfinite(e) else "?" for e in (shift.low, shift.high))
    if not math.isfinite(shift.low) and not math.isfinite(shift.high):
        ends = "no interval"  # too few launches
    p = f"p {shift.p:.1g}" if shift.p < 0.1 else f"p {shift.p:.2f}"
    return f"{shift.percent:+z.1f} % ({ends}), {p}: from {metrics.number(then, finding.unit)} to about {now}"


def _spread(finding: Finding) -> str:
    return f"{100 * max(statistic.spread(finding.before), statistic.spread(finding.now)):.0f} %"


def _word(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k}={v}" for k, v in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return str(value) if value not in (None, "") else "nothing"
