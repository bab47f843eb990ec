"""What this machine must have for Android's code to run on it, where the toolkit is installed: a clone has a set-up that looks."""

import os
import platform
import re
import sys

from host_tools.android_on_host import bionic
from host_tools.base import child_process, installed, settings
from host_tools.base.errors import QuadraError, ToolMissing
from host_tools.build import java, maven, stock_delegate

JAVA = range(17, 22)  # versions that Robolectric runs on
_GLIBC = (2, 35)  # what stands in for Android's C library was made for
_JAVA_S = 30.0
_DEBIAN_JAVA = "default-jre-headless"
_PIP = "pip install 'quadra-tools[virtual-device]'"


def require(tried: str) -> None:
    """ToolMissing with all that is not here and what brings it. Fetches what is not in the wheel, once."""
    if not installed.INSTALLED:
        return
    missing, do_next = absent()
    if missing:
        raise ToolMissing(tried, missing, do_next)
    for aliases in (("tflite", "junit", "robolectric", "android-all"), stock_delegate.ALIASES):
        maven.class_path(*aliases)


def absent() -> tuple[str, str]:
    """What is not here, and what to do; empty: nothing."""
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        here = f"{sys.platform} on {platform.machine()}"
        return (
            f"it runs Android's x86-64 code on Linux, and this is {here}",
            "take a phone, or do this on Linux on x86-64",
        )
    if glibc() < _GLIBC:
        here, wanted = (".".join(map(str, version)) for version in (glibc(), _GLIBC))
        return (
            f"it needs glibc {wanted} or later, and {here} is here",
            "take a newer system, as Debian 12 or Ubuntu 22.04",
        )
    libraries, java_ = bionic.not_here(), wrong_java()
    packages = [*dict.fromkeys(libraries.values()), *([_DEBIAN_JAVA] if java_ else [])]
    names = [*libraries, *([f"Java {JAVA[0]} to {JAVA[-1]} ({java_})"] if java_ else [])]
    if not names:
        return "", ""
    pip = f" (a Java comes with {_PIP}, too)" if java_ else ""
    unset = "unset JAVA_HOME, or " if java_ and settings.read().java_home else ""
    return f"it needs {', '.join(names)}", f"{unset}apt-get install {' '.join(packages)}{pip}"


def wrong_java() -> str:
    """What is wrong with the Java that would run; empty: nothing."""
    try:
        told = child_process.run([java.tool("java"), "-version"], timeout_s=_JAVA_S, check=False)
    except QuadraError as error:
        return error.came_back
    found = re.search(r'version "(?:1\.)?(\d+)', told.stderr + told.stdout)
    version = int(found[1]) if found else 0
    return "" if version in JAVA else f"{version or 'an unknown version'} is here"


def glibc() -> tuple[int, ...]:
    """(2, 36); of another C library: ()."""
    told = (os.confstr("CS_GNU_LIBC_VERSION") or "").rpartition(" ")[2]
    return tuple(int(word) for word in told.split(".") if word.isdecimal())
