"""The package manager's commands: `pm …` and `cmd package …`."""

import os
from collections.abc import Callable

from host_tools.base.errors import QuadraError
from host_tools.virtual_device.apk_reader import Refused
from host_tools.virtual_device.call import Call, Input, command
from host_tools.virtual_device.packages import Installed, Packages, Session, Wishes, no_room

_BLOCK_BYTES = 1 << 18
_MAX_APK_BYTES = 1 << 31
_WITH_VALUE = ("-i", "--user", "--abi", "-S")
_Verb = Callable[[Call, list[str]], int]
_VERBS: dict[str, _Verb] = {}


def _verb(name: str) -> Callable[[_Verb], _Verb]:
    return lambda function: _VERBS.setdefault(name, function)


@command("pm")
def package(call: Call) -> int:
    words = call.argv[1:]
    if not words or words[0] not in _VERBS:
        call.line("Package manager (package) commands:\n" + "\n".join(f"  {name}" for name in sorted(_VERBS)))
        return 255 if words else 0
    return _VERBS[words[0]](call, words[1:])


def _options(words: list[str]) -> tuple[dict[str, str], list[str]]:
    """Options, with their values where they take one, and the words after them."""
    options: dict[str, str] = {}
    left = list(words)
    while left and left[0].startswith("-") and left[0] != "-":
        name = left.pop(0)
        options[name] = left.pop(0) if name in _WITH_VALUE and left else ""
    return options, left


def _wishes(options: dict[str, str]) -> Wishes:
    return Wishes("-R" not in options, "-d" in options, "-t" in options, options.get("--abi", ""))


def _packages(call: Call) -> Packages:
    return call.device.packages


@_verb("install")
def install(call: Call, words: list[str]) -> int:
    """From a file of the device, or `-S SIZE` bytes of the input."""
    options, names = _options(words)
    fault = call.meet("install")
    session = _packages(call).session()
    try:
        if fault and fault.kind in ("refuse", "full"):
            raise (
                no_room()
                if fault.kind == "full"
                else Refused("INSTALL_FAILED_USER_RESTRICTED", "Install canceled by user")
            )
        if fault and fault.kind == "crash":
            return call.fail("Failure calling service package: Broken pipe (32)", 224)
        if fault and fault.kind == "hostile":
            call.out(b"Success\x1b[2J\nFailure [INSTALL_FAILED_\xff: $(id)]\n" if not fault.value else b"A" * (1 << 20))
            return 0
        problem = _fill(call, session, options, names)
        if problem:
            call.err(os.fsencode(f"Error: {problem}\n"))
            return 1
        _take(call, session, _wishes(options))
    except Refused as refused:
        call.line(str(refused))
        return 1
    finally:
        _packages(call).abandon(session)
    call.line("Success")
    return 0


def _take(call: Call, session: Session, wishes: Wishes) -> None:
    try:
        _packages(call).install(session, wishes)
    except QuadraError as error:  # apksigner is not here, or did not end
        raise Refused("INSTALL_FAILED_INTERNAL_ERROR", " ".join(str(error).split())) from error


def _fill(call: Call, session: Session, options: dict[str, str], names: list[str]) -> str:
    """Brings the APK into the session; the sentence of what was wrong with how it was asked for."""
    if names and names[0] != "-":
        path = call.path(names[0])
        try:
            with call.files.open(path) as source:
                return _copy(call, source, None, session)
        except OSError:
            return f"Unable to open file: {names[0]}\nConsider using a file under /data/local/tmp/"
    size = _size(options.get("-S", ""))
    if size is None:
        return "must either specify a package size or an APK file"
    return _copy(call, call.stdin, size, session)


def _size(text: str) -> int | None:
    return int(text) if text.isdecimal() and 0 < int(text) < _MAX_APK_BYTES else None


def _copy(call: Call, source: Input, size: int | None, session: Session) -> str:
    """`size` bytes, all without one, into the session's file."""
    try:
        call.device.files.room()
        with session.open() as target:
            left = _MAX_APK_BYTES if size is None else size
            while left:
                piece = source.read(min(left, _BLOCK_BYTES))
                if not piece:
                    break
                target.write(piece)
                left -= len(piece)
                call.device.files.room()
    except OSError as error:
        raise no_room() from error
    return "" if size is None or not left else f"Expected {size} bytes, {size - left} came"


@_verb("uninstall")
def uninstall(call: Call, words: list[str]) -> int:
    options, names = _options(words)
    name = names[0] if names else ""
    if not _packages(call).uninstall(name, keep_data="-k" in options):
        call.line("Failure [not installed for 0]" if name else "Error: package name not specified")
        return 1
    call.device.evidence.forget(name)
    call.line("Success")
    return 0


@_verb("clear")
def clear(call: Call, words: list[str]) -> int:
    _, names = _options(words)
    done = bool(names) and _packages(call).clear(names[0])
    call.line("Success" if done else "Failed")
    return 0 if done else 1


@_verb("path")
def path_(call: Call, words: list[str]) -> int:
    _, names = _options(words)
    one = _packages(call).get(names[0]) if names else None
    if one is None:
        return 1
    call.line(f"package:{one.apk}")
    return 0


@_verb("list")
def list_(call: Call, words: list[str]) -> int:
    options, names = _options(words[1:])
    kind, wanted = (words or [""])[0], names[0] if names else ""
    if kind not in ("package", "packages", "instrumentation"):
        call.err(os.fsencode(f"Error: unknown list type '{kind}'\n"))
        return 255
    for one in _packages(call).all():
        if kind != "instrumentation" and wanted in one.package and "-s" not in options:
            path = f"{one.apk}=" if "-f" in options else ""
            call.line(f"package:{path}{one.package}" + (f" uid:{one.uid}" if "-U" in options else ""))
        for name, target in one.instrumentations if kind == "instrumentation" else ():
            call.line(f"instrumentation:{short(one, name)} (target={target})")
    return 0


def short(one: Installed, name: str) -> str:
    """A component as Android writes it."""
    return f"{one.package}/{name[len(one.package) :] if name.startswith(one.package + '.') else name}"
