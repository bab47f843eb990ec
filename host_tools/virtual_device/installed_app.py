"""An app as it is installed on a virtual device."""

from dataclasses import dataclass

from host_tools.build.apk_reader import Apk

APK_NAME = "base.apk"


@dataclass
class Installed(Apk):
    """An installed package."""

    uid: int
    folder: str  # /data/app/…
    abi: str  # of its libraries on this device; empty: it has none

    @property
    def apk(self) -> str:
        return f"{self.folder}/{APK_NAME}"

    @property
    def native(self) -> str:
        """The folder of its libraries."""
        return f"{self.folder}/lib/{self.abi}"

    @property
    def data(self) -> str:
        return f"/data/data/{self.package}"
