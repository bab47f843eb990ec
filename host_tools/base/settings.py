"""Where things are, and the environment variables that say so. The only reader of the environment
in the toolkit. (The options of the delegate itself are read by the delegate.)"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from host_tools.base import installed
from host_tools.base.errors import Misuse, not_written

ROOT = installed.PACKAGE.parent  # of the clone; installed, the folder that Python finds the toolkit in
_SOCKET = re.compile(r"tcp:(?:([^:]+|\[[^]]+\]):)?([0-9]{1,5})")


@dataclass(frozen=True)
class AdbServer:
    """Where the user's adb server listens."""

    host: str
    port: int


@dataclass(frozen=True)
class Settings:
    """All paths are absolute; nothing here is created by reading it."""

    models_dirs: tuple[Path, ...]  # QUADRA_MODELS_DIR: your own models, searched first; ':' between folders
    downloads_dir: Path  # QUADRA_DOWNLOADS_DIR: models that Quadra fetched
    runs_dir: Path  # QUADRA_RUNS_DIR: run folders
    driver_cache_dir: Path  # QUADRA_DRIVER_CACHE_DIR: what OpenCL drivers compiled in earlier runs
    tools_dir: Path  # QUADRA_TOOLS_DIR: what was fetched or made to build and run Android code
    devices_dir: Path  # QUADRA_DEVICES_DIR: virtual devices, and who works with which device
    adb_port: int  # QUADRA_ADB_PORT: where the adb server of virtual devices listens
    adb_server: (
        AdbServer  # ADB_SERVER_SOCKET, ANDROID_ADB_SERVER_ADDRESS, ANDROID_ADB_SERVER_PORT: the user's adb server
    )
    android_serial: str  # ANDROID_SERIAL: the device of `--on any`
    history: Path  # QUADRA_HISTORY: the samples of all regression runs
    java_home: Path | None  # JAVA_HOME: the JDK to use; without it, the one of PATH
    maven_url: str  # QUADRA_MAVEN_URL: the Maven repository to download from where Maven is not installed
    keystore: Path | None  # QUADRA_KEYSTORE: who signs an APK for release
    keystore_password: str  # QUADRA_KEYSTORE_PASSWORD
    android_ndk_home: Path | None  # ANDROID_NDK_HOME: an NDK, r27 or later
    bazel: str  # QUADRA_BAZEL: the bazel to use
    bazel_output_base: Path | None  # QUADRA_BAZEL_OUTPUT_BASE: a build folder of its own
    opencl_drivers: str  # OCL_ICD_VENDORS: the OpenCL drivers that a process may see
    display: bool  # DISPLAY, WAYLAND_DISPLAY: whether a browser has a window to open
    debug: int  # QUADRA_DEBUG: 0..5; from 1 on errors come with their traceback


def read(environ: Mapping[str, str] | None = None) -> Settings:
    """The settings of this moment, from `environ` (default: the real environment)."""
    env = os.environ if environ is None else environ

    def path(name: str, default: Path) -> Path:
        return utf8_path(_absolute(env[name]), f"read {name}", "set it to another folder") if env.get(name) else default

    home = Path(env.get("HOME") or "/")
    cache = Path(env["XDG_CACHE_HOME"]) if env.get("XDG_CACHE_HOME") else home / ".cache"
    base = env.get("QUADRA_BAZEL_OUTPUT_BASE")
    folders = [f for f in env.get("QUADRA_MODELS_DIR", "").split(os.pathsep) if f]
    return Settings(
        models_dirs=tuple(_absolute(f) for f in folders),
        downloads_dir=path("QUADRA_DOWNLOADS_DIR", cache / "quadra" / "models"),
        runs_dir=path("QUADRA_RUNS_DIR", (Path.cwd() if installed.INSTALLED else ROOT) / "runs"),
        driver_cache_dir=path("QUADRA_DRIVER_CACHE_DIR", cache / "quadra" / "driver"),
        tools_dir=path("QUADRA_TOOLS_DIR", cache / "quadra" / "tools"),
        devices_dir=path("QUADRA_DEVICES_DIR", cache / "quadra" / "devices"),
        adb_port=_port(env.get("QUADRA_ADB_PORT") or "5137", "QUADRA_ADB_PORT", 1024),
        adb_server=_adb_server(env),
        android_serial=env.get("ANDROID_SERIAL", ""),
        history=path("QUADRA_HISTORY", cache / "quadra" / "history.sqlite"),
        java_home=_absolute(env["JAVA_HOME"]) if env.get("JAVA_HOME") else None,
        maven_url=env.get("QUADRA_MAVEN_URL", "").rstrip("/"),
        keystore=_absolute(env["QUADRA_KEYSTORE"]) if env.get("QUADRA_KEYSTORE") else None,
        keystore_password=env.get("QUADRA_KEYSTORE_PASSWORD", ""),
        android_ndk_home=_absolute(env["ANDROID_NDK_HOME"]) if env.get("ANDROID_NDK_HOME") else None,
        bazel=env.get("QUADRA_BAZEL") or "bazel",
        bazel_output_base=_absolute(base) if base else None,
        opencl_drivers=env.get("OCL_ICD_VENDORS", ""),
        display=sys.platform == "darwin" or bool(env.get("DISPLAY") or env.get("WAYLAND_DISPLAY")),
        debug=_debug(env.get("QUADRA_DEBUG") or "0"),
    )


def make_folder(path: Path, variable: str) -> Path:
    """Makes `path` with its parents and returns it. `variable` is the setting that moves it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):  # os.access would not say why
            pass
    except OSError as error:
        raise not_written(f"make the folder {path}", error, variable) from error
    return path


def utf8_path(path: Path, tried: str, do_next: str) -> Path:
    """`path`, which JSON, Java and the delegate can name. Misuse where its bytes are no text."""
    try:
        str(path).encode("utf-8")
    except UnicodeEncodeError as error:
        raise Misuse(
            tried, f"'{path}' is not UTF-8, and cannot be named to a delegate or in a file", do_next
        ) from error
    return path


def _absolute(text: str) -> Path:
    return Path(os.path.abspath(os.path.expanduser(text)))


def _debug(text: str) -> int:
    if text not in ("0", "1", "2", "3", "4", "5"):
        raise Misuse("read QUADRA_DEBUG", f"{text!r} is not one of 0..5", "set it to 1 for tracebacks, or unset it")
    return int(text)


def _adb_server(env: Mapping[str, str]) -> AdbServer:
    """As adb reads its own variables (AOSP client/commandline.cpp): the socket goes before address and port."""
    given = env.get("ADB_SERVER_SOCKET")
    if not given:
        host = env.get("ANDROID_ADB_SERVER_ADDRESS") or "localhost"
        return AdbServer(host, _port(env.get("ANDROID_ADB_SERVER_PORT") or "5037", "ANDROID_ADB_SERVER_PORT"))
    match = _SOCKET.fullmatch(given)
    if not match:
        do_next = "set it to tcp:PORT or tcp:HOST:PORT, or unset it"
        raise Misuse("read ADB_SERVER_SOCKET", f"{given!r} is not a TCP address of an adb server", do_next)
    return AdbServer((match[1] or "localhost").strip("[]"), _port(match[2], "ADB_SERVER_SOCKET"))


def _port(text: str, variable: str, least: int = 1) -> int:
    if not (text.isdecimal() and len(text) < 6) or not least <= int(text) <= 65535:
        do_next = "set it to a port of this machine, or unset it"
        raise Misuse(f"read {variable}", f"{text!r} is not a port from {least} to 65535", do_next)
    return int(text)
