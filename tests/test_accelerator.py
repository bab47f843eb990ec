"""Quadra as the GPU accelerator of LiteRT's CompiledModel: the stock runtime loads it, runs wholly on it, and gets the
interpreter's bits; runtimes of other layouts are refused with a sentence."""

from __future__ import annotations

import json
import re
import shutil
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter

from host_tools.base import child_process, settings
from host_tools.build import bazel, size
from tests import cpu
from tests.bad_models import BAD_MODELS, make
from tests.compiled import Compiled, variables
from tests.delegate import TOLERANCE, options
from tests.model_builder import Model
from tests.runs import BACKENDS
from tests.test_models import random_feeds
from tests.vectors import all_cases
from tests.vectors.case import constant
from tests.vectors.composites import SHAPE, attends, composite, masked, rms_norm


def _python_reads(case) -> bool:
    """What goes in and comes out of it; LiteRT's Python has neither int64 nor int16, nor complex numbers."""
    return not any(
        str(array.dtype) in ("int64", "int16") or array.dtype.kind == "c" for array in [*case.feeds(), *case.expected()]
    )


# Whatever they are: every thirtieth one.
CASES = [case for case in all_cases() if case.place == "gpu" and case.on_cpu][::30]
# LiteRT itself leaves one of the buffers as it was where an output is listed twice (places/compiled_models.py refuses it).
CASES = [case for case in CASES if _python_reads(case) and case.id != "graph-output_twice"]
MODELS = ("face_detection_short_range", "mobilenet_v1_0.25_128_quant", "deeplabv3_257_mv_gpu")
on_both = pytest.mark.parametrize("backend", BACKENDS)


@pytest.fixture(scope="session")
def accelerator() -> Path:
    return bazel.accelerator()


@pytest.fixture(scope="module")
def compiled(accelerator):
    worker = Compiled(accelerator)
    yield worker
    worker.close()


def both(compiled, quadra, model: bytes, feeds: list, backend: str):
    """The same model with the same options through CompiledModel and through the interpreter."""
    got = compiled.run(model, feeds, env=variables(backend))
    if "litert/core/model" in got.error:
        pytest.skip("LiteRT itself does not load it: variable tensors")
    assert not got.error, f"{got.error}\n{compiled.log()[-2000:]}"
    want = quadra.run(model, feeds, **options(backend=backend))
    assert got.report["backend"] == backend
    assert got.report["nodes"] == want.nodes
    return got, want


@on_both
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_vector_has_the_interpreters_bits(compiled, quadra, case, backend):
    got, want = both(compiled, quadra, case.model(), case.feeds(), backend)
    assert got.report["fully_accelerated"] and not got.on_cpu()
    case.check(got, TOLERANCE["f32"])
    for mine, other in zip(got.outputs[0], want.outputs[0], strict=True):
        assert _bits(mine) == _bits(other)


def _bits(array) -> bytes:
    """A NaN's sign hangs on how the driver optimised."""
    return (np.where(np.isnan(array), np.float32("nan"), array) if array.dtype == np.float32 else array).tobytes()


@on_both
@pytest.mark.parametrize("name", MODELS)
def test_a_model_has_the_interpreters_bits(compiled, quadra, model_path, name, backend):
    raw = model_path(name).read_bytes()
    got, want = both(compiled, quadra, raw, random_feeds(Interpreter(model_content=raw)), backend)
    assert got.report["fully_accelerated"] and not got.on_cpu()
    for mine, other in zip(got.outputs[0], want.outputs[0], strict=True):
        assert mine.tobytes() == other.tobytes()


def test_the_gpu_alone_is_enough(compiled):
    case = CASES[0]
    case.check(compiled.run(case.model(), case.feeds(), cpu="0", env=variables("opencl")), TOLERANCE["f32"])


def composites() -> dict[str, tuple[bytes, list]]:
    """Models whose decompositions are subgraphs of their own: one used twice, one in another, one computed by its name."""
    x, scale = constant("composite/x", SHAPE), constant("scale", SHAPE[-1:])
    twice, outer, middle = Model(), Model(), Model()
    y = composite(twice, [twice.input(SHAPE), scale], SHAPE, 1)
    twice.output(composite(twice, [twice.unary("TANH", y), scale], SHAPE, 1))
    outer.output(composite(outer, [outer.input(SHAPE), scale], SHAPE, 1, "outer"))
    inputs = middle.input(SHAPE), middle.input(SHAPE[-1:])
    middle.output(middle.unary("TANH", composite(middle, list(inputs), SHAPE, 2)))
    by_name = attends("", 1, 5, 9, 4, 1, 8, mask=masked((1, 1, 5, 9), -1e9))
    return {
        "twice": (twice.bytes(rms_norm()), [x]),
        "one in another": (outer.bytes(middle, rms_norm()), [x]),
        "by its name": (by_name.model(), by_name.feeds()),
    }


@on_both
@pytest.mark.parametrize("name", composites())
def test_the_gpu_alone_is_enough_for_composites(compiled, quadra, name, backend):
    """LiteRT counts the nodes of their decompositions, which nobody runs, with what is left to the CPU. With the CPU it
    is no different: XNNPACK has nothing to do."""
    model, feeds = composites()[name]
    want = quadra.run(model, feeds, **options(backend=backend))
    for accelerators in ("0", "1"):
        got = compiled.run(model, feeds, cpu=accelerators, env=variables(backend))
        assert not got.error, got.error
        assert got.report["fully_accelerated"] and got.report["nodes"] == want.nodes and not got.on_cpu()
        assert [array.tobytes() for array in got.outputs[0]] == [array.tobytes() for array in want.outputs[0]]


@on_both
def test_the_gpu_alone_is_refused_where_a_composite_is_left_to_the_cpu(compiled, backend):
    m, inner = Model(), Model()
    m.output(composite(m, [m.unary("TANH", m.input(SHAPE))], SHAPE, 1))
    inner.output(inner.left_to_cpu(inner.input(SHAPE)))
    model, feeds = m.bytes(inner), [constant("composite/x", SHAPE)]
    assert "Some ops are not accelerated" in compiled.run(model, feeds, cpu="0", env=variables(backend)).error
    compiled.run(model, feeds, env=variables(backend)).check(cpu.run(model, feeds), everything_on_gpu=False)


@on_both
def test_what_the_gpu_leaves_runs_on_the_cpu(compiled, model_path, backend):
    raw = model_path("face_detection_short_range").read_bytes()
    feeds = random_feeds(Interpreter(model_content=raw))
    parts = variables(backend, first_delegate_node_index="9", last_delegate_node_index="40")
    outcome = compiled.run(raw, feeds, env=parts)
    assert {node["on"] for node in outcome.nodes} == {"cpu", "gpu"}
    outcome.check(cpu.run(raw, feeds), 1e-4, everything_on_gpu=False)


def test_a_wrong_option_is_said_and_the_model_stays_on_the_cpu(compiled):
    case = CASES[0]
    outcome = compiled.run(case.model(), case.feeds(), env=variables("vulkan"))
    outcome.check(case.expected(), everything_on_gpu=False)
    assert "nodes" not in outcome.report
    assert "LiteRT's models stay on the CPU: Quadra: option backend=vulkan: the value must be" in compiled.log()


@pytest.mark.parametrize("name", BAD_MODELS)
def test_a_senseless_node_does_no_harm(compiled, name):
    """Without the CPU, whose kernels crash of some: LiteRT refuses the model, and says where Quadra has left a node."""
    outcome = compiled.run(make(name), cpu="0", env=variables("null"))
    assert "litert/" in outcome.error


def test_it_is_thin_and_finds_the_delegate_beside_it(accelerator):
    measured = size.measure(accelerator)
    assert measured.file_bytes < 40_000 and "libquadra.so" in measured.needed
    quadras = ["QuadraAcceleratorDelegate", "QuadraAcceleratorReport"]
    assert measured.exports == ["LiteRtAcceleratorImpl", "LiteRtRegisterGpuAccelerator", *quadras]


# ---- the layouts ----


@pytest.fixture(scope="module")
def probe(tmp_path_factory) -> Path:
    """An accelerator that only says what it sees, by our own declarations; under the name that LiteRT looks for."""
    label = "//tests/native:litert_probe.so"
    place = tmp_path_factory.mktemp("probe") / "libLiteRtGpuAccelerator.so"
    shutil.copy(bazel.build([label])[label][0], place)
    return place


def test_the_stock_runtime_has_the_layout_that_is_declared(probe):
    """2.2.0 has 400 bytes of functions, 2.3.0 416: members are appended."""
    outcome = Compiled(probe)
    try:
        case = CASES[0]
        outcome.run(case.model(), env=variables("null"))
        said = [line for line in outcome.log().splitlines() if line.startswith("probe: ")]
    finally:
        outcome.close()
    facts = json.loads(said[-1].removeprefix("probe: "))
    assert (facts["major"], facts["reserved"]) == (1, 0) and facts["size"] >= 400 and facts["size"] % 8 == 0
    assert facts["minor"] == {400: 0, 408: 1, 416: 2}.get(facts["size"], facts["minor"])
    assert facts["unwrapped"] and facts["has_options"]


_ASK = "import ctypes, sys; ctypes.CDLL(sys.argv[1]).AskAccelerator(*(word.encode() for word in sys.argv[2:]))"


@cache
def stub(version: str) -> Path:
    label = f"//tests/native:litert_stub{version}.so"
    return bazel.build([label])[label][0]


def ask(accelerator: Path, how: str, version: str = "", litert: str = "", ours: str = "") -> str:
    """What a stand-in for a runtime got, and what the accelerator said. version: _older or _newer than 2.1.6. litert and
    ours: the texts of LiteRT's GPU options and of Quadra's."""
    env = {"QUADRA_BACKEND": "null"}
    done = child_process.run(
        [sys.executable, "-c", _ASK, stub(version), accelerator, how, litert, ours], env=env, timeout_s=60
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize("how", ["2.2", "2.1"])
def test_runtimes_of_known_layouts_get_a_delegate(accelerator, how):
    """2.1.6 has tables without a header, and asks a function to register."""
    assert "status 0, a delegate" in ask(accelerator, how)


@pytest.mark.parametrize("how", ["short", "major", "empty", "null"])
def test_tables_of_other_layouts_get_none(accelerator, how):
    """Too short for what is needed, of another major version, without the function, and none."""
    said = ask(accelerator, how)
    assert "status 0, no delegate" in said
    assert "LiteRT's models stay on the CPU: this LiteRT's table of functions has another layout" in said


@pytest.mark.parametrize("version", ["_older", "_newer"])
def test_unknown_runtimes_that_register_by_the_function_are_refused(accelerator, version):
    said = ask(accelerator, "2.1", version)
    assert "status 8, no accelerator" in said and "is for LiteRT 2.1.6, 2.2 and 2.3" in said


# ---- options ----


@pytest.mark.parametrize(
    ("litert", "ours", "precision"),
    [
        ("", "", "f32"),
        ("precision = 0\n", "", "f32"),
        ("precision = 1\n", "", "f16"),
        ("precision = 2\n", "precision = f16", "f16"),
        ("# a comment\n\n \tprecision\t= 3 \r\nno value\n", "", "f32_f16"),
        ("precision = 1\nprecision = 2", "", "f32"),
        ("", 'inference_priority1 = "min_latency"\nprofile = true', "f16"),
        ("", "is_precision_loss_allowed='1'", "f16"),
        ("=\n = \n''\n\"", "", "f32"),
    ],
)
@pytest.mark.parametrize("how", ["2.2", "2.1"])
def test_options_are_lines_of_toml(accelerator, how, litert, ours, precision):
    said = ask(accelerator, how, litert=litert, ours=ours)
    report = json.loads(next(line for line in said.splitlines() if line.startswith("{")))
    assert (report["precision"], "status 0, a delegate" in said) == (precision, True)


@pytest.mark.parametrize(
    ("litert", "ours", "sentence"),
    [
        ("backend = 2", "", "option backend=webgpu: the value must be auto|opencl|gles|null"),
        ("precision = 7", "", "option precision=7: the value must be auto|f32|f32_f16|f16"),
        ("precision = true", "", "option precision=true: the value must be"),
        ("", "colour = 3", "there is no option 'colour'"),
        ("", "profile = 2", "option profile=2: the value must be 0|1"),
        ('serialization_dir = "/x"\nmodel_cache_key = "a/b"', "", "option model_token=a/b: it must have"),
        ("", "dump_tensors = true", "option dump_tensors=1: it needs dump_dir"),
    ],
)
def test_a_wrong_option_is_a_sentence_and_no_delegate(accelerator, litert, ours, sentence):
    said = ask(accelerator, "2.2", litert=litert, ours=ours)
    assert f"quadra: LiteRT's models stay on the CPU: Quadra: {sentence}" in said and "no delegate" in said


# As LiteRT-LM asks for a model of language on a GPU.
LANGUAGE = """enable_constant_tensors_sharing = true
enable_infinite_float_capping = true
allow_src_quantized_fc_conv_ops = true
hint_waiting_for_completion = true
kernel_batch_size = 8
precision = 1
prefer_texture_weights = false
serialize_program_cache = false
external_tensor_patterns = ["kv_cache_", "param_tensor", "logits"]
buffer_storage_tensor_patterns = ["kv_cache_"]
priority = 1
madvise_original_shared_tensors = true
num_steps_of_command_buffer_preparations = 2
hint_fully_delegated_to_single_delegate = true
num_threads_to_upload = 2
convert_weights_on_gpu = true
program_cache_fd = 7
"""


def test_what_an_option_asks_for_and_is_not_done_is_said(accelerator):
    """Hints have no sentence, as other values of the same options have none."""
    said = ask(accelerator, "2.2", litert=LANGUAGE + "colour = 3\n")
    refused = [line.partition("LiteRT's GPU option ")[2] for line in said.splitlines() if "LiteRT's GPU option" in line]
    assert [line.partition(" is not done: ")[0] for line in refused] == [
        "enable_infinite_float_capping = true", "priority = 1", "program_cache_fd = 7", "colour = 3"
    ]  # fmt: skip
    assert refused[0].endswith("infinities stay infinite, also in half precision; finite inputs stay finite")
    assert refused[2].endswith("compiled models are kept in serialization_dir alone, with their weights")
    assert refused[3].endswith("Quadra does not know it")
    assert '"precision": "f16"' in said.replace('":"', '": "')
    quiet = "external_tensors_mode = true\nenable_infinite_float_capping = false\npriority = 0\nprogram_cache_fd = -1\nwait_type = 0\nbenchmark_mode = true"
    assert "is not done" not in ask(accelerator, "2.2", litert=quiet)


@pytest.mark.parametrize(
    ("litert", "kept"),
    [
        ('serialization_dir = "{}"\nmodel_cache_key = "face"', True),
        ('serialization_dir = "{}"\nserialize_program_cache = true', True),
        ('serialization_dir = "{}"\nmodel_cache_key = "face"\nserialize_program_cache = false', False),
        ('model_cache_key = "face"', False),
    ],
)
def test_compiled_models_are_kept_where_litert_says(accelerator, litert, kept, tmp_path):
    """Another option must agree with the folder's being there, so a wrong one tells whether it was taken."""
    said = ask(accelerator, "2.2", litert=litert.format(tmp_path), ours='model_token = "other"')
    assert ("a delegate" in said) is kept and ("option model_token: it needs serialization_dir" in said) is not kept


def test_options_of_the_python_api_arrive(compiled):
    case = CASES[0]
    env = {**variables("opencl"), "QUADRA_PRECISION": "f16"}
    assert compiled.run(case.model(), env=env).report["precision"] == "f16"
    assert compiled.run(case.model(), env=env, gpu_enforce_f32="1").report["precision"] == "f32"
    compiled.run(case.model(), env=env, gpu_infinite_float_capping="1")
    assert "LiteRT's GPU option enable_infinite_float_capping = true is not done" in compiled.log()


def test_the_pages_sample_runs(accelerator, model_path):
    """As it stands there, with the names that it leaves to the reader; the second, of states, is in the wheel's test."""
    sample = re.findall(r"```python\n(.*?)```", (settings.ROOT / "docs" / "compiled_model.md").read_text(), re.DOTALL)
    given = f"folder, path, shape = {str(accelerator.parent)!r}, sys.argv[1], (1, 128, 128, 3)"
    told = "print(outputs[0].read(896 * 16, np.float32).any())"
    script = "\n".join(["import sys", given, sample[0], told])
    done = child_process.run([sys.executable, "-c", script, model_path("face_detection_short_range")], timeout_s=120)
    assert len(sample) == 2 and done.stdout.splitlines()[-1] == "True"
