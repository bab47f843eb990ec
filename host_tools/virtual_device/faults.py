"""What can go wrong on a virtual device, where, and how it is asked for.

A fault is `STEP:KIND[=VALUE][@N][xTIMES]`: at the Nth time that STEP is met from now on (default: the first), and
TIMES times in a row (`x*`: until it is cleared). STEP may end in `*`. STEPS and KINDS are all there is;
`inv device faults` prints them.
"""

import fnmatch
import re
import threading
from dataclasses import dataclass, field

from host_tools.base.errors import Misuse
from host_tools.base.units import counted


class Dropped(Exception):
    """The connection is to end without a word. `died`: the device has no time to clean up behind itself."""

    def __init__(self, text: str, died: bool = False) -> None:
        super().__init__(text)
        self.died = died


@dataclass(frozen=True)
class Kind:
    text: str
    value: str = ""  # what VALUE means; "" takes none
    lasting: bool = False  # goes on until it is cleared, unless TIMES says otherwise


ANYWHERE = ("stall", "drop", "offline", "unauthorized", "reboot", "hot")

KINDS: dict[str, Kind] = {
    "stall": Kind("it hangs for ever, or for VALUE seconds", "seconds"),
    "drop": Kind("the connection ends, as when a cable is pulled"),
    "offline": Kind("the connection ends; new ones get no answer, for VALUE seconds or until cleared", "seconds", True),
    "unauthorized": Kind(
        "the connection ends; new ones wait for approval, for VALUE seconds or until cleared", "seconds", True
    ),
    "reboot": Kind("the device starts again: all connections end, it is away for VALUE seconds", "seconds"),
    "hot": Kind("the thermal service reports a severe state, for VALUE seconds or until cleared", "seconds", True),
    "truncate": Kind("part of the data is missing, without an error"),
    "corrupt": Kind("one bit of the data is flipped"),
    "wrong_size": Kind("the announced size is not the size of the data"),
    "full": Kind("no space is left on the device", lasting=True),
    "refuse": Kind("the request fails with a device error"),
    "hostile": Kind("a malicious reply; VALUE picks one of several", "number"),
    "split": Kind("the first bytes arrive one by one"),
    "crash": Kind("the process that serves this dies"),
    "anr": Kind("the app stops responding; the system ends it after VALUE seconds (2)", "seconds"),
    "uninstall": Kind("the app is uninstalled meanwhile"),
    "slow": Kind("every kernel takes VALUE times as long (1.1)", "factor", True),
    "wrong_kernel": Kind("a kernel stores VALUE times the value it computes (1.25)", "factor", True),
}

# What is met where; all of ANYWHERE is possible at every step.
STEPS: dict[str, tuple[str, tuple[str, ...]]] = {
    "connect": ("a host has said CNXN", ("hostile",)),
    "auth": ("before a host is let in", ()),
    "message": ("a host's message has arrived", ("corrupt", "hostile", "split")),
    "open.shell": ("a shell or a command is requested", ("refuse", "hostile")),
    "open.exec": ("exec: is requested", ("refuse", "hostile")),
    "open.sync": ("sync: is requested", ("refuse", "hostile")),
    "open.reboot": ("reboot: is requested", ("refuse",)),
    "shell.output": ("a command writes", ("truncate", "corrupt", "hostile", "split")),
    "shell.exit": ("a command ends", ("truncate", "hostile", "crash")),
    "sync.stat": ("a file's status is requested", ("truncate", "wrong_size", "hostile", "refuse", "split")),
    "sync.list": ("before each name of a folder", ("truncate", "hostile", "refuse", "split")),
    "sync.send": ("before a file is received", ("refuse", "full", "hostile")),
    "sync.send.data": ("each piece of it", ("truncate", "corrupt", "full", "refuse", "crash")),
    "sync.send.done": ("all of it has arrived", ("truncate", "corrupt", "refuse", "hostile", "crash")),
    "sync.recv": ("before a file is sent", ("refuse", "hostile")),
    "sync.recv.data": ("each piece of it", ("truncate", "corrupt", "wrong_size", "refuse", "hostile", "split")),
    "files.write": ("a command writes to a file", ("full",)),
    "install": ("before a package is installed", ("refuse", "full", "hostile", "crash")),
    "instrument": ("am instrument begins", ("refuse", "hostile", "crash", "uninstall")),
    "app.start": ("the app's process starts", ("crash", "anr", "uninstall")),
    "app.run": ("the app works", ("crash", "anr", "uninstall", "full", "slow", "wrong_kernel")),
}

# What is really wrong with the GPU: the variable that android_on_host/bionic reads, and its usual value.
_PLANTED = {"slow": ("BIONIC_GPU_SLOW", 1.1), "wrong_kernel": ("BIONIC_GPU_WRONG", 1.25)}
_SPLIT = 200

_FORM = re.compile(r"([a-z_.]+\*?|\*):([a-z_]+)(?:=([^@x]+))?(?:@([0-9]+))?(?:x([0-9]+|\*))?")


@dataclass(eq=False)
class Fault:
    step: str
    kind: str
    value: float | None
    nth: int
    times: int | None  # None: until it is cleared
    met: int = 0  # how often its step was met
    done: int = 0  # how often it happened
    cleared: threading.Event = field(default_factory=threading.Event)

    def __str__(self) -> str:
        value = "" if self.value is None else f"={self.value:g}"
        times = "*" if self.times is None else str(self.times)
        return f"{self.step}:{self.kind}{value}@{self.nth}x{times}"

    def sentence(self) -> str:
        """When it happens, what, and how often it has: for people."""
        where = f"{self.step} ({STEPS[self.step][0]})" if self.step in STEPS else self.step
        so_far = f"met {counted(self.met, 'time')} so far, happened {counted(self.done, 'time')}"
        return f"{self}: {self._when(where)}, {_happens(self.kind, self.value)}; {so_far}"

    def _when(self, where: str) -> str:
        if self.times is not None and self.done >= self.times:
            return f"no more at {where}"
        left, more = self.nth - self.met, "until it is cleared"
        if self.times is not None:
            more = f"{self.times - self.done} times in a row"
        if self.times == 1:
            return f"the {left}. time from now at {where}" if left > 1 else f"the next time at {where}"
        return f"{f'from the {left}. time' if left > 1 else 'from the next time'} at {where}, {more}"

    def due(self, step: str) -> bool:
        """Counts that `step` was met; whether the fault happens now."""
        if not fnmatch.fnmatchcase(step, self.step) or self.cleared.is_set():
            return False
        self.met += 1
        if self.met < self.nth or (self.times is not None and self.done >= self.times):
            return False
        self.done += 1
        return True


def _happens(kind: str, value: float | None) -> str:
    """The kind's words with its value, given or usual; without those about a value where there is none."""
    words = KINDS[kind].text
    usual = re.search(r" \(([0-9.]+)\)$", words)
    told = f"{value:g}" if value is not None else usual[1] if usual else ""
    words = words[: usual.start()] if usual else words
    if not told:
        words = words.replace(", or for VALUE seconds", "").replace(", for VALUE seconds or", "")
        return words.replace("for VALUE seconds", "for a while").replace("; VALUE picks one of several", "")
    words = words.replace("for ever, or ", "").replace(" or until cleared", "")
    return words.replace("; VALUE picks one of several", ", number VALUE").replace("VALUE", told)


def parse(text: str) -> Fault:
    """A fault as asked for; Misuse says what is wrong with it."""
    tried = f"read the fault {text!r}"
    match = _FORM.fullmatch(text)
    if not match:
        form = "STEP:KIND[=VALUE][@N][xTIMES]"
        raise Misuse(tried, f"it is not of the form {form}", "`./inv device faults` lists steps and kinds")
    step, kind, value, nth, times = match.groups()
    steps = fnmatch.filter(STEPS, step)
    if not steps:
        raise Misuse(tried, f"there is no step {step!r}", f"steps: {', '.join(STEPS)}")
    possible = dict.fromkeys(k for s in steps for k in (*ANYWHERE, *STEPS[s][1]))
    if kind not in possible:
        raise Misuse(tried, f"{kind!r} cannot happen at {step}", f"kinds there: {', '.join(possible)}")
    if times is None:
        count = None if KINDS[kind].lasting else 1
    else:
        count = None if times == "*" else int(times)
    return Fault(step, kind, _value(tried, kind, value), max(1, int(nth or 1)), count)


def _value(tried: str, kind: str, text: str | None) -> float | None:
    if text is None:
        return None
    if not KINDS[kind].value:
        raise Misuse(tried, f"{kind} takes no value", f"leave ={text} out")
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e6:
        raise Misuse(tried, f"{text!r} is not a number of {KINDS[kind].value}", f"for example {kind}=2")
    return value


class Faults:
    """The faults of one device. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._faults: list[Fault] = []

    def add(self, text: str) -> Fault:
        fault = parse(text)
        with self._lock:
            self._faults.append(fault)
        return fault

    def clear(self, only: Fault | None = None) -> None:
        """Takes away one fault, all by default; what they hold up goes on."""
        with self._lock:
            gone = [fault for fault in self._faults if only in (None, fault)]
            self._faults = [fault for fault in self._faults if fault not in gone]
        for fault in gone:
            fault.cleared.set()

    def due(self, step: str) -> Fault | None:
        """Counts that `step` was met; the fault that happens now, if any."""
        with self._lock:
            hits = [fault for fault in self._faults if fault.due(step)]
        return hits[0] if hits else None

    def lasting(self, kind: str) -> Fault | None:
        """The fault of this kind that has begun and goes on until it is cleared."""
        with self._lock:
            found = [f for f in self._faults if f.kind == kind and f.done and f.times is None]
        return found[0] if found else None

    def all(self) -> list[Fault]:
        with self._lock:
            return list(self._faults)


def planted(fault: Fault) -> dict[str, str]:
    """The environment of a process in which this fault is to happen; empty for those that are no fault of the GPU."""
    if fault.kind not in _PLANTED:
        return {}
    variable, value = _PLANTED[fault.kind]
    return {variable: f"{fault.value or value:g}"}


def flipped(data: bytes) -> bytes:
    """With one bit of the byte in the middle wrong."""
    middle = len(data) // 2
    return data[:middle] + bytes(byte ^ 1 for byte in data[middle : middle + 1]) + data[middle + 1 :]


def split(data: bytes) -> list[bytes]:
    """The first bytes one by one, then the rest."""
    singly = min(len(data), _SPLIT)
    return [data[i : i + 1] for i in range(singly)] + ([data[singly:]] if len(data) > singly else [])


def table() -> list[tuple[str, str, str]]:
    """Step, when it is met, kinds: for people."""
    return [(step, when, ", ".join(kinds)) for step, (when, kinds) in STEPS.items()]
