"""Limits that a user gives a run, besides that its outputs are right."""

from dataclasses import dataclass

from host_tools.base import units
from host_tools.base.errors import JudgementFailed, Misuse
from host_tools.base.short_names import short
from host_tools.judge.compare import OutputError
from host_tools.judge.judged import Judged
from host_tools.record import headline, schema, times

_NAMED = 3  # so many nodes are named, the rest is counted


@dataclass(frozen=True)
class Limits:
    """ms: of an inference, by the headline's clock, and what every inference waits besides. cpu_nodes: how many may stay on the CPU. error: the largest of all outputs,
    relative to their ranges. None: no limit."""

    ms: float | None = None
    cpu_nodes: int | None = None
    error: float | None = None

    def __post_init__(self) -> None:
        for name, limit in (("ms", self.ms), ("cpu_nodes", self.cpu_nodes), ("error", self.error)):
            if limit is not None and not limit >= 0:
                raise Misuse(f"read the limit max_{name}", f"{limit} is not a number from 0", "give 0 or more")

    def problems(self, judged: Judged) -> list[str]:
        """Sentences, one for each limit that is exceeded."""
        nodes = self._of_nodes(judged.folder.read(schema.Verdicts))
        return list(filter(None, (*self._of_errors(judged), self._of_time(judged), nodes)))

    def check(self, judged: Judged) -> None:
        """JudgementFailed: a limit is exceeded."""
        if found := self.problems(judged):
            spec = judged.folder.spec()
            do_next = f"`./inv open {spec.run_id}` shows where the time goes, and why nodes stay on the CPU"
            raise JudgementFailed(f"keep the limits of {spec.label}", "; ".join(found), do_next)

    def _of_errors(self, judged: Judged) -> list[str]:
        if self.error is None:
            return []
        if not judged.comparison:
            return ["no output was judged: the CPU has no result"]
        if judged.over:
            rows = [(row, max(float(one) for one in row.relative)) for row in judged.over.outputs]
            return [
                f"output {row.index} ({short(row.name)}) is off by up to {most:.2g} of its range, more than {self.error:g}"
                for row, most in rows
                if not most <= self.error
            ]
        return [self._far(one) for one in judged.comparison.outputs if not one.relative <= self.error]

    def _far(self, one: OutputError) -> str:
        said = f"output {one.index} ({short(one.name)}) is off by {one.relative:.2g} of its range, more than {self.error:g}"
        if one.ok and "int" in one.dtype and not one.labels:
            said += f"; its tolerance, at least a step of its quantization, is {one.allowed:.2g}"
        return said

    def _of_time(self, judged: Judged) -> str:
        if self.ms is None:
            return ""
        timings, report = judged.folder.read(schema.Timings), judged.folder.read(schema.Verdicts)
        steady, clock = times.steady(timings).get("quadra"), times.clock(timings, report)
        if not steady:
            return f"an inference was not timed, and may take {self.ms:g} ms"
        took, waits = steady.by(clock), times.wait_us(timings, report)
        if took + waits <= 1000 * self.ms:
            return ""
        said = f"an inference takes {units.ms(took)} ms ({headline.CLOCKS[clock]}, median of {steady.runs})"
        if took <= 1000 * self.ms:
            said += f", and {headline.waits(waits)}, together"
        else:
            said += ","
        return f"{said} more than {self.ms:g} ms"

    def _of_nodes(self, found: schema.Verdicts) -> str:
        return nodes_problem([node for node in found.nodes if node.on == "cpu"], self.cpu_nodes)


NO_LIMITS = Limits()


def nodes_problem(on_cpu: list[schema.Node], most: int | None) -> str:
    """Why so many nodes on the CPU are too many; empty: they are not."""
    if most is None or len(on_cpu) <= most:
        return ""
    reasons = [f"{node.index} {node.op}: {node.reason}" for node in on_cpu[:_NAMED]]
    more = f"; and {len(on_cpu) - _NAMED} more" if len(on_cpu) > _NAMED else ""
    stay = "node stays" if len(on_cpu) == 1 else "nodes stay"
    return f"{len(on_cpu)} {stay} on the CPU, more than {most} ({'; '.join(reasons)}{more})"
