"""Looks at everything Quadra needs and says what to install. Runs on a bare Python 3.9, without any package."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shutil
import sys
from dataclasses import asdict, dataclass, replace
from glob import glob
from pathlib import Path

from host_tools.analyse import phone_compilers
from host_tools.base import installed, portable, settings
from host_tools.base.errors import Misuse, ToolMissing
from host_tools.drivers import gpus

PACKAGES = settings.ROOT / "host_tools" / "tasks" / "debian_packages.txt"
LOCK = settings.ROOT / "requirements.lock"
_FREE_BYTES = 2 * 10**9
_JAVA = range(17, 22)
_NO_OPENCL = "give the OpenCL driver what it needs (PoCL: its package, /sys mounted, free memory, a home folder)"
_NO_GLES = "give the OpenGL ES driver what it needs (Mesa: libegl1, libegl-mesa0 and libgl1-mesa-dri of one version)"


@dataclass(frozen=True)
class Check:
    """One need. package is the Debian package that meets it, if one does; do_next anything else to do."""

    need: str
    found: str
    ok: bool
    package: str = ""
    do_next: str = ""


def check_all() -> list[Check]:
    """Every check, needs of the machine first. Changes nothing."""
    gpus_here = [_opencl_devices(), _gles_devices()]
    if installed.INSTALLED:  # where a GPU of this machine is not what a run on a device needs
        here = [_delegate(), *(replace(check, ok=True) for check in gpus_here), _virtual_devices()]
    else:
        here = [*map(_package, package_table()), *_java(), _python_packages(), *gpus_here, _ndk()]
    return [_python(), *here, _phone_compilers(), *_folders(), _space()]


def package_table() -> list[tuple[str, str, str]]:
    """(Debian package, file or command that shows it, what it is for) of each line of the list."""
    lines = [line for line in PACKAGES.read_text().splitlines() if line and not line.startswith("#")]
    return [(package, shows, purpose) for package, shows, purpose in (line.split(None, 2) for line in lines)]


def advice(checks: list[Check]) -> list[str]:
    """What to do, one command or sentence per line; empty when all is well."""
    packages = sorted({c.package for c in checks if not c.ok and c.package})
    lines = [f"{_as_root()}apt-get install {' '.join(packages)}"] if packages else []
    return lines + list(dict.fromkeys(c.do_next for c in checks if not c.ok and c.do_next))


def main(as_json: bool = False) -> int:
    """Prints the table and the advice, or both as JSON; returns 0 when nothing is missing, else 73."""
    checks = check_all()
    lines = advice(checks)
    if as_json:
        print(json.dumps({"checks": [asdict(check) for check in checks], "to_do": lines}, indent=1))
        return 73 if lines else 0
    _print_table([replace(one, need=installed.said(one.need), found=installed.said(one.found)) for one in checks])
    if not lines:
        print("Nothing is missing.")
        return 0
    print("To do:")
    for line in lines:
        print(f"  {line}")
    return 73


def _python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    found = f"{version} ({sys.executable})"
    return Check("Python 3.11 or later", found, sys.version_info >= (3, 11), package="python3")


def _package(row: tuple[str, str, str]) -> Check:
    package, evidence, purpose = row
    paths = glob(evidence) if evidence.startswith("/") else [shutil.which(evidence) or ""]
    found = paths[0] if paths and paths[0] else f"no {evidence}"
    return Check(f"{package}: {purpose}", found, not found.startswith("no "), package=package)


def _java() -> list[Check]:
    """JAVA_HOME, where it is set: it goes before the packages' Java."""
    home = settings.read().java_home
    if not home:
        return []
    compiler, release = home / "bin" / "javac", home / "release"
    text = release.read_text(errors="replace") if release.is_file() else ""
    version = re.search(r'JAVA_VERSION="(\d+)', text)
    number = int(version.group(1)) if version else 0
    found = f"{home}, version {number or 'unknown'}" if os.access(compiler, os.X_OK) else f"no {compiler}"
    ok = not found.startswith("no ") and (not number or number in _JAVA)
    do_next = (
        f"set JAVA_HOME to a JDK of version {_JAVA[0]} to {_JAVA[-1]} (Robolectric knows no later one), or unset it"
    )
    return [Check("the JDK of JAVA_HOME", found, ok, do_next=do_next)]


def _python_packages() -> Check:
    need = "Python packages of requirements.lock"
    wanted = dict(line.strip().split("==") for line in LOCK.read_text().splitlines() if "==" in line)
    if Path(sys.prefix) != settings.ROOT / ".venv":
        return Check(
            need,
            ".venv is not made yet, or was made for other versions",
            False,
            do_next="./inv   (makes .venv; needs the network once)",
        )
    wrong = [name for name, version in wanted.items() if _installed(name) != version]
    found = f"{len(wanted)} in .venv" if not wrong else f"missing or of another version: {', '.join(wrong)}"
    return Check(need, found, not wrong, do_next="rm -r .venv && ./inv")


def _installed(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _opencl_devices() -> Check:
    need = "an OpenCL device"
    if not _installed("pyopencl"):
        return Check(need, "not looked for: pyopencl is not there yet", True)
    return _devices(need, gpus.opencl(), "platform", _NO_OPENCL)


def _gles_devices() -> Check:
    return _devices("an OpenGL ES 3.1 device", gpus.gles(), "version", _NO_GLES)


def _devices(need: str, found: gpus.Devices, detail: str, do_next: str) -> Check:
    errors = [device["error"] for device in found if "error" in device]
    working = [device for device in found if "error" not in device]
    names = [f"{device['name'].strip()} ({device[detail].split('  ')[0].strip()})" for device in working]
    return Check(need, "; ".join(errors or names) or "none", bool(names), do_next=do_next)


def _delegate() -> Check:
    """What support, advise, overflow and runs on this machine need."""
    from host_tools.build import artifacts

    try:
        return Check("a delegate for this machine", str(artifacts.library()), True)
    except ToolMissing as error:
        return Check("a delegate for this machine", error.came_back, True)


def _virtual_devices() -> Check:
    """What the virtual device and --on jvm need."""
    from host_tools.android_on_host import needs

    missing, do_next = needs.absent()
    return Check("for virtual devices: Java and drivers", f"{missing}: {do_next}" if missing else "all is here", True)


def _ndk() -> Check:
    from host_tools.build import ndk

    need = "a toolchain for Android"
    home = settings.read().android_ndk_home
    if not home:
        return Check(need, "a stand-in from packages, for tests (ANDROID_NDK_HOME is not set)", True)
    try:
        return Check(need, f"{ndk.real(home).made_by} ({home})", True)
    except Misuse as error:
        return Check(need, f"{home}: {error.came_back}", False, do_next=error.do_next)


def _phone_compilers() -> Check:
    """Nothing but `inv analyse` needs them."""
    states = []
    for vendor, architecture in phone_compilers.ARCHITECTURES.items():
        there = phone_compilers.installed(vendor)
        absent = f"not fetched ({phone_compilers.install_of(architecture.api)} does it)"
        states.append(f"{vendor.capitalize()}: {f'Mesa {there.version}' if there else absent}")
    return Check("compilers of phones' GPUs, for inv analyse", "; ".join(states), True)


def _folders() -> list[Check]:
    config = settings.read()
    wanted = [
        ("fetched models", config.downloads_dir, "QUADRA_DOWNLOADS_DIR"),
        ("run folders", config.runs_dir, "QUADRA_RUNS_DIR"),
        ("what Android code needs", config.tools_dir, "QUADRA_TOOLS_DIR"),
    ]
    if config.bazel_output_base:
        wanted.append(("builds", config.bazel_output_base, "QUADRA_BAZEL_OUTPUT_BASE"))
    checks = []
    for name, path, variable in wanted:
        ok = os.access(_existing(path), os.W_OK | os.X_OK)
        found = f"{path}" if ok else f"{path}: cannot be written"
        checks.append(Check(f"a folder for {name}", found, ok, do_next=f"set {variable} to a folder you may write"))
    for path in config.models_dirs:
        found = str(path) if path.is_dir() else f"{path}: not a folder"
        checks.append(Check("your models", found, path.is_dir(), do_next="set QUADRA_MODELS_DIR right, or unset it"))
    return checks


def _existing(path: Path) -> Path:
    while not path.exists() and path != path.parent:
        path = path.parent
    return path


def _space() -> Check:
    free = shutil.disk_usage(settings.ROOT).free
    found = f"{free / 1e9:.1f} GB free"
    return Check("2 GB of disk", found, free >= _FREE_BYTES, do_next=f"make room on the disk of {settings.ROOT}")


def _as_root() -> str:
    return "" if portable.is_root() else "sudo "


def _print_table(checks: list[Check]) -> None:
    if not _installed("rich"):
        width = max(len(check.need) for check in checks)
        for check in checks:
            print(f"{'ok' if check.ok else 'MISSING':8}{check.need:{width}}  {check.found}")
        return
    from rich.markup import escape

    from host_tools.base import terminal
    from host_tools.base.text_table import Table, text, word

    table = Table([word(""), text("need"), text("found", least=24)])
    for check in checks:
        table.add_row("[green]ok[/]" if check.ok else "[bold red]MISSING[/]", escape(check.need), escape(check.found))
    table.show(terminal.console())


if __name__ == "__main__":
    sys.exit(main("--json" in sys.argv))
