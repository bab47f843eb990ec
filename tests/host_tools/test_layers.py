"""The native code's layers, read from its #includes: who may see whom; upward never. Bazel's visibility says the same."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from host_tools.base import settings

NATIVE = settings.ROOT / "delegate_native"

# folder: what it may include besides itself, as folders or single headers.
LAYERS: dict[str, set[str]] = {
    "base": set(),
    "graph": {"base"},
    "device": {"base"},
    "kernel": {"base"},
    "tflite": {"base", "graph"},
    "ops": {"base", "graph", "device", "kernel", "tflite"},
    "passes": {"base", "graph", "ops/op.h"},
    "plan": {"base", "graph", "device", "kernel", "ops"},
    "runtime": {"base", "device", "plan/plan_generated.h", "plan/dispatch_group.h", "plan/weights.h"},
    "cache": {"base", "graph", "device", "plan"},
    "session": {"base", "cache", "graph", "device", "kernel", "passes", "ops", "plan", "runtime/backend.h"},
    "delegate": {"base", "cache", "graph", "device", "kernel", "tflite", "passes", "ops", "plan", "runtime", "session"},
    "jni": {"base", "delegate"},
    "accelerator": {"base", "delegate/quadra.h", "tflite/abi.h"},
    "runner": {"base", "tflite/abi.h"},
    "python": set(),  # no C++
}
INCLUDE = re.compile(r'#include "delegate_native/([^"]+)"')
COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*")|(R"\(.*?\)")', re.DOTALL)
BODY = re.compile(r'R"\((.*?)\)"|"((?:\\.|[^"\\\n])*)"', re.DOTALL)
VENDORS = re.compile(r"(?<![a-z])(adreno|qualcomm|mali|powervr|imgtec|nvidia|intel|samsung)(?![a-z])", re.IGNORECASE)
# Words of one GPU language; bodies are written in all of them at once.
LANGUAGE_WORDS = re.compile(
    r"__global|__kernel|__local|__constant|\bkernel void|get_global_id|get_local_id|\bgl_[A-Z]|image2d_t|imageLoad|"
    r"read_image|write_image|\bfloat4\b|\bint4\b|\bhalf4\b|\(float4\)|\bbarrier\(|memoryBarrier|layout\(|\buniform\b"
)


def sources(folder: str = "") -> Iterator[Path]:
    yield from (p for p in sorted((NATIVE / folder).rglob("*")) if p.suffix in (".cc", ".h", ".def"))


def code(path: Path) -> str:
    """The text without comments."""
    return COMMENT.sub(lambda m: m.group(1) or m.group(2) or " ", path.read_text())


def includes() -> Iterator[tuple[Path, str]]:
    for path in sources():
        yield from ((path.relative_to(NATIVE), included) for included in INCLUDE.findall(path.read_text()))


def may_include(path: Path, included: str) -> bool:
    layer = path.parts[0]
    target = included.split("/")[0]
    if target == layer == "runtime":  # siblings never include each other
        return len(Path(included).parts) == 2 or Path(included).parts[1] == path.parts[1]
    return target == layer or target in LAYERS[layer] or included in LAYERS[layer]


def test_every_folder_is_a_layer():
    assert {p.name for p in NATIVE.iterdir() if p.is_dir()} == set(LAYERS)


def test_includes_never_look_upward():
    wrong = [f"{path} includes {included}" for path, included in includes() if not may_include(path, included)]
    assert not wrong


@pytest.mark.parametrize(
    ("path", "included", "allowed"),
    [
        ("passes/x.cc", "graph/graph.h", True),
        ("passes/x.cc", "tflite/abi.h", False),
        ("graph/x.cc", "device/gpu_info.h", False),
        ("runtime/opencl/x.cc", "runtime/backend.h", True),
        ("runtime/opencl/x.cc", "runtime/gles/gl_api.h", False),
        ("runtime/opencl/x.cc", "plan/memory_planner.h", False),
        ("session/x.cc", "runtime/opencl/cl_api.h", False),
        ("delegate/x.cc", "runtime/opencl/opencl_backend.h", True),
        ("runner/x.cc", "delegate/delegate.h", False),
        ("accelerator/x.cc", "delegate/quadra.h", True),
        ("accelerator/x.cc", "delegate/delegate.h", False),
    ],
)
def test_the_rule_itself(path: str, included: str, allowed: bool):
    assert may_include(Path(path), included) is allowed


def test_the_python_module_imports_only_pythons_own_library():
    """It is installed alone; the interpreter that it loads is named in a text."""
    source = (NATIVE / "python" / "quadra" / "__init__.py").read_text()
    found = re.findall(r"^ *(?:import|from) ([\w.]+)", re.sub(r'""".*?"""', "", source, flags=re.DOTALL), re.MULTILINE)
    assert found and {name.partition(".")[0] for name in found} <= {*sys.stdlib_module_names}


def test_only_the_options_read_the_environment():
    assert [str(p.relative_to(NATIVE)) for p in sources() if "getenv" in code(p)] == ["delegate/options.cc"]


def test_vendors_are_named_in_device_only():
    # Where a driver's file lies on a phone is no decision about its maker.
    allowed = {"runtime/opencl/cl_api.cc"}
    found: list[str] = []
    for path in sources():
        name = str(path.relative_to(NATIVE))
        if not name.startswith("device/") and name not in allowed:
            found += [f"{name}: {word}" for word in VENDORS.findall(code(path))]
    assert not found


# Phones' libraries are built without these.
APART = ("kernel/cpu/", "ops/cpu/", "runtime/gles/llvmpipe/", "runtime/opencl/pocl/")


def _that_say(words: str, folder: str = "") -> set[str]:
    found = re.compile(words)
    return {str(path.relative_to(NATIVE)) for path in sources(folder) if found.search(code(path))}


def test_what_drivers_on_the_cpu_need_is_apart_from_what_phones_run():
    found = _that_say(r"shares_host_memory|compiles_at_dispatch|(?:pocl|llvmpipe)/", "runtime")
    assert found and all(name.startswith(APART) for name in found)


def test_only_kernels_for_cpus_and_the_targets_decisions_ask_for_a_cpu():
    found = _that_say(r"CPU_SHAPES|kHasCpuShapes|\bis_cpu\(|\bis_serial\(|runs_items_serially|(?:kernel|ops)/cpu/")
    allowed = {"base/cpu_shapes.h"}
    assert {"ops/cpu/cpu_kernels.cc", "device/gpu_info.h"} <= found
    assert not {name for name in found - allowed if not name.startswith((*APART, "device/"))}


def test_texts_for_wide_vectors_are_left_out_of_phones_libraries():
    found = _that_say(r"\b[iu]?vec16\b|\bLANES\b|\bquads?_at\b|\bput_quads\b|write_quads_|write_row_|\bOUTLINED\b")
    assert {Path(name).parent.as_posix() for name in found} == {"kernel/cpu", "ops/cpu"}


def test_kernel_bodies_have_no_word_of_one_language():
    found: list[str] = []
    for path in sources("ops"):
        for raw, text in BODY.findall(code(path)):
            found += [f"{path.name}: {word}" for word in LANGUAGE_WORDS.findall(raw or text)]
    assert not found


def _where(holds: bool, text: str) -> str:
    """A kernel's text (docs/kernels.md) where all of its conditions without `!` hold, or where those with it do."""
    kept, parts = [], [True]
    for line in text.split("\n"):
        if line.endswith("$end"):
            kept += [line.removesuffix("$end")] if all(parts) else []
            parts.pop()
            continue
        opens = re.search(r"\$(if|for)\((!?)[^)]*\)$", line)
        here = line[: opens.start()] if opens else line
        ends = [one.start() for one in re.finditer(r"\$if\((!?)", here) if (one[1] == "") != holds]
        kept += [here[: min(ends, default=len(here))]] if all(parts) else []
        if opens:
            parts.append(opens[1] == "for" or (opens[2] == "") == holds)
    return "\n".join(kept)


def test_conditions_of_texts_are_told_apart():
    text = "$if(a)\n{\n$for(i, 2) x;\n$end\n$if(!a) [\n$for(i, 2)\n${y}$if(a) }\n$end\nz"
    assert _where(True, text).split() == ["{", "$for(i,", "2)", "x;", "${y}$if(a)", "}", "z"]
    assert _where(False, text).split() == ["$if(!a)", "[", "${y}", "z"]


def test_what_opens_a_brace_of_a_kernel_closes_it():
    found: list[str] = []
    for path in sources("ops"):
        texts = [_where(holds, raw or text) for raw, text in BODY.findall(code(path)) for holds in (True, False)]
        found += [f"{path.name}: {text}" for text in texts if text.count("{") != text.count("}")]
    assert not found


def test_the_library_uses_no_iostreams_and_no_exceptions():
    wrong = re.compile(
        r"#include <(iostream|sstream|fstream|iomanip|stdexcept|regex)>|\bthrow\b|\bdynamic_cast<|\btypeid\("
    )
    assert not [f"{p.name}: {m.group(0)}" for p in sources() if (m := wrong.search(code(p)))]


def test_every_pass_is_described():
    rows = re.findall(r"^\| `(\w+)` \|", (settings.ROOT / "docs" / "passes.md").read_text(), re.MULTILINE)
    passes = re.findall(r'^ +\{QUADRA_TEXT\("(\w+)"\),', (NATIVE / "passes" / "pipeline.cc").read_text(), re.MULTILINE)
    assert rows == list(dict.fromkeys(passes))
