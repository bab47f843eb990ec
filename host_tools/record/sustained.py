"""What a sustained run says: how much slower a device is at its end than at its beginning, and how hot it got meanwhile."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from host_tools.base import units
from host_tools.record import schema
from host_tools.record.run_folder import RunFolder

STAGE = "run without a pause"  # the words that the runners' stages begin with
_MOST_WINDOWS = 600  # as many as a chart can show
_SHARE = 0.1  # of the run, which counts as its beginning, and as its end


def window_s(sustained_s: int) -> float:
    """The length of a window: the runners on devices compute the same."""
    return max(1.0, sustained_s / _MOST_WINDOWS)


@dataclass(frozen=True)
class Sustained:
    """windows: seconds since the first inference, and the window. readings: seconds, and the reading; empty off devices."""

    windows: Sequence[tuple[float, schema.Window]]
    readings: Sequence[tuple[float, schema.Reading]]

    @property
    def seconds(self) -> float:
        last, window = self.windows[-1]
        return last + window.inferences * window.median_us / 1e6

    @property
    def inferences(self) -> int:
        return sum(window.inferences for _, window in self.windows)

    @property
    def first_us(self) -> float:
        """The median of the first tenth."""
        return statistics.median(window.median_us for _, window in self.windows[: self._tenth])

    @property
    def last_us(self) -> float:
        return statistics.median(window.median_us for _, window in self.windows[-self._tenth :])

    @property
    def _tenth(self) -> int:
        return max(1, round(_SHARE * len(self.windows)))

    def sentence(self) -> str:
        slower = f", {units.ratio_text(self.last_us / self.first_us)} × the time" if self.first_us else ""
        slowest = max(window.slowest_us for _, window in self.windows)
        return (
            f"{self.inferences} inferences in {self.seconds:.0f} s without a pause: median {units.ms(self.first_us)} ms in"
            f" the first tenth, {units.ms(self.last_us)} ms in the last{slower}; the slowest {units.ms(slowest)} ms"
        )

    def series(self) -> list[tuple[str, list[tuple[float, float]]]]:
        """What is known of the device over time: name with unit, and (seconds, value)."""
        known = {
            **{
                f"{name} temperature, °C": self._temperatures(name.lower())
                for name in ("skin", "GPU", "CPU", "battery")
            },
            "GPU clock, MHz": self._of(lambda one: one.gpu_mhz),
            "CPU clock, MHz": self._of(lambda one: one.cpu_mhz),
            "battery current, mA": [
                (at, one.battery_ua / 1000) for at, one in self.windows if one.battery_ua is not None
            ],
        }
        return [(name, values) for name, values in known.items() if values]

    def _temperatures(self, kind: str) -> list[tuple[float, float]]:
        return self._of(lambda one: one.temperatures.get(kind))

    def _of(self, value: Callable[[schema.Reading], float | None]) -> list[tuple[float, float]]:
        pairs = ((at, value(reading)) for at, reading in self.readings)
        return [(at, float(found)) for at, found in pairs if found is not None]


def of(folder: RunFolder) -> Sustained | None:
    """None: the run was not asked for one, or did not come that far."""
    kept = folder.optional(schema.Sustained)
    if not kept:
        return None
    first = kept.windows[0].start_ns
    windows = [((window.start_ns - first) / 1e9, window) for window in kept.windows]
    environment = folder.optional(schema.Environment)
    readings = (environment.thermal.readings if environment else None) or []
    during = [reading for reading in readings if reading.stage.startswith(STAGE)]
    return Sustained(windows, [(reading.time_s - during[0].time_s, reading) for reading in during])


def spread(values: Sequence[tuple[float, float]]) -> str:
    """From the first value to the last, and what lies outside."""
    numbers = [value for _, value in values]
    first, last, low, high = (f"{one:.0f}" for one in (numbers[0], numbers[-1], min(numbers), max(numbers)))
    words = f"{first} → {last}" if first != last else first
    outside = [word for word in dict.fromkeys((low, high)) if word not in (first, last)]
    return f"{words} ({' to '.join((low, high))})" if outside else words
