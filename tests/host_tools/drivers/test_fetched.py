"""What drivers are fetched from: a folder is whole or not there, a package is the one of the digest, and nothing in an archive
says where it goes."""

import hashlib
import io
import shutil
import tarfile
from pathlib import Path

import pytest

from host_tools.base import child_process
from host_tools.base.errors import CommandFailed, FetchFailed, ToolMissing
from host_tools.drivers import angle, driver_table, registry_packages, tool_folder
from host_tools.drivers.registry_packages import Node, NpmPackage, Wheel


@pytest.fixture(autouse=True)
def tools(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("QUADRA_TOOLS_DIR", str(tmp_path / "tools"))
    return tmp_path / "tools"


def test_a_folder_is_filled_once(tools):
    place, calls = tools / "one", []

    def fill(new: Path) -> None:
        calls.append(new)
        (new / "file").write_text("whole")
        assert not place.exists()

    tool_folder.make(place, fill)
    tool_folder.make(place, fill)
    assert (place / "file").read_text() == "whole" and len(calls) == 1
    assert [path.name for path in tools.iterdir() if path.is_dir()] == ["one"]


def test_a_folder_that_was_not_filled_is_not_there_and_the_rest_of_a_killed_process_goes(tools):
    place, left = tools / "one", tools / ".new-one-killed"
    left.mkdir(parents=True)

    def fill(new: Path) -> None:
        (new / "half").touch()
        raise FetchFailed("fetch", "the network went")

    with pytest.raises(FetchFailed):
        tool_folder.make(place, fill)
    assert not [path for path in tools.iterdir() if path.is_dir()]


def _pretend(monkeypatch, content: bytes, name: str) -> list[list[str]]:
    """pip and npm leave a file of this content where they are told to."""
    calls = []

    def run(argv, **_):
        words = [str(word) for word in argv]
        calls.append(words)
        [place] = [word.partition("=")[2] for word in words if word.startswith(("--dest=", "--pack-destination="))]
        (Path(place) / name).write_bytes(content)

    monkeypatch.setattr(child_process, "run", run)
    return calls


@pytest.mark.parametrize("content", [b"as published", b"as changed on the way"])
def test_a_wheel_is_the_one_of_the_digest(tmp_path, monkeypatch, content):
    wheel = Wheel("thing==1.0", hashlib.sha256(b"as published").hexdigest(), 1)
    _pretend(monkeypatch, content, "thing-1.0.whl")
    if content == b"as published":
        assert registry_packages.fetch_wheel(wheel, tmp_path, print).read_bytes() == content
    else:
        with pytest.raises(FetchFailed, match="(?s)check thing==1.0: its SHA256 is .*do not use it"):
            registry_packages.fetch_wheel(wheel, tmp_path, print)


@pytest.mark.parametrize("content", [b"as published", b"as changed on the way"])
def test_a_package_of_npm_is_the_one_of_the_digest_and_its_scripts_do_not_run(tmp_path, monkeypatch, content):
    package = NpmPackage("@who/thing", "1.0.0", hashlib.sha512(b"as published").hexdigest(), 1)
    calls = _pretend(monkeypatch, content, "who-thing-1.0.0.tgz")
    node = Node(tmp_path / "node")
    if content == b"as published":
        assert node.fetch(package, tmp_path, print).read_bytes() == content
        assert "--ignore-scripts" in calls[0] and "@who/thing@1.0.0" in calls[0]
    else:
        with pytest.raises(FetchFailed, match="(?s)check @who/thing@1.0.0: its SHA512 is .*do not use it"):
            node.fetch(package, tmp_path, print)


def test_without_a_network_it_says_what_to_do(tmp_path, monkeypatch):
    def run(*_, **__):
        raise CommandFailed("run pip", "exit status 1\n  | no route")

    monkeypatch.setattr(child_process, "run", run)
    with pytest.raises(FetchFailed, match=r"(?s)fetch thing==1.0: exit status 1.*connect to the network"):
        registry_packages.fetch_wheel(Wheel("thing==1.0", "0" * 64, 1), tmp_path, print)


def _tar(path: Path, members: dict[str, bytes], link: str = "") -> Path:
    with tarfile.open(path, "w") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        if link:
            member = tarfile.TarInfo(link)
            member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
            archive.addfile(member)
    return path


def _angle_of(tmp_path: Path, monkeypatch, members: dict[str, bytes], link: str = "") -> Path:
    """Unpacks a package whose file of Brotli has these members; where they are then. Brotli is a copy here."""
    inner = _tar(tmp_path / "inner.tar", members, link)
    package = _tar(tmp_path / "package.tgz", {"package/bin/swiftshader.tar.br": inner.read_bytes()})
    monkeypatch.setattr(child_process, "run", lambda argv, **_: shutil.copy(argv[3], argv[4]))
    scratch, place = tmp_path / "scratch", tmp_path / "place"
    scratch.mkdir()
    place.mkdir()
    angle.unpack(package, Node(tmp_path), scratch, place)
    return place


def test_of_a_package_only_angles_files_are_taken(tmp_path, monkeypatch):
    members = {name: name.encode() for name in angle.FILES}
    place = _angle_of(tmp_path, monkeypatch, {**members, "../escaped": b"x", "/tmp/quadra-escaped": b"x", "more": b"x"})
    assert {path.name: path.read_bytes() for path in place.iterdir()} == members
    assert not (tmp_path / "escaped").exists() and not Path("/tmp/quadra-escaped").exists()


@pytest.mark.parametrize("link", ["", "libEGL.so"])
def test_a_package_without_angle_says_so(tmp_path, monkeypatch, link):
    members = {name: b"x" for name in angle.FILES if name != "libEGL.so"}
    with pytest.raises(FetchFailed, match=r"(?s)unpack package.tgz: .*libEGL.so.*inv drivers --fetch angle"):
        _angle_of(tmp_path, monkeypatch, members, link)


def test_a_driver_that_was_not_fetched_says_how_it_is_had():
    for driver in driver_table.DRIVERS:
        if driver.fetch:
            with pytest.raises(ToolMissing, match=f"inv drivers --fetch {driver.name.removeprefix('phone-')}"):
                driver.enter()
