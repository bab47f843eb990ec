"""The headers with the C names of TFLite's GPU delegate are laid out as those that its AAR publishes, so that code built
with either can call Quadra."""

import re

import pytest

from host_tools.base import child_process, settings
from host_tools.base.errors import QuadraError
from host_tools.build import maven

FOLDER = settings.ROOT / "delegate_native" / "delegate" / "drop_in"
NAMES = [f"tensorflow/lite/delegates/gpu/{name}.h" for name in ("delegate_options", "delegate")]
GUARDS = "\n".join(f"#undef TENSORFLOW_LITE_DELEGATES_GPU_{name}_H_" for name in ("DELEGATE", "DELEGATE_OPTIONS"))
TEXT = """
#include "tensorflow/lite/core/c/common.h"
#include <cstddef>
namespace theirs {{
#include "{theirs}"
}}
{guards}
namespace ours {{
#include "{ours}"
}}
using Ours = ours::TfLiteGpuDelegateOptionsV2;
using Theirs = theirs::TfLiteGpuDelegateOptionsV2;
static_assert(sizeof(Ours) == sizeof(Theirs), "size");
{checks}
"""


@pytest.fixture(scope="module")
def published():
    try:
        return [maven.aar_file("tensorflow-lite-gpu", f"headers/{name}") for name in NAMES]
    except QuadraError as error:
        pytest.skip(f"the AAR of TFLite's GPU delegate is not to be had: {error}")


def compiled(ours, theirs, headers, folder, *flags):
    text = ours.read_text()
    fields = re.findall(r"^  (?:int32_t|int64_t|const char\*) (\w+);", text, re.M)
    values = re.findall(r"^  (TFLITE_GPU_\w+) = ", text, re.M)
    assert len(fields) == 9 and len(values) == 12
    same_type = 'static_assert(sizeof(Ours::{0}) == sizeof(Theirs::{0}) && offsetof(Ours, {0}) == offsetof(Theirs, {0}), "{0}");'
    checks = [same_type.format(name) for name in fields]
    checks += [f'static_assert(int(ours::{name}) == int(theirs::{name}), "{name}");' for name in values]
    source = folder / "compare.cc"
    source.write_text(TEXT.format(ours=ours, theirs=theirs, guards=GUARDS, checks="\n".join(checks)))
    argv = ["g++", "-std=c++17", "-fsyntax-only", "-Wno-invalid-offsetof", f"-I{headers}", *flags, source]
    return child_process.run(argv, timeout_s=60, check=False)


def test_options_are_laid_out_as_published(headers, published, tmp_path):
    done = compiled(FOLDER / NAMES[0], published[0], headers, tmp_path)
    assert done.returncode == 0, done.stderr


def test_another_order_is_seen(headers, published, tmp_path):
    text = (FOLDER / NAMES[0]).read_text()
    moved = text.replace("  int32_t max_delegated_partitions;\n", "").replace(
        "  int32_t inference_priority1;", "  int32_t max_delegated_partitions;\n  int32_t inference_priority1;"
    )
    ours = tmp_path / "options.h"
    ours.write_text(moved)
    assert "inference_priority1" in compiled(ours, published[0], headers, tmp_path).stderr


def test_they_compile_beside_the_published_ones_of_the_interpreter(headers, tmp_path):
    argv = [
        "g++",
        "-std=c++17",
        "-Wall",
        "-Werror",
        "-fsyntax-only",
        f"-I{FOLDER}",
        f"-I{headers}",
        f"-I{settings.ROOT}",
    ]
    done = child_process.run([*argv, settings.ROOT / "tests" / "drop_in.cc"], timeout_s=60, check=False)
    assert done.returncode == 0, done.stderr
    user = tmp_path / "user.c"
    user.write_text(
        '#include "tensorflow/lite/delegates/gpu/delegate.h"\n'
        "TfLiteDelegate* make(void) { return TfLiteGpuDelegateV2Create(0); }\n"
    )
    done = child_process.run(
        ["gcc", "-std=c11", "-fsyntax-only", f"-I{FOLDER}", f"-I{headers}", user], timeout_s=60, check=False
    )
    assert done.returncode == 0, done.stderr


# What the examples leave to the reader. The headers of TFLite's AAR lack files that its own c_api.h includes.
AROUND = """
#include "delegate_native/delegate/quadra.h"
#include "tensorflow/lite/core/c/common.h"
#include "tensorflow/lite/delegates/gpu/delegate.h"
typedef struct TfLiteInterpreterOptions TfLiteInterpreterOptions;
void TfLiteInterpreterOptionsAddDelegate(TfLiteInterpreterOptions* options, TfLiteDelegate* delegate);
"""


def test_the_c_of_the_pages_compiles(headers, tmp_path):
    for name, creates in (("use_in_an_app", "QuadraDelegateCreate"), ("options", "TfLiteGpuDelegateV2Create")):
        page = (settings.ROOT / "docs" / f"{name}.md").read_text()
        (example,) = [text for text in re.findall(r"^```c\n(.*?)^```", page, re.M | re.S) if creates in text]
        source = tmp_path / f"{name}.c"
        start = "void use(TfLiteInterpreterOptions* interpreter_options, const char* folder) {"
        source.write_text(f"{AROUND}{start}\n{example}}}\n")
        argv = ["gcc", "-std=c11", "-Wall", "-Wno-unused-variable", "-Werror", "-fsyntax-only"]
        argv += [f"-I{folder}" for folder in (settings.ROOT, FOLDER, headers)]
        done = child_process.run([*argv, source], timeout_s=60, check=False)
        assert done.returncode == 0, done.stderr
