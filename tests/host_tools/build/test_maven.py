"""The list of what comes from Maven Central, and what happens when it does not come as it should. Maven is a fake here."""

import hashlib
import os
import stat
import zipfile
from pathlib import Path

import pytest

from host_tools.base.errors import FetchFailed, FolderNotWritable, Misuse, ToolMissing
from host_tools.build import maven

TEXT = b"the one jar"
FAKE = """#!/bin/bash
echo "$@" >> {log}
{body}
"""


@pytest.fixture
def one(monkeypatch, tmp_path):
    """A catalogue with one library, an empty repository, and a folder for a fake Maven."""
    entry = maven.Artifact("org.example", "one", "1.0", "one-1.0.jar", hashlib.sha256(TEXT).hexdigest())
    monkeypatch.setattr(maven, "known", lambda: {"one": entry})
    monkeypatch.setenv("QUADRA_TOOLS_DIR", str(tmp_path / "tools"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    return entry.path(tmp_path / "tools" / "maven")


@pytest.fixture
def fake_mvn(monkeypatch, tmp_path):
    """fake_mvn(body) puts a Maven into PATH that does this; returns the file with its command lines."""

    def install(body: str) -> Path:
        log = tmp_path / "mvn.log"
        script = tmp_path / "bin" / "mvn"
        script.parent.mkdir(exist_ok=True)
        script.write_text(FAKE.format(log=log, body=body))
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{script.parent}:{os.environ['PATH']}")
        return log

    return install


def bring(path: Path, text: bytes = TEXT) -> str:
    return f"mkdir -p {path.parent}; printf '%s' '{text.decode()}' > {path}"


def test_every_library_has_a_checksum_and_every_checksum_a_library():
    assert sorted(str(a) for a in maven.known().values()) == sorted(maven._files())
    assert all(len(a.sha256) == 64 and a.type in ("jar", "aar") for a in maven.known().values())
    for name in maven._catalogue()["bundles"]:
        assert set(maven.bundle(name)) <= set(maven.known())


def test_what_is_here_and_good_needs_no_maven(one, monkeypatch):
    one.parent.mkdir(parents=True)
    one.write_bytes(TEXT)
    monkeypatch.setenv("PATH", "/nowhere")
    assert maven.artifact("one") == one


def test_what_is_missing_is_fetched_once(one, fake_mvn):
    log = fake_mvn(bring(one))
    assert maven.artifact("one").read_bytes() == TEXT
    assert maven.artifact("one") == one
    lines = log.read_text().splitlines()
    assert len(lines) == 1 and f"-Dmaven.repo.local={one.parents[4]}" in lines[0]


def test_a_damaged_file_is_fetched_anew(one, fake_mvn):
    one.parent.mkdir(parents=True)
    one.write_bytes(b"half of the")
    fake_mvn(f"[ -e {one} ] || {{ {bring(one)}; }}")
    assert maven.artifact("one").read_bytes() == TEXT


def test_a_wrong_checksum_is_refused_and_nothing_stays(one, fake_mvn):
    fake_mvn(bring(one, b"something else"))
    with pytest.raises(FetchFailed) as error:
        maven.artifact("one")
    assert "org.example:one:1.0" in error.value.tried and "verification-metadata.xml" in error.value.came_back
    assert hashlib.sha256(b"something else").hexdigest() in error.value.came_back
    assert not one.exists()


def test_without_network_the_error_says_so(one, fake_mvn):
    fake_mvn("echo '[ERROR] Could not transfer artifact org.example:one:jar:1.0: Unknown host repo'; exit 1")
    with pytest.raises(FetchFailed) as error:
        maven.artifact("one")
    assert "Unknown host repo" in error.value.came_back and "network" in error.value.do_next


def test_what_maven_central_does_not_have_is_named(one, fake_mvn):
    fake_mvn("echo '[ERROR] Could not find artifact org.example:one:jar:1.0 in central'; exit 1")
    with pytest.raises(FetchFailed) as error:
        maven.artifact("one")
    assert "Could not find artifact" in error.value.came_back and "libs.versions.toml" in error.value.do_next


def test_without_maven_or_java_the_package_is_named(one, fake_mvn, monkeypatch):
    fake_mvn("exit 0")
    monkeypatch.setenv("PATH", os.environ["PATH"].split(":")[0])
    with pytest.raises(ToolMissing) as error:
        maven.artifact("one")
    assert "default-jdk-headless" in error.value.do_next
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ToolMissing) as error:
        maven.artifact("one")
    assert "apt-get install maven" in error.value.do_next


def test_a_folder_that_cannot_be_made_is_named(one, monkeypatch, tmp_path):
    (tmp_path / "tools").write_text("a file")
    with pytest.raises(FolderNotWritable) as error:
        maven.artifact("one")
    assert "QUADRA_TOOLS_DIR" in error.value.do_next


def test_files_come_out_of_an_aar(one, monkeypatch):
    one.parent.mkdir(parents=True)
    with zipfile.ZipFile(one, "w") as archive:
        archive.writestr("jni/x86_64/lib.so", b"library")
    entry = maven.Artifact("org.example", "one", "1.0", "one-1.0.jar", maven._digest(one))
    monkeypatch.setattr(maven, "known", lambda: {"one": entry})
    assert maven.aar_file("one", "jni/x86_64/lib.so").read_bytes() == b"library"
    assert maven.members("one") == ["jni/x86_64/lib.so"]
    with pytest.raises(Misuse) as error:
        maven.aar_file("one", "jni/mips/lib.so")
    assert "jni/mips/lib.so" in error.value.tried


def test_a_damaged_list_of_checksums_is_misuse_that_says_what_it_lacks(monkeypatch, tmp_path):
    damaged = tmp_path / "verification-metadata.xml"
    damaged.write_text(maven.CHECKSUMS.read_text().replace(' version="1.3.0"', "", 1))
    monkeypatch.setattr(maven, "CHECKSUMS", damaged)
    with pytest.raises(Misuse, match="an element has no 'version'"):
        maven._files()
