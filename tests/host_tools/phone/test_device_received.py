"""What a device left is read only in its form: whatever else it says is an error, and never a traceback later."""

import contextlib
import copy
import io
import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from rich.console import Console

from host_tools.base.errors import QuadraError, ReplyNotUnderstood
from host_tools.judge import judged
from host_tools.phone.files import check_pulled
from host_tools.phone.state import device_facts
from host_tools.record import device_condition, run_folder, schema
from host_tools.show import report, run_account
from tests.host_tools import run_folders
from tests.host_tools.phone.fake_device import FakeDevice

ENVIRONMENT = {
    "schema_version": 1, "time": "2026-11-21T22:00:00Z", "cpu": "zuma", "cpus": 9, "system": "Android 14 (API 34)",
    "device": {"manufacturer": "Google", "model": "Pixel 8", "abis": ["arm64-v8a"]},
    "packages": {"tensorflow-lite": "2.16.1"}, "thermal": {"before": "none", "after": "light"},
    "opencl_devices": [{"name": "Mali-G715", "vendor": "ARM", "version": "OpenCL 3.0", "driver": "3.0"}],
    "gles_devices": [{"error": "no display"}],
}  # fmt: skip


def complete(path, **files):
    return run_folders.make(path, **{"environment": ENVIRONMENT, "profile": run_folders.PROFILE, **files})


def rewrite(folder, name, value):
    (folder.path / name).write_text(json.dumps(value))


def test_a_run_in_its_form_is_believed(tmp_path):
    check_pulled.check(complete(tmp_path).path, "fake:1")


@pytest.mark.parametrize(
    "name", ("timings.json", "verdicts.json", "tensors.json", "environment.json", "outputs/000.npy")
)
def test_a_run_that_calls_itself_complete_and_lacks_a_file_is_a_lie(name, tmp_path):
    folder = complete(tmp_path)
    (folder.path / name).unlink()
    with pytest.raises(ReplyNotUnderstood, match="the run reports success, but") as caught:
        check_pulled.check(folder.path, "fake:1")
    assert caught.value.exit_code == 89 and caught.value.serial == "fake:1"


@pytest.mark.parametrize("content", ("", "[]", "{", "[" * 100000, '{"a": NaN}', '"x"', "\xff\xfe"))
def test_a_file_that_is_no_object_is_refused(content, tmp_path):
    folder = complete(tmp_path)
    (folder.path / "verdicts.json").write_bytes(content.encode("latin-1"))
    with pytest.raises(ReplyNotUnderstood):
        check_pulled.check(folder.path, "fake:1")


def test_samples_that_are_no_times_are_refused(tmp_path):
    for samples in ({"quadra": []}, {"quadra": [-1]}, {"quadra": ["1"]}, {"quadra": [True]}, {}, {"quadra": 3}):
        folder = complete(tmp_path, timings={**run_folders.TIMINGS, "samples_us": samples})
        with pytest.raises(ReplyNotUnderstood, match="timings.json"):
            check_pulled.check(folder.path, "fake:1")


def test_an_array_that_is_damaged_is_refused(tmp_path):
    folder = complete(tmp_path)
    file = folder.path / "outputs" / "000.npy"
    file.write_bytes(file.read_bytes()[:-4])
    with pytest.raises(ReplyNotUnderstood):
        check_pulled.check(folder.path, "fake:1")
    assert check_pulled.damaged(folder.path) == ["outputs/000.npy", "tensors.json"] and not file.exists()


def test_only_files_that_a_runner_leaves_are_taken():
    good = ["verdicts.json", "outputs/000.npy", "shipped_opencl_outputs/001.npy", "partition_0/plan.quadra",
            "partition_12/kernels/007_conv2d.cl", "partition_0/graph.opt.txt"]  # fmt: skip
    bad = ["status.json", "spec.json", "log.txt", "report.html", "inputs/000.npy", "cpu_outputs/../x.npy", "../verdicts.json",
           "verdicts.json\n", "partition_0/kernels/a/b", "outputs/000.npy.exe", "model.json", "picture.png"]  # fmt: skip
    assert check_pulled.accepted([*good, *bad]) == good


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=4,
)
_FILES = {"timings.json": run_folders.TIMINGS, "verdicts.json": run_folders.REPORT, "environment.json": ENVIRONMENT,
          "profile.json": run_folders.PROFILE}  # fmt: skip


def _places(value, path=()):
    """Paths to everything inside a JSON value."""
    yield path
    rows = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in rows:
        yield from _places(inner, (*path, key))


@given(st.data())
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
def test_whatever_a_device_writes_is_refused_or_shown(tmp_path_factory, data):
    name = data.draw(st.sampled_from(sorted(_FILES)))
    value = copy.deepcopy(_FILES[name])
    place = data.draw(st.sampled_from([path for path in _places(value) if path]))
    inner = value
    for key in place[:-1]:
        inner = inner[key]
    if data.draw(st.booleans()):
        inner[place[-1]] = data.draw(_JSON)
    elif isinstance(inner, dict):
        del inner[place[-1]]
    folder = complete(tmp_path_factory.mktemp("run"))
    rewrite(folder, name, value)
    try:
        check_pulled.check(folder.path, "fake:1")
    except ReplyNotUnderstood:
        check_pulled.damaged(folder.path)  # as of an interrupted run: what is left can be shown
        with contextlib.suppress(QuadraError):
            assert report.render(judged.judge(folder))
        return
    inside = check_pulled.environment(folder.path)
    merged = device_facts.merged(
        inside, folder.path / "spec.json", device_facts.of(FakeDevice({})), {"before": "none", "readings": []}
    )
    rewrite(folder, "environment.json", {**merged, "route": "app", "device_events": []})
    try:
        assert report.render(judged.judge(folder))
        run_account.account(judged.judge(folder), Console(file=io.StringIO()))
    except QuadraError:
        pass


def test_the_devices_facts_are_merged_with_what_the_runner_saw(tmp_path):
    seen = device_facts.of(
        FakeDevice({"getconf": "16384\n", "uname": "6.1.0\x1b[31m\n", "cat /proc/loadavg": "1.50 0.20 0.10 1/2 3\n"})
    )
    assert (seen["page_bytes"], seen["kernel"], seen["soc"]) == (16384, "6.1.0 [31m", "Tensor G3")
    library = tmp_path / "libquadra.so"
    library.write_bytes(b"x")
    merged = device_facts.merged(
        ENVIRONMENT, library, seen, {"before": "none", "after": "light", "throttled": False, "readings": []}
    )
    assert merged["load_average"] == [1.5, 0.2, 0.1] and merged["library"]["bytes"] == 1
    assert (
        merged["device"]["serial"] == "fake:1"
        and device_condition.label(schema.of(schema.Device, merged["device"])) == "Google Pixel 8, Android 14"
    )
    assert merged["opencl_devices"][0]["name"] == "Mali-G715" and "host" in merged
    np.testing.assert_equal(merged["cpu"], "zuma")
    run_folder.write_json(tmp_path / "environment.json", merged)
