"""PoCL as it is installed, with less to read. With each program it parses 15,000 declarations of OpenCL's functions: four fifths
of the time that a small program takes. With the first one of a process it reads these functions' code: half a second. Here both
have only functions whose name is a word of the delegate's sources; a kernel that calls another one does not compile."""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from host_tools.base import cpu_drivers, settings

_USR = Path("/usr")
_DATA = _USR / "share" / "pocl"
_HEADER = _DATA / "include" / "opencl-c.h"
_DECLARATION = re.compile(r"^[\w ]*\b__ovld\b[^;{]*?\b(\w+)\([^;]*;[^\n]*\n", re.MULTILINE)
_WORD = re.compile(r"\b([a-z_]\w+)(\$)?")
_MANGLED = re.compile(r"_Z(\d+)")
_INTERNAL = 8  # LLVMInternalLinkage


class Named:
    """The words of the delegate's sources; and the beginnings of those that a parameter of a kernel's text ends, as
    `read_image$r`."""

    def __init__(self) -> None:
        self._words: set[str] = set()
        beginnings: set[str] = set()
        for path in (settings.ROOT / "delegate_native").rglob("*.[ch]*"):
            for word, goes_on in _WORD.findall(path.read_text(encoding="utf-8")):
                (beginnings if goes_on and len(word) > 4 else self._words).add(word)
        self._beginnings = tuple(beginnings)

    def __contains__(self, function: str) -> bool:
        return function in self._words or function.startswith(self._beginnings)


def environment() -> dict[str, str]:
    """Tells processes to take this PoCL. Nothing where they would not take PoCL by itself, or it is not laid out as Debian's."""
    icd = cpu_drivers.pocl_icd()
    library = icd and next((_USR / "lib").glob(f"*-linux-gnu/{icd.read_text().strip()}"), None)
    if settings.read().opencl_drivers or cpu_drivers.has_gpu() or not library or not _HEADER.exists():
        return {}
    header = shortened(_HEADER.read_text(), Named())
    digest = hashlib.sha256(f"{library} {library.stat().st_mtime} {header}".encode()).hexdigest()
    folder = settings.ROOT / ".cache" / "lean-pocl" / digest[:12]
    if not folder.exists():
        _make(folder, library, header)
    return {"OCL_ICD_VENDORS": str(folder / "pocl.icd")}


def shortened(header: str, named: Named) -> str:
    return _DECLARATION.sub(lambda match: match[0] if match[1] in named else "", header)


def _make(folder: Path, library: Path, header: str) -> None:
    """PoCL looks for its files beside the path that it was loaded by, here a link."""
    new = folder.with_name(f"{folder.name}.{os.getpid()}")
    beside, data = (new / path.relative_to(_USR) for path in (library.parent, _DATA))
    (data / "include").mkdir(parents=True)
    beside.mkdir(parents=True)
    for one in (library, library.parent / "pocl"):
        (beside / one.name).symlink_to(one)
    for one in [*_DATA.glob("*.bc"), *_HEADER.parent.glob("*.h")]:
        (data / one.relative_to(_DATA)).symlink_to(one)
    smaller = new / "new"
    smaller.write_text(header)
    smaller.replace(data / "include" / _HEADER.name)
    # Code for other processors stays as it is, and where another LLVM does not take it, this, too.
    width = "avx512" if cpu_drivers.has_avx512() else "avx2"
    for code in data.glob(f"*-{width}.bc"):
        argv = [sys.executable, "-m", "tests.lean_pocl", library, code, smaller]
        if subprocess.run(argv, cwd=settings.ROOT, capture_output=True).returncode == 0:
            smaller.replace(code)
    (new / "pocl.icd").write_text(str(folder / library.relative_to(_USR)))
    try:
        new.rename(folder)
    except OSError:  # another session has just made it
        shutil.rmtree(new)


def extract(library: Path, code: Path, smaller: Path) -> None:
    """Writes the bitcode of OpenCL's functions without those that are not named, nor called by one that is."""
    linked = subprocess.run(["ldd", library], capture_output=True, text=True, check=True).stdout
    llvm = ctypes.CDLL(re.search(r"=> (\S+/libLLVM\S+)", linked)[1])
    for name in ("GetFirstFunction", "GetNextFunction", "GetNamedFunction", "CreatePassBuilderOptions", "RunPasses"):
        getattr(llvm, f"LLVM{name}").restype = ctypes.c_void_p
    llvm.LLVMGetValueName2.restype = ctypes.c_char_p
    buffer, module, size = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_size_t()
    assert not llvm.LLVMCreateMemoryBufferWithContentsOfFile(os.fsencode(code), ctypes.byref(buffer), None)
    assert not llvm.LLVMParseBitcode2(buffer, ctypes.byref(module))
    named, linkages = Named(), {}
    function = llvm.LLVMGetFirstFunction(module)
    while function:
        function = ctypes.c_void_p(function)
        name = llvm.LLVMGetValueName2(function, ctypes.byref(size))
        if not llvm.LLVMIsDeclaration(function) and not _wanted(name.decode(), named):
            linkages[name] = llvm.LLVMGetLinkage(function)
            llvm.LLVMSetLinkage(function, _INTERNAL)
        function = llvm.LLVMGetNextFunction(function)
    options = ctypes.c_void_p(llvm.LLVMCreatePassBuilderOptions())
    assert not llvm.LLVMRunPasses(module, b"globaldce", None, options)
    for name, linkage in linkages.items():
        if function := llvm.LLVMGetNamedFunction(module, name):
            llvm.LLVMSetLinkage(ctypes.c_void_p(function), linkage)
    assert not llvm.LLVMWriteBitcodeToFile(module, os.fsencode(smaller))


def _wanted(symbol: str, named: Named) -> bool:
    """PoCL's own functions, whatever they are, and OpenCL's that are named; `_Z8_cl_sqrtf` is sqrt of float."""
    length = _MANGLED.match(symbol)
    if not length:
        return True
    function = symbol[length.end() :][: int(length[1])].removeprefix("_cl_")
    return function.startswith("_") or function in named


if __name__ == "__main__":
    extract(*map(Path, sys.argv[1:]))
