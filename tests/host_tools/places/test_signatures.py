"""Every signature of a model runs on the GPU and is judged by itself: on this machine, through CompiledModel, in Android's
runtime and by the native runner."""

import numpy as np
import pytest

from host_tools.base import settings
from host_tools.base.errors import RunFailed
from host_tools.debug import wrong_op
from host_tools.judge import judged
from host_tools.places import on_host, on_jvm
from host_tools.record import profile, run_folder, schema
from host_tools.request import from_arguments
from host_tools.tasks import replays
from tests.android_parts import app_library
from tests.host_tools.places import test_native_runner
from tests.model_builder import Model
from tests.signature_models import KEYS, two_signatures, with_signatures

parts = test_native_runner.parts
OPS = {"encode": ["CONV_2D", "ADD"], "decode": ["CONV_2D", "ADD", "RELU"]}
SIZE = "picture=1x7x9x6"


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    made = tmp_path_factory.mktemp("model") / "two.tflite"
    made.write_bytes(two_signatures(free=True))
    return made


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    monkeypatch.setenv("QUADRA_RUNS_DIR", str(tmp_path / "runs"))


def spec_of(path, key, **fields):
    more = {"options": "small_partitions_allowed=1", "sizes": [SIZE], "repetitions": 3}
    return from_arguments.make_spec(str(path), signature=key, **{**more, **fields})


def check(folder, key):
    """It ran this signature, all of it on the GPU, and nothing else; right, under the signature's names."""
    report, model = folder.read(schema.Verdicts), folder.read(schema.Model)
    assert [(node.op, node.on) for node in report.nodes] == [(op, "gpu") for op in OPS[key]]
    assert {node.subgraph for node in report.nodes} == {KEYS.index(key)} == {model.subgraph}
    assert [p.id for p in report.partitions] == [node.partition for node in report.nodes[:1]]
    assert [p.name for p in folder.partitions()] == [f"partition_{report.partitions[0].id}"]
    found = judged.judge(folder)
    assert found.ok and found.largest_error < 1e-5
    assert [o.name for o in found.comparison.outputs] == ["y"]
    assert [t.name for t in folder.tensors("inputs")] == ["offset", "picture"]
    assert folder.arrays("outputs")[0].shape == (1, 7, 9, 3)


@pytest.mark.parametrize("backend", ["opencl", "gles"])
def test_each_runs_on_this_machine(backend, library, path):
    outputs = []
    for key in KEYS:
        folder = on_host.Host(library).run(spec_of(path, key, backend=backend, profile=True))
        check(folder, key)
        assert len(profile.read(folder).dispatches) == len(folder.read(schema.Verdicts).partitions[0].dispatches)
        outputs.append(folder.arrays("outputs")[0])
    assert outputs[1].min() == 0.0 > outputs[0].min(), "the second signature ends in a RELU, the first does not"


def test_each_runs_through_compiled_model(path):
    for key in KEYS:
        folder = on_host.Host().run(spec_of(path, key, api="compiled"))
        found = judged.judge(folder)
        assert found.ok and found.largest_error < 1e-5
        assert [(n.op, n.on) for n in folder.read(schema.Verdicts).nodes] == [(op, "gpu") for op in OPS[key]]


def test_each_runs_in_androids_runtime(path):
    library = app_library()
    for key in KEYS:
        check(on_jvm.Jvm(library).run(spec_of(path, key)), key)


def test_each_runs_by_the_native_runner(parts, path, tmp_path):
    """XNNPACK's delegate comes after Quadra's there, and has the runtime apply Quadra's once more."""
    for key in KEYS:
        folder = tmp_path / key
        test_native_runner.prepared(path, folder, signature=key, sizes=[SIZE])
        done = test_native_runner.start(parts, folder)
        assert done.returncode == 0, done.stderr
        report = run_folder.RunFolder(folder).read(schema.Verdicts)
        seen = [(n.subgraph, n.index) for n in report.nodes]
        assert sorted(seen) == sorted(set(seen)) and {p.id for p in report.partitions} == {
            n.partition for n in report.nodes
        }
        test_native_runner.cpu_reference.write(folder)
        left = run_folder.RunFolder(folder)
        np.testing.assert_allclose(left.arrays("outputs")[0], left.arrays("cpu_outputs")[0], rtol=0, atol=1e-5)
        assert [t.name for t in left.tensors("outputs")] == ["y"]


def test_two_free_inputs_are_resized_through_compiled_model(tmp_path):
    m = Model()
    a, b = (m.input((1, 4, 4, 6), name=name, signature=(1, -1, -1, 6)) for name in "ab")
    m.output(m.add(a, b))
    path = tmp_path / "sum.tflite"
    path.write_bytes(m.bytes())
    spec = from_arguments.make_spec(
        str(path), api="compiled", sizes=["a=1x7x9x6", "b=1x7x9x6"], options="small_partitions_allowed=1", repetitions=1
    )
    folder = on_host.Host().run(spec)
    assert judged.judge(folder).ok and folder.arrays("outputs")[0].shape == (1, 7, 9, 6)


def test_a_custom_op_of_another_signature_is_no_obstacle(tmp_path, library):
    lacking, good = Model(), Model()
    lacking.output(lacking.op("FancyOp", [lacking.input((1, 4))], (1, 4)))
    good.output(good.unary("RELU", good.input((1, 4))))
    path = tmp_path / "custom.tflite"
    path.write_bytes(with_signatures(lacking, good, KEYS))
    spec = from_arguments.make_spec(str(path), signature="decode", repetitions=1)
    assert judged.judge(on_host.Host(library).run(spec)).ok
    with pytest.raises(RunFailed, match="FancyOp"):
        on_host.Host(library).run(from_arguments.make_spec(str(path), signature="encode", repetitions=1))


def test_a_signatures_plan_is_replayed_on_its_own_inputs(library, path):
    folder = on_host.Host(library).run(spec_of(path, "decode"))
    for against in ("", "cpu"):
        wanted = replays.asked(model="", inputs="", seed=-1, image="", value_range="", against=against, step=False,
                               time=False, runs=0, oclgrind=False, tolerance=0.0, timeout=300.0)  # fmt: skip
        outcomes = replays.run(str(folder.path), wanted, lambda text: None)
        replays.fail_if_wrong(outcomes)
        assert [len(outcome.outputs) for outcome in outcomes] == [1], "its output was compared"


def test_bisect_looks_into_the_signature_that_it_is_given(library, path):
    spec = spec_of(path, "decode")
    folder, found = wrong_op.run(spec, on_host.Host(library), None, lambda text: None)
    assert found.kind == "none" and found.compared == found.ops == 3, found
    assert folder.subgraph() == 1


@pytest.mark.parametrize(
    "name", [pytest.param("gemma3_tiny_f32_ekv64", marks=pytest.mark.slow), "hfqwen3_tiny_dynamic_wi8_afp32"]
)
def test_a_decoder_is_judged_on_both_signatures(name, library):
    dirs = settings.read().models_dirs
    files = [f for one in dirs for f in (one / "decoders" / f"{name}.tflite", one / f"{name}.tflite") if f.is_file()]
    if not files:
        pytest.skip(f"{name} is not in a folder of QUADRA_MODELS_DIR")
    entries = from_arguments.entries(str(files[0]), "", [])
    assert [entry["signature"] for entry in entries] == ["prefill_16", "decode"]
    for entry in entries:
        folder = on_host.Host(library).run(from_arguments.make_spec(**entry, repetitions=1))
        assert judged.judge(folder).ok
        nodes = folder.read(schema.Verdicts).nodes
        assert len(nodes) > 50 and all(node.on == "gpu" for node in nodes)
