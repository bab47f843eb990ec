"""The text of every kernel of every vector: the OpenCL form compiles without a warning, and has a twin for OpenGL ES
that compiles."""

from __future__ import annotations

import hashlib
import re
import shutil
from pathlib import Path

import pytest

from host_tools import settings, shell
from tests.delegate import Quadra, options
from tests.vectors import all_cases

CPUS = ["cpu-avx512", "cpu-avx2"]  # wide kernels are for OpenCL alone
RUNS = [("adreno-640", "f32"), ("mali-g76", "f32"), ("generic", "f32"), ("mali-g76", "f32_f16"),
        *[(target, "f32") for target in CPUS],
        pytest.param("adreno-640", "f32_f16", marks=pytest.mark.slow)]
OPS = sorted({case.op for case in all_cases() if case.place != "cpu"})
_LANGUAGE_WORDS = re.compile(
    r"\b(__?(global|local|constant|private|kernel)|gl_\w+|image2d_t|get_(global|local|group)_(id|size)|vload\w*|"
    r"vstore\w*|read_image\w*|write_image\w*|float4|int4|int2|half4|imageLoad|imageStore|barrier)\b")


def dumped(quadra: Quadra, folder: Path, op: str, target: str, precision: str = "f32") -> dict[str, list[Path]]:
    """The distinct texts of an op's kernels, by file ending."""
    found: dict[str, dict[bytes, Path]] = {"cl": {}, "comp": {}}
    for number, case in enumerate(c for c in all_cases() if c.op == op and c.place != "cpu"):
        place = folder / str(number)
        outcome = quadra.run(case.model(), **options(target, backend="null", precision=precision, dump_dir=str(place)))
        assert not outcome.error, outcome.error
        names = {end: sorted(p.stem for p in place.glob(f"partition_*/kernels/*.{end}")) for end in found}
        assert names["cl"] or case.place == "any", f"{case.id} has no kernels"
        assert names["cl"] == names["comp"] or target in CPUS, f"{case.id}: {names}"
        for end, texts in found.items():
            for path in place.glob(f"partition_*/kernels/*.{end}"):
                texts.setdefault(hashlib.sha256(path.read_bytes()).digest(), path)
    return {end: list(texts.values()) for end, texts in found.items()}


@pytest.mark.parametrize(("target", "precision"), RUNS)
@pytest.mark.parametrize("op", OPS)
def test_every_kernel_compiles(quadra, tmp_path, op, target, precision):
    clang = shutil.which("clang") or shutil.which("clang-15")  # PoCL comes with it
    texts = dumped(quadra, tmp_path, op, target, precision)
    if target not in CPUS:
        done = shell.run(["glslangValidator", "-S", "comp", *texts["comp"]], timeout_s=120, check=False)
        assert done.returncode == 0, done.stdout
    if not clang:
        pytest.skip("the OpenCL form was not tried: there is no clang or clang-15 in PATH")
    done = shell.run([clang, "-x", "cl", "-cl-std=CL1.2", "-target", "spir64", "-fsyntax-only", "-Werror", "-Xclang",
                      "-finclude-default-header", "-Xclang", "-fdeclare-opencl-builtins", *texts["cl"]],
                     timeout_s=120, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", sorted((settings.ROOT / "delegate_native/ops").glob("**/*.cc")), ids=lambda p: p.name)
def test_kernel_bodies_have_no_language_words(path):
    """Bodies are the string literals of op files."""
    literals = re.findall(r'R"(\w*)\((.*?)\)\1"|"((?:[^"\\\n]|\\.)*)"', path.read_text(), re.DOTALL)
    found = {match.group() for _, raw, plain in literals for match in _LANGUAGE_WORDS.finditer(raw or plain)}
    assert not found
