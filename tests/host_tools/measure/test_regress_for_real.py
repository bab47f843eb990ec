"""`inv regress` with the real delegate on this machine: a kernel that is slower, and one that is wrong, planted in the
OpenCL library. Takes half a minute where the machine is not busy."""

import json

import pytest

from host_tools.base import child_process, settings
from host_tools.drivers import gpus
from host_tools.tasks import command_line

pytestmark = pytest.mark.slow
SOURCE = settings.ROOT / "tests" / "opencl_slow.c"


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    if gpus.opencl()[0].get("error"):
        pytest.skip(f"there is no OpenCL here: {gpus.opencl()[0]['error']}")
    made = tmp_path_factory.mktemp("opencl") / "libOpenCL_slow.so"
    child_process.run(["cc", "-O1", "-shared", "-fPIC", "-o", made, SOURCE, "-ldl"], timeout_s=60)
    return made


def regress(suite, library, *words):
    status = command_line.main(["regress", str(suite), f"--library={library}", *words])
    folder = sorted(settings.read().runs_dir.glob("regress-*"))[-1]
    return status, json.loads((folder / "regress.json").read_text(encoding="utf-8"))["cells"]


def test_what_is_slower_and_what_is_wrong_is_found(tmp_path, monkeypatch, library, model_path, planted):
    model = model_path("face_detection_short_range")
    suite = tmp_path / "suite.toml"
    cells = f'[[cells]]\nmodels = ["{model}"]\nbackends = ["opencl"]\n'
    suite.write_text(f"launches = 5\nmore = 5\nprofile = false\n{cells}")
    monkeypatch.setenv("QUADRA_RUNS_DIR", str(tmp_path / "runs"))
    monkeypatch.setenv("QUADRA_HISTORY", str(tmp_path / "history.sqlite"))
    assert regress(suite, library, "--save=good")[0] == 0
    monkeypatch.setenv("QUADRA_OPENCL_LIBRARY", str(planted))
    monkeypatch.setenv("OPENCL_SLOW", "1.2")
    status, (cell,) = regress(suite, library, "--baseline=good")
    steady = cell["metrics"]["steady"]
    assert (status, steady["verdict"]) == (1, "regressed"), steady["text"]
    assert cell["metrics"]["error"]["verdict"] == "pass"
    monkeypatch.delenv("OPENCL_SLOW")
    monkeypatch.setenv("OPENCL_WRONG", "conv2d")
    status, (cell,) = regress(suite, library, "--baseline=good")
    assert status == 1 and "WRONG" in cell["metrics"]["error"]["text"]
