"""The table of compilers: one row each."""

from __future__ import annotations

from host_tools.drivers import angle_compiler, clang, glslang, rows, wheel_compilers
from host_tools.drivers.compiler import Compiler

COMPILERS = (
    clang.PEDANTIC,
    clang.UNOPTIMISED,
    wheel_compilers.POCL_1_2,
    wheel_compilers.CLSPV,
    glslang.GLSLANG,
    angle_compiler.ANGLE_GLSL,
)


def find(name: str) -> Compiler:
    """The row of this name. Misuse: there is none."""
    return rows.find("compiler", COMPILERS, name)
