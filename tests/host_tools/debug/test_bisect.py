"""`inv bisect` names the op that is wrong, says what kind of fault it is, and leaves a model of that op alone which is
wrong, too: with faults planted into drivers, in a model of over a hundred ops, on both backends and on a virtual device."""

import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter

from host_tools.base import child_process, settings, terminal
from host_tools.base.errors import Misuse
from host_tools.debug import wrong_op
from host_tools.places import on_jvm
from host_tools.record import kept_tensors, run_folder, schema
from host_tools.record.run_folder import RunFolder
from host_tools.record.spec import ModelRef, RunSpec
from host_tools.show import bisect_table
from host_tools.tasks import command_line
from host_tools.virtual_device import registry
from tests import android_parts
from tests.faults import compile_egl_faults
from tests.host_tools import run_folders
from tests.host_tools.record import schema_check
from tests.model_builder import Model

SHAPE = (1, 6, 7, 8)
LAYERS = 34
BIAS = 2  # of one convolution: a number that is nowhere else
TARGETS = {"opencl": "mali-g76", "gles": "mali-g76-gles"}  # a program for each kernel: a fault hits one


def large_model(overflow: bool = False) -> bytes:
    """Over a hundred ops: convolutions, additions and pools; an AVERAGE_POOL_2D and a large bias in the middle."""
    chosen = np.random.default_rng(3)
    m = Model()
    x = m.input(SHAPE)
    for layer in range(LAYERS):
        weights = chosen.normal(size=(8, 1, 1, 8)).astype(np.float32) / 4
        bias = chosen.normal(size=8).astype(np.float32)
        if layer == 20:
            bias[3] = BIAS
        y = m.conv2d(
            x, weights * (3e5 if overflow and layer == 25 else 1), bias, activation="RELU6" if layer != 25 else "NONE"
        )
        if layer == 25:
            y = m.max_pool2d(y, (1, 2))
            y = m.conv2d(
                y, np.eye(8, dtype=np.float32).reshape(8, 1, 1, 8) / (3e5 if overflow else 1), np.zeros(8, np.float32)
            )
        x = m.add(x, y)
        x = m.average_pool2d(x, (3, 3)) if layer == 15 else m.max_pool2d(x, (2, 2))
        x = (
            m.conv2d(x, np.eye(8, dtype=np.float32).reshape(8, 1, 1, 8) / 2, np.zeros(8, np.float32))
            if layer % 4 == 3
            else x
        )
    m.output(x)
    return m.bytes()


@pytest.fixture(scope="module")
def drivers(tmp_path_factory):
    """Environment variables that put faulty drivers in the place of this machine's."""
    folder = tmp_path_factory.mktemp("drivers")
    source = settings.ROOT / "tests" / "opencl_slow.c"
    child_process.run(["cc", "-O1", "-shared", "-fPIC", "-o", folder / "opencl.so", source, "-ldl"], timeout_s=60)
    compile_egl_faults(folder / "egl.so")
    return {"QUADRA_OPENCL_LIBRARY": str(folder / "opencl.so"), "QUADRA_EGL_LIBRARY": str(folder / "egl.so")}


@pytest.fixture
def search(tmp_path, monkeypatch, library, drivers):
    """Runs the task; returns its status, what it found, and the folder."""
    monkeypatch.setenv("QUADRA_RUNS_DIR", str(tmp_path / "runs"))
    for name, value in drivers.items():
        monkeypatch.setenv(name, value)

    def run(model: bytes, *words: str):
        path = tmp_path / "model.tflite"
        path.write_bytes(model)
        status = command_line.main(
            ["bisect", str(path), *(words if "--library" in str(words) else [f"--library={library}", *words])]
        )
        folder = next(
            one for one in sorted((tmp_path / "runs").iterdir(), reverse=True) if (one / "bisect.json").exists()
        )
        return status, RunFolder(folder).read(schema.Bisect), RunFolder(folder)

    return run


def cut_out(found: schema.Bisect, folder: RunFolder) -> str:
    """The op named, after a look at what was cut out: it is small, and was seen to be wrong."""
    assert found.reproduced, found
    part = Interpreter(str(folder.path / found.model))
    assert len(part._get_ops_details()) <= 4
    assert (folder.path / wrong_op.INPUTS / "000.npy").exists() and "--inputs" in found.command
    return found.rows[found.row].ops


ON_OPENCL = pytest.mark.parametrize("backend", ["opencl", pytest.param("gles", marks=pytest.mark.slow)])
ON_GLES = pytest.mark.parametrize("backend", [pytest.param("opencl", marks=pytest.mark.slow), "gles"])


@ON_OPENCL
def test_a_model_that_is_right_is_called_right(backend, search):
    status, found, _ = search(large_model(), f"--backend={backend}")
    assert (status, found.kind, found.row) == (0, "none", -1), found.sentence
    assert found.ops > 100 and found.compared == found.ops


@ON_GLES
def test_a_wrong_kernel_is_named(backend, search, monkeypatch):
    monkeypatch.setenv("OPENCL_WRONG", "average_pool2d")
    monkeypatch.setenv("EGL_FAULTS", "wrong_sum=float((y1")
    status, found, folder = search(large_model(), f"--backend={backend}", f"--target={TARGETS[backend]}")
    assert (status, found.kind) == (1, "kernel"), found.sentence
    assert "AVERAGE_POOL_2D" in cut_out(found, folder)
    assert sum(bool(row.problem) for row in found.rows) > 5  # what came after it is off, too, and is not blamed


@ON_OPENCL
def test_a_wrong_constant_is_named(backend, search, monkeypatch):
    monkeypatch.setenv("OPENCL_WRONG_CONSTANT", str(BIAS))
    monkeypatch.setenv("EGL_FAULTS", f"wrong_constant={BIAS}")
    status, found, folder = search(large_model(), f"--backend={backend}", f"--target={TARGETS[backend]}")
    assert (status, found.kind) == (1, "kernel"), found.sentence
    assert "CONV_2D" in cut_out(found, folder)


@ON_GLES
def test_an_overflow_of_half_is_called_one(backend, search):
    words = [f"--backend={backend}", f"--target={TARGETS[backend]}", "--precision=f16"]
    status, found, folder = search(large_model(overflow=True), *words)
    assert (status, found.kind) == (1, "precision"), found.sentence
    assert "65504" in found.sentence
    assert "CONV_2D" in cut_out(found, folder)


def test_nan_of_the_cpu_itself_is_the_models_fault(search):
    m = Model()
    m.output(m.unary("EXP", m.unary("LOG", m.input((1, 2, 2, 4)))))
    status, found, _ = search(m.bytes(), "--backend=opencl", "--seed=1")
    assert (status, found.kind) == (0, "model") and "NaN" in found.sentence, found.sentence


def test_against_another_backend(search, monkeypatch):
    monkeypatch.setenv("EGL_FAULTS", "wrong_sum=float((y1")
    status, found, _ = search(
        large_model(), "--backend=opencl", "--target=mali-g76", "--against=backend=gles,target=mali-g76-gles"
    )
    assert status == 1 and found.against.startswith("backend=gles")
    assert "no op of this run is wrong by itself, but of backend=gles" in found.sentence
    assert "AVERAGE_POOL_2D" in found.sentence


def test_quantised_models_are_compared_on_their_grids(search, model_path):
    status, found, _ = search(model_path("mobilenet_v1_0.25_128_quant").read_bytes(), "--backend=opencl")
    assert found.kind in ("none", "accumulated"), found.sentence
    assert found.compared == found.ops and status == (found.kind != "none")
    assert not any(row.alone_problem for row in found.rows)


@pytest.mark.slow
def test_a_model_that_the_cpu_cannot_run_is_judged_op_by_op(search, model_path):
    status, found, folder = search(model_path("hair_segmentation").read_bytes(), "--backend=opencl")
    assert (status, found.kind) == (0, "none"), found.sentence
    assert not folder.read(schema.CpuTensors).complete
    assert found.ops - 12 < found.compared < found.ops  # all but the custom ops, and what is merged into them


@pytest.mark.parametrize("right", [True, False])
def test_a_run_whose_ops_are_all_right_gets_one_verdict_before_the_tensors_that_are_off(tmp_path, right):
    name = "/".join(["layer"] * 60)
    fields = {
        "dispatch": "4_conv2d",
        "nodes": [1],
        "ops": "CONV_2D",
        "name": name,
        "tensor": 7,
        "compared": True,
        "partition": 0,
    }
    off = {"problem": "is off by 0.018 of its range, the tolerance is 0.01", "alone": 6e-3, "relative": 0.018}
    rows = [schema.BisectRow(**{**fields, **more}) for more in ({}, off, {**off, "alone": None})]
    ours = np.linspace(0, 1, 12, dtype=np.float32)
    folder = run_folders.make(tmp_path, [ours + np.float32(not right)], [ours])
    session = wrong_op._Session(None, print, 0.01)
    kind, sentence = session._accumulated(SimpleNamespace(folder=folder), rows, None, "cpu")
    assert kind == ("none" if right else "accumulated")
    assert sentence.startswith(
        "the outputs are within their tolerances, and each" if right else "each op is right on its"
    )
    assert "(the largest error of one is 0.006, of 4_conv2d)" in sentence and "but no op" not in sentence
    assert "2 tensors are off, first 4_conv2d (CONV_2D, node 1, 'layer" in sentence and len(sentence) < 400
    found = schema.Bisect(tolerance=0.01, ops=3, compared=3, rows=rows, kind=kind, sentence=sentence)
    console = terminal.console()
    with console.capture() as caught:
        bisect_table.show(folder, found, console)
    assert caught.get().count("off, right alone") == 1


def test_words_of_against_are_checked():
    assert wrong_op.parse_against("cpu") == {}
    assert wrong_op.parse_against("backend=gles,precision=f16") == {"backend": "gles", "precision": "f16"}
    with pytest.raises(Misuse, match="'speed' is not one of"):
        wrong_op.parse_against("speed=9")
    with pytest.raises(Misuse, match="with a value"):
        wrong_op.parse_against("backend")


def test_the_command_of_what_was_cut_out_has_the_options_but_no_numbers_of_nodes():
    options = {"backend": "gles", "precision": "f32", "tuning": "fast", "last_delegate_node_index": "7"}
    spec = RunSpec("1", ModelRef("m", "m.tflite", ""), options=options)
    command = wrong_op._command(RunFolder(Path("runs/1")), spec)
    assert command.endswith("--backend gles --precision f32 --options tuning=fast"), command


def test_what_was_cut_out_of_constants_alone_is_run_without_inputs(tmp_path):
    """BATCH_MATMUL of two constants, as quantizers leave it."""
    folder, spec = RunFolder(tmp_path), RunSpec("1", ModelRef("m", "m.tflite", ""))
    run_folder.write_arrays(tmp_path / wrong_op.INPUTS, [])
    assert "--inputs" not in wrong_op._command(folder, spec)
    run_folder.write_arrays(tmp_path / wrong_op.INPUTS, [np.zeros(1, np.float32)])
    assert f"--inputs {tmp_path / wrong_op.INPUTS}" in wrong_op._command(folder, spec)


def test_damaged_copies_are_an_error_message(search):
    _, _, folder = search(large_model(), "--backend=opencl")
    kept_tensors.read(folder)[5].path.write_bytes(b"short")
    with pytest.raises(Misuse, match="its plan says"):
        kept_tensors.read(folder)[5].numbers()


@pytest.mark.slow
def test_on_a_virtual_device(tmp_path, adb, capsys):
    android_parts.need_classes()
    given = os.environ.get("QUADRA_ANDROID_LIBRARY")
    android = on_jvm.Jvm(Path(given) if given else None).delegate()
    path = tmp_path / "model.tflite"
    path.write_bytes(large_model(overflow=True))
    try:
        status = command_line.main(
            ["bisect", str(path), f"--library={android}", "--on=virtual", "--backend=opencl", "--precision=f16"]
        )
        folder = next(
            one for one in sorted((tmp_path / "runs").iterdir(), reverse=True) if (one / "bisect.json").exists()
        )
        found = RunFolder(folder).read(schema.Bisect)
        assert (status, found.kind) == (1, "precision"), found.sentence
        assert "CONV_2D" in cut_out(found, RunFolder(folder)) and "65504" in found.sentence
        assert schema_check.wrong(folder) == []
    finally:
        registry.stop()


@pytest.mark.parametrize(
    "name",
    [
        "movenet_single_pose_lightning_ptq",
        pytest.param("style_transfer_quantized_dynamic", marks=pytest.mark.slow),
    ],
)
def test_rounding_that_tflites_own_kernels_have_too_is_not_blamed(name, search, model_path):
    _, found, _ = search(model_path(name).read_bytes(), "--backend=opencl")
    assert found.kind in ("none", "accumulated") and found.row < 0, found.sentence
