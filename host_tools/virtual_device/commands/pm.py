"""The package manager's commands: `pm …`, `cmd package …` and, by abb_exec, `package …`."""

import os
from typing import Callable, Dict, List, Optional, Tuple

from host_tools.errors import QuadraError
from host_tools.virtual_device.apk_reader import Refused
from host_tools.virtual_device.call import Call, command
from host_tools.virtual_device.commands.services import service
from host_tools.virtual_device.packages import Installed, Packages, Session, Wishes, no_room

_BLOCK_BYTES = 1 << 18
_MAX_APK_BYTES = 1 << 31
_WITH_VALUE = ("-i", "--user", "--abi", "-S", "--install-reason", "--install-location", "--originating-uri", "--referrer", "-p")
_VERBS: Dict[str, Callable[[Call, List[str]], int]] = {}


def _verb(*names: str):
    def enter(function):
        for name in names:
            _VERBS[name] = function
        return function

    return enter


@command("pm")
def pm(call: Call) -> int:
    return package(call)


@service("package")
def package(call: Call) -> int:
    words = call.argv[1:]
    if not words or words[0] not in _VERBS:
        call.line("Package manager (package) commands:\n" + "\n".join(f"  {name}" for name in sorted(_VERBS)))
        return 255 if words else 0
    return _VERBS[words[0]](call, words[1:])


def _options(words: List[str]) -> Tuple[Dict[str, str], List[str]]:
    """Options, with their values where they take one, and the words after them."""
    options: Dict[str, str] = {}
    left = list(words)
    while left and left[0].startswith("-") and left[0] != "-":
        name = left.pop(0)
        options[name] = left.pop(0) if name in _WITH_VALUE and left else ""
    return options, left


def _wishes(options: Dict[str, str]) -> Wishes:
    return Wishes("-R" not in options, "-d" in options, "-t" in options, options.get("--abi", ""))


def _packages(call: Call) -> Packages:
    return call.device.packages


@_verb("install")
def install(call: Call, words: List[str]) -> int:
    """From a file of the device, or `-S SIZE` bytes of the input."""
    options, names = _options(words)
    fault = call.meet("install")
    session = _packages(call).session()
    try:
        if fault and fault.kind in ("refuse", "full"):
            raise no_room() if fault.kind == "full" else Refused("INSTALL_FAILED_USER_RESTRICTED", "Install canceled by user")
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


def _fill(call: Call, session: Session, options: Dict[str, str], names: List[str]) -> str:
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


def _size(text: str) -> Optional[int]:
    return int(text) if text.isdecimal() and 0 < int(text) < _MAX_APK_BYTES else None


def _copy(call: Call, source, size: Optional[int], session: Session) -> str:
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


@_verb("install-create")
def install_create(call: Call, words: List[str]) -> int:
    options, _ = _options(words)
    session = _packages(call).session()
    session.wishes = _wishes(options)
    call.line(f"Success: created install session [{session.number}]")
    return 0


@_verb("install-write")
def install_write(call: Call, words: List[str]) -> int:
    options, names = _options(words)
    session = _session(call, names)
    if session is None:
        return 255
    try:
        problem = _fill(call, session, options, names[2:] if names[2:] != ["-"] else [])
    except Refused as refused:
        call.line(str(refused))
        return 1
    if problem:
        call.err(os.fsencode(f"Error: {problem}\n"))
        return 1
    call.line(f"Success: streamed {session.apk.stat().st_size} bytes")
    return 0


@_verb("install-commit")
def install_commit(call: Call, words: List[str]) -> int:
    session = _session(call, words)
    if session is None:
        return 255
    try:
        if not session.apk.exists():
            raise Refused("INSTALL_PARSE_FAILED_NOT_APK", "Session has no APK")
        _take(call, session, session.wishes)
    except Refused as refused:
        call.line(str(refused))
        return 1
    call.line("Success")
    return 0


@_verb("install-abandon")
def install_abandon(call: Call, words: List[str]) -> int:
    session = _session(call, words)
    if session is None:
        return 255
    _packages(call).abandon(session)
    call.line("Success")
    return 0


def _session(call: Call, words: List[str]) -> Optional[Session]:
    known = _packages(call).sessions
    session = known.get(int(words[0])) if words and words[0].isdecimal() and len(words[0]) < 12 else None
    if session is None:
        call.err(b"Exception occurred while executing: java.lang.SecurityException: Caller has no access to session\n")
    return session


@_verb("uninstall")
def uninstall(call: Call, words: List[str]) -> int:
    options, names = _options(words)
    name = names[0] if names else ""
    if not _packages(call).uninstall(name, keep_data="-k" in options):
        call.line("Failure [not installed for 0]" if name else "Error: package name not specified")
        return 1
    call.device.evidence.forget(name)
    call.line("Success")
    return 0


@_verb("clear")
def clear(call: Call, words: List[str]) -> int:
    _, names = _options(words)
    done = bool(names) and _packages(call).clear(names[0])
    call.line("Success" if done else "Failed")
    return 0 if done else 1


@_verb("path")
def path_(call: Call, words: List[str]) -> int:
    _, names = _options(words)
    one = _packages(call).get(names[0]) if names else None
    if one is None:
        return 1
    call.line(f"package:{one.apk}")
    return 0


@_verb("list")
def list_(call: Call, words: List[str]) -> int:
    options, names = _options(words[1:])
    kind, wanted = (words or [""])[0], names[0] if names else ""
    if kind in ("package", "packages"):
        for one in _packages(call).all():
            if wanted in one.package and not {"-s", "-d"} & set(options):
                call.line(_row(one, options))
    elif kind == "instrumentation":
        for one in _packages(call).all():
            for name, target in one.instrumentations:
                if wanted in ("", target):
                    call.line(f"instrumentation:{short(one, name)} (target={target})")
    elif kind == "users":
        call.line("Users:\n\tUserInfo{0:Owner:4c13} running")
    elif kind == "features":
        call.line("feature:reqGlEsVersion=0x30001")
    else:
        call.err(os.fsencode(f"Error: unknown list type '{kind}'\n"))
        return 255
    return 0


def _row(one: Installed, options: Dict[str, str]) -> str:
    text = f"package:{one.apk}={one.package}" if "-f" in options else f"package:{one.package}"
    text += f" versionCode:{one.version_code}" if "--show-versioncode" in options else ""
    return text + (f" uid:{one.uid}" if "-U" in options else "")


def short(one: Installed, name: str) -> str:
    """A component as Android writes it."""
    inner = name[len(one.package) :] if name.startswith(one.package + ".") else name
    return f"{one.package}/{inner}"


@_verb("dump")
def dump(call: Call, words: List[str]) -> int:
    return call.run(["dumpsys", "package", *words])


@_verb("compile", "bg-dexopt-job", "grant", "revoke")
def nothing(call: Call, words: List[str]) -> int:  # pylint: disable=unused-argument
    """What has no effect here."""
    call.line("Success")
    return 0


