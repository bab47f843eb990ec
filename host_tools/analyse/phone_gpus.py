"""The phones' GPUs whose compilers can be asked, as data: a row for each."""

from dataclasses import dataclass
from typing import Literal

from host_tools.base.errors import Misuse

Kind = Literal["adreno", "bifrost", "valhall"]  # each has its own machine code


@dataclass(frozen=True)
class Gpu:
    """A phone's GPU, and how Mesa is told to take this machine for it."""

    name: str  # also of its target in OpenGL ES, NAME-gles, and of the phone in OpenCL (host_tools/request/phones)
    kind: Kind
    id: str  # for the pretended device: Adreno's number, Mali's product id in hexadecimal
    renderer: str  # how the driver's GL_RENDERER begins; another one means that Mesa did not know the id

    @property
    def gles_target(self) -> str:
        return f"{self.name}-gles"

    @property
    def vendor(self) -> str:
        return "adreno" if self.kind == "adreno" else "mali"

    @property
    def shown(self) -> tuple[str, str]:
        """GL_VENDOR and GL_RENDERER of the phone's own driver, by which others choose their kernels."""
        return ("Qualcomm", f"Adreno (TM) {self.id}") if self.kind == "adreno" else ("ARM", self.renderer)

    @property
    def most_threads(self) -> int:
        """Of the word that its compiler uses: waves at once of a processor, or threads per register file's half."""
        return 16 if self.kind == "adreno" else 2


GPUS = (
    Gpu("adreno-630", "adreno", "630", "FD630"),
    Gpu("adreno-740", "adreno", "740", "FD740"),
    Gpu("mali-g76", "bifrost", "7211", "Mali-G76"),
    Gpu("mali-g610", "valhall", "a867", "Mali-G610"),
)


def named(words: str) -> list[Gpu]:
    """GPUs by their names with commas between. Misuse: there is no such."""
    known = {gpu.name: gpu for gpu in GPUS}
    names = list(dict.fromkeys(word.strip() for word in words.split(",") if word.strip()))
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        raise Misuse("read --gpu", f"there is no '{', '.join(unknown) or words}'", f"give some of {', '.join(known)}")
    return [known[name] for name in names]
