"""The layout that the delegate believes TFLite's structs have, against the headers that the AAR publishes."""

import re

import pytest

from host_tools.base import child_process, settings
from tests.native import abi_of_headers

ABI = settings.ROOT / "delegate_native" / "tflite" / "abi.h"
OP_NAMES = settings.ROOT / "delegate_native" / "tflite" / "op_names.cc"
# -malign-double: as on ARM, 64-bit numbers lie at multiples of 8.
WIDTHS = {"64": ["-m64"], "32": ["-m32", "-malign-double"], "32, numbers of 8 bytes at multiples of 4": ["-m32"]}


def compile_text(text, folder, headers, flags):
    """C's own headers only: a C++ library for 32 bits is not needed."""
    for name in ("cstddef", "cstdint"):
        (folder / name).write_text(f"#include <{name[1:]}.h>\n")
    (folder / "abi.cc").write_text(text)
    argv = ["g++", "-std=c++17", "-fsyntax-only", "-w", "-ffreestanding", "-nostdinc++", f"-I{folder}", f"-I{headers}"]
    return child_process.run([*argv, *flags, folder / "abi.cc"], timeout_s=60, check=False)


@pytest.mark.parametrize("width", WIDTHS)
def test_structs_and_enums_are_those_of_the_published_headers(width, headers, tmp_path):
    text = abi_of_headers.text(ABI, ["tensorflow/lite/core/c/common.h"])
    assert text.count("static_assert") > 100
    done = compile_text(text, tmp_path, headers, WIDTHS[width])
    assert done.returncode == 0, done.stderr


def test_a_field_at_another_place_is_seen(headers, tmp_path):
    wrong = tmp_path / "wrong.h"
    wrong.write_text(ABI.read_text().replace("  size_t bytes;\n", "").replace("kTfLiteInt8 = 9", "kTfLiteInt8 = 10"))
    wrong.write_text(re.sub(r"#if UINTPTR_MAX.*?#endif\n", "", wrong.read_text(), flags=re.S))
    done = compile_text(abi_of_headers.text(wrong, ["tensorflow/lite/core/c/common.h"]), tmp_path, headers, ["-m64"])
    assert "size of TfLiteTensor" in done.stderr and "kTfLiteInt8" in done.stderr


def test_builtin_ops_have_the_numbers_of_the_published_header(headers):
    text = (headers / "tensorflow/lite/builtin_ops.h").read_text()
    theirs = {int(n): name for name, n in re.findall(r"kTfLiteBuiltin(\w+) = (\d+),", text)}
    ours = re.findall(r'"([A-Z0-9_]+)\\n"', OP_NAMES.read_text())  # in the order of their numbers
    assert len(theirs) > 200
    spelled = dict(enumerate(name.replace("_", "").lower() for name in ours))
    del theirs[127]  # marks numbers that do not fit a byte
    assert {number: name.lower() for number, name in theirs.items()} == {n: spelled.get(n) for n in theirs}
