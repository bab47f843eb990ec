"""The options that TFLite's GPU delegate has, too: what each decides, seen in the verdicts or the plan; and its C names."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from host_tools.base import child_process, settings
from tests import cpu
from tests.delegate import environment
from tests.host_tools.test_options_doc import table
from tests.model_builder import Model
from tests.vectors.case import constant

IMAGE = (1, 32, 32, 32)
WEIGHTS = constant("options/w", (32, 3, 3, 32), -0.1, 0.1)
BIAS = constant("options/b", (32,))
NULL = {"backend": "null"}


def cut_model() -> bytes:
    """CONV_2D x 4 | a node of the CPU | TANH, ABS: the last partition is not worth its way."""
    m = Model()
    y = m.input(IMAGE)
    for _ in range(4):
        y = m.conv2d(y, WEIGHTS, BIAS)
    y = m.left_to_cpu(m.mean(y, (1, 2)))
    m.output(m.unary("ABS", m.unary("TANH", y)))
    return m.bytes()


def several_pieces() -> bytes:
    """Two partitions that are worth their way, behind each other."""
    m = Model()
    y = m.conv2d(m.input(IMAGE), WEIGHTS, BIAS)
    m.output(m.conv2d(m.left_to_cpu(y), WEIGHTS, BIAS))
    return m.bytes()


def quantised_model() -> bytes:
    m = Model()
    x = m.input((1, 5, 6, 3), dtype="int8", scale=1 / 64, zero_point=0)
    m.output(m.op("TANH", [x], x.shape, version=2, output={"dtype": "int8", "scale": 1 / 128, "zero_point": 0}))
    return m.bytes()


def places(outcome) -> str:
    assert not outcome.error, outcome.error
    return "".join(node["on"][0] for node in outcome.nodes)


PRIORITIES = [
    ("f32", {}),
    ("f32", {"inference_priority1": "max_precision", "inference_priority2": "min_latency"}),
    ("f32_f16", {"inference_priority1": "min_latency", "inference_priority2": "max_precision"}),
    ("f32_f16", {"inference_priority1": "min_memory_usage"}),
    ("f16", {"inference_priority1": "min_latency"}),
    ("f16", {"inference_priority1": "min_memory_usage", "inference_priority2": "min_latency"}),
    ("f16", {"inference_priority1": "2", "inference_priority2": "3", "inference_priority3": "1"}),
    ("f16", {"is_precision_loss_allowed": "1"}),
    ("f32", {"is_precision_loss_allowed": "0", "inference_priority1": "min_latency"}),
    ("f32", {"precision": "f32", "inference_priority1": "min_latency", "is_precision_loss_allowed": "1"}),
    ("f32", {"inference_preference": "sustained_speed"}),
    ("f32", {"inference_preference": "1"}),
]


@pytest.mark.parametrize(("precision", "given"), PRIORITIES, ids=str)
def test_priorities_decide_the_precision(quadra, precision, given):
    outcome = quadra.run(cut_model(), **NULL, **given)
    assert not outcome.error and outcome.report["precision"] == precision


WRONG = [
    ("inference_priority1", {"inference_priority1": "auto"}),
    ("inference_priority2", {"inference_priority2": "max_precision"}),
    ("inference_priority3", {"inference_priority3": "min_latency"}),
    ("inference_priority1", {"inference_priority1": "4"}),
    ("inference_priority1", {"inference_priority1": "fast"}),
    ("inference_preference", {"inference_preference": "3"}),
    ("is_precision_loss_allowed", {"is_precision_loss_allowed": "2"}),
    ("min_nodes_per_partition", {"min_nodes_per_partition": "-1"}),
    ("small_partitions_allowed", {"small_partitions_allowed": "yes"}),
    ("first_delegate_node_index", {"first_delegate_node_index": "5", "last_delegate_node_index": "4"}),
    ("model_token", {"model_token": "a"}),
    ("dump_tensors", {"dump_tensors": "1"}),
    ("model_token", {"serialization_dir": "/somewhere", "model_token": "../a"}),
    ("model_token", {"serialization_dir": "/somewhere", "model_token": "a" * 129}),
    ("experimental_flags", {"experimental_flags": "6"}),
    *[("float32_nodes", {"float32_nodes": words}) for words in ("a", "3-", "7-3", "1,", "1 2", "-1")],
    ("experimental_flags", {"experimental_flags": "16"}),
]


@pytest.mark.parametrize(("named", "given"), WRONG, ids=lambda value: str(value)[:60])
def test_a_wrong_value_is_named(quadra, named, given):
    error = quadra.run(cut_model(), **NULL, **given).error
    assert error.startswith("ValueError") and f"option {named}" in error, error


def bad_values() -> list[tuple[str, str]]:
    """Of each option whose values are words, numbers or flags, by its table."""
    found = []
    for name, kind, _, values, _ in table():
        if kind == "Text":
            continue
        words = ["", "wrong", "-7", "1.5", "0x1", " 1", "99999999999999999999"]
        if kind == "Word":
            words.append(str(values.count("|") + 1))
        elif kind == "Flag":
            words.append("2")
        found += [(name, word) for word in words]
    return found


def test_every_bad_value_of_every_option_is_a_sentence(quadra):
    values = {name: values for name, _, _, values, _ in table()}
    for name, word in bad_values():
        error = quadra.run(cut_model(), **{**NULL, name: word}).error
        assert f"option {name}={word}: the value must be {values[name]}" in error, (name, word, error)


def test_a_small_partition_stays_on_the_cpu_with_the_estimate(quadra):
    feeds = [constant("options/x", IMAGE)]
    outcome = quadra.run(cut_model(), feeds, backend="opencl")
    outcome.check(cpu.run(cut_model(), feeds), everything_on_gpu=False)
    assert places(outcome) == "ggggg" + "ccc"
    reason = outcome.nodes[-1]["reason"]
    assert "too small" in reason and " us " in reason and "small_partitions_allowed=1" in reason
    assert places(quadra.run(cut_model(), **NULL, small_partitions_allowed="1")) == "ggggg" + "cgg"


def test_of_small_partitions_one_stays(quadra):
    m = Model()
    y = m.unary("TANH", m.input((1, 4, 4, 8)))
    for _ in range(3):
        y = m.unary("ABS", m.unary("TANH", m.left_to_cpu(y)))
    m.output(y)
    outcome = quadra.run(m.bytes(), **NULL)
    assert places(outcome).count("g") == 2 and len(outcome.report["partitions"]) == 1
    whole = Model()
    whole.output(whole.unary("TANH", whole.input((1, 1))))
    assert places(quadra.run(whole.bytes(), **NULL)) == "g"


def test_a_lone_node_of_a_model_that_stays_on_the_cpu_stays_there_too(quadra):
    m = Model()
    y = m.reshape(m.input((1, 4, 4, 8)), (1, 128, 1, 1))
    for _ in range(20):
        y = m.left_to_cpu(y)
    m.output(y)
    outcome = quadra.run(m.bytes(), **NULL)
    assert places(outcome) == "c" * 21 and "too small" in outcome.nodes[0]["reason"]


def test_a_large_second_partition_stays(quadra):
    m = Model()
    y = m.conv2d(m.input(IMAGE), WEIGHTS, BIAS)
    for _ in range(2):
        y = m.conv2d(m.left_to_cpu(y), WEIGHTS, BIAS)
    m.output(y)
    assert places(quadra.run(m.bytes(), **NULL)) == "gcgcg"


def test_partitions_of_few_nodes_stay_on_the_cpu(quadra):
    given = {**NULL, "small_partitions_allowed": "1"}
    outcome = quadra.run(cut_model(), **given, min_nodes_per_partition="3")
    assert places(outcome) == "ggggg" + "ccc" and "min_nodes_per_partition is 3" in outcome.nodes[-1]["reason"]
    assert places(quadra.run(cut_model(), **given, min_nodes_per_partition="2")) == "ggggg" + "cgg"
    assert places(quadra.run(cut_model(), **given, min_nodes_per_partition="6")) == "c" * 8


def test_only_the_nodes_asked_for_run_on_the_gpu(quadra):
    given = {**NULL, "small_partitions_allowed": "1"}
    outcome = quadra.run(cut_model(), **given, first_delegate_node_index="1", last_delegate_node_index="2")
    assert places(outcome) == "cggccccc" and "only the nodes 1 to 2" in outcome.nodes[0]["reason"]


def test_the_flags_of_the_public_delegate(quadra):
    assert quadra.run(cut_model(), experimental_flags="2").report["backend"] == "opencl"
    assert quadra.run(cut_model(), experimental_flags="5").report["backend"] == "gles"


def test_a_serialization_folder_and_its_token_are_taken(quadra, tmp_path):
    outcome = quadra.run(cut_model(), **NULL, serialization_dir=str(tmp_path), model_token="model-1")
    assert places(outcome).startswith("g")


# ---- the C names of TFLite's GPU delegate ----

SCRIPT = """
import ctypes, json, os, sys
from ai_edge_litert.interpreter import Interpreter

class Made:
    def __init__(self, pointer): self.pointer = pointer
    def _get_native_delegate_pointer(self): return self.pointer

library, snippets, words, model, folder = sys.argv[1:]
os.environ["SNIPPETS_DIR"] = folder
quadra = ctypes.CDLL(library, ctypes.RTLD_GLOBAL)
code = ctypes.CDLL(snippets)
quadra.QuadraDelegateReport.restype = ctypes.c_size_t
told = []
for word in words.split():
    make = getattr(code, word)
    make.restype = ctypes.c_void_p
    pointer = make()
    if not pointer:
        told.append(None)
        continue
    interpreter = Interpreter(model_path=model, experimental_delegates=[Made(pointer)])
    buffer = ctypes.create_string_buffer(quadra.QuadraDelegateReport(ctypes.c_void_p(pointer), None, 0))
    quadra.QuadraDelegateReport(ctypes.c_void_p(pointer), buffer, len(buffer))
    code.Heard.restype = ctypes.c_char_p
    told.append({**json.loads(buffer.value), "heard": code.Heard().decode(), "folder": folder})
    del interpreter
    code.Forget(ctypes.c_void_p(pointer))
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def snippets(tmp_path_factory):
    """tests/drop_in.cc: what public documentation shows, in C++."""
    made = tmp_path_factory.mktemp("snippets") / "snippets.so"
    folder = settings.ROOT / "delegate_native" / "delegate" / "drop_in"
    argv = ["g++", "-std=c++17", "-shared", "-fPIC", "-Wall", "-Werror", f"-I{folder}", f"-I{settings.ROOT}"]
    child_process.run([*argv, "-o", made, settings.ROOT / "tests" / "drop_in.cc"], timeout_s=60)
    return made


@pytest.fixture(scope="module")
def drop_in(library, snippets, tmp_path_factory):
    """drop_in("Word …"): the report of each of the snippets' delegates on the cut model; None where none was made."""
    folder = tmp_path_factory.mktemp("drop_in")

    def run(words: str, model: bytes = cut_model()) -> list[dict | None]:
        (folder / "model.tflite").write_bytes(model)
        argv = [sys.executable, "-c", SCRIPT, library, snippets, words, folder / "model.tflite", folder]
        done = child_process.run(argv, env=environment(library), timeout_s=120)
        return json.loads(done.stdout.splitlines()[-1])

    return run


def test_code_for_the_public_delegate_runs_unchanged(drop_in):
    default, fast, gles, *wrong = drop_in("Default Fast OnlyOpenGl Wrong BothApis SamePriorities")
    assert default["precision"] == "f32" and [n["on"] for n in default["nodes"]] == ["gpu"] * 5 + ["cpu"] * 3
    assert fast["precision"] == "f16"
    assert gles["backend"] == "gles"
    assert wrong == [None] * 3


def test_the_public_options_decide_what_their_documentation_says(drop_in, tmp_path):
    exact, by_three, many = drop_in("Exact ByThreePriorities ManyPartitions", several_pieces())
    assert exact["precision"] == "f32" and by_three["precision"] == "f32_f16"
    assert [len(report["partitions"]) for report in (exact, many)] == [1, 2]
    assert "max_delegated_partitions" in exact["nodes"][-1]["reason"]
    default, without = drop_in("Default WithoutQuantized", quantised_model())
    assert [node["on"] for node in default["nodes"]] == ["gpu"] and [node["on"] for node in without["nodes"]] == ["cpu"]
    assert "quantized_models_allowed is 0" in without["nodes"][0]["reason"]


def test_serialization_of_the_public_options_keeps_files_with_the_token(drop_in):
    [report] = drop_in("Fast")
    assert any(path.name.startswith("cut_model_") for path in Path(report["folder"]).iterdir())


def test_every_field_of_the_c_struct_is_read_and_named(library, snippets):
    """Paths and names are looked at when there is a model."""
    script = """
import ctypes, sys
ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)
fields = ctypes.CDLL(sys.argv[2]).FieldsThatTakeAll
fields.restype = ctypes.c_char_p
print(fields().decode())
"""
    done = child_process.run([sys.executable, "-c", script, library, snippets], env=environment(library), timeout_s=60)
    texts = ["target", "dump_dir", "opencl_library", "egl_library", "serialization_dir", "states"]
    assert done.stdout.splitlines()[-1].split() == texts


def test_a_callback_gets_every_verdict(drop_in):
    (report,) = drop_in("Listening")
    heard = [line.split("|") for line in report["heard"].splitlines()]
    assert heard == [
        [str(n["subgraph"]), str(n["index"]), n["op"], n["on"], str(n["partition"]), n["reason"]]
        for n in report["nodes"]
    ]
