"""A run and its judgement: done once, and passed to all who print, count or fail on it."""

from dataclasses import dataclass

from host_tools.base.errors import JudgementFailed, ToolMissing
from host_tools.judge import compare, peers
from host_tools.judge.compare import Comparison
from host_tools.judge.peers import Peer
from host_tools.record import schema
from host_tools.record.run_folder import RunFolder
from host_tools.record.spec import RunSpec


@dataclass(frozen=True)
class Judged:
    """A run folder with its judgement."""

    folder: RunFolder
    comparison: Comparison | None = None  # None: there is nothing to compare, or nothing to compare with
    peers: tuple[Peer, ...] = ()

    @property
    def ok(self) -> bool | None:
        """None: it could not be judged."""
        return self.comparison.ok if self.comparison else None

    @property
    def largest_error(self) -> float:
        """Of all outputs, of their ranges."""
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
        found = compare.problems(self.comparison) if self.comparison else []
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


def judge(folder: RunFolder) -> Judged:
    """Compares outputs and peers with the CPU's, as far as the run left them; writes compare.json and peers.json."""
    comparison = compare.compare(folder) if folder.has("outputs") and folder.has("cpu_outputs") else None
    return Judged(folder, comparison, peers.judge(folder, comparison) if folder.has("timings.json") else ())


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
