"""inv parity --on: on a virtual device; what is wrong, crashes or is lost is named, and what is shown names nobody."""

import contextlib
import getpass
import json
import re
import socket
from pathlib import Path

import pytest

from host_tools.base import settings
from host_tools.base.errors import DeviceLost, JudgementFailed, Misuse
from host_tools.judge import judged_cases as judged
from host_tools.parity import device_parity, device_parity_session
from host_tools.phone.adb.adb_device import Device
from host_tools.places.cases_on_device import Parts
from host_tools.record import case_set, without_names
from host_tools.record.case_set import COLUMNS, Part, Writer
from host_tools.request import mends
from host_tools.show import device_parity_page
from host_tools.tasks import parity as parity_task
from host_tools.virtual_device.device import VirtualDevice
from tests import device_cases, parity
from tests.host_tools.places.test_native_runner import parts  # noqa: F401 (fixture)
from tests.vectors.batch import batches

COLUMN = "opencl/f32/buffer"
OPS = ("RELU", "SOFTMAX", "ARG_MAX")


@pytest.fixture
def phone(tmp_path, adb):
    with VirtualDevice(tmp_path / "root") as one:
        one.boot_s = 0
        yield one
        assert not [note for note in one.log if note.what == "bug"]


class SmallSets:
    """Two models, of RELU, and of SOFTMAX and ARG_MAX together; instead of the process that makes hundreds."""

    def __init__(self, folder: Path) -> None:
        self._folder, self.left_out = folder, []

    @contextlib.contextmanager
    def made(self, alone=()):
        folder = self._folder / f"set-{len(list(self._folder.glob('set-*')))}"
        folder.mkdir()
        writer = Writer(folder)
        relu, *others = (parity.cases_of(op, 1)[0] for op in OPS)
        for case in [relu, *others] if alone else [relu, *batches(others, key=lambda case: None)]:
            parts = [
                Part(one.id, "vector", one.op, 1, device_cases.TOLERANCE) for one in getattr(case, "parts", (case,))
            ]
            columns = list(COLUMNS) if alone else [COLUMN]
            writer.add(case.model(), case.feeds(), case.expected(), parts, columns)
        writer.finish(["memory_checker_sees_whole_buffers"])
        yield case_set.read(folder)


@pytest.fixture
def measured(phone, parts, tmp_path, monkeypatch):
    """measured(): what is found with small sets."""
    monkeypatch.setattr(device_parity, "case_maker", lambda ops, quick: SmallSets(tmp_path))

    def run(fresh=False, show=lambda text: None):
        device = Device(phone.serial, virtual=True)
        return device_parity.measure(device, None, [], True, fresh, show, Parts(*parts))

    return run


def test_all_is_right_and_what_is_shown_names_nobody(phone, measured, monkeypatch):
    monkeypatch.setattr(getpass, "getuser", lambda: "alice.w")
    monkeypatch.setattr(socket, "gethostname", lambda: "alices-laptop")
    found, folder = measured()
    assert judged.counts(found.rows) == {"right": 3, "wrong": 0, "refused": 0, "died": 0}
    found.device["note"] = f"{phone.serial} at {Path.home()}/x of {getpass.getuser()} on {socket.gethostname()}"
    document = device_parity.cleaned(found, [phone.serial])
    page = device_parity_page.write(document, folder)
    texts = [page.read_text(), (folder / device_parity_page.RESULTS).read_text()]
    for text in texts:
        for name in (phone.serial, getpass.getuser(), socket.gethostname(), str(Path.home()), str(settings.ROOT)):
            assert not re.search(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", text), name
        assert not re.search(r"/(data|home|root|tmp|work|usr)/", text)
        assert "Virtual device" in text and "llvmpipe" in text and "cl_khr_fp64" in text
    assert document["cost"]["programs"] >= 3 and document["finished"] and not document["not_right"]
    assert document["apis"]["opencl"]["target"]["max_image2d"] and len(document["slowest"]) == 2
    device_parity.fail_if_bad(found, folder)


def test_a_wrong_kernel_is_named_and_changes_are_tried(phone, measured):
    phone.faults.add("app.run:wrong_kernel=1.5")  # the one that brings an input in, whatever is changed
    found, folder = measured()
    relu, softmax = judged.bad(found)
    assert (relu.op, softmax.op, softmax.verdict) == ("RELU", "SOFTMAX", "wrong") and "differ by more" in relu.reason
    assert {"backend gles", "storage image", "no Winograd"} <= set(found.tried[1].changes) and not found.tried[1].mends
    page = device_parity_page.render(device_parity.cleaned(found, []))
    assert f"none of {len(found.tried[1].changes)} changes" in page and "1 of 3 right" in page
    with pytest.raises(JudgementFailed, match="2 of 3 are not right"):
        device_parity.fail_if_bad(found, folder)


def test_what_is_refused_is_repeated_alone_and_mended(phone, measured, monkeypatch):
    def target(facts, storage, more):
        poor = {"max_buffer_bytes": 64} if storage == "buffer" else {}
        return {**real(facts, storage, more), **poor}

    real = mends.target
    monkeypatch.setattr(mends, "target", target)
    found, _ = measured()
    assert judged.counts(found.rows)["refused"] == 3
    assert all(re.search("bytes.*64", row.reason) for row in found.rows), found.rows
    assert all("storage image" in one.mends and "no Winograd" not in one.mends for one in found.tried)


def test_a_case_that_ends_the_process_costs_itself_alone(phone, measured, monkeypatch, tmp_path):
    """The model of two is begun as the fourth: of the three before, two tell what the APIs are. Its kernels are not
    compiled yet, so that it still runs when the signal comes."""
    monkeypatch.setenv("QUADRA_DRIVER_CACHE_DIR", str(tmp_path / "nothing-compiled"))
    phone.faults.add("app.run:crash@4")
    phone.faults.add("app.run:crash@6")  # one of the two, alone
    found, _ = measured()
    (bad,) = judged.bad(found)
    assert bad.verdict == "died" and "SIGSEGV" in bad.reason and bad.op == OPS[2]
    assert found.tried[0].mends == ("nothing: alone, it is right",)


def test_a_lost_device_is_told_with_the_case_and_the_next_call_goes_on(phone, measured, tmp_path):
    def show(text):
        if text.startswith("1 of 2 runs"):
            phone.reboot(0.0)

    with pytest.raises(DeviceLost, match=r"it was at relu|it was at softmax.* and 1 other on opencl/f32/buffer") as met:
        measured(show=show)
    assert "kept until then: 1 run" in str(met.value) and met.value.kept
    assert "not finished" in (met.value.kept / device_parity_page.FILE).read_text()
    shown = []
    found, folder = measured(show=shown.append)
    assert folder == met.value.kept and judged.counts(found.rows)["right"] == 3
    assert [text for text in shown if " runs, " in text] == [f"1 of 1 runs, 0 cases not right; {COLUMN}"]
    assert re.search("Broken off: at (relu|softmax)", (folder / device_parity_page.FILE).read_text())
    assert found.finished and measured()[1] != folder


def test_fresh_starts_anew(phone, measured):
    def show(text):
        if text.startswith("1 of 2 runs"):
            phone.reboot(0.0)

    with pytest.raises(DeviceLost) as met:
        measured(show=show)
    assert measured(fresh=True)[1] != met.value.kept


def test_an_api_that_is_not_there_is_told(phone, measured, monkeypatch):
    def options(backend, precision):
        return {**device_parity_options(backend, precision), "opencl_library": "libnone.so"}

    device_parity_options = device_parity_session._options
    monkeypatch.setattr(device_parity_session, "_options", options)
    found, folder = measured()
    document = device_parity.cleaned(found, [])
    assert "libnone.so" in document["apis"]["opencl"]["absent"] and not found.rows
    assert "not there: " in device_parity_page.render(document)
    with pytest.raises(JudgementFailed, match="no case ran"):
        device_parity.fail_if_bad(found, folder)


def test_the_cases_of_an_op_run_from_the_command_line(phone, parts, capsys, monkeypatch):
    monkeypatch.setattr(device_parity.cases_on_device, "parts", lambda device, library: Parts(*parts))
    parity_task.on_device(phone.serial, None, ["RELU"], True, False, True)
    document = json.loads(capsys.readouterr().out)
    assert document["totals"]["right"] == sum(document["totals"].values()) > 0
    assert [row["op"] for row in document["ops"]] == ["RELU"]


@pytest.mark.slow
def test_all_cases_are_right(phone, parts, monkeypatch, capsys):
    monkeypatch.setattr(device_parity.cases_on_device, "parts", lambda device, library: Parts(*parts))
    parity_task.on_device(phone.serial, None, [], False, False, True)
    document = json.loads(capsys.readouterr().out)
    assert document["totals"]["right"] == sum(document["totals"].values()) > 1000
    assert document["cost"]["programs"] < 4500 and document["cost"]["pushed_bytes"] < 12 << 20


# What needs no device


def test_names_and_paths_go(tmp_path):
    told = {"a": [f"read {tmp_path}/model.tflite: no", "R58M12ABCDE: lost", "mediapipe/pose 1/2 f32/buffer"], "n": 3}
    cleaned = without_names.cleaned(told, ["R58M12ABCDE", "ab"])
    assert cleaned == {"a": ["read model.tflite: no", "…: lost", "mediapipe/pose 1/2 f32/buffer"], "n": 3}


def test_a_target_has_the_facts_of_the_device_and_new_decisions():
    source = (settings.ROOT / "delegate_native/device/gpu_info.cc").read_text()
    body = source.split("void VisitDecisions(")[1].split("\n}")[0]
    assert tuple(re.findall(r'v->\w+\((?:QUADRA_TEXT\()?"(\w+)"', body)) == mends.DECISIONS
    facts = {"vendor": "arm", "storage": "image2d", "one_program": True, "quirks": {"a": True}, "max_groups": [1, 2, 3]}
    made = mends.target(facts, "buffer", {"quirks": {"b": True}, "separate_buffers": True})
    assert made == {
        "vendor": "arm",
        "storage": "buffer",
        "vector_width": 4,
        "separate_buffers": True,
        "quirks": {"a": True, "b": True},
        "max_groups": [1, 2, 3],
    }


def test_every_quirk_of_the_table_is_tried_where_it_is_not_applied():
    quirks = device_cases.quirks()
    text = (settings.ROOT / "docs/targets.md").read_text().split("## Quirks")[1].split("\n## ")[0]
    assert quirks and set(quirks) == set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE))
    column = COLUMNS["gles/f16/buffer"]
    names = mends.table(column, {"quirks": {quirks[0]: True}, "supports_fp16": True}, quirks)
    assert {f"quirk {name}" for name in quirks[1:]} == {name for name in names if name.startswith("quirk")}
    assert {"precision f32", "precision f32_f16", "storage image", "backend opencl", "no half arithmetic"} <= set(names)
    assert not {"precision f16", "storage buffer", "backend gles"} & set(names)
    assert "precision f32" not in mends.table(COLUMNS["gles/f32/buffer"], {}, [])


def test_every_op_runs_with_floats_in_each_api_and_storage_and_with_half_somewhere():
    ran = [(case, columns) for case, columns in device_cases.vectors(parity.op_names(), False, False)]
    for wanted in (device_cases.FLOATS, ["/f32_f16/", "/f16/"]):
        for word in wanted:
            ops = {p.op for c, columns in ran for p in getattr(c, "parts", (c,)) if any(word in n for n in columns)}
            missing = set(parity.op_names()) - ops - {"STABLEHLO_COMPOSITE", "STABLEHLO_SCATTER"}
            assert not missing if word in COLUMNS else len(missing) < 90
    columns = {name for _, columns in ran for name in columns}
    assert columns == set(COLUMNS)


def test_what_android_does_not_load_is_told_of_the_ops_that_were_asked_for(tmp_path):
    told = device_cases.write(tmp_path, ["RELU"], True, set(), only_ops=True)
    assert told == []
    told = device_cases.write(tmp_path, ["STABLEHLO_SCATTER"], True, set(), only_ops=True)
    assert told == ["stablehlo_scatter: TFLite 2.16.1, Android's runtime, does not load it"]


def test_an_op_that_there_is_not_is_named_before_anything_is_built(monkeypatch):
    monkeypatch.setattr(device_parity.cases_on_device, "parts", lambda *given: pytest.fail("it was built"))
    with pytest.raises(Misuse, match="no such op: NONSENSE"):
        device_parity.measure(None, None, ["NONSENSE"], True, True, lambda words: None)


def test_the_page_says_why_there_is_nothing_once_for_each_api_and_sets_a_log_line_by_line():
    reason = "cannot load libOpenCL.so"
    found = judged.Found(
        {"model": "M"}, {"opencl": {"absent": reason, "target": {}}}, {"sha256": "ab" * 32, "bytes": 9}
    )
    found.absent = {name: reason for name, column in COLUMNS.items() if column.backend == "opencl"}
    found.cost = {"seconds": 1, "runs": 0, "processes": 1, "programs": 0, "pushed_bytes": 0, "pulled_bytes": 0}
    page = device_parity_page.render(judged.document(found))
    assert page.count(reason) == 1 and "no case ran" in page and "0 of 0" not in page and "1 process;" in page
    assert "slowest" not in page and "0 ops" not in page and "libquadra.so, 9" in page
    found.rows = [judged.Row("add 1", "vector", "ADD", COLUMN, judged.DIED, "0:1: error: a\n0:2: error: b")]
    found.left_out, found.interruptions = ["models: `run` judges them"], ["at add 1: the connection broke"]
    page = device_parity_page.render(judged.document(found))
    assert re.search(r'<td class="text lines">.*died.*0:1: error: a\n0:2: error: b</td>', page)
    assert "<code>run</code> judges them." in page and "Broken off: at add 1: the connection broke." in page
