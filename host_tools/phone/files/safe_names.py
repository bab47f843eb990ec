"""Names that come from a device, checked before a file here gets one. Pure; used for everything that is pulled."""

import re
from pathlib import Path

from host_tools.base.errors import ReplyNotUnderstood

NAME_LIMIT_BYTES = 200
DEPTH_LIMIT = 16
_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,10}")


def name(given: str) -> str:
    """The name of one file or folder, unchanged. Raises ReplyNotUnderstood where it could mean another place."""
    return _checked(given, given)


def relative(given: str) -> tuple[str, ...]:
    """The parts of a path inside a folder. Every path has one form only."""
    parts = tuple(_checked(part, given) for part in given.split("/"))
    if len(parts) > DEPTH_LIMIT:
        raise _refused(given, f"it is more than {DEPTH_LIMIT} folders deep")
    return parts


def inside(folder: Path, given: str) -> Path:
    """Where a pulled file goes: a path below `folder`."""
    return folder.joinpath(*relative(given))


def suffix(path: Path) -> str:
    """The ending of a file's name, where it is an ordinary one: it goes into a name on a device."""
    return path.suffix.lower() if _SUFFIX.fullmatch(path.suffix) else ""


def below(folder: str, path: str) -> str:
    """The part of a device's path that is below a device's folder."""
    start = folder.rstrip("/") + "/"
    if not path.startswith(start) or path == start:
        raise _refused(path, f"it is not below {folder}")
    return path[len(start) :]


def _checked(part: str, given: str) -> str:
    if part in ("", ".", ".."):
        raise _refused(given, f"{part!r} is no name")
    if any(c in "/\\\ufffd" or not c.isprintable() for c in part):
        raise _refused(given, "it holds a separator, a control character, or is not UTF-8")
    if part[0] in "-~" or part[0].isspace() or part[-1].isspace():
        raise _refused(given, "it begins or ends with a character that tools interpret")
    try:
        length = len(part.encode("utf-8"))
    except UnicodeEncodeError:
        raise _refused(given, "it is not UTF-8") from None
    if length > NAME_LIMIT_BYTES:
        raise _refused(given, f"it is longer than {NAME_LIMIT_BYTES} bytes")
    return part


def shown(given: str) -> str:
    """A name fit to be printed."""
    return ascii(given if len(given) <= 120 else given[:120] + "…")


def _refused(given: str, why: str) -> ReplyNotUnderstood:
    came_back = f"{shown(given)}: {why}"
    return ReplyNotUnderstood("take a file's name from a device", came_back, "nothing was written", step="names")
