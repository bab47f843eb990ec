"""Which toolchain makes Android libraries: the NDK that ANDROID_NDK_HOME names, else the stand-in from packages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from host_tools.base import settings
from host_tools.base.android import ABIS
from host_tools.base.errors import Misuse

OLDEST = 27
_HOSTS = ("linux-x86_64", "darwin-x86_64")


@dataclass(frozen=True)
class Ndk:
    """An NDK's folder, what libraries made with it say of it, and how Bazel is told."""

    path: Path
    made_by: str
    is_stand_in: bool

    @property
    def environment(self) -> dict[str, str]:
        name = "QUADRA_STANDIN_NDK" if self.is_stand_in else "ANDROID_NDK_HOME"
        return {name: str(self.path)}


def abis(word: str) -> Sequence[str]:
    """The ABIs that one word of the command line means."""
    if word != "all" and word not in ABIS:
        raise Misuse(f"build for {word}", "there is no such ABI", f"give one of {', '.join(ABIS)}, or all")
    return ABIS if word == "all" else (word,)


def find() -> Ndk:
    """The toolchain to build with. Puts the stand-in together where it is needed and not there yet."""
    home = settings.read().android_ndk_home
    if home:
        return real(home)
    from host_tools.build.stand_in import assemble

    return Ndk(assemble.stand_in(), f"stand-in NDK ({assemble.versions()})", True)


def require(tried: str) -> None:
    """Misuse where no NDK is set: what the stand-in builds is for tests."""
    if not settings.read().android_ndk_home:
        found = "ANDROID_NDK_HOME is not set, and the stand-in is for tests only"
        raise Misuse(tried, found, f"set it to an NDK (r{OLDEST} or later)")


def real(home: Path) -> Ndk:
    """The NDK in `home`; Misuse when it is none, or too old."""
    tried = f"use the NDK of ANDROID_NDK_HOME ({home})"
    do_next = f"set ANDROID_NDK_HOME to the folder of an NDK r{OLDEST} or later, or unset it: tests need none"
    try:
        lines = (home / "source.properties").read_text().splitlines()
    except OSError as error:
        raise Misuse(tried, f"source.properties: {error.strerror}", do_next) from error
    pairs = _pairs(lines)
    revision = pairs.get("Pkg.Revision", "")
    if not revision.split(".")[0].isdigit():
        raise Misuse(tried, "its source.properties names no revision", do_next)
    if int(revision.split(".")[0]) < OLDEST:
        raise Misuse(tried, f"it is revision {revision}", do_next)
    folders = [home / "toolchains/llvm/prebuilt" / host for host in _HOSTS]
    if not any((folder / "bin" / "clang").exists() for folder in folders):
        raise Misuse(tried, f"it has no {folders[0].relative_to(home)}/bin/clang", do_next)
    return Ndk(home, f"NDK {revision}", False)


def _pairs(lines: Sequence[str]) -> dict[str, str]:
    return {key.strip(): value.strip() for key, _, value in (line.partition("=") for line in lines)}
