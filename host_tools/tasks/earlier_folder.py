"""The folder of a bench or a session that is to go on."""

from pathlib import Path

from host_tools.base import settings
from host_tools.base.errors import Misuse


def of(name: str, what: str, made_by: str) -> Path:
    """The folder that `name` means, by its name among the run folders or by its path. Misuse where there is none.

    what: the bench, the session; made_by: the command that makes such folders.
    """
    runs_dir = settings.read().runs_dir
    for folder in (runs_dir / name, Path(name).expanduser()):
        if folder.is_dir():
            return folder.resolve()
    do_next = f"give the name or path of a folder that `{made_by}` has made"
    raise Misuse(f"go on with {what} {name}", f"{runs_dir / name} is no folder", do_next)
