"""The device's shell: carries out the tree that shell_grammar reads. No program of the host is started."""

import fnmatch
import os
import posixpath
import threading
from dataclasses import replace
from typing import Callable, Dict, List, Optional, Tuple

from host_tools.virtual_device import programs
from host_tools.virtual_device import shell_words as tree
from host_tools.virtual_device.call import COMMANDS, Bytes, Call, Pipe, Stopped, run
from host_tools.virtual_device.files import normal
from host_tools.virtual_device.shell_grammar import parse

ENVIRONMENT = {
    "ANDROID_DATA": "/data",
    "ANDROID_ROOT": "/system",
    "EXTERNAL_STORAGE": "/sdcard",
    "HOME": "/",
    "PATH": "/system/bin:/bin",
    "TMPDIR": "/data/local/tmp",
}
_BROKEN_PIPE = 141
_SPACE = " \t\n"
_MAX_SUBSTITUTED = 8 << 20


class Left(Exception):
    """`exit`, with its status."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def run_text(call: Call, text: str, arguments: Tuple[str, ...] = ()) -> int:
    """Runs a program with the streams, the user, the folder and the variables of `call`."""
    shell = Shell(call, arguments)
    return shell.program(text)


class Shell:
    """`call` carries the streams; its env and cwd change as the program runs."""

    def __init__(self, call: Call, arguments: Tuple[str, ...] = ()) -> None:
        self.call = replace(call, env={**ENVIRONMENT, **call.env})
        self.arguments, self.status, self.pid = arguments, 0, next(call.device.pids)

    def program(self, text: str) -> int:
        """Of the whole text; syntax is looked at first, as nothing of a broken program must run."""
        try:
            return self.list(parse(text), self.call)
        except tree.SyntaxFault as fault:
            self.call.err(os.fsencode(f"/system/bin/sh: {fault}\n"))
            return 1
        except RecursionError:
            self.call.err(b"/system/bin/sh: nested too deeply\n")
            return 1
        except Left as left:
            return left.status

    def list(self, program: tree.List_, call: Call) -> int:
        for join, pipeline in program:
            if (join == "&&" and self.status) or (join == "||" and not self.status):
                continue
            self._pipeline(pipeline, call)
            if call.cancelled.is_set():
                raise Stopped
        return self.status

    def _pipeline(self, pipeline: tree.Pipeline, call: Call) -> None:
        status = self._piped(pipeline.commands, call)
        self.status = int(not status) if pipeline.negated else status

    def _piped(self, commands: List[tree.Command], call: Call) -> int:
        if len(commands) == 1:
            return self._command(commands[0], call)
        threads = []
        failed: List[Exception] = []
        source = call.stdin
        for part in commands[:-1]:
            pipe = Pipe(call.cancelled)
            inner = replace(call, stdin=source, out=pipe.write)
            thread = threading.Thread(target=self._child()._stage, args=(part, inner, pipe, failed), daemon=True)
            thread.start()
            threads.append((thread, source))
            source = pipe
        try:
            return self._child()._own(commands[-1], replace(call, stdin=source))
        finally:
            for pipe in [source, *(s for _, s in threads)]:
                if isinstance(pipe, Pipe) and pipe is not call.stdin:
                    pipe.stop()
            for thread, _ in threads:
                thread.join()
            if failed:
                raise failed[0]

    def _stage(self, command: tree.Command, call: Call, pipe: Pipe, failed: List[Exception]) -> None:
        try:
            self._own(command, call)
        except Stopped:
            pass
        except Exception as error:  # the whole command's, as if it had happened in its last part
            failed.append(error)
        finally:
            pipe.end()
            if isinstance(call.stdin, Pipe):
                call.stdin.stop()

    def _child(self) -> "Shell":
        child = Shell(self.call, self.arguments)
        child.status = self.status
        return child

    def _own(self, command: tree.Command, call: Call) -> int:
        """In a shell of its own: `exit` ends only that."""
        try:
            return self._command(command, replace(call, env=self.call.env))
        except Left as left:
            return left.status

    def _command(self, command: tree.Command, call: Call) -> int:
        try:
            opened: List = []
            inner = self._redirected(command.redirections, call, opened)
        except OSError as error:
            name, strerror = error.filename, error.strerror
            call.err(os.fsencode(f"/system/bin/sh: can't open {name}: {strerror}\n"))
            self.status = 1
            return 1
        try:
            self.status = _RUN[type(command)](self, command, inner)
        finally:
            for file in opened:
                file.close()
        return self.status

    def _redirected(self, redirections: List[tree.Redirection], call: Call, opened: List) -> Call:
        for descriptor, kind, target in redirections:
            name = " ".join(self._expand(target, call))
            if kind == ">&":
                if name not in ("1", "2"):
                    raise OSError(9, "Bad file descriptor", name)
                writer = call.out if name == "1" else call.err
                call = replace(call, err=writer) if descriptor == 2 else replace(call, out=writer)
                continue
            path = self._path(name)
            if kind == "<":
                file = call.files.open(path, "rb")
                opened.append(file)
                call = replace(call, stdin=file)
                continue
            file = call.files.open(path, "ab" if kind == ">>" else "wb")
            opened.append(file)
            writer = _writer(call, file, path)
            if descriptor in (1, -1):
                call = replace(call, out=writer)
            if descriptor in (2, -1):
                call = replace(call, err=writer)
        return call

    # kinds of commands

    def _simple(self, command: tree.Simple, call: Call) -> int:
        words = list(command.words)
        assigned: Dict[str, str] = {}
        while words and _assignment(words[0]):
            name, value = _assignment(words.pop(0))
            assigned[name] = " ".join(self._expand(value, call, split=False))
        argv = [text for word in words for text in self._expand(word, call)]
        if not argv:
            self.call.env.update(assigned)
            return self.status if not assigned else 0
        builtin = _BUILTINS.get(argv[0])
        if builtin:
            return builtin(self, argv, call)
        environment = {**self.call.env, **assigned}
        inner = replace(call, argv=argv, env=environment, cwd=self.call.cwd)
        if argv[0] not in COMMANDS and "/" in argv[0]:
            return programs.run_path(inner, self._path(argv[0]))
        return run(inner)

    def _group(self, group: tree.Group, call: Call) -> int:
        if not group.own:
            return self.list(group.body, call)
        child = self._child()
        try:
            return child.list(group.body, call)
        except Left as left:
            return left.status

    def _if(self, command: tree.If, call: Call) -> int:
        for condition, body in command.branches:
            if self.list(condition, call) == 0:
                return self.list(body, call)
        return self.list(command.otherwise, call) if command.otherwise else 0

    def _loop(self, loop: tree.Loop, call: Call) -> int:
        status = 0
        while (self.list(loop.condition, call) != 0) == loop.until:
            status = self.list(loop.body, call)
            call.wait(0.0005)
        return status

    def _for(self, loop: tree.For, call: Call) -> int:
        status = 0
        for value in [text for word in loop.words for text in self._expand(word, call)]:
            self.call.env[loop.name] = value
            status = self.list(loop.body, call)
        return status

    # words

    def _expand(self, word: tree.Word, call: Call, split: bool = True) -> List[str]:
        """Words from one: variables and substitutions put in, cut at spaces, patterns of names resolved."""
        fields: List[List[Tuple[str, bool]]] = [[]]
        for part in word:
            if isinstance(part, tree.Text):
                fields[-1].append((part.text, part.quoted))
                continue
            text = self._value(part, call)
            if part.quoted or not split:
                fields[-1].append((text, True))
                continue
            pieces = text.split()
            if text[:1] in tuple(_SPACE) and text and fields[-1]:
                fields.append([])
            for index, piece in enumerate(pieces):
                if index:
                    fields.append([])
                fields[-1].append((piece, False))
            if pieces and text[-1:] in tuple(_SPACE):
                fields.append([])
        whole = [field for field in fields if field]
        return [name for field in whole for name in (self._names(field, call) if split else [_plain(field)])]

    def _value(self, part: tree.Part, call: Call) -> str:
        if isinstance(part, tree.Substitution):
            return self._substituted(part.program, call)
        value = self._variable(part.name)
        if part.operator in (":-", "-"):
            return value or part.word
        if part.operator in (":+", "+"):
            return part.word if value else ""
        return value

    def _variable(self, name: str) -> str:
        if name in ("@", "*"):
            return " ".join(self.arguments)
        if name.isdecimal() and name != "0":
            index = int(name) - 1
            return self.arguments[index] if index < len(self.arguments) else ""
        special = {"?": str(self.status), "$": str(self.pid), "#": str(len(self.arguments)), "0": "sh", "!": ""}
        return special[name] if name in special else self.call.env.get(name, "")

    def _substituted(self, text: str, call: Call) -> str:
        out = bytearray()

        def collect(data: bytes) -> None:
            out.extend(data)
            if len(out) > _MAX_SUBSTITUTED:
                raise Stopped

        child = self._child()
        self.call.device.note("substitution", text)
        child.call = replace(child.call, out=collect, stdin=Bytes(), err=call.err)
        child_program = parse(text)
        try:
            self.status = child.list(child_program, child.call)
        except Left as left:
            self.status = left.status
        return os.fsdecode(bytes(out).rstrip(b"\n").replace(b"\0", b""))

    def _names(self, field: List[Tuple[str, bool]], call: Call) -> List[str]:
        if not any(not quoted and set("*?[") & set(text) for text, quoted in field):
            return [_plain(field)]
        pattern = "".join(_literal(text) if quoted else text for text, quoted in field)
        return self._glob(pattern, call) or [_plain(field)]

    def _glob(self, pattern: str, call: Call) -> List[str]:
        found = ["/"] if pattern.startswith("/") else [""]
        parts = [p for p in pattern.split("/") if p]
        for part in parts:
            grown = []
            for folder in found:
                if not set("*?[") & set(part):
                    whole = posixpath.join(folder, part)
                    grown += [whole] if call.files.exists(self._path(whole)) else []
                    continue
                try:
                    names = call.files.names(self._path(folder or "."))
                except OSError:
                    names = []
                hits = [n for n in names if fnmatch.fnmatchcase(n, part) and (part[0] == "." or n[0] != ".")]
                grown += [posixpath.join(folder, n) for n in hits]
            found = grown
        return sorted(found)

    def _path(self, name: str) -> str:
        return normal(name, self.call.cwd)

    # what is part of the shell itself

    def _cd(self, argv: List[str], call: Call) -> int:
        target = argv[1] if len(argv) > 1 else self.call.env.get("HOME", "/")
        try:
            located = call.files.locate(self._path(target), "")
            call.files.stat(located)
            if not call.files.is_folder(located):
                raise OSError(20, "Not a directory")
        except OSError as error:
            call.err(os.fsencode(f"/system/bin/sh: cd: {target}: {error.strerror}\n"))
            return 2
        self.call.cwd = located
        return 0

    def _exit(self, argv: List[str], call: Call) -> int:
        text = argv[1] if len(argv) > 1 else str(self.status)
        raise Left(int(text) & 255 if text.lstrip("-").isdecimal() else 1)

    def _export(self, argv: List[str], call: Call) -> int:
        for word in argv[1:]:
            name, equals, value = word.partition("=")
            if equals:
                self.call.env[name] = value
        return 0

    def _unset(self, argv: List[str], call: Call) -> int:
        for name in argv[1:]:
            self.call.env.pop(name, None)
        return 0

    def _exec(self, argv: List[str], call: Call) -> int:
        if len(argv) < 2:
            return 0
        words = tuple((tree.Text(word, True),) for word in argv[1:])
        raise Left(self._simple(tree.Simple(list(words)), call))

    def _set(self, argv: List[str], call: Call) -> int:
        return 0


_RUN: Dict[type, Callable] = {
    tree.Simple: Shell._simple,
    tree.Group: Shell._group,
    tree.If: Shell._if,
    tree.Loop: Shell._loop,
    tree.For: Shell._for,
}
_BUILTINS: Dict[str, Callable[[Shell, List[str], Call], int]] = {
    "cd": Shell._cd,
    "exit": Shell._exit,
    "export": Shell._export,
    "unset": Shell._unset,
    "exec": Shell._exec,
    "set": Shell._set,
    "umask": Shell._set,
    ":": Shell._set,
}


def _plain(field: List[Tuple[str, bool]]) -> str:
    return "".join(text for text, _ in field)


def _literal(text: str) -> str:
    return "".join(f"[{char}]" if char in "*?[" else char for char in text)


def _assignment(word: tree.Word) -> Optional[Tuple[str, tree.Word]]:
    first = word[0] if word else None
    if not isinstance(first, tree.Text) or first.quoted:
        return None
    name, equals, rest = first.text.partition("=")
    if not equals or not name.isidentifier():
        return None
    return name, ((tree.Text(rest, False),) if rest else ()) + word[1:]


def _writer(call: Call, file, path: str) -> Callable[[bytes], None]:
    def write(data: bytes) -> None:
        call.meet("files.write")  # full: from now on there is no room
        call.device.files.room()
        if path != "/dev/null":
            file.write(data)

    return write
