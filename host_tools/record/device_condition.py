"""What a run's environment.json says of the device: who it is, how hot it was, what went wrong on the way."""

from dataclasses import dataclass

from rich.console import Console
from rich.markup import escape

from host_tools.record import schema
from host_tools.record.run_folder import RunFolder

FROM_SHELL = "from the shell, by the native runner: these times are never pooled with an app's"
THROTTLED = "It throttled while it was measured: the times are those of a hot device."


def label(device: schema.Device) -> str:
    """A device of environment.json in few words: Google Pixel 8, Android 15."""
    name = " ".join(filter(None, (device.manufacturer, device.model))) or device.serial
    return f"{name}, Android {device.release}" if device.release else name


def heat(thermal: schema.Thermal) -> str:
    """How hot a device was while it was measured: none → light, 31 to 34 °C (skin); empty where it did not run on one."""
    if thermal.readings is None:
        return ""
    statuses = list(dict.fromkeys((thermal.before, thermal.after)))
    words = [" → ".join(statuses)]
    for kind in ("skin", "gpu", "cpu", "battery"):
        degrees = [row.temperatures[kind] for row in thermal.readings if kind in row.temperatures]
        if degrees:
            low, high = f"{min(degrees):.0f}", f"{max(degrees):.0f}"
            words.append(f"{low} to {high} °C ({kind})" if low != high else f"{low} °C ({kind})")
            break
    return ", ".join(words)


@dataclass(frozen=True)
class Account:
    """The device that ran a model, in words."""

    serial: str
    name: str  # with its Android
    details: str
    heat: str
    waited_s: float
    throttled: bool
    route: str  # what its times are, where no app ran the model; else empty
    events: tuple[tuple[str, str], ...]  # what went wrong on the way and was made good: what was done, what came back


def of(folder: RunFolder) -> Account | None:
    """None where a model did not run on a device, or nothing is known of it."""
    environment = folder.optional(schema.Environment)
    if not environment or not environment.device.serial:
        return None
    device, thermal = environment.device, environment.thermal
    details = [str(word) for word in (device.soc, device.build, device.fingerprint, device.kernel) if word]
    if device.page_bytes:
        details.append(f"pages of {device.page_bytes} bytes")
    return Account(
        device.serial,
        label(device),
        ", ".join(details),
        heat(thermal),
        thermal.waited_s,
        thermal.throttled,
        FROM_SHELL if environment.route == "shell" else "",
        tuple((event.step, f"{event.error}: {event.text}") for event in environment.device_events),
    )


def show(folder: RunFolder, console: Console) -> None:
    """Which device, how hot it was, and what went wrong on the way; nothing where it did not run on one."""
    found = of(folder)
    if not found:
        return
    console.print(f"  on {escape(found.serial)}, {escape(found.name)}")
    if found.route:
        console.print(f"  {found.route}")
    waited = f"; waited {found.waited_s:.0f} s until it was cool" if found.waited_s >= 1 else ""
    console.print(f"  thermal status {escape(found.heat or 'unknown')}{waited}")
    if found.throttled:
        console.print(f"  [red]{THROTTLED}[/]")
    for step, text in found.events:
        console.print(f"  [yellow]{escape(step)}[/]: {escape(text)}")
