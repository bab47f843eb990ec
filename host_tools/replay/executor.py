"""What runs a plan's dispatches: a class per API, with the same words."""

import re
from typing import Protocol

import numpy as np

from host_tools.base.errors import Misuse, RunFailed
from host_tools.base.units import size_text
from host_tools.record.checked_plan import Plan, Tensor, buffer_bytes

_GIVE_UP = "replay it on a machine whose driver has it"


class Executor(Protocol):
    """A plan on a device: memory made and filled, programs compiled, arguments set."""

    device: str  # its words
    notes: list[str]  # where it does otherwise than the delegate's runtime

    def write(self, tensor: Tensor, numbers: np.ndarray) -> None:
        """A dense tensor's numbers, as many bytes as it has."""

    def run(self, dispatch: int) -> None:
        """Launches one and waits for its end."""

    def run_timed(self) -> list[float]:
        """Launches all; the microseconds of each."""

    def read(self, tensor: Tensor) -> np.ndarray:
        """Its numbers, [b, h, w, c]."""


def check_memory(plan: Plan, largest: int, total: int) -> None:
    """RunFailed where a device of these limits, in bytes, cannot hold the plan's buffers."""
    for index, buffer in enumerate(plan.buffers):
        size = buffer_bytes([buffer])
        if size > largest:
            raise lacks(f"make buffer {index} of {size_text(size)}", f"the device allows {size_text(largest)}")
    check_size(buffer_bytes(plan.buffers), total)


def check_size(size: int, total: int) -> None:
    """RunFailed where a device of `total` bytes cannot hold so many."""
    if size > total:
        raise lacks(f"make buffers of {size_text(size)}", f"the device has {size_text(total)}")


def check_extensions(plan: Plan, pattern: str, known: str) -> None:
    """RunFailed where a program asks for an extension that is not among the words of `known`."""
    texts = [program.prelude + "".join(k.source for k in program.kernels) for program in plan.programs]
    asked = {word for text in texts for word in re.findall(pattern, text)}
    missing = sorted(asked - set(known.split()))
    if missing:
        raise lacks("compile its kernels", f"they need {', '.join(missing)}, which this machine's driver does not have")


def lacks(tried: str, came_back: str) -> RunFailed:
    return RunFailed(f"replay the plan: {tried}", came_back, _GIVE_UP)


def as_stored(tensor: Tensor, numbers: np.ndarray, what: str) -> np.ndarray:
    """Numbers of an input as its memory has them, flat. Misuse: there are too many or too few."""
    if numbers.dtype == np.int64:  # two ints each, or the nearest one, by what comes of them
        of_words = 2 * numbers.size == tensor.count
        ends = np.iinfo(np.int32)
        numbers = np.ascontiguousarray(numbers).view(np.int32) if of_words else numbers.clip(ends.min, ends.max)
    if numbers.size != tensor.count:
        found = f"it has {numbers.size} numbers, the plan takes {'×'.join(map(str, tensor.shape))}"
        raise Misuse(f"give the plan {what}", found, "give an array of that size")
    return np.ascontiguousarray(numbers.ravel(), tensor.dtype)
