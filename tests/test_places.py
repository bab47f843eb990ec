"""Real models give the same errors in Android's runtime, with the library for Android, as on this machine."""

from dataclasses import replace

import numpy as np
import pytest

from host_tools.measure import bench_request
from host_tools.places import on_host, on_jvm
from host_tools.request import from_arguments
from tests import places
from tests.android_parts import app_library
from tests.host_tools import run_folders


@pytest.fixture(scope="module")
def android():
    return app_library()


@pytest.mark.slow
@pytest.mark.parametrize("backend", ("opencl", "gles"))
@pytest.mark.parametrize("model", bench_request.MODELS)
def test_a_model_has_the_same_errors_in_both_places(model, backend, android, library, tmp_path):
    words = {"backend": backend, "repetitions": 1, "deadline_s": 600.0}
    here = on_host.Host(library).run(from_arguments.make_spec(model, peers=(), **words), runs_dir=tmp_path / "host")
    # XNNPACK is there to be the reference of quantised models that are partly on the CPU.
    there = on_jvm.Jvm(android).run(from_arguments.make_spec(model, place="jvm", **words), runs_dir=tmp_path / "jvm")
    found = places.row(here, there)
    print(f"{places.HEAD}\n{found}")
    assert found.ok, found


def test_a_row_is_the_same_only_where_outputs_and_nodes_are(tmp_path):
    values = np.linspace(0, 1, 12, dtype=np.float32).reshape(1, 3, 4)
    off = values + np.float32(1e-4)
    here, there = run_folders.make(tmp_path / "a", [values]), run_folders.make(tmp_path / "b", [values])
    same = places.row(here, there)
    assert same.ok and same.between == 0 and "same" in str(same) and same.nodes == ("2/3", "2/3")
    other = places.row(here, run_folders.make(tmp_path / "c", [off], [values]))
    assert not other.ok and other.between == pytest.approx(1e-4, rel=0.01) and "DIFFERENT" in str(other)
    assert replace(other, moves=1e-4).ok and "rounding moves the CPU's" in str(replace(other, moves=1e-4))
    assert not replace(same, nodes=("2/3", "3/3")).ok and not replace(same, right=False).ok


def test_rows_are_those_that_ran_in_both_places(tmp_path, capsys):
    run_folders.make(tmp_path / "a")
    assert places.rows([tmp_path / "a"]) == []
    assert places.main([str(tmp_path / "a")]) == 1 and "0 rows, 0 different" in capsys.readouterr().out
