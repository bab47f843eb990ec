"""Calls of Vulkan that a program was seen to make (host_tools/android_on_host/pretended_vulkan), as launches of kernels and memory."""

from collections.abc import Callable
from dataclasses import dataclass, field

from host_tools.analyse import recorded_lines, spirv
from host_tools.analyse.figures import Launch, Memory
from host_tools.analyse.recorded_lines import whole_number
from host_tools.analyse.recorded_opencl import Recording
from host_tools.base.errors import RunFailed
from host_tools.record.checked_plan import Dispatch

_STORAGE_IMAGE, _UNIFORM = 3, 6  # VkDescriptorType
_MOST_GROUPS = 1 << 32


@dataclass(frozen=True)
class _Bound:
    """A buffer or an image that a kernel was given."""

    kind: str
    type: int
    object: str
    at: int = 0


@dataclass(frozen=True)
class _Run:
    pipeline: str
    bound: dict[int, _Bound]
    groups: tuple[int, ...]


@dataclass
class _Reader:
    shaders: dict[str, bytes] = field(default_factory=dict)
    pipelines: dict[str, tuple[str, str]] = field(default_factory=dict)  # shader, entry
    sizes: dict[tuple[str, str], int] = field(default_factory=dict)  # bytes of objects, by kind and number
    sets: dict[str, dict[int, _Bound]] = field(default_factory=dict)
    numbers: dict[str, bytes] = field(default_factory=dict)  # contents of buffers
    runs: list[_Run] = field(default_factory=list)
    pipeline: str = ""
    bound: dict[int, _Bound] = field(default_factory=dict)

    def line(self, words: list[str]) -> None:
        """Of anything without bytes behind it. KeyError, ValueError: it is not of the form."""
        kinds: dict[str, Callable[..., None]] = {
            "pipeline": self._pipeline,
            "buffer": lambda number, size: self.sizes.update({("buffer", number): whole_number(size)}),
            "image": lambda number, size: self.sizes.update({("image", number): whole_number(size)}),
            "set": self._set,
            "run": self._run,
            "bind": self._bind,
            "dispatch": self._dispatch,
            "mark": self.runs.clear,  # what was before is not looked at
        }
        try:
            kinds[words[0]](*words[1:])
        except (TypeError, IndexError) as error:
            raise ValueError(words) from error

    def _pipeline(self, number: str, shader: str, entry: str) -> None:
        self.shaders[shader]  # else it is unknown
        self.pipelines[number] = (shader, entry)

    def _set(self, number: str, binding: str, kind: str, what: str, one: str, at: str = "0") -> None:
        found = _Bound(what, whole_number(kind, 64), one, whole_number(at))
        self.sets.setdefault(number, {})[whole_number(binding, 1 << 16)] = found

    def _run(self, pipeline: str) -> None:
        self.pipelines[pipeline]
        self.pipeline = pipeline

    def _bind(self, index: str, number: str, *offsets: str) -> None:
        if index != "0" or offsets:
            raise ValueError("one set, without offsets of its own, is what is known of this program")
        self.bound = dict(self.sets.get(number, {}))

    def _dispatch(self, *groups: str) -> None:
        if len(groups) != 3 or not self.pipeline:
            raise ValueError(groups)
        self.runs.append(_Run(self.pipeline, self.bound, tuple(whole_number(one, _MOST_GROUPS) for one in groups)))


def read(calls: bytes) -> Recording:
    """RunFailed: a line is not of the form."""
    reader = _Reader()
    with_bytes = {"shader": reader.shaders.__setitem__, "uniforms": reader.numbers.__setitem__}
    recorded_lines.read("Vulkan", calls, reader.line, with_bytes)
    try:
        texts = {
            number: spirv.as_text(reader.shaders[shader], entry) for number, (shader, entry) in reader.pipelines.items()
        }
        launches = [_launch(i, run, texts[run.pipeline], reader) for i, run in enumerate(reader.runs)]
    except (ValueError, KeyError, IndexError, TypeError) as error:
        came_back = f"a kernel's SPIR-V is damaged: {error}"
        raise RunFailed("read recorded calls of Vulkan", came_back, "record them again") from error
    return Recording(launches, _memory(reader), [])


def _launch(number: int, run: _Run, text: str, reader: _Reader) -> Launch:
    group = spirv.of_text(text).group
    items = [count * size for count, size in zip(run.groups, group)]
    name = f"kernel_{run.pipeline}"
    numbers = {
        str(binding): reader.numbers.get(one.object, b"")[one.at :]
        for binding, one in run.bound.items()
        if one.type == _UNIFORM
    }
    return Launch(text, Dispatch(f"{number:03d}_{name}", "", 0, name, [], items, list(group), []), numbers)


def _memory(reader: _Reader) -> Memory:
    """Of what kernels were given: what a kernel writes lies between kernels, other objects are weights."""
    given = {(one.kind, one.object): one.type for run in reader.runs for one in run.bound.values()}
    written = {
        (one.kind, one.object) for run in reader.runs for one in run.bound.values() if one.type == _STORAGE_IMAGE
    }
    sizes = {True: 0, False: 0}
    for one, kind in given.items():
        if kind != _UNIFORM:
            sizes[one in written] += reader.sizes.get(one, 0)
    return Memory(sizes[True], sizes[False])
