"""The picture of a plan's memory has every tensor at its place, and is well-formed whatever their names are."""

import re
import xml.etree.ElementTree as ElementTree

import pytest

from host_tools.base.errors import Misuse
from host_tools.record import named_plans
from host_tools.show import memory_map
from tests.host_tools.record import plans

_NAME = "a <b> & \x07 c"


@pytest.fixture
def named(tmp_path):
    path = plans.write(plans.changed(tensors__1__name=_NAME), tmp_path / "plan.quadra")
    return named_plans.find(str(path))


def test_every_tensor_is_a_rectangle_over_its_dispatches(named, tmp_path):
    memory_map.write(named, tmp_path / "map.svg")
    root = ElementTree.parse(tmp_path / "map.svg").getroot()
    space = "{http://www.w3.org/2000/svg}"
    boxes = {
        box.find(f"{space}title").text: box
        for box in root.iter(f"{space}rect")
        if box.find(f"{space}title") is not None
    }
    assert len(boxes) == 5
    x, y = (next(box for words, box in boxes.items() if words.startswith(f"{name}:")) for name in "xy")
    assert x.get("y") == y.get("y") and x.get("height") == y.get("height"), "y lies where x lay"
    assert float(x.get("x")) + float(x.get("width")) <= float(y.get("x"))
    assert any("a <b> &" in words for words in boxes)
    assert "made by add" in "".join(boxes)
    texts = " ".join(text.text for text in root.iter(f"{space}text"))
    assert "peak 384 bytes" in texts and "bound 192 bytes" in texts and "192 bytes kept at 001_add" in texts


def test_images_are_drawn_where_they_lie_in_an_arena(tmp_path):
    path = plans.write(plans.with_images_in_an_arena(), tmp_path / "plan.quadra")
    memory_map.write(named_plans.find(str(path)), tmp_path / "map.svg")
    root = ElementTree.parse(tmp_path / "map.svg").getroot()
    space = "{http://www.w3.org/2000/svg}"
    boxes = {box.findtext(f"{space}title"): box for box in root.iter(f"{space}rect")}
    x, middle, y = (
        next(b for words, b in boxes.items() if (words or "").startswith(f"{n}:")) for n in ("x", "middle", "y")
    )
    assert x.get("y") == y.get("y") and float(middle.get("y")) == pytest.approx(
        float(x.get("y")) + float(x.get("height"))
    )
    assert any("middle" in words and "96 bytes at 256" in words for words in boxes if words)
    texts = [text.text for text in root.iter(f"{space}text")]
    assert "b0 Arena" in texts and not any("Image" in (text or "") for text in texts)


def test_the_page_has_it_too(named, tmp_path):
    memory_map.write(named * 2, tmp_path / "map.html")
    assert (tmp_path / "map.html").read_text().count("<svg") == 2


def test_a_name_is_as_long_as_its_rectangle_and_else_a_number(tmp_path):
    def name_in(width, height, name="model/block_3/add"):
        found = memory_map._name(7, name, (10.0, 10.0, width, height))
        return ElementTree.fromstring(found[0]) if found else None

    assert name_in(200, 20).text == name_in(20, 200).text == "model/block_3/add"
    assert "rotate(-90" in name_in(20, 200).get("transform") and name_in(200, 20).get("transform") is None
    assert name_in(90, 20).text == "model…_3/add" and name_in(40, 40).text == "#7"
    assert name_in(60, 20, "input").text == "input" and name_in(200, 8) is None and name_in(15, 15) is None


def test_the_page_lists_the_tensors_by_number(named, tmp_path):
    memory_map.write(named, tmp_path / "map.html")
    text = (tmp_path / "map.html").read_text()
    rows = re.findall(r'<tr><td class="keep">(#\d+)</td><td class="name">(.*?)</td>', text)
    assert [number for number, _ in rows] == [f"#{i}" for i in range(5)]
    assert "a &lt;b&gt; &amp; \x07 c" in dict(rows)["#1"]
    assert "viewBox" not in text, "it would be scaled down"


def test_other_names_are_refused(named, tmp_path):
    with pytest.raises(Misuse, match=r"\.html or \.svg"):
        memory_map.write(named, tmp_path / "map.png")
    with pytest.raises(Misuse, match="there are 2 plans"):
        memory_map.write(named * 2, tmp_path / "map.svg")
