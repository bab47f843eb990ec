"""What the device's services report and faults may change: heat, battery, the screen, settings."""

import threading
import time
from dataclasses import dataclass, field

SEVERE = 3
_COOL_C, _HOT_C = 31.0, 48.5


class Thermal:
    """Cool (status 0) unless heated. The sensors follow the state."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._status = 0
        self._until: float | None = None
        self._cleared: threading.Event | None = None
        self.overridden = False

    def heat(self, seconds: float | None = None, cleared: threading.Event | None = None) -> None:
        """Hot for so long, or until `cleared` is set."""
        with self._lock:
            self._status, self._cleared = SEVERE, cleared
            self._until = None if seconds is None else time.monotonic() + seconds

    def set(self, status: int | None) -> None:
        """As `cmd thermalservice override-status`; None takes that back."""
        with self._lock:
            self._status, self._until, self._cleared = status or 0, None, None
            self.overridden = status is not None

    @property
    def status(self) -> int:
        """0 none, 1 light, 2 moderate, 3 severe, 4 critical, 5 emergency, 6 shutdown."""
        with self._lock:
            over = self._until is not None and time.monotonic() >= self._until
            if over or (self._cleared is not None and self._cleared.is_set()):
                self._status, self._until, self._cleared = 0, None, None
            return self._status

    @property
    def skin_c(self) -> float:
        return _HOT_C if self.status else _COOL_C


@dataclass
class Battery:
    level: int = 87
    plugged_usb: bool = True
    status: int = 2  # charging
    temperature_c: float = 28.5


def _settings() -> dict[str, dict[str, str]]:
    return {
        "global": {"adb_enabled": "1", "airplane_mode_on": "0", "stay_on_while_plugged_in": "0"},
        "system": {"screen_brightness": "102", "screen_off_timeout": "60000"},
        "secure": {"android_id": "0123456789abcdef"},
    }


@dataclass
class State:
    thermal: Thermal = field(default_factory=Thermal)
    battery: Battery = field(default_factory=Battery)
    awake: bool = True
    settings: dict[str, dict[str, str]] = field(default_factory=_settings)
