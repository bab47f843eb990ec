"""The size report says what a shared library holds, shows and needs."""

import pytest

from host_tools.base import child_process
from host_tools.base.errors import Misuse
from host_tools.build import size


def test_a_small_library_is_measured(tmp_path):
    source = tmp_path / "x.cc"
    source.write_text('#include <cstdio>\nstatic void hidden() { puts("x"); } extern "C" void shown() { hidden(); }')
    library = tmp_path / "x.so"
    child_process.run(["g++", "-shared", "-fPIC", "-o", library, source], timeout_s=60)
    measured = size.measure(library)
    assert measured.file_bytes == library.stat().st_size and not measured.stripped
    assert "shown" in measured.exports and ".text" in dict(measured.sections)
    assert "libc.so.6" in measured.needed
    child_process.run(["strip", library], timeout_s=60)
    assert size.measure(library).stripped


def test_a_file_without_what_is_asked_of_it_is_misuse_that_names_it(tmp_path):
    source = tmp_path / "x.c"
    source.write_text("int x;")
    bare = tmp_path / "x.so"
    child_process.run(["gcc", "-shared", "-nostdlib", "-s", "-o", bare, source], timeout_s=60)
    with pytest.raises(Misuse, match=r"x\.so: it has no section \.symtab"):
        size.layers(bare, bare, [])


def test_the_build_of_a_library_is_its_build_id(tmp_path):
    source = tmp_path / "x.c"
    source.write_text("int x;")
    for name, more in (("with", "-Wl,--build-id=0xabcd"), ("without", "-Wl,--build-id=none")):
        child_process.run(["gcc", "-shared", "-nostdlib", more, "-o", tmp_path / name, source], timeout_s=60)
    assert size.build_of(tmp_path / "with") == ("abcd", 64)
    with pytest.raises(Misuse, match="it has no build ID, so it keeps no cache"):
        size.build_of(tmp_path / "without")
    with pytest.raises(Misuse, match="give a shared library"):
        size.build_of(source)
