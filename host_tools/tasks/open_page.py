"""`inv open`: the page of a run, a bench, a regression run or a parity run on a device, in a browser; and `inv report --open`:
a run's model in Model Explorer."""

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from host_tools.base import browser, child_process, settings
from host_tools.base.errors import Misuse, ToolMissing
from host_tools.judge import judged
from host_tools.record import run_folder, run_list, run_names
from host_tools.record.run_folder import RunFolder
from host_tools.show import bench_page, device_parity_page, report, run_pages
from host_tools.show.regression import page as regression_page

_PAGES = (bench_page.FILE, regression_page.FILE, device_parity_page.FILE)


def show(name: str) -> None:
    """Prints the page's path, and opens it where there is a display."""
    path = page_of(name)
    print(path)
    browser.show(path)


def in_model_explorer(folder: RunFolder, overlays: Sequence[Path]) -> int:
    """Starts Model Explorer with the run's model and these overlays; returns its exit status when it was stopped."""
    beside = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    program, model = shutil.which("model-explorer", path=beside), Path(folder.spec().model.path)
    if not program:
        raise ToolMissing("open Model Explorer", "`model-explorer` was not found", "pip install ai-edge-model-explorer")
    if not model.is_file():
        raise Misuse(
            "open Model Explorer", f"the run's model is not at {model} any more", "put it there, or run it again"
        )
    try:
        return child_process.hand_over([program, f"--node_data_paths={','.join(map(str, overlays))}", model])
    except KeyboardInterrupt:  # as it asks to be stopped
        return 0


def page_of(name: str) -> Path:
    """The page that a name means: of a run, where it is written if it is not there yet; of a bench's or regression run's
    folder. Empty: of the one that ended last. Misuse: there is no such folder."""
    runs_dir = settings.read().runs_dir
    known = [one for one in run_list.folders(runs_dir) if _has_page(runs_dir / one)]
    name = name or next(reversed(known), run_names.LATEST)
    if run_names.fitting(name, known):
        return _page_in(runs_dir / run_names.chosen(name, known, f"open '{name}'", str(runs_dir)))
    if not known or name == run_names.LATEST or Path(name).expanduser().exists():
        return _page_in(Path(name).expanduser())
    return _page_in(runs_dir / run_names.chosen(name, known, f"open '{name}'", str(runs_dir)))


def _has_page(folder: Path) -> bool:
    """Whether there is one, or one can be written."""
    return not run_names.kind(folder.name) or any((folder / file).is_file() for file in _PAGES)


def _page_in(folder: Path) -> Path:
    for path in (folder / file for file in _PAGES):
        if path.is_file():
            return path.resolve()
    run = run_folder.find(str(folder), settings.read().runs_dir)
    page = run.path / report.FILE
    return (page if page.is_file() else run_pages.write(judged.judge(run))).resolve()
