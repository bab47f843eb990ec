"""Every function of the drivers' tables fails in every way at its first call, and in one at its last (every call with --slow):
right numbers or an error, no crash, no hang, nothing left behind."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tests import driver_faults
from tests.delegate import Outcome
from tests.driver_faults import AT_THE_START, FEEDS, LIVES, NOT_CALLED, Baseline, Driver, Fault, Life, expected
from tests.faults import egl, opencl  # noqa: F401 (fixtures, which skip where there is no driver)

APIS = ["opencl", "gles"]
_FAULT = Fault("clFinish", 1, "-5")


@pytest.fixture(scope="module")
def driver(library, tmp_path_factory, egl, opencl):
    made = Driver(library, tmp_path_factory.mktemp("driver_faults"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def baselines(driver) -> dict[Life, Baseline]:
    return {life: driver_faults.baseline(driver, life) for life in LIVES}


def _lives(api: str) -> list[Life]:
    return [life for life in LIVES if life.api == api]


def test_every_function_of_the_tables_is_called_and_it_is_known_how_it_fails(baselines):
    called = {function for base in baselines.values() for function, calls in base.calls.items() if calls}
    ways = next(iter(baselines.values())).ways
    assert set(ways) - called == NOT_CALLED, "a life in tests/driver_faults.py must call it"
    assert not [function for function, known in ways.items() if known is None], "WaysOf in tests/driver_faults.cc"


@pytest.mark.parametrize("api", APIS)
def test_a_sample_of_calls_that_fail(driver, api):
    results = list(driver_faults.matrix(driver, _lives(api), sample=True))
    assert not driver_faults.bad(results), "\n".join(map(str, driver_faults.bad(results)))
    assert {result.verdict for result in results} == set(driver_faults.GOOD)


@pytest.mark.parametrize("api", APIS)
def test_calls_that_fail_after_a_start_from_the_cache(driver, tmp_path, api):
    """Such a start has no graph: a resize and a device that is lost import it."""
    life = replace(_lives(api)[0], env={"QUADRA_SERIALIZATION_DIR": str(tmp_path / "kept")})
    found = driver.library()  # its name is a part of what verdicts are kept under
    first, second = (driver.live(life, library=found) for _ in range(2))
    assert [part["timings_us"]["import"] > 0 for part in first.report["partitions"]] == [True] * 3
    assert [part["timings_us"]["import"] > 0 for part in second.report["partitions"]] == [False] * 3
    base = Baseline(second.driver["calls"], second.driver["ways"], {})
    for fault in driver_faults.faults(life, base, sampled=()):
        if not fault.n:
            continue
        outcome = driver.live(life, fault, library=found)
        assert not driver_faults.wrong(outcome), (fault, driver_faults.wrong(outcome))
        assert bool(outcome.error) or len(outcome.outputs) == len(FEEDS), fault
        after = driver.live(life, library=found)
        assert not after.error and not driver_faults.wrong(after), fault


TRIALS = {
    "opencl": ["clBuildProgram", "clCreateKernel", "clEnqueueNDRangeKernel", "clFinish", "clGetEventProfilingInfo"],
    "gles": ["glLinkProgram", "glDispatchCompute", "glClientWaitSync", "glGetQueryObjectuiv"],
}
TIMERS = {"clGetEventProfilingInfo", "glGetQueryObjectuiv"}  # the check of programs measures nothing

SLOW_LIFE = "opencl checked"


@pytest.mark.parametrize(
    "life",
    [pytest.param(life, id=life.name, marks=[pytest.mark.slow] * (life.name == SLOW_LIFE)) for life in AT_THE_START],
)
def test_calls_that_fail_in_what_is_done_at_the_start_alone(driver, life):
    """While groups are tried and programs are checked: a start is not worse for them."""
    base = driver_faults.baseline(driver, life)
    names = [name for name in TRIALS[life.api] if "tuning" in life.options or name not in TIMERS]
    assert all(base.calls[name] >= 3 for name in names), base.calls
    ways = {name: base.ways[name].split() for name in names}
    # Most calls are those of the trials or of the check.
    wanted = [Fault(name, base.calls[name] // 3, way) for name in ways for way in {ways[name][0], ways[name][-1]}]
    results = list(driver_faults.results(driver, life, base, wanted))
    assert not driver_faults.bad(results), "\n".join(map(str, driver_faults.bad(results)))
    assert "right" in {result.verdict for result in results}


@pytest.mark.parametrize("life", _lives("gles")[:2], ids=lambda life: life.name)
def test_a_binding_that_is_refused_spoils_nothing_for_the_next_run(driver, baselines, life):
    """What a kernel writes then may land in a constant."""
    calls = baselines[life].calls["glBindBufferRange"]
    faults = [Fault("glBindBufferRange", n, "0x505") for n in range(1, calls + 1)]
    results = list(driver_faults.results(driver, life, baselines[life], faults))
    assert not driver_faults.bad(results), "\n".join(map(str, driver_faults.bad(results)))


@pytest.mark.slow
@pytest.mark.parametrize("life", LIVES, ids=lambda life: life.name)
def test_every_call_that_fails(driver, life):
    results = list(driver_faults.matrix(driver, [life]))
    assert not driver_faults.bad(results), "\n".join(map(str, driver_faults.bad(results)))


@pytest.mark.parametrize(
    ("api", "call"),
    [
        ("opencl", "clFinish"),
        ("opencl", "clEnqueueNDRangeKernel"),
        ("opencl", "clCreateBuffer"),
        ("gles", "glDispatchCompute"),
    ],
)
def test_after_a_lost_device_the_next_interpreter_has_a_context_of_its_own(driver, api, call):
    life = Life(api, api)
    library = driver.library()
    lost = driver.live(life, Fault(call, 3, "lost"), library)
    assert "make the delegate and its interpreter anew" in lost.error + str(lost.report), lost
    after = driver.live(life, library=library)
    assert not after.error and len(after.nodes) - len(after.on_cpu()) == life.nodes_on_gpu, after
    assert not driver_faults.wrong(after)


@pytest.mark.parametrize(
    "fault", ["clFinish@{}=-5", "clFinish@{}=-36", "clFinish@{}=-9999", "clEnqueueNDRangeKernel@{}=-34"]
)
def test_a_device_that_is_lost_after_it_worked(driver, baselines, fault):
    """The error says so, the rounds before and after are right or errors, and the next interpreter is."""
    life = _lives("opencl")[0]
    function = fault.split("@")[0]
    assert len(FEEDS) == 3
    # In the second round: first come the launches of the start, no more than a round has.
    call = baselines[life].calls[function] * 2 // 3
    library = driver.library()
    name, n, way = re.fullmatch(r"(\w+)@(\d+)=(.+)", fault.format(call)).groups()
    outcome = driver.live(life, Fault(name, int(n), way), library)
    assert not driver_faults.wrong(outcome) and len(outcome.outputs[0]) == len(expected()[0]), outcome
    assert "the device may be lost: make the delegate and its interpreter anew" in outcome.error, outcome.error
    after = driver.live(life, library=library)
    assert not after.error and len(after.nodes) - len(after.on_cpu()) == life.nodes_on_gpu, after
    assert not driver_faults.wrong(after)


def _outcome(**driver: object) -> Outcome:
    report = {"nodes": [{"on": "gpu", "reason": ""}] * LIVES[0].nodes_on_gpu}
    return Outcome([list(outputs) for outputs in expected()], report, driver={"happened": True, "live": {}, **driver})


@pytest.mark.parametrize(
    ("outcome", "verdict"),
    [
        (_outcome(), "right"),
        (replace(_outcome(), outputs=_outcome().outputs[:-1]), "UNCLEAR"),
        (replace(_outcome(), outputs=[[], *_outcome().outputs[1:]], error="RuntimeError: Quadra: it failed"), "error"),
        (replace(_outcome(), error="KeyError: 1"), "UNCLEAR"),
        (replace(_outcome(), outputs=[[output + 0.01 for output in outputs] for outputs in expected()]), "WRONG"),
        (_outcome(happened=False), "NO FAULT"),
        (_outcome(live={"clKernel": 1, "clContext": 1}), "LEAK"),
        (_outcome(live={"clContext": -1}), "LEAK"),
    ],
)
def test_a_bad_end_is_seen(outcome, verdict):
    base = Baseline({}, {}, {"clContext": 1})
    assert len(FEEDS) == len(expected())
    assert driver_faults.judged(LIVES[0], base, _FAULT, outcome).verdict == verdict


def test_a_failed_inference_makes_its_own_session_load_anew_and_no_other(driver, baselines):
    life = _lives("gles")[0]
    calls = baselines[life].calls
    # In the first round, after the launches of the start.
    outcome = driver.live(life, Fault("glDispatchCompute", calls["glDispatchCompute"] // 3, "0x505"))
    assert outcome.error and not outcome.outputs[0] and not driver_faults.wrong(outcome), outcome
    assert len(outcome.report["partitions"]) == 3
    loads = calls["glGenTextures"] // 6  # of three sessions, in two sizes
    more = outcome.driver["calls"]["glGenTextures"] - calls["glGenTextures"]
    assert 0 < more < 2 * loads, (more, loads)


def test_an_error_of_a_timer_costs_one_profile_and_not_the_timers(driver, baselines):
    life = next(life for life in _lives("gles") if "profile" in life.options)
    outcome = driver.live(life, Fault("glBeginQuery", 1, "0x505"))
    assert not outcome.error and not driver_faults.wrong(outcome), outcome
    assert outcome.report["dispatch_times_by"] == "timers"
    measured = [max(run["dispatch_us"]) for run in outcome.report["profile"]]
    assert len(measured) == 9 and sum(us > 7.1 for us in measured) == 1, measured  # timer_ns of the life
