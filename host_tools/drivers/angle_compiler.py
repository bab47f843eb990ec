"""ANGLE's compiler of OpenGL ES shaders, without a model: it takes kernels of any target, where the driver runs those of its
own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from host_tools.drivers import angle
from host_tools.drivers.compiler import Compiler
from host_tools.drivers.library_compiler import Library


def check() -> None:
    angle.enter()


def compile_shaders(paths: Sequence[Path]) -> list[str]:
    entry = angle.enter()
    return Library("gles", Path(entry.options["egl_library"]), entry.env).compile(paths)


ANGLE_GLSL = Compiler(
    name="angle-glsl",
    language="gles",
    stands_for="the shader compiler of Android 15 and later, and its limits at linking",
    source=angle.DRIVER.source,
    check=check,
    compile=compile_shaders,
    fetch=angle.fetch,
    megabytes=angle.DRIVER.megabytes,
)
