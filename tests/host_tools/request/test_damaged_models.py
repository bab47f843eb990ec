"""A file that is cut off, or whose tables point beyond its end, is told in a sentence that says so."""

import numpy as np
import pytest

from host_tools.base.errors import Misuse
from host_tools.places import cpu_ranges, reference_model
from host_tools.record import run_folder, spec as specs
from host_tools.request import float_twins, model_facts
from host_tools.request.submodel import Cutter
from tests.model_builder import Model


def model() -> bytes:
    m = Model()
    x = m.input((1, 8, 8, 3))
    m.output(m.add(x, np.ones((1, 8, 8, 3), np.float32)))
    return m.bytes()


WHOLE = model()
SENTENCE = "read the model m: the file ends at byte {}, and its tables point beyond that: it is cut off or damaged"


@pytest.mark.parametrize("size", [8, 40, len(WHOLE) // 2, len(WHOLE) * 3 // 4, len(WHOLE) - 100])
def test_a_file_that_is_cut_off(size):
    for read in (lambda raw: model_facts.read(raw, "m"), lambda raw: Cutter(raw, "m")):
        read(WHOLE)
        with pytest.raises(Misuse) as caught:
            read(WHOLE[:size])
        assert SENTENCE.format(size) in str(caught.value) and "copy it again" in str(caught.value)


def test_a_constant_that_reaches_beyond_the_end():
    """The tables are whole; a weight says that it is longer than the file."""
    ones = np.ones(192, np.float32).tobytes()
    at = WHOLE.index(ones) - 4
    assert int.from_bytes(WHOLE[at : at + 4], "little") == len(ones)
    longer = WHOLE[:at] + len(WHOLE).to_bytes(4, "little") + WHOLE[at + 4 :]
    with pytest.raises(Misuse, match="its tables point beyond that"):
        model_facts.read(longer, "m")


def test_who_reads_a_model_in_another_way_says_the_same(tmp_path):
    path = tmp_path / "m.tflite"
    path.write_bytes(WHOLE[: len(WHOLE) // 2])
    with pytest.raises(Misuse, match="its tables point beyond that"):
        float_twins.make(str(path))
    spec = specs.RunSpec("20990101-000000-000-m", specs.ModelRef("m", str(path), "0" * 64))
    with pytest.raises(Misuse, match="its tables point beyond that"):
        cpu_ranges.write(run_folder.start(spec, tmp_path / "runs"))
    path.write_bytes(path.read_bytes() + reference_model.TRANSPOSE_CONV_BIAS)
    with pytest.raises(Misuse, match="its tables point beyond that"):
        reference_model.for_cpu(path)
