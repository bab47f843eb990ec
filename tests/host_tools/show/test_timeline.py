"""When things happened, as the run folder tells it: order, nesting, whose clock, and folders that do not tell."""

import copy

import pytest

from host_tools.dev.fuzz import good_folder
from host_tools.record import run_folder
from host_tools.show import perfetto_trace, timeline
from tests.host_tools import run_folders
from tests.host_tools.show import timelines

GOOD = {name: good_folder.FILES[f"{name}.json"] for name in ("profile", "timings")}


def tracks_of(folder):
    return {track.name: track for track in timeline.read(folder)}


def dispatches(folder, start_ns):
    return [(s.name, s.start_ns - start_ns, s.end_ns - start_ns) for s in tracks_of(folder)["Quadra on the GPU"].slices]


def test_everything_is_where_it_happened(tmp_path):
    folder = run_folders.make(tmp_path, **copy.deepcopy(GOOD))
    found = timelines.events(folder)
    outer = [(row[0], row[1]) for row in found["interpreter"]]
    ran = [name for name, start in outer if 2000000 <= start < 30000000]
    assert ran == ["Quadra", "XNNPACK", "Quadra", "XNNPACK", "Quadra", "XNNPACK"]  # not in the order of the file
    assert ("Quadra, profiled", 31000000) in outer and ("allocate", 301000) in outer
    steps = [row[0] for row in found["Quadra on the CPU"] if row[1] >= 31000000]
    assert steps[:4] == ["write inputs", "enqueue", "wait", "read outputs"]
    # The first inference's: enqueued at 20 us, started 2 us later; then 3 us of nothing.
    first, second = dispatches(folder, 30020000)[:2]
    assert (first, second) == (("000_conv2d", 2000, 102500), ("001_relu", 105500, 115500))
    details = found["Quadra on the GPU"][0][3]
    assert details["kernel"].string_value == "conv2d" and details["run"].int_value == 1
    assert (details["queued_us"].double_value, details["submitted_us"].double_value) == (1.0, 1.0)


def test_arrows_lead_from_the_cpu_to_the_dispatches_and_through_those_of_a_node(tmp_path):
    value = copy.deepcopy(GOOD)
    for one in value["profile"]["partitions"][0]["dispatches"]:
        one["nodes"] = [0]
    found = timelines.arrows(run_folders.make(tmp_path, **value))
    first = [pair for pair in found if pair[1][1] < 31000000]
    conv, relu = ("000_conv2d", 30022000), ("001_relu", 30125500)
    assert sorted(first) == [(conv, relu), (("enqueue", 30020000), conv), (("enqueue", 30020000), relu)]
    assert len(found) == 3 * len(first)


def test_counters_and_their_clock(tmp_path):
    folder = run_folders.make(tmp_path, **copy.deepcopy(GOOD))
    timings = GOOD["timings"]
    unit, samples = timelines.counters(folder)["resident memory"]
    assert unit == "bytes" and [value for _, value in samples] == [
        timings["memory"]["baseline_rss_bytes"],
        timings["memory"].get("rss_bytes") or timings["memory"]["peak_rss_bytes"],
    ]
    starts = timings["init_us"]["quadra_warm"]["starts_ns"]
    assert samples[0][0] == min(starts.values()) < samples[1][0]
    snapshot = timelines.written(folder).packet[0].clock_snapshot
    assert snapshot.primary_trace_clock == snapshot.clocks[0].clock_id == 3  # CLOCK_MONOTONIC, as Perfetto counts


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [[0, 0, 0, 0], [0, 0, 0, -1]],
        [[0, 1, 900, 1000], [1, 2, 3, 4]],
        [[5, 1, 6, 7], [8, 8, 8, 9]],
        [[0, 0, 0, 1]],
        [[0, -(1 << 63), (1 << 63) - 1, (1 << 63) - 1]] * 2,
    ],
)
def test_a_driver_that_tells_no_starts_has_durations_end_to_end(tmp_path, rows):
    value = copy.deepcopy(GOOD)
    for row in value["profile"]["invokes"]:
        row["dispatch_ns"] = rows
    folder = run_folders.make(tmp_path, **value)
    assert dispatches(folder, 30020000)[:2] == [("000_conv2d", 0, 100500), ("001_relu", 100500, 110500)]
    assert "durations only: the driver" in tracks_of(folder)["Quadra on the GPU"].about
    value["profile"]["invokes"][0]["dispatch_us"] = [1e18, 1e18]
    run_folder.write_json(folder.path / "profile.json", value["profile"])
    assert timelines.events(folder)["Quadra on the GPU"][0][2] == (1 << 64) - 1


def test_a_folder_without_start_times_says_so(tmp_path):
    folder = run_folders.make(tmp_path, profile=run_folders.PROFILE)
    for name in ("profile.json", "timings.json", "verdicts.json"):
        run_folder.write_json(folder.path / name, without_times(folder.json(name)))
    found = tracks_of(folder)
    assert list(found) == ["interpreter", "Quadra on the GPU"]
    assert all("no start times" in track.about for track in found.values())
    first = next(s for s in found["interpreter"].slices if s.name == "Quadra, profiled")
    assert dispatches(folder, first.start_ns)[:2] == [("000_conv2d", 0, 100000), ("001_relu", 100000, 110000)]
    assert len(timelines.events(folder)["Quadra on the GPU"]) == 6


def without_times(value):
    """As versions wrote it that kept durations alone."""
    if isinstance(value, dict):
        return {k: without_times(v) for k, v in value.items() if k not in ("spans", "start") and not k.endswith("_ns")}
    return [without_times(v) for v in value] if isinstance(value, list) else value


def test_dispatches_at_the_same_time_are_in_two_lanes():
    rows = [
        timeline.Slice(n, a, b)
        for n, a, b in (("a", 0, 10), ("in a", 0, 4), ("b", 5, 15), ("c", 10, 12), ("d", 15, 15))
    ]
    assert [[s.name for s in lane] for lane in perfetto_trace.lanes(rows)] == [["a", "in a", "c", "d"], ["b"]]
