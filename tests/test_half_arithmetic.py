"""Precision f16 computes in half where the device does: products, and sums of so many of them that floats need not take over.
On OpenCL that is the row rusticl-26 of the table of drivers (PoCL has no cl_khr_fp16), on OpenGL ES Mesa's `mediump`."""

from __future__ import annotations

import numpy as np
import pytest

from host_tools.base.errors import ToolMissing
from host_tools.drivers import driver_table
from tests import cpu
from tests.delegate import TOLERANCE, Quadra, options
from tests.model_builder import Model
from tests.vectors.case import generator

# With images, with buffers, and where a single work-item is enough: there none share their sums.
DEVICES = [
    *(("opencl", target) for target in ("adreno-640", "mali-g76-buffers", "large-tiles")),
    *(("gles", target) for target in ("adreno-640-gles", "mali-g76-gles", "large-tiles-gles")),
]
Made = tuple[bytes, np.ndarray]


def convolution(
    inputs: int, outputs: int, kernel: int, size: int, positive: bool = False, activation: str = "NONE"
) -> Made:
    draw = generator(f"half {inputs} {outputs} {kernel} {size}").normal
    weights = (draw(size=(outputs, kernel, kernel, inputs)) / kernel / inputs**0.5).astype(np.float32)
    feed = draw(size=(1, size, size, inputs)).astype(np.float32)
    m = Model()
    x = m.input(feed.shape)
    bias = draw(size=outputs).astype(np.float32)
    m.output(m.conv2d(x, abs(weights) if positive else weights, bias, activation=activation))
    return m.bytes(), abs(feed) if positive else feed


def depthwise(channels: int, kernel: int, size: int, stride: int = 1) -> Made:
    draw = generator(f"half {channels} {kernel} {size}").normal
    m = Model()
    x = m.input((1, size, size, channels))
    weights, bias = draw(size=(1, kernel, kernel, channels)), draw(size=channels)
    y = m.depthwise_conv2d(
        x, weights.astype(np.float32), bias.astype(np.float32), stride=(stride, stride), activation="RELU6"
    )
    m.output(y)
    return m.bytes(), draw(size=(1, size, size, channels)).astype(np.float32)


def residual() -> Made:
    """Sums and products that are merged into a convolution, and by themselves."""
    draw = generator("half residual").normal
    m = Model()
    x = m.input((1, 9, 10, 6))
    weights, bias = draw(size=(6, 1, 1, 6)).astype(np.float32), draw(size=6).astype(np.float32)
    y = m.add(m.conv2d(x, weights, bias), x, activation="RELU")
    m.output(m.mul(m.max_pool2d(y, (3, 3)), y))
    return m.bytes(), draw(size=(1, 9, 10, 6)).astype(np.float32)


def ones(inputs: int) -> Made:
    """A sum of ones: in half it stops at 2048."""
    m = Model()
    x = m.input((1, 4, 4, inputs))
    m.output(m.conv2d(x, np.ones((8, 1, 1, inputs), np.float32), np.zeros(8, np.float32)))
    return m.bytes(), np.ones((1, 4, 4, inputs), np.float32)


CASES = {
    "few channels": convolution(64, 48, 1, 14),
    "six slices": convolution(24, 16, 1, 14),
    "many channels": convolution(1280, 32, 1, 7, positive=True),
    "one pixel": convolution(2048, 12, 1, 1),
    "first layer": convolution(3, 16, 3, 20, activation="RELU6"),
    "rows of a window": convolution(7, 10, 5, 9),
    "blocks of a window": convolution(40, 16, 3, 12),
    "depthwise": depthwise(10, 5, 17, stride=2),
    "depthwise with a large window": depthwise(8, 7, 15),
    "merged steps": residual(),
    "ones": ones(4096),
}


@pytest.fixture(scope="module")
def on(quadra, library):
    """on(backend): the worker on a driver that computes in half. Skips where it is not there."""
    started: list[Quadra] = []

    def worker(backend: str) -> Quadra:
        if backend == "gles":
            return quadra
        if not started:
            driver = next(one for one in driver_table.DRIVERS if one.name == "rusticl-26")
            try:
                started.append(Quadra(library, driver.enter()))
            except ToolMissing as error:
                pytest.skip(f"not tried: {error}")
        return started[0]

    yield worker
    for one in started:
        one.close()


def run(quadra, made: Made, target: str, backend: str, precision: str, **given: str) -> np.ndarray:
    outcome = quadra.run(made[0], [made[1]], **options(target, backend, precision=precision, **given))
    assert not outcome.error and not outcome.on_cpu(), (outcome.error, outcome.on_cpu())
    assert "float16 arithmetic" not in str(outcome.report)  # as where the driver refuses the kernel
    return outcome.outputs[0][0]


@pytest.mark.parametrize(("backend", "target"), DEVICES)
@pytest.mark.parametrize("name", CASES)
def test_what_is_computed_in_half_is_right(on, name, backend, target):
    [expected] = cpu.run(CASES[name][0], [CASES[name][1]])
    found = run(on(backend), CASES[name], target, backend, "f16")
    extent = np.ptp(expected) or abs(expected).max()
    assert abs(found - expected).max() <= TOLERANCE["f16"] * extent / 3  # half storage alone: up to 1.3e-3


@pytest.mark.parametrize(("backend", "target"), DEVICES)
@pytest.mark.parametrize("name", ["few channels", "rows of a window", "depthwise"])
def test_half_means_half(on, name, backend, target):
    """Else the results would be those of half storage, to the bit."""
    stored, computed = (run(on(backend), CASES[name], target, backend, one) for one in ("f32_f16", "f16"))
    assert (stored != computed).any()


@pytest.mark.parametrize(("backend", "target"), DEVICES)
def test_a_source_of_one_slice_is_multiplied_in_floats(on, backend, target):
    """Four products in half save as much as their sums cost."""
    stored, computed = (run(on(backend), CASES["first layer"], target, backend, one) for one in ("f32_f16", "f16"))
    assert np.array_equal(stored, computed)


@pytest.mark.parametrize("target", ["adreno-640", "mali-g76-buffers"])
@pytest.mark.parametrize("name", CASES)
def test_a_phones_kernels_compute_with_floats_where_the_driver_has_no_half(quadra, name, target):
    """As `inv replay` runs a phone's plan on PoCL."""
    [expected] = cpu.run(CASES[name][0], [CASES[name][1]])
    found = run(quadra, CASES[name], target, "opencl", "f16")
    extent = np.ptp(expected) or abs(expected).max()
    assert abs(found - expected).max() <= TOLERANCE["f16"] * extent / 3


@pytest.mark.parametrize(("backend", "target"), DEVICES)
def test_nodes_in_float32_are_read_as_halfs(on, backend, target):
    made = CASES["merged steps"]
    [expected] = cpu.run(made[0], [made[1]])
    found = run(on(backend), made, target, backend, "f16", float32_nodes="2")
    assert abs(found - expected).max() <= TOLERANCE["f16"] * np.ptp(expected) / 3


def two_convolutions() -> Made:
    """One with a twelfth of the products, whose results are an output too, and one with the others."""
    draw = generator("half two convolutions").normal
    m = Model()
    x = m.input((1, 9, 10, 24))
    weights = [draw(size=(outputs, 1, 1, inputs)).astype(np.float32) for outputs, inputs in ((8, 24), (264, 8))]
    few = m.conv2d(x, weights[0], draw(size=8).astype(np.float32))
    m.output(few, m.conv2d(few, weights[1], draw(size=264).astype(np.float32)))
    return m.bytes(), draw(size=(1, 9, 10, 24)).astype(np.float32)


@pytest.mark.parametrize(("backend", "target"), DEVICES)
def test_a_convolution_with_few_of_the_products_adds_floats(on, backend, target):
    """Of 100 products 18 may be floats: the cheapest convolutions', as each costs as much accuracy as any other."""
    model, feed = two_convolutions()
    few, most = (
        [outcome.outputs[0][i] for outcome in made]
        for made in [
            [on(backend).run(model, [feed], **options(target, backend, precision=p)) for p in ("f32_f16", "f16")]
        ]
        for i in (0, 1)
    )
    assert np.array_equal(*few) and not np.array_equal(*most)


@pytest.mark.parametrize("target", [target for backend, target in DEVICES if backend == "gles"])
def test_functions_run_on_floats_between_halfs(on, target):
    """By themselves and merged into what makes their operand; as in OpenCL, whose half has no functions here."""
    m = Model()
    x = m.input((1, 9, 10, 8))
    m.output(m.unary("HARD_SWISH", x), m.unary("HARD_SWISH", m.max_pool2d(x, (3, 3))))
    feed = generator("half functions").normal(size=(1, 9, 10, 8)).astype(np.float32)
    stored, computed = (
        on("gles").run(m.bytes(), [feed], **options(target, "gles", precision=one)).outputs[0]
        for one in ("f32_f16", "f16")
    )
    assert all(np.array_equal(*pair) for pair in zip(stored, computed, strict=True))


def behind_a_first_layer(kernel: int) -> Made:
    """A source of one slice, then a convolution with 7 or 8 of 100 products, whose results are an output too, and the others."""
    draw = generator(f"half behind a first layer {kernel}").normal
    m = Model()
    y = m.input((1, 9, 10, 4))
    outputs = []
    for channels, inputs, side in ((8, 4, kernel), (16, 8, 1), (96, 16, 1)):
        weights = draw(size=(channels, side, side, inputs)).astype(np.float32)
        y = m.conv2d(y, weights, draw(size=channels).astype(np.float32))
        outputs.append(y)
    m.output(*outputs[1:])
    return m.bytes(), draw(size=(1, 9, 10, 4)).astype(np.float32)


@pytest.mark.parametrize(("backend", "target"), DEVICES)
@pytest.mark.parametrize(("kernel", "is_float"), [(1, True), (3, False)])
def test_a_first_layer_counts_among_the_floats(on, backend, target, kernel, is_float):
    """It has 2 or 15 of 100 products, and floats in any case."""
    model, feed = behind_a_first_layer(kernel)
    stored, computed = (
        on(backend).run(model, [feed], **options(target, backend, precision=p)) for p in ("f32_f16", "f16")
    )
    assert not computed.error and not computed.on_cpu()
    assert np.array_equal(stored.outputs[0][0], computed.outputs[0][0]) == is_float
