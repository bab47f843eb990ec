"""The library for Android: built for every ABI, judged as Android would, within its budget."""

import shutil

import pytest

from host_tools import android_check, bazel, c_library, ndk, size


@pytest.fixture(scope="module")
def made():
    return bazel.android(ndk.ABIS)


@pytest.mark.parametrize("abi", ndk.ABIS)
def test_android_will_load_it_and_the_budget_is_met(made, abi):
    checked = android_check.check(made[abi])
    assert not checked.wrong
    assert sum(count for _, count in checked.floors) == checked.size.file_bytes
    assert {"ops", "delegate", "runtime/opencl", "runtime/gles", "kernels' text"} <= {name for name, _ in checked.floors}


def test_it_says_who_made_it(made):
    assert {size.measure(one.path).made_by for one in made.values()} == {ndk.find().made_by}


def test_the_list_of_c_symbols_has_nothing_that_no_abi_asks_for(made):
    if not ndk.find().is_stand_in:
        pytest.skip("the list is that of the stand-in; an NDK's C++ library may ask for less")
    asked = {name for one in made.values() for name in undefined(one.path)}
    assert sorted(s.name for s in c_library.all_symbols() if s.name not in asked) == []


def test_a_library_for_another_place_is_refused(library, tmp_path):
    """Seen red: this machine's library as if it were Android's."""
    here = tmp_path / "libquadra.so"
    shutil.copy(library, here)
    wrong = android_check.check(bazel.AndroidLibrary("arm64-v8a", here, here, [])).wrong
    text = "\n".join(wrong)
    for part in ("it is for EM_X86_64", "not aligned to pages of 16384", "it needs libc.so.6", "which is not in libc_symbols"):
        assert part in text


@pytest.mark.slow
def test_two_builds_make_the_same_bytes(made, tmp_path, monkeypatch):
    monkeypatch.setenv("QUADRA_BAZEL_OUTPUT_BASE", str(tmp_path / "anew"))
    again = bazel.android(["armeabi-v7a"])["armeabi-v7a"]
    try:
        assert again.path.read_bytes() == made["armeabi-v7a"].path.read_bytes()
    finally:
        bazel.shutdown()


def undefined(path):
    with size.opened(path) as elf:
        return [s.name for s in elf.get_section_by_name(".dynsym").iter_symbols() if s["st_shndx"] == "SHN_UNDEF" and s.name]
