"""Ratios of Quadra's kernels to another's: complete, a bound, or none; the same in the table and in the file."""

from collections import Counter
from dataclasses import replace

import pytest

from host_tools.analyse import beside
from host_tools.analyse.beside import Pair
from host_tools.analyse.figures import DispatchFigures, Figures, KernelFigures
from host_tools.analyse.machine_code import Compiled
from host_tools.analyse.phone_gpus import GPUS
from host_tools.base import terminal


def figures(slots, is_complete=True, reads=4_000_000):
    """One kernel that runs twice, with so many slots in all."""
    work = Counter(slots=slots // 2, reads=reads // 2)
    runs = [DispatchFigures("d", (), 500_000, work, is_complete) for _ in range(2)]
    return Figures(GPUS[0], "26.1", "f32", "", [KernelFigures("k", "", Compiled(9, 5, 16, 2, 3, ()), runs)])


def pair(ours, peer, nodes=7, model="m"):
    return Pair(model, ours, peer, nodes, 7)


@pytest.mark.parametrize(
    ("ours", "peer", "words", "slots"),
    [
        (True, True, "complete", 0.5),
        (False, True, "at_least", 0.5),
        (True, False, "at_most", 0.5),
        (False, False, "unknown", None),
    ],
)
def test_where_a_count_may_be_too_low_the_ratio_is_a_bound(ours, peer, words, slots):
    found = pair(figures(10_000_000, ours), figures(20_000_000, peer)).ratios.to_json()
    assert (found["are"], found["slots"]) == (words, slots)
    assert found["spilled"] is None  # the peer has none
    assert found["reads"] == (1.0 if slots else None)


def test_the_mean_is_geometric_and_of_whole_models():
    half, double = pair(figures(10), figures(20)), pair(figures(80), figures(10))
    assert beside.mean([half, double]).of["slots"] == pytest.approx(2.0)
    assert beside.mean([half, replace(double, nodes=6)]).of["slots"] == 0.5
    at_least, at_most = pair(figures(10, False), figures(20)), pair(figures(10), figures(20, False))
    assert beside.mean([half, at_least]).to_json()["are"] == "at_least"
    assert beside.mean([at_most, at_least]).to_json()["are"] == "unknown"
    assert beside.mean([replace(half, nodes=6)]).of["slots"] is None


def test_the_table_and_the_file(capsys):
    pairs = [
        pair(figures(10_000_000), figures(20_000_000)),
        pair(figures(30_000_000, False), figures(20_000_000), model="n"),
        pair(figures(10_000_000), figures(20_000_000), 3, "part"),
    ]
    beside.show(pairs, terminal.console())
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "m Quadra 1 2 1.00 10.00 4.00 0.00 0.00 5" in lines
    assert "ratio 1.00 1.00 1.00 0.50 1.00 1.00" in lines
    assert "n Quadra 1 2 1.00 ≥30.00 ≥4.00 ≥0.00 ≥0.00 5" in lines
    assert "stock delegate, 3 of 7 nodes 1 2 1.00 20.00 4.00 0.00 0.00 5" in lines
    assert "geometric mean ratio 1.00 1.00 1.00 ≥0.87 ≥1.00 1.00" in lines
    assert any("leaves nodes to the CPU" in line for line in lines)
    first, _, last = beside.to_json(pairs)
    assert (first["model"], first["executed"]["slots"], first["peer"]["executed"]["slots"]) == (
        "m",
        10_000_000,
        20_000_000,
    )
    assert first["ratios"]["slots"] == 0.5 and last["mean_ratios_of_gpu"]["slots"] == pytest.approx(0.75**0.5)
    assert (last["peer"]["nodes"], last["peer"]["all_nodes"]) == (3, 7)
    assert (last["ratios"]["are"], last["ratios"]["slots"]) == ("unknown", None)
