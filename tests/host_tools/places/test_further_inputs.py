"""Further inputs at a place that runs one at a time."""

import numpy as np
import pytest

from host_tools.base.errors import RunFailed
from host_tools.places import complete_inputs
from host_tools.places.place import aimed, quiet
from host_tools.record import run_folder
from host_tools.request import from_arguments
from tests.model_builder import Model


class OneAtATime:
    """Leaves a folder for each run; fails at the one with the number `fails`."""

    def __init__(self, fails=0):
        self.ran, self.fails = [], fails

    def aim(self, spec):
        return aimed(spec, "jvm")

    def run(self, spec, show, runs_dir):
        if len(self.ran) + 1 == self.fails:
            raise RunFailed("run", "it failed", "")
        self.ran.append(spec)
        return run_folder.finish(run_folder.start(spec, runs_dir), run_folder.COMPLETE)


@pytest.fixture
def folder(tmp_path):
    m = Model()
    m.output(m.unary("RELU", m.input((2,), name="x")))
    (tmp_path / "relu.tflite").write_bytes(m.bytes())
    for name in "cab":
        (tmp_path / "many" / name).mkdir(parents=True)
        np.save(tmp_path / "many" / name / "x.npy", np.zeros(2, np.float32))
    spec = from_arguments.make_spec(
        str(tmp_path / "relu.tflite"), arrays=str(tmp_path / "many"), profile=True, cold=True, peers=("xnnpack", "shipped-gles"),
        place="jvm", metrics=("top1",), tolerances=["1,0"],
    )  # fmt: skip
    return run_folder.finish(run_folder.start(spec, tmp_path / "runs"), run_folder.COMPLETE)


def test_each_is_a_run_of_one_inference_in_the_runs_own_folder(folder):
    place = OneAtATime()
    complete_inputs.complete(folder, place, quiet)
    assert [spec.inputs.label for spec in place.ran] == ["b", "c"], "the first is the run itself"
    one = place.ran[0]
    assert (one.repetitions, one.profile, one.cold, one.peers, one.input_set) == (1, False, False, ("xnnpack",), "")
    assert one.tolerances == {"": (1.0, 0.0)}
    assert sorted(path.name for path in (folder.path / "set").iterdir()) == ["00001", "00002"]
    assert not (folder.path / ".set").exists()
    complete_inputs.complete(folder, place, quiet)
    assert len(place.ran) == 2, "what is there is not run again"


def test_one_that_fails_names_the_run(folder):
    with pytest.raises(RunFailed) as caught:
        complete_inputs.complete(folder, OneAtATime(fails=2), quiet)
    assert caught.value.kept == folder.path and not (folder.path / ".set").exists()
