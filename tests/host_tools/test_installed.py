"""quadra-tools, the wheel: it has what it imports, uses nothing that only POSIX has, and is the same bytes twice."""

import ast
import hashlib
import io
import json
import os
import re
import zipfile
from email import message_from_string
from importlib import metadata
from pathlib import Path

import pytest
from cyclonedx.model.bom import Bom
from rich.console import Console

from host_tools.base import installed, settings
from host_tools.base.errors import Misuse
from host_tools.build import prebuilt, sbom
from host_tools.dev import release, repository
from host_tools.judge.bench_figures import Asked, Bench
from host_tools.show import bench_columns, run_diff_table
from host_tools.tasks import command_line
from tests.host_tools.test_folders import SOURCES, graph, imported, module_of

# Functions for the tasks that only a clone has, beside those that call require_clone.
OF_A_CLONE = {"choices": {"_sanitizers", "_checks", "_fuzzed"}, "doctor": {"_ndk"}}
# The one file that may use what other systems have not, and may be without it.
PORTABLE = "host_tools.base.portable"
POSIX_MODULES = {"crypt", "fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}
POSIX_NAMES = re.compile(
    r"\b(?:os\.(?:fork|getegid|geteuid|getgid|getloadavg|getpgid|getuid|killpg|mkfifo|nice|pread|pwrite|sched_\w+|setsid"
    r"|statvfs|sysconf|uname|wait\w*|O_CLOEXEC|O_DIRECTORY|O_NOFOLLOW|O_NONBLOCK)|signal\.(?:SIGKILL|SIGHUP|SIGALRM|alarm))\b"
)
IMPORTED = re.compile(r"^\s*(?:import|from) (\w+)", re.MULTILINE)
# They run on this machine's GPU drivers, or on hosts of a lab.
OF_HOSTS = (
    "drivers",
    "replay",
    "analyse",
    "places.lab",
    "places.on_jvm",
    "android_on_host",
    "virtual_device",
    "build.java",
)


def in_the_wheel() -> set[str]:
    return {module_of(installed.PACKAGE / name) for name in release.contents() if name.endswith(".py")}


def imports_of(module: str) -> set[str]:
    """What it imports where it may not be in the wheel: in functions of a clone it may."""
    tree = ast.parse(SOURCES[module])
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            asks = any(isinstance(one, ast.Name) and one.id == "require_clone" for one in ast.walk(node))
            if asks or node.name in OF_A_CLONE.get(module.rpartition(".")[2], ()):
                node.body = [ast.Pass()]
    return set(imported(ast.unparse(tree), set(SOURCES))) - {"host_tools.build.built"}  # artifacts.py chooses


def test_what_is_in_the_wheel_imports_nothing_that_is_not():
    there = in_the_wheel()
    asked = [module for module in sorted(there) if graph()[module] - there]
    missing = {module: imports_of(module) - there for module in asked}
    assert asked and {module: others for module, others in missing.items() if others} == {}
    assert "host_tools.build.prebuilt" in there and "host_tools.build.bazel" not in there


def test_the_tasks_of_users_import_nothing_that_is_not_in_the_wheel():
    tree = ast.parse((settings.ROOT / "tasks.py").read_text())
    there = in_the_wheel()
    for function in (node for node in tree.body if isinstance(node, ast.FunctionDef)):
        if function.name not in command_line._OF_A_CLONE:
            assert set(imported(ast.unparse(function), set(SOURCES))) <= there, function.name
    named = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert set(command_line._OF_A_CLONE) <= named


def test_one_file_alone_uses_what_only_posix_has():
    for module in sorted(in_the_wheel() - {PORTABLE}):
        if module.removeprefix("host_tools.").startswith(OF_HOSTS):
            continue
        assert not set(IMPORTED.findall(SOURCES[module])) & POSIX_MODULES, module
        assert not POSIX_NAMES.findall(SOURCES[module]), module


def test_the_table_of_extras_is_that_of_pyproject():
    text = release._project()
    for package, extra in command_line._EXTRAS.items():
        assert re.search(rf'^{extra} = \[.*"{"distributed" if package == "dask" else package}>=', text, re.MULTILINE)
    assert re.search(r'^analyse = \[.*"pyopencl>=', text, re.MULTILINE), "phone_compilers.py names it"
    assert len(set(repository.packages())) == len(repository.packages())
    assert "==" not in text and all(name.partition("==")[0] for name in repository.packages())


def test_commands_are_named_as_they_are_called(monkeypatch):
    monkeypatch.setattr(installed, "INSTALLED", True)
    monkeypatch.setattr(installed, "COMMAND", "quadra")
    text = "`./inv run MODEL` or inv diff A B; ./inv --help run; x/inv y; reinv z; inv. ./inv"
    assert (
        installed.said(text) == "`quadra run MODEL` or quadra diff A B; quadra --help run; x/inv y; reinv z; inv. ./inv"
    )
    error = Misuse("inv diff", "it takes RUN RUN, and none is named", "`./inv diff RUN RUN`")
    assert str(error) == "quadra diff: it takes RUN RUN, and none is named\n  next: `quadra diff RUN RUN`"
    bench = Bench(Path(), Asked((), (), ("xnnpack",), 1, place="device", device="a"), (), {}, "", 1, 0.0)
    assert "`quadra bench` on the host" in bench_columns.xnnpack_note(bench)
    printed = io.StringIO()
    run_diff_table._times([], Console(file=printed, width=200))
    assert "`quadra regress` compares launches" in printed.getvalue()
    monkeypatch.setattr(installed, "INSTALLED", False)
    assert installed.said(text) == text and "`./inv bench` on the host" in bench_columns.xnnpack_note(bench)


@pytest.fixture(scope="session")
def artifacts(tmp_path_factory):
    """Stand-ins for what a clone builds: their bytes are copied, not read."""
    folder = tmp_path_factory.mktemp("artifacts")
    for name in ("app.apk", "an.aar", "runner", "libquadra.so", "libLiteRtGpuAccelerator.so"):
        (folder / name).write_bytes(name.encode() * 9)
    runners = {"arm64-v8a": folder / "runner"}
    (folder / "classes" / "org").mkdir(parents=True)
    (folder / "classes" / "org" / "A.class").write_bytes(b"a class")
    folders = {prebuilt.APP_CLASSES: folder / "classes"}
    return release.Artifacts(
        folder / "app.apk", b"{}", folders, folder / "an.aar", folder, runners, folder, "stand-in NDK"
    )


def test_two_builds_are_the_same_bytes(artifacts, tmp_path, monkeypatch):
    """Whatever the time, the folder, the user's rights and the order of files in a folder."""
    first = release.toolkit(artifacts, tmp_path)
    (tmp_path / "again").mkdir()
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    monkeypatch.setattr(
        type(tmp_path), "rglob", lambda path, what, old=type(tmp_path).rglob: reversed(list(old(path, what)))
    )
    before = os.umask(0o077)
    try:
        second = release.toolkit(artifacts, tmp_path / "again")
    finally:
        os.umask(before)
    assert first.read_bytes() == second.read_bytes()


def test_the_wheel_says_what_it_is_and_who_made_its_libraries(artifacts, tmp_path):
    made = release.toolkit(artifacts, tmp_path)
    assert made.name == "quadra_tools-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(made) as wheel:
        names = set(wheel.namelist())
        said = message_from_string(wheel.read("quadra_tools-0.1.0.dist-info/METADATA").decode())
        scripts = wheel.read("quadra_tools-0.1.0.dist-info/entry_points.txt").decode()
        made_by = wheel.read(f"host_tools/prebuilt/{prebuilt.MADE_BY}").decode()
    assert scripts.split() == [
        *("[console_scripts]", "quadra", "=", "host_tools.tasks.command_line:main"),
        *("[pytest11]", "quadra", "=", "quadra_tools.pytest_plugin"),
    ]
    ours = {name for name in names if name.startswith("quadra_tools/")}
    assert ours == {f"quadra_tools/{path.name}" for path in release.API.iterdir() if path.is_file()} and len(ours) > 3
    assert (
        set(said.get_all("Provides-Extra")) == {"analyse", "host", "lab", "virtual-device"}
        and said["Name"] == "quadra-tools"
    )
    assert "pip install quadra-tools" in said.get_payload()
    assert made_by == "stand-in NDK\n" and "host_tools/task_list.py" in names
    assert not [name for name in names if name.startswith(("host_tools/build/bazel", "host_tools/dev/", "tests"))]


def test_a_release_has_checksums_and_says_what_is_missing(artifacts, tmp_path, monkeypatch):
    def delegate(libraries, out):
        (out / "quadra_delegate.whl").write_bytes(b"the delegate")
        return release.wheel.Made(out / "quadra_delegate.whl", [])

    monkeypatch.setattr(release.wheel, "make", delegate)
    monkeypatch.delenv("ANDROID_NDK_HOME", raising=False)
    made = release.make(artifacts, tmp_path)
    told = dict(line.split("  ")[::-1] for line in (tmp_path / release.CHECKSUMS).read_text().splitlines())
    assert (
        told
        == {
            path.relative_to(tmp_path).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in made.files[:-1]
        }
        and len(told) == 5
    )
    assert {"support/quadra_opencl.json", "support/quadra_gles.json"} < {*told}
    assert "ANDROID_NDK_HOME is not set" in made.notes[0] and not (tmp_path / "maven").exists()
    monkeypatch.setenv("ANDROID_NDK_HOME", str(tmp_path))
    with_ndk = release.make(artifacts, tmp_path / "more")
    assert not with_ndk.notes and tmp_path / "more" / "maven" / "an.aar" in with_ndk.files


def test_the_bill_of_materials_names_each_file_and_what_it_has_of_others(artifacts, tmp_path, monkeypatch):
    """As CycloneDX's library reads it, and the same bytes for the same files."""

    def delegate(libraries, out):
        (out / "quadra_delegate.whl").write_bytes(b"the delegate")
        return release.wheel.Made(out / "quadra_delegate.whl", [])

    monkeypatch.setattr(release.wheel, "make", delegate)
    monkeypatch.setenv("ANDROID_NDK_HOME", str(tmp_path))
    release.make(artifacts, tmp_path / "one")
    release.make(artifacts, tmp_path / "two")
    text = (tmp_path / "one" / sbom.NAME).read_text()
    assert text == (tmp_path / "two" / sbom.NAME).read_text()
    bill = json.loads(text)
    assert len(Bom.from_json(data=bill).components) == len(bill["components"])
    parts = {one["bom-ref"]: one for one in bill["components"]}
    needs = {one["ref"]: one.get("dependsOn", []) for one in bill["dependencies"]}
    tools = "file/quadra_tools-0.1.0-py3-none-any.whl"
    assert set(needs["quadra"]) == {tools, "file/quadra_delegate.whl", "file/maven/an.aar"}
    assert parts["file/quadra_delegate.whl"]["hashes"][0]["content"] == hashlib.sha256(b"the delegate").hexdigest()
    assert set(needs["file/quadra_delegate.whl"]) == {"pypi/ai-edge-litert", *(f"deb/{name}" for name in sbom.HEADERS)}
    assert {"pypi/adbutils", "maven/org.tensorflow/tensorflow-lite", "deb/libflatbuffers-dev"} <= set(needs[tools])
    assert parts["toolchain/libc++"]["version"] == "stand-in NDK" and "toolchain/libc++" in needs["file/maven/an.aar"]
    assert parts["pypi/adbutils"]["purl"] == f"pkg:pypi/adbutils@{metadata.version('adbutils')}"
    assert all(part.get("version") for part in parts.values())
