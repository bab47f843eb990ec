"""The folder of a bench or a session that is to go on."""

from pathlib import Path

from host_tools.base import settings
from host_tools.base.errors import Misuse
from host_tools.record import run_names


def of(name: str, what: str, kind: str) -> Path:
    """The folder that `name` means: a path, its name among the run folders or a prefix of it, or the model or suite that it was
    of. Misuse where there is none.

    what: the bench, the session; kind: one of run_names.KINDS, and the task that makes such folders.
    """
    runs_dir = settings.read().runs_dir
    path = Path(name).expanduser()
    if path.is_dir():
        return path.resolve()
    known = sorted(path.name for path in runs_dir.glob(f"{kind}-*") if path.is_dir())
    tried = f"go on with {what} {name}"
    if not known:
        do_next = f"give the path of a folder that `./inv {kind}` has made"
        raise Misuse(tried, f"{runs_dir} has no folder of `inv {kind}`", do_next)
    return (runs_dir / run_names.chosen(name, known, tried, str(runs_dir))).resolve()
