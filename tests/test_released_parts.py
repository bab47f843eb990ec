"""NVIDIA's OpenCL driver crashes where a part of a buffer is released before one that was made later and lies in it: parts
are released from last to first."""

from __future__ import annotations

import json

import pytest

from tests import cpu
from tests.delegate import TARGETS, Quadra, options
from tests.faults import compile_driver_faults, opencl  # noqa: F401 (a fixture)
from tests.model_builder import Model
from tests.vectors.case import constant

FEED = constant("parts", (1, 32, 32, 8))


def shrinking() -> bytes:
    """Convolutions whose results get smaller: in the memory of the first ones are the last ones'."""
    m = Model()
    x = m.input(FEED.shape)
    for i in range(5):
        x = m.conv2d(
            x, constant(f"parts/w{i}", (8, 3, 3, 8)), constant(f"parts/b{i}", (8,)), stride=(2, 2) if i > 1 else (1, 1)
        )
    m.output(x)
    return m.bytes()


@pytest.fixture(scope="module")
def counter(tmp_path_factory):
    return compile_driver_faults(tmp_path_factory.mktemp("parts") / "libdriver_faults.so")


@pytest.mark.parametrize("target", ["", "mali-g76-buffers"])
@pytest.mark.parametrize("how", [{}, {"tuning": "fast"}], ids=["plain", "tuning"])
def test_what_lies_in_a_part_is_released_before_it(quadra: Quadra, counter, opencl, target, how):
    model = shrinking()
    outcome = quadra.run(model, [FEED], counter=counter, opencl_library=str(counter), **options(target, **how))
    outcome.check(cpu.run(model, [FEED]))
    assert outcome.driver["live"]["clMemObject"] == 0
    assert outcome.driver["inner_parts"] > 0
    assert outcome.driver["early_parts"] == 0


def test_whole_buffers_are_shared_where_parts_are_slow(quadra: Quadra, counter, opencl, tmp_path):
    """NVIDIA's driver takes four times as long for a launch where tensors are parts of one buffer."""
    target = tmp_path / "whole.json"
    facts = json.loads((TARGETS / "mali-g76-buffers.json").read_text(encoding="utf-8"))
    target.write_text(json.dumps({**facts, "why": "", "whole_buffers": True}), encoding="utf-8")
    model = shrinking()
    run = {"counter": counter, "opencl_library": str(counter)}
    parts = quadra.run(model, [FEED], **run, **options("mali-g76-buffers"))
    whole = quadra.run(model, [FEED], **run, **options(), target=str(target))
    whole.check(cpu.run(model, [FEED]))
    assert parts.driver["inner_parts"] > whole.driver["inner_parts"]
    (before,), (after,) = (o.report["partitions"] for o in (parts, whole))
    assert after["activation_bytes_lower_bound"] <= after["activation_bytes"] < 1.5 * before["activation_bytes"]
