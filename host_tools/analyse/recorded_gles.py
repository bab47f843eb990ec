"""Calls of OpenGL ES that a program was seen to make (host_tools/android_on_host/bionic/gles.c), as launches of kernels."""

import re
from collections import defaultdict
from dataclasses import dataclass, field

from host_tools.analyse import recorded_lines
from host_tools.analyse.figures import Launch
from host_tools.record.checked_plan import Dispatch


@dataclass
class _Program:
    """What is known of one so far. numbers: of its uniforms, whole ones, by name, a vector's with its letter."""

    text: str = ""
    names: dict[str, str] = field(default_factory=dict)  # of uniforms, by location
    numbers: dict[str, int] = field(default_factory=dict)


def launches(calls: bytes) -> list[Launch]:
    """In order, each with the numbers that its uniforms then had. RunFailed: a line is not of the form."""
    found: list[Launch] = []
    texts: dict[str, str] = {}
    programs: dict[str, _Program] = defaultdict(_Program)

    def source(shader: str, text: bytes) -> None:
        texts[shader] = text.decode("utf-8", "replace")

    def line(words: list[str]) -> None:
        match words:
            case ["attach", program, shader]:
                programs[program] = _Program(texts.get(shader, ""))
            case ["location", program, location, name]:
                programs[program].names[location] = name
            case ["uniform", program, location, *numbers] if all(map(_is_number, numbers)):
                _set(programs[program], location, [int(one) for one in numbers])
            case ["dispatch", program, *groups] if len(groups) == 3 and all(map(str.isdecimal, groups)):
                found.append(_launch(len(found), program, programs[program], [int(one) for one in groups]))
            case _:
                raise ValueError(words)

    recorded_lines.read("OpenGL ES", calls, line, {"source": source})
    return found


def _is_number(word: str) -> bool:
    return word.removeprefix("-").isdecimal()


def _set(program: _Program, location: str, numbers: list[int]) -> None:
    name = program.names.get(location)
    if name and location != "-1":  # else the compiler found no use for it
        names = [name] if len(numbers) == 1 else [f"{name}.{letter}" for letter in "xyzw"]
        program.numbers |= dict(zip(names, numbers))


def _launch(number: int, name: str, program: _Program, groups: list[int]) -> Launch:
    local = []
    for letter in "xyz":
        size = re.search(rf"\blocal_size_{letter}\s*=\s*(\d+)", program.text)
        local.append(int(size[1]) if size else 1)
    items = [count * size for count, size in zip(groups, local)]
    dispatch = Dispatch(f"{number:03d}_program_{name}", "", 0, f"program_{name}", [], items, local, [])
    return Launch(program.text, dispatch, dict(program.numbers))
