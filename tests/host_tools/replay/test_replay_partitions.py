"""`inv replay` runs every partition of a run, each with what was there between them, and says which one is at fault."""

import io

import numpy as np
import pytest
from msgspec import structs
from rich.console import Console

from host_tools.base.errors import JudgementFailed, RunFailed
from host_tools.places import on_host
from host_tools.record import named_plans, plan_view
from host_tools.record.named_plans import NamedPlan
from host_tools.replay import replay_session
from host_tools.replay.replay_session import Asked
from host_tools.request import from_arguments
from host_tools.tasks import replays
from tests.fences import fenced
from tests.model_builder import Model


@pytest.fixture
def kept(library, tmp_path, monkeypatch):
    """A run of three convolutions in three partitions, with every tensor kept."""
    monkeypatch.setenv("QUADRA_RUNS_DIR", str(tmp_path / "runs"))
    monkeypatch.setenv("QUADRA_SMALL_PARTITIONS_ALLOWED", "1")
    model, random = Model(), np.random.default_rng(5)
    x = model.input((1, 4, 4, 4))
    for _ in range(3):
        x = model.conv2d(x, random.standard_normal((4, 3, 3, 4)).astype(np.float32), np.ones(4, np.float32))
    model.output(x)
    path = tmp_path / "three.tflite"
    path.write_bytes(fenced(model.bytes(), 1))
    spec = from_arguments.make_spec(str(path), repetitions=1, peers=(), backend="opencl")
    return on_host.Host(library).run(structs.replace(spec, keep_tensors=True))


def changed(named, before, after, folder):
    """The plan with a part of its kernels' texts replaced by one as long."""
    data = named.plan_bytes()
    assert data.count(before) == 1 and len(before) == len(after)
    path = folder / named.path.parent.name / plan_view.FILE
    path.parent.mkdir()
    path.write_bytes(data.replace(before, after))
    return NamedPlan(path, plan_view.read(path), named.run)


def test_each_partition_is_replayed_and_the_faulty_ones_are_named(kept, tmp_path):
    plans = named_plans.find(str(kept.path))
    assert [named.partition for named in plans] == [0, 1, 2]
    plans[0] = changed(plans[0], b"bias0 = read_bias(", b"bias0 = nonsense!(", tmp_path)
    plans[2] = changed(plans[2], b"bias0 = read_bias(", b"bias0 =-read_bias(", tmp_path)
    asked = Asked(against=str(kept.path), times=2)
    stages = []
    outcomes = replay_session.replay(plans, asked, stages.append)

    tensors = [[t for d in o.result.dispatches for t in d.tensors if t.compared] for o in outcomes]
    assert [len(found) for found in tensors] == [0, 2, 2]
    # Bit by bit: a partition's inputs are those that the run kept. The CPU's differ in the last bits.
    assert not any(t.different for t in tensors[1])
    assert [outcome.ok for outcome in outcomes] == [False, True, False]
    assert isinstance(outcomes[0].failure, RunFailed) and "nonsense" in str(outcomes[0].failure)
    assert [outcome.title for outcome in outcomes] == [f"partition_{i} (of 3)" for i in range(3)]
    assert any(stage.startswith("partition_2 (of 3): dispatch ") for stage in stages)

    text = io.StringIO()
    replays.show(outcomes, asked, Console(file=text, width=200), 20, False)
    lines = [line.split() for line in text.getvalue().splitlines()]
    rows = lines[[line[:2] for line in lines].index(["partition", "nodes"]) + 1 :][:3]
    assert [row[1] for row in rows] == [str(outcome.nodes[0]) for outcome in outcomes]
    assert rows[0][2] == "0" and " ".join(rows[0]).endswith("did not finish")
    assert rows[1][-2:] == ["nothing", "differs"] and rows[2][-2:] == ["differs", "first"]
    assert "sum of the medians of all 3 partitions" in text.getvalue()
    with pytest.raises(JudgementFailed, match=r"partition_2 \(of 3\).*_conv2d \(kernel"):
        replays.fail_if_wrong(outcomes[1:])
    with pytest.raises(RunFailed, match="nonsense"):
        replays.fail_if_wrong(outcomes)
