"""What a run's environment.json says of the device: who it is, how hot it was, what went wrong on the way."""

from typing import Any, Mapping

from rich.console import Console
from rich.markup import escape


def label(device: Mapping[str, Any]) -> str:
    """A device of environment.json in few words: Google Pixel 8, Android 15."""
    name = " ".join(filter(None, (device.get("manufacturer", ""), device.get("model", "")))) or device.get("serial", "")
    return f"{name}, Android {device['release']}" if device.get("release") else name

def heat(environment: Mapping[str, Any]) -> str:
    """How hot a device was while it was measured: none → light, 31 to 34 °C (skin); empty where it did not run on one."""
    thermal = environment.get("thermal") or {}
    if "readings" not in thermal:
        return ""
    statuses = list(dict.fromkeys((thermal.get("before", "unknown"), thermal.get("after", "unknown"))))
    words = [" → ".join(statuses)]
    for kind in ("skin", "gpu", "cpu", "battery"):
        degrees = [row["temperatures"][kind] for row in thermal["readings"] if kind in row["temperatures"]]
        if degrees:
            low, high = f"{min(degrees):.0f}", f"{max(degrees):.0f}"
            words.append(f"{low} to {high} °C ({kind})" if low != high else f"{low} °C ({kind})")
            break
    return ", ".join(words)


def show(environment: Mapping[str, Any], console: Console) -> None:
    """Which device, how hot it was, and what went wrong on the way; nothing where it did not run on one."""
    device, thermal = environment.get("device") or {}, environment.get("thermal") or {}
    if "serial" not in device:
        return
    soc = f" ({device['soc']})" if device.get("soc") else ""
    console.print(f"  on {escape(device['serial'])}, {escape(label(device) + soc)}")
    waited = f"; waited {thermal['waited_s']:.0f} s until it was cool" if thermal.get("waited_s", 0) >= 1 else ""
    hot = " [red]It throttled while it was measured.[/]" if thermal.get("throttled") else ""
    console.print(f"  thermal status {escape(heat(environment))}{waited}{hot}")
    for event in environment.get("device_events", []):
        console.print(f"  [yellow]{escape(event['step'])}[/]: {escape(event['error'])}: {escape(event['text'])}")
