"""`inv analyse`: from a model or a plan to a table and a file of figures; every kernel that fails has its row."""

import json
from pathlib import Path

import numpy as np
import pytest

from host_tools.analyse import compilers, figures, phone_compilers
from host_tools.analyse.compilers import Said
from host_tools.analyse.phone_gpus import GPUS
from host_tools.base import terminal
from host_tools.tasks import analyse, command_line
from tests.host_tools.analyse.test_analyse_for_real import REAL, plan
from tests.host_tools.record import plans
from tests.model_builder import Model

_WORDS = (Path(__file__).parents[1] / "analyse" / "recorded" / "adreno.txt").read_text()
ADRENO = GPUS[0]
ADRENO_IS_HERE = phone_compilers.installed(ADRENO.vendor) is not None


@pytest.fixture
def says(monkeypatch):
    """Lets the compiler say something of each text."""

    def it(*said):
        monkeypatch.setattr(compilers, "ask", lambda gpu, api, texts, show: ("26.1", list(said)))

    return it


def of(*made, own=0):
    return figures.of(ADRENO, list(made) or [plan()], own, lambda line: None)


def shown(found, capsys):
    analyse.show([found], terminal.console(), 20)
    return " ".join(capsys.readouterr().out.split())


def test_work_is_multiplied_by_trips_and_work_items(says, capsys):
    says(Said("ok", _WORDS))
    found = of(own=5880)
    assert found.work("slots") == 21 * 18 + 21 * 5 * 5 + 21 * 5 * 7 * 51
    assert found.is_complete and found.work("reads") == 21 * 5 * 7 * 2
    text = shown(found, capsys)
    assert "k_1 1 73 5 16/16 0:0 2 0.0 100.0%" in text and "no times" in text and "≥" not in text


def test_the_share_of_the_products_in_half_is_said_in_half_precision_alone(says, capsys):
    says(Said("ok", _WORDS))
    found = of()
    assert "in half" not in shown(found, capsys)
    found.precision = "f16"
    found.kernels[0].dispatches[0].work.update(products=400, half_products=292)
    assert "% of the products in half" in shown(found, capsys)


def test_loops_of_unknown_trips_count_once_and_are_marked(says, capsys):
    says(Said("ok", _WORDS))
    source = plan().programs[0].kernels[0].source.replace("i < n; ++i", "i != n; ++i")
    found = of(plan(source))
    assert found.work("slots") == 21 * 18 + 21 * 5 * (5 + 51) and not found.is_complete
    assert "≥ 0 M issue slots" in shown(found, capsys)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (Said("the compiler ended with status -6", ""), "status -6"),
        (Said("compile", "log: 0:1 no such thing"), "does not compile: 0:1 no such thing"),
        (Said("link", ""), "does not link: no reason is given"),
        (Said("ok", "words of another version"), figures.NOT_READ),
    ],
)
def test_a_kernel_without_machine_code_is_a_row_with_the_reason(says, said, reason, capsys):
    says(said)
    found = of()
    assert reason in shown(found, capsys) and not found.is_complete
    assert figures.to_json(found)["kernels"][0]["failure"] == found.kernels[0].failure
    assert [(one.items, one.is_complete) for one in found.kernels[0].dispatches] == [(21, False)]


def test_dispatches_of_one_text_are_one_kernel(says):
    says(Said("ok", _WORDS))
    found = of(plan(), plan())
    assert [len(kernel.dispatches) for kernel in found.kernels] == [2]


def test_the_file_of_figures(says, tmp_path):
    says(Said("ok", _WORDS))
    analyse.write_json([of(own=9)], tmp_path / "f.json")
    (one,) = json.loads((tmp_path / "f.json").read_text())
    assert (one["gpu"], one["compiler"], one["model_multiply_adds"]) == (ADRENO.name, "Mesa 26.1", 9)
    (kernel,) = one["kernels"]
    (row,) = kernel["dispatches"]
    assert (row["name"], row["work_items"], row["slots"]) == ("000_k", 21, one["executed"]["slots"])
    assert kernel["registers"] == 5 and kernel["loops"] == 2


@pytest.mark.parametrize(
    ("nodes", "own"),
    [
        ([("CONV_2D", 100)] * 3 + [("CONV_2D", 40)], 20),
        ([("CONV_2D", 0)] * 3 + [("RELU", 0)], 0),
        ([("CONV_2D", 100)] * 3, 0),  # of another model: the plan runs node 3
        ([], 0),
    ],
)
def test_the_models_arithmetic_is_that_of_the_nodes_that_run(nodes, own):
    assert analyse._multiply_adds(analyse.Question([plan()], nodes)) == own


def test_a_models_arithmetic_is_not_known_where_its_file_lacks_a_shape():
    both = plan()
    both.dispatches[0].nodes = [0, 1]
    for op, own in (("CONV_2D", 0), ("RELU", 50)):
        assert analyse._multiply_adds(analyse.Question([both], [("CONV_2D", 100), (op, 0)])) == own


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["analyse"], "no model, run or plan is given"),
        (["analyse", "latest", "--gpu", "adreno-1"], "'adreno-1' is not one of adreno-630"),
        (["analyse", "latest", "--gpu", "adreno-630"], "analyse --install"),
        (["analyse", "latest"], "analyse --install"),
        (["analyse", "m.tflite", "--peer", "shipped-gles"], "analyse --install"),
        (["analyse", "latest", "--peer", "shipped-gles"], "'latest' is not a model"),
        (["analyse", "m.tflite", "--peer", "shipped-opencl"], "analyse --install"),
        (["analyse", "m.tflite", "--peer", "ml-drift"], "analyse --install"),
        (["analyse", "m.tflite", "--peer", "ml-drift", "--backend", "gles"], "--peer shipped-gles"),
        (["analyse", "m.tflite", "--peer", "xnnpack"], "'xnnpack' is not one of shipped-gles, shipped-opencl"),
        (["analyse", "m.tflite", "--peer", "shipped-gles", "--backend", "opencl"], "next: --peer shipped-opencl"),
        (["analyse", "m.tflite", "--peer", "shipped-opencl", "--backend", "gles"], "next: --peer shipped-gles"),
    ],
)
def test_what_cannot_be_done_is_told(words, sentence, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("QUADRA_TOOLS_DIR", str(tmp_path))
    assert command_line.main(words) in (2, 73)
    assert sentence in capsys.readouterr().err


def test_a_missing_compiler_of_opencl_is_said_with_what_brings_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(phone_compilers, "installed", lambda row: None if row == "mali-opencl" else object())
    file = plans.write(plans.PLAN, tmp_path / "plan.quadra")
    for words in ([str(file)], ["m.tflite", "--backend", "opencl"], ["m.tflite", "--peer", "shipped-opencl"]):
        assert command_line.main(["analyse", *words, "--gpu", "mali-g610"]) == 73
        said = capsys.readouterr().err
        assert "compiler for Mali GPUs about OpenCL" in said and "analyse --install --backend opencl" in said


def test_a_missing_compiler_of_vulkan_is_said_with_what_brings_it(monkeypatch, capsys):
    monkeypatch.setattr(phone_compilers, "installed", lambda row: None if row.endswith("vulkan") else object())
    monkeypatch.setattr(phone_compilers, "_with_opencl", lambda found: found)
    for gpu in ("adreno-740", "mali-g610"):
        assert command_line.main(["analyse", "m.tflite", "--peer", "ml-drift", "--gpu", gpu]) == 73
        said = capsys.readouterr().err
        assert "about Vulkan" in said and "analyse --install --peer ml-drift" in said


def test_opencls_compilers_are_fetched_where_they_are_asked_for(monkeypatch):
    fetched = []
    monkeypatch.setattr(analyse.mesa_packages, "install", lambda vendors: fetched.extend(vendors) or [])
    monkeypatch.setattr(analyse.drivers, "fetch", lambda rows: fetched.extend(row.name for row in rows))
    for words, brought in (
        (["--gpu", "adreno-740"], ["adreno"]),
        (["--gpu", "mali-g76"], ["mali"]),
        (["--gpu", "mali-g76", "--backend", "opencl"], ["mali-opencl"]),
        (["--backend", "opencl"], ["adreno", "mali-opencl", "rusticl-26"]),
        (["--peer", "ml-drift", "--gpu", "adreno-740"], ["angle", "adreno-vulkan"]),
    ):
        fetched.clear()
        assert command_line.main(["analyse", "--install", *words]) == 0 and fetched == brought


def test_an_unknown_backend_is_refused(capsys):
    assert command_line.main(["analyse", "m.tflite", "--backend", "auto"]) == 2
    assert "'auto' is not one of gles, opencl" in capsys.readouterr().err


def test_a_models_convolution_and_a_plan_of_it(library, tmp_path, monkeypatch, capsys):
    """16 × 16 places, 8 channels to 8: every multiply-add of the model, in tiles without a rest."""
    if not ADRENO_IS_HERE:
        pytest.skip(f"the compiler for Adreno is not installed: {phone_compilers.INSTALL}")
    monkeypatch.setenv("QUADRA_TOOLS_DIR", str(REAL))
    model = Model()
    x = model.input((1, 16, 16, 8))
    model.output(model.conv2d(x, np.ones((8, 1, 1, 8), np.float32), np.zeros(8, np.float32)))
    path, figures_file = tmp_path / "m.tflite", tmp_path / "f.json"
    path.write_bytes(model.bytes())
    words = ["--gpu", "adreno-630,adreno-740", "--library", str(library), "--json", str(figures_file)]
    assert command_line.main(["analyse", str(path), *words]) == 0
    assert "conv2d" in capsys.readouterr().out
    for one in json.loads(figures_file.read_text()):
        assert one["complete"] and one["target"] == f"{one['gpu']}-gles"
        assert one["model_multiply_adds"] == one["executed"]["multiply_adds"] == 16 * 16 * 8 * 8
    opencl = command_line.main(["analyse", str(path), *words, "--backend", "opencl"])
    if opencl == 0:  # else Rusticl is not installed
        assert "adreno-740, OpenCL, f32" in capsys.readouterr().out
        for one in json.loads(figures_file.read_text()):
            assert one["complete"] and (one["api"], one["target"]) == ("opencl", one["gpu"])
            assert one["model_multiply_adds"] == one["executed"]["multiply_adds"]
    else:
        assert opencl == 73 and "drivers --fetch rusticl-26" in capsys.readouterr().err
    plan_file = tmp_path / "p.quadra"
    to = ["--target", "adreno-740-gles", "--out", str(plan_file), "--library", str(library)]
    assert command_line.main(["plan", "make", str(path), *to]) == 0
    assert command_line.main(["analyse", str(plan_file), *words[:2], "--json", str(figures_file)]) == 0
    assert [one["target"] for one in json.loads(figures_file.read_text())] == ["adreno-740-gles"] * 2
