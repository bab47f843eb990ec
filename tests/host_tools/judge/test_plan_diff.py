"""Two plans are equal, or each difference is told."""

import pytest

from host_tools.judge import plan_diff
from host_tools.record import checked_plan, plan_view
from tests.host_tools.record import plans


@pytest.fixture
def differences(tmp_path):
    """differences(part=value…): between the small plan and one with these parts changed."""

    def of(**parts):
        read = (plan_view.read(plans.write(p, tmp_path / "plan.quadra")) for p in (plans.PLAN, plans.changed(**parts)))
        return plan_diff.compare(*(checked_plan.checked(value, "a plan") for value in read))

    return of


def test_equal_plans(differences):
    found = differences()
    assert found.equal and found.same_kernels == 3


@pytest.mark.parametrize(
    ("parts", "kind", "line"),
    [
        ({"target": "other"}, "words", ("target", "small", "other")),
        ({"device": "d"}, "words", ("device", "", "d")),
        ({"precision": "f16"}, "words", ("precision", "f32", "f16")),
        ({"programs__0__options": "-w"}, "words", ("options of programs", "", ", -w")),
        ({"activation_bytes": 512}, "memory", ("activations", "384 bytes", "512 bytes")),
        ({"dispatches__1__global": [16, 1, 1]}, "dispatches", ("001_add: work-items", "8×1×1", "16×1×1")),
        ({"dispatches__1__args__3__float_value": 3.5}, "dispatches", ("001_add: numbers", "6 1", "6 3.5")),
        ({"dispatches__1__nodes": [5]}, "dispatches", ("dispatch", "001_add of nodes 0", "")),
        ({"tensors__1__name": "m"}, "tensors", ("tensor m", "", "1×2×3×3 float, slices, 96 bytes")),
        ({"tensors__1__last_use": 3}, "tensors", ("tensors at another place or time", "1", "1")),
    ],
)  # fmt: skip
def test_each_difference_is_told(parts, kind, line, differences):
    found = differences(**parts)
    assert not found.equal
    assert line in [(one.what, one.a, one.b) for one in getattr(found, kind)]


def test_a_kernels_text_is_compared_line_by_line_and_not_its_name(differences):
    assert not differences(programs__1__kernels__0__source=plans.ADD.replace("+ by", "- by")).equal
    (kernel,) = differences(programs__1__kernels__0__source=plans.ADD.replace("+ by", "- by")).kernels
    assert (kernel.name, kernel.added, kernel.removed) == ("add", 1, 1)
    assert "-  if (i < n) out[i] = a[i] + by;" in kernel.lines
    renamed = differences(
        programs__1__kernels__0__source=plans.ADD.replace("add_1", "add_7"), programs__1__kernels__0__entry="add_7",
        dispatches__1__entry="add_7", dispatches__2__entry="add_7",
    )  # fmt: skip
    assert renamed.equal
