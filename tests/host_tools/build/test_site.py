"""The documentation as a site: every page, links that lead somewhere, nothing from the network."""

import re

import pytest

from host_tools.base import settings
from host_tools.base.errors import JudgementFailed, Misuse
from host_tools.build import site
from tests.host_tools.test_pages import PAGES

_FETCHED = re.compile(
    r"<(?:script|img|iframe|source)[^>]*\bsrc=[\"']?https?:|<link[^>]*\bhref=[\"']?https?:|@import[^;]*https?:"
)


def test_it_has_every_page_and_asks_the_network_for_nothing(tmp_path):
    first = site.build(tmp_path / "work", tmp_path / "site")
    assert "246 nodes on the GPU" in first.read_text()
    for page in PAGES[1:]:
        made = (first.parent / page.relative_to(settings.ROOT)).with_suffix(".html").read_text()
        assert 'href="' in made and page.stem in made, page
    texts = [file for kind in ("html", "css") for file in first.parent.rglob(f"*.{kind}")]
    assert [file.name for file in texts if _FETCHED.search(file.read_text())] == [] and len(texts) > len(PAGES)
    assert (first.parent / "docs" / "images" / "report.jpg").exists()


def test_a_link_to_nowhere_is_told(tmp_path, monkeypatch):
    (tmp_path / "docs").mkdir()
    menu = "nav: [README.md, CONTRIBUTING.md, CHANGELOG.md]\n"
    (tmp_path / "mkdocs.yml").write_text(re.sub(r"nav:\n(?: +.*\n)+", menu, (settings.ROOT / "mkdocs.yml").read_text()))
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        (tmp_path / name).write_text("# There\n")
    (tmp_path / "docs" / "new.md").write_text("[text](../README.md#not-there) [text](gone.md)\n")
    monkeypatch.setattr(settings, "ROOT", tmp_path)
    with pytest.raises(JudgementFailed) as told:
        site.build(tmp_path / "work", tmp_path / "site")
    for text in ("#not-there", "gone.md", 'not included in the "nav"'):
        assert text in str(told.value), told.value
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    with pytest.raises(Misuse, match="--out"):
        site.build(tmp_path / "work", tmp_path / "mine")
    assert (tmp_path / "mine" / "file").exists()
