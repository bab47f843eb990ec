"""A run and its judgement: done once, and passed to all who print, count or fail on it."""

from collections.abc import Mapping
from dataclasses import dataclass

from host_tools.base.errors import JudgementFailed, ToolMissing
from host_tools.base.short_names import short
from host_tools.judge import compare, over_inputs, peers
from host_tools.judge.compare import Comparison
from host_tools.judge.peers import Peer
from host_tools.judge.tolerances import Tolerance
from host_tools.record import schema
from host_tools.record.run_folder import RunFolder
from host_tools.record.spec import RunSpec


@dataclass(frozen=True)
class Judged:
    """A run folder with its judgement."""

    folder: RunFolder
    comparison: Comparison | None = None  # None: there is nothing to compare, or nothing to compare with
    peers: tuple[Peer, ...] = ()
    over: schema.OverInputs | None = None  # of a run with many inputs; `comparison` is that of the first

    @property
    def ok(self) -> bool | None:
        """With every input. None: it could not be judged."""
        right = self.over.ok if self.over else True
        return self.comparison.ok and right if self.comparison else None

    @property
    def metrics(self) -> schema.Metrics | None:
        """The user's; None: there are none."""
        return self.folder.optional(schema.Metrics)

    @property
    def largest_error(self) -> float:
        """Of all outputs, and of all inputs, of their ranges."""
        if self.over:
            return max((float(one) for row in self.over.outputs for one in row.relative), default=0.0)
        return max((output.relative for output in self.comparison.outputs), default=0.0) if self.comparison else 0.0

    @property
    def determinism(self) -> schema.Determinism | None:
        """Of equal inferences; None: they were not asked for."""
        return self.folder.optional(schema.Determinism)

    def check_backend(self) -> None:
        """ToolMissing when the backend that was asked for is not here: then the CPU ran everything."""
        asked, report = self.folder.spec().options.get("backend", "auto"), self.folder.read(schema.Verdicts)
        if asked != "auto" and report.backend == "none":
            raise ToolMissing(
                f"run on {asked}",
                "; ".join(report.backend_notes) or _first_reason(report),
                "`./inv doctor` says what to install; --backend auto takes what there is",
            )

    def check(self) -> None:
        """JudgementFailed when an output of the run is wrong or not the same every time, ToolMissing when the backend asked for is not here."""
        self.check_backend()
        found = self._problems()
        spec, same = self.folder.spec(), self.determinism
        if same and not same.ok:
            found.append(same.sentence)
        if found and self.ok is not False:
            do_next = f"see docs/find_the_fault.md and {self.folder.path / schema.Determinism.FILE}"
            raise JudgementFailed(f"repeat {spec.label}", "; ".join(found), do_next)
        if found:
            raise JudgementFailed(
                f"compare {spec.label} with the CPU interpreter", "; ".join(found), _after_wrong(spec)
            )
        self._check_metrics()

    def _problems(self) -> list[str]:
        if self.over:
            return [f"output {row.index} ({short(row.name)}) {row.problem}" for row in self.over.outputs if row.problem]
        return compare.problems(self.comparison) if self.comparison else []

    def _check_metrics(self) -> None:
        measured = self.metrics.metrics if self.metrics else []
        if failed := [f"{row.name} {row.problem}" for row in measured if row.problem]:
            raise JudgementFailed(
                f"measure {self.folder.spec().label}",
                "; ".join(failed),
                f"{self.folder.path / schema.Metrics.FILE} has each value",
            )


def judge(folder: RunFolder, tolerances: Mapping[str, Tolerance] | None = None) -> Judged:
    """Compares outputs and peers with the CPU's, as far as the run left them; writes compare.json, peers.json, and
    over_inputs.json where there are many inputs. tolerances: by output, instead of the request's."""
    judgeable = folder.has("outputs") and folder.has("cpu_outputs")
    comparison = compare.compare(folder, tolerances) if judgeable else None
    many = comparison is not None and len(over_inputs.folders(folder)) > 1
    over = over_inputs.judge(folder, comparison, tolerances) if comparison and many else None
    return Judged(folder, comparison, peers.judge(folder, comparison) if folder.has("timings.json") else (), over)


def _after_wrong(spec: RunSpec) -> str:
    """What finds the fault. Half precision alone is one, where a model needs more."""
    given = f" and --tolerance {spec.max_error:g}" if spec.max_error else ""
    bisect = f"`./inv bisect` with the same model, inputs and options{given} names the op that is wrong"
    if spec.options.get("precision", "f32") == "f32":
        return bisect
    return (
        "run it with --precision f32: if that is right, half precision is not enough for this model, and"
        f" `./inv overflow MODEL --error 0.01` looks for nodes to give to --float32-nodes; {bisect}"
    )


def _first_reason(report: schema.Verdicts) -> str:
    return next((node.reason for node in report.nodes if node.reason), "the delegate gave no reason")
