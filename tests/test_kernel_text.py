"""The text of every kernel of every vector compiles in both languages, for images and buffers, in every precision;
and none lacks its twin."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from functools import cache
from pathlib import Path

import pytest

from host_tools.base import child_process, settings
from tests.delegate import TARGETS, Quadra
from tests.runs import PRECISIONS
from tests.vectors import all_cases
from tests.vectors.batch import batches

CPUS = ["cpu-avx512", "cpu-avx2"]  # wide kernels are for OpenCL alone
TARGETS_OF = {
    "opencl": ["adreno-640", "mali-g76-buffers", "generic", *CPUS],
    "gles": ["adreno-640", "mali-g76-buffers", "generic"],
}
PROMISED = ["generic"]  # has as few bindings as OpenGL ES 3.1 promises: what merges elsewhere may be apart there
ENDING = {"opencl": "cl", "gles": "comp"}
CASES = [case for case in all_cases() if case.place != "cpu"]
OPS = sorted({case.op for case in CASES})
_LANGUAGE_WORDS = re.compile(
    r"\b(__?(global|local|constant|private|kernel)|gl_\w+|image2d_t|get_(global|local|group)_(id|size)|vload\w*|"
    r"vstore\w*|read_image\w*|write_image\w*|float4|int4|int2|half4|imageLoad|imageStore|barrier)\b"
)

# Merged steps are put where a kernel stores: a variable that hides a function is met by the steps that call it.
_DECLARED = re.compile(
    r"^\s*(?:bool|float|int|[iu]?vec\d|(?:sum|place|num)4?_t|num4?|\w+_at) (\w+)\s*[=;,]", re.MULTILINE
)
_DEFINED = re.compile(r"(?:^|R\"\()(?:static inline )?(?:highp )?[iu]?(?:vec\d|float\d?|int\d?) (\w+)\(", re.MULTILINE)
_BUILT_IN = {
    "abs", "ceil", "clamp", "cos", "dot", "exp", "floor", "fma", "isnan", "log", "max", "min", "mix", "pow", "round", "sign", "sin", "sqrt", "tanh",
}  # fmt: skip
FUNCTIONS = _BUILT_IN | set(_DEFINED.findall((settings.ROOT / "delegate_native/kernel/prelude.cc").read_text()))


# Images and buffers, each with floats and in one of the precisions with half; with --slow in every one.
PHONES = {"adreno-640": ("f32", "f16"), "mali-g76-buffers": ("f32", "f32_f16")}


def combinations(api: str, slow: bool) -> list[tuple[str, str]]:
    """(target, precision)"""
    return [
        (target, precision)
        for target in TARGETS_OF[api]
        for precision in (PRECISIONS if slow and target in PHONES else PHONES.get(target, ("f32",)))
    ]


@pytest.fixture(scope="module")
def target_file(tmp_path_factory):
    """target_file(name, api): in OpenGL ES the target's twin, with tensors stored as OpenCL's stores them."""
    folder = tmp_path_factory.mktemp("targets")

    def path(name: str, api: str) -> Path:
        target, twin, made = (
            TARGETS / f"{name}.json",
            TARGETS / f"{name.removesuffix('-buffers')}-gles.json",
            folder / f"{name}.json",
        )
        if api == "gles" and not made.exists():
            storage = json.loads(target.read_text())["storage"]
            made.write_text(json.dumps({**json.loads(twin.read_text()), "storage": storage}))
        return made if api == "gles" else target

    return path


class Texts:
    """The kernels of an op's cases in one language."""

    def __init__(self, quadra: Quadra, op: str, api: str, slow: bool, folder: Path, target_file) -> None:
        self.api, self._quadra, self._folder, self._target_file = api, quadra, folder, target_file
        self.names: dict[tuple[str, str, str], list[str]] = {}  # by case, target and precision
        self._distinct: dict[bytes, Path] = {}
        cases = [case for case in CASES if case.op == op]
        for turn, (target, precision) in enumerate(combinations(api, slow)):
            # Every second case of every place, so that each has all storages, and half and floats.
            for case in batches(cases if slow else cases[turn % 2 :: 2]):
                self.names[case.id, target, precision] = self._dump(case, target, precision)

    @property
    def paths(self) -> list[Path]:
        return list(self._distinct.values())

    def _dump(self, case, target: str, precision: str) -> list[str]:
        place = self._folder / "dump"
        outcome = self._quadra.run(
            case.model(),
            backend="null",
            precision=precision,
            dump_dir=str(place),
            target=str(self._target_file(target, self.api)),
        )
        assert not outcome.error, outcome.error
        if case.place == "gpu":
            assert not outcome.on_cpu(), f"{case.id} for {target} in {self.api}: {outcome.on_cpu()}"
        kernels = sorted(place.glob("partition_*/kernels/*"))
        assert kernels or case.place == "any", f"{case.id} has no kernels for {target} in {self.api}"
        assert {path.suffix for path in kernels} <= {f".{ENDING[self.api]}"}, kernels
        for path in kernels:
            digest = hashlib.sha256(path.read_bytes()).digest()
            if digest not in self._distinct:
                self._distinct[digest] = path.rename(
                    self._folder / f"{target}-{precision}-{len(self._distinct)}-{path.name}"
                )
        shutil.rmtree(place, ignore_errors=True)  # thousands of files that nobody reads
        return [path.stem for path in kernels]


@cache
def opencl_compiler() -> list[str]:
    """The compiler proper, which takes many files in one process and is ten times faster so; [] if there is none."""
    clang = shutil.which("clang") or shutil.which("clang-15")  # PoCL comes with it
    if not clang:
        return []
    own = child_process.run([clang, "-print-resource-dir"], timeout_s=10).stdout.strip()
    flags = (
        "-x cl -cl-std=CL1.2 -triple spir64 -finclude-default-header -fdeclare-opencl-builtins -fsyntax-only -Werror"
    )
    return [clang, "-cc1", *flags.split(), "-resource-dir", own, "-internal-isystem", f"{own}/include"]


@pytest.mark.parametrize("op", OPS)
def test_every_kernel_has_a_twin_and_both_compile(quadra, tmp_path, target_file, op, request):
    slow = request.config.getoption("--slow")
    gles, opencl = (Texts(quadra, op, api, slow, tmp_path / api, target_file) for api in ("gles", "opencl"))
    for made, names in gles.names.items():
        if made[1] not in PROMISED:
            assert names == opencl.names[made], made
    hidden = {(p.name, word) for p in gles.paths for word in FUNCTIONS & set(_DECLARED.findall(p.read_text()))}
    assert not hidden
    done = child_process.run(["glslangValidator", "-S", "comp", *gles.paths], timeout_s=120, check=False)
    assert done.returncode == 0, done.stdout
    compiler = opencl_compiler()
    if not compiler:
        pytest.skip("the OpenCL form was not tried: there is no clang or clang-15 in PATH")
    done = child_process.run([*compiler, *opencl.paths], timeout_s=120, check=False)
    assert done.returncode == 0, done.stderr


def test_the_functions_are_found():
    assert {"above", "below", "bounded", "onto_grid", "max"} <= FUNCTIONS
    assert _DECLARED.findall("src_at below = down_src(1);\n  vec4 row;\nint a, b;") == ["below", "row", "a"]


@pytest.mark.parametrize("path", sorted((settings.ROOT / "delegate_native/ops").glob("**/*.cc")), ids=lambda p: p.name)
def test_kernel_bodies_are_packed_and_have_no_language_words(path):
    """Bodies are the string literals of op files."""
    assert not re.findall(r"^.*(?<!QUADRA_TEXT\()(?<!TextOf\()\bR\"", path.read_text(), re.MULTILINE)
    literals = re.findall(r'R"(\w*)\((.*?)\)\1"|"((?:[^"\\\n]|\\.)*)"', path.read_text(), re.DOTALL)
    found = {match.group() for _, raw, plain in literals for match in _LANGUAGE_WORDS.finditer(raw or plain)}
    assert not found
