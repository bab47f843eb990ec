"""The documentation as a site that opens without a network: README.md, docs/ and CHANGELOG.md, by MkDocs.

MkDocs takes one folder of pages, and the repository's root holds much else. So the pages are copied, with the same paths:
links stay as they are. MkDocs checks them, anchors too.
"""

import re
import shutil
import sys
from pathlib import Path

from host_tools.base import browser, child_process, settings
from host_tools.base.errors import CommandFailed, JudgementFailed, Misuse

_PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
_OURS = ".quadra-site"  # such a folder may be emptied
_QUIET = {"NO_MKDOCS_2_WARNING": "1"}
_LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)")


def from_arguments(out: str, opens: bool) -> Path:
    """Builds the site into `out` (default: .cache/docs/site), shows it if asked to; returns its first page."""
    work = settings.ROOT / ".cache" / "docs"
    site = Path(out).expanduser().absolute() if out else work / "site"
    first = build(work, site)
    if opens:
        browser.show(first)
    return first


def build(work: Path, site: Path) -> Path:
    """Builds the site; returns its first page. work: a folder for copies. JudgementFailed: a link leads nowhere, or a page is
    in no menu. Misuse: `site` holds something else."""
    if site.exists() and (not site.is_dir() or (any(site.iterdir()) and not (site / _OURS).exists())):
        raise Misuse(f"write the documentation into {site}", "it holds other files", "name a new folder with --out")
    copy_pages(work / "source")
    shutil.copyfile(settings.ROOT / "mkdocs.yml", work / "mkdocs.yml")
    argv = [sys.executable, "-P", "-m", "mkdocs", "build", "--clean"]
    try:
        child_process.run([*argv, "--config-file", work / "mkdocs.yml", "--site-dir", site], timeout_s=120, env=_QUIET)
    except CommandFailed as error:
        do_next = "correct the link; a new page needs a line in mkdocs.yml"
        raise JudgementFailed("build the documentation", error.came_back, do_next) from error
    (site / "404.html").unlink()  # its links begin at the root of a server
    (site / _OURS).touch()
    return site / "index.html"


def copy_pages(to: Path) -> None:
    """The pages, the pictures, and the sources that pages link to."""
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(settings.ROOT / "docs", to / "docs")
    for page in (*map(settings.ROOT.joinpath, _PAGES), *(settings.ROOT / "docs").glob("*.md")):
        named = [(page.parent / target).resolve() for target in _LINK.findall(page.read_text(encoding="utf-8"))]
        for file in (page, *named):
            if file.is_file():
                copy = to / file.relative_to(settings.ROOT)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, copy)
