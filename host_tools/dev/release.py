"""Makes what is published: the wheels of the toolkit and of the delegate, the AAR's Maven repository, the tables of ops
for other tools, a bill of materials, and their checksums.

The toolkit's wheel, quadra-tools, is pure Python with what a clone builds for devices inside (host_tools/build/prebuilt.py reads
it): the test app's APK, the AAR, the program for a device's shell; the delegate for this machine, which plans for all targets;
and what the virtual device needs beside others' files, which it fetches.
"""

import json
import shutil
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hatchling.builders.wheel import WheelBuilder
from rich.console import Console

from host_tools.android_on_host import bionic, jvm
from host_tools.base import child_process, digests, installed, settings, terminal
from host_tools.base.android import ABIS, ACCELERATOR, DELEGATE, RUNNER
from host_tools.build import aar, apk, apk_check, apk_reader, bazel, built as clone, java, ndk, prebuilt, sbom, wheel
from host_tools.parity.device_parity_session import LEFT_OUT as LEFT_OUT_CASES, PACKED_ALL, PACKED_ALONE, PACKED_QUICK
from host_tools.record import case_set

BUILT = settings.ROOT / ".cache" / "release"
CHECKSUMS = "SHA256SUMS"
CASES = settings.ROOT / ".cache" / "release-cases"
_CASES_S = 900.0
VIRTUAL_LEVEL = 34  # of Android, that a virtual device says it is
SUPPORT = settings.ROOT / "docs" / "support"  # which ops of which types run on the GPU, in edge-compat's format
API = settings.ROOT / "quadra_tools"  # what programs import; all of it is in the wheel
# Of host_tools: what builds, tests and checks the sources stays in a clone.
LEFT_OUT = (
    *("android_on_host/pretended_opencl", "android_on_host/pretended_vulkan"),
    *("build", "dev", "record/json_schema.py"),
    *(
        "places/stock_kernels.py",
        "places/ml_drift_kernels.py",
        "places/recordings.py",
        "tasks/debian_packages.txt",
    ),
    "tasks/demo.py",
)
_TAKEN = tuple(
    f"build/{name}.py"
    for name in (
        *("__init__", "apk_facts", "apk_reader", "archives", "artifacts"),
        *("java", "maven", "prebuilt", "size", "stock_delegate"),
    )
)
_READ = (
    "delegate_native/delegate/options.def",
    "delegate_native/plan/plan.bfbs",
    "gradle/libs.versions.toml",
    "android_app/gradle/verification-metadata.xml",
)  # of the sources, by what is in the wheel
_HATCH = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[tool.hatch.build.targets.wheel]
packages = ["host_tools", "quadra_tools"]
core-metadata-version = "2.4"
"""


@dataclass(frozen=True)
class Artifacts:
    """What a clone builds for the wheel. here: the folder with the delegate and the accelerator for this machine. folders: of
    files that the virtual device needs, by their names in prebuilt.py."""

    apk: Path
    read_apk: bytes
    folders: Mapping[str, Path]
    aar: Path
    repository: Path  # a Maven repository with the AAR
    runners: Mapping[str, Path]
    here: Path
    made_by: str


@dataclass(frozen=True)
class Made:
    """The files of a release, and what is missing in it."""

    folder: Path
    files: Sequence[Path]
    notes: Sequence[str]


def from_arguments(out: str) -> Made:
    """make(), with the word of the command line; builds everything."""
    return make(build(), Path(out).expanduser().resolve() if out else BUILT)


def build() -> Artifacts:
    """All that goes into the wheels, in two calls of Bazel."""
    bazel.prepare_android(ABIS, ABIS)
    libraries = {abi: one.path for abi, one in bazel.android(ABIS).items()}
    app = apk.make(libraries, apk.BUILT / "release" / prebuilt.APK, peers=True).path
    read = apk_reader.told(apk_reader.read(app, VIRTUAL_LEVEL), app, VIRTUAL_LEVEL)
    published = aar.make(libraries, apk.BUILT / "release" / "maven")
    made_by = ", ".join(sorted({apk_check.made_by(path) for path in libraries.values()}))
    runners = bazel.runners(ABIS)
    folders = {
        prebuilt.APP_CLASSES: java.app_classes(),
        prebuilt.HOST_CLASSES: clone.host_classes(),
        prebuilt.BIONIC: _bionic(app, runners[jvm.ABI]),
        prebuilt.CASES: cases(CASES),
    }
    here = bazel.accelerator().parent
    return Artifacts(app, read, folders, published.path, published.repository, runners, here, made_by)


def cases(out: Path) -> Path:
    """What `parity --on` runs on a device, made by the tests, in the folder `out`. Without models that are files."""
    for name, words in ((PACKED_ALL, []), (PACKED_QUICK, ["--quick"])):
        _write_cases(out / Path(name).name, *words)
    every = out / Path(PACKED_ALL).name
    listed = out / "alone.json"
    parts = {part.id for case in case_set.read(every).cases for part in case.parts}
    listed.write_text(json.dumps(sorted(parts)), encoding="utf-8")
    _write_cases(out / Path(PACKED_ALONE).name, f"--alone={listed}")
    listed.unlink()
    return out


def _write_cases(folder: Path, *words: str) -> None:
    settings.make_folder(folder, "the checkout")
    argv = [sys.executable, "-m", "tests.device_cases", folder, "--no-models", *words]
    said = child_process.run(argv, cwd=settings.ROOT, timeout_s=_CASES_S).stdout.splitlines()
    left_out = json.loads(next(line for line in said if line.startswith("{")))["left_out"]
    (folder / LEFT_OUT_CASES).write_text(json.dumps(left_out), encoding="utf-8")


def _bionic(app: Path, runner: Path) -> Path:
    """What stands in for Android's C library, for the libraries of the APK and the shell's program."""
    with tempfile.TemporaryDirectory(prefix="quadra-release-") as folder, zipfile.ZipFile(app) as archive:
        names = [name for name in archive.namelist() if name.startswith(f"lib/{jvm.ABI}/")]
        return bionic.folder_for([runner, *(Path(archive.extract(name, folder)) for name in names)])


def make(built: Artifacts, out: Path) -> Made:
    """The release in the folder `out`."""
    settings.make_folder(out, "--out")
    delegate, tools = wheel.make(built.here, out).path, toolkit(built, out)
    files, notes = [delegate, tools], []
    if settings.read().android_ndk_home:
        made = shutil.copytree(built.repository, out / "maven", dirs_exist_ok=True)
        files += sorted(path for path in made.rglob("*") if path.is_file())
    else:
        ndk_for = "the APK and the AAR in quadra-tools are for tests, and the AAR's Maven repository is not made"
        notes.append(
            f"{ndk_for}: ANDROID_NDK_HOME is not set (an NDK, r{ndk.OLDEST} or later); made by {built.made_by}"
        )
    files.append(_bill(out, built.made_by, delegate, tools, files[2:]))
    for path in sorted(SUPPORT.glob("*.json")):
        _copy(path, out / SUPPORT.name / path.name)
        files.append(out / SUPPORT.name / path.name)
    lines = [f"{digests.sha256_of(path)}  {path.relative_to(out).as_posix()}\n" for path in files]
    (out / CHECKSUMS).write_text("".join(lines), encoding="utf-8")
    return Made(out, [*files, out / CHECKSUMS], notes)


def toolkit(built: Artifacts, out: Path) -> Path:
    """The wheel quadra-tools in the folder `out`."""
    with tempfile.TemporaryDirectory(prefix="quadra-release-") as scratch:
        staged = Path(scratch)
        package = staged / "host_tools"
        for path in contents():
            _copy(installed.PACKAGE / path, package / path)
        shutil.copytree(
            API, staged / API.name, ignore=shutil.ignore_patterns("__pycache__"), copy_function=shutil.copyfile
        )
        _copy(settings.ROOT / "tasks.py", package / "task_list.py")
        inside = package / installed.PREBUILT.name
        for name in _READ:
            _copy(settings.ROOT / name, inside / "sources" / name)
        _copy(built.apk, inside / prebuilt.APK)
        (inside / prebuilt.READ_APK).write_bytes(built.read_apk)
        for folder, files in built.folders.items():
            for file in sorted(files.rglob("*")):
                if file.is_file():
                    _copy(file, inside / folder / file.relative_to(files))
        _copy(built.aar, inside / prebuilt.AAR)
        for abi, runner in built.runners.items():
            _copy(runner, inside / abi / RUNNER)
        for name in (DELEGATE, ACCELERATOR):
            _copy(built.here / name, inside / prebuilt.THIS_MACHINE / name)
        (inside / prebuilt.MADE_BY).write_text(f"{built.made_by}\n", encoding="utf-8")
        for name in ("LICENSE", "docs/install.md"):
            _copy(settings.ROOT / name, staged / name)
        (staged / "pyproject.toml").write_text(_project() + _HATCH, encoding="utf-8")
        made = Path(next(WheelBuilder(str(staged)).build(directory=str(staged / "dist"))))
        return Path(shutil.copyfile(made, out / made.name))


def _bill(out: Path, made_by: str, delegate: Path, tools: Path, archives: Sequence[Path]) -> Path:
    """Of the wheels and the repository's archives."""
    headers = sbom.headers()
    android = [*headers, sbom.cxx_library(made_by)]
    parts = {
        delegate: sbom.Parts(headers, sbom.python_packages(wheel.requirements())),
        tools: sbom.Parts([*android, *sbom.java_libraries("tflite", "shipped")], sbom.python_packages(_requirements())),
        **{path: sbom.Parts(android) for path in archives if path.suffix == ".aar"},
    }
    return sbom.write(out, parts)


def _requirements() -> list[str]:
    listed: list[str] = tomllib.loads(_project())["project"]["dependencies"]
    return listed


def contents() -> list[str]:
    """The files of host_tools that are in the wheel."""
    all_files = (path.relative_to(installed.PACKAGE) for path in installed.PACKAGE.rglob("*") if path.is_file())
    names = sorted(path.as_posix() for path in all_files if "__pycache__" not in path.parts)
    return [name for name in names if name in _TAKEN or not any(f"{name}/".startswith(f"{one}/") for one in LEFT_OUT)]


def _project() -> str:
    """What pyproject.toml says of the package. It names the versions that are tested; the wheel takes later ones, too."""
    text = (settings.ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return text[text.index("[project]") : text.index("[dependency-groups]")].replace("==", ">=")


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def show(made: Made, console: Console) -> None:
    """Its files with their sizes, what is missing, and how the toolkit is installed."""
    for path in made.files:
        console.print(f"{path}  {path.stat().st_size:,} bytes", highlight=False, soft_wrap=True)
    for note in made.notes:
        console.print(terminal.folded(f"note: {note}", console.width), markup=False, highlight=False, soft_wrap=True)
    wheels = [path for path in made.files if path.name.startswith("quadra_tools")]
    console.print(f"install     pip install {wheels[0]}", highlight=False, soft_wrap=True)
