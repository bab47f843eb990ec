"""Test vectors: a module per op or family of ops, each with a list `CASES` and the numpy references beside it."""

from __future__ import annotations

import importlib
import pkgutil

from tests.vectors.case import Case, Feed

__all__ = ["Case", "Feed", "all_cases"]


def all_cases() -> list[Case]:
    """Every case of every module, in the order of the file names."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    return [case for module in modules for case in getattr(module, "CASES", [])]
