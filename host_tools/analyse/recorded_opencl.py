"""Calls of OpenCL that a program was seen to make (host_tools/android_on_host/pretended_opencl), as launches of kernels and memory."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from host_tools.analyse import opencl_text, recorded_lines
from host_tools.analyse.figures import Launch, Memory
from host_tools.analyse.recorded_lines import whole_number
from host_tools.record.checked_plan import Dispatch

# Of no consequence for another compiler, or of ill: with -cl-fast-relaxed-math Mesa does not fuse products and sums.
_LEFT_OUT = re.compile(r"-cl-fast-relaxed-math\b|-qcom\S*")
_DRIVERS_CHOICE = 64  # of a group, where the program leaves it to the driver: a wave along x
_MOST_ITEMS = 1 << 32


@dataclass(frozen=True)
class _Object:
    """Memory. of: the object whose memory it is; empty: its own. is_filled: the program gave its content."""

    bytes: int
    is_filled: bool = False
    of: str = ""


@dataclass
class _Kernel:
    program: str
    name: str
    given: dict[int, bytes] = field(default_factory=dict)  # arguments that are numbers
    objects: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Recording:
    """refused: what the program asked for and did not get, each once."""

    launches: list[Launch]
    memory: Memory | None
    refused: list[str]


class _Reader:
    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.options: dict[str, str] = {}
        self.kernels: dict[str, _Kernel] = {}
        self.objects: dict[str, _Object] = {}
        self.used: set[str] = set()  # objects that are arguments of a launch
        self.of_host: set[str] = set()  # objects that are copied, as a whole, from the host or to it
        self.launches: list[Launch] = []
        self.refused: dict[str, None] = {}

    def line(self, words: list[str]) -> None:
        """Of anything but a program. KeyError, ValueError: it is not of the form."""
        kinds: dict[str, Callable[..., None]] = {
            "build": self._build,
            "kernel": self._kernel,
            "buffer": self._buffer,
            "part": self._part,
            "image": self._image,
            "arg": self._arg,
            "launch": self._launch,
            "host": self._host,
            "release": lambda _: None,  # objects that a kernel was given stay as long as it
            "unknown": lambda *asked: self.refused.setdefault(" ".join(asked)),
            "refused": lambda *asked: self.refused.setdefault(" ".join(asked)),
        }
        try:
            kinds[words[0]](*words[1:])
        except (TypeError, IndexError) as error:
            raise ValueError(words) from error

    def _build(self, program: str, *options: str) -> None:
        self.texts[program]  # else it is unknown
        self.options[program] = " ".join(_LEFT_OUT.sub("", " ".join(options)).split())

    def _kernel(self, number: str, program: str, name: str) -> None:
        self.texts[program]
        self.kernels[number] = _Kernel(program, name)

    def _buffer(self, number: str, size: str, filled: str) -> None:
        self.objects[number] = _Object(whole_number(size), filled == "1")

    def _part(self, number: str, of: str, size: str) -> None:
        self.objects[number] = _Object(whole_number(size), of=self._whole(of))

    def _image(self, number: str, size: str, filled: str, of: str, *shape: str) -> None:
        if len(shape) != 5:
            raise ValueError(shape)
        self.objects[number] = _Object(whole_number(size), filled == "1", "" if of == "0" else self._whole(of))

    def _host(self, number: str) -> None:
        self.objects[number]
        self.of_host.add(number)

    def _whole(self, number: str) -> str:
        return self.objects[number].of or number

    def _arg(self, kernel: str, index: str, kind: str, value: str = "") -> None:
        found, at = self.kernels[kernel], whole_number(index)
        if kind == "object":
            found.objects[at] = value
        elif kind == "bytes":
            found.given[at] = bytes.fromhex(value)
        elif kind != "local":
            raise ValueError(kind)

    def _launch(self, kernel: str, *sizes: str) -> None:
        items, group = (
            [whole_number(one, _MOST_ITEMS) for one in sizes[:3]],
            [whole_number(one, _MOST_ITEMS) for one in sizes[3:]],
        )
        if len(items) != 3 or len(group) != 3 or 0 in items:
            raise ValueError(sizes)
        group = group if all(group) else [_DRIVERS_CHOICE, 1, 1]
        whole = [-(-count // size) * size for count, size in zip(items, group)]
        run = self.kernels[kernel]
        text = f"//{self.options.get(run.program, '')}\n{self.texts[run.program]}"
        name = f"{len(self.launches):03d}_{run.name}_{run.program}"
        dispatch = Dispatch(name, run.name, 0, f"{run.name}_{run.program}", [], whole, group, [])
        self.launches.append(Launch(text, dispatch, opencl_text.arguments(text, run.given)))
        self.used |= set(run.objects.values())


def read(calls: bytes) -> Recording:
    """RunFailed: a line is not of the form."""
    reader = _Reader()

    def program(number: str, text: bytes) -> None:
        reader.texts[number] = text.decode("utf-8", "replace")

    recorded_lines.read("OpenCL", calls, reader.line, {"program": program})
    return Recording(reader.launches, _memory(reader), list(reader.refused))


def _memory(reader: _Reader) -> Memory:
    """Of the objects that kernels were given, each once, with those whose memory they are; without inputs and outputs."""
    wholes = {reader.objects[one].of or one for one in reader.used if one in reader.objects}
    sizes = {True: 0, False: 0}
    for one in wholes - reader.of_host:
        sizes[reader.objects[one].is_filled] += reader.objects[one].bytes
    return Memory(sizes[False], sizes[True])
