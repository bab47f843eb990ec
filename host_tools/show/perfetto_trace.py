"""A trace of one run for ui.perfetto.dev, in Perfetto's own format: the tracks and counters of its timeline."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import (
    BUILTIN_CLOCK_MONOTONIC,
    CounterDescriptor,
    TrackDescriptor,
    TrackEvent,
)
from perfetto.trace_builder.proto_builder import TraceProtoBuilder

from host_tools.record import run_folder
from host_tools.record.run_folder import RunFolder
from host_tools.show import report, timeline

FILE = report.TRACE
_LAST_NS = (1 << 64) - 1  # what the format holds, and a damaged file may not
_RUN = 1  # uuid of the track that holds the others; also what Perfetto calls a sequence, and the process


def write(folder: RunFolder) -> Path:
    """Writes the trace into the run folder; returns its path."""
    trace, tracks = TraceProtoBuilder(), timeline.read(folder)
    has_times = not any(track.about == timeline.NO_STARTS for track in tracks)
    counters = timeline.counters(folder) if has_times else []
    clock = _clock(trace, tracks, counters) if has_times else 0
    run = trace.add_packet().track_descriptor
    run.uuid, run.process.pid = _RUN, _RUN
    run.process.process_name = f"Quadra: {folder.spec().label}"
    run.child_ordering = TrackDescriptor.EXPLICIT
    uuid = _RUN
    events: list[tuple[int, int, timeline.Slice | float | None]] = []  # ns, track; what begins, a value, or an end
    for track in tracks:
        for lane in lanes(track.slices):
            uuid += 1
            _describe(trace, uuid, track)
            events += [(ns, uuid, begins) for ns, begins in _events(lane)]
    for counter in counters:
        uuid += 1
        described = _describe(trace, uuid, counter).counter
        described.unit_name = counter.unit
        if counter.unit == "bytes":
            described.unit = CounterDescriptor.UNIT_SIZE_BYTES
        events += [(ns, uuid, value) for ns, value in counter.values]
    for ns, uuid, what in sorted(events, key=lambda event: event[0]):
        _fill(_event(trace, uuid, clock, ns), what)
    path = folder.path / FILE
    run_folder.write_bytes(path, trace.serialize())
    return path


def _clock(trace: TraceProtoBuilder, tracks: Sequence[timeline.Track], counters: Sequence[timeline.Counter]) -> int:
    """Says in the trace whose clock the times are of; returns its number."""
    starts = [track.slices[0].start_ns for track in tracks] + [counter.values[0][0] for counter in counters]
    snapshot = trace.add_packet().clock_snapshot
    snapshot.primary_trace_clock = BUILTIN_CLOCK_MONOTONIC
    known = snapshot.clocks.add()
    known.clock_id, known.timestamp = BUILTIN_CLOCK_MONOTONIC, min(starts, default=0)
    return int(BUILTIN_CLOCK_MONOTONIC)


def _describe(trace: TraceProtoBuilder, uuid: int, track: timeline.Track | timeline.Counter) -> Any:
    descriptor = trace.add_packet().track_descriptor
    descriptor.uuid, descriptor.parent_uuid, descriptor.sibling_order_rank = uuid, _RUN, uuid
    descriptor.name, descriptor.description = track.name, track.about
    return descriptor


def lanes(slices: Sequence[timeline.Slice]) -> list[list[timeline.Slice]]:
    """Slices, sorted by start, shared out so that two of a lane lie one after the other or one within the other, as a
    track must have them. One lane is enough unless a GPU runs dispatches at the same time."""
    found: list[list[timeline.Slice]] = []
    open_ends: list[list[int]] = []  # of each lane, outermost first
    for one in slices:
        for ends in open_ends:
            while ends and ends[-1] <= one.start_ns:
                ends.pop()
        number = next((i for i, ends in enumerate(open_ends) if not ends or one.end_ns <= ends[-1]), len(found))
        if number == len(found):
            found.append([])
            open_ends.append([])
        found[number].append(one)
        open_ends[number].append(one.end_ns)
    return found


def _events(lane: Sequence[timeline.Slice]) -> Iterator[tuple[int, timeline.Slice | None]]:
    """(ns, the slice that begins or None for an end), in the order in which they happen."""
    ends: list[int] = []
    for one in lane:
        while ends and ends[-1] <= one.start_ns:
            yield ends.pop(), None
        yield one.start_ns, one
        ends.append(one.end_ns)
    yield from ((end, None) for end in reversed(ends))


def _event(trace: TraceProtoBuilder, uuid: int, clock: int, ns: int) -> Any:
    packet = trace.add_packet()
    packet.timestamp, packet.trusted_packet_sequence_id = min(max(0, ns), _LAST_NS), _RUN
    if clock:
        packet.timestamp_clock_id = clock
    packet.track_event.track_uuid = uuid
    return packet.track_event


def _fill(event: Any, what: timeline.Slice | float | None) -> None:
    if isinstance(what, timeline.Slice):
        event.type, event.name = TrackEvent.TYPE_SLICE_BEGIN, what.name
        event.flow_ids.extend(what.flows)
        for name, value in what.details.items():
            if value is not None:
                _annotate(event, name, value)
    elif what is None:
        event.type = TrackEvent.TYPE_SLICE_END
    else:
        event.type, event.double_counter_value = TrackEvent.TYPE_COUNTER, what


def _annotate(event: Any, name: str, value: int | float | str) -> None:
    annotation = event.debug_annotations.add()
    annotation.name = name
    kind = {int: "int_value", float: "double_value", str: "string_value"}[type(value)]
    setattr(annotation, kind, value)
