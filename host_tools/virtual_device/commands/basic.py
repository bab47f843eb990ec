"""Commands without files: echo, true, sleep, test and their like."""

import os
import time
from typing import List

from host_tools.virtual_device.call import Call, command, whole
from host_tools.virtual_device.shell import run_text

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "\\": "\\", "a": "\a", "b": "\b", "e": "\x1b"}


@command("true")
def true(call: Call) -> int:
    return 0


@command("false")
def false(call: Call) -> int:
    return 1


@command("echo")
def echo(call: Call) -> int:
    words, newline, escapes = call.argv[1:], True, False
    while words and words[0] in ("-n", "-e", "-ne", "-en", "-E"):
        newline = newline and "n" not in words[0]
        escapes = escapes or "e" in words[0]
        words = words[1:]
    text = " ".join(words)
    call.out(os.fsencode((_unescaped(text) if escapes else text) + ("\n" if newline else "")))
    return 0


def _unescaped(text: str) -> str:
    out, at = [], 0
    while at < len(text):
        if text[at] == "\\" and at + 1 < len(text) and text[at + 1] in _ESCAPES:
            out.append(_ESCAPES[text[at + 1]])
            at += 2
        else:
            out.append(text[at])
            at += 1
    return "".join(out)


@command("printf")
def printf(call: Call) -> int:
    """%s, %d, %x, %c and %%; the format is used again while there are words left."""
    if len(call.argv) < 2:
        return call.fail("usage: printf FORMAT [ARGUMENT...]")
    form, words = _unescaped(call.argv[1]), call.argv[2:]
    while True:
        before = len(words)
        text = _formatted(form, words)
        call.out(os.fsencode(text))
        if not words or len(words) == before:
            return 0


def _formatted(form: str, words: List[str]) -> str:
    out, at = [], 0
    while at < len(form):
        if form[at] != "%":
            out.append(form[at])
            at += 1
            continue
        kind = form[at + 1 : at + 2]
        at += 2
        if kind == "%":
            out.append("%")
        elif kind in ("s", "c", "d", "x", "b"):
            word = words.pop(0) if words else ""
            number = int(word) if word.lstrip("-").isdecimal() else 0
            out.append({"d": str(number), "x": f"{number:x}", "c": word[:1]}.get(kind, word))
    return "".join(out)


@command("sleep")
def sleep(call: Call) -> int:
    try:
        seconds = sum(float(word) for word in call.argv[1:])
    except ValueError:
        return call.fail(f"bad time {call.argv[1]!r}")
    call.wait(max(0.0, seconds))
    return 0


@command("date")
def date(call: Call) -> int:
    form = call.argv[1][1:] if len(call.argv) > 1 and call.argv[1].startswith("+") else "%a %b %e %H:%M:%S GMT %Y"
    now = time.time()
    form = form.replace("%s", str(int(now))).replace("%N", f"{int(now % 1 * 1e9):09d}")
    call.line(time.strftime(form, time.gmtime(now)))
    return 0


@command("pwd")
def pwd(call: Call) -> int:
    call.line(call.cwd)
    return 0


@command("sh")
def sh(call: Call) -> int:
    """`sh -c TEXT [NAME WORD...]`, `sh FILE [WORD...]`, or what comes on the input."""
    words = call.argv[1:]
    if words[:1] == ["-c"]:
        if len(words) < 2:
            return call.fail("-c: requires an argument")
        return run_text(call, words[1], tuple(words[3:]))
    if words and words[0] != "-":
        with call.files.open(call.path(words[0]), "rb") as file:
            return run_text(call, os.fsdecode(file.read(1 << 20)), tuple(words[1:]))
    return run_text(call, os.fsdecode(whole(call.stdin)))


@command("toybox", "nice", "nohup", "time", "command")
def toybox(call: Call) -> int:
    """Another command, by name."""
    words = call.argv[1:]
    if call.argv[0] == "nice" and words[:1] == ["-n"]:
        words = words[2:]
    return call.run(words) if words else call.fail("needs a command")


@command("env")
def env(call: Call) -> int:
    words, environment = call.argv[1:], dict(call.env)
    while words and "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        environment[name] = value
    if words:
        return call.run(words, env=environment)
    for name, value in environment.items():
        call.line(f"{name}={value}")
    return 0


@command("timeout")
def timeout(call: Call) -> int:
    """The command that follows. What runs here ends by itself or with the stream."""
    words = [w for w in call.argv[1:] if not w.startswith("-")]
    return call.run(words[1:]) if len(words) > 1 else call.fail("needs a time and a command")


@command("yes")
def yes(call: Call) -> int:
    text = os.fsencode((" ".join(call.argv[1:]) or "y") + "\n") * 1000
    while True:
        call.out(text)


@command("seq")
def seq(call: Call) -> int:
    numbers = [int(w) for w in call.argv[1:] if w.lstrip("-").isdecimal()]
    if not 1 <= len(numbers) <= 3 or len(numbers) != len(call.argv) - 1:
        return call.fail("needs 1 to 3 numbers")
    first, step, last = {1: (1, 1, numbers[-1]), 2: (numbers[0], 1, numbers[-1])}.get(len(numbers)) or tuple(numbers)
    for number in range(first, last + (1 if step > 0 else -1), step or 1):
        call.line(str(number))
    return 0


@command("basename")
def basename(call: Call) -> int:
    call.line((call.argv[1].rstrip("/").rpartition("/")[2] or "/") if len(call.argv) > 1 else "")
    return 0


@command("dirname")
def dirname(call: Call) -> int:
    folder, slash, _ = (call.argv[1] if len(call.argv) > 1 else "").rstrip("/").rpartition("/")
    call.line(folder or ("/" if slash else "."))
    return 0


@command("test", "[")
def test(call: Call) -> int:
    words = call.argv[1:]
    if call.argv[0] == "[":
        if words[-1:] != ["]"]:
            return call.fail("missing ]", 2)
        words = words[:-1]
    negated = words[:1] == ["!"]
    words = words[1:] if negated else words
    try:
        holds = _holds(call, words)
    except ValueError:
        return call.fail("bad expression", 2)
    return int(holds == negated)


def _holds(call: Call, words: List[str]) -> bool:
    if len(words) == 1:
        return bool(words[0])
    if len(words) == 2:
        return _of_one(call, *words)
    if len(words) == 3:
        left, operator, right = words
        if operator in ("=", "==", "!="):
            return (left == right) == (operator != "!=")
        a, b = int(left), int(right)
        return {"-eq": a == b, "-ne": a != b, "-lt": a < b, "-le": a <= b, "-gt": a > b, "-ge": a >= b}[operator]
    if words:
        raise ValueError
    return False


def _of_one(call: Call, operator: str, word: str) -> bool:
    if operator in ("-z", "-n"):
        return bool(word) == (operator == "-n")
    try:
        mode = call.files.stat(call.path(word), follow=operator not in ("-L", "-h")).mode
    except OSError:
        return False
    kind = mode >> 12
    if operator == "-s":
        return call.files.stat(call.path(word)).size > 0
    tests = {"-e": True, "-f": kind == 8, "-d": kind == 4, "-L": kind == 10, "-h": kind == 10}
    tests.update({"-x": bool(mode & 0o111), "-r": True, "-w": bool(mode & 0o200)})
    if operator not in tests:
        raise ValueError
    return tests[operator]
