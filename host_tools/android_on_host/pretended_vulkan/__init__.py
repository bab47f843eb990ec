"""A Vulkan driver of a phone that is not there (calls.c): built here, and put before a program by its environment."""

import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path

from host_tools.base import child_process, settings

LIBRARY = "libpretended_vulkan.so"
_SOURCE = Path(__file__).with_name("calls.c")
_PHONE, _CALLS, _DRIVER = "PRETENDED_VULKAN_PHONE", "PRETENDED_VULKAN_CALLS", "PRETENDED_VULKAN_DRIVER"
_GCC_S = 60.0


def library(headers: Path) -> Path:
    """Built once. headers: a folder with vulkan/ and vk_video/ in it. ToolMissing: there is no compiler."""
    folder = settings.read().tools_dir / "pretended_vulkan" / digest()
    if (folder / LIBRARY).exists():
        return folder / LIBRARY
    settings.make_folder(folder, "QUADRA_TOOLS_DIR")
    with tempfile.TemporaryDirectory(dir=folder.parent) as work:
        new, include = Path(work) / LIBRARY, Path(work) / "include"
        include.mkdir()
        for part in ("vulkan", "vk_video"):  # alone: beside them are the headers of another C library
            os.symlink(headers / part, include / part)
        argv: list[object] = ["gcc", "-O2", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-o", new]
        argv += ["-fvisibility=hidden", f"-I{include}", _SOURCE, f"-Wl,-soname,{LIBRARY}", "-Wl,-z,defs", "-pthread"]
        child_process.run([*argv, "-ldl"], timeout_s=_GCC_S, hint="apt-get install gcc")
        shutil.move(new, folder / LIBRARY)
    return folder / LIBRARY


def digest() -> str:
    """Of what answers and records: another one may write another form."""
    return hashlib.sha256(_SOURCE.read_bytes()).hexdigest()[:16]


def environment(library: Path, driver: Path, phone: str, folder: Path, calls: Path) -> dict[str, str]:
    """Of a process whose Vulkan loader is to find `library`, and no other driver. driver: a real one that is behind it.
    phone: its answers, by lines; folder: for files. calls: the recording."""
    answers, described = folder / "vulkan_phone", folder / "vulkan_icd.json"
    answers.write_text(phone, encoding="utf-8")
    icd = {"file_format_version": "1.0.0", "ICD": {"library_path": str(library), "api_version": "1.3.0"}}
    described.write_text(json.dumps(icd), encoding="utf-8")
    return {
        _PHONE: str(answers),
        _CALLS: str(calls),
        _DRIVER: str(driver),
        "VK_ICD_FILENAMES": str(described),
        "VK_DRIVER_FILES": str(described),  # the loader's newer name goes before the older one
    }
