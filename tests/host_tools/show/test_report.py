"""Reports render from any run folder, escape what is hostile, and need nothing from outside."""

import copy
import re
from html import unescape

import numpy as np
import pytest
from PIL import Image

from host_tools.base import terminal
from host_tools.base.errors import Misuse, RunFailed
from host_tools.judge import judged
from host_tools.record import profile, run_folder, spec as specs
from host_tools.show import report, run_account, run_pages
from tests.host_tools import run_folders
from tests.host_tools.record import plans

HOSTILE = '<script>alert(1)</script>"><img src=x onerror=alert(2)>{{7*7}}'


def test_a_complete_run_shows_its_figures(tmp_path):
    folder = run_folders.make(tmp_path, profile=run_folders.PROFILE)
    html = report.write(judged.judge(folder)).read_text()
    for figure in (
        "2 of 3 nodes on the GPU",
        "ARG_MAX is not supported",
        "3.00 ms",
        "ratio 1.50",
        "000_conv2d",
        "4.0 KiB",
        "right",
    ):
        assert figure in html, figure


def test_a_wrong_output_is_shown_as_wrong(tmp_path):
    right = np.linspace(0, 1, 12, dtype=np.float32).reshape(1, 12)
    html = report.render(judged.judge(run_folders.make(tmp_path, [right + np.float32(0.5)], [right])))
    assert '<span class="badge bad">wrong</span>' in html and "is off by 0.5 of its range" in html


def test_what_the_judgement_found_out_about_the_reference_is_shown(tmp_path):
    folder = run_folders.make(tmp_path)
    [ours] = folder.arrays("outputs")
    run_folder.write_arrays(folder.path / "xnnpack_outputs", [ours[..., ::-1]])
    result = judged.judge(folder)
    console = terminal.console()
    with console.capture() as caught:
        run_account.account(result, console)
    [finding] = result.comparison.findings
    for shown in (unescape(report.render(result)), run_account.short_account(result), caught.get()):
        assert "".join(finding.split()) in "".join(shown.split())


def test_hostile_names_are_escaped_everywhere(tmp_path):
    value = copy.deepcopy(run_folders.REPORT)
    value["target"] = value["device"]["name"] = value["backend"] = HOSTILE
    value["backend_notes"] = [HOSTILE, f"opencl: {HOSTILE}"]
    for node in value["nodes"]:
        node["name"] = node["op"] = node["reason"] = HOSTILE
    value["partitions"][0]["dispatches"][0].update(name=HOSTILE, kernel=HOSTILE)
    traced = {**run_folders.PROFILE, "partitions": value["partitions"]}
    samples = {**run_folders.TIMINGS, "samples_us": {HOSTILE: [1, 2], "quadra": [1]}, "xnnpack_error": HOSTILE}
    folder = run_folders.make(
        tmp_path,
        name=HOSTILE,
        report=value,
        profile=traced,
        timings=samples,
        reference={"kernels": HOSTILE, "rewrites": [HOSTILE]},
        environment={
            "time": HOSTILE,
            "cpu": HOSTILE,
            "opencl_devices": [{"error": HOSTILE}],
            "gles_devices": [{"name": HOSTILE, "version": HOSTILE}],
            "driver_settings": {HOSTILE: HOSTILE},
            "library": {"bytes": 1, "sha256": HOSTILE},
        },
    )
    tensors = folder.json("tensors.json")
    tensors["outputs"][0]["name"] = HOSTILE
    run_folder.write_json(folder.path / "tensors.json", tensors)
    (folder.path / "<img src=x>.txt").write_text("")
    html = report.render(judged.judge(folder))
    assert html.count("&lt;script&gt;") > 10
    assert "<script" not in html and "<img src=x" not in html and "49" not in re.findall(r"<h1>(.*?)</h1>", html)[0]


def test_it_needs_nothing_from_the_network(tmp_path):
    html = report.render(judged.judge(run_folders.make(tmp_path, profile=run_folders.PROFILE)))
    assert not re.findall(r"""(?:src|href)=["']?(?:https?:)?//""", html)
    assert not re.findall(r"url\(|@import", html)
    assert "default-src 'none'" in html


def test_a_failed_run_gets_a_report_with_the_error_and_the_log(tmp_path):
    spec = run_folders.make(tmp_path).spec()
    partial = run_folder.start(specs.RunSpec("20990101-000000-000-x", spec.model), tmp_path)
    (partial / "log.txt").write_text("last words <b>")
    parts = ["run x", "it was ended by signal 11", "report it"]
    html = report.render(judged.judge(run_folder.finish(partial, "crashed", "measure", RunFailed(*parts))))
    assert "ended by signal 11" in html and "last words &lt;b&gt;" in html and "crashed" in html


@pytest.mark.parametrize(
    "missing", ["timings.json", "verdicts.json", "model.json", "reference.json", "tensors.json", "status.json"]
)
def test_a_folder_with_a_file_missing_still_has_a_report_or_a_sentence(tmp_path, missing):
    folder = run_folders.make(tmp_path)
    (folder.path / missing).unlink()
    try:
        assert "a_model" in report.render(judged.judge(folder))
    except Misuse as error:
        assert missing in str(error)


def test_the_picture_and_the_mask_are_inside(tmp_path):
    mask = np.zeros((1, 16, 16, 1), np.float32)
    mask[0, :8] = 1
    folder = run_folders.make(tmp_path, [mask], name="selfie_segmentation")
    Image.new("RGB", (64, 64), (200, 30, 30)).save(folder.path / "picture.png")
    html = report.render(judged.judge(folder))
    assert html.count("data:image/jpeg;base64,") == 4
    assert "50.0000% of the picture" in html


def test_dispatch_times_are_medians_and_the_rest_is_overhead(tmp_path):
    found = profile.read(run_folders.make(tmp_path, profile=run_folders.PROFILE))
    assert [d.time_us for d in found.dispatches] == [200, 20]
    assert found.dispatches[0].gflops_per_s == pytest.approx(10.0)
    assert (found.invoke_us, found.dispatch_us, found.overhead_us) == (
        500,
        220,
        390,
    )  # 390: of 500-110, 400-330, 900-220
    assert found.by_kernel() == [("conv2d", 200, 1), ("relu", 20, 1)]


def test_a_run_without_profile_says_how_to_get_one(tmp_path):
    with pytest.raises(Misuse, match="--profile"):
        profile.read(run_folders.make(tmp_path))


def test_the_report_links_to_the_memory_the_time_line_and_the_plan_of_its_run(tmp_path):
    folder = run_folders.make(tmp_path)
    (folder.path / "partition_0").mkdir()
    plans.write(plans.PLAN, folder.path / "partition_0" / "plan.quadra")
    html = run_pages.write(judged.judge(folder)).read_text()
    for file in ("memory.html", "trace.pftrace", "partition_0/plan.quadra"):
        assert f'<a href="{file}">' in html and (folder.path / file).stat().st_size > 100, file
    assert f"plan show {folder.path.name}</code>" in html and '<a href="#request">command</a>' in html


def test_a_report_links_to_nothing_that_could_not_be_written(tmp_path):
    folder = run_folders.make(tmp_path)
    (folder.path / "partition_0").mkdir()
    (folder.path / "partition_0" / "plan.quadra").write_bytes(b"no plan")
    html = run_pages.write(judged.judge(folder)).read_text()
    assert '<a href="memory.html">' not in html and '<a href="trace.pftrace">' in html


def test_medians_that_do_not_add_up_say_so():
    """A busy machine: an inference of 258 ms, of which 194 lie in dispatches and 1 outside of them."""
    assert "do not add up" in profile.Profile((), 258e3, 1e3, 10).doubt
    assert not profile.Profile((), 258e3, 240e3, 10).doubt
