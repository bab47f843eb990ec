"""Which toolchain an Android build takes, and what is said when there is none."""

import pytest

from host_tools.base import android
from host_tools.base.errors import FetchFailed, Misuse, ToolMissing
from host_tools.build import ndk
from host_tools.build.stand_in import assemble


def an_ndk(folder, revision="27.0.12077973"):
    tool = folder / "toolchains/llvm/prebuilt/linux-x86_64/bin/clang"
    tool.parent.mkdir(parents=True)
    tool.write_text("")
    (folder / "source.properties").write_text(f"Pkg.Desc = Android NDK\nPkg.Revision = {revision}\n")
    return folder


def test_the_ndk_that_is_named_is_taken(tmp_path, monkeypatch):
    monkeypatch.setenv("ANDROID_NDK_HOME", str(an_ndk(tmp_path)))
    found = ndk.find()
    assert (found.made_by, found.is_stand_in) == ("NDK 27.0.12077973", False)
    assert found.environment == {"ANDROID_NDK_HOME": str(tmp_path)}


def test_a_folder_that_is_no_ndk_is_misuse(tmp_path):
    with pytest.raises(
        Misuse, match="(?s)ANDROID_NDK_HOME.*source.properties: No such file.*next: set ANDROID_NDK_HOME"
    ):
        ndk.real(tmp_path / "nothing")
    (tmp_path / "source.properties").write_text("Pkg.Revision = 27.0.1\n")
    with pytest.raises(Misuse, match="it has no toolchains/llvm/prebuilt/linux-x86_64/bin/clang"):
        ndk.real(tmp_path)


def test_an_ndk_that_is_too_old_is_misuse(tmp_path):
    with pytest.raises(Misuse, match="(?s)it is revision 21.4.7075529.*r27 or later"):
        ndk.real(an_ndk(tmp_path, "21.4.7075529"))


def test_one_word_means_abis():
    assert ndk.abis("all") == android.ABIS and ndk.abis("x86_64") == ("x86_64",)
    with pytest.raises(Misuse, match="build for mips: there is no such ABI"):
        ndk.abis("mips")


def test_a_stand_in_without_its_packages_names_them(tmp_path, monkeypatch):
    monkeypatch.setattr(assemble, "LLVM", tmp_path)
    with pytest.raises(ToolMissing, match="(?s)apt-get install clang-22 lld-22 llvm-22.*ANDROID_NDK_HOME"):
        assemble.stand_in()


def test_a_stand_in_that_cannot_be_fetched_leaves_nothing_half_made(tmp_path, monkeypatch):
    monkeypatch.setenv("QUADRA_TOOLS_DIR", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(FetchFailed, match="(?s)fetch ziglang==.*pip failed.*connect to the network"):
        assemble.stand_in()
    assert [p.name for p in (tmp_path / "ndk").iterdir()] == ["lock"]


def test_a_wheel_with_a_wrong_checksum_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("QUADRA_TOOLS_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    name = assemble.versions().split()[-1]
    (tmp_path / f"ziglang-{name}-py3-none-any.whl").write_bytes(b"not what was published")
    with pytest.raises(FetchFailed, match="(?s)(HASHES|hash)"):
        assemble.stand_in()
