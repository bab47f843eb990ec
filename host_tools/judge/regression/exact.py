"""What must be the same each time: who runs which node, the plan, and how right the outputs are; says what changed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from host_tools.base.short_names import short
from host_tools.record.verdicts import APIS

PASS, REGRESSED, IMPROVED, INCONCLUSIVE = "pass", "regressed", "improved", "inconclusive"
_NAMED = 3  # so many things are named, the rest is counted
_FARTHER = 2.0  # times as far from the CPU's numbers, and
_NEAR_LIMIT = 0.1  # at least this share of what is allowed: worth an alarm
Facts = Mapping[str, Any]


@dataclass(frozen=True)
class Exact:
    verdict: str
    text: str


def judge(metric: str, before: Facts | None, now: Sequence[Facts]) -> Exact:
    """The worst of what the launches show; `before` is None where there is no baseline."""
    order = (REGRESSED, INCONCLUSIVE, IMPROVED, PASS)
    found = [_JUDGES[metric](before, facts) for facts in now]
    if not found:
        return Exact(INCONCLUSIVE, "no launch completed")
    worst = min(found, key=lambda exact: order.index(exact.verdict))
    kinds = {exact.verdict for exact in found}
    if len(kinds) == 1:
        return worst
    count = sum(exact.verdict == worst.verdict for exact in found)
    return Exact(worst.verdict, f"{worst.text} (in {count} of {len(found)} launches)")


def _error(before: Facts | None, now: Facts) -> Exact:
    if not now.get("outputs"):
        return Exact(INCONCLUSIVE, "there is no CPU result to compare with")
    wrong = [f"output {short(o['name'])} {o['problem']}" for o in now["outputs"] if not o["ok"]]
    if wrong:
        return Exact(REGRESSED, f"WRONG: {_few(wrong)}")
    largest = f"largest error {_largest(now):.1e} of the range"
    if not before or not before.get("outputs"):
        return Exact(PASS, f"right, {largest}")
    if any(not o["ok"] for o in before["outputs"]):
        return Exact(IMPROVED, f"right, {largest}; the baseline was wrong")
    if [o["sha256"] for o in before["outputs"]] == [o["sha256"] for o in now["outputs"]]:
        return Exact(PASS, f"the same bits as the baseline's, {largest}")
    farther = [
        f"output {short(o['name'])} is off by {float(o['relative']):.1e}, was {float(b['relative']):.1e}"
        for b, o in zip(before["outputs"], now["outputs"])
        if float(o["relative"]) > max(_FARTHER * float(b["relative"]), _NEAR_LIMIT * o["allowed"])
    ]
    if farther:
        return Exact(REGRESSED, _few(farther))
    return Exact(PASS, f"other bits than the baseline's, {largest}, was {_largest(before):.1e}")


def _largest(facts: Facts) -> float:
    return max((float(o["relative"]) for o in facts["outputs"]), default=0.0)


def _verdicts(before: Facts | None, now: Facts) -> Exact:
    on_gpu = now["nodes"] - len(now["on_cpu"])
    words = f"{on_gpu} of {now['nodes']} nodes on {_api(now)}, {_count(now['partitions'], 'partition')}"
    if not before:
        return Exact(PASS, words)
    if before["backend"] != now["backend"]:
        return Exact(REGRESSED, f"{_api(now)} runs it, it was {_api(before)}; {'; '.join(now['notes'])}")
    was, is_ = _nodes(before), _nodes(now)
    lost = [f"{is_[n][0]} (node {n}): {is_[n][1]}" for n in is_ if n not in was]
    won = [f"{was[n][0]} (node {n})" for n in was if n not in is_]
    more = now["partitions"] - before["partitions"]
    if lost or more > 0:
        parts = [f"left to the CPU: {_few(lost)}"] if lost else []
        parts += [f"{_count(now['partitions'], 'partition')}, was {before['partitions']}"] if more > 0 else []
        return Exact(REGRESSED, "; ".join(parts))
    if won or more < 0:
        return Exact(IMPROVED, f"{words}; newly on the GPU: {_few(won)}" if won else f"{words}, {-more} fewer")
    changed = [f"{is_[n][0]} (node {n}): {is_[n][1]}, was: {was[n][1]}" for n in is_ if is_[n] != was[n]]
    return Exact(PASS, f"{words}; other reasons: {_few(changed)}" if changed else words)


def _api(facts: Facts) -> str:
    return APIS.get(facts["backend"], str(facts["backend"]))


def _nodes(facts: Facts) -> dict[str, tuple[str, str]]:
    return {row["node"]: (row["op"], row["reason"]) for row in facts["on_cpu"]}


def _plan(before: Facts | None, now: Facts) -> Exact:
    plan = now["plan"]
    words = f"{_count(len(plan['dispatches']), 'dispatch')} of {_count(plan['programs'], 'kernel')}"
    if not before:
        return Exact(PASS, words)
    was = before["plan"]
    changed = _changes(was, plan)
    if not changed:
        return Exact(PASS, f"unchanged: {words}")
    growth = plan["activation_bytes"] - was["activation_bytes"]
    text = "; ".join(changed)
    if abs(growth) > 0.02 * was["activation_bytes"]:
        return Exact(REGRESSED if growth > 0 else IMPROVED, text)
    return Exact(PASS, f"changed: {text}")


def _changes(was: Facts, now: Facts) -> list[str]:
    found = []
    for key, name in (("activation_bytes", "bytes of activations"), ("constant_bytes", "bytes of constants")):
        if was[key] != now[key]:
            found.append(f"{now[key]} {name}, was {was[key]}")
    if was["programs"] != now["programs"]:
        found.append(f"{_count(now['programs'], 'distinct kernel')}, was {was['programs']}")
    gone, new = _difference(was["dispatches"], now["dispatches"])
    if gone or new:
        counts = f"{_count(len(now['dispatches']), 'dispatch')}, was {len(was['dispatches'])}"
        found.append(f"{counts}: new {_few(new)}" if new else f"{counts}: gone {_few(gone)}")
    if was["kernels"] and now["kernels"]:
        texts = [name for name, digest in now["kernels"].items() if was["kernels"].get(name, digest) != digest]
        if texts:
            found.append(f"the text of {_count(len(texts), 'kernel')}: {_few(texts)}")
    return found


def _difference(was: Sequence[str], now: Sequence[str]) -> tuple[list[str], list[str]]:
    old, new = set(was), set(now)
    return [d for d in was if d not in new], [d for d in now if d not in old]


def _few(words: Sequence[str]) -> str:
    shown = "; ".join(words[:_NAMED])
    return f"{shown}; and {len(words) - _NAMED} more" if len(words) > _NAMED else shown


def _count(number: int, word: str) -> str:
    many = "es" if word.endswith("ch") else "s"
    return f"{number} {word}{'' if number == 1 else many}"


_JUDGES = {"error": _error, "verdicts": _verdicts, "plan": _plan}
