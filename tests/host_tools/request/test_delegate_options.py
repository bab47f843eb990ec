"""`--options`: what no task has a flag for reaches the delegate, other names are refused with what to do instead."""

import pytest

from host_tools.base.errors import Misuse
from host_tools.request import delegate_options, from_arguments
from tests.model_builder import Model


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("speed=9", "(?s)no option 'speed'.*next: one of: .*self_check"),
        ("backend=gles", "(?s)another way.*give --backend"),
        ("self_check=1,serialization_dir=/tmp", "--cache"),
        ("dump_dir=/tmp", "the run folder has"),
        ("dump_tensors=1", "inv bisect"),
        ("self_check", "self_check has no value"),
        ("tuning=fast,tuning=none", "given twice"),
        ("=1", "no option ''"),
        ("inference_priority1=min_latency", "(?s)another way.*give --precision, which comes before"),
        ("is_precision_loss_allowed=1", "give --precision"),
    ],
)
def test_other_names_are_refused(words, problem):
    with pytest.raises(Misuse, match=problem):
        delegate_options.parse(words)


def test_options_reach_the_delegate(tmp_path):
    m = Model()
    x = m.input((1, 4, 4, 4))
    m.output(m.add(x, x))
    (tmp_path / "m.tflite").write_bytes(m.bytes())
    given = "self_check=1,tuning=fast"
    spec = from_arguments.make_spec(str(tmp_path / "m.tflite"), backend="gles", options=given)
    assert spec.options == {"backend": "gles", "precision": "f32", "self_check": "1", "tuning": "fast"}
    assert delegate_options.words(spec.options) == given and delegate_options.words({"backend": "gles"}) == ""
    assert delegate_options.of_part({"tuning": "fast", "last_delegate_node_index": "7"}) == {"tuning": "fast"}
    assert delegate_options.parse("") == {}
    assert delegate_options.parse("is_precision_loss_allowed=0"), "keeps convolutions from Winograd's algorithm, too"


def test_what_is_set_in_another_way_are_options_of_the_delegate():
    assert {*delegate_options._ELSEWHERE, *delegate_options._OF_NODES} < set(delegate_options.names())
