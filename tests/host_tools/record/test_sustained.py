"""A sustained run: what is said of it, and what each place leaves."""

import pytest
from rich.console import Console

import quadra_tools as q
from host_tools.base.errors import Misuse
from host_tools.dev.fuzz import good_folder
from host_tools.judge import judged
from host_tools.record import run_folder, schema, sustained
from host_tools.record.run_folder import RunFolder
from host_tools.request import from_arguments
from host_tools.show import report, run_account
from tests.host_tools import run_folders
from tests.host_tools.record import schema_check
from tests.host_tools.show import timelines
from tests.model_builder import one_convolution


def window(second, median_us, **more):
    start_ns = 7_000_000_000 + round(second * 1e9)
    return {"start_ns": start_ns, "inferences": 50, "median_us": median_us, "slowest_us": 2 * median_us, **more}


def reading(time_s, stage, skin, **more):
    return {"time_s": time_s, "stage": stage, "status": "none", "temperatures": {"skin": skin}, **more}


@pytest.fixture
def folder(tmp_path):
    """A device that gets hot and slow: 10 ms at first, 15 ms in the end."""
    windows = [window(second, 10_000 + 250 * second, battery_ua=-400_000 - 1000 * second) for second in range(21)]
    readings = [
        reading(0.1, "measure", 30.0),
        reading(5.0, "run without a pause for 21 s", 31.0, gpu_mhz=680, cpu_mhz=2016),
        reading(15.0, "run without a pause for 21 s", 39.0, gpu_mhz=700, cpu_mhz=2016),
        reading(25.0, "run without a pause for 21 s", 44.0, gpu_mhz=220, cpu_mhz=2016),
        reading(26.0, "save the plan", 99.0, gpu_mhz=1),
    ]
    environment = {"device": {"serial": "S"}, "thermal": {"readings": readings}}
    kept = {"schema_version": 1, "window_s": 1.0, "windows": windows}
    return run_folders.make(tmp_path / "runs", sustained=kept, environment=environment)


def test_its_beginning_and_its_end_are_compared(folder):
    found = sustained.of(folder)
    assert (found.first_us, found.last_us, found.inferences) == (10_125, 14_875, 1050)
    assert "1.47 × the time; the slowest 30.0 ms" in found.sentence()
    series = dict(found.series())
    assert series["skin temperature, °C"] == [(0.0, 31.0), (10.0, 39.0), (20.0, 44.0)]
    assert sustained.spread(series["GPU clock, MHz"]) == "680 → 220 (220 to 700)"
    assert sustained.spread(series["CPU clock, MHz"]) == "2016"
    assert sustained.spread(series["battery current, mA"]) == "-400 → -420"


def test_the_trace_has_it_as_counters(folder):
    run_folder.write_json(folder.path / "timings.json", good_folder.FILES["timings.json"])
    found = timelines.counters(folder)
    second = 1_000_000_000
    assert found["skin temperature"] == ("°C", [(7 * second, 31.0), (17 * second, 39.0), (27 * second, 44.0)])
    assert found["GPU clock"][0] == "MHz" and len(found["CPU clock"][1]) == 3
    unit, medians = found["median of an inference"]
    assert unit == "ms" and (medians[0], medians[-1]) == ((7 * second, 10.0), (27 * second, 15.0))
    assert found["battery current"][1][0] == (7 * second, -400.0)


def test_terminal_and_report_show_it(folder):
    console = Console(record=True, width=120)
    run_account.account(judged.judge(folder), console)
    assert "1050 inferences in 21 s without a pause" in " ".join(console.export_text().split())
    page = report.render(judged.judge(folder))
    assert "Sustained speed" in page and page.count("<title>20 s: 44</title>") == 1
    assert schema_check.wrong(folder.path) == []


def test_a_run_on_this_machine_leaves_its_windows(tmp_path, monkeypatch, library):
    monkeypatch.setenv("QUADRA_RUNS_DIR", str(tmp_path / "runs"))
    model = tmp_path / "small.tflite"
    model.write_bytes(one_convolution())
    result = q.run(model, runs=2, sustained_s=2, peers=(), library=library)
    assert 0.9 < result.sustained.seconds < 10 and result.sustained.last_ms > 0 and not result.sustained.series
    kept = RunFolder(result.folder).read(schema.Sustained)
    assert sum(one.inferences for one in kept.windows) == result.sustained.inferences
    assert len(kept.windows) == 2 and all(one.inferences > 2 for one in kept.windows)
    assert kept.windows[1].start_ns - kept.windows[0].start_ns >= 1e9


@pytest.mark.parametrize("word, seconds", [("90s", 90), ("10m", 600), ("2h", 7200), ("", 0)])
def test_times_are_read(word, seconds):
    assert from_arguments.seconds(word) == seconds


@pytest.mark.parametrize("word", ["10", "m", "-5s", "1.5m", "1d", "٣s", "10000000s"])
def test_what_is_no_time_is_refused(word):
    with pytest.raises(Misuse, match="90s, 10m, 1h"):
        from_arguments.seconds(word)


def test_more_than_a_day_is_refused(tmp_path):
    model = tmp_path / "small.tflite"
    model.write_bytes(one_convolution())
    with pytest.raises(Misuse, match="--for"):
        from_arguments.make_spec(str(model), sustained_s=25 * 3600)
