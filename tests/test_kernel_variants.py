"""Convolutions have several texts each: for tiles, strips, windows. Every one that real models run on phones' targets is
one that some vector runs, on the targets that give small cases the tiles of large ones; and every one that they run on
llvmpipe, too, is one that some vector runs there."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest

from host_tools.analyse import guard
from host_tools.base.errors import QuadraError
from host_tools.request import models
from tests.delegate import TARGETS, TOLERANCE, Quadra, options
from tests.vectors import all_cases, depthwise_conv_2d as depthwise
from tests.vectors.batch import batches
from tests.vectors.conv_2d import CUT_ROW, CUT_SMALL, CUTS, SPLIT_BELOW, SPLITS, WINOGRAD

OPS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV")
STRIPS = [case for case in depthwise.CASES if f"_{depthwise.LONG}_wide" in case.name]
PHONES = ("adreno-630-gles", "adreno-740-gles", "mali-g76-gles", "mali-g610-gles")
# What decides llvmpipe's texts (device/quirks.cc).
LLVMPIPE = {"api": "gles", "flat_group": 64, "compiles_at_dispatch": True, "reads_buffers_as_images": True, "max_image_buffer_width": 1 << 27,
            "max_image_units": 32, "max_storage_blocks": 16, "max_output_resources": 48}  # fmt: skip
_KERNEL = re.compile(r"\d+_(?:conv2d|conv2d_split|depthwise_conv2d|winograd_[a-z_]+)\.comp$")
# Results on a quantised tensor's grid differ by one call; test_quantized.py has them.
_GRID = re.compile(r"requantize\((\w+), inverse, scale, low, high\)")
_BODY = re.compile(r"^int (?:global_x|flat_place) = .*?;\n(.*)\Z", re.MULTILINE | re.DOTALL)


def bodies(quadra: Quadra, model: bytes, target: Path, folder: Path) -> dict[str, str]:
    """Bodies of the convolutions' kernels, with the name of one that has it."""
    outcome = quadra.run(model, backend="null", precision="f32", dump_dir=str(folder), target=str(target))
    assert not outcome.error, outcome.error
    found = {}
    for path in folder.glob("partition_*/kernels/*"):
        if _KERNEL.search(path.name):
            body = _BODY.search(path.read_text())
            assert body, path
            found[_GRID.sub(r"bounded(\1, low, high)", body[1])] = path.name
    return found


@pytest.fixture(scope="module")
def of_vectors(quadra, tmp_path_factory):
    """of_vectors(registers): bodies of all vectors, on a target of so many registers that one work-item is enough for, and
    those of vectors with sums that work-items share, with weights that are cut, and that go Winograd's algorithm. Of no
    registers: on llvmpipe's target."""

    @cache
    def made(registers: int) -> set[str]:
        folder = tmp_path_factory.mktemp("vectors")
        tiles = json.loads((TARGETS / "large-tiles-gles.json").read_text()) if registers else LLVMPIPE
        usual = [case for case in all_cases() if case.op in OPS and case.place == "gpu"]
        found: set[str] = set()
        cut = {"max_image_buffer_width": CUT_ROW, "reads_buffers_as_images": True}
        for name, cases, facts in (
            ("usual", usual, {}),
            ("split", SPLITS, {"enough_work_items": SPLIT_BELOW}),
            ("cut", CUTS, cut),
            ("cut-small", CUTS, {**cut, "enough_work_items": CUT_SMALL}),
            ("strips", STRIPS, {"enough_work_items": depthwise.STRIPS_OF_3}),
            ("winograd", WINOGRAD, {"winograd_channels": 1, "winograd_tiles": 1}),
        ):
            target = folder / f"{name}.json"
            target.write_text(json.dumps({**tiles, "vector_registers": registers or 16, **facts}))
            for i, case in enumerate(batches(cases)):
                found.update(bodies(quadra, case.model(), target, folder / f"{name}-{i}"))
        return found

    return made


@pytest.mark.parametrize("device", [*PHONES, "llvmpipe"])
@pytest.mark.parametrize("name", guard.MODELS)
def test_vectors_have_every_text_that_models_have(quadra, of_vectors, tmp_path, name, device):
    try:
        model = models.find(name).path.read_bytes()
    except QuadraError as error:
        pytest.skip(f"{name} is not here: {error}")
    target = TARGETS / f"{device}.json"
    if device == "llvmpipe":
        target = tmp_path / "llvmpipe.json"
        target.write_text(json.dumps(LLVMPIPE))
    found = bodies(quadra, model, target, tmp_path / "dump")
    assert found
    known = of_vectors(0) if device == "llvmpipe" else of_vectors(24) | of_vectors(16)
    assert {body: kernel for body, kernel in found.items() if body not in known} == {}


@pytest.mark.parametrize(("backend", "target"), [("opencl", "large-tiles"), ("gles", "large-tiles-gles")])
def test_strips_of_three_pixels_are_right(quadra, tmp_path, backend, target):
    path = tmp_path / "target.json"
    facts = json.loads((TARGETS / f"{target}.json").read_text())
    path.write_text(json.dumps({**facts, "vector_registers": 16, "enough_work_items": depthwise.STRIPS_OF_3}))
    [case] = batches(STRIPS, most=len(STRIPS))
    dump = tmp_path / "dump"
    how = {**options("", backend, precision="f32"), "target": str(path), "dump_dir": str(dump)}
    case.check(quadra.run(case.model(), case.feeds(), **how), TOLERANCE["f32"])
    texts = [file.read_text() for file in dump.glob("partition_*/kernels/*depthwise*")]
    assert [text for text in texts if "int x = GLOBAL_X * 3;" in text]
