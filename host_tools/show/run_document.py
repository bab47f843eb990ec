"""What `inv run --json` prints, from runs and their judgements."""

import statistics
from collections.abc import Sequence
from typing import Literal

from host_tools.base.errors import QuadraError, skipped
from host_tools.judge.judged import Judged
from host_tools.record import printed, schema, times, verdicts
from host_tools.record.printed import RunAt, RunDocument, Times
from host_tools.show import report
from host_tools.show.run_account import Ended

_RESULTS = {None: "not judged", True: "right", False: "wrong"}


def of(ended: Sequence[Ended], error: QuadraError | None) -> RunDocument:
    """error: what gave the exit status."""
    return RunDocument(
        exit_status=error.exit_code if error else 0,
        error=printed.failure(error) if error else None,
        runs=[_run(one, one.judged) if one.judged else _failed(one) for one in ended],
    )


def _failed(ended: Ended) -> RunAt:
    error = ended.error
    found = printed.failure(error) if error else None
    result: Literal["skipped", "failed"] = "skipped" if error and skipped(error) else "failed"
    folder = found.folder if found else ""
    return RunAt(place=ended.place, signature=ended.signature, result=result, folder=folder, error=found)


def _run(ended: Ended, judged: Judged) -> RunAt:
    folder = judged.folder
    verdict, timings = folder.read(schema.Verdicts), folder.read(schema.Timings)
    found = verdicts.read(verdict)
    ratios = {who: times.ratio(timings, verdict, who) for who in times.NAMES if who != "quadra"}
    cold = timings.init_us.get("quadra_cold")
    peers = folder.optional(schema.Peers)
    return RunAt(
        place=ended.place,
        signature=ended.signature,
        result=_RESULTS[judged.ok],  # type: ignore[arg-type]  # its words are those of the type
        folder=str(folder.path),
        report=str(folder.path / report.FILE),
        model=folder.spec().model.name,
        backend=found.backend,
        gpu=found.device,
        driver=folder.spec().driver,
        nodes=found.gpu + found.cpu,
        nodes_on_gpu=found.gpu,
        partitions=found.partitions,
        compared=folder.optional(schema.Compared),
        over_inputs=judged.over,
        metrics=judged.metrics,
        determinism=judged.determinism,
        sustained=folder.optional(schema.Sustained),
        peers=peers.peers if peers else [],
        times={
            who: times_of(who, timings) for who in times.NAMES if who in timings.samples_us or who in timings.init_us
        },
        clock=times.clock(timings, verdict),
        ratios={who: printed.ratio(value) for who, value in ratios.items() if value},
        cold_start_us=cold.total_us if cold else None,
    )


def times_of(who: str, timings: schema.Timings) -> Times:
    start = timings.init_us.get(f"{who}_warm", timings.init_us.get(who))
    steady, cpu = times.steady(timings).get(who), timings.cpu_us.get(who)
    return Times(
        start=start.total_us if start else None,
        first=start.first_invoke_us if start else None,
        median=steady.median if steady else None,
        minimum=steady.minimum if steady else None,
        processor=statistics.median(cpu) if cpu else None,
        samples=steady.runs if steady else 0,
    )
