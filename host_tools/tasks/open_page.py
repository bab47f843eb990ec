"""`inv open`: the page of a run, a bench or a regression run, in a browser."""

from pathlib import Path

from host_tools.base import browser, settings
from host_tools.judge import judged
from host_tools.record import run_folder
from host_tools.show import bench_page, report
from host_tools.show.regression import page as regression_page

_PAGES = (bench_page.FILE, regression_page.FILE)


def show(name: str) -> None:
    """Prints the page's path, and opens it where there is a display."""
    path = page_of(name)
    print(path)
    browser.show(path)


def page_of(name: str) -> Path:
    """The page that a name means: of a run, where it is written if it is not there yet; of a bench's or regression run's
    folder. Misuse: there is no such folder."""
    for folder in (settings.read().runs_dir / name, Path(name).expanduser()):
        for file in _PAGES:
            if name and (folder / file).is_file():
                return (folder / file).resolve()
    run = run_folder.find(name, settings.read().runs_dir)
    path = run.path / report.FILE
    return (path if path.is_file() else report.write(judged.judge(run))).resolve()
