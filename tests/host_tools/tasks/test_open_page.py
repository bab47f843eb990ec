"""`inv report --open` starts Model Explorer with what it needs, or says what is missing."""

import os

import pytest

from host_tools.base import child_process
from host_tools.base.errors import Misuse, ToolMissing
from host_tools.record import run_folder
from host_tools.tasks import open_page
from tests.host_tools import run_folders


def test_it_is_started_with_the_model_and_the_overlays(tmp_path, monkeypatch):
    """The words of ai-edge-model-explorer 0.1.34."""
    folder = run_folders.make(tmp_path / "a")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(ToolMissing, match="pip install ai-edge-model-explorer"):
        open_page.in_model_explorer(folder, [])
    program = tmp_path / "bin" / "model-explorer"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    with pytest.raises(Misuse, match="is not at"):
        open_page.in_model_explorer(folder, [])
    model = tmp_path / "m.tflite"
    model.write_bytes(b"")
    spec = folder.json("spec.json")
    run_folder.write_json(folder.path / "spec.json", {**spec, "model": {**spec["model"], "path": str(model)}})
    handed = []
    monkeypatch.setattr(child_process, "hand_over", lambda argv: handed.extend(map(os.fspath, argv)) or 5)
    assert open_page.in_model_explorer(folder, [tmp_path / "v.json", tmp_path / "t.json"]) == 5
    assert handed == [str(program), f"--node_data_paths={tmp_path}/v.json,{tmp_path}/t.json", str(model)]
