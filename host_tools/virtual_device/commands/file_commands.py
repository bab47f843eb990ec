"""Commands of files and folders."""

import contextlib
import fnmatch
import hashlib
import os
import re
import stat as modes
import tarfile
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import IO, cast

from host_tools.virtual_device import layout
from host_tools.virtual_device.call import PIECE, Call, Given, Input, Words, command, each, lines, pieces, write


@contextlib.contextmanager
def _opened(call: Call, word: str) -> Iterator[Input]:
    """A file by its name, or the input as "-"."""
    if word == "-":
        yield call.stdin
        return
    with call.files.open(call.path(word)) as file:
        yield file


@command("cat", letters="")
def cat(call: Call, given: Given, words: Words) -> int:
    def copy(word: str) -> None:
        with _opened(call, word) as source:
            for piece in pieces(source):
                call.out(piece)

    return each(call, words or ["-"], copy)


@command("grep", letters="ivE", least=1)
def grep(call: Call, given: Given, words: Words) -> int:
    """`grep [-i] [-v] [-E] PATTERN [FILE...]`; patterns are Python's."""
    try:
        form, hits = re.compile(os.fsencode(words[0]), re.IGNORECASE if "-i" in given else 0), 0
    except re.error:
        return call.fail(f"bad REGEX '{words[0]}'", 2)
    for word in words[1:] or ["-"]:
        with _opened(call, word) as source:
            for line in lines(source):
                if bool(form.search(line.rstrip(b"\n"))) != ("-v" in given):
                    hits += 1
                    call.out(line)
    return int(hits == 0)


@command("sha256sum", letters="b")
def sha256sum(call: Call, given: Given, words: Words) -> int:
    def digest(word: str) -> None:
        found = hashlib.sha256()
        with call.files.open(call.path(word)) as file:
            for piece in pieces(file):
                found.update(piece)
        call.line(f"{found.hexdigest()}  {word}")

    return each(call, words, digest)


@command("ls", letters="aAld1")
def ls(call: Call, given: Given, words: Words) -> int:
    """`ls [-a] [-A] [-l] [-d] [-1] [PATH...]`; files first, then what folders hold."""
    files: list[str] = []
    folders: list[str] = []

    def sort(word: str) -> None:
        found = call.files.stat(call.path(word), follow="-l" not in given and "-d" not in given)
        (folders if modes.S_ISDIR(found.st_mode) and "-d" not in given else files).append(word)

    def show(word: str) -> None:
        if len(words) > 1:
            call.line(("\n" if files or word != folders[0] else "") + f"{word}:")
        names = [n for n in call.files.names(call.path(word)) if {"-a", "-A"} & given.keys() or not n.startswith(".")]
        _show(call, [".", "..", *names] if "-a" in given else names, "-l" in given, call.path(word))

    status = each(call, words or ["."], sort)
    _show(call, files, "-l" in given, call.cwd)
    return status | each(call, folders, show)


def _show(call: Call, names: list[str], long: bool, folder: str) -> None:
    for name in names:
        if not long:
            call.line(name)
            continue
        path = name if name.startswith("/") else f"{folder}/{name}"
        found = call.files.stat(path, follow=False)
        target = " -> " + call.files.read_link(path) if modes.S_ISLNK(found.st_mode) else ""
        owner = layout.user_name(found.st_uid)
        changed = time.strftime("%Y-%m-%d %H:%M", time.gmtime(found.st_mtime))
        mode = modes.filemode(found.st_mode)
        call.line(f"{mode} {found.st_nlink} {owner} {owner} {found.st_size:>6} {changed} {name}{target}")


@command("find", least=1)
def find(call: Call, given: Given, words: Words) -> int:
    """`find FOLDER [-type f|d] [-name PATTERN]`"""
    top, *tests = words
    wanted = dict(zip(tests[::2], tests[1::2], strict=False))
    if len(tests) % 2 or wanted.keys() - {"-type", "-name"}:
        return call.fail("only FOLDER [-type f|d] [-name PATTERN]")

    def walk(word: str) -> None:
        mode = call.files.stat(call.path(word), follow=False).st_mode
        kind = "d" if modes.S_ISDIR(mode) else "f" if modes.S_ISREG(mode) else "l"
        name = word.rpartition("/")[2]
        if wanted.get("-type", kind) == kind and fnmatch.fnmatchcase(name, wanted.get("-name", "*")):
            call.line(word)
        for inner in call.files.names(call.path(word)) if kind == "d" else ():
            walk(f"{word.rstrip('/')}/{inner}")

    return each(call, [top], walk)


@command("mkdir", letters="pm:", least=1)
def mkdir(call: Call, given: Given, words: Words) -> int:
    mode = int(given["-m"], 8) if given.get("-m", "").isdecimal() else 0o770

    def make(word: str) -> None:
        path = call.path(word).rstrip("/")
        try:
            call.files.make_folders(path, mode) if "-p" in given else call.files.make_folder(path, mode)
        except OSError as error:
            raise OSError(error.errno, error.strerror, f"'{word}'") from None

    return each(call, words, make)


@command("rm", letters="rRf")
def rm(call: Call, given: Given, words: Words) -> int:
    def remove(word: str) -> None:
        try:
            _remove(call, call.path(word).rstrip("/"), bool({"-r", "-R"} & given.keys()))
        except FileNotFoundError:
            if "-f" not in given:
                raise

    return each(call, words, remove) if words or given else call.fail("Needs 1 argument")


def _remove(call: Call, path: str, recursive: bool) -> None:
    if modes.S_ISDIR(call.files.stat(path, follow=False).st_mode):
        if not recursive:
            raise OSError(21, "is directory", path)
        for name in call.files.names(path):
            _remove(call, f"{path}/{name}", True)
    call.files.remove(path)


@command("mv", "cp", letters="f", least=2)
def mv(call: Call, given: Given, words: Words) -> int:
    """`mv [-f] FILE... TARGET`, `cp FILE... TARGET`"""
    *sources, last = words
    target = call.path(last).rstrip("/")
    folder = call.files.is_folder(target)
    if len(sources) > 1 and not folder:
        return call.fail(f"{last}: Not a directory")

    def move(word: str) -> None:
        source = call.path(word).rstrip("/")
        to = f"{target}/{source.rpartition('/')[2]}" if folder else target
        try:
            call.files.rename(source, to) if call.argv[0] == "mv" else _copy(call, source, to)
        except OSError as error:
            raise OSError(error.errno, error.strerror, f"bad '{word}'") from None

    return each(call, sources, move)


def _copy(call: Call, source: str, target: str) -> None:
    fresh = not call.files.exists(target)
    with call.files.open(source) as old, call.files.open(target, "wb") as new:
        for piece in pieces(old):
            write(call, new, piece)
        if fresh:
            os.fchmod(new.fileno(), modes.S_IMODE(call.files.stat(source).st_mode))


@command("chmod", letters="", least=2)
def chmod(call: Call, given: Given, words: Words) -> int:
    """`chmod OCTAL PATH...`"""
    if not re.fullmatch(r"[0-7]+", words[0]):
        return call.fail(f"bad mode '{words[0]}'")
    return each(call, words[1:], lambda word: call.files.change_mode(call.path(word), int(words[0], 8)))


@command("tar", letters="cC:f:")
def tar(call: Call, given: Given, words: Words) -> int:
    """`tar -c [-C FOLDER] -f - NAME...`"""
    folder = call.path(given.get("-C", "."))
    if "-c" not in given or given.get("-f") != "-" or not words:
        return call.fail("only -c [-C FOLDER] -f - NAME...")
    if not call.files.is_folder(folder):
        return call.fail(f"chdir '{given['-C']}': No such file or directory")
    out = cast(IO[bytes], SimpleNamespace(write=call.out))  # a stream of tarfile writes, and does nothing else
    with tarfile.open(fileobj=out, mode="w|", format=tarfile.GNU_FORMAT, bufsize=PIECE) as archive:
        return each(call, words, lambda word: _add(call, archive, f"{folder}/{word}", word))


def _add(call: Call, archive: tarfile.TarFile, path: str, name: str) -> None:
    found = call.files.stat(path, follow=False)
    entry = archive.gettarinfo(call.files.real(path, follow=False), name)
    entry.uid = entry.gid = found.st_uid
    entry.uname = entry.gname = layout.user_name(found.st_uid)
    if not entry.isreg():
        archive.addfile(entry)
        for inner in call.files.names(path) if entry.isdir() else ():
            _add(call, archive, f"{path}/{inner}", f"{name}/{inner}")
        return
    with call.files.open(path) as file:
        archive.addfile(entry, file)
