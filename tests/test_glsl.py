"""Kernels have a twin for OpenGL ES: the .comp form of every kernel of every vector compiles."""

from __future__ import annotations

import hashlib
import re

import pytest

from host_tools import settings, shell
from tests.delegate import options
from tests.vectors import all_cases

OPS = sorted({case.op for case in all_cases() if case.place != "cpu"})
_LANGUAGE_WORDS = re.compile(
    r"\b(__?(global|local|constant|private|kernel)|gl_\w+|image2d_t|get_(global|local|group)_(id|size)|vload\w*|"
    r"vstore\w*|read_image\w*|write_image\w*|float4|int4|int2|half4|imageLoad|imageStore|barrier)\b")


@pytest.mark.parametrize("target", ["adreno-640", "mali-g76", "generic"])
@pytest.mark.parametrize("op", OPS)
def test_every_kernel_compiles_as_compute_shader(quadra, tmp_path, op, target):
    shaders = {}
    for number, case in enumerate(c for c in all_cases() if c.op == op and c.place != "cpu"):
        folder = tmp_path / str(number)
        folder.mkdir()
        outcome = quadra.run(case.model(), **options(target, backend="null", dump_dir=str(folder)))
        assert not outcome.error, outcome.error
        sources, twins = (sorted(p.stem for p in folder.glob(f"partition_*/kernels/*.{end}")) for end in ("cl", "comp"))
        assert sources == twins and (sources or case.place == "any"), f"{case.id}: {sources} but {twins}"
        for path in folder.glob("partition_*/kernels/*.comp"):
            shaders.setdefault(hashlib.sha256(path.read_bytes()).digest(), path)
    done = shell.run(["glslangValidator", "-S", "comp", *shaders.values()], timeout_s=120, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", sorted((settings.ROOT / "delegate_native/ops").glob("**/*.cc")), ids=lambda p: p.name)
def test_kernel_bodies_have_no_language_words(path):
    """Bodies are the string literals of op files."""
    literals = re.findall(r'R"(\w*)\((.*?)\)\1"|"((?:[^"\\\n]|\\.)*)"', path.read_text(), re.DOTALL)
    found = {match.group() for _, raw, plain in literals for match in _LANGUAGE_WORDS.finditer(raw or plain)}
    assert not found
