"""The terminal, the page and the JSON document of a run have one headline."""

import json

import pytest

from host_tools.base import terminal
from host_tools.judge import judged
from host_tools.record import printed
from host_tools.show import report, run_account, run_document
from host_tools.show.run_account import Ended
from tests.host_tools import run_folders

POCL = {**run_folders.REPORT, "device": {"name": "basic-skylake", "vendor": "cpu"}}


def run(tmp_path, quadra_us, processor_us, threads=1, report=POCL, **more):
    """A run in which XNNPACK took 1 ms by both clocks, judged."""
    timings = {
        **run_folders.TIMINGS,
        "threads": threads,
        "samples_us": {"quadra": [quadra_us] * 3, "xnnpack": [1000] * 3},
        "cpu_us": {"quadra": [processor_us] * 3, "xnnpack": [1000] * 3},
        **more,
    }
    return judged.judge(run_folders.make(tmp_path, timings=timings, report=report, environment={}))


def said(found):
    """The terminal, the table of several runs, the page, the ratio of the JSON document."""
    console = terminal.console()
    with console.capture() as shown:
        run_account.account(found, console)
    with console.capture() as rows:
        run_account.table([found]).show(console)
    document = json.loads(printed.text(run_document.of([Ended("host", found)], None)))
    return shown.get(), rows.get(), report.render(found), document["runs"][0]


def test_on_the_cpu_with_one_thread_it_is_processor_time(tmp_path):
    terminal_, rows, page, document = said(run(tmp_path, 1550, 1500))
    assert "Quadra's processor time is 1.50 × XNNPACK's (medians; wall-clock 1.55, its minima 1.55)" in terminal_
    assert rows.splitlines()[1].split()[-4:-1] == ["1.50", "processor", "1.50"], rows
    assert "Inference, processor time, median of 3" in page and '<div class="value">1.50 ms</div>' in page
    assert "XNNPACK 1.00 ms: ratio 1.50" in page and '<div class="value">1.00 ms <small>' in page
    assert document["clock"] == "processor" and document["times"]["quadra"]["processor"] == 1500
    assert document["report"].endswith("/report.html")
    ratio = document["ratios"]["xnnpack"]
    assert (ratio["clock"], ratio["ratio"], ratio["median"], ratio["reliable"]) == ("processor", 1.5, 1.55, True)


@pytest.mark.parametrize(("wall_us", "words"), [(5980, "5.98 ×"), (200, "0.20 ×")])
def test_a_busy_machine_has_no_headline_figure(tmp_path, wall_us, words):
    terminal_, rows, page, document = said(run(tmp_path, wall_us, 1000))
    sentence = f"the machine was busy: processor time gives 1.00 ×, wall-clock time {words}"
    assert f"Quadra's time relative to XNNPACK's is not reliable: {sentence}" in terminal_
    assert "not reliable" in rows and words.split()[0] not in rows
    assert f'<span class="badge warn">not reliable</span> {sentence}' in page
    card = page.partition("Inference, processor time")[2].partition("</div>\n  </div>")[0]
    assert "value" not in card and "good" not in card
    start = page.partition("Start, to the end")[2].partition("</div>\n  </div>")[0]
    assert "value" not in start and "not reliable" in start, "a start is wall-clock time"
    assert document["ratios"]["xnnpack"]["reliable"] is False and document["ratios"]["xnnpack"]["doubt"] == sentence


def test_the_short_account_has_the_headline_and_names_the_page(tmp_path):
    short = run_account.short_account(run(tmp_path, 1550, 1500))
    assert "1.50 ms (processor time), 1.50 × XNNPACK's" in short
    assert short.splitlines()[-1].endswith("/report.html"), short


def test_with_more_threads_it_is_wall_clock_time_with_a_warning(tmp_path):
    terminal_, _, page, document = said(run(tmp_path, 1550, 1500, threads=2))
    assert "Quadra's wall-clock time is 1.55 × XNNPACK's (medians; minima 1.55, processor time 1.50)" in terminal_
    assert "; other work on the machine changes it" in terminal_
    assert "Inference, wall-clock time, median of 3" in page and document["clock"] == "wall"


def test_on_a_gpu_it_is_wall_clock_time(tmp_path):
    phone = {**run_folders.REPORT, "device": {"name": "Adreno 740", "vendor": "qualcomm"}}
    terminal_, rows, _, document = said(run(tmp_path, 1550, 30, report=phone))
    assert "Quadra's wall-clock time is 1.55 ×" in terminal_ and "1.55 wall" in " ".join(rows.split())
    assert document["ratios"]["xnnpack"]["reliable"] is True


def test_a_run_without_a_peer_says_whose_time_it_is(tmp_path):
    alone = {"samples_us": {"quadra": [1550] * 3}, "cpu_us": {"quadra": [1500] * 3}}
    terminal_, _, page, document = said(run(tmp_path, 0, 0, **alone))
    assert "1.50 ms" in page and "no peer was timed" in page and "×" not in terminal_.partition("first run")[2]
    assert document["clock"] == "processor" and not document["ratios"]


@pytest.mark.parametrize(
    ("backend", "cache", "label"),
    [
        ("opencl", "hit", "Quadra "),
        ("opencl", "miss: none is kept; saved", "Quadra, driver compiled"),
        ("gles", "hit", "Quadra, driver compiled"),
    ],
)
def test_what_pocl_unpacks_from_the_cache_of_compiled_models_was_not_compiled(tmp_path, backend, cache, label):
    partitions = [{**one, "cache": cache} for one in POCL["partitions"]]
    found = run(tmp_path, 1500, 1500, report={**POCL, "backend": backend, "partitions": partitions}, driver_compiled=19)
    terminal_, _, page, _ = said(found)
    row = next(line for line in terminal_.splitlines() if line.startswith("Quadra") and "1.50" in line)
    assert row.startswith(label) and ("driver compiled" in row) == ("driver compiled" in label)
    assert ("the driver had to compile" in page) == ("driver compiled" in label)


def test_a_clock_that_was_not_measured_has_no_column(tmp_path):
    terminal_, *_ = said(run(tmp_path, 1000, 0, cpu_us={}))
    table = terminal_.partition("ms, 1 thread")[2]
    assert "processor" not in table.splitlines()[0]
    assert next(line for line in table.splitlines() if line.startswith("XNNPACK")).split()[-2:] == ["1.00", "3"]
