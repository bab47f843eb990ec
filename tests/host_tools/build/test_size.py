"""The size report says what a shared library holds, shows and needs."""

from host_tools.base import child_process
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
