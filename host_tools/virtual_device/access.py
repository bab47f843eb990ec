"""Who may read and write where on the device, and who owns what: the rules that an app developer's phone has."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from host_tools.virtual_device.packages import Installed

ROOT_UID, SYSTEM_UID, SHELL_UID = 0, 1000, 2000
APP_DATA = "/data/data"
SHELL_FOLDER = "/data/local/tmp"

USERS = {ROOT_UID: "root", SYSTEM_UID: "system", SHELL_UID: "shell", 1023: "media_rw", 9997: "everybody"}

READ, WRITE = "r", "w"
NEITHER, BOTH = "", "rw"

# The longest prefix counts: what the shell may do, what an app may do.
_RULES: dict[str, tuple[str, str]] = {
    "/": (READ, READ),
    "/data": (NEITHER, NEITHER),
    "/data/app": (READ, READ),
    "/data/local": (READ, NEITHER),
    SHELL_FOLDER: (BOTH, READ),
    APP_DATA: (NEITHER, NEITHER),
    "/dev/null": (BOTH, BOTH),
    "/dev/zero": (BOTH, BOTH),
    "/dev/tty": (BOTH, BOTH),
    "/storage/emulated/0": (BOTH, NEITHER),
    "/tmp": (BOTH, NEITHER),
}
_READ_ONLY = ("/data", "/dev", "/storage", "/tmp")  # outside of these nothing can be written by anybody


def within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def rights(path: str, user: str) -> str:
    """Of `user` ("shell" or a package) at a path without links: some of "rw"."""
    if user != "shell" and within(path, f"{APP_DATA}/{user}"):
        return BOTH
    prefix = max((p for p in _RULES if within(path, p)), key=len)
    return _RULES[prefix][user != "shell"]


def read_only(path: str) -> bool:
    """Whether it lies on a file system that nobody can write to."""
    return not any(within(path, folder) for folder in _READ_ONLY)


def owner(path: str, apps: dict[str, "Installed"]) -> int:
    """The number of the user that a file belongs to, from where it lies."""
    if within(path, APP_DATA) and path.count("/") >= 3:
        app = apps.get(path.split("/")[3])
        return app.uid if app else SYSTEM_UID
    for folder, uid in ((SHELL_FOLDER, SHELL_UID), ("/storage/emulated/0", 1023), ("/tmp", SHELL_UID)):
        if within(path, folder):
            return uid
    return SYSTEM_UID if within(path, "/data") else ROOT_UID


def user_name(uid: int) -> str:
    """As `ls -l` writes it."""
    return USERS.get(uid) or (f"u0_a{uid - 10000}" if uid >= 10000 else str(uid))


def uid_of(user: str, apps: dict[str, "Installed"]) -> int:
    return apps[user].uid if user in apps else SHELL_UID
