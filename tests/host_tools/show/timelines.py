"""What every timeline of a real run is held against, and its trace, read back event by event."""

import itertools

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import BUILTIN_CLOCK_MONOTONIC, Trace, TrackEvent

from host_tools.record import schema
from host_tools.show import perfetto_trace, timeline

_SLACK_NS = 1_000_000  # a driver's clock is set by a call, which lasts


def written(folder):
    trace = Trace()
    trace.ParseFromString(perfetto_trace.write(folder).read_bytes())
    described = [packet.track_descriptor for packet in trace.packet if packet.HasField("track_descriptor")]
    known = {track.uuid for track in described}
    assert len(known) == len(described) and all(not one.parent_uuid or one.parent_uuid in known for one in described)
    events = [packet for packet in trace.packet if packet.HasField("track_event")]
    assert {event.track_event.track_uuid for event in events} <= known
    assert len({event.trusted_packet_sequence_id for event in events}) <= 1
    times = [event.timestamp for event in events]
    assert times == sorted(times), "those of a sequence are in order"
    return trace


def counters(folder):
    """Writes the trace; returns {counter's name: (unit, [(ns, value)])}."""
    trace = written(folder)
    found = {}
    for packet in trace.packet:
        track, event = packet.track_descriptor, packet.track_event
        if track.HasField("counter"):
            found[track.uuid] = (track.name, (track.counter.unit_name, []))
        elif packet.HasField("track_event") and event.type == TrackEvent.TYPE_COUNTER:
            assert packet.timestamp_clock_id == BUILTIN_CLOCK_MONOTONIC
            found[event.track_uuid][1][1].append((packet.timestamp, event.double_counter_value))
    return dict(found.values())


def arrows(folder):
    """Writes the trace; returns the (name, start) of both ends of each arrow."""
    ends = {}
    for packet in written(folder).packet:
        for number in packet.track_event.flow_ids:
            ends.setdefault(number, []).append((packet.track_event.name, packet.timestamp))
    assert all(len(pair) == 2 and pair[0][1] <= pair[1][1] for pair in ends.values())
    return [tuple(pair) for pair in ends.values()]


def events(folder):
    """Writes the trace; returns {track's name: [(name, start, end, details)]} by start. Fails where slices are not nested."""
    trace = written(folder)
    clocks = {packet.timestamp_clock_id for packet in trace.packet if packet.HasField("track_event")}
    first = trace.packet[0].clock_snapshot
    assert clocks <= ({first.primary_trace_clock} if first.clocks else {0})
    names, open_, found, last = {}, {}, {}, {}
    for packet in trace.packet:
        if packet.HasField("clock_snapshot") or packet.track_event.type == TrackEvent.TYPE_COUNTER:
            continue
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            names[track.uuid] = track.name
            if track.parent_uuid and not track.HasField("counter"):
                assert names[track.parent_uuid] == "" and track.description
                found.setdefault(track.name, [])
            continue
        event, uuid = packet.track_event, packet.track_event.track_uuid
        assert packet.trusted_packet_sequence_id and packet.timestamp >= last.get(uuid, 0)
        last[uuid] = packet.timestamp
        if event.type == TrackEvent.TYPE_SLICE_BEGIN:
            row = [event.name, packet.timestamp, None, {a.name: a for a in event.debug_annotations}]
            found[names[uuid]].append(row)
            open_.setdefault(uuid, []).append(row)
        else:
            open_[uuid].pop()[2] = packet.timestamp
    assert not any(open_.values())
    return found


def check(folder):
    """A run with a profile on one partition: three tracks, ten inferences, dispatches one after the other within theirs."""
    found, tracks = events(folder), {track.name: track for track in timeline.read(folder)}
    assert list(tracks) == list(found) == ["interpreter", "Quadra on the CPU", "Quadra on the GPU"]
    for name, track in tracks.items():
        assert [(s.name, s.start_ns, s.end_ns) for s in track.slices] == [tuple(row[:3]) for row in found[name]]
        assert "durations only" not in track.about, track.about
    memory, samples = counters(folder)["resident memory"]
    assert memory == "bytes" and samples[0][0] < samples[1][0] and samples[0][1] > 0
    inferences = [s for s in tracks["interpreter"].slices if s.name == "Quadra, profiled"]
    assert [s.details["run"] for s in inferences] == list(range(1, 11))
    steps = [s.name for s in tracks["Quadra on the CPU"].slices]
    assert {"import", "passes", "plan", "upload", "compile", "write inputs", "read outputs"} <= set(steps)
    dispatches = tracks["Quadra on the GPU"].slices
    assert all(a.end_ns <= b.start_ns for a, b in itertools.pairwise(dispatches)), "two at once in one queue"
    (partition,) = folder.read(schema.Profile).partitions
    for inference in inferences:
        of_it = [s for s in dispatches if s.details["run"] == inference.details["run"]]
        assert [s.name for s in of_it] == [d.name for d in partition.dispatches]
        assert all(s.flows for s in of_it), "an arrow from where it was enqueued to each"
        assert inference.start_ns <= of_it[0].start_ns and of_it[-1].end_ns <= inference.end_ns + _SLACK_NS
