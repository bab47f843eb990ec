"""The library and the runner for Android: built for every ABI, judged as Android would, within their budgets. The library
for arm64-v8a takes a minute: its tests are slow, those of the library for x86_64 and of the runner quick."""

import re
import shutil

import pytest

from host_tools.base import android, child_process
from host_tools.build import android_check, bazel, c_library, ndk, size
from host_tools.build.stand_in import parts

_LIBRARIES = [abi if abi in android.QUICK_ABIS else pytest.param(abi, marks=pytest.mark.slow) for abi in android.ABIS]


@pytest.fixture(scope="module")
def made(request):
    return bazel.android(android.ABIS if request.config.getoption("--slow") else android.QUICK_ABIS)


@pytest.fixture(scope="module")
def runners():
    return bazel.runners(android.ABIS)


@pytest.mark.parametrize("abi", _LIBRARIES)
def test_android_will_load_it_and_the_budget_is_met(made, abi):
    checked = android_check.check(made[abi])
    assert not checked.wrong
    assert sum(count for _, count in checked.layers) == checked.size.file_bytes
    assert {"ops", "delegate", "runtime/opencl", "runtime/gles", "kernels' text"} <= {
        name for name, _ in checked.layers
    }


@pytest.mark.parametrize("abi", android.QUICK_ABIS)
def test_android_will_load_the_accelerator_beside_it(made, abi):
    beside = made[abi].path.with_name(android.ACCELERATOR)
    checked = android_check.check_accelerator(abi, beside)
    assert not checked.wrong
    assert checked.size.exports == sorted(android_check.ACCELERATOR_EXPORTS)
    as_delegate = "\n".join(android_check.check(bazel.AndroidLibrary(abi, beside, beside, [])).wrong)
    assert "not libquadra.so" in as_delegate and "it needs libquadra.so" in as_delegate
    assert "it asks for QuadraDelegateReport" in as_delegate


@pytest.mark.parametrize("abi", android.ABIS)
def test_android_will_start_the_runner(runners, abi):
    checked = android_check.check_runner(abi, runners[abi])
    assert not checked.wrong
    assert checked.size.exports == [] and checked.size.file_bytes > 20_000


def test_a_library_is_no_runner(made):
    """Seen red: the delegate as if the shell could start it."""
    wrong = "\n".join(android_check.check_runner("armeabi-v7a", made["armeabi-v7a"].path).wrong)
    assert "no position-independent executable" in wrong and "nobody starts it" in wrong and "the budget is" in wrong


def test_they_say_who_made_them(made, runners):
    files = [*(one.path for one in made.values()), *runners.values()]
    assert {size.measure(path).made_by for path in files} == {ndk.find().made_by}


def test_the_list_of_c_symbols_has_nothing_that_no_abi_asks_for(made, runners):
    if not ndk.find().is_stand_in:
        pytest.skip("the list is that of the stand-in; an NDK's C++ library may ask for less")
    files = [*(one.path for one in made.values()), *runners.values()]
    asked = {name for path in files for name in undefined(path)}
    assert sorted(s.name for s in c_library.all_symbols() if s.name not in asked) == []


# What Bionic's headers say (bionic/libc/include): by ABI the bytes of time_t, off_t and struct timespec, of struct stat and
# before its size, its time of change and its inode, and before a directory entry's name.
TYPES = {
    "armeabi-v7a": (4, 4, 8, 104, 48, 80, 96, 19),
    "arm64-v8a": (8, 8, 16, 128, 48, 88, 8, 19),
    "x86_64": (8, 8, 16, 144, 48, 88, 8, 19),
}
ASK = """
#include <dirent.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
int sizes[] = {sizeof(time_t), sizeof(off_t), sizeof(struct timespec), sizeof(struct stat), offsetof(struct stat, st_size),
               offsetof(struct stat, st_mtim), offsetof(struct stat, st_ino), offsetof(struct dirent, d_name)};
"""


@pytest.mark.parametrize("abi", android.ABIS)
def test_types_of_the_c_library_have_androids_sizes(abi, tmp_path):
    """Seen red: mmap's off_t had 64 bits on armeabi-v7a, where Bionic's has 32. Each model ended in abort."""
    machine = next(one.target for one in parts.ABIS if one.name == abi)
    prebuilt = ndk.find().path / "toolchains/llvm/prebuilt/linux-x86_64"
    argv = [prebuilt / "bin/clang", f"--target={machine}26", f"--sysroot={prebuilt / 'sysroot'}", "-S", "-o", "-"]
    (tmp_path / "ask.c").write_text(ASK)
    text = child_process.run([*argv, tmp_path / "ask.c"], timeout_s=60).stdout
    assert tuple(map(int, re.findall(r"\.(?:long|word)\s+(\d+)", text))) == TYPES[abi]


def test_a_library_for_another_place_is_refused(library, tmp_path):
    """Seen red: this machine's library as if it were Android's."""
    here = tmp_path / "libquadra.so"
    shutil.copy(library, here)
    wrong = android_check.check(bazel.AndroidLibrary("arm64-v8a", here, here, [])).wrong
    text = "\n".join(wrong)
    for part in (
        "it is for EM_X86_64",
        "not aligned to pages of 16384",
        "it needs libc.so.6",
        "which is not in libc_symbols",
    ):
        assert part in text


@pytest.mark.slow
def test_debug_builds_link_for_every_abi_and_keep_their_symbols():
    for one in bazel.android(android.ABIS, debug=True).values():
        assert not size.measure(one.path).stripped


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
        return [
            s.name for s in elf.get_section_by_name(".dynsym").iter_symbols() if s["st_shndx"] == "SHN_UNDEF" and s.name
        ]
