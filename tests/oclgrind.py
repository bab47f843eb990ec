"""Oclgrind, as the toolkit starts it."""

from host_tools.replay.oclgrind import Log, environment

__all__ = ["Log", "environment"]
