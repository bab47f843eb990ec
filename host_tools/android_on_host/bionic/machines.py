"""The processors whose Android code runs on this machine: its own, and ARM's under qemu's user mode."""

from dataclasses import dataclass, replace
from pathlib import Path

from host_tools.base.android import ABIS


@dataclass(frozen=True)
class Machine:
    """`elf`: e_machine. `branch`: the instruction that goes on in another function, with its name for {}. `start`: what
    starts an executable of glibc. `libraries`: where glibc's are, beside those that the loader finds by itself."""

    abi: str
    elf: str
    compiler: str
    branch: str
    start: tuple[str, ...]
    libraries: str
    package: str  # of Debian, which brings the compiler

    def among(self, libraries: Path) -> "Machine":
        """The same under qemu, with another glibc and its loader, out of that folder."""
        loader = libraries / Path(self.start[-1]).name
        return replace(self, start=(self.start[0], str(loader)), libraries=str(libraries))


def _under_qemu(abi: str, elf: str, qemu: str, triple: str, loader: str) -> Machine:
    root, package = f"/usr/{triple}", f"qemu-user-static gcc-{triple}"
    start = (qemu, "-L", root, f"{root}/lib/{loader}")
    return Machine(abi, elf, f"{triple}-gcc", "b {}", start, f"{root}/lib", package)


_X86_64 = Machine(
    "x86_64", "EM_X86_64", "gcc", "endbr64\n jmp *{}@GOTPCREL(%rip)", ("/lib64/ld-linux-x86-64.so.2",), "", "g++"
)
MACHINES = (
    _under_qemu("arm64-v8a", "EM_AARCH64", "qemu-aarch64-static", "aarch64-linux-gnu", "ld-linux-aarch64.so.1"),
    # Android's 32-bit ARM code passes floats in integer registers, as Debian's armel does.
    _under_qemu("armeabi-v7a", "EM_ARM", "qemu-arm-static", "arm-linux-gnueabi", "ld-linux.so.3"),
    _X86_64,
)
HERE = _X86_64
assert {machine.abi for machine in MACHINES} == set(ABIS)


def of_elf(machine: str) -> Machine | None:
    return next((one for one in MACHINES if one.elf == machine), None)
