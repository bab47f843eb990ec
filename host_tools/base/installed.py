"""Whether this toolkit is a clone or was installed from its wheel, what its command is called, and where its data lie."""

import re
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
PREBUILT = PACKAGE / "prebuilt"  # in the wheel alone (host_tools/dev/release.py): what a clone builds
INSTALLED = PREBUILT.is_dir()
SOURCES = PREBUILT / "sources" if INSTALLED else PACKAGE.parent  # files of the repository that the toolkit reads
COMMAND = "quadra" if INSTALLED else "./inv"
TASKS = "host_tools.task_list" if INSTALLED else "tasks"  # the module: tasks.py of the repository
_IN_A_CLONE = re.compile(r"(?<![\w/.])(?:\./)?inv (?=[A-Za-z-])")


def said(text: str) -> str:
    """Text that names commands as in a clone, with the command that there is."""
    return _IN_A_CLONE.sub(f"{COMMAND} ", text) if INSTALLED else text
