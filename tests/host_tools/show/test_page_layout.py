"""Pages can be read on a phone: what is wide scrolls and shows it, words stay whole, and links lead to what there is."""

import json
import re

import numpy as np
import pytest

import tasks
from host_tools.base.errors import RunFailed
from host_tools.judge import judged
from host_tools.record import run_folder, spec as specs
from host_tools.show import report
from tests.host_tools import run_folders

STYLE = re.sub(r"/\*.*?\*/", "", (report.TEMPLATES / "style.css").read_text(), flags=re.DOTALL)
PAGES = [path for path in sorted(report.TEMPLATES.glob("*.html")) if path.name != "base.html"]
RULES = [(selector.strip(), body) for selector, body in re.findall(r"([^{}]+)\{([^{}]*)\}", STYLE)]


def rules(wanted):
    """All that the style sheet says of a selector."""
    return " ".join(body for selector, body in RULES if wanted in re.split(r"\s*,\s*", selector))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_table_and_each_wide_picture_scrolls(page):
    text = page.read_text()
    assert text.count("<table") == len(re.findall(r'<div class="scroll"[^>]*><table', text))
    assert text.count("row.svg") == text.count('<div class="scroll map">{{ row.svg')
    assert "overflow-x: auto" in rules(".scroll") and "var(--shade)" in rules(".scroll"), "a shade at the edge says it"
    assert "sticky" in rules("tr > :first-child") and "background" in rules("tr > :first-child")


def test_words_and_numbers_stay_whole():
    for selector, body in RULES:
        cells = re.search(r"(^|[\s,>])(td|th|tr|table)\b|\.(n|keep|text|name)\b", selector)
        assert not (cells and re.search("anywhere|break-all|break-word", body)), selector
    assert "nowrap" in rules(".n") and "nowrap" in rules("td.keep")
    assert "nowrap" not in rules(".badge"), "a long one would run out of the page"


def test_names_may_go_on_after_their_dashes_and_slashes():
    show = report.environment().from_string("{{ name | breakable }}").render
    assert show(name="a_b/c-d.e") == "a_<wbr>b/<wbr>c-<wbr>d.<wbr>e"
    assert show(name="<b>/x") == "&lt;b&gt;/<wbr>x" and show(name="CONV") == "CONV"
    assert show(name="DEPTHWISE_CONV_2D_OF_28_LETTER") == "DEPTHWISE_<wbr>CONV_<wbr>2D_<wbr>OF_<wbr>28_<wbr>LETTER"
    parts = show(name="a" * 60 + ";b").split("<wbr>")
    assert parts == ["a" * 28, "a" * 28, "aaaa;", "b"], "a name without an end would push all else out of its table"


def test_names_in_sentences_do_not_widen_the_page_and_reasons_stand_below_their_op_on_a_phone(tmp_path):
    assert "anywhere" in rules("p")
    name = "n" * 200
    folder = run_folders.make(tmp_path, [np.full((1, 4), np.nan, np.float32)], [np.zeros((1, 4), np.float32)])
    for file in ("tensors.json", "verdicts.json"):
        text = (folder.path / file).read_text().replace("output0", name)
        (folder.path / file).write_text(text)
    html = report.render(judged.judge(folder))
    shown = re.sub("<title>.*?</title>|<p\\b.*?</p>", "", html, flags=re.DOTALL)
    assert "has 4 NaN where" in html and name not in shown
    assert re.search('<table class="stacked">\\s*<tr><th>op</th>', html)


def test_commands_in_sentences_are_set_as_code():
    show = report.environment().from_string("{{ text | with_code }}").render
    assert show(text="`inv bench` on <b>; `x`") == "<code>inv bench</code> on &lt;b&gt;; <code>x</code>"
    assert show(text="`<i>` a ` alone") == "<code>&lt;i&gt;</code> a ` alone"


def html_of(tmp_path, inputs=None, **more):
    """The report of a run whose output is a mask."""
    mask = np.zeros((1, 16, 16, 1), np.float32)
    mask[0, :8] = 1
    folder = run_folders.make(tmp_path, [mask], name="selfie_segmentation", **more)
    spec = folder.spec().to_json()
    run_folder.write_json(folder.path / "spec.json", {**spec, "inputs": {**spec["inputs"], **(inputs or {})}})
    return folder, report.render(judged.judge(folder))


def test_nothing_is_found_in_noise(tmp_path):
    _, html = html_of(tmp_path)
    assert "of the picture" not in html and "data:image" not in html and "output0" in html


def test_what_was_found_in_arrays_is_shown(tmp_path):
    _, html = html_of(tmp_path, {"kind": "arrays", "arrays": "/a/folder"})
    assert "50.0000% of the picture" in html


def test_the_request_is_there_with_its_command(tmp_path):
    folder, html = html_of(tmp_path, {"seed": 7})
    command = re.search(r'<pre class="command">(.*)</pre>', html).group(1)
    assert command == f"./inv run {folder.spec().model.path} --backend=opencl --range=-1,1 --seed=7"
    assert "backend=opencl, precision=f32" in html and "20 inferences of Quadra, XNNPACK; 1 thread" in html


def test_the_steps_of_a_build_are_words_and_those_that_took_time(tmp_path):
    folder = run_folders.make(tmp_path, [np.ones((1, 4), np.float32)])
    answer = json.loads((folder.path / "verdicts.json").read_text())
    answer["partitions"][0]["timings_us"] = {"compile": 1500, "first_launch": 60, "tune": 0}
    run_folder.write_json(folder.path / "verdicts.json", answer)
    html = report.render(judged.judge(folder))
    assert "compile, ms" in html and "first launch, ms" in html and "tune, ms" not in html


def test_what_a_folder_lacks_is_not_told(tmp_path):
    """As that of a run on a device whose app crashed."""
    library = {"path": "", "bytes": 1, "sha256": "0" * 64}
    known = {
        "time": "",
        "cpu": "a chip",
        "cpus": 8,
        "load_average": [1.0],
        "system": "",
        "python": "",
        "library": library,
    }
    folder = run_folders.make(tmp_path, environment=known)
    html = report.render(judged.judge(folder))
    assert "a chip, 8 CPUs; load" in html and "plan show" not in html and "Plan and memory" in html
    run_folder.write_json(folder.path / "environment.json", {**known, "cpus": 0})
    (folder.path / "partition_0").mkdir()
    html = report.render(judged.judge(folder))
    assert "a chip; load" in html and f"./inv plan show {folder.spec().run_id}" in html


def test_trace_and_memory_map_are_linked_where_they_are(tmp_path):
    names = (report.TRACE, report.MEMORY_MAP)
    folder, html = html_of(tmp_path, profile=run_folders.PROFILE)
    assert not [name for name in names if name in html]
    for name in names:
        (folder.path / name).write_text("")
    html = report.render(judged.judge(folder))
    assert all(html.count(f'<a href="{name}">') == 2 for name in names), "with what it is, and in the list of files"


def test_the_trace_of_a_profile_is_linked_at_once(tmp_path):
    folder = run_folders.make(tmp_path, profile=run_folders.PROFILE)
    tasks.profile.body(None, str(folder.path))
    assert f'<a href="{report.TRACE}">' in (folder.path / report.FILE).read_text()


def test_a_failed_run_says_what_it_got(tmp_path):
    spec = run_folders.make(tmp_path).spec()
    partial = run_folder.start(specs.RunSpec("20990101-000000-000-x", spec.model), tmp_path)
    error = RunFailed("run x", "it was ended by signal 11", "report it")
    html = report.render(judged.judge(run_folder.finish(partial, "crashed", "measure", error)))
    assert "The run did not finish" in html
    assert re.findall(r"<dt>(while|got|next)</dt>", html) == ["while", "got", "next"]
    assert "./inv run" in html, "to try it again"


def luminance(colour):
    full = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(full[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_on_what_lies_behind_it(scheme):
    colours = [dict(re.findall(r"--([\w-]+): (#\w+)", body)) for selector, body in RULES if selector.endswith(":root")]
    known = colours[0] if scheme == "light" else {**colours[0], **colours[1]}
    pairs = [(text, back) for text in ("ink", "dim", "quadra") for back in ("back", "card", "soft")]
    for text, back in [*pairs, *((one, f"{one}-back") for one in ("good", "bad", "warn"))]:
        dark, bright = sorted(luminance(known[one]) for one in (text, back))
        assert (bright + 0.05) / (dark + 0.05) >= 4.5, (text, back)


def test_no_letter_is_smaller_than_eleven_pixels():
    sizes = [float(size) for size in re.findall(r"(?:font-size:|font:)\s*([\d.]+)px", STYLE)]
    assert len(sizes) > 10 and min(sizes) >= 11
    assert rules("small").startswith(" font-size: max("), "one in a small text is not smaller still"


def test_dots_of_every_runner_have_a_colour():
    """Without one, SVG draws them black, which the dark view hides."""
    assert re.search(r"[^-]fill: var\(--\w+\)", rules(".chart .dot"))
