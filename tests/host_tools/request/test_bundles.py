"""Models in bundles of LiteRT-LM and MediaPipe, and bundles that are damaged."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Sequence
from pathlib import Path

import flatbuffers
import numpy as np
import pytest

from host_tools.base.errors import Misuse, QuadraError
from host_tools.request import bundles, models
from host_tools.tasks import command_line
from tests.model_builder import Model

MODEL, WEIGHTS, TOKENIZER = 3, 7, 4
BLOCK = 16 * 1024


def model(op: str) -> bytes:
    m = Model()
    m.output(m.unary(op, m.input((1, 4))))
    return m.bytes()


DECODER, EMBEDDER = model("TANH"), model("ABS")


def litertlm(sections: Sequence[tuple[int, bytes, str]], begin: int = 0, end: int = 0) -> bytes:
    """A bundle as litert-lm-builder writes it: kind, bytes and model_type of each section. begin, end: of the last one, instead of
    its own."""
    builder, objects, at = flatbuffers.Builder(0), [], BLOCK
    for number, (kind, content, name) in enumerate(sections):
        is_last = number == len(sections) - 1
        places = (begin if is_last and begin else at), (end if is_last and end else at + len(content))
        objects.append(_section(builder, kind, name, *places))
        at += -(-len(content) // BLOCK) * BLOCK
    builder.StartVector(4, len(objects), 4)
    for one in reversed(objects):
        builder.PrependUOffsetTRelative(one)
    vector = builder.EndVector()
    builder.StartObject(1)
    builder.PrependUOffsetTRelativeSlot(0, vector, 0)
    listed = builder.EndObject()
    builder.StartObject(2)
    builder.PrependUOffsetTRelativeSlot(1, listed, 0)
    builder.Finish(builder.EndObject())
    header = bytes(builder.Output())
    made = bytearray(b"LITERTLM" + struct.pack("<3I", 1, 5, 0)).ljust(24, b"\0")
    made += struct.pack("<Q", 32 + len(header)) + header
    for _, content, _ in sections:
        made = made.ljust(-(-len(made) // BLOCK) * BLOCK, b"\0") + content
    return bytes(made)


def _section(builder: flatbuffers.Builder, kind: int, name: str, begin: int, end: int) -> int:
    text, key = builder.CreateString(name), builder.CreateString("model_type")
    builder.StartObject(1)
    builder.PrependUOffsetTRelativeSlot(0, text, 0)
    value = builder.EndObject()
    builder.StartObject(3)
    builder.PrependUOffsetTRelativeSlot(0, key, 0)
    builder.PrependUint8Slot(1, 9, 0)
    builder.PrependUOffsetTRelativeSlot(2, value, 0)
    item = builder.EndObject()
    builder.StartVector(4, 1, 4)
    builder.PrependUOffsetTRelative(item)
    items = builder.EndVector()
    builder.StartObject(4)
    builder.PrependUOffsetTRelativeSlot(0, items, 0)
    builder.PrependUint64Slot(1, begin, 0)
    builder.PrependUint64Slot(2, end, 0)
    builder.PrependUint8Slot(3, kind, 0)
    return builder.EndObject()


def task(path: Path, members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


@pytest.fixture(autouse=True)
def downloads(tmp_path, monkeypatch):
    monkeypatch.setenv("QUADRA_DOWNLOADS_DIR", str(tmp_path / "downloads"))
    return tmp_path / "downloads"


SECTIONS = [
    (TOKENIZER, b"tokens" * 100, ""),
    (MODEL, EMBEDDER, "tf_lite_embedder"),
    (MODEL, DECODER, "tf_lite_prefill_decode"),
]


def test_the_decoder_is_meant_or_the_part_that_is_named(tmp_path, monkeypatch):
    path = tmp_path / "gemma.litertlm"
    path.write_bytes(litertlm(SECTIONS))
    archive = task(
        tmp_path / "gemma.task", {"TF_LITE_PREFILL_DECODE": DECODER, "TF_LITE_EMBEDDER": EMBEDDER, "META": b"x"}
    )
    for bundle in (path, archive):
        found = models.find(str(bundle))
        assert (found.path.read_bytes(), found.name) == (DECODER, "gemma_prefill_decode")
        assert models.find(f"{bundle}#embedder").path.read_bytes() == EMBEDDER
        with pytest.raises(Misuse, match="its models are .*embedder"):
            models.find(f"{bundle}#vision")
    monkeypatch.setenv("QUADRA_MODELS_DIR", str(tmp_path))
    assert models.find("gemma.litertlm#embedder").path.read_bytes() == EMBEDDER


def test_a_bundles_only_model_needs_no_name(tmp_path):
    single = task(
        tmp_path / "face.task", {"face/face_detector.tflite": DECODER, "labels.txt": b"x"}, zipfile.ZIP_DEFLATED
    )
    assert models.find(str(single)).path.read_bytes() == DECODER
    two = task(tmp_path / "two.task", {"a.tflite": DECODER, "b.tflite": EMBEDDER})
    with pytest.raises(Misuse, match="it has several models: a, b"):
        models.find(str(two))
    with pytest.raises(Misuse, match="no .tflite model"):
        models.find(str(task(tmp_path / "none.task", {"x": b""})))


def test_names_in_a_bundle_lead_nowhere_else(tmp_path, downloads):
    path = task(tmp_path / "a.task", {"../../../escape.tflite": DECODER})
    assert models.find(str(path)).path.is_relative_to(downloads)
    path = tmp_path / "b.litertlm"
    path.write_bytes(litertlm([(MODEL, DECODER, "tf_lite_/../../../x\0y")]))
    assert models.find(str(path)).path.is_relative_to(downloads) and not list(tmp_path.rglob("*escape*.tmp"))


def test_a_model_is_copied_once_and_a_changed_bundle_again(tmp_path):
    path = tmp_path / "gemma.litertlm"
    path.write_bytes(litertlm(SECTIONS))
    first = models.find(str(path)).path
    before = first.stat().st_mtime_ns, first.stat().st_ino
    again = models.find(str(path)).path
    assert again == first and (again.stat().st_mtime_ns, again.stat().st_ino) == before
    path.write_bytes(litertlm([(MODEL, EMBEDDER, "tf_lite_prefill_decode")]))
    assert models.find(str(path)).path.read_bytes() == EMBEDDER


@pytest.mark.parametrize(
    ("places", "said"),
    [((10, 20), "has the bytes 10 to 20"), ((BLOCK, 1 << 40), "to 1099511627776"), ((BLOCK + 9, BLOCK), "to 16384 of"),
     ((1 << 63, (1 << 63) + 8), "9223372036854775808")],
)  # fmt: skip
def test_sections_outside_of_the_file_are_refused(tmp_path, downloads, places, said):
    path = tmp_path / "bad.litertlm"
    path.write_bytes(litertlm([(MODEL, DECODER, "tf_lite_prefill_decode")], *places))
    with pytest.raises(Misuse, match=said):
        models.find(str(path))
    assert not list(downloads.rglob("*.tflite"))


def test_what_is_not_a_bundle_is_said(tmp_path):
    whole = litertlm(SECTIONS)
    for content, said in {
        b"": "does not start",
        b"LITERTLM": "does not start",
        DECODER: "does not start",
        whole[:24] + struct.pack("<Q", 1 << 50) + whole[32:]: "its header ends at byte",
        whole[:32] + b"\xff" * 64 + whole[96:]: "its header is not one",
    }.items():
        path = tmp_path / "x.litertlm"
        path.write_bytes(content)
        with pytest.raises(Misuse, match=said):
            models.find(str(path))
    path = tmp_path / "x.task"
    path.write_bytes(b"no archive")
    with pytest.raises(Misuse, match="no zip archive"):
        models.find(str(path))
    path = tmp_path / "y.litertlm"
    path.write_bytes(litertlm([(WEIGHTS, b"w" * 64, "tf_lite_prefill_decode"), *SECTIONS]))
    with pytest.raises(Misuse, match="sections of their own"):
        models.find(str(path))


def test_a_part_that_says_it_is_huge_is_refused(tmp_path):
    bomb = task(tmp_path / "bomb.task", {"a.tflite": bytes(1 << 26)}, zipfile.ZIP_DEFLATED)
    assert bomb.stat().st_size < 1 << 20
    with pytest.raises(Misuse, match="says that it has 64"):
        models.find(str(bomb))


def test_damaged_bundles_end_in_a_sentence(tmp_path, downloads):
    """Any flipped byte gives a model or an error; nothing else is left in the folder."""
    random = np.random.default_rng(1)
    whole = litertlm(SECTIONS)
    archive = task(
        tmp_path / "good.task", {"TF_LITE_PREFILL_DECODE": DECODER, "b.tflite": EMBEDDER}, zipfile.ZIP_DEFLATED
    )
    header = struct.unpack_from("<Q", whole, 24)[0]
    for content, ending, most in ((whole, "litertlm", header), (archive.read_bytes(), "task", archive.stat().st_size)):
        refused = 0
        for at in random.integers(0, most, 150).tolist():
            changed = bytearray(content)
            changed[at] ^= 1 << int(random.integers(8))
            path = tmp_path / f"x.{ending}"
            path.write_bytes(changed)
            try:
                models.find(str(path))
            except QuadraError as error:
                refused += 1
                assert str(error)
        assert refused > 20
    assert not list(downloads.rglob(".bundle-*"))


def test_inv_support_opens_a_bundle(tmp_path, fake, capsys):
    path = tmp_path / "gemma.litertlm"
    path.write_bytes(litertlm(SECTIONS))
    assert command_line.main(["support", str(path), f"--library={fake}"]) == 0
    assert "gemma_prefill_decode" in capsys.readouterr().out
    assert bundles.is_bundle(path)
