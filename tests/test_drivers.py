"""A sample of the tests on drivers other than the usual ones, in every session: vectors, random graphs, dead lanes, real
models. `./inv test --drivers` runs all."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from host_tools.base.errors import QuadraError
from host_tools.drivers import driver_table
from host_tools.places import reference_model
from tests import cpu, on_driver
from tests.delegate import TOLERANCE, UNOPTIMISED, Quadra, options
from tests.random_graphs import graphs
from tests.test_dead_lanes import MORE, poisoned
from tests.test_models import limits, on_cpu, open_on_cpu, random_feeds
from tests.vectors import Case, all_cases
from tests.vectors.batch import batches

ALWAYS = ["angle"]
# Images and buffers of phones, and the driver's own target, take turns.
TARGETS = ["", "adreno-640-gles", "generic-gles"]
SMALL_MODELS = ["mediapipe/face_detection_short_range", "hand_recrop"]


@pytest.fixture(scope="module", params=ALWAYS)
def row(request, library):
    """(the row, a worker on it); what is not on this machine yet is fetched, or the tests skip and say why."""
    if on_driver.session():
        pytest.skip("a session of one row has the tests themselves")
    driver = driver_table.find(request.param)
    try:
        if driver.fetch:
            driver.fetch(lambda text: None)
        entry = driver.enter()
    except QuadraError as error:
        pytest.skip(str(error))
    worker = Quadra(library, entry, **UNOPTIMISED)
    yield driver, worker
    worker.close()


def _run(row, model: bytes, *rounds, target: str = "", **given):
    driver, worker = row
    outcome = worker.run(model, *rounds, **options(target, driver.backend, **given))
    assert not outcome.error, outcome.error
    assert outcome.report["backend"] == driver.backend, outcome.report["backend_notes"]
    return outcome


def _firsts() -> list:
    """The first case of each op, several in a model."""
    seen: dict[str, Case] = {}
    for case in all_cases():
        if case.place == "gpu":
            seen.setdefault(case.op, case)
    joined = batches(list(seen.values()), key=lambda case: None)
    return [pytest.param(case, TARGETS[i % len(TARGETS)], id=case.id) for i, case in enumerate(joined)]


@pytest.mark.parametrize(("case", "target"), _firsts())
def test_the_first_vector_of_each_op_is_right(row, case, target):
    case.check(_run(row, case.model(), case.feeds(), target=target), TOLERANCE["f32"])


@pytest.mark.parametrize("target", TARGETS)
def test_what_was_cut_off_reaches_no_op(row, target):
    model, x, feed = poisoned("slice of more")
    model.output(*[read(model, x) for read in MORE.values()])
    outcome = _run(row, model.bytes(), [feed], target=target)
    outcome.check(cpu.run(model.bytes(), [feed]), tolerance=2e-5)


@settings(max_examples=5, suppress_health_check=list(HealthCheck))
@given(graph=graphs())
def test_random_graph_is_right(row, graph):
    model, rounds = graph.model.bytes(), graph.rounds()
    outcome = _run(row, model, *rounds)
    for outputs, wanted in zip(list(outcome.outputs), cpu.rounds(model, rounds), strict=True):
        outcome.outputs = [outputs]
        outcome.check(wanted, 0 if graph.exact else 1e-4, least_range=0.05)


@pytest.mark.parametrize(("name", "target"), zip(SMALL_MODELS, TARGETS[1:]))
def test_model_is_right(row, model_path, name, target):
    path = model_path(name)
    reference = reference_model.for_cpu(path)[0]
    interpreter = open_on_cpu(reference)
    feeds = random_feeds(interpreter)
    expected = on_cpu(interpreter, feeds)
    outcome = _run(row, path.read_bytes(), feeds, target=target)
    outcome.check(expected, tolerance=limits(reference, feeds, expected))
