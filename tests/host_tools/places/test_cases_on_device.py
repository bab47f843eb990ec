"""Many cases in one process on a device: each result comes as it is made; what ends a process, or garbles a line, costs
one case."""

import time

import numpy as np
import pytest

from host_tools.base.errors import DeviceLost, DeviceTimedOut, TransferFailed
from host_tools.judge import judged_cases as judged
from host_tools.phone.adb.adb_device import Device
from host_tools.phone.app.start_batch import Listener
from host_tools.phone.app.start_in_shell import Ended
from host_tools.places import cases_on_device
from host_tools.places.cases_on_device import CasesOnDevice, Job, Parts
from host_tools.record import case_set
from host_tools.record.case_set import COLUMNS, Part, Writer
from host_tools.virtual_device.device import VirtualDevice
from tests import parity
from tests.host_tools.places.test_native_runner import parts  # noqa: F401 (fixture)

COLUMN = COLUMNS["opencl/f32/buffer"]
OPTIONS = {"backend": "opencl", "precision": "f32", "small_partitions_allowed": "1"}


@pytest.fixture
def phone(tmp_path, adb):
    with VirtualDevice(tmp_path / "root") as one:
        one.boot_s = 0
        yield one
        assert not [note for note in one.log if note.what == "bug"]


@pytest.fixture
def cases(tmp_path):
    return small_set(tmp_path)


def small_set(folder, ops=("RELU", "ABS", "NEG"), columns=(COLUMN.name,)):
    """A vector of each op, alone."""
    writer = Writer(folder)
    for op in ops:
        (case,) = parity.cases_of(op, 1)
        part = Part(case.id, "vector", op, 1, {"f32": 1e-5, "f32_f16": 1e-2, "f16": 1e-2})
        writer.add(case.model(), case.feeds(), case.expected(), [part], columns)
    writer.finish([])
    return case_set.read(folder)


def run(phone, parts, cases, numbers, on_begin=lambda number: None, made=None):
    """Results by case, and who ran them."""
    found = {}
    runner = CasesOnDevice(Device(phone.serial, virtual=True), Parts(*(made or parts)), lambda text: None)
    runner.push()
    jobs = [Job(number, OPTIONS) for number in numbers]

    def result(number, one):
        assert numbers[number] not in found, "each once"
        found[numbers[number]] = one

    runner.run(cases, jobs, result, on_begin)
    return found, runner


def verdicts(cases, found):
    rows = {
        n: judged.judge(cases.cases[n], COLUMN, one.outputs, cases.expected[n], one.report)[0].verdict
        if one.report
        else one.died or one.error
        for n, one in found.items()
    }
    return [rows[n] for n in sorted(rows)]


def test_a_case_that_ends_the_process_costs_itself_alone(phone, parts, cases, monkeypatch, tmp_path):
    # It is still being compiled when the signal comes.
    monkeypatch.setenv("QUADRA_DRIVER_CACHE_DIR", str(tmp_path / "nothing-compiled"))
    phone.faults.add("app.run:crash@2")
    found, runner = run(phone, parts, cases, [0, 1, 2])
    right, crashed, last = verdicts(cases, found)
    assert (right, last) == ("right", "right") and crashed.startswith("it ended the process: SIGSEGV at the stage")
    assert runner.processes == 2 and runner.received_bytes > 1000 and runner.sent_bytes > 1 << 20
    store = phone.root / "data/local/tmp/quadra/store"
    assert [path.name for path in store.iterdir() if path.suffix == ".json"] == []  # lists and targets are gone


def test_a_case_that_hangs_is_ended(phone, parts, cases, monkeypatch):
    monkeypatch.setattr(cases_on_device, "CASE_S", 3)
    phone.faults.add("app.run:slow=999999")
    found, _ = run(phone, parts, cases, [0])
    assert found[0].died == "no end within 3 s"


def test_a_damaged_result_is_made_again(phone, parts, cases):
    phone.faults.add("app.run:slow=100")  # the second case is still running when the fault comes
    damaged = []

    def begins(number):
        if number == 1 and not damaged:
            damaged.append(number)
            phone.faults.add("shell.output:corruptx8")

    found, runner = run(phone, parts, cases, [0, 1, 2], begins)
    assert verdicts(cases, found) == ["right"] * 3 and runner.processes > 1


def test_what_is_always_damaged_is_an_error(phone, parts, cases, monkeypatch):
    started = []

    def start(starter, words, listener):
        started.append(words)
        listener.line("begin 0")
        return Ended(), "the result of case 0 has another checksum than the one sent"

    monkeypatch.setattr(cases_on_device, "start", start)
    with pytest.raises(TransferFailed, match="another checksum"):
        run(phone, parts, cases, [0, 1, 2])
    assert len(started) == 3


@pytest.mark.parametrize("line", ["end 0 00000000 {}", "end 1 a3 {}", "data !", "begin x", "end 0"])
def test_a_line_that_is_not_whole_is_damage(line):
    listener = Listener(lambda *result: pytest.fail("a result"), lambda number: None)
    listener.line("begin 0")
    with pytest.raises(ValueError):
        listener.line(line)


def test_a_lost_device_keeps_the_results_until_then(phone, parts, cases):
    found = {}

    def begins(number):
        if number == 1:
            phone.reboot(0.0)

    runner = CasesOnDevice(Device(phone.serial, virtual=True), Parts(*parts), lambda text: None)
    runner.push()
    with pytest.raises(DeviceLost):
        runner.run(cases, [Job(n, OPTIONS) for n in (0, 1, 2)], found.__setitem__, begins)
    assert list(found) == [0]


def test_a_cut_cable_is_told_at_once(phone, parts, cases):
    """Seen red: the device's own thread died of the fault, and nobody heard of it."""
    phone.faults.add("shell.output:drop@20")
    with pytest.raises(DeviceLost):
        run(phone, parts, cases, [0, 1, 2])


def test_a_device_that_says_nothing_is_left(phone, parts, cases, monkeypatch):
    monkeypatch.setattr(cases_on_device, "_SILENCE_S", 3 - cases_on_device.CASE_S)
    phone.faults.add("app.run:slow=999999")
    began = time.monotonic()
    with pytest.raises(DeviceTimedOut, match="nothing was heard of it for 3 s"):
        run(phone, parts, cases, [0])
    assert time.monotonic() - began < cases_on_device.CASE_S, "the runner's own alarm ended it"


def test_a_place_outside_of_the_pack_is_refused(phone, parts, cases):
    (first, *_), size = cases.cases, cases.pack.stat().st_size
    outside = case_set.Case(first.columns, (size - 10, 20), first.inputs, first.parts)
    broken = case_set.CaseSet(cases.folder, (outside,), (), cases.expected)
    found, _ = run(phone, parts, broken, [0])
    assert found[0].error == "read the list of cases: a case has no such place in the pack"


def test_what_the_delegate_refuses_is_told(phone, parts, cases):
    runner = CasesOnDevice(Device(phone.serial, virtual=True), Parts(*parts), lambda text: None)
    runner.push()
    found = []
    jobs = [Job(0, {**OPTIONS, "precision": "f64"}), Job(0, OPTIONS, {"storage": "paper"})]
    runner.run(cases, jobs, lambda number, result: found.append(result), lambda number: None)
    assert "precision" in found[0].error
    (row,) = judged.judge(cases.cases[0], COLUMN, found[1].outputs, cases.expected[0], found[1].report)
    assert row.verdict == "refused" and '"paper" instead of' in row.reason


def test_a_target_reaches_the_delegate(phone, parts, cases):
    (report,) = [r.report for r in run(phone, parts, cases, [0])[0].values()]
    facts = report["device"]["target"]
    runner = CasesOnDevice(Device(phone.serial, virtual=True), Parts(*parts), lambda text: None)
    runner.push()
    found = []
    runner.run(cases, [Job(0, OPTIONS, {**facts, "name": "mine"})], lambda n, r: found.append(r), lambda number: None)
    assert found[0].report["target"] == "mine" and np.array_equal(*_both(cases, found[0]))


def _both(cases, result):
    return result.outputs[0], cases.expected[0][0]
