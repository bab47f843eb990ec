"""The parity table: what it counts, what it shows, and when it fails."""

import io

import pytest
from rich.console import Console

from host_tools.base.errors import JudgementFailed, Misuse
from host_tools.parity import vector_parity
from host_tools.tasks import parity as parity_task

PLACES = [{"backend": backend, "precision": "f32", "storage": "buffer"} for backend in ("opencl", "gles")]
HEAD = {"ops": ["ADD", "TANH"], "cells": PLACES, "total": 4}


def lines(*results):
    return [HEAD, *({"op": op, **PLACES[place], "case": "c", "wrong": wrong} for op, place, wrong in results)]


def shown(found):
    text = io.StringIO()
    parity_task.show(found, Console(file=text, width=160))
    return text.getvalue()


def test_all_right():
    found = vector_parity.read(lines(("ADD", 0, ""), ("ADD", 1, ""), ("TANH", 0, ""), ("TANH", 1, ""), ("TANH", 1, "")))
    vector_parity.fail_if_wrong(found)
    assert "2/2" in shown(found) and "2 ops, right in all 2 columns" in shown(found)


def test_a_failure_is_named_and_fails():
    found = vector_parity.read(lines(("ADD", 0, ""), ("ADD", 1, "off by [1]"), ("TANH", 0, ""), ("TANH", 1, "")))
    assert "0/1" in shown(found) and "ADD on gles f32 buffer: c: off by [1]" in shown(found)
    with pytest.raises(JudgementFailed, match="1 of 4 cells"):
        vector_parity.fail_if_wrong(found)
    wrong = parity_task.to_json(found)["rows"][0]["cells"][1]
    assert wrong == {**PLACES[1], "passed": 0, "total": 1, "failures": [{"vector": "c", "reason": "off by [1]"}]}


def test_a_hole_is_named_and_fails():
    found = vector_parity.read(lines(("ADD", 0, ""), ("ADD", 1, ""), ("TANH", 0, "")))
    assert "hole" in shown(found) and "TANH on gles f32 buffer: a hole" in shown(found)
    with pytest.raises(JudgementFailed):
        vector_parity.fail_if_wrong(found)


def test_an_unknown_op_is_misuse():
    with pytest.raises(Misuse, match="no such op: SUB"):
        vector_parity.read([{"unknown": ["SUB"], "known": ["ADD"]}])
