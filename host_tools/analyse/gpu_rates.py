"""How fast phones' GPUs are, by published numbers: rates/NAME.json has them, each with its source."""

from pathlib import Path

import msgspec

from host_tools.analyse.phone_gpus import Gpu

FILES = Path(__file__).with_name("rates")


class Number(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A published number. least, most: what other sources say, where they contradict this one."""

    value: float
    source: str
    note: str = ""
    least: float | None = None
    most: float | None = None

    @property
    def range(self) -> tuple[float, ...]:
        """All that is published, without repetition."""
        ends = (self.value, self.least, self.most)
        return tuple(dict.fromkeys(end for end in ends if end is not None))


class Rates(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Of a whole GPU. launch_us: what a launch takes at most; None: not published."""

    name: str
    chip: str
    clock_mhz: Number
    multiply_adds_per_clock: Number
    half_multiply_adds_per_clock: Number
    bandwidth_gb_s: Number
    launch_us: Number | None


def of(gpu: Gpu) -> Rates:
    """Each GPU of phone_gpus has a file."""
    return msgspec.json.decode((FILES / f"{gpu.name}.json").read_bytes(), type=Rates)
