"""`inv open`: the page of a run, a bench, a regression run or a parity run on a device, in a browser."""

from pathlib import Path

from host_tools.base import browser, settings
from host_tools.base.close_names import did_you_mean
from host_tools.base.errors import Misuse
from host_tools.judge import judged
from host_tools.record import run_folder, schema
from host_tools.show import bench_page, device_parity_page, report
from host_tools.show.regression import page as regression_page

_PAGES = (bench_page.FILE, regression_page.FILE, device_parity_page.FILE)
_MOST_LISTED = 5


def show(name: str) -> None:
    """Prints the page's path, and opens it where there is a display."""
    path = page_of(name)
    print(path)
    browser.show(path)


def page_of(name: str) -> Path:
    """The page that a name means: of a run, where it is written if it is not there yet; of a bench's or regression run's
    folder. Empty: of the one that ended last. Misuse: there is no such folder."""
    runs_dir = settings.read().runs_dir
    known = _known(runs_dir)
    name = name or next(reversed(known), run_folder.LATEST)
    fits = [name] if name in known else [one for one in known if one.startswith(name)]
    if len(fits) == 1:
        return _page_in(runs_dir / fits[0])
    if not known or name == run_folder.LATEST or Path(name).expanduser().exists():
        return _page_in(Path(name).expanduser())
    came_back = f"{len(fits)} folders match" if fits else f"no folder of {runs_dir} has that name"
    do_next = f"use `{run_folder.LATEST}`, a path, or one of: {', '.join((fits or list(known))[-_MOST_LISTED:])}"
    raise Misuse(
        f"open '{name}'", came_back, do_next if fits else did_you_mean(name, [run_folder.LATEST, *known], do_next)
    )


def _known(runs_dir: Path) -> dict[str, float]:
    """Runs, benches and regression runs, by name: when each ended, the last one last."""
    files = [runs_dir / name / schema.Status.FILE for name in run_folder.list_ids(runs_dir)]
    files += [path for file in _PAGES for path in runs_dir.glob(f"*/{file}")]
    ended = {path.parent.name: path.stat().st_mtime for path in files if path.is_file()}
    return dict(sorted(ended.items(), key=lambda one: one[1]))


def _page_in(folder: Path) -> Path:
    for path in (folder / file for file in _PAGES):
        if path.is_file():
            return path.resolve()
    run = run_folder.find(str(folder), settings.read().runs_dir)
    page = run.path / report.FILE
    return (page if page.is_file() else report.write(judged.judge(run))).resolve()
