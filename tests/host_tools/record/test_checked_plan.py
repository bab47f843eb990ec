"""Nothing of a plan is believed before it was checked; what it says of its tensors and memory follows from it."""

import random

import numpy as np
import pytest

from host_tools.base.errors import Misuse
from host_tools.judge import plan_diff
from host_tools.record import checked_plan, named_plans, plan_view
from host_tools.show import memory_map
from tests.host_tools.record import plans


def read(plan, tmp_path):
    return checked_plan.checked(plan_view.read(plans.write(plan, tmp_path / "plan.quadra")), "a file")


@pytest.fixture
def plan(tmp_path):
    return read(plans.PLAN, tmp_path)


def test_a_tensor_is_whole_after_the_last_dispatch_that_writes_it_while_it_is_kept(plan):
    assert plan.makers() == {0: 0, 1: 1, 2: 2, 4: 3}, "y lies where x lay"
    assert plan.alive_bytes() == [96, 192, 192, 96]


def test_inputs_and_outputs_have_the_models_names(plan):
    assert plan.outside_names() == (["x"], ["y"])


def test_an_input_may_be_read_by_nobody(tmp_path):
    """A state's is: the kernels find it where the output lies."""
    found = read(plans.changed(tensors__3__first_use=-1, tensors__3__last_use=-1), tmp_path)
    assert found.outside_names() == ([""], ["y"])


def test_slices_become_pixels(plan):
    dense = np.arange(18, dtype=np.float32).reshape(1, 2, 3, 3)
    stored = np.zeros((6, 4), np.float32)
    stored[:, :3] = dense.reshape(6, 3)
    assert np.array_equal(plan.tensors[0].numbers(stored.ravel()), dense)


def test_a_slice_of_four_channels_follows_the_other():
    tensor = checked_plan.Tensor("t", [2, 1, 2, 6], 0, 0, 0, "Half", False, 0, 0, 0)
    dense = np.arange(24, dtype=np.float16).reshape(2, 1, 2, 6)
    stored = np.full((2, 2, 1, 2, 4), -1, np.float16)
    for b in range(2):
        for x in range(2):
            for c in range(6):
                stored[b, c // 4, 0, x, c % 4] = dense[b, 0, x, c]
    found = tensor.numbers(stored.ravel())
    assert np.array_equal(found, dense) and found.dtype == np.float32


@pytest.mark.parametrize(
    ("parts", "what"),
    [
        ({"api": "vulkan"}, "Invalid enum value"),
        ({"buffers__0__bytes": 0}, "buffer 0 makes no sense"),
        ({"regions__1__buffer": 7}, "region 1 makes no sense"),
        ({"regions__1__offset": 300}, "region 1 makes no sense"),
        ({"regions__1__offset": 1 << 63}, "region 1 makes no sense"),
        ({"tensors__0__shape": [1, 2, 3]}, "tensor 0 makes no sense"),
        ({"tensors__0__shape": [1, 2, 3, 0]}, "tensor 0 makes no sense"),
        ({"tensors__0__shape": [1, 2, 3, 500]}, "tensor 0 makes no sense"),
        ({"tensors__0__last_use": 4}, "tensor 0 makes no sense"),
        ({"tensors__0__first_use": -1, "tensors__0__last_use": -1}, "tensor 0 makes no sense"),
        ({"tensors__0__buffer": -2}, "Expected `int` >= -1"),
        ({"dispatches__1__program": 3}, "dispatch 1 makes no sense"),
        ({"dispatches__1__entry": "other"}, "dispatch 1 makes no sense"),
        ({"dispatches__1__global": [9, 1, 1]}, "dispatch 1 makes no sense"),
        ({"dispatches__1__local": [0, 1, 1]}, "Expected `int` >= 1"),
        ({"dispatches__1__global": [8, 1]}, "length >= 3"),
        ({"dispatches__1__args": [plans.arg("Buffer", 9)]}, "dispatch 1 makes no sense"),
        ({"inputs__0__tensor": 77}, "input 0 makes no sense"),
        ({"outputs__0__shape": [1, 2, 3, 4]}, "output 0 makes no sense"),
        ({"outputs__0__tensor": 0}, "output 0 makes no sense"),
    ],
)
def test_what_makes_no_sense_is_named(parts, what, tmp_path):
    with pytest.raises(Misuse, match=what):
        read(plans.changed(**parts), tmp_path)


def test_images_in_an_arena_have_its_memory(tmp_path):
    plan = read(plans.with_images_in_an_arena(), tmp_path)
    assert checked_plan.buffer_bytes([b for b in plan.buffers if b.kind == "Image"]) == 0
    assert checked_plan.buffer_bytes(plan.buffers) == 512 + 2 * 72
    assert [(image.offset, image.row_bytes) for image in plan.buffers if image.lies_in] == [(0, 128), (256, 128)]


@pytest.mark.parametrize(
    "parts",
    [
        {"lies_in": 9}, {"lies_in": 3}, {"lies_in": 2}, {"offset": 257}, {"offset": (1 << 64) - 128},
        {"row_bytes": 32}, {"row_bytes": 136}, {"height": 3}, {"kind": "Io"},
    ],
)  # fmt: skip
def test_an_image_beyond_its_arena_is_named(parts, tmp_path):
    made = plans.with_images_in_an_arena()
    made["buffers"][4] |= parts
    with pytest.raises(Misuse, match="buffer 4 makes no sense"):
        read(made, tmp_path)


def test_flipped_bytes_are_refused_or_can_be_shown(tmp_path):
    data = plans.write(plans.with_images(), tmp_path / "whole").read_bytes()
    generator, path, shown = random.Random(1), tmp_path / "plan.quadra", 0
    whole = named_plans.of_file(tmp_path / "whole").checked()
    for _ in range(400):
        damaged = bytearray(data)
        for _ in range(2):
            damaged[generator.randrange(8, len(data))] = generator.randrange(256)
        path.write_bytes(damaged)
        try:
            plan = named_plans.of_file(path).checked()
            plan_diff.compare(whole, plan)
            memory_map.svg(plan)
            plan.outside_names()
            shown += 1
        except Misuse:
            continue
    assert 50 < shown < 400
