"""Commands that change folders and files: mkdir, rm, mv, cp, ln, chmod, touch."""

import os
import stat as modes
import time
from typing import List

from host_tools.virtual_device.call import Call, command
from host_tools.virtual_device.commands.options import split
from host_tools.virtual_device.files import failure

_PIECE = 1 << 20


def each(call: Call, words: List[str], action) -> int:
    """Does it for every word; what the file system refuses is said, and the others go on."""
    status = 0
    for word in words:
        try:
            action(word)
        except OSError as error:
            own = isinstance(error.filename, str) and error.filename.rstrip("/") != call.path(word).rstrip("/")
            status = call.fail(f"{error.filename if own else word}: {error.strerror}")
    return status


@command("mkdir")
def mkdir(call: Call) -> int:
    flags, values, words = split(call, "pv", "m")
    if not words:
        return call.fail("Needs 1 argument")
    mode = int(values["m"], 8) if values.get("m", "").isdecimal() else 0o770

    def make(word: str) -> None:
        if "p" in flags:
            call.files.make_folders(call.path(word), mode)
            return
        try:
            call.files.make_folder(call.path(word).rstrip("/") or "/", mode)
        except OSError as error:
            raise OSError(error.errno, error.strerror, f"'{word}'") from None

    return each(call, words, make)


@command("rmdir")
def rmdir(call: Call) -> int:
    _, _, words = split(call, "p")
    return each(call, words, lambda word: call.files.remove_folder(call.path(word)))


@command("rm")
def rm(call: Call) -> int:
    flags, _, words = split(call, "rRfiv")
    if not words and "f" not in flags:
        return call.fail("Needs 1 argument")
    recursive = "r" in flags or "R" in flags

    def remove(word: str) -> None:
        if word.rstrip("/").rpartition("/")[2] in (".", "..", ""):
            raise OSError(22, "refused", word)
        try:
            remove_tree(call, call.path(word).rstrip("/"), recursive)
        except FileNotFoundError:
            if "f" not in flags:
                raise

    return each(call, words, remove)


def remove_tree(call: Call, path: str, recursive: bool) -> None:
    """A file, a link, or, if it may be, a folder with all that is in it."""
    if not modes.S_ISDIR(call.files.stat(path, follow=False).mode):
        call.files.remove(path)
        return
    if not recursive:
        raise OSError(21, "is directory", path)
    for name in call.files.names(path):
        remove_tree(call, f"{path}/{name}", True)
    call.files.remove_folder(path)


@command("touch")
def touch(call: Call) -> int:
    _, values, words = split(call, "acmch", "dtr")

    def make(word: str) -> None:
        path = call.path(word)
        if not call.files.exists(path):
            call.files.open(path, "xb").close()
        stamp = values.get("d", "").lstrip("@")
        now = float(stamp) if stamp.isdecimal() else time.time()
        call.files.set_times(call.files.locate(path, ""), now, now)

    return each(call, words, make)


@command("chmod")
def chmod(call: Call) -> int:
    flags, _, words = split(call, "Rv") if not call.argv[1:2][0:1] or call.argv[1][:1] != "-" else split(call, "Rvrwx")
    if len(words) < 2:
        return call.fail("Needs 2 arguments")
    mode_word, names = words[0], words[1:]

    def change(path: str) -> None:
        found = call.files.stat(path)
        call.files.change_mode(path, _mode(mode_word, found.mode))
        if "R" in flags and modes.S_ISDIR(found.mode):
            for name in call.files.names(path):
                change(f"{path}/{name}")

    try:
        return each(call, names, lambda word: change(call.path(word)))
    except ValueError:
        return call.fail(f"bad mode '{mode_word}'")


def _mode(text: str, old: int) -> int:
    """An octal number, or `u+x,go-w` and their like."""
    if text.isdecimal():
        return int(text, 8) & 0o7777
    mode = old & 0o7777
    for clause in text.split(","):
        at = next((i for i, c in enumerate(clause) if c in "+-="), -1)
        if at < 0 or set(clause[:at]) - set("ugoa") or set(clause[at + 1 :]) - set("rwxX"):
            raise ValueError(text)
        bits = sum({"r": 4, "w": 2, "x": 1, "X": 1}[c] for c in set(clause[at + 1 :].replace("X", "x")))
        who = clause[:at].replace("a", "ugo") or "ugo"
        mask = sum(bits << {"u": 6, "g": 3, "o": 0}[c] for c in set(who))
        full = sum(7 << {"u": 6, "g": 3, "o": 0}[c] for c in set(who))
        mode = {"+": mode | mask, "-": mode & ~mask, "=": mode & ~full | mask}[clause[at]]
    return mode


@command("chown", "chgrp")
def chown(call: Call) -> int:
    _, _, words = split(call, "Rvh")
    return each(call, words[1:], lambda word: call.files.stat(call.path(word)) and None)


@command("ln")
def ln(call: Call) -> int:
    flags, _, words = split(call, "sfnv")
    if len(words) != 2 or "s" not in flags:
        return call.fail("only -s TARGET NAME")
    target, path = words[0], call.path(words[1])
    if call.files.is_folder(path):
        path = f"{path}/{target.rstrip('/').rpartition('/')[2]}"
    if "f" in flags and call.files.exists(path):
        call.files.remove(path)
    call.files.link(target, path)
    return 0


def _into(call: Call, words: List[str], follow: bool = True):
    """(source, target) for each of the words; the last is a folder, or the new name of one."""
    *sources, last = words
    target = call.path(last)
    folder = follow and call.files.is_folder(target)
    if len(sources) > 1 and not folder:
        raise OSError(20, "not a directory", last)
    for word in sources:
        path = call.path(word)
        yield word, path, f"{target.rstrip('/')}/{path.rstrip('/').rpartition('/')[2]}" if folder else target


@command("mv")
def mv(call: Call) -> int:
    flags, _, words = split(call, "fnvT")
    if len(words) < 2:
        return call.fail("Needs 2 arguments")
    status = 0
    for word, source, target in _into(call, words, "T" not in flags):
        if "n" in flags and call.files.exists(target):
            continue
        try:
            call.files.rename(source.rstrip("/"), target)
        except OSError as error:
            status = call.fail(f"bad '{word}': {error.strerror}")
    return status


@command("cp")
def cp(call: Call) -> int:
    flags, _, words = split(call, "rRfpadnv")
    if len(words) < 2:
        return call.fail("Needs 2 arguments")
    recursive = bool(set(flags) & set("rRa"))
    status = 0
    for word, source, target in _into(call, words):
        try:
            copy_tree(call, source, target, recursive)
        except OSError as error:
            status = call.fail(f"bad '{word}': {error.strerror}")
    return status


def copy_tree(call: Call, source: str, target: str, recursive: bool) -> None:
    found = call.files.stat(source, follow=not recursive)
    if modes.S_ISLNK(found.mode):
        call.files.link(call.files.read_link(source), target)
    elif modes.S_ISDIR(found.mode):
        if not recursive:
            raise failure(21, source)
        if not call.files.is_folder(target):
            call.files.make_folder(target, modes.S_IMODE(found.mode))
        for name in call.files.names(source):
            copy_tree(call, f"{source}/{name}", f"{target}/{name}", True)
    else:
        _copy_file(call, source, target, modes.S_IMODE(found.mode))


def _copy_file(call: Call, source: str, target: str, mode: int) -> None:
    fresh = not call.files.exists(target)
    with call.files.open(source, "rb") as old, call.files.open(target, "wb") as new:
        while True:
            data = old.read(_PIECE)
            if not data:
                break
            write(call, new, data)
        if fresh:
            os.fchmod(new.fileno(), mode)


def write(call: Call, file, data: bytes) -> None:
    """Writes as a command does: the device may be full."""
    fault = call.meet("files.write")
    if fault and fault.kind == "full":
        raise OSError(28, "No space left on device")
    call.device.files.room()
    file.write(data)
