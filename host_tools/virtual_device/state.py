"""What the device's services report and commands change: heat, battery, the screen, settings."""

from dataclasses import dataclass, field

SEVERE = 3
_COOL_C, _HOT_C = 31.0, 48.5


def _settings() -> dict[str, dict[str, str]]:
    return {
        "global": {"adb_enabled": "1", "airplane_mode_on": "0", "stay_on_while_plugged_in": "0"},
        "system": {"screen_brightness": "102", "screen_off_timeout": "60000"},
        "secure": {"android_id": "0123456789abcdef"},
    }


@dataclass
class State:
    thermal_override: int | None = None  # a status, as `cmd thermalservice override-status` sets it
    battery_percent: int = 87
    battery_c: float = 28.5
    awake: bool = True
    settings: dict[str, dict[str, str]] = field(default_factory=_settings)


def skin_c(thermal_status: int) -> float:
    """What the sensor at the skin shows: sensors follow the state, in degrees Celsius."""
    return _HOT_C if thermal_status else _COOL_C
