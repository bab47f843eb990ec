"""The test behind `inv regress`: exact where that can be counted, and as often wrong and right as it says."""

import itertools
import math

import numpy as np
import pytest

from host_tools.judge.regression import statistic


def counted_p(a, b):
    """The p of the rank sum by going through all ways to divide the values."""
    values = np.concatenate([a, b])
    ranks = statistic.doubled_ranks(values)
    at = ranks[len(a) :].sum()
    sums = [sum(chosen) for chosen in itertools.combinations(ranks, len(b))]
    lower, upper = sum(s <= at for s in sums), sum(s >= at for s in sums)
    return min(1.0, 2 * min(lower, upper) / len(sums))


def test_p_is_exact_with_and_without_ties():
    numbers = np.random.default_rng(1)
    for sizes in ((3, 4), (5, 5), (6, 3)):
        for _ in range(10):
            a, b = (numbers.integers(0, 6, n).astype(float) for n in sizes)
            assert statistic.rank_sum_p(a, b) == pytest.approx(counted_p(a, b))
    assert statistic.rank_sum_p(range(5), range(5, 10)) == pytest.approx(2 / 252)
    assert statistic.rank_sum_p([1.0] * 5, [1.0] * 5) == 1.0
    assert statistic.least_p(5, 5) == pytest.approx(2 / 252)


def test_equal_values_share_their_rank():
    assert statistic.doubled_ranks(np.array([3.0, 1.0, 3.0, 2.0])).tolist() == [7, 2, 7, 4]


def test_a_shift_is_a_factor_with_an_interval():
    found = statistic.shift([100, 101, 102, 99, 100.5], [110, 111.1, 112.2, 108.9, 110.55])
    assert found.percent == pytest.approx(10.0, abs=0.6)
    assert 0.07 < found.low < found.effect < found.high < 0.13
    assert statistic.shift([1.0, 2.0], [1.0, 2.0]).high == math.inf  # too few to say anything


def test_each_end_of_the_interval_is_missed_one_time_in_twenty():
    numbers, misses, rounds = np.random.default_rng(2), np.zeros(2), 1500
    for _ in range(rounds):
        found = statistic.shift(np.exp(numbers.normal(0, 0.05, 8)), np.exp(numbers.normal(0.02, 0.05, 10)))
        misses += (found.low > 0.02, found.high < 0.02)
    assert (misses / rounds < 0.06).all() and (misses / rounds > 0.03).all()


def test_discovery_rates_are_those_of_benjamini_and_hochberg():
    assert statistic.discovery_rates([0.01, 0.04, 0.03, 0.5]) == pytest.approx([0.04, 0.16 / 3, 0.16 / 3, 0.5])
    assert statistic.discovery_rates([]) == []


def test_a_trend_is_seen_and_noise_is_none():
    assert statistic.trend(range(10)) == pytest.approx(3.0)
    assert statistic.trend(range(10, 0, -1)) < -2.58
    assert statistic.trend([5.0] * 10) == 0.0 == statistic.trend([1, 2, 3])
    numbers = np.random.default_rng(3)
    seen = [abs(statistic.trend(numbers.normal(0, 1, 10))) > 2.58 for _ in range(1000)]
    assert np.mean(seen) < 0.01


def test_the_spread_does_not_follow_an_outlier():
    assert statistic.spread([100, 101, 99, 100, 1000]) < 0.02
