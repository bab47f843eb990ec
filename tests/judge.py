"""When two results are the same, for tests: the rule of host_tools/judge/mismatch.py."""

from host_tools.judge.mismatch import errors, mismatch

__all__ = ["errors", "mismatch"]
