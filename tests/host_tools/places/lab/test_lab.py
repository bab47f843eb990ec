"""The lab with dask's own scheduler and workers in this process, and devices that run nothing: what fails goes elsewhere,
what was done is not done again, files come once."""

import dataclasses
import io
import subprocess
import sys
import tarfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from host_tools.base import settings
from host_tools.base.errors import (
    DeviceError,
    DeviceLost,
    LabUnreachable,
    Misuse,
    ReplyNotUnderstood,
    RunFailed,
    TransferFailed,
)
from host_tools.judge.regression import suite as suites
from host_tools.judge.regression.history import History
from host_tools.measure import regress_cells, regress_resume
from host_tools.places.lab import address, client, contents, packing
from host_tools.places.lab.client import Lab
from host_tools.places.lab.contents import Contents
from host_tools.places.lab.packing import Packed
from host_tools.record import run_folder, spec as specs
from tests.host_tools import run_folders
from tests.host_tools.places.lab.lab_in_process import FakeHost, InProcess, places, regress
from tests.model_builder import Model


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    for variable in ("RUNS_DIR", "DEVICES_DIR", "HISTORY"):
        monkeypatch.setenv(f"QUADRA_{variable}", str(tmp_path / variable.lower()))
    monkeypatch.setattr(client, "_LOOK_S", 0.2)
    found = InProcess()
    yield found
    found.close()


@pytest.fixture
def suite(tmp_path):
    names = [f"m{number}" for number in range(8)]
    for number, name in enumerate(names):
        m = Model()
        m.output(m.add(m.input((1, 4, 4, 3)), np.full((1, 4, 4, 3), number, np.float32)))
        (tmp_path / f"{name}.tflite").write_bytes(m.bytes())
    models = ", ".join(f'"{tmp_path}/{name}.tflite"' for name in names)
    (tmp_path / "small.toml").write_text(f"launches = 2\nmore = 0\nprofile = false\n[[cells]]\nmodels = [{models}]\n")
    return suites.read(str(tmp_path / "small.toml"))


def hosts(cluster, folder, behave, names=("rack1", "rack2", "rack3")):
    """Three hosts with two devices each, each its own folder."""
    made = [FakeHost(name, folder / name, ["a", "b"], behave) for name in names]
    return {host.host: cluster.start_worker(host) for host in made}


def test_a_dead_worker_and_a_device_that_fails_give_their_cells_to_others(cluster, suite, tmp_path):
    def behave(device, spec):
        if device.full_name == "rack1/a":
            raise RunFailed("run it", "its GPU is on fire", "put it out")
        if device.host == "rack3":
            cluster.loop.call_soon_threadsafe(lambda: "rack3" in cluster.workers and cluster.stop_worker("rack3"))
            time.sleep(0.3)

    hosts(cluster, tmp_path, behave)
    with Lab(cluster.address, gone_s=0.2) as lab:
        found = regress(suite, lab, tmp_path)
    assert [case.key for case in found.cases] == [cell.key for cell in suite.cells], "each cell is there once"
    assert [len(case.good) for case in found.cases] == [2] * 8 and not found.broken, found.notes
    assert {case.device for case in found.cases} <= {"rack1/b", "rack2/a", "rack2/b"}
    notes = sorted(found.notes)
    assert [note.split(":")[0] for note in notes] == [
        "rack1/a is set aside",
        "rack3/a is lost",
        "rack3/b is lost",
    ]
    assert "failed m" in notes[0] and "its GPU is on fire" in notes[0] and "worker is gone" in notes[1], notes
    for case in found.cases:
        for launch in case.good:
            folder = run_folders.RunFolder(found.folder / launch.folder)
            assert folder.is_complete() and folder.spec().model.path.startswith(str(tmp_path / "m")), (
                "the caller's path"
            )
    assert not list(found.folder.rglob(".partial*"))


def test_the_schedulers_restart_loses_nothing_and_repeats_nothing(cluster, suite, tmp_path):
    waiting, go_on = threading.Event(), threading.Event()

    def behave(device, spec):
        if spec.model.name == "m3" and not waiting.is_set():
            waiting.set()
            go_on.wait(20)

    made = hosts(cluster, tmp_path, behave, ("rack1",))
    found = []
    with Lab(cluster.address) as lab:
        runner = threading.Thread(target=lambda: found.append(regress(suite, lab, tmp_path)))
        runner.start()
        assert waiting.wait(20)
        cluster.stop_scheduler()
        threading.Timer(0.5, go_on.set).start()  # the run ends while nobody is there to hear of it
        time.sleep(1)
        cluster.start_scheduler()
        runner.join(120)
        reconnected, sent = lab.reconnected, dict(lab.sent_bytes)
    (session,) = found
    assert reconnected >= 1 and not session.notes and [len(case.good) for case in session.cases] == [2] * 8
    ran = [run_id for _, run_id in made["rack1"].ran]
    assert len(ran) == len(set(ran)) == 16, "no run was done twice"

    models = sum((tmp_path / f"m{number}.tflite").stat().st_size for number in range(8))
    assert sent == {"rack1": models + len(b"an APK") + len(b"a delegate")}, "each file once"
    with Lab(cluster.address) as lab:
        regress(suite, lab, tmp_path)
        assert not lab.sent_bytes, "the host has all files"


def test_a_session_whose_caller_was_killed_goes_on(cluster, suite, tmp_path):
    began, go_on = threading.Event(), threading.Event()

    def behave(device, spec):
        if sum(len(host.ran) for host in made.values()) > 6 and not go_on.is_set():
            began.set()
            go_on.wait(30)

    made = {}
    made |= hosts(cluster, tmp_path, behave, ("rack1", "rack2"))
    words = ("-m", "tests.host_tools.places.lab.lab_in_process", cluster.address, tmp_path / "small.toml", tmp_path)
    caller = subprocess.Popen([sys.executable, *map(str, words)], cwd=settings.ROOT)
    try:
        assert began.wait(60)
        time.sleep(0.5)  # the other devices begin theirs
    finally:
        caller.kill()
        caller.wait()
    go_on.set()  # the runs end while nobody waits for them
    (folder,) = settings.read().runs_dir.glob("regress-*")
    before = [path.name for path in folder.glob("*/2*")]
    with Lab(cluster.address) as lab:
        found = regress(suite, lab, tmp_path, folder.name)
    assert [case.key for case in found.cases] == [cell.key for cell in suite.cells] and not found.broken, found.notes
    assert [sorted(launch.number for launch in case.good) for case in found.cases] == [[0, 1]] * 8
    assert found.folder.samefile(folder) and found.state == "complete" and 0 < len(before) < 16
    kept = {Path(launch.folder).name for case in found.cases for launch in case.good}
    ran = [run_id for host in made.values() for _, run_id in host.ran]
    assert kept >= set(before) and len(ran) == len(set(ran)) == 16, "nothing ran twice, not even what was at work then"
    assert not list(found.folder.rglob(".partial*"))

    with Lab(cluster.address) as lab:
        regress(suite, lab, tmp_path, str(folder))
        assert sum(len(host.ran) for host in made.values()) == 16, "there was nothing left"
        with regress_resume.alone(folder), pytest.raises(Misuse, match="another process runs this session"):
            regress(suite, lab, tmp_path, str(folder))
    for wrong, reason in (("nowhere", "no folder of"), (str(tmp_path), "does not have it")):
        with pytest.raises(Misuse, match=reason), History(settings.read().history) as history:
            regress_resume.find(wrong, suite, history)
    fewer = dataclasses.replace(suite, cells=suite.cells[1:])
    with pytest.raises(Misuse, match="with m0/auto/f32, which is not in it now"), History(settings.read().history) as h:
        regress_resume.find(folder.name, fewer, h)
    with History(settings.read().history) as history:
        earlier = regress_resume.find(folder.name, suite, history)
    device = next(iter(earlier.cases.values())).device
    (tmp_path / "other.so").write_bytes(b"another delegate")
    with pytest.raises(Misuse, match="the delegate is another one than then"):
        earlier.check([SimpleNamespace(name=device, delegate=lambda: tmp_path / "other.so")])


def test_a_cell_that_two_devices_fail_is_at_fault_itself(cluster, suite, tmp_path):
    def behave(device, spec):
        if spec.model.name == "m0":
            raise DeviceLost("run it", "the app died", serial="x") if device.name == "c" else RunFailed("run", "no", "")

    hosts(cluster, tmp_path, behave, ("rack1", "rack2"))
    with Lab(cluster.address) as lab:
        found = regress(suite, lab, tmp_path)
    assert [case.key for case in found.broken] == ["m0/auto/f32"] and found.broken[0].exit_code == 77
    assert [len(case.good) for case in found.cases] == [0, *[2] * 7]
    assert "is set aside: it failed m0/auto/f32 twice: run: no" in found.notes[0] and "goes on" in found.notes[1]
    kept = found.folder / found.broken[0].launches[-1].folder / "status.json"
    assert '"failed"' in kept.read_text()


def test_a_run_that_is_stopped_ends_on_its_host_and_the_worker_lives_on(cluster, suite, tmp_path):
    began, hosts_of_lab = threading.Event(), {}

    def behave(device, spec):
        if not began.is_set():
            began.set()
            assert hosts_of_lab["rack1"].stopped.wait(20)
            raise KeyboardInterrupt  # as a stopped device does

    hosts_of_lab |= hosts(cluster, tmp_path, behave, ("rack1",))
    with Lab(cluster.address) as lab:
        first, second = places(lab, tmp_path)
        spec = regress_cells.spec_of(suite.cells[0], suite, first)
        threading.Timer(0.1, lambda: began.wait(20) and first.stop()).start()
        with pytest.raises(RunFailed, match="it was stopped") as stopped:
            first.run(spec, runs_dir=tmp_path / "runs")
        assert stopped.value.kept.name == spec.run_id and hosts_of_lab["rack1"].stopped.is_set()
        other = regress_cells.spec_of(suite.cells[0], suite, second)
        assert second.run(other, runs_dir=tmp_path / "runs").is_complete()
        assert sum("; scheduler" in line for line in cluster.said) == 1, "the worker did not start again"
        hosts_of_lab["rack1"].source = "another commit"  # since it was asked for its devices
        with pytest.raises(Misuse, match="another version of Quadra"):
            second.run(regress_cells.spec_of(suite.cells[0], suite, second), runs_dir=tmp_path / "runs")


def test_a_lab_that_is_not_there_is_a_sentence(cluster, tmp_path):
    with pytest.raises(LabUnreachable, match="devices: none"), Lab(cluster.address) as lab:
        lab.devices()
    cluster.start_worker(locked := FakeHost("rack", tmp_path / "rack", [], None))
    locked.left_out = ["rack/LOCKED: unauthorized"]
    with pytest.raises(LabUnreachable, match="devices: none; rack/LOCKED: unauthorized"), Lab(cluster.address) as lab:
        lab.devices()
    host = FakeHost("other", tmp_path / "other", ["a"], None)
    host.source = "another commit"
    cluster.start_worker(host)
    with pytest.raises(Misuse, match="another version of Quadra"), Lab(cluster.address) as lab:
        lab.devices()
    for wrong in ("http://x", "x:0", "x:99999", "a b", "tcp://"):
        with pytest.raises(Misuse, match="scheduler's address"):
            address.checked(wrong)
    assert address.checked("") == "tcp://127.0.0.1:8786" and address.checked("tls://[::1]:9") == "tls://[::1]:9"


def test_contents_are_taken_whole_and_by_their_digest_only(tmp_path):
    (tmp_path / "a.tflite").write_bytes(b"0123456789")
    name, store, token = contents.name_of(tmp_path / "a.tflite"), Contents(tmp_path / "store"), "0" * 32
    assert store.missing([name]) == [name]
    store.put(name, token, 0, b"01234", False)
    assert store.missing([name]) == [name], "half a file is none"
    store.put(name, token, 5, b"56789", True)
    assert store.missing([name]) == [] and store.path(name).read_bytes() == b"0123456789"
    other = "f" * 64 + ".so"
    with pytest.raises(TransferFailed, match="another SHA-256"):
        store.put(other, token, 0, b"x", True)
    assert store.missing([other]) == [other]
    for wrong in ("../x", "x", f"{'f' * 64}.so/..", "F" * 64 + ".so"):
        with pytest.raises(Misuse):
            store.put(wrong, token, 0, b"", True)
    with pytest.raises(Misuse):
        store.put(other, "../../x", 0, b"", True)
    with pytest.raises(Misuse):
        store.put(other, token, contents.MOST_BYTES, b"x", True)


def test_a_run_arrives_as_it_was_and_nothing_else_does(tmp_path):
    made = run_folders.make(tmp_path / "runs").path
    packed = packing.pack(made)
    (tmp_path / "here").mkdir()
    packing.unpack(packed, tmp_path / "here")
    names = {p.relative_to(made).as_posix() for p in made.rglob("*") if p.is_file()} - {"spec.json"}
    assert (
        names
        == set(packed.digests)
        == {p.relative_to(tmp_path / "here").as_posix() for p in (tmp_path / "here").rglob("*") if p.is_file()}
    )
    assert all((tmp_path / "here" / name).read_bytes() == (made / name).read_bytes() for name in names)

    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("../../up"), io.BytesIO())
    hostile = [
        Packed({"../../up": "0" * 64}, stream.getvalue()),
        Packed({}, packed.tar),  # files that nobody announced
        Packed(packed.digests, packed.tar[:2000]),
        Packed({**packed.digests, "status.json": "0" * 64}, packed.tar),
        Packed({str(n): "" for n in range(6000)}, b""),
    ]
    for number, one in enumerate(hostile):
        folder = tmp_path / f"hostile{number}"
        folder.mkdir()
        with pytest.raises((ReplyNotUnderstood, TransferFailed, DeviceError)):
            packing.unpack(one, folder)
    assert not (tmp_path / "up").exists() and not (tmp_path.parent / "up").exists()


def test_devices_of_a_host_end_their_runs_at_the_same_time(tmp_path):
    def ends(number):
        for index in range(40):
            spec = specs.RunSpec(f"20260101-000000-000-m{number}_{index}", specs.ModelRef("m", "m.tflite", "0" * 64))
            run_folder.finish(run_folder.start(spec, tmp_path), run_folder.COMPLETE)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(ends, range(8)))  # raises what one of them raised
    assert (tmp_path / "latest").resolve().is_dir() and not list(tmp_path.glob(".*"))
