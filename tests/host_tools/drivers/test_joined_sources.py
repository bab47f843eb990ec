"""Sources that are compiled as one get the answers that they get alone: nothing of one is seen by the next."""

from pathlib import Path

import pytest

from host_tools.base.errors import ToolMissing
from host_tools.drivers import compiler_table, joined_sources

FIRST = """#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define TWICE(x) ((x) * 2)
typedef float4 value;
static inline value more(value x) { return TWICE(x); }
__kernel __attribute__((reqd_work_group_size(8, 8, 1)))
void work(__global value* p) {
if (get_global_id(0) > 1) { return; }
#ifdef cl_khr_fp16
half h = 1.0f;
#else
float h = 1.0f;
#endif
p[0] = more(p[0]) + (float)h;
}
"""
OTHER = """#define TWICE(x) (x)
typedef int4 value;
static value more(value x) { return TWICE(x) + x; }
__kernel void work(__global value* p) { p[0] = more(p[0]); }
"""
BORROWS = {
    "a function": "__kernel void other(__global float4* p) { p[0] = more(p[0]); }",
    "a type": "__kernel void other(__global value* p) { p[0] += 1.0f; }",
    "a macro": "__kernel void other(__global float4* p) { p[0] = TWICE(p[0]); }",
    "an extension": """__kernel void other(__global float* p) {
#ifdef cl_khr_fp16
half h = 1.0f;
#else
float h = 1.0f;
#endif
p[0] += h;
}""",
}


@pytest.fixture(scope="module")
def clang():
    try:
        compiler = compiler_table.find("clang-O0")
        compiler.check()
    except ToolMissing as error:
        pytest.skip(str(error))
    return compiler.compile


def _files(folder: Path, *sources: str) -> list[Path]:
    paths = [folder / f"source_{index}.cl" for index in range(len(sources))]
    for path, source in zip(paths, sources, strict=True):
        path.write_text(source)
    return paths


def test_the_same_names_may_mean_different_things(tmp_path, clang):
    assert clang(_files(tmp_path, joined_sources.join([FIRST, OTHER, FIRST, OTHER]))) == [""]


@pytest.mark.parametrize("source", BORROWS.values(), ids=BORROWS)
def test_nothing_of_one_source_is_there_for_the_next(tmp_path, clang, source):
    assert clang(_files(tmp_path, f"{FIRST}\n{source}\n")) == [""]
    [why] = clang(_files(tmp_path, joined_sources.join([FIRST, source])))
    assert "error" in why


def test_the_one_that_is_refused_is_found(tmp_path, clang):
    calls = []

    def compile_all(paths):
        calls.append(len(paths))
        return clang(paths)

    wrong = BORROWS["a macro"]
    paths = _files(tmp_path, FIRST, OTHER, OTHER, wrong, FIRST, OTHER, FIRST)
    told = joined_sources.compile_joined(paths, compile_all, at_once=3)
    assert [bool(why) for why in told] == [path == paths[3] for path in paths] and "TWICE" in told[3]
    assert calls == [3, 3]  # three joined ones, then the three of the one that was refused
