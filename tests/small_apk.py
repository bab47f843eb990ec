"""Small APKs with what a test wants in them, without a build of the app."""

import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path

from host_tools.base import child_process
from host_tools.build import apk, java

PASSWORD = "for tests"
DEX = b"dex\n035\0"  # no more of it is read where a test does not run it


def manifest(
    package: str = "org.example.app",
    version: int = 3,
    min_sdk: int = 26,
    target: int = 34,
    application: str = 'android:extractNativeLibs="false" android:debuggable="true"',
    more: str = '<instrumentation android:name=".Runner" android:targetPackage="org.example.app"/>',
) -> str:
    return (
        f'<manifest xmlns:android="http://schemas.android.com/apk/res/android" package="{package}" '
        f'android:versionCode="{version}" android:versionName="{version}.0">'
        f'<uses-sdk android:minSdkVersion="{min_sdk}" android:targetSdkVersion="{target}"/>'
        f"<application {application}/>{more}</manifest>"
    )


def make(
    out: Path,
    text: str = "",
    *,
    files: Mapping[str, bytes] | None = None,
    compressed: bool = False,
    align: bool = True,
    key: Path | None = None,
) -> Path:
    """An APK with this manifest and these files; signed with `key`, where there is one."""
    folder = out.parent / f".{out.name}"
    folder.mkdir()
    (folder / "AndroidManifest.xml").write_text(text or manifest(), encoding="utf-8")
    linked = folder / "linked.apk"
    argv = ["aapt2", "link", "--warn-manifest-validation", "--manifest", folder / "AndroidManifest.xml"]
    child_process.run([*argv, "-I", apk.framework(), "-o", linked], timeout_s=60)
    with zipfile.ZipFile(linked, "a") as archive:
        for name, content in (files if files is not None else {"classes.dex": DEX}).items():
            how = zipfile.ZIP_DEFLATED if compressed or not name.startswith("lib/") else zipfile.ZIP_STORED
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content, how)
    aligned = folder / "aligned.apk" if align else linked
    if align:
        child_process.run(["zipalign", "-f", 4096, linked, aligned], timeout_s=60)
    if key is None:
        return aligned.replace(out)
    words = ["--ks", key, "--ks-pass", f"pass:{PASSWORD}", "--v1-signing-enabled", "false", "--min-sdk-version", 26]
    child_process.run(["apksigner", "sign", *words, "--out", out, aligned], timeout_s=60)
    return out


def new_key(folder: Path, name: str) -> Path:
    made = folder / f"{name}.keystore"
    argv = [java.tool("keytool"), "-genkeypair", "-keystore", made, "-storepass", PASSWORD, "-keypass", PASSWORD]
    child_process.run([*argv, "-alias", name, "-keyalg", "EC", "-dname", f"CN={name}"], timeout_s=60)
    return made


def library(machine: int = 62) -> bytes:
    """The head of an ELF library; 62: x86_64."""
    return b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHI", 3, machine, 1) + bytes(40)
