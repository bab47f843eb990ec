"""Oclgrind, as the toolkit starts it."""

from host_tools.drivers.oclgrind import Log, environment

__all__ = ["Log", "environment"]
