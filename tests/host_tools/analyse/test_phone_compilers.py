"""What asking phones' compilers says where something is not installed."""

import importlib.util

import pytest

from host_tools.analyse import phone_compilers
from host_tools.base.errors import ToolMissing


def test_the_extra_is_named_that_opencl_on_adreno_needs(monkeypatch):
    monkeypatch.setattr(phone_compilers, "installed", lambda row: object())
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        ToolMissing, match=r"(?s)Adreno GPUs about OpenCL: .*pyopencl.*pip install 'quadra-tools\[analyse\]'"
    ):
        phone_compilers.require("adreno", "opencl")
    assert phone_compilers.require("mali", "opencl") and phone_compilers.require("adreno"), "they need no package"


def test_a_compiler_that_is_not_there_says_what_brings_it(monkeypatch):
    monkeypatch.setattr(phone_compilers, "installed", lambda row: None)
    with pytest.raises(ToolMissing, match="it is not in the cache\n.*analyse --install --backend opencl"):
        phone_compilers.require("adreno", "opencl")
