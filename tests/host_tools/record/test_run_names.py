"""Which folder of the runs a word means."""

import pytest

from host_tools.base.errors import Misuse
from host_tools.record import run_names

NAMES = [
    "20260101-000000-001-selfie",
    "20260102-000000-001-mediapipe_face",
    "bench-20260103-000000",
    "20260104-000000-001-selfie",
    "bench-20260105-000000-selfie",
    "regress-20260106-000000-123-quick",
    "20260107-000000-001-selfie_landscape",
    "parity-20260108-000000-2",
]


@pytest.mark.parametrize(
    ("name", "subject"),
    [*zip(NAMES, ["selfie", "mediapipe_face", "", "selfie", "selfie", "quick", "selfie_landscape", "2"])],
)
def test_the_end_of_a_name_is_its_model_or_suite(name, subject):
    assert run_names.subject(name) == subject


def test_a_model_that_is_named_by_a_number_is_no_part_of_the_stamp():
    assert run_names.subject("20260101-000000-001-123") == "123"
    assert run_names.subject("bench-20260101-000000-1234") == "1234"
    assert run_names.subject("my_folder") == ""


@pytest.mark.parametrize(
    ("word", "chosen"),
    [
        (NAMES[0], NAMES[0]),
        ("20260101", NAMES[0]),
        ("selfie", NAMES[4]),
        ("selfie.tflite", NAMES[4]),
        ("selfie_l", NAMES[6]),
        ("mediapipe/face", NAMES[1]),
        ("mediapipe", NAMES[1]),
        ("quick", NAMES[5]),
        ("bench", NAMES[4]),
        ("bench-20260103", NAMES[2]),
        ("regress", NAMES[5]),
    ],
)
def test_a_word_means_a_folder(word, chosen):
    assert run_names.chosen(word, NAMES, "open it", "runs") == chosen


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("2026010", "4 folders match"),
        ("self", "4 folders match"),  # of two models
        ("bench-2026010", "2 folders match"),
        ("", "no folder of runs"),
        ("/", "no folder of runs"),
        ("selfy", "(?s)no folder of runs .*did you mean selfie"),
        ("bench-20260103-000001", "did you mean bench-20260103-000000"),
    ],
)
def test_a_word_that_means_none_or_several_is_refused(word, reason):
    with pytest.raises(Misuse, match=reason):
        run_names.chosen(word, NAMES, "open it", "runs")


def test_all_that_a_word_means_are_in_their_order():
    assert run_names.fitting("selfie", NAMES) == [NAMES[0], NAMES[3], NAMES[4]]
    assert run_names.fitting("nothing", NAMES) == []
