"""The package manager's commands: `pm …` and `cmd package …`."""

import os
import shutil
from pathlib import Path

from host_tools.base.errors import QuadraError
from host_tools.build.apk_reader import Refused
from host_tools.virtual_device.call import Call, Given, Input, Words, command
from host_tools.virtual_device.hostile import INSTALLS, pick
from host_tools.virtual_device.installed_app import APK_NAME
from host_tools.virtual_device.packages import no_room

_BLOCK_BYTES = 1 << 18
_MAX_APK_BYTES = 1 << 31


_LONG = ["user="]


@command("pm install", letters="rtdgS:i:", long=_LONG)
def install(call: Call, given: Given, names: Words) -> int:
    """From a file of the device, or `-S SIZE` bytes of the input."""
    fault = call.meet("install")
    if fault and fault.kind == "crash":
        return call.fail("Failure calling service package: Broken pipe (32)", 224)
    if fault and fault.kind == "hostile":
        call.out(pick(INSTALLS, fault.value))
        return 0
    packages = call.device.packages
    place = packages.new_place()
    try:
        if fault:
            user = Refused("INSTALL_FAILED_USER_RESTRICTED", "Install canceled by user")
            raise no_room() if fault.kind == "full" else user
        problem = _fill(call, place, given, names)
        if problem:
            call.err(os.fsencode(f"Error: {problem}\n"))
            return 1
        packages.install(place, test_only="-t" in given, downgrade="-d" in given)
        return call.line("Success")
    except Refused as refused:
        call.line(str(refused))
    except QuadraError as error:  # apksigner is not here, or did not end
        call.line(str(Refused("INSTALL_FAILED_INTERNAL_ERROR", " ".join(str(error).split()))))
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return 1


def _fill(call: Call, place: Path, given: Given, names: Words) -> str:
    """Brings the APK to its place; the sentence of what was wrong with how it was asked for."""
    if names and names[0] != "-":
        try:
            with call.files.open(call.path(names[0])) as source:
                _copy(call, source, _MAX_APK_BYTES, place)
                return ""
        except OSError:
            return f"Unable to open file: {names[0]}\nConsider using a file under /data/local/tmp/"
    size = int(given["-S"]) if given.get("-S", "").isdecimal() else 0
    if not 0 < size < _MAX_APK_BYTES:
        return "must either specify a package size or an APK file"
    came = _copy(call, call.stdin, size, place)
    return "" if came == size else f"Expected {size} bytes, {came} came"


def _copy(call: Call, source: Input, most: int, place: Path) -> int:
    """Copies up to so many bytes; how many came."""
    came = 0
    with open(place / APK_NAME, "wb") as target:
        while came < most:
            piece = source.read(min(most - came, _BLOCK_BYTES))
            if not piece:
                break
            if call.device.faults.lasting("full"):
                raise no_room()
            came += target.write(piece)
    return came


@command("pm uninstall", letters="k", long=_LONG, least=1)
def uninstall(call: Call, given: Given, names: Words) -> int:
    if not call.device.packages.uninstall(names[0]):
        call.line("Failure [not installed for 0]")
        return 1
    return call.line("Success")


@command("pm clear", letters="", long=_LONG, least=1)
def clear(call: Call, given: Given, names: Words) -> int:
    done = call.device.packages.clear(names[0])
    call.line("Success" if done else "Failed")
    return int(not done)


@command("pm path", letters="", long=_LONG, least=1)
def path(call: Call, given: Given, names: Words) -> int:
    one = call.device.apps.get(names[0])
    return call.line(f"package:{one.apk}") if one else 1


@command("pm list", letters="fUs3", long=_LONG, least=1)
def list_(call: Call, given: Given, words: Words) -> int:
    """`pm list packages [-f] [-U] [-3] [-s] [PART OF A NAME]`; none is the system's."""
    kind, wanted = (*words, "")[:2]
    if kind not in ("package", "packages"):
        return call.fail(f"unknown list type '{kind}'", 255)
    for one in call.device.packages.all():
        if wanted in one.package and "-s" not in given:
            path = f"{one.apk}=" if "-f" in given else ""
            call.line(f"package:{path}{one.package}" + (f" uid:{one.uid}" if "-U" in given else ""))
    return 0
