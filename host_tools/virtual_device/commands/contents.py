"""Commands that read or write what is in files: cat, head, tail, wc, grep, checksums, dd and their like."""

import base64
import collections
import hashlib
import os
import re
from typing import Iterator, List, Tuple

from host_tools.virtual_device.call import Call, Input, command, lines, whole
from host_tools.virtual_device.commands.options import split
from host_tools.virtual_device.commands.trees import each, write

_PIECE = 1 << 20


def inputs(call: Call, words: List[str]) -> Iterator[Tuple[str, Input]]:
    """Each file by its name, `-` or no name at all for the input; a missing one is an OSError."""
    for word in words or ["-"]:
        if word == "-":
            yield word, call.stdin
            continue
        with call.files.open(call.path(word), "rb") as file:
            yield word, file


def _pieces(source: Input) -> Iterator[bytes]:
    return iter(lambda: source.read(_PIECE), b"")


@command("cat")
def cat(call: Call) -> int:
    _, _, words = split(call, "uetv")

    def copy(word: str) -> None:
        for _, source in inputs(call, [word]):
            for piece in _pieces(source):
                call.out(piece)

    return each(call, words or ["-"], copy)


@command("head", "tail")
def head(call: Call) -> int:
    _, values, words = split(call, "qvf0123456789" if call.argv[0] == "tail" else "qv0123456789", "nc")
    text = values.get("c") or values.get("n") or next((w[1:] for w in call.argv[1:] if w[1:].isdecimal()), "10")
    count = int(text.lstrip("+-")) if text.lstrip("+-").isdecimal() else 10
    words = [w for w in words if w not in (f"-{count}",)]
    for _, source in inputs(call, words):
        if "c" in values:
            data = whole(source) if call.argv[0] == "tail" else _first(source, count)
            call.out(data[-count:] if call.argv[0] == "tail" else data)
            continue
        if call.argv[0] == "tail":
            call.out(b"".join(collections.deque(lines(source), maxlen=count)))
            continue
        for index, line in enumerate(lines(source)):
            if index >= count:
                break
            call.out(line)
    return 0


def _first(source: Input, count: int) -> bytes:
    got = b""
    while len(got) < count:
        piece = source.read(count - len(got))
        if not piece:
            break
        got += piece
    return got


@command("wc")
def wc(call: Call) -> int:
    flags, _, words = split(call, "lwcm")
    for word, source in inputs(call, words):
        numbers, inside = {"l": 0, "w": 0, "c": 0}, False
        for piece in _pieces(source):
            numbers["l"] += piece.count(b"\n")
            numbers["w"] += len(piece.split()) - (inside and not piece[:1].isspace())
            numbers["c"] += len(piece)
            inside = not piece[-1:].isspace()
        shown = [str(numbers[k]) for k in numbers if k in (flags.replace("m", "c") or "lwc")]
        call.line(" ".join([*shown, *([word] if word != "-" else [])]))
    return 0


@command("grep", "egrep", "fgrep")
def grep(call: Call) -> int:
    flags, values, words = split(call, "vicnqFEoHhswxl", "em")
    if "e" not in values and not words:
        return call.fail("Needs a pattern", 2)
    pattern = values["e"] if "e" in values else words.pop(0)
    if "F" in flags or call.argv[0] == "fgrep":
        pattern = re.escape(pattern)
    if "x" in flags:
        pattern = f"^(?:{pattern})$"
    try:
        form = re.compile(os.fsencode(pattern), re.IGNORECASE if "i" in flags else 0)
    except re.error:
        return call.fail(f"bad REGEX '{pattern}'", 2)
    hits = 0
    for word, source in inputs(call, words):
        prefix = os.fsencode(f"{word}:") if len(words) > 1 and "h" not in flags else b""
        for line in lines(source):
            if bool(form.search(line.rstrip(b"\n"))) == ("v" in flags):
                continue
            hits += 1
            if not set("qc") & set(flags):
                call.out(prefix + line)
    if "c" in flags:
        call.line(str(hits))
    return int(hits == 0)


def _digests(call: Call, kind: str) -> int:
    flags, _, words = split(call, "bcs")

    def digest(word: str) -> None:
        state = hashlib.new(kind, usedforsecurity=False)
        for _, source in inputs(call, [word]):
            for piece in _pieces(source):
                state.update(piece)
        call.line(state.hexdigest() if "b" in flags else f"{state.hexdigest()}  {word}")

    return each(call, words or ["-"], digest)


@command("sha256sum")
def sha256sum(call: Call) -> int:
    return _digests(call, "sha256")


@command("sha1sum")
def sha1sum(call: Call) -> int:
    return _digests(call, "sha1")


@command("md5sum")
def md5sum(call: Call) -> int:
    return _digests(call, "md5")


@command("base64")
def base64_(call: Call) -> int:
    flags, values, words = split(call, "di", "w")
    for _, source in inputs(call, words):
        data = whole(source)
        call.out(base64.b64decode(data) if "d" in flags else base64.encodebytes(data))
    return 0


@command("tee")
def tee(call: Call) -> int:
    flags, _, words = split(call, "ai")
    files = [call.files.open(call.path(word), "ab" if "a" in flags else "wb") for word in words]
    try:
        for piece in _pieces(call.stdin):
            call.out(piece)
            for file in files:
                write(call, file, piece)
    finally:
        for file in files:
            file.close()
    return 0


@command("dd")
def dd(call: Call) -> int:
    """if=, of=, bs=, count= and skip=."""
    values = dict(word.partition("=")[::2] for word in call.argv[1:])
    try:
        size = _number(values.get("bs", "512"))
        count, skip = _number(values.get("count", str(1 << 40))), _number(values.get("skip", "0"))
    except ValueError:
        return call.fail("bad number")
    size = max(1, min(size, 64 << 20))
    source: Input = call.files.open(call.path(values["if"]), "rb") if "if" in values else call.stdin
    target = call.files.open(call.path(values["of"]), "wb") if "of" in values else None
    done = blocks = 0
    for _ in range(skip):
        _first(source, size)
    while blocks < count:
        data = _first(source, size)
        if not data:
            break
        write(call, target, data) if target else call.out(data)
        done, blocks = done + len(data), blocks + 1
    call.err(os.fsencode(f"{blocks}+0 records in\n{blocks}+0 records out\n{done} bytes copied\n"))
    return 0


def _number(text: str) -> int:
    factor = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}.get(text[-1:].lower())
    return int(text[:-1]) * factor if factor else int(text)


@command("sort")
def sort(call: Call) -> int:
    flags, _, words = split(call, "rnu")
    found = [line for _, source in inputs(call, words) for line in whole(source).splitlines()]
    found = sorted(set(found) if "u" in flags else found, reverse="r" in flags)
    if "n" in flags:
        found.sort(key=lambda line: int(re.match(rb"\s*(-?\d*)", line)[1] or 0), reverse="r" in flags)
    call.out(b"".join(line + b"\n" for line in found))
    return 0


@command("uniq")
def uniq(call: Call) -> int:
    last = None
    for _, source in inputs(call, call.argv[1:]):
        for line in lines(source):
            if line != last:
                call.out(line)
            last = line
    return 0


@command("tr")
def tr(call: Call) -> int:
    flags, _, words = split(call, "ds")
    names = [os.fsencode(w.replace("\\n", "\n").replace("\\r", "\r").replace("\\0", "\0")) for w in words]
    data = whole(call.stdin)
    if "d" in flags and names:
        call.out(data.translate(None, names[0]))
    elif len(names) == 2 and names[1]:
        call.out(data.translate(bytes.maketrans(names[0], names[1].ljust(len(names[0]), names[1][-1:]))))
    else:
        return call.fail("Needs 2 arguments")
    return 0


@command("cut")
def cut(call: Call) -> int:
    flags, values, words = split(call, "s", "dfc")
    mark = os.fsencode(values.get("d", "\t"))
    text = values.get("f") or values.get("c") or ""
    if not re.fullmatch(r"[0-9]+(,[0-9]+)*", text):
        return call.fail("only -f N[,N] or -c N[,N]")
    wanted = [int(n) for n in text.split(",")]
    for _, source in inputs(call, words):
        for line in lines(source):
            line = line.rstrip(b"\n")
            if "f" in values:
                fields = line.split(mark)
                shown = mark.join(fields[n - 1] for n in wanted if 0 < n <= len(fields))
            else:
                shown = b"".join(line[n - 1 : n] for n in wanted)
            call.out(shown + b"\n")
    return 0


@command("xargs")
def xargs(call: Call) -> int:
    """`xargs [-0] [-n COUNT] COMMAND...`; options after the command are the command's."""
    cut = next((i for i, w in enumerate(call.argv[1:], 1) if not w.startswith("-") and call.argv[i - 1] != "-n"), None)
    words = call.argv[cut:] if cut else []
    call.argv = call.argv[:cut]
    flags, values, _ = split(call, "0rt", "nI")
    data = os.fsdecode(whole(call.stdin))
    found = [w for w in data.split("\0") if w] if "0" in flags else data.split()
    size = int(values["n"]) if values.get("n", "").isdecimal() else len(found) or 1
    status = 0
    for start in range(0, max(1, len(found)), max(1, size)):
        status |= call.run([*(words or ["echo"]), *found[start : start + size]])
    return status
