"""The fuzzers find what is planted, make it small and keep it; the interpreter's own failures do not count."""

import random
import re
import shutil
import struct
import sys
from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from itertools import islice
from types import SimpleNamespace

import numpy as np
import pytest

from host_tools.base import settings
from host_tools.base.errors import RunFailed
from host_tools.dev import fuzz
from host_tools.dev.fuzz import (
    cache_fuzzer,
    edits,
    fuzz as task,
    model_fuzzer,
    mutations,
    option_fuzzer,
    reader_fuzzer,
    seeds,
)
from host_tools.dev.fuzz.edits import Edit
from host_tools.dev.fuzz.finding import Finding, minimise
from host_tools.dev.fuzz.fuzz_process import INTERPRETER, Answer, Ended, Process, Request
from host_tools.record import cache_file
from host_tools.request import model_tree
from host_tools.tasks import command_line
from tests.model_builder import Model
from tests.vectors import all_cases

NATIVE = settings.ROOT / "delegate_native"
CRASH = "crash", "SIGABRT, to: open the model"


def small_model() -> bytes:
    model = Model()
    x = model.input((1, 4, 4, 3))
    y = model.conv2d(x, np.ones((2, 3, 3, 3), np.float32), np.zeros(2, np.float32))
    model.output(model.add(model.unary("RELU", y), y))
    return model.bytes()


def case(raw=None, changes=(), **fields) -> model_fuzzer.Case:
    return model_fuzzer.Case(
        "0-0", "small", raw or small_model(), tuple(changes), (model_fuzzer.Setup("null", "generic"),), 1, **fields
    )


@pytest.fixture
def fuzzer(fake):
    made = model_fuzzer.Models(fake)
    yield made
    made.close()


@pytest.fixture
def process(tmp_path):
    made = Process(None, tmp_path, {})
    yield made
    made.close()


# --- edits


def test_a_file_comes_through_the_tree_with_the_same_numbers(process):
    # Random integers have zeros, and places beyond the end; a custom op has to be registered.
    refuses = {"DIV", "FLOOR_DIV", "FLOOR_MOD", "SLICE", "GATHER", "GATHER_ND", "aeq.hadamard_rotation"}
    refuses |= {"ROUND", "half_range-through_round", "SEGMENT_SUM"}  # the fuzzers' runtime does not register these
    refuses.add("transpose_conv-rejected_computed_size")  # any size but one
    refuses |= {f"UNSORTED_SEGMENT_{how}" for how in ("SUM", "PROD", "MAX", "MIN")}  # places beyond the end
    cases = [one for one in all_cases() if one.on_cpu and not refuses & {one.op, one.id}]
    for one in random.Random(1).sample(cases, 25):
        raw = one.model()
        before, after = (
            process.run(Request(file, seed=3), 20) for file in (raw, model_tree.pack(model_tree.unpack(raw)))
        )
        assert not before.error and [a.tobytes() for a in before.outputs] == [a.tobytes() for a in after.outputs], (
            one.id
        )


def test_edits_do_what_they_say():
    raw = small_model()
    tensor, node = ("subgraphs", 0, "tensors", 0), ("subgraphs", 0, "operators", 0)
    made = model_tree.unpack(edits.apply(raw, [
        Edit("set", (*tensor, "shape", 1), 7), Edit("insert", (*tensor, "shape", 0), 9), Edit("delete", (*node, "inputs", 2)),
        Edit("delete", (*node, "builtinOptions")),
    ]))  # fmt: skip
    graph = made.subgraphs[0]
    assert graph.tensors[0].shape == [9, 1, 7, 4, 3]
    assert len(graph.operators[0].inputs) == 2 and graph.operators[0].builtinOptions is None
    assert edits.apply(raw, [Edit("byte", (9,), raw[9] ^ 0xFF)])[9] == raw[9] ^ 0xFF


def test_a_place_that_is_not_there_is_a_lookup_error():
    model = model_tree.unpack(small_model())
    for place in (("nothing",), ("subgraphs", 9), ("subgraphs", "tensors"), ("version", 0)):
        with pytest.raises(LookupError):
            edits.at(model, place)


def test_constants_keep_their_alignment():
    raw, weights = small_model(), np.ones((2, 3, 3, 3), np.float32).tobytes()
    assert model_tree.pack(model_tree.unpack(raw)).index(weights) % 16 == 0


def test_any_edits_can_be_left_out():
    raw, chosen, made = small_model(), random.Random(2), 0
    for _ in range(60):
        some = [edit for _ in range(4) for edit in mutations.some(model_tree.unpack(raw), raw, chosen)]
        try:
            edits.apply(raw, chosen.sample(some, len(some) // 2))
            made += 1
        except model_tree.CannotPack:
            pass
    assert made > 30


def test_every_mutation_changes_something():
    raw = next(one for one in all_cases() if "sparse_float16" in one.name).model()
    for _, mutation in mutations._MUTATIONS:
        chosen = random.Random(mutation.__name__)
        files = set()
        for _ in range(40):
            try:
                files.add(edits.apply(raw, mutation(model_tree.unpack(raw), chosen)))
            except model_tree.CannotPack:
                pass
        assert len(files) > 3, mutation.__name__


# --- cases


def test_the_same_seed_makes_the_same_cases(fuzzer, fake, monkeypatch):
    monkeypatch.setattr(seeds, "load", lambda: dict.fromkeys(["vector-graph-chain", "other"], small_model()))
    asked = option_fuzzer.Options(fake)
    for one in (fuzzer, asked):
        first, second, other = (list(map(str, islice(one.cases(seed), 30))) for seed in (1, 1, 2))
        assert first == second and first != other
    asked.close()


def test_the_options_and_keys_that_are_mutated_are_those_that_there_are():
    table = (NATIVE / "delegate" / "options.def").read_text()
    assert sorted(option_fuzzer.OPTIONS) == sorted(re.findall(r"^QUADRA_OPTION\((\w+)", table, re.MULTILINE))
    read = re.findall(
        r'(?:v->|reader\.)(\w+)\((?:QUADRA_TEXT\()?"(\w+)"', (NATIVE / "device" / "gpu_info.cc").read_text()
    )
    mutated = {
        *option_fuzzer.NUMBERS,
        *option_fuzzer.LISTS,
        *option_fuzzer.FLAGS,
        *option_fuzzer.WORDS,
        *option_fuzzer.OTHERS,
    }
    assert mutated == {key for _, key in read}
    quirks = (NATIVE / "device" / "quirks.cc").read_text()
    assert list(option_fuzzer.QUIRKS) == re.findall(r'^ +\{QUADRA_TEXT\("(\w+)"\),', quirks, re.MULTILINE)


# --- what counts


def test_a_planted_crash_is_found_made_small_and_gone_when_it_is_mended(fuzzer, monkeypatch):
    monkeypatch.setenv("FAKE_DELEGATE", "crash")
    useless = [Edit("set", ("subgraphs", 0, "tensors", i, "hasRank"), True) for i in range(4)]
    found = fuzzer.run_case(case(changes=useless))
    assert (found.kind, found.place) == CRASH
    small = fuzzer.minimise(found)
    assert (small.kind, small.place) == CRASH
    assert not model_tree.unpack(small.case.file()).subgraphs[0].operators and not set(useless) & set(
        small.case.changes
    )
    monkeypatch.delenv("FAKE_DELEGATE")
    fuzzer._with.close()
    assert fuzzer.run_case(small.case) is None


def test_a_planted_hang_is_found(fuzzer, monkeypatch):
    monkeypatch.setenv("FAKE_DELEGATE", "hang")
    monkeypatch.setattr(model_fuzzer, "_WITH_S", 1.0)
    found = fuzzer.run_case(case())
    assert (found.kind, found.place) == ("hang", "open the model")


def test_what_the_interpreter_alone_does_not_survive_does_not_count(fuzzer, monkeypatch):
    monkeypatch.setenv("FAKE_DELEGATE", "crash")
    monkeypatch.setattr(fuzzer._alone, "run", lambda request, timeout_s: Ended("crash", "SIGSEGV", ""))
    assert fuzzer.run_case(case()) is None
    assert fuzzer.counts["a crash of the interpreter alone"] == 1


def test_options_are_not_judged_by_an_interpreter_that_ended(fake, monkeypatch):
    options = option_fuzzer.Options(fake)
    monkeypatch.setattr(options._process, "run", lambda request, timeout_s: Ended("crash", "SIGSEGV", ""))
    assert options.run_case(next(options.cases(1))) is None
    assert options.counts["a crash of the interpreter alone"] == 1
    options.close()


_FRAMES = {
    "TfLite": "    #1 0x7f in tflite::Copy (/x/python3.11/site-packages/ai_edge_litert/libpywrap_litert_common.so+0x1)",
    "python": "    #2 0x56 in PyObject_Call (/usr/bin/python3.11+0x56a493)",
    "Quadra": "    #3 0x7f in quadra::Judge(TfLiteContext*) delegate_native/delegate/verdicts.cc:241",
    "driver": "    #1 0x7f in lp_rast (/usr/lib/dri/swrast_dri.so+0x1)",
}


@pytest.mark.parametrize(("stack", "place"), [
    (["TfLite", "python"], INTERPRETER), (["TfLite", "Quadra", "python"], "delegate_native/delegate/verdicts.cc, quadra::Judge(TfLiteContext*)"),
    (["driver"], "no function of Quadra"),
])  # fmt: skip
def test_a_report_counts_unless_it_is_the_interpreters_own(fuzzer, monkeypatch, stack, place):
    """What TFLite writes beyond a tensor lands in its arena when it is alone, and behind a smaller one otherwise."""
    text = "\n".join(["ERROR: AddressSanitizer: heap-buffer-overflow", *(_FRAMES[name] for name in stack)])

    def died(request, timeout_s):
        fuzzer._with._reports.mkdir(exist_ok=True)
        (fuzzer._with._reports / "report.1").write_text(text)
        return fuzzer._with._ended(0.0)

    fuzzer._with.run(Request(small_model()), 20)  # so that there is a process
    started = fuzzer._with._start
    monkeypatch.setattr(fuzzer._with, "run", lambda *words: started() or died(*words))
    found = fuzzer.run_case(case())
    assert (found and (found.kind, found.place)) == (None if place == INTERPRETER else ("report", place))
    assert not found or "PyObject_Call" not in found.text
    assert fuzzer.counts["a report of the interpreter beside the delegate"] == (place == INTERPRETER)


def test_what_does_not_come_again_does_not_count(fuzzer, monkeypatch):
    runs = iter([Ended("crash", "SIGSEGV", ""), Answer(), Answer()])
    monkeypatch.setattr(fuzzer._with, "run", lambda request, timeout_s: next(runs))
    assert fuzzer.run_case(case()) is None and fuzzer.counts["not repeatable"] == 1


def test_wrong_numbers_are_found_where_the_interpreter_agrees_with_itself(fuzzer, monkeypatch):
    """The delegate's answer is planted: one number is off by a thousandth of the range."""
    asked = Request(small_model(), seed=1, twice=True)
    answer = fuzzer._alone.run(asked, 20)
    off = answer.outputs[0].copy()
    off.flat[5] += np.ptp(off) * 1e-3
    monkeypatch.setattr(
        fuzzer._with, "run", lambda request, timeout_s: Answer(outputs=[off], on_gpu=1, backend="opencl")
    )
    wrong = replace(case(), setups=(model_fuzzer.Setup("opencl"),))
    assert fuzzer.run_case(wrong).kind == "wrong"
    assert fuzzer.run_case(replace(wrong, setups=(model_fuzzer.Setup("opencl", precision="f16"),))) is None
    unsound = Edit("set", ("subgraphs", 0, "operators", 1, "inputs", 0), 5)  # read before it is written
    assert fuzzer.run_case(replace(wrong, changes=(unsound,))) is None


@pytest.mark.parametrize("again", [1.0, 1.5])
@pytest.mark.parametrize("nudged", [1.000001, 1.5])
@pytest.mark.parametrize("want", [1.0, np.nan, 1e35])
def test_numbers_are_judged_where_rounding_does_not_decide(want, nudged, again):
    arrays = [np.array([0, value], np.float32) for value in (want, nudged, again, 2.0)]
    alone, got = Answer(outputs=[arrays[0]], nudged=[arrays[1]], again=[arrays[2]]), Answer(outputs=[arrays[3]])
    assert bool(model_fuzzer.difference(alone, got)) == (want == 1.0 and nudged < 1.1 and again == 1.0)


@pytest.mark.parametrize(("place", "value"), [
    (("operators", 1, "inputs", 0), 5), (("operators", 0, "outputs", 0), 0), (("operators", 0, "outputs", 0), 1),
    (("outputs", 0), 4), (("inputs", 0), 1), (("tensors", 3, "isVariable"), True),
])  # fmt: skip
def test_a_model_whose_numbers_are_nobodys_is_not_sound(place, value):
    model = Model()
    x = model.input((2, 2))
    y = model.add(x, np.ones((2, 2), np.float32))
    model.output(model.unary("RELU", y))
    model.value((2, 2))
    raw = model.bytes()
    assert model_fuzzer.is_sound(model_tree.unpack(raw))
    changed = edits.apply(raw, [Edit("set", ("subgraphs", 0, *place), value)])
    assert not model_fuzzer.is_sound(model_tree.unpack(changed))


def test_integer_weights_are_told():
    cases = {case.name: case for case in all_cases()}
    told = [model_fuzzer.has_integer_weights(model_tree.unpack(cases[name].model()))
            for name in ("int2_weights_odd", "int4_weights_of_small_blocks", "rank_2_no_bias", "int8_table_of_rows")]  # fmt: skip
    assert told == [True, True, False, False]


def test_the_least_that_fails_is_left():
    tries = Counter()

    def fails(items):
        tries["all"] += 1
        return {3, 11} <= set(items)

    assert minimise(range(20), fails, 100) == [3, 11] and tries["all"] < 60
    assert minimise([1], lambda items: True, 100) == []
    assert len(minimise(range(20), fails, 3)) >= 2, "it stops where there is no time"


# --- files of the cache


def test_a_damaged_file_that_is_taken_is_found(fake, monkeypatch):
    """The delegate's answer is planted: it takes every file, and gives other numbers for some."""
    asked = cache_fuzzer.Cache(fake)
    whole = cache_file.Parts(b"words", b"plan", b"binaries").pack()
    ones = np.ones(2, np.float32)
    monkeypatch.setattr(asked, "_whole", lambda *_: cache_fuzzer._Kept("a", whole, [ones.tobytes()]))
    (asked._home / "kept").mkdir()
    answer = Answer(outputs=[ones], cached=["hit"])
    monkeypatch.setattr(asked, "_start", lambda *_: answer)
    one = cache_fuzzer._case("flipped bits", whole[:-1] + b"x")
    assert asked.run_case(one).place == "a changed file was taken"
    assert asked.run_case(replace(one, hashed=True)) is None
    assert asked.run_case(replace(one, file=whole)) is None
    answer.outputs = [ones + 1]
    assert asked.run_case(replace(one, hashed=True)).kind == "wrong"
    assert asked.run_case(replace(one, hashed=True, runs=False)) is None
    asked.close()


def test_damage_with_hashes_that_fit_changes_the_file_and_keeps_its_form():
    parts = cache_file.Parts(b"words" * 9, struct.pack("<150I", *range(150)), b"binaries" * 30)
    file, seen = parts.pack(), Counter()
    for number in range(300):
        made = cache_fuzzer._with_hashes(random.Random(number), file, replace(parts, plan=b"p", binaries=b"b").pack())
        assert made.hashed and cache_file.Parts.parse(made.file).pack() == made.file
        seen[made.damage] += made.file != file
    assert len(seen) == 9 and min(seen.values()) > 10


# --- the task


def inv(capsys, *words):
    status = command_line.main(["fuzz", *words])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


@pytest.mark.parametrize("what", ["models", "options"])
def test_findings_are_kept_and_run_again(capsys, fake, tmp_path, monkeypatch, what):
    monkeypatch.setenv("QUADRA_RUNS_DIR", str(tmp_path))
    monkeypatch.setenv("FAKE_DELEGATE", "crash")
    monkeypatch.setattr(seeds, "load", lambda: {"vector-graph-chain": small_model()})
    status, out, err = inv(capsys, what, "--seconds=0.01", f"--library={fake}")
    assert status == 1 and "crash" in out and "findings in 1 place" in err
    (folder,) = (tmp_path / f"fuzz-{what}").iterdir()
    assert str(folder) in out and f"./inv fuzz {folder}" in (folder / "finding.txt").read_text()
    assert inv(capsys, str(folder), f"--library={fake}")[0] == 1
    monkeypatch.delenv("FAKE_DELEGATE")
    status, out, _ = inv(capsys, str(folder), f"--library={fake}")
    assert status == 0 and "0  findings" in out


def test_findings_in_run_folders_are_kept_and_run_again(capsys, tmp_path, monkeypatch):
    """The fuzzer of run folders is planted: every third reader ends in a traceback."""
    broken = {"yes": True}

    def run_case(one, workdir):
        assert workdir.is_dir()
        return (
            Finding(one, "traceback", "report.py:read KeyError", "…") if broken["yes"] and one.number % 3 == 2 else None
        )

    def cases(seed):
        return (SimpleNamespace(name=f"{seed}-{number}-report", number=number) for number in range(4))

    monkeypatch.setitem(
        sys.modules, "host_tools.dev.fuzz.folder_fuzzer", SimpleNamespace(cases=cases, run_case=run_case)
    )
    monkeypatch.setattr(fuzz, "folder_fuzzer", sys.modules["host_tools.dev.fuzz.folder_fuzzer"], raising=False)
    monkeypatch.setenv("QUADRA_RUNS_DIR", str(tmp_path))
    status, out, _ = inv(capsys, "folders", "--seed=5")
    assert status == 1 and "4  cases" in out and "3  read, or refused in a sentence" in out
    (folder,) = (tmp_path / "fuzz-folders").iterdir()
    assert folder.name == "5-2-report-traceback" and inv(capsys, str(folder))[0] == 1
    broken["yes"] = False
    assert inv(capsys, str(folder))[0] == 0


@pytest.mark.parametrize(("words", "reason"), [
    (["phones"], "neither such a kind nor such a folder"), (["models", "--seconds=0"], "0 seconds are none"),
    (["models", "--library=FAKE", "--sanitize=thread"], "both --library and --sanitize"), ([], "no WHAT is named"),
    (["models", "--sanitize=dirt"], "'dirt' is not one of"),
])  # fmt: skip
def test_misuse_is_a_sentence(capsys, fake, words, reason):
    status, out, err = inv(capsys, *[word.replace("FAKE", str(fake)) for word in words])
    assert status == 2 and reason in err and "Traceback" not in err + out


@pytest.mark.parametrize("seconds", [2.0, pytest.param(60.0, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", [kind for kind in task.KINDS if kind != "reader"])  # compiles for longer than that
def test_a_while_finds_nothing(library, kind, seconds):
    result = task.run(kind, seconds, 1, library, "", lambda text: None)
    assert not result.seen, (result.seen, result.kept)
    assert result.counts["cases"] > seconds / 3, result.counts


def test_only_what_libfuzzer_reports_and_keeps_is_a_finding(tmp_path):
    """libFuzzer is a script here; as itself, it keeps slow files, too, unless it is told not to."""
    target, pulse = tmp_path / "target", [].append

    def ends(lines):
        target.write_text(
            f"#!/bin/sh\nf=${{3#*=}}\n[ $2 = -report_slow_units=1000 ] || echo slow >${{f}}slow-unit-0\n{lines}\n"
        )
        target.chmod(0o755)
        return reader_fuzzer._run(target, (), 1.0, pulse)

    assert ends("exit 0") is None
    for lines, said in (
        ("echo 'libz.so.1: cannot open shared object file' >&2; exit 127", "status 127, without a finding\n  | libz"),
        ("kill -9 $$", "signal 9"),
        ("echo 'SUMMARY: AddressSanitizer: SEGV at the start' >&2; exit 77", "SEGV"),
    ):
        with pytest.raises(RunFailed, match=re.escape(said)):
            ends(lines)
        with pytest.raises(RunFailed) if "SUMMARY" not in lines else nullcontext():
            reader_fuzzer._run(target, (), 1.0, pulse, again=target)
    found = ends("printf bytes >${f}crash-1; echo 'SUMMARY: libFuzzer: deadly signal' >&2; exit 77")
    assert (found.case, found.kind, found.place) == (b"bytes", "report", "libFuzzer: deadly signal")


@pytest.mark.slow
@pytest.mark.skipif(
    not any(reader_fuzzer.LLVM.glob("lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a")), reason="libFuzzer is not here"
)
def test_libfuzzer_finds_a_check_of_the_reader_that_is_left_out(library, tmp_path):
    """And nothing in the reader as it is; the file of the finding shows it again in what it was found in only."""
    show, counts = [].append, Counter()
    assert reader_fuzzer.search(20.0, 5, library, counts, show) is None
    assert counts["cases"] > 1000 and counts["branches of the reader reached"] > 500
    shutil.copytree(NATIVE, tmp_path / NATIVE.name)
    (tmp_path / "tests" / "native").mkdir(parents=True)
    shutil.copy(settings.ROOT / "tests/native/cache_file_fuzz.cc", tmp_path / "tests/native")
    check = tmp_path / NATIVE.name / "plan" / "check_plan.cc"
    text = check.read_text()
    check.write_text(text.replace("return offset <= all && bytes <= all - offset;", "return all + 1 > 0;"))
    assert check.read_text() != text
    finding = reader_fuzzer.search(120.0, 5, library, counts, show, tmp_path)
    assert finding is not None and "bytes beyond a buffer's end" in finding.text
    (tmp_path / reader_fuzzer.FILE).write_bytes(finding.case)
    assert reader_fuzzer.repeat(tmp_path / reader_fuzzer.FILE, show) is None
