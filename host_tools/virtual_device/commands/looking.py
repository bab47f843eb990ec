"""Commands that look at folders and files: ls, stat, find, du, df, readlink."""

import fnmatch
import os
import stat as modes
import time
from typing import List, Tuple

from host_tools.virtual_device import access
from host_tools.virtual_device.call import Call, command
from host_tools.virtual_device.commands.options import split
from host_tools.virtual_device.files import Status


@command("ls")
def ls(call: Call) -> int:
    flags, _, words = split(call, "laA1dRnshiZtrSpFgo")
    status = 0
    files: List[Tuple[str, Status]] = []
    folders: List[str] = []
    for word in words or ["."]:
        try:
            found = call.files.stat(call.path(word), follow="l" not in flags and "d" not in flags)
        except OSError as error:
            status = call.fail(f"{word}: {error.strerror}")
            continue
        if modes.S_ISDIR(found.mode) and "d" not in flags:
            folders.append(word)
        else:
            files.append((word, found))
    _show(call, flags, files, "")
    for index, word in enumerate(folders):
        if len(folders) > 1 or files or "R" in flags:
            call.line(("\n" if index or files else "") + f"{word}:")
        status |= _folder(call, flags, word)
    return status


def _folder(call: Call, flags: str, word: str) -> int:
    path = call.path(word)
    try:
        names = call.files.names(path)
    except OSError as error:
        return call.fail(f"{word}: {error.strerror}")
    shown = [n for n in names if "a" in flags or "A" in flags or not n.startswith(".")]
    if "a" in flags:
        shown = [".", "..", *shown]
    found, status = [], 0
    for name in shown:
        try:
            found.append((name, call.files.stat(f"{path}/{name}", follow=False)))
        except OSError as error:
            status = call.fail(f"{word}/{name}: {error.strerror}")
    if "l" in flags or "s" in flags:
        call.line(f"total {sum((f.size + 4095) // 4096 * 4 for _, f in found)}")
    if "t" in flags:
        found.sort(key=lambda item: -item[1].mtime)
    _show(call, flags, found[::-1] if "r" in flags else found, path)
    if "R" in flags:
        for name, entry in found:
            if modes.S_ISDIR(entry.mode) and name not in (".", ".."):
                call.line(f"\n{word}/{name}:")
                status |= _folder(call, flags, f"{word}/{name}")
    return status


def _show(call: Call, flags: str, entries: List[Tuple[str, Status]], folder: str) -> None:
    rows = []
    for name, found in entries:
        shown = name
        if "F" in flags or "p" in flags:
            shown += "/" if modes.S_ISDIR(found.mode) else ""
        if "l" not in flags and "n" not in flags:
            rows.append((f"{found.ino} " if "i" in flags else "") + shown)
            continue
        if modes.S_ISLNK(found.mode):
            shown += " -> " + call.files.read_link(f"{folder}/{name}" if folder else call.path(name))
        who = str(found.uid) if "n" in flags else access.user_name(found.uid)
        when = time.strftime("%Y-%m-%d %H:%M", time.gmtime(found.mtime))
        rows.append(f"{modes.filemode(found.mode)} {found.nlink} {who} {who} {found.size:>7} {when} {shown}")
    if rows:
        call.line("\n".join(rows))


_STAT_NAMES = {
    "s": lambda name, f: f.size,
    "n": lambda name, f: name,
    "N": lambda name, f: name,
    "a": lambda name, f: f"{modes.S_IMODE(f.mode):o}",
    "A": lambda name, f: modes.filemode(f.mode),
    "f": lambda name, f: f"{f.mode:x}",
    "F": lambda name, f: _kind(f.mode),
    "u": lambda name, f: f.uid,
    "U": lambda name, f: access.user_name(f.uid),
    "g": lambda name, f: f.gid,
    "G": lambda name, f: access.user_name(f.gid),
    "i": lambda name, f: f.ino,
    "d": lambda name, f: f"{f.dev}d",
    "h": lambda name, f: f.nlink,
    "b": lambda name, f: (f.size + 511) // 512,
    "B": lambda name, f: 512,
    "X": lambda name, f: int(f.atime),
    "Y": lambda name, f: int(f.mtime),
    "Z": lambda name, f: int(f.ctime),
    "y": lambda name, f: time.strftime("%Y-%m-%d %H:%M:%S.000000000 +0000", time.gmtime(f.mtime)),
    "%": lambda name, f: "%",
}


def _kind(mode: int) -> str:
    if modes.S_ISDIR(mode):
        return "directory"
    return "symbolic link" if modes.S_ISLNK(mode) else "regular file"


@command("stat")
def stat(call: Call) -> int:
    flags, values, words = split(call, "Lt", "c")
    form = values.get("c", "  File: %N\n  Size: %s\t Blocks: %b\t IO Blocks: %B\t%F\nAccess: (%a/%A)\tUid: (%u/%U)")
    status = 0
    for word in words:
        try:
            found = call.files.stat(call.path(word), follow="L" in flags)
        except OSError as error:
            status = call.fail(f"'{word}': {error.strerror}")
            continue
        out, at = [], 0
        while at < len(form):
            letter = form[at + 1 : at + 2] if form[at] == "%" else ""
            out.append(str(_STAT_NAMES[letter](word, found)) if letter in _STAT_NAMES else form[at])
            at += 2 if letter in _STAT_NAMES else 1
        call.line("".join(out))
    return status


@command("find")
def find(call: Call) -> int:
    """`find FOLDER... [-type f|d|l] [-name PATTERN] [-maxdepth N] [-mindepth N] [-print0] [-delete]`"""
    words = call.argv[1:]
    cut = next((i for i, w in enumerate(words) if w.startswith("-")), len(words))
    folders, tests = words[:cut] or ["."], words[cut:]
    wanted, actions = {}, set()
    while tests:
        test = tests.pop(0)
        if test in ("-type", "-name", "-maxdepth", "-mindepth") and tests:
            wanted[test] = tests.pop(0)
        elif test in ("-print", "-print0", "-delete"):
            actions.add(test)
        else:
            return call.fail(f"bad arg '{test}'")
    status = 0
    for folder in folders:
        status |= _walk(call, folder.rstrip("/") or "/", 0, wanted, actions)
    return status


def _walk(call: Call, word: str, depth: int, wanted, actions) -> int:
    status = 0
    path = call.path(word)
    try:
        mode = call.files.stat(path, follow=False).mode
    except OSError as error:
        return call.fail(f"'{word}': {error.strerror}")
    if modes.S_ISDIR(mode) and depth < int(wanted.get("-maxdepth", 1000)):
        try:
            names = call.files.names(path)
        except OSError as error:
            names, status = [], call.fail(f"'{word}': {error.strerror}")
        if "-delete" not in actions:
            status |= _found(call, word, mode, depth, wanted, actions)
        for name in names:
            status |= _walk(call, f"{word.rstrip('/')}/{name}", depth + 1, wanted, actions)
        if "-delete" not in actions:
            return status
    return status | _found(call, word, mode, depth, wanted, actions)


def _found(call: Call, word: str, mode: int, depth: int, wanted, actions) -> int:
    kinds = {"f": modes.S_ISREG, "d": modes.S_ISDIR, "l": modes.S_ISLNK}
    kind = wanted.get("-type")
    if kind and not kinds.get(kind, lambda m: False)(mode) or depth < int(wanted.get("-mindepth", 0)):
        return 0
    if "-name" in wanted and not fnmatch.fnmatchcase(word.rpartition("/")[2], wanted["-name"]):
        return 0
    if "-delete" in actions:
        (call.files.remove_folder if modes.S_ISDIR(mode) else call.files.remove)(call.path(word))
    else:
        call.out(os.fsencode(word) + (b"\0" if "-print0" in actions else b"\n"))
    return 0


@command("du")
def du(call: Call) -> int:
    flags, _, words = split(call, "skhmabc", "d")
    status = 0
    for word in words or ["."]:
        try:
            size = _size(call, call.path(word))
        except OSError as error:
            status = call.fail(f"{word}: {error.strerror}")
            continue
        unit = size if "b" in flags else (size + (1 << 20) - 1) >> 20 if "m" in flags else (size + 1023) >> 10
        call.line(f"{unit}\t{word}")
    return status


def _size(call: Call, path: str) -> int:
    found = call.files.stat(path, follow=False)
    if not modes.S_ISDIR(found.mode):
        return found.size
    return sum(_size(call, f"{path}/{name}") for name in call.files.names(path))


@command("df")
def df(call: Call) -> int:
    flags, _, words = split(call, "hkHPi", "t")
    space = os.statvfs(call.device.files.root)
    unit = 1024
    total = space.f_blocks * space.f_frsize // unit
    free = 0 if call.device.faults.lasting("full") else space.f_bavail * space.f_frsize // unit
    for word in words:
        call.files.stat(call.path(word))
    used = total - free
    call.line("Filesystem        1K-blocks      Used Available Use% Mounted on")
    call.line(f"/dev/block/dm-9 {total:>11} {used:>9} {free:>9} {used * 100 // max(1, total):>3}% /data")
    return 0


@command("readlink")
def readlink(call: Call) -> int:
    flags, _, words = split(call, "fnemq")
    for word in words:
        path = call.path(word)
        try:
            text = call.files.locate(path, "") if "f" in flags else call.files.read_link(path)
        except OSError:
            return 1
        call.out(os.fsencode(text) + (b"" if "n" in flags else b"\n"))
    return 0


@command("realpath")
def realpath(call: Call) -> int:
    _, _, words = split(call, "")
    for word in words:
        located = call.files.locate(call.path(word), "")
        call.files.stat(located)
        call.line(located)
    return 0


@command("which")
def which(call: Call) -> int:
    from host_tools.virtual_device.call import COMMANDS

    _, _, words = split(call, "a")
    for word in words:
        if word in COMMANDS:
            call.line(f"/system/bin/{word}")
    return int(any(word not in COMMANDS for word in words))


@command("mktemp")
def mktemp(call: Call) -> int:
    flags, values, words = split(call, "dqu", "p")
    form = words[0] if words else "tmp.XXXXXXXXXX"
    folder = values.get("p") or call.env.get("TMPDIR", access.SHELL_FOLDER)
    base = form.rstrip("X")
    name = base + os.urandom(8).hex()[: max(6, len(form) - len(base))]
    path = call.path(name if "/" in name else f"{folder}/{name}")
    if "d" in flags:
        call.files.make_folder(path, 0o700)
    else:
        call.files.open(path, "xb").close()
    call.line(path)
    return 0
