"""What a run on a device needs built: the delegate for its ABI, and the test app's APK with it."""

import hashlib
import threading
from pathlib import Path

from host_tools.base import digests
from host_tools.build import apk, bazel, java, maven

_MAKING = threading.Lock()


def library(abi: str) -> Path:
    """The delegate for devices of this ABI; built if that is needed."""
    return bazel.android([abi])[abi].path


def apk_for(abi: str, library_path: Path, shipped: bool = False) -> Path:
    """An APK for devices of this ABI with this delegate, and with the one that TFLite ships where `shipped`; made once."""
    digest = hashlib.sha256(digests.sha256_of(library_path).encode())
    digest.update(apk.class_list(java.app_classes()).encode() + apk.manifest(False).encode())
    digest.update(f"{maven.version('tensorflow-lite')} {maven.version('dalvik-dx')}".encode())
    kind = f"quadra-runner-{abi}{'-peers' if shipped else ''}"
    made = apk.BUILT / f"{kind}-{digest.hexdigest()[:16]}.apk"
    with _MAKING:  # one for all devices that run at the same time
        if not made.is_file():
            apk.make({abi: library_path}, made, peers=shipped)
            for old in apk.BUILT.glob(f"{kind}-{'[0-9a-f]' * 16}.apk"):
                if old != made:
                    old.unlink(missing_ok=True)
    return made
