"""The device's shell: commands with `;`, `&&`, `||`, `|`, quotes and redirections. It has no variables, patterns, loops
or substitutions: a text with one of them is refused before anything of it runs. No program of the host is started.
"""

import contextlib
import os
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import BinaryIO

from host_tools.virtual_device import native
from host_tools.virtual_device.call import Call, Given, Stopped, Words, command, run, write
from host_tools.virtual_device.files import normal, write_all

_TOKEN = re.compile(
    r"""[ \t]*(?:(?P<join>&&|\|\||[;\n])|(?P<pipe>\|)|(?P<same>2>&1|1?>&2)|(?P<to>[012]?(?:>>|>|<))
    |(?P<word>(?:[^\s;&|<>()'"\\]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")+)|$)""",
    re.DOTALL | re.VERBOSE,
)
_QUOTED = re.compile(r"""'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)""", re.DOTALL)
_KEYWORDS = ("if", "for", "while", "until", "case", "function", "{", "}", "!")


class SyntaxFault(Exception):
    """The text is not a program of this shell."""


class Left(Exception):
    """`exit`, with its status."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


@dataclass
class Simple:
    """One command. Redirections are the operator and its name, e.g. ("2>", "/dev/null")."""

    words: list[str] = field(default_factory=list)
    redirections: list[tuple[str, str]] = field(default_factory=list)


Pipeline = list[Simple]


def parse(text: str) -> list[tuple[str, Pipeline]]:
    """Pipelines, each with what stands before it: `;`, `&&` or `||`. SyntaxFault when it is no such list."""
    program: list[tuple[str, Pipeline]] = []
    join, pipeline, at = ";", [Simple()], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise SyntaxFault(f"syntax error: '{text[at : at + 20].strip()}' is not understood by this shell")
        kind, token, at = match.lastgroup, match[match.lastgroup or 0], match.end()
        if kind == "word":
            pipeline[-1].words.append(_word(token, first=not pipeline[-1].words))
        elif kind == "same":
            pipeline[-1].redirections.append((token, ""))
        elif kind == "to":
            match = _TOKEN.match(text, at)
            if match is None or match.lastgroup != "word":
                raise SyntaxFault(f"syntax error: {token} without a name")
            pipeline[-1].redirections.append((token, _word(match["word"])))
            at = match.end()
        elif kind == "pipe":
            _complete(pipeline, token)
            pipeline.append(Simple())
        elif kind == "join" and not (token == "\n" and pipeline == [Simple()]):
            _complete(pipeline, token)
            program.append((join, pipeline))
            join, pipeline = token, [Simple()]
    if join in ("&&", "||") or pipeline != [Simple()]:
        _complete(pipeline, "EOF")
        program.append((join, pipeline))
    return program


def _complete(pipeline: Pipeline, token: str) -> None:
    if not pipeline[-1].words:
        raise SyntaxFault(f"syntax error: unexpected '{'newline' if token == chr(10) else token}'")


def _word(text: str, first: bool = False) -> str:
    """Without its quotes. What a shell would replace is refused: it must not be taken as it stands."""
    bare = _QUOTED.sub("", text)
    inside = re.sub(r"\\.", "", "".join(match[2] or "" for match in _QUOTED.finditer(text)))
    if set("$`*?[") & set(bare) or set("$`") & set(inside) or bare[:1] in ("~", "#") or (first and text in _KEYWORDS):
        raise SyntaxFault(f"syntax error: '{text}' is not understood by this shell")
    return _QUOTED.sub(_unquoted, text)


def _unquoted(match: "re.Match[str]") -> str:
    single, double, escaped = match.groups()
    if single is not None:
        return single
    return escaped if double is None else re.sub(r'\\([$`"\\])', r"\1", double)


def run_text(call: Call, text: str) -> int:
    """Runs a program with the streams, the user and the folder of `call`."""
    try:
        program = parse(text)
    except SyntaxFault as fault:
        call.err(os.fsencode(f"/system/bin/sh: {fault}\n"))
        return 1
    here, status = replace(call), 0
    for join, pipeline in program:
        if (join == "&&" and status) or (join == "||" and not status):
            continue
        try:
            status = _piped(here, pipeline)
        except Left as left:
            return left.status
        if call.cancelled.is_set():
            raise Stopped
    return status


def _piped(call: Call, pipeline: Pipeline) -> int:
    """The parts of a pipeline run at once, each in a shell of its own."""
    *before, last = pipeline
    if not before:
        return _redirected(call, last)
    reader, writer = os.pipe()
    failed: list[BaseException] = []

    def feed() -> None:
        with os.fdopen(writer, "wb", buffering=0) as pipe:
            try:
                _piped(replace(call, out=_into(pipe)), before)
            except (Stopped, Left):
                pass
            except BaseException as error:  # the whole command's, as if it had happened in its last part
                failed.append(error)

    thread = threading.Thread(target=feed, daemon=True)
    thread.start()
    try:
        with os.fdopen(reader, "rb", buffering=0) as pipe:
            return _redirected(replace(call, stdin=pipe), last)
    except Left as left:
        return left.status
    finally:
        thread.join()
        if failed:
            raise failed[0]


def _redirected(call: Call, simple: Simple) -> int:
    inner = replace(call, argv=simple.words)
    with contextlib.ExitStack() as opened:
        for kind, name in simple.redirections:
            try:
                _redirect(inner, kind, normal(name, call.cwd), opened)
            except OSError as error:
                call.err(os.fsencode(f"/system/bin/sh: can't open {error.filename}: {error.strerror}\n"))
                return 1
        return _run(call, inner)


def _redirect(inner: Call, kind: str, path: str, opened: contextlib.ExitStack) -> None:
    if kind == "2>&1":
        inner.err = inner.out
    elif kind.endswith(">&2"):
        inner.out = inner.err
    elif kind.endswith("<"):
        inner.stdin = opened.enter_context(inner.files.open(path))
    else:
        file = opened.enter_context(inner.files.open(path, "ab" if ">>" in kind else "wb"))
        setattr(inner, "err" if kind.startswith("2") else "out", lambda data: write(inner, file, data))


def _into(pipe: BinaryIO) -> Callable[[bytes], None]:
    def send(data: bytes) -> None:
        try:
            write_all(pipe, data)
        except BrokenPipeError:
            raise Stopped from None

    return send


def _run(call: Call, inner: Call) -> int:
    """A command; of the shell's own, `cd` moves `call`."""
    name, words = inner.argv[0], inner.argv[1:]
    if name == "exec" and words:
        raise Left(_run(call, replace(inner, argv=words)))
    if name == "exit":
        raise Left(int(words[0]) & 255 if words and words[0].isdecimal() else 0)
    if name == "export":
        return 0  # `adb logcat` begins with one; nothing here reads variables
    if name == "cd":
        return _cd(call, inner, words[0] if words else "/")
    if "/" in name and not name.startswith(("/system/bin/", "/bin/")):
        return native.execute(inner)
    return run(inner)


def _cd(call: Call, inner: Call, name: str) -> int:
    path = normal(name, call.cwd)
    if not call.files.is_folder(path):
        inner.err(os.fsencode(f"/system/bin/sh: cd: {name}: No such file or directory\n"))
        return 2
    call.cwd = call.files.locate(path)
    return 0


@command("sh")
def sh(call: Call, given: Given, words: Words) -> int:
    """`sh -c TEXT`."""
    return run_text(call, words[1]) if words[:1] == ["-c"] and words[1:] else call.fail("only -c TEXT")
