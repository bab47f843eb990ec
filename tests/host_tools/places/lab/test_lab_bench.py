"""A bench over a lab in this process: each model with its float twin on one device, what fails goes elsewhere, and a bench
that was cut off goes on with what devices had measured, also those that are away now."""

import json
from dataclasses import replace

import pytest

from host_tools.base.errors import Misuse, RunFailed
from host_tools.judge import bench_figures
from host_tools.measure import bench_request, bench_session
from host_tools.measure.bench_request import Words
from host_tools.places.lab import client
from host_tools.places.lab.client import Lab
from host_tools.record import run_folder, schema
from host_tools.show import bench_page
from tests.host_tools.measure import test_bench
from tests.host_tools.places.lab.lab_in_process import LIBRARY, FakeHost, InProcess, places

NAMES = ("a", "a_quant", "b", "c", "d")


class BenchHost(FakeHost):
    """Its devices leave what a bench reads."""

    def place(self, device, order):
        return BenchPlace(self, device)


class BenchPlace(test_bench.Place):
    def __init__(self, host, device):
        super().__init__()
        self.host, self.device = host, device

    def run(self, spec, show, runs_dir):
        self.host.ran.append((self.device.name, spec.model.name))
        self.host.behave(self.device, spec)
        folder = super().run(spec, show, runs_dir)
        run_folder.write_json(folder.path / schema.Environment.FILE, {"library": {"sha256": LIBRARY}})
        return folder

    def stop(self):
        return True


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    for variable in ("RUNS_DIR", "DEVICES_DIR"):
        monkeypatch.setenv(f"QUADRA_{variable}", str(tmp_path / variable.lower()))
    monkeypatch.setattr(client, "_LOOK_S", 0.2)
    for name in NAMES:
        (tmp_path / f"{name}.tflite").write_bytes(b"\x1c\0\0\0TFL3" + name.encode())
    found = InProcess()
    yield found
    found.close()


def measured(cluster, folder, resume=""):
    words = Words(tuple(f"{folder}/{name}.tflite" for name in NAMES), resume=resume, lab=cluster.address)
    with Lab(cluster.address, gone_s=0.2) as lab:
        devices = places(lab, folder)
        asked = bench_request.asked(words)[0]
        return bench_session.measure(asked, devices, lambda text: None, bench_page.write, resume, lab.there)


def test_each_model_is_measured_on_one_device_and_a_bench_goes_on(cluster, tmp_path):
    def behave(device, spec):
        if device.full_name == "rack1/a":
            raise RunFailed("run it", "its GPU is on fire", "put it out")

    made = {name: BenchHost(name, tmp_path / name, ["a", "b"], behave) for name in ("rack1", "rack2")}
    for host in made.values():
        cluster.start_worker(host)
    result = measured(cluster, tmp_path)
    assert [row.model for row in result.rows] == [name for name in NAMES for _ in range(2)], "as asked for"
    assert result.finished and not result.wrong, result.notes
    on = {row.model: {one.ran_on for one in result.rows if one.model == row.model} for row in result.rows}
    assert all(len(devices) == 1 for devices in on.values()) and on["a"] == on["a_quant"], "a twin is compared"
    assert set().union(*on.values()) <= {"rack1/b", "rack2/a", "rack2/b"}
    assert len(result.notes) == 1 and "rack1/a is set aside" in result.notes[0]
    assert result.rows[0].over("shipped_opencl") == 0.2 and result.over_twin(result.rows[2]) == 1
    assert {row.ran_on for row in result.rows} == {key.split(",")[0] for key in result.devices}
    text, page = test_bench.table(result), (result.folder / "bench.html").read_text()
    for words in ("rack1/a is set aside", "device", on["b"].copy().pop()):
        assert words in text and words in page
    assert " CPUs" not in page and "devices of a lab" in page

    written = json.loads((result.folder / "bench.json").read_text())
    assert written["place"] == "device" and written["notes"] == list(result.notes) and written["finished"]
    (lost,) = [one for one in result.folder.glob("2*-c") if '"gles"' in (one / "spec.json").read_text()]
    run_folder.write_json(lost / "status.json", {"schema_version": 1, "state": "crashed", "stage": "x"})
    before = {name: len(host.ran) for name, host in made.items()}
    behind = next(name for name in made if name not in on["b"].copy().pop())
    cluster.stop_worker(next(name for name in made if name != behind))  # b was measured there
    again = measured(cluster, tmp_path, result.folder.name)
    assert again.finished and not again.wrong and again.folder == result.folder
    assert {row.model: row.ran_on for row in again.rows if row.model != "c"} == {
        row.model: row.ran_on for row in result.rows if row.model != "c"
    }
    ran = made[behind].ran[before[behind] :]
    assert {model for _, model in ran} <= {"c"} and 1 <= len(ran) <= 4, "what was measured is not measured again"
    with pytest.raises(Misuse, match="it ran in a lab"):
        bench_request.asked(Words(resume=result.folder.name))
    with pytest.raises(bench_figures.JudgementFailed, match="over 0.1"):
        bench_figures.fail_if_wrong(replace(again, asked=replace(again.asked, limit_shipped=0.1)))
