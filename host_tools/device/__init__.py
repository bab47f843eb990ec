"""Devices: phones and virtual ones, over adb. choose() gives those that a word means, found() all."""

from host_tools.device.choice import choose, found

__all__ = ["choose", "found"]
