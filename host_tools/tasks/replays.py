"""`inv replay`: from the words of the command line to tables and an exit status."""

from pathlib import Path

from rich.console import Console
from rich.markup import escape

from host_tools.base.errors import JudgementFailed, Misuse
from host_tools.base.short_names import short
from host_tools.base.units import counted
from host_tools.places.place import Show
from host_tools.record import named_plans
from host_tools.record.spec import InputSpec, ModelRef
from host_tools.replay import replay_session as session
from host_tools.replay.replay_session import Asked, Outcome
from host_tools.request import from_arguments
from host_tools.show import replay_table
from host_tools.show.replay_table import PartitionRow

_RUNS = 10  # of --time


def asked(
    *, model: str, inputs: str, seed: int, image: str, value_range: str, against: str, step: bool, time: bool, runs: int,
    oclgrind: bool, tolerance: float, timeout: float,
) -> Asked:  # fmt: skip
    """seed -1: none is given."""
    given: InputSpec | None = None
    reference: ModelRef | None = None
    usual = InputSpec()
    if time and oclgrind:
        raise Misuse("replay with --time and --oclgrind", "a simulator's times say nothing", "omit one of them")
    if model:
        spec = from_arguments.make_spec(model, image=image, value_range=value_range, seed=max(seed, 1), arrays=inputs)
        reference, usual = spec.model, spec.inputs
        given = usual if inputs or image or value_range or seed >= 0 else None
    elif inputs:
        given = InputSpec("arrays", arrays=str(from_arguments.folder_of_inputs(inputs)))
    elif image or value_range:
        raise Misuse("read the inputs", "--image and --range are a model's", "name it: --model MODEL")
    elif seed >= 0:
        given = InputSpec(seed=seed)
    return Asked(given, reference, usual, against, step, runs or _RUNS if time else 0, oclgrind, tolerance, timeout)


def run(word: str, wanted: Asked, show: Show) -> list[Outcome]:
    """One outcome per plan that the word means."""
    return session.replay(named_plans.find(word), wanted, show)


def to_json(outcomes: list[Outcome]) -> list[dict[str, object]]:
    """A document per plan, with its failure or with all that the replay found."""
    return [
        {
            "path": one.named.path,
            "ok": one.ok,
            "failure": str(one.failure or ""),
            "device": one.result.device,
            "notes": one.result.notes,
            "outputs": one.outputs,
            "dispatches": one.result.dispatches,
        }
        for one in outcomes
    ]


def show(outcomes: list[Outcome], wanted: Asked, console: Console, top: int, everything: bool) -> None:
    """What each plan did; then, where there are several, all in one table."""
    for outcome in outcomes:
        _show(outcome, wanted, console, top, everything)
        if len(outcomes) > 1:
            console.print()
    if len(outcomes) > 1:
        replay_table.partitions([_row(outcome) for outcome in outcomes], console)


def _show(outcome: Outcome, wanted: Asked, console: Console, top: int, everything: bool) -> None:
    result = outcome.result
    if outcome.title:
        console.print(f"[bold]{outcome.title}[/]")
    console.print(str(outcome.named.path), markup=False, soft_wrap=True)
    if outcome.failure:
        console.print(f"[red]{escape(str(outcome.failure))}[/]", soft_wrap=True)
        return
    console.print(f"{counted(len(result.dispatches), 'dispatch')} on {escape(result.device)}")
    for note in result.notes:
        console.print(f"[dim]{escape(note)}[/]")
    console.print()
    if wanted.against:
        against = "the CPU" if wanted.against == session.CPU else wanted.against
        replay_table.tensors(result, against, console, everything)
        console.print()
    if wanted.times:
        replay_table.times(result, console, top)
        console.print()
    if wanted.oclgrind:
        replay_table.findings(result, console)
        console.print()
    replay_table.outputs([(row.name, row.against, row.error) for row in outcome.outputs], console)


def _row(outcome: Outcome) -> PartitionRow:
    wrong = "did not finish" if outcome.failure else _wrong(outcome)
    return PartitionRow(outcome.named.partition, outcome.nodes, outcome.result, wrong, outcome.compared)


def _wrong(outcome: Outcome) -> str:
    """What is wrong with a replay that finished; empty: nothing."""
    first = outcome.result.first_wrong()
    if first:
        return f"{first[0].name} differs first"
    wrong = [
        f"output {short(row.name)} {row.error.problem}" for row in outcome.outputs if row.error and row.error.problem
    ]
    found = [f"Oclgrind's report of {d.name}" for d in outcome.result.dispatches if d.findings][:3]
    return "; ".join(wrong + found)


def fail_if_wrong(outcomes: list[Outcome]) -> None:
    """JudgementFailed where something differs; the error of the first partition that did not finish."""
    for outcome in outcomes:
        if outcome.failure:
            raise outcome.failure
    for outcome in outcomes:
        first = outcome.result.first_wrong()
        told = replay_table.sentence(*first) if first else _wrong(outcome)
        if told:
            where = f"{outcome.title}, " if outcome.title else ""
            raise JudgementFailed(f"replay {where}{Path(outcome.named.path).name}", told, "see the tables above")
