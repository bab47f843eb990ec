"""The documentation as a site: every page, links that lead somewhere, nothing from the network."""

import re
import shutil
import subprocess

import pytest

from host_tools.base import settings
from host_tools.base.errors import JudgementFailed, Misuse
from host_tools.dev import site
from tests.host_tools.test_pages import PAGES

_FETCHED = re.compile(
    r"<(?:script|img|iframe|source)[^>]*\bsrc=[\"']?https?:|<link[^>]*\bhref=[\"']?https?:|@import[^;]*https?:"
)


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    return site.build(folder / "work", folder / "site")


def test_it_has_every_page_and_asks_the_network_for_nothing(first):
    assert "246 nodes on the GPU" in first.read_text()
    for page in PAGES[1:]:
        made = (first.parent / page.relative_to(settings.ROOT)).with_suffix(".html").read_text()
        assert 'href="' in made and page.stem in made, page
    texts = [file for kind in ("html", "css") for file in first.parent.rglob(f"*.{kind}")]
    assert [file.name for file in texts if _FETCHED.search(file.read_text())] == [] and len(texts) > len(PAGES)
    assert (first.parent / "docs" / "images" / "report.jpg").exists()


@pytest.mark.skipif(not shutil.which("chromium"), reason="chromium is not installed")
def test_search_finds_words_without_a_server(first, tmp_path):
    page = first.parent / "docs" / "numbers.html"
    argv = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/profile"]
    argv += ["--virtual-time-budget=8000", "--dump-dom", f"{page.as_uri()}?q=oclgrind"]
    shown = subprocess.run(argv, capture_output=True, text=True, timeout=120).stdout
    assert re.search(r"\d+ matching documents", shown) and 'replay.html" class="md-search-result__link"' in shown, (
        shown[-3000:]
    )


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
