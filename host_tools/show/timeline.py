"""When everything in a run happened: the interpreters' starts and inferences, the delegate's steps on the CPU, the GPU's
dispatches. All times are ns of CLOCK_MONOTONIC of the machine that ran. A run folder without start times, as older
versions wrote them, is laid end to end, and its tracks say so."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from host_tools.record import profile, schema, sustained, times
from host_tools.record.run_folder import RunFolder

_STEPS = ("load_delegate_us", "interpreter_us", "allocate_us", "first_invoke_us")
_PARTS_OF_A_RUN = ("write inputs", "enqueue", "wait", "read outputs")
_GAP_NS = 1_000_000
NO_STARTS = (
    "durations only: this run folder has no start times, so all is laid end to end, in the order in which it ran"
)
_BY_EVENTS = (
    "OpenCL's events, by the GPU's clock; in each inference and partition the first QUEUED is set to the CPU's time"
    " just before that dispatch was enqueued"
)
_BY_WAITS = "the CPU's clock: each dispatch was waited for, and its time holds one round trip to the driver"
_BY_TIMERS = (
    "durations only: the driver does not tell when dispatches start, so they are laid end to end from the first"
)


@dataclass(frozen=True)
class Slice:
    name: str
    start_ns: int
    end_ns: int
    details: Mapping[str, Any] = field(default_factory=dict)  # those that are None are not known
    flows: list[int] = field(default_factory=list)  # numbers of arrows: each goes from one slice to another, later one


@dataclass(frozen=True)
class Track:
    name: str
    about: str  # whose clock it is, and how exact
    slices: list[Slice]  # by start; some contain others


@dataclass(frozen=True)
class Counter:
    name: str
    unit: str
    about: str
    values: list[tuple[int, float]]  # ns, and the value from then on


def read(folder: RunFolder) -> list[Track]:
    """The tracks of a run, from outside to inside. Tracks without slices are left out."""
    timings = folder.optional(schema.Timings) or schema.Timings(threads=1, init_us={}, samples_us={})
    verdicts = folder.optional(schema.Verdicts)
    profiled = folder.read(schema.Profile) if folder.has(schema.Profile.FILE) else None
    about = "CLOCK_MONOTONIC of the machine that ran"
    if not timings.starts_ns or (profiled and not profiled.invoke_starts_ns):
        _lay_end_to_end(timings, profiled)
        about, verdicts = NO_STARTS, None  # what the library alone timed has another clock
    outer = [*_starts(timings), *_inferences(timings)]
    steps = [s for partition in (verdicts.partitions if verdicts else []) for s in _spans(partition)]
    tracks = [Track("interpreter", about, outer), Track("Quadra on the CPU", about, steps)]
    if profiled:
        outer += _profiled(profiled)
        steps += [s for partition in profiled.partitions for s in _spans(partition)]
        for partition in profiled.partitions:
            for run, row in _runs(profiled, partition.id):
                steps += _parts_of_a_run(run, row, profiled)
        said, slices = _dispatches(profiled, profile.read(folder))
        _connect(steps, slices)
        tracks.append(Track("Quadra on the GPU", about if about == NO_STARTS else said, slices))
    for track in tracks:
        track.slices.sort(key=lambda s: (s.start_ns, -s.end_ns))
    return [track for track in tracks if track.slices]


def counters(folder: RunFolder) -> list[Counter]:
    """What is known of the machine over time: memory of every run; of a sustained one, also times, temperatures, clocks."""
    timings, found = folder.optional(schema.Timings), []
    laps = timings.init_us.get("quadra_warm") if timings else None
    if timings and timings.memory and laps and laps.starts_ns:
        end_ns = max((one.end_ns for one in _start("", laps)), default=0)
        after = timings.memory.rss_bytes or timings.memory.peak_rss_bytes
        about = "before the model was loaded, and after Quadra's first inference" + (
            "" if timings.memory.rss_bytes else ": the largest so far"
        )
        before = (min(laps.starts_ns.values()), float(timings.memory.baseline_rss_bytes))
        found.append(Counter("resident memory", "bytes", about, [before, (end_ns, float(after))]))
    lasting = sustained.of(folder)
    if lasting:
        medians = [(at, window.median_us / 1e3) for at, window in lasting.windows]
        first_ns = lasting.windows[0][1].start_ns
        for name, series in [("median of an inference, ms", medians), *lasting.series()]:
            title, _, unit = name.rpartition(", ")
            values: list[tuple[int, float]] = [(first_ns + round(at * 1e9), value) for at, value in series]
            found.append(Counter(title, unit, "of the run without a pause, which begins with its first value", values))
    return found


def _lay_end_to_end(timings: schema.Timings, profiled: schema.Profile | None) -> None:
    """Gives starts to all that has none, in the order in which it ran: inferences in turns, the order reversed each time."""
    now = _GAP_NS
    for laps in timings.init_us.values():
        for step in _STEPS:
            laps.starts_ns[step] = now
            now += (getattr(laps, step) or 0) * 1000
        now += _GAP_NS
    names = list(timings.samples_us)
    timings.starts_ns = {who: [] for who in names}
    for number in range(max(map(len, timings.samples_us.values()), default=0)):
        for who in names if number % 2 == 0 else reversed(names):
            if number < len(timings.samples_us[who]):
                timings.starts_ns[who].append(now)
                now += timings.samples_us[who][number] * 1000
    if profiled:
        now += _GAP_NS
        profiled.start = None
        for partition in profiled.partitions:
            partition.spans = []
        for row in profiled.invokes:
            row.at_ns = []
        profiled.invoke_starts_ns = []
        for us in profiled.invoke_us:
            profiled.invoke_starts_ns.append(now)
            now += us * 1000


def _starts(timings: schema.Timings) -> Iterator[Slice]:
    for who, laps in timings.init_us.items():
        yield from _start(f"start of {who}", laps)


def _start(name: str, laps: schema.Laps) -> list[Slice]:
    steps = [
        Slice(step[:-3].replace("_", " "), laps.starts_ns[step], laps.starts_ns[step] + us * 1000)
        for step in _STEPS
        if (us := getattr(laps, step)) and step in laps.starts_ns
    ]
    if not steps:
        return []
    whole = (min(s.start_ns for s in steps), max(s.end_ns for s in steps))
    return [Slice(name, *whole, {"processor_us": laps.cpu_us}), *steps]


def _inferences(timings: schema.Timings) -> Iterator[Slice]:
    for who, samples in timings.samples_us.items():
        cpu = timings.cpu_us.get(who, [])
        for number, (start, us) in enumerate(zip(timings.starts_ns.get(who, []), samples)):
            details = {"run": number + 1, "processor_us": cpu[number] if number < len(cpu) else None}
            yield Slice(times.NAMES.get(who, who), start, start + us * 1000, details)


def _profiled(profiled: schema.Profile) -> Iterator[Slice]:
    if profiled.start:
        yield from _start("start of quadra, profiled", profiled.start)
    for number, (start, us) in enumerate(zip(profiled.invoke_starts_ns, profiled.invoke_us)):
        yield Slice("Quadra, profiled", start, start + us * 1000, {"run": number + 1})


def _spans(partition: schema.Partition) -> Iterator[Slice]:
    for span in partition.spans:
        yield Slice(span.name, span.start_ns, max(span.start_ns, span.end_ns), {"partition": partition.id})


def _runs(profiled: schema.Profile, partition: int) -> Iterator[tuple[int, schema.DispatchTimes]]:
    """A partition's times in each inference, with its number from 0; below 0: the first one of the start is there, too."""
    rows = [row for row in profiled.invokes if row.partition == partition]
    return enumerate(rows, len(profiled.invoke_us) - len(rows))


def _connect(steps: Sequence[Slice], dispatches: Sequence[Slice]) -> None:
    """Draws arrows: from where an inference's dispatches are enqueued to each of them, and to a node's next dispatch."""

    def inference(one: Slice) -> tuple[Any, ...]:
        return one.details["partition"], one.details["run"]

    enqueued = {inference(one): one for one in steps if one.name.startswith("enqueue")}
    before: dict[tuple[Any, ...], Slice] = {}
    number = 0
    for one in dispatches:
        places = [(*inference(one), node) for node in one.details["nodes"].split()]
        sources = [enqueued.get(inference(one)), *(before.get(place) for place in places)]
        for source in {id(source): source for source in sources if source}.values():
            number += 1
            source.flows.append(number)
            one.flows.append(number)
        before.update(dict.fromkeys(places, one))


def _parts_of_a_run(run: int, row: schema.DispatchTimes, profiled: schema.Profile) -> Iterator[Slice]:
    if not _is_timed(row):
        return
    waits = profiled.dispatch_times_by == "waits"
    for name, start, end in zip(_PARTS_OF_A_RUN, row.at_ns, row.at_ns[1:]):
        if end > start:
            said = "enqueue and wait" if waits and name == "enqueue" else name
            yield Slice(said, start, end, {"partition": row.partition, "run": run + 1 if run >= 0 else None})


def _is_timed(row: schema.DispatchTimes) -> bool:
    return len(row.at_ns) == len(_PARTS_OF_A_RUN) + 1 and row.at_ns == sorted(row.at_ns)


def _dispatches(profiled: schema.Profile, found: profile.Profile) -> tuple[str, list[Slice]]:
    """What the track's times are, and the dispatches of every inference whose time is known."""
    slices: list[Slice] = []
    said = {"waits": _BY_WAITS}.get(profiled.dispatch_times_by, _BY_EVENTS)
    next_free: dict[int, int] = dict(enumerate(profiled.invoke_starts_ns))
    for partition in profiled.partitions:
        known = [d for d in found.dispatches if d.partition == partition.id]
        for run, row in _runs(profiled, partition.id):
            start = row.at_ns[1] if _is_timed(row) else next_free.get(run)
            if start is None or len(known) != len(row.dispatch_us):
                continue
            placed = _placed(start, row)
            if not placed:
                said = _BY_TIMERS
                placed = _end_to_end(start, row.dispatch_us)
            slices += [
                Slice(
                    d.name,
                    begin,
                    end,
                    {**_facts(d), **(waited if said == _BY_EVENTS else {}), "run": run + 1 if run >= 0 else None},
                )
                for d, (begin, end, waited) in zip(known, placed)
            ]
            next_free[run] = max((end for _, end, _ in placed), default=start)
    return said, slices


def _placed(start_ns: int, row: schema.DispatchTimes) -> list[tuple[int, int, dict[str, float]]]:
    """Begin and end of each dispatch, and how long it waited; nothing where the driver's times cannot be true."""
    before = 0
    placed = []
    for queued, submitted, started, done in row.dispatch_ns:
        if not queued <= submitted <= started <= done or started < before:
            return []
        before = started
        waited = {"queued_us": (submitted - queued) / 1e3, "submitted_us": (started - submitted) / 1e3}
        placed.append((start_ns + started, start_ns + done, waited))
    return placed if len(placed) == len(row.dispatch_us) else []


def _end_to_end(start_ns: int, durations_us: Sequence[float]) -> list[tuple[int, int, dict[str, float]]]:
    placed: list[tuple[int, int, dict[str, float]]] = []
    for us in durations_us:
        end_ns = start_ns + round(us * 1000)
        placed.append((start_ns, end_ns, {}))
        start_ns = end_ns
    return placed


def _facts(dispatch: profile.Dispatch) -> dict[str, Any]:
    return {
        "kernel": dispatch.kernel,
        "ops": dispatch.ops,
        "nodes": " ".join(map(str, dispatch.nodes)),
        "global": " × ".join(map(str, dispatch.global_size)),
        "local": " × ".join(map(str, dispatch.local_size)),
        "median_us": dispatch.time_us,
        "gflops_per_s": round(dispatch.gflops_per_s, 2) or None,
        "partition": dispatch.partition,
    }
