"""The text of every kernel of every vector compiles in both languages, for images and buffers, in every precision, with
compilers that take nothing but the language; and none lacks its twin."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from host_tools.base import settings
from host_tools.base.errors import ToolMissing
from host_tools.drivers import compiler_table
from host_tools.drivers.compiler import Compiler
from tests.delegate import TARGETS
from tests.kernel_texts import ENDING, Kernel, KernelTexts, Target, distinct, twin
from tests.runs import PRECISIONS
from tests.vectors import all_cases
from tests.vectors.batch import batches

CPUS = ["cpu-avx512", "cpu-avx2"]  # wide kernels are for OpenCL alone
TARGETS_OF = {
    "opencl": ["adreno-640", "mali-g76-buffers", "generic", *CPUS],
    "gles": ["adreno-640", "mali-g76-buffers", "generic"],
}
PROMISED = ["generic"]  # has as few bindings as OpenGL ES 3.1 promises: what merges elsewhere may be apart there
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
_DEFINED = re.compile(
    r"(?:^|R\"\()(?:static )?(?:inline )?(?:highp )?[iu]?(?:vec\d|float\d?|int\d?) (\w+)\(", re.MULTILINE
)
_RESERVED = re.compile(r"\b\w*__\w*\b")  # in OpenGL ES, for compilers' own names; glslang lets them pass
_CALLED = re.compile(r"\b([a-z]\w*)\(")
_OF_ONE_KERNEL = re.compile(r"_[0-9a-f]{8}\b")  # its entry point
_BUILT_IN = {
    "abs", "ceil", "clamp", "cos", "dot", "exp", "floor", "fma", "isnan", "log", "max", "min", "mix", "pow", "round", "sign", "sin", "sqrt", "tanh",
}  # fmt: skip
_PRELUDES = [settings.ROOT / "delegate_native/kernel" / name for name in ("prelude.cc", "cpu/wide_prelude.cc")]
FUNCTIONS = _BUILT_IN | {name for path in _PRELUDES for name in _DEFINED.findall(path.read_text())}


_MANY = 12  # cases of an op
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
def target_of(tmp_path_factory):
    """target_of(name, api): in OpenGL ES the target's twin, with tensors stored as OpenCL's stores them."""
    folder = tmp_path_factory.mktemp("targets")
    return lambda name, api: twin(name, folder) if api == "gles" else Target(name, TARGETS / f"{name}.json")


@pytest.fixture(scope="module")
def store(quadra):
    return KernelTexts(quadra)


class Texts:
    """The kernels of an op's cases in one language."""

    def __init__(self, store: KernelTexts, op: str, api: str, slow: bool, target_of) -> None:
        self.api, self._store, self._target_of = api, store, target_of
        self.names: dict[tuple[str, str, str], list[str]] = {}  # by case, target and precision
        self._kernels: list[Kernel] = []
        cases = [case for case in CASES if case.op == op]
        for turn, (target, precision) in enumerate(combinations(api, slow)):
            # Every third case of every place, so that each has all storages, and half and floats; of many cases, fewer.
            step = 3 if len(cases) < _MANY else 6
            for case in batches(cases if slow else cases[turn % step :: step]):
                self.names[case.id, target, precision] = self._dump(case, target, precision)

    @property
    def paths(self) -> list[Path]:
        return distinct(self._kernels)

    def refusal(self, *compilers: Compiler) -> str:
        """How many sources compilers refuse, and the first one's reason; "": none."""
        return "\n".join(filter(None, (refusal(compiler, self.paths) for compiler in compilers)))

    def _dump(self, case, target: str, precision: str) -> list[str]:
        dumped = self._store.of(case.model(), self._target_of(target, self.api), precision)
        assert not dumped.error, dumped.error
        if case.place == "gpu":
            assert not dumped.on_cpu, f"{case.id} for {target} in {self.api}: {dumped.on_cpu}"
        assert dumped.kernels or case.place == "any", f"{case.id} has no kernels for {target} in {self.api}"
        endings = {kernel.path.suffix for kernel in dumped.kernels}
        assert endings <= {f".{ENDING[self.api]}"}, endings
        self._kernels += dumped.kernels
        return [kernel.name for kernel in dumped.kernels]


def refusal(compiler: Compiler, paths: list[Path]) -> str:
    refused = [(path, why) for path, why in zip(paths, compiler.compile(paths), strict=True) if why]
    return (
        f"{compiler.name} refuses {len(refused)} of {len(paths)}: {refused[0][0]}:\n{refused[0][1]}" if refused else ""
    )


def usable(name: str) -> Compiler:
    """Skips where this machine does not have it."""
    compiler = compiler_table.find(name)
    try:
        compiler.check()
    except ToolMissing as error:
        pytest.skip(f"not tried: {name}: {error}")
    return compiler


@pytest.mark.parametrize("op", OPS)
def test_every_kernel_has_a_twin_and_both_compile(store, target_of, op, request):
    slow = request.config.getoption("--slow")
    gles, opencl = (Texts(store, op, api, slow, target_of) for api in ("gles", "opencl"))
    for made, names in gles.names.items():
        if made[1] not in PROMISED:
            assert names == opencl.names[made], made
    hidden = {(p.name, word) for p in gles.paths for word in FUNCTIONS & set(_DECLARED.findall(p.read_text()))}
    assert not hidden
    unfilled = {path.name for path in (*gles.paths, *opencl.paths) if "$" in path.read_text()}
    assert not unfilled, "a hole of these texts has no value (docs/kernels.md)"
    reserved = {(path.name, *_RESERVED.findall(path.read_text())) for path in gles.paths}
    assert not {one for one in reserved if one[1:]}
    refused = gles.refusal(usable("glslang"))
    assert not refused, refused
    refused = opencl.refusal(usable("clang-pedantic"))
    assert not refused, refused


def sample(store: KernelTexts, target_of, language: str) -> list[Path]:
    """Few kernels in which each function that any calls occurs: one is taken for what none before it has."""
    seen: set[str] = set()
    found: list[Path] = []
    for turn, case in enumerate(batches(CASES)):
        target = target_of(list(PHONES)[turn % len(PHONES)], language)
        for kernel in store.of(case.model(), target, PRECISIONS[turn % len(PRECISIONS)]).kernels:
            text = kernel.path.read_text()
            new = {word for word in _CALLED.findall(text) if not _OF_ONE_KERNEL.search(word)} - seen
            seen |= new
            found += [kernel.path] if new else []
    return list(dict.fromkeys(found))


@pytest.mark.parametrize("name", ["clang-O0", "pocl-1.2", "clspv", "angle-glsl"])
def test_a_sample_compiles_with_compilers_of_other_makers(store, target_of, name):
    compiler = usable(name)
    paths = sample(store, target_of, compiler.language)
    assert len(paths) > 30
    refused = refusal(compiler, paths)
    assert not refused, refused


def test_the_functions_are_found():
    assert {"above", "below", "bounded", "requantize", "max"} <= FUNCTIONS
    assert _DECLARED.findall("src_at below = down_src(1);\n  vec4 row;\nint a, b;") == ["below", "row", "a"]


@pytest.mark.parametrize("path", sorted((settings.ROOT / "delegate_native/ops").glob("**/*.cc")), ids=lambda p: p.name)
def test_kernel_bodies_are_packed_and_have_no_language_words(path):
    """Bodies are the string literals of op files."""
    assert not re.findall(r"^.*(?<!_TEXT\()\bR\"", re.sub(r"_TEXT\(\s+", "_TEXT(", path.read_text()), re.MULTILINE)
    literals = re.findall(r'R"(\w*)\((.*?)\)\1"|"((?:[^"\\\n]|\\.)*)"', path.read_text(), re.DOTALL)
    found = {match.group() for _, raw, plain in literals for match in _LANGUAGE_WORDS.finditer(raw or plain)}
    # Pictures are read four pixels at once by CPUs, in OpenCL alone.
    assert found <= ({"vload16"} if path.name == "wide_rows.cc" else set())
