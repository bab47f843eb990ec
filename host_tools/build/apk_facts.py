"""What Android's own tools say of an APK: aapt2 of its manifest, apksigner of its signature, dexdump of its classes."""

import hashlib
import re
import struct
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from host_tools.base import child_process

DEADLINE_S = 120.0
PACKAGES = "apt-get install aapt zipalign apksigner dexdump, or have the build tools of an Android SDK on PATH"
_ELEMENT = re.compile(r"( *)E: ([\w-]+) ")
_ATTRIBUTE = re.compile(
    r' *A: (?:http://schemas.android.com/apk/res/android:)?(\w+)(?:\(0x[0-9a-f]+\))?=(?:"(.*)" \(Raw: .*\)|(.*))'
)


def data_offset(file: IO[bytes], entry: zipfile.ZipInfo) -> int:
    """Where the data of an entry begins in the APK."""
    file.seek(entry.header_offset + 26)
    lengths: tuple[int, int] = struct.unpack("<HH", file.read(4))  # of the name, and of what stands behind it
    return entry.header_offset + 30 + sum(lengths)


@dataclass(frozen=True)
class Signature:
    """What apksigner says: whether every byte is as it was signed, by which schemes, and who signed."""

    verified: bool
    schemes: tuple[str, ...]  # of those after JAR signing
    name: str
    signer: str  # SHA-256 of the certificate
    said: str


def signature(apk: Path, min_sdk: int) -> Signature:
    """Verifies the APK as devices from level `min_sdk` on do."""
    argv = ["apksigner", "verify", "--verbose", "--print-certs", "--min-sdk-version", min_sdk, apk]
    told = child_process.run(argv, timeout_s=DEADLINE_S, check=False, hint=PACKAGES)
    schemes = [v for v in ("v2", "v3") if re.search(rf"Verified using {v} scheme .*: true", told.stdout)]
    name = re.search(r"certificate DN: (.*)", told.stdout)
    digest = re.search(r"^Signer #1 certificate SHA-256 digest: ([0-9a-f]{64})$", told.stdout, re.MULTILINE)
    said = (told.stdout + told.stderr).strip()
    who, signer = (one.group(1) if one else "" for one in (name, digest))
    return Signature(told.returncode == 0, tuple(schemes), who, signer, said)


def dexdump(apk: Path) -> str:
    """What dexdump, which verifies them, says of the dex files; empty where there is none or one is damaged."""
    told = child_process.run(["dexdump", apk], timeout_s=DEADLINE_S, check=False, hint=PACKAGES)
    return told.stdout if told.returncode == 0 else ""


def classes_in(dumped: str) -> list[str]:
    return re.findall(r"Class descriptor  : 'L([^;]+);'", dumped)


def classes(apk: Path) -> frozenset[str]:
    """Names, as `org.quadra.runner.QuadraRunner`, of the classes in its dex files; none where one is damaged."""
    return frozenset(name.replace("/", ".") for name in classes_in(dexdump(apk)))


@dataclass
class Element:
    """One element of a manifest; attributes by their name, without the name space."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list["Element"] = field(default_factory=list)

    def within(self) -> list["Element"]:
        """All that it holds, at any depth."""
        return [one for child in self.children for one in (child, *child.within())]

    def all(self, tag: str) -> list["Element"]:
        return [child for child in self.children if child.tag == tag]

    def first(self, tag: str) -> "Element":
        """The first child of this tag, or an empty one."""
        return (self.all(tag) or [Element(tag)])[0]

    def text(self, name: str) -> str:
        return self.attributes.get(name, "")

    def number(self, name: str, default: int = 0) -> int:
        value = self.attributes.get(name, "")
        return int(value) if value.isdecimal() else default

    def flag(self, name: str, default: bool = False) -> bool:
        return self.attributes.get(name, str(default).lower()) == "true"


def manifest(apk: Path) -> Element:
    """The root element of the binary manifest. CommandFailed where it is damaged."""
    argv = ["aapt2", "dump", "xmltree", "--file", "AndroidManifest.xml", apk]
    root = Element("")
    open_elements = [(-1, root)]
    for line in child_process.run(argv, timeout_s=DEADLINE_S, hint=PACKAGES).stdout.splitlines():
        element, attribute = _ELEMENT.match(line), _ATTRIBUTE.match(line)
        if element:
            depth, made = len(element[1]), Element(element[2])
            while open_elements[-1][0] >= depth:
                open_elements.pop()
            open_elements[-1][1].children.append(made)
            open_elements.append((depth, made))
        elif attribute:
            open_elements[-1][1].attributes[attribute[1]] = attribute[2] if attribute[3] is None else attribute[3]
    return (root.children or [root])[0]


def class_list(classes: Path) -> str:
    """Digest and name of each of our classes, as `sha256sum` prints them: which classes were dexed."""
    files = sorted(path for path in classes.rglob("*.class"))
    rows = [(hashlib.sha256(path.read_bytes()).hexdigest(), path.relative_to(classes)) for path in files]
    return "".join(f"{digest}  {name}\n" for digest, name in rows)
