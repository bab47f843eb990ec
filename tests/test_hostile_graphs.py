"""The fuzzer of hostile numbers (`python -m tests.hostile_graphs`): some of its cases, and that it finds what is wrong."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from host_tools.base.settings import ROOT
from tests import hostile_graphs
from tests.hostile_ops import Case
from tests.model_builder import Model
from tests.random_graphs import Graph
from tests.runs import BACKENDS

_NUMBERS = np.float32([-1.5, np.nan, np.inf, -np.inf, 3e38, -0.0, 0.25])


@pytest.mark.parametrize("backend", BACKENDS)
def test_hostile_models_are_right(library, backend, request):
    count = 500 if request.config.getoption("--slow") else 25
    command = [sys.executable, "-m", "tests.hostile_graphs", "--count", f"{count}", "--backend", backend]
    ended = subprocess.run(
        [*command, "--library", str(library)], cwd=ROOT, capture_output=True, text=True, timeout=600, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr[-2000:]
    assert f"{count} models" in ended.stdout, ended.stdout


def _judge(build, *feeds: np.ndarray) -> hostile_graphs.Judge:
    m = Model()
    m.output(build(m, *(m.input(feed.shape, feed.dtype.name) for feed in feeds)))
    case = Case(Graph(m, 0, [], [], exact=False), "one", True, frozenset())
    return hostile_graphs.Judge(case, m.bytes(), [list(feeds)], 1e-5)


@pytest.mark.parametrize(
    ("place", "number", "is_right"),
    [
        (0, -1.5 * (1 + 1e-6), True),
        (0, -1.5 * (1 + 1e-3), False),
        (0, np.nan, False),
        (1, np.nan, True),
        (1, 0.0, False),
        (2, 3.4028235e38, True),  # the CPU's kernels differ in where they stop
        (2, -np.inf, False),
        (3, 0.0, False),
        (4, np.inf, False),
        (4, 2.99e38, False),
        (5, 0.0, True),
    ],
)
def test_a_number_beside_the_cpus_is_found(place, number, is_right):
    judge = _judge(lambda m, x: m.op("RESHAPE", [x, np.int32([7])], (7,), "ReshapeOptions"), _NUMBERS)
    assert judge.expected[0][0].tolist()[0] == -1.5
    made = _NUMBERS.copy()
    made[place] = number
    assert (judge.wrong(0, [made]) == "") == is_right


def test_what_any_of_the_cpus_kernels_has_is_right():
    """Of numbers with NaN among them the plain kernel has 3 and the optimised one 2."""
    x = np.float32([[3, np.nan, 2, 1]])
    judge = _judge(lambda m, a: m.op("REDUCE_MAX", [a, np.int32([1])], (1,), "ReducerOptions"), x)
    assert judge.expected[0][0] == 3
    made = {number: judge.wrong(0, [np.float32([number])]) == "" for number in (3, 2, 1, np.nan)}
    assert list(made.values()) == [True, True, False, False]


def test_the_same_seed_makes_the_same_cases_and_goes_on_in_between():
    def some(first: int, count: int) -> list[tuple[int, str]]:
        made = hostile_graphs.made(3, first)
        return [(number, repr(case)) for number, case in (next(made) for _ in range(count))]

    assert some(0, 40)[30:] == some(30, 10)
    assert some(0, 3) == some(0, 3)


def test_a_node_that_is_right_alone_explains_its_graph_and_one_that_is_not_is_named(library):
    m = Model()
    x = m.input((4,))
    m.output(m.unary("RELU", m.op("LOG", [m.add(x, np.float32(1))], (4,))))
    case = Case(Graph(m, 0, [], [], exact=False), "graph", False, frozenset({"ADD", "LOG", "RELU"}))
    feeds, how = [np.float32([0, 1, np.inf, 3])], hostile_graphs.options("", "opencl")
    outputs = [np.log(feeds[0] + 1)]
    assert hostile_graphs.explained(case, feeds, outputs, library, how) == ""
    outputs[0][1] = 7
    assert "is another" in hostile_graphs.explained(case, feeds, outputs, library, how)
