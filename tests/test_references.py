"""The numpy references agree with TFLite's reference kernels, so nobody asks where a number came from."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests import cpu
from tests.judge import mismatch
from tests.model_builder import Model
from tests.vectors import all_cases, transpose_conv_bias

CASES = all_cases()


def test_every_case_has_its_own_name():
    assert len({case.id for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", [c for c in CASES if c.on_cpu], ids=lambda case: case.id)
def test_numpy_agrees_with_cpu_interpreter(case):
    got = cpu.run(case.model(), case.feeds())
    for output, (a, b) in enumerate(zip(got, case.expected(), strict=True)):
        assert not mismatch(a, b, 1e-5), f"output {output}: {mismatch(a, b, 1e-5)}"


@pytest.mark.parametrize("case", transpose_conv_bias.CASES, ids=lambda case: case.id)
def test_transpose_conv_bias_agrees_with_builtin_twin(case, monkeypatch):
    """The custom op's reference, checked through TRANSPOSE_CONV with a bias, which the CPU interpreter has."""
    monkeypatch.setattr(Model, "transpose_conv_bias", Model.transpose_conv)
    got = cpu.run(replace(case).model(), case.feeds())
    assert not mismatch(got[0], case.expected()[0], 1e-5), mismatch(got[0], case.expected()[0], 1e-5)
