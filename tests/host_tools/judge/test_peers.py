"""Peers: what they took, how right they were, and how a run says it."""

import numpy as np
import pytest
from msgspec import structs

from host_tools.base import terminal
from host_tools.base.errors import Misuse, RunFailed
from host_tools.judge import compare, judged, peers
from host_tools.places import interpreters, on_jvm, prepare, with_peers
from host_tools.places.attempt import merge_cold
from host_tools.record import peer_names, run_folder, schema, spec as specs, times
from host_tools.record.run_folder import RunFolder
from host_tools.request import from_arguments, inputs
from host_tools.show import report
from tests.model_builder import Model

LOG = """stage: give the model's nodes to quadra
tflite: Replacing 9 out of 9 node(s) with delegate (Quadra) node, yielding 1 partitions for the whole graph.
stage: start xnnpack
stage: start shipped-opencl
stage: give the model's nodes to shipped-opencl
tflite: Replacing 70 out of 71 node(s) with delegate (TfLiteGpuDelegateV2) node, yielding 2 partitions for subgraph 0.
VERBOSE: Replacing 70 out of 71 node(s) with delegate (TfLiteGpuDelegateV2) node, yielding 2 partitions for subgraph 0.
stage: first inference of shipped-opencl
"""


def folder_with_peers(path) -> RunFolder:
    reference = specs.ModelRef("small", "/nowhere/small.tflite", "0" * 64)
    names = ("xnnpack", "shipped-opencl", "shipped-gles")
    spec = specs.RunSpec("20260101-000000-000-small", reference, place="jvm", peers=names)
    run_folder.write_json(path / "spec.json", spec.to_json())
    right, wrong = np.arange(4, dtype=np.float32), np.float32([0, 1, 2, 4])
    for group in ("outputs", "cpu_outputs", "xnnpack_outputs"):
        run_folder.write_arrays(path / group, [right])
    run_folder.write_arrays(path / "shipped_opencl_outputs", [wrong])
    row = [{"name": "out", "dtype": "float32", "shape": [4], "scale": 0.0, "zero_point": 0}]
    groups = ("outputs", "cpu_outputs", "xnnpack_outputs", "shipped_opencl_outputs")
    run_folder.write_json(path / "tensors.json", {"inputs": [], **dict.fromkeys(groups, row)})
    laps = {"load_delegate_us": 1, "interpreter_us": 2, "allocate_us": 3, "first_invoke_us": 4, "total_us": 10}
    samples = {"quadra": [10, 12, 11], "xnnpack": [20, 22, 21], "shipped_opencl": [40, 44, 42]}
    init = {"quadra_warm": laps, "xnnpack": laps, "shipped_opencl": laps}
    timings = {"schema_version": 1, "threads": 1, "init_us": init, "samples_us": samples, "cpu_us": samples}
    timings["shipped_gles_error"] = "No shader implementation for split"
    run_folder.write_json(path / "timings.json", timings)
    (path / "log.txt").write_text(LOG)
    return RunFolder(path)


def test_peers_are_judged_by_what_quadra_may_be_off(tmp_path):
    folder = folder_with_peers(tmp_path)
    xnnpack, opencl, gles = peers.judge(folder, compare.compare(folder))
    assert xnnpack.ok is True and xnnpack.nodes is None
    assert opencl.ok is False and opencl.relative == pytest.approx((1 / 3,))
    assert (opencl.nodes_taken, opencl.nodes, opencl.partitions) == (70, 71, 2)
    assert gles.error == "No shader implementation for split" and gles.ok is None
    written = folder.json("peers.json")["peers"]
    assert [(row["name"], row["ok"]) for row in written] == [
        ("xnnpack", True),
        ("shipped-opencl", False),
        ("shipped-gles", None),
    ]
    assert (
        peers.sentence(opencl)
        == "took 70 of 71 nodes in 2 partitions; beyond the tolerance, largest error 3.3e-01 of the range"
    )


@pytest.mark.parametrize(("error", "own", "ok"), [(5e-3, False, False), (5e-3, True, True), (0.1, True, False)])
def test_a_peer_in_half_precision_by_default_may_be_off_by_what_half_is(tmp_path, error, own, ok):
    folder = folder_with_peers(tmp_path)
    run_folder.write_json(tmp_path / "spec.json", {**folder.json("spec.json"), "peer_defaults": own})
    run_folder.write_arrays(tmp_path / "shipped_opencl_outputs", [np.float32([0, 1, 2, 3 + 3 * error])])
    _, opencl, _ = peers.judge(folder, compare.compare(folder))
    assert opencl.ok is ok and opencl.relative == pytest.approx((error,), rel=1e-3)


def test_times_beside_each_peer(tmp_path):
    folder = folder_with_peers(tmp_path)
    timings, verdicts = folder.read(schema.Timings), schema.Verdicts(nodes=[], partitions=[])
    assert times.ratio(timings, verdicts, "shipped_opencl").ratio == pytest.approx(11 / 42)
    assert times.ratio(timings, verdicts, "shipped_gles") is None
    console = terminal.console()
    with console.capture() as shown:
        times.summary(timings, verdicts, console)
    assert "Quadra's wall-clock time is 0.26 × that of the stock delegate, OpenCL (medians;" in shown.get()
    assert "stock delegate, OpenGL ES did not run: No shader implementation for split" in shown.get()


def test_the_report_has_every_peer(tmp_path):
    folder = folder_with_peers(tmp_path)
    page = report.write(judged.judge(folder)).read_text()
    assert "stock delegate, OpenCL" in page and "No shader implementation for split" in page


def test_the_stock_delegate_is_not_for_the_host():
    assert peer_names.parse(" xnnpack, shipped-gles,xnnpack") == ("xnnpack", "shipped-gles")
    reference = specs.ModelRef("small", "/nowhere", "")
    with pytest.raises(Misuse, match="run shipped-gles beside Quadra: it is a library for Android"):
        specs.checked(specs.RunSpec("id", reference, peers=("shipped-gles",)))
    with pytest.raises(Misuse, match="'tensorrt' is not one of xnnpack, shipped-opencl"):
        specs.checked(specs.RunSpec("id", reference, peers=("tensorrt",)))
    with pytest.raises(Misuse, match="'moon' is not one of host, jvm"):
        specs.checked(specs.RunSpec("id", reference, place="moon"))


def test_inputs_are_read_from_the_file_as_the_interpreter_sees_them(tmp_path):
    m = Model()
    x, y = m.input((1, 8, 8, 3)), m.input((1, 8, 8, 3))
    m.output(m.add(x, y))
    interpreter = interpreters.make(m.bytes(), "sum", threads=1)
    assert inputs.of_model(m.bytes()) == inputs.from_details(interpreter.get_input_details())


def test_a_damaged_model_leaves_no_inputs(tmp_path):
    path = tmp_path / "damaged.tflite"
    path.write_bytes(b"\x1c\0\0\0TFL3" + b"\xff" * 40)
    spec = specs.RunSpec("id", specs.ModelRef("damaged", str(path), ""), place="jvm")
    with pytest.raises(Misuse, match="read the model damaged: the file ends at byte 48"):
        prepare.prepare(spec, tmp_path)
    assert not (tmp_path / "inputs").exists()


class FakeAttempt(on_jvm.JvmAttempt):
    """Runs nothing; `work` does what a list of names says."""

    def __init__(self, folder, spec, crashes):
        super().__init__(folder, spec, lambda text: None, None)
        self.crashes, self.calls = crashes, []
        self.keeps = {"": 7, "shipped-opencl": 5, "shipped-gles": 0}  # bytes

    def start_runner(self, mode, names):
        self.work(mode, self.folder, names)

    def work(self, mode, cache, names=None, kept=None):
        self.calls.append((mode, list(names or ())))
        if kept and names != ["xnnpack"]:
            (kept / "state").write_bytes(b"x" * self.keeps[names[0]])
        for name in names or ():
            if name in self.crashes:
                self.stage, self.state = f"first inference of {name}", "crashed"
                raise RunFailed("run small", "the process was ended by signal 11 at the stage …\n  | more", "")
        if mode == "cold":
            laps = {"first_invoke_us": 4, "total_us": 5, "peak_rss_bytes": 2, "baseline_rss_bytes": 1}
            run_folder.write_json(self.folder / "cold.json", laps)


def test_a_peer_that_takes_the_process_down_is_left_out(tmp_path):
    spec = folder_with_peers(tmp_path).spec()
    child = FakeAttempt(tmp_path, spec, {"shipped-gles"})
    assert with_peers.run_with_peers(child, child.start_runner) == {
        "shipped_gles_error": "the process was ended by signal 11 at the stage …"
    }
    assert [names for _, names in child.calls] == [list(spec.peers), ["xnnpack", "shipped-opencl"]]
    assert child.state == "failed"  # and not "crashed", should something else fail later


def test_a_crash_that_is_no_peers_fault_ends_the_run(tmp_path, monkeypatch):
    child = FakeAttempt(tmp_path, folder_with_peers(tmp_path).spec(), set())

    def crash(mode, cache, names=None):
        child.stage, child.state = "first inference of quadra", "crashed"
        raise RunFailed("run small", "the process was ended by signal 11", "")

    monkeypatch.setattr(child, "work", crash)
    with pytest.raises(RunFailed, match="signal 11"):
        with_peers.run_with_peers(child, child.start_runner)


def test_gpu_peers_start_cold_in_processes_of_their_own(tmp_path):
    folder = folder_with_peers(tmp_path)
    child = FakeAttempt(tmp_path, folder.spec(), {"shipped-gles"})
    starts = with_peers.cold_starts(child, child.start_runner)
    assert list(starts) == ["quadra", "shipped_opencl"]
    merge_cold(tmp_path, starts)
    timings = folder.json("timings.json")
    assert timings["init_us"]["shipped_opencl_cold"] == {"first_invoke_us": 4, "total_us": 5}
    assert timings["cold_memory"]["peak_rss_bytes"] == 2


def test_second_starts_take_turns_each_from_what_it_kept_itself(tmp_path):
    spec = structs.replace(folder_with_peers(tmp_path).spec(), second_starts=2)
    child = FakeAttempt(tmp_path, spec, set())
    found = with_peers.second_starts(child, lambda name, kept: child.work("cold", kept, [name], kept), tmp_path / "k")
    assert [names[0] for _, names in child.calls] == ["", *spec.peers] * 3  # the first of three keeps
    assert found["second_us"] == {key: [5, 5] for key in ("quadra", "xnnpack", "shipped_opencl", "shipped_gles")}
    assert found["kept_bytes"] == {"quadra": 7, "shipped_opencl": 5, "shipped_gles": 0}
    child = FakeAttempt(tmp_path, spec, {"shipped-gles"})
    found = with_peers.second_starts(child, lambda name, kept: child.work("cold", kept, [name], kept), tmp_path / "l")
    assert "shipped_gles" not in found["second_us"] and "shipped_gles" not in found["kept_bytes"]
    assert [names[0] for _, names in child.calls].count("shipped-gles") == 1 and child.state == "failed"


def test_a_run_that_fails_in_the_app_place_leaves_the_plan_too(tmp_path, monkeypatch):
    m = Model()
    x = m.input((1, 8, 8, 3))
    m.output(m.add(x, x))
    (tmp_path / "small.tflite").write_bytes(m.bytes())
    monkeypatch.setattr(on_jvm, "Machine", lambda *words: None)
    modes = []

    def work(child, mode, cache, names=None):
        modes.append(mode)
        if mode == "run":
            child.stage, child.state = "first inference of quadra", "crashed"
            raise RunFailed("run small", "the process was ended by signal 11", "")

    monkeypatch.setattr(on_jvm.JvmAttempt, "work", work)
    spec = from_arguments.make_spec(str(tmp_path / "small.tflite"), place="jvm")
    with pytest.raises(RunFailed, match="signal 11"):
        on_jvm.Jvm(tmp_path / "libquadra.so").run(spec, runs_dir=tmp_path / "runs")
    status = run_folder.find("latest", tmp_path / "runs").status()
    assert modes == ["run", "dump"] and status.stage == "first inference of quadra"
