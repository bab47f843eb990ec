"""A model whose weights lie behind its tree is mapped, not read, where only its nodes are judged."""

from __future__ import annotations

from pathlib import Path

from host_tools.places import model_worker, worker
from host_tools.record import run_folder, schema
from host_tools.request import decoder_sizes, from_arguments, make_decoder

_WORDS = (
    "smollm2-135m,layers=1,width=256,heads=4,kv_heads=2,hidden=256,vocabulary=40000,positions=64,prefill=16,weights=f32"
)


def bytes_read() -> int:
    """By system calls of this process."""
    lines = Path("/proc/self/io").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("rchar:"))


def test_support_reads_no_weights(library, tmp_path):
    model = tmp_path / "large.tflite"
    make_decoder.write(decoder_sizes.chosen(_WORDS), model)
    size = model.stat().st_size
    assert size > 40_000_000
    spec = from_arguments.make_spec(str(model), backend="null", peers=())
    folder = tmp_path / "folder"
    folder.mkdir()
    run_folder.write_json(folder / "spec.json", spec.to_json())
    before = bytes_read()
    worker.verdicts(model_worker.Worker(folder, library, tmp_path), 0)
    assert bytes_read() - before < size / 2
    nodes = run_folder.RunFolder(folder).read(schema.Verdicts).nodes
    assert nodes and all(node.on == "gpu" for node in nodes)
