"""tar: makes and unpacks archives, as toybox's does."""

import io
import os
import stat as modes
import tarfile
from typing import List

from host_tools.virtual_device import access
from host_tools.virtual_device.call import Call, command
from host_tools.virtual_device.commands.trees import remove_tree, write

_PIECE = 1 << 20


@command("tar")
def tar(call: Call) -> int:
    """`tar -c|-x|-t [-z] [-f FILE] [-C FOLDER] [NAMES...]`; without a file, the streams."""
    try:
        action, values, names = _words(call.argv[1:])
    except ValueError as error:
        return call.fail(str(error))
    folder = call.path(values.get("C", "."))
    if not call.files.is_folder(folder):
        return call.fail(f"chdir '{values.get('C')}': No such file or directory")
    if action == "c":
        return _create(call, folder, values, names)
    return _read(call, folder, values, names, extract=action == "x")


def _words(words: List[str]):
    actions, values, names = "", {}, []
    todo = list(words)
    first = True
    while todo:
        word = todo.pop(0)
        if word == "--":
            names += todo
            break
        if word.startswith("--") or (word.startswith("-") and len(word) == 1):
            raise ValueError(f"Unknown option '{word}'")
        if word.startswith("-") or first:
            letters = word.lstrip("-")
            for at, letter in enumerate(letters):
                if letter in "fC":
                    values[letter] = letters[at + 1 :] or (todo.pop(0) if todo else "")
                    break
                if letter in "cxt":
                    actions += letter
                elif letter == "z":
                    values["z"] = "1"
                elif letter not in "vhpomO":
                    raise ValueError(f"Unknown option '{word}'")
        else:
            names.append(word)
        first = False
    if len(actions) != 1:
        raise ValueError("Needs one of -c, -x, -t")
    return actions, values, names


class _Out(io.RawIOBase):
    def __init__(self, write_) -> None:
        super().__init__()
        self._write = write_

    def writable(self) -> bool:
        return True

    def write(self, data) -> int:
        self._write(bytes(data))
        return len(data)


class _In(io.RawIOBase):
    def __init__(self, source) -> None:
        super().__init__()
        self._source = source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        data = self._source.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _create(call: Call, folder: str, values, names: List[str]) -> int:
    if not names:
        return call.fail("empty archive")
    name = values.get("f", "-")
    file = None if name == "-" else call.files.open(call.path(name), "wb")
    out = _Out(call.out if file is None else lambda data: write(call, file, data))
    buffered = io.BufferedWriter(out, _PIECE)
    mode = "w|gz" if "z" in values else "w|"
    status = 0
    with tarfile.open(fileobj=buffered, mode=mode, format=tarfile.GNU_FORMAT, bufsize=64 << 10) as archive:
        for word in names:
            status |= _add(call, archive, word if word.startswith("/") else f"{folder}/{word}", word)
    buffered.flush()
    if file:
        file.close()
    return status


def _add(call: Call, archive: tarfile.TarFile, path: str, name: str) -> int:
    try:
        found = call.files.stat(path, follow=False)
        entry = tarfile.TarInfo(name.lstrip("/"))
        entry.mode, entry.mtime = modes.S_IMODE(found.mode), int(found.mtime)
        entry.uid, entry.gid = found.uid, found.gid
        entry.uname = entry.gname = access.user_name(found.uid)
        if modes.S_ISDIR(found.mode):
            entry.type = tarfile.DIRTYPE
            archive.addfile(entry)
            statuses = [_add(call, archive, f"{path}/{n}", f"{name}/{n}") for n in call.files.names(path)]
            return max(statuses, default=0)
        if modes.S_ISLNK(found.mode):
            entry.type, entry.linkname = tarfile.SYMTYPE, call.files.read_link(path)
            archive.addfile(entry)
            return 0
        with call.files.open(path, "rb") as file:
            entry.size = os.fstat(file.fileno()).st_size
            archive.addfile(entry, file)
    except OSError as error:
        return call.fail(f"{name}: {error.strerror}")
    return 0


def _read(call: Call, folder: str, values, names: List[str], extract: bool) -> int:
    name = values.get("f", "-")
    source = call.stdin if name == "-" else call.files.open(call.path(name), "rb")
    buffered = io.BufferedReader(_In(source), _PIECE)
    status = 0
    try:
        with tarfile.open(fileobj=buffered, mode="r|gz" if "z" in values else "r|") as archive:
            for entry in archive:
                if names and not any(access.within(entry.name, n.rstrip("/")) for n in names):
                    continue
                if not extract:
                    call.line(entry.name)
                    continue
                status |= _extract(call, archive, entry, folder)
    except (tarfile.TarError, EOFError):
        return call.fail("not tar")
    finally:
        if source is not call.stdin:
            source.close()
    return status


def _extract(call: Call, archive: tarfile.TarFile, entry: tarfile.TarInfo, folder: str) -> int:
    path = f"{folder}/{entry.name}".rstrip("/")
    if ".." in entry.name.split("/"):
        return call.fail(f"'{entry.name}' not under '{folder}'")
    try:
        if entry.isdir():
            if not call.files.is_folder(path):
                call.files.make_folders(path, entry.mode & 0o777)
            return 0
        parent = path.rpartition("/")[0]
        if not call.files.is_folder(parent):
            call.files.make_folders(parent)
        try:
            remove_tree(call, path, False)
        except FileNotFoundError:
            pass
        if entry.issym():
            call.files.link(entry.linkname, path)
        elif entry.isreg():
            with call.files.open(path, "xb") as file:
                source = archive.extractfile(entry)
                for piece in iter(lambda: source.read(_PIECE), b""):
                    write(call, file, piece)
                os.fchmod(file.fileno(), entry.mode & 0o777)
            call.files.set_times(path, entry.mtime, entry.mtime)
        else:
            return call.fail(f"{entry.name}: kind of file not supported")
    except OSError as error:
        return call.fail(f"{entry.name}: {error.strerror}")
    return 0
