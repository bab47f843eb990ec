"""Random models against the CPU interpreter: no wrong result, and no op accepted that then fails."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from tests import cpu, on_driver, parity
from tests.delegate import options
from tests.random_graphs import graphs, single_ops
from tests.random_ops import FAMILIES
from tests.runs import Run, in_turn

RUNS = [
    Run("opencl", ""),
    Run("opencl", "adreno-640"),
    Run("opencl", "mali-g76-buffers"),
    Run("gles", ""),
    Run("gles", "generic-gles"),
    Run("gles", "mali-g76-buffers", "f32_f16"),
]
SLOW_RUNS = [
    Run("gles", "adreno-640"),
    Run("opencl", "generic"),
    Run("opencl", "adreno-640", "f32_f16"),
    Run("opencl", "adreno-640", "f16"),
    Run("gles", "", "f16"),
    Run("gles", "adreno-640", "f16"),
]
IN_HALF = Run("gles", "adreno-640", "f16")  # computes in half, where the own target only stores so
everywhere = pytest.mark.parametrize(
    "run",
    [
        *[pytest.param(run, id=run.id) for run in RUNS],
        *[pytest.param(run, id=run.id, marks=[pytest.mark.slow] * (run != IN_HALF)) for run in SLOW_RUNS],
    ],
)
# (of one op, of a graph, the least range): terms that cancel leave their rounding behind. f16 may cost twice what half
# storage does, as real models show (test_driver_models.py).
TOLERANCES = {"f32": (1e-5, 1e-4, 0.05), "f32_f16": (2e-2, 2e-2, 0.2), "f16": (4e-2, 4e-2, 0.5)}
EXAMPLES = 10 if on_driver.sample_only() else settings.default.max_examples
RUNS_OF_AN_OP = 3 if on_driver.session() else 2
# Almost all of the time is the drivers' compilers: new kinds of ops share the examples of their family.
OF_FAMILY = settings(max_examples=max(4, EXAMPLES // 7), suppress_health_check=list(HealthCheck))
FULL = settings(max_examples=EXAMPLES * 2 // 5, suppress_health_check=list(HealthCheck))
SOME = settings(max_examples=max(4, EXAMPLES // 6), suppress_health_check=list(HealthCheck))


def check(quadra, graph, run: Run, one_op: bool = False) -> None:
    floats = run.precision == "f32"
    model, rounds = graph.model.bytes(), graph.rounds(special=floats)
    expected = cpu.rounds(model, rounds)
    of_op, of_graph, least_range = TOLERANCES[run.precision]
    outcome = quadra.run(model, *rounds, **options(run.target, run.backend, precision=run.precision))
    tolerance = 0 if floats and graph.exact else of_op if one_op else of_graph
    assert not outcome.error, outcome.error
    made = outcome.outputs
    for outputs, wanted in zip(made, expected, strict=True):
        outcome.outputs = [outputs]
        outcome.check(wanted, tolerance=tolerance, least_range=least_range)


# Ops that no random model has, and why.
LEFT_OUT = {
    "DEQUANTIZE": "every constant of half floats has one; of integers: random_quantized.py",
    "QUANTIZE": "random_quantized.py",
    "STABLEHLO_COMPOSITE": "becomes the ops of its subgraph: test_composites.py",
    **dict.fromkeys(["VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE"], "keep numbers: test_variables.py"),
    "STABLEHLO_REDUCE_WINDOW": "has a subgraph of its own: tests/vectors/reduce_window.py",
    **dict.fromkeys(["SEGMENT_SUM", "UNSORTED_SEGMENT_PROD"], "as UNSORTED_SEGMENT_SUM"),
    "STABLEHLO_SCATTER": "has a subgraph of its own: tests/vectors/scatter.py",
    "IF": "has subgraphs of its own: tests/vectors/branches.py",
    "WHILE": "has subgraphs of its own: tests/vectors/recurrent_loops.py",
    **dict.fromkeys(["TFLite_Detection_PostProcess", "NON_MAX_SUPPRESSION_V4", "NON_MAX_SUPPRESSION_V5"],
                    "results jump where numbers are nearly equal: tests/vectors/detection.py"),
    **dict.fromkeys(
        ["Convolution2DTransposeBias", "Landmarks2TransformMatrix", "MaxPoolingWithArgmax2D", "MaxUnpooling2D", "LiteRtMaxUnpooling2D",
         "Resampler", "TransformLandmarks", "TransformTensorBilinear"],
        "the interpreter has no kernel to compare with",
    ),
}  # fmt: skip


def test_every_op_is_in_the_random_models_or_left_out_for_a_reason():
    made = {name for kinds in FAMILIES.values() for kind in kinds for name in kind.name.split(", ")}
    ops = set(parity.op_names())
    assert ops - made == set(LEFT_OUT), "ops without an entry, or listed though they have one"


@pytest.mark.parametrize(
    ("family", "run"), in_turn(sorted(FAMILIES), [(run,) for run in [*RUNS, *SLOW_RUNS]], RUNS_OF_AN_OP, name=str)
)
def test_random_op_is_right(quadra, cases, family, run):
    @OF_FAMILY
    @given(single_ops(family))
    def examples(graph):
        cases(repr(graph), lambda: check(quadra, graph, run, one_op=True))

    examples()


@everywhere
def test_random_graph_is_right(quadra, cases, run, request):
    """As many for the device's own target as with --slow, fewer for others."""

    @(SOME if run.target and not request.config.getoption("--slow") else FULL)
    @given(graphs())
    def examples(graph):
        cases(repr(graph), lambda: check(quadra, graph, run))

    examples()
