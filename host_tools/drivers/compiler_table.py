"""The table of compilers: one row each."""

from __future__ import annotations

from host_tools.base.close_names import did_you_mean
from host_tools.base.errors import Misuse
from host_tools.drivers import angle_compiler, clang, glslang, wheel_compilers
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
    for compiler in COMPILERS:
        if compiler.name == name:
            return compiler
    names = [compiler.name for compiler in COMPILERS]
    do_next = did_you_mean(name, names, f"there are {', '.join(names)}")
    raise Misuse(f"find the compiler {name}", "no row has this name", do_next)
