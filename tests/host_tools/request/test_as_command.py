"""The command that a report shows asks for the run that it shows."""

import shlex

import msgspec
import numpy as np
import pytest
from PIL import Image

from host_tools.places import where
from host_tools.record.spec import RunSpec
from host_tools.request import as_command, from_arguments
from host_tools.tasks import command_line, run as run_task
from tests.model_builder import one_convolution
from tests.signature_models import two_signatures

TARGET = min(from_arguments.TARGETS.glob("*.json")).stem


def spec_of(words: list[str], monkeypatch) -> RunSpec:
    """What `inv run` asks for with these words; nothing is run."""
    found = []
    monkeypatch.setattr(where, "parse", lambda *_: [])
    monkeypatch.setattr(run_task, "run", lambda asked, console, wanted: found.extend(asked()[0]))
    with pytest.raises(SystemExit) as ended:
        raise SystemExit(command_line.main(words))
    assert not ended.value.code
    (spec,) = found
    return msgspec.structs.replace(spec, run_id="")


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--backend", "gles", "--precision", "f16", "--runs", "7", "--threads", "2", "--profile", "--cold"],
        ["--range=-0.1,0.7", "--seed", "9", "--timeout", "12", "--peer", "xnnpack,litert-gpu", "--api", "compiled"],
        ["--same", "50"],
        ["--warm-up", "5", "--delay", "16", "--cpus", "0-1"],
        ["--for", "600s"],
        ["--same", "50,10", "--max-error", "0.003"],
        ["--target", TARGET, "--float32-nodes", "1-2", "--options", "tuning=fast,self_check=1"],
        ["--on", "a serial", "--via", "app"],
        ["--on", "jvm", "--peer", ""],
        ["--image", "a picture.png", "--cache", "the cache"],
        ["--inputs", "arrays"],
        ["--driver", "softpipe", "--precision", "f16"],
        ["--signature", "decode", "--size", "picture=1x7x9x6"],
    ],
    ids=" ".join,
)
def test_it_asks_for_the_same_run(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = tmp_path / "a model.tflite"
    model.write_bytes(two_signatures(free=True) if "--signature" in words else one_convolution())
    Image.new("RGB", (4, 4)).save("a picture.png")
    (tmp_path / "arrays").mkdir()
    np.save("arrays/000.npy", np.zeros(1))
    spec = spec_of(["run", str(model), *words], monkeypatch)
    command = shlex.split(as_command.run(spec))
    assert command[0] == "./inv" and "" not in command
    assert spec_of(command[1:], monkeypatch) == spec
    assert len(command) == 3 + sum(word.startswith("--") for word in words), "what is usual is left out"
