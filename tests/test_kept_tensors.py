"""With `dump_tensors`, every tensor that a kernel stores is there as the kernel made it, on both backends, in every storage
and precision; the plan says which of the model's tensors each is, whatever their names; the kernels are the same."""

from __future__ import annotations

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from host_tools.base.errors import Misuse
from host_tools.record import kept_tensors, plan_view, run_folder
from host_tools.record.run_folder import RunFolder
from tests.delegate import TOLERANCE, options
from tests.judge import mismatch
from tests.model_builder import Model

PLACES = [
    ("opencl", "", "f32"),
    ("opencl", "adreno-640", "f16"),  # images
    ("opencl", "mali-g76-buffers", "f32_f16"),
    ("gles", "", "f32"),
    ("gles", "adreno-640-gles", "f16"),
    ("gles", "mali-g76-gles", "f32_f16"),
]

IO = ("copy", "input_", "output_")  # what has memory of its own


def model() -> tuple[bytes, list[np.ndarray]]:
    """Floats and int32; a merged addition, a value that two nodes read."""
    chosen = np.random.default_rng(1)
    m = Model()
    x = m.input((1, 6, 5, 3))
    y = m.conv2d(x, chosen.normal(size=(8, 3, 3, 3)).astype(np.float32), np.zeros(8, np.float32), activation="RELU6")
    z = m.add(y, m.conv2d(y, chosen.normal(size=(8, 1, 1, 8)).astype(np.float32) / 8, np.zeros(8, np.float32)))
    best = {"dtype": "int32"}
    m.output(m.op("ARG_MAX", [z, np.int32(3)], (1, 6, 5), "ArgMaxOptions", 2, OutputType=2, output=best))
    m.output(m.reshape(z, (1, 30, 8)))
    return m.bytes(), [chosen.normal(size=(1, 6, 5, 3)).astype(np.float32)]


def on_cpu(raw: bytes, feeds: list[np.ndarray]) -> Interpreter:
    made = Interpreter(
        model_content=raw,
        experimental_preserve_all_tensors=True,
        experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
    )
    made.allocate_tensors()
    for detail, feed in zip(made.get_input_details(), feeds):
        made.set_tensor(detail["index"], feed)
    made.invoke()
    return made


def kept_by(quadra, folder, raw, feeds, **given) -> list[kept_tensors.Kept]:
    outcome = quadra.run(raw, feeds, **given, dump_dir=str(folder), dump_tensors="1")
    assert not outcome.error and not outcome.on_cpu()
    run_folder.write_json(folder / "verdicts.json", outcome.report)
    return kept_tensors.read(RunFolder(folder))


@pytest.mark.parametrize("backend,target,precision", PLACES, ids=["-".join(place) for place in PLACES])
def test_every_stored_tensor_is_kept_and_is_the_cpus(backend, target, precision, quadra, tmp_path):
    raw, feeds = model()
    kept = kept_by(quadra, tmp_path, raw, feeds, **options(target, backend, precision=precision))
    cpu = on_cpu(raw, feeds)
    assert [one.is_input for one in kept] == [True] + [False] * (len(kept) - 1)
    assert {node for one in kept for node in one.nodes} == {0, 1, 2, 3}  # a last reshape is no kernel
    for one in kept:
        expected = cpu.get_tensor(one.tensor).ravel()
        got = one.numbers()
        assert got.dtype == (np.float32 if expected.dtype.kind == "f" else np.int32)
        if got.dtype == np.float32:
            assert not mismatch(got, expected, TOLERANCE[precision]), one
        elif precision == "f32":
            assert np.array_equal(got, expected), one


@pytest.mark.parametrize("backend", ["opencl", "gles"])
def test_kernels_and_their_memory_are_those_of_the_usual_plan(backend, quadra, tmp_path):
    raw, feeds = model()
    given = options("adreno-640-gles" if backend == "gles" else "adreno-640", backend)
    kept_by(quadra, tmp_path / "kept", raw, feeds, **given)
    quadra.run(raw, feeds, **given, dump_dir=str(tmp_path / "usual"))
    usual, with_copies = (plan_view.read(tmp_path / word / "partition_0" / "plan.quadra") for word in ("usual", "kept"))
    of_kernels = [
        [(t["name"], t["buffer"], t["offset"], t["bytes"]) for t in plan["tensors"] if not t["name"].startswith(IO)]
        for plan in (usual, with_copies)
    ]
    assert of_kernels[0] == of_kernels[1]
    after = {tensor["last_use"] for tensor in with_copies["tensors"] if tensor["copy_of"]}
    # Without the hash of the text: kernels of one text share groups, and copies are more of them.
    entries = [d["entry"].rsplit("_", 1)[0] for i, d in enumerate(with_copies["dispatches"]) if i not in after]
    assert entries == [d["entry"].rsplit("_", 1)[0] for d in usual["dispatches"]]
    assert after and not any(tensor["copy_of"] for tensor in usual["tensors"])


def test_names_that_repeat_confuse_nobody(quadra, tmp_path):
    raw, feeds = model()
    names = {d["name"] for d in on_cpu(raw, feeds).get_tensor_details() if d["name"]}
    for name in names:
        raw = raw.replace(name.encode(), b"x" * len(name.encode()))
    kept = kept_by(quadra, tmp_path, raw, feeds, **options())
    cpu = on_cpu(raw, feeds)
    for one in kept:
        assert not mismatch(one.numbers(), cpu.get_tensor(one.tensor).ravel().astype(one.dtype), 1e-5), one


@pytest.mark.parametrize("backend", ["opencl", "gles"])
def test_quantised_tensors_are_on_their_grids(backend, quadra, tmp_path):
    chosen = np.random.default_rng(2)
    m = Model()
    x = m.input((1, 4, 4, 4), "int8", scale=0.05, zero_point=3)
    grid = {"dtype": "int8", "scale": 0.1, "zero_point": -2}
    y = m.op("ADD", [x, x], x.shape, "AddOptions", 2, output=grid)
    m.output(m.op("RELU", [y], x.shape, "", 2, output=grid))
    raw, feeds = m.bytes(), [chosen.integers(-128, 128, (1, 4, 4, 4)).astype(np.int8)]
    cpu = on_cpu(raw, feeds)
    details = {detail["index"]: detail["quantization"] for detail in cpu.get_tensor_details()}
    kept = kept_by(quadra, tmp_path, raw, feeds, **options(backend=backend))
    assert {node for one in kept for node in one.nodes} >= {0}
    for one in kept:
        expected, (scale, zero) = cpu.get_tensor(one.tensor).ravel().astype(np.float64), details[one.tensor]
        expected = (expected - zero) * scale if one.dtype == np.float32 else expected
        assert np.abs(one.numbers() - expected).max() <= (scale if one.dtype == np.float32 else 1) * 1.001


def test_a_file_of_another_length_is_refused(quadra, tmp_path):
    kept = kept_by(quadra, tmp_path, *model(), **options())
    kept[1].path.write_bytes(kept[1].path.read_bytes()[:-4])
    with pytest.raises(Misuse, match="its plan says"):
        kept[1].numbers()
    kept[2].path.write_bytes(kept[2].path.read_bytes() + b"more")
    with pytest.raises(Misuse, match="at most"):
        kept[2].numbers()


def test_a_run_without_them_says_so(quadra, tmp_path):
    outcome = quadra.run(*model(), **options(), dump_dir=str(tmp_path))
    run_folder.write_json(tmp_path / "verdicts.json", outcome.report)
    with pytest.raises(Misuse, match="kept none"):
        kept_tensors.read(RunFolder(tmp_path))
