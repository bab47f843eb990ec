"""The functions of TFLite that the native runner calls, in the signatures of the headers that the AAR publishes."""

import re

import pytest

from host_tools.base import child_process, settings
from host_tools.build import maven, size

TABLE = settings.ROOT / "delegate_native" / "runner" / "tflite_functions.def"
TEXT = """
#include <cstdarg>
#include <type_traits>
#include "tensorflow/lite/c/c_api.h"
#include "tensorflow/lite/c/c_api_experimental.h"
#define QUADRA_TFLITE(result, name, arguments) \\
  static_assert(std::is_same<decltype(&name), result (*) arguments>::value, #name);
#include "{table}"
"""


def compiled(table, folder, headers):
    for name in ("async/c/types.h", "c/registration_external.h"):  # c_api.h includes them, the AAR lacks them
        missing = folder / "tensorflow" / "lite" / "core" / name
        missing.parent.mkdir(parents=True)
        missing.write_text("typedef struct TfLiteRegistrationExternal TfLiteRegistrationExternal;\n")
    (folder / "api.cc").write_text(TEXT.replace("{table}", str(table)))
    argv = ["g++", "-std=c++17", "-fsyntax-only", "-w", f"-I{headers}", f"-I{folder}", folder / "api.cc"]
    return child_process.run(argv, timeout_s=60, check=False)


def test_every_signature_is_the_published_one(headers, tmp_path):
    done = compiled(TABLE, tmp_path, headers)
    assert done.returncode == 0, done.stderr


def test_another_signature_is_seen(headers, tmp_path):
    wrong = tmp_path / "wrong.def"
    wrong.write_text(
        TABLE.read_text().replace("SetNumThreads, (TfLiteInterpreterOptions*, int32_t)", "SetNumThreads, (int)")
    )
    assert "TfLiteInterpreterOptionsSetNumThreads" in compiled(wrong, tmp_path, headers).stderr


@pytest.mark.parametrize("abi", ["arm64-v8a", "armeabi-v7a", "x86_64"])
def test_the_runtime_of_the_aar_has_them_all(abi, headers):
    names = set(re.findall(r"^QUADRA_TFLITE\([^,]+, (\w+),", TABLE.read_text(), re.M))
    runtime = maven.aar_file("tensorflow-lite", f"jni/{abi}/libtensorflowlite_jni.so")
    names |= {f"TfLiteXNNPackDelegate{word}" for word in ("Create", "Delete", "OptionsDefault")}
    assert len(names) > 20 and names <= set(size.measure(runtime).exports)
