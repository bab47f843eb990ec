"""The texts of phones' convolutions: what must not come back into their loops and stores, where it costs each work-item instructions
(`inv analyse`)."""

from __future__ import annotations

import re

import numpy as np
import pytest

from host_tools.record import checked_plan, plan_view
from tests.delegate import TARGETS
from tests.model_builder import Model


def texts(quadra, folder, target: str, made: Model, precision: str = "f32") -> list[str]:
    """Prelude and kernel, of each dispatch."""
    given = {"target": str(TARGETS / f"{target}.json"), "precision": precision}
    outcome = quadra.run(made.bytes(), backend="null", dump_dir=str(folder), **given)
    assert not outcome.error and not outcome.on_cpu()
    [path] = folder.rglob("plan.quadra")
    plan = checked_plan.checked(plan_view.decode(path.read_bytes(), str(path)), str(path))
    found = []
    for dispatch in plan.dispatches:
        program = plan.programs[dispatch.program]
        found.append(program.prelude + next(one.source for one in program.kernels if one.entry == dispatch.entry))
    return found


def convolution(inputs: int = 64, kernel: int = 1) -> Model:
    m = Model()
    x = m.input((1, 33, 33, inputs))
    weights = np.ones((128, kernel, kernel, inputs), np.float32)
    m.output(m.conv2d(x, weights, np.zeros(128, np.float32), activation="RELU6"))
    return m


def loop_of(text: str) -> str:
    """The loop over the weights."""
    return re.search(r"for \(int [ij] = at\b.*?\n}\n(?=a0|write|\{)", text, re.DOTALL)[0]


def the_convolution(found: list[str]) -> str:
    [text] = [one for one in found if "read_weights" in one]
    return text


def depthwise() -> Model:
    m = Model()
    x = m.input((1, 33, 33, 64))
    m.output(m.depthwise_conv2d(x, np.ones((1, 3, 3, 64), np.float32), np.zeros(64, np.float32)))
    return m


def test_a_weights_place_in_its_row_is_added_before_the_loop(quadra, tmp_path):
    text = the_convolution(texts(quadra, tmp_path, "adreno-640", convolution()))
    assert "#define begin_weights weights_first\n" in text  # it is read as an image of one row
    assert "fetch_weights(i + " in loop_of(text) and "read_weights(" not in loop_of(text)
    assert "_first" not in re.search(r"#define fetch_weights\(I\) (.*)", text)[1]


def test_a_depthwise_convolution_adds_it_before_its_loop_too(quadra, tmp_path):
    text = the_convolution(texts(quadra, tmp_path, "adreno-640", depthwise()))
    assert "+ begin_weights;" in text and "read_weights(w" not in text and "fetch_weights(w + 2)" in text


@pytest.mark.parametrize("target", ["adreno-640", "mali-g76-buffers"])
def test_the_last_result_of_a_row_is_written_again(quadra, tmp_path, target):
    text = the_convolution(texts(quadra, tmp_path, target, convolution()))
    assert "write_dst(bounded(a1_0, low, high), x1, " in text and not re.search(r"if \(x\d > x\d\)", text)


@pytest.mark.parametrize(("target", "tests"), [("adreno-640", False), ("mali-g76-buffers", True)])
def test_it_is_tested_where_a_merged_step_may_read_what_was_written(quadra, tmp_path, target, tests):
    m = Model()
    x = m.input((1, 33, 33, 64))
    convolved = m.conv2d(x, np.ones((64, 1, 1, 64), np.float32), np.zeros(64, np.float32))
    m.output(m.add(convolved, x, activation="RELU"))
    text = the_convolution(texts(quadra, tmp_path, target, m))
    assert bool(re.search(r"if \(x1 > x0\)", text)) == tests


def test_a_window_tests_the_end_of_its_row(quadra, tmp_path):
    """Its pixels beyond the end are others than the last."""
    text = the_convolution(texts(quadra, tmp_path, "adreno-640", convolution(kernel=3)))
    assert "if (x + 1 < grid_w)" in text


@pytest.mark.parametrize("target", ["adreno-640", "adreno-740-gles"])
def test_sums_in_half_begin_with_a_product(quadra, tmp_path, target):
    text = the_convolution(texts(quadra, tmp_path, target, convolution(), "f16"))
    loop = loop_of(text)
    assert "h0_0 = v0.x * w0;" in loop and "h0_0 += v0.y * w1;" in loop and "0.0f" not in loop


@pytest.mark.parametrize("precision", ["f32", "f16"])
def test_bounds_are_selected(quadra, tmp_path, precision):
    """Of a `?:` of vectors a compiler may make masks: twice the instructions, for each number that is written."""
    text = the_convolution(texts(quadra, tmp_path, "adreno-640", convolution(), precision))
    prelude = re.sub(
        r"int i\b.*?\n}\n", "", text.partition("__kernel")[0], flags=re.DOTALL
    )  # lanes are chosen one by one
    assert "bounded" in text and " ? low : " not in prelude and " ? least : " not in prelude
    assert "select(v, " in prelude


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_channels_that_a_source_does_not_have_are_not_multiplied(quadra, tmp_path, channels):
    text = the_convolution(texts(quadra, tmp_path, "adreno-640", convolution(channels, kernel=3)))
    products = re.findall(r"a0_0 \+= v0\.(\w)", text)
    assert products == list("xyzw"[:channels])
