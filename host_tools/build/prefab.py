"""The Prefab package in the AAR: headers and libraries for an app's own native code, which finds them with CMake's find_package.

The format is that of https://google.github.io/prefab, schema version 2. One module is the C API, the other the headers with the
C names of TFLite's GPU delegate, which hide TFLite's own: an app asks for them by name.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from host_tools.base import settings
from host_tools.build import android_check, apk_check, archives, maven, ndk
from host_tools.build.apk_check import Finding

PACKAGE = "quadra"
API, DROP_IN = "quadra", "drop_in"  # modules: quadra::quadra and quadra::drop_in
_HEADERS = settings.ROOT / "delegate_native" / "delegate"
_MODULES = "prefab/modules"


def contents(libraries: Mapping[str, Path]) -> dict[str, bytes | Path]:
    """Name in the AAR and content of every entry, for these libraries by ABI."""
    found: dict[str, bytes | Path] = {
        "prefab/prefab.json": _json(
            schema_version=2, name=PACKAGE, version=maven.version("quadra-name"), dependencies=[]
        ),
        f"{_MODULES}/{API}/module.json": _json(export_libraries=[]),
        f"{_MODULES}/{DROP_IN}/module.json": _json(export_libraries=[f":{API}"]),
        **_headers(),
    }
    for abi, library in libraries.items():
        found[f"{_folder(abi)}/abi.json"] = _abi(abi, library)
        found[f"{_folder(abi)}/{android_check.NAME}"] = library
    return found


def names(abis: Sequence[str]) -> set[str]:
    """Of all entries, for these ABIs."""
    metadata = {f"{_MODULES}/{module}/module.json" for module in (API, DROP_IN)}
    native = {f"{_folder(abi)}/{name}" for abi in abis for name in ("abi.json", android_check.NAME)}
    return {"prefab/prefab.json", *metadata, *_headers(), *native}


def inspect(entries: Mapping[str, bytes], abis: Sequence[str]) -> Finding:
    """Whether the libraries are those that the app gets, and who links them is told so. entries: of the whole AAR."""
    wrong = []
    for abi in abis:
        if entries[f"{_folder(abi)}/{android_check.NAME}"] != entries[f"jni/{abi}/{android_check.NAME}"]:
            wrong.append(f"the library for {abi} is another than in jni")
        if json.loads(entries[f"{_folder(abi)}/abi.json"])["abi"] != abi:
            wrong.append(f"abi.json of {abi} names another ABI")
    package = json.loads(entries["prefab/prefab.json"])
    if not re.fullmatch(r"\d+(\.\d+){0,3}", package["version"]):
        wrong.append(f"CMake takes no version {package['version']}")
    return Finding("prefab", "; ".join([f"{package['name']}::{API}, {package['name']}::{DROP_IN}", *wrong]), not wrong)


def _folder(abi: str) -> str:
    return f"{_MODULES}/{API}/libs/android.{abi}"


def _headers() -> dict[str, bytes | Path]:
    drop_in = archives.tree(_HEADERS / "drop_in", "*.h")
    return {
        f"{_MODULES}/{API}/include/quadra.h": _HEADERS / "quadra.h",
        **{f"{_MODULES}/{DROP_IN}/include/{name}": path for name, path in drop_in.items()},
    }


def _abi(abi: str, library: Path) -> bytes:
    """No STL: the library has its own within it, and shows nothing of it."""
    level = int(maven.version("android-minSdk"))
    return _json(abi=abi, api=level, ndk=_ndk(library), stl="none", static=False)


def _ndk(library: Path) -> int:
    """The major version of the NDK that built it; the oldest that would do, where that was a stand-in."""
    found = re.match(r"NDK (\d+)", apk_check.made_by(library))
    return int(found[1]) if found else ndk.OLDEST


def _json(**fields: object) -> bytes:
    return (json.dumps(fields, indent=2) + "\n").encode()
