"""The pretended phone's OpenCL before a program: it answers as its phone, writes down what it is asked, and refuses the rest."""

import os
import re
import subprocess

import pytest
from elftools.elf.elffile import ELFFile

from host_tools.android_on_host import pretended_opencl
from host_tools.android_on_host.jvm import ABI
from host_tools.base.errors import FetchFailed
from host_tools.build import stock_delegate
from host_tools.request import phone
from tests.host_tools.analyse.test_analyse_for_real import REAL

INVALID_VALUE, INVALID_OPERATION, NO_TIME, NO_DEVICE, NO_KERNEL, NO_PLATFORM = -30, -59, -7, -1, -46, -1001
RECORDED = """unknown device 0x7777
buffer 3 64 1
buffer 4 4096 0
part 5 4 2048
image 6 448 0 5 5 7 1 1 8
program 7 {size}
{text}
build 7 -cl-std=CL2.0 -DX=1
kernel 8 7 twice
arg 8 0 object 3
arg 8 1 bytes 010000000200000003000000ffffffff
arg 8 2 local 512
arg 8 3 object 6
launch 8 30 4 1 16 4 1
refused clEnqueueNDRangeKernel with an offset
refused clEnqueueCopyBuffer
host 3
release 6
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """asks_opencl.c, linked with the pretended library."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("QUADRA_TOOLS_DIR", str(tmp_path_factory.mktemp("tools")))
        library = pretended_opencl.library()
        assert pretended_opencl.library() == library
    made = tmp_path_factory.mktemp("program") / "asks"
    source = os.path.join(os.path.dirname(__file__), "asks_opencl.c")
    subprocess.run(["gcc", "-Wall", "-o", made, source, library, f"-Wl,-rpath,{library.parent}"], check=True)
    return made


def said(program, name, folder, *words):
    """The program's lines, and the recording."""
    calls = folder / "calls"
    environment = pretended_opencl.environment(phone.read(name).lines(), folder, calls) if name else {}
    done = subprocess.run(
        [program, *words], env={**os.environ, **environment}, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines(), calls.read_text() if calls.exists() else ""


def test_a_programs_calls_are_written_down_and_nothing_is_computed(program, tmp_path):
    lines, calls = said(program, "adreno-740", tmp_path)
    assert lines == [
        "platforms 0 1",
        f"cpus {NO_DEVICE}",
        "gpus 0",
        "name QUALCOMM Adreno(TM) 20",
        f"too small {INVALID_VALUE}",
        "sizes 1024 1024 1024 32768",
        f"unknown {INVALID_VALUE}",
        f"beyond {INVALID_VALUE}",
        "build 0",
        f"no such kernel {NO_KERNEL}",
        "launch 0",
        f"offset {INVALID_OPERATION}",
        f"time {NO_TIME}",
        f"copy {INVALID_OPERATION}",
        "read 0",
    ]
    text = "__kernel void twice(__global float* x, int4 n, __local float* shared, __write_only image2d_t y) {}\n// more"
    assert calls == RECORDED.format(text=text, size=len(text))


@pytest.mark.parametrize(("name", "shown"), [("mali-g76", "Mali-G76"), ("mali-g610", "Mali-G610 r0p0")])
def test_each_phone_says_its_own(name, shown, program, tmp_path):
    lines, _ = said(program, name, tmp_path, "device")
    side = phone.read(name).answers["CL_DEVICE_MAX_WORK_GROUP_SIZE"]
    assert f"name {shown} {len(shown) + 1}" in lines and f"sizes {side} {side} {side} 32768" in lines


def test_without_a_phone_there_is_no_platform(program, tmp_path):
    assert said(program, "", tmp_path) == ([f"platforms {NO_PLATFORM} 0"], "")


def test_every_query_has_its_answer_in_every_phone():
    header = (pretended_opencl._HERE / "answers.h").read_text()
    queries = set(re.findall(r"QUERY\((CL_\w+),", header))
    assert len(queries) > 50
    for path in phone.PHONES.glob("*.json"):
        assert set(phone.read(path.stem).answers) == queries


def test_every_function_that_the_stock_delegate_looks_up_is_there(monkeypatch):
    monkeypatch.setenv("QUADRA_TOOLS_DIR", str(REAL))
    try:
        content = stock_delegate.library(ABI).read_bytes()
    except FetchFailed as error:
        pytest.skip(str(error))
    wanted = {name.decode() for name in re.findall(rb"\0(cl[A-Z][A-Za-z0-9]+)(?=\0)", content)}
    with open(pretended_opencl.library(), "rb") as file:
        there = {symbol.name for symbol in ELFFile(file).get_section_by_name(".dynsym").iter_symbols()}
    assert "clEnqueueNDRangeKernel" in wanted and wanted - there == set()
