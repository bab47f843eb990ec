"""Inputs of int8 and uint8, which kernels read as bytes: every length, batches, several at once, resizes, starts from the
cache, OpenGL ES with few blocks, and no byte beyond them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from host_tools.places import on_host
from host_tools.record import named_plans
from host_tools.replay import replay_session
from host_tools.replay.replay_session import Asked
from host_tools.request import from_arguments
from tests import cpu
from tests.delegate import TARGETS, options
from tests.model_builder import Model
from tests.runs import BACKENDS
from tests.test_oclgrind import checked
from tests.vectors.case import constant, generator

__all__ = ["checked"]

on_both = pytest.mark.parametrize("backend", BACKENDS)
of_both = pytest.mark.parametrize("dtype", ["int8", "uint8"])
ZERO = {"int8": -7, "uint8": 130}
SCALE = 0.5  # products with it are exact
# Lengths of each remainder by four; batches and rows that begin within a word; the colours of pictures.
SHAPES = [
    (1,),
    (2,),
    (3,),
    (4,),
    (5,),
    (7,),
    (2, 3),
    (3, 5),
    (2, 1, 3, 3),
    (3, 2, 1, 1),
    (2, 3, 2, 7),
    (2, 3, 5, 3),
    (1, 1, 8, 3),
    (1, 1, 9, 3),
]


def dequantized(m: Model, shape, dtype: str):
    x = m.input(shape, dtype=dtype, scale=SCALE, zero_point=ZERO[dtype])
    return m.op("DEQUANTIZE", [x], shape, version=2)


def numbers(shape, dtype: str, name: str = "") -> np.ndarray:
    made = generator(f"bytes/{shape}/{dtype}/{name}").integers(0, 256, shape).astype(np.uint8)
    made.reshape(-1)[[0, -1]] = 0x81, 0xFE
    return made.view(dtype)


def floats(x: np.ndarray) -> np.ndarray:
    return (x.astype(np.float32) - ZERO[x.dtype.name]) * np.float32(SCALE)


def of_all_lengths(only_colours: bool = False) -> tuple[bytes, list[np.ndarray]]:
    """A model that makes floats of an input of each length and type, and its inputs."""
    m, feeds = Model(), []
    for dtype in ("int8", "uint8"):
        for shape in SHAPES:
            if only_colours and shape[-1] != 3:
                continue
            m.output(dequantized(m, shape, dtype))
            feeds.append(numbers(shape, dtype))
    return m.bytes(), feeds


@on_both
@pytest.mark.parametrize("target", ["", "adreno-640", "mali-g76-buffers"])
def test_every_length(quadra, backend, target):
    raw, feeds = of_all_lengths()
    outcome = quadra.run(
        raw,
        feeds,
        **options(target and (target.removesuffix("-buffers") + "-gles" if backend == "gles" else target), backend),
    )
    outcome.check([floats(feed) for feed in feeds], tolerance=0)


@pytest.mark.parametrize("target", ["separate-buffers", "cpu-avx2"])
def test_no_byte_beyond_them_is_read(checked, target):
    """A CPU's kernels read colours sixteen bytes, or floats, at a time."""
    worker, log = checked
    raw, feeds = of_all_lengths(target == "cpu-avx2")
    outcome = worker.run(raw, feeds, **options(target))
    assert not log.news()
    outcome.check([floats(feed) for feed in feeds], tolerance=0)


@pytest.mark.parametrize("shape", [(1, 1, 8, 3), (1, 1, 9, 3), (2, 3, 5, 3)], ids=str)
def test_no_float_beyond_a_pictures_is_read(checked, shape):
    worker, log = checked
    m = Model()
    m.output(m.unary("ABS", m.input(shape)))
    feeds = [constant(f"bytes/{shape}", shape)]
    outcome = worker.run(m.bytes(), feeds, **options("cpu-avx2"))
    assert not log.news()
    outcome.check([np.abs(feeds[0])], tolerance=0)


@on_both
def test_readers_of_one_input(quadra, backend):
    """As floats and as integers."""
    m = Model()
    shape = (2, 3, 5, 3)
    x = m.input(shape, dtype="uint8", scale=SCALE, zero_point=ZERO["uint8"])
    y = m.op("DEQUANTIZE", [x], shape, version=2)
    rows = m.op("GATHER", [x, np.int32([2, 0])], (2, 2, 5, 3), "GatherOptions", 2, Axis=1,
                output={"dtype": "uint8", "scale": SCALE, "zero_point": ZERO["uint8"]})  # fmt: skip
    m.output(y, rows)
    feeds = [numbers(shape, "uint8")]
    outcome = quadra.run(m.bytes(), feeds, **options(backend=backend))
    outcome.check(cpu.run(m.bytes(), feeds), tolerance=0)


@on_both
@of_both
def test_numbers_without_a_scale(quadra, backend, dtype):
    m = Model()
    x = m.input((3, 5), dtype=dtype)
    m.output(m.op("CAST", [x], (3, 5), "CastOptions", output={"dtype": "float32"}))
    feeds = [numbers((3, 5), dtype)]
    outcome = quadra.run(m.bytes(), feeds, **options(backend=backend))
    outcome.check([feeds[0].astype(np.float32)], tolerance=0)


@on_both
@of_both
def test_resized_inputs(quadra, backend, dtype):
    m = Model()
    m.output(dequantized(m, (1, 3, 3, 3), dtype))
    rounds = [
        [numbers(shape, dtype)] for shape in [(1, 3, 3, 3), (1, 1, 1, 3), (2, 3, 5, 3), (1, 7, 9, 3), (1, 3, 3, 3)]
    ]
    outcome = quadra.run(m.bytes(), *rounds, **options(backend=backend))
    assert not outcome.error and not outcome.on_cpu()
    for [got], [fed] in zip(outcome.outputs, rounds, strict=True):
        assert np.array_equal(got, floats(fed))


@on_both
def test_a_start_from_the_cache(quadra, backend, tmp_path):
    raw, feeds = of_all_lengths()
    for word in ("miss", "hit"):
        outcome = quadra.run(raw, feeds, serialization_dir=str(tmp_path), **options(backend=backend))
        outcome.check([floats(feed) for feed in feeds], tolerance=0)
        assert outcome.report["partitions"][0]["cache"].startswith(word)


def test_opengl_es_reads_rows_of_texels(quadra, tmp_path):
    target = tmp_path / "target.json"
    rows = {"max_image_buffer_width": 65536, "reads_buffers_as_images": True, "extensions": ["GL_EXT_texture_buffer"]}
    plain = json.loads((TARGETS / "generic-gles.json").read_text())
    target.write_text(json.dumps({**plain, **rows}))
    raw, feeds = of_all_lengths()
    outcome = quadra.run(raw, feeds, **{**options(backend="gles"), "target": str(target), "dump_dir": str(tmp_path)})
    outcome.check([floats(feed) for feed in feeds], tolerance=0)
    assert "iimageBuffer" in "".join(path.read_text() for path in tmp_path.rglob("*.comp"))


@on_both
@pytest.mark.parametrize("precision", ["f32", "f32_f16", "f16"])
def test_bytes_are_whole_in_half(quadra, backend, precision):
    """A picture's numbers, divided by a power of two."""
    raw, feeds = of_all_lengths()
    outcome = quadra.run(raw, feeds, **options(backend=backend, precision=precision))
    outcome.check([floats(feed) for feed in feeds], tolerance=0)


@on_both
def test_a_replay_gets_them_as_the_run_had_them(library, tmp_path, monkeypatch, backend):
    """By their names in the model, also where every part of a buffer is one of its own."""
    monkeypatch.setenv("QUADRA_RUNS_DIR", str(tmp_path / "runs"))
    m = Model()
    m.output(dequantized(m, (2, 3, 5, 3), "uint8"), dequantized(m, (1, 5), "int8"))
    (tmp_path / "bytes.tflite").write_bytes(m.bytes())
    given = {"backend": backend, "repetitions": 1, "peers": (), "options": "small_partitions_allowed=1"}
    folder = on_host.Host(library).run(from_arguments.make_spec(str(tmp_path / "bytes.tflite"), **given))
    for simulated in (False, True)[: 1 + (backend == "opencl")]:
        [outcome] = replay_session.replay(
            named_plans.find(str(folder.path)), Asked(oclgrind=simulated), lambda stage: None
        )
        assert outcome.ok and len(outcome.outputs) == 2
        assert all(row.against == "the run" and row.error.different == 0 for row in outcome.outputs)
