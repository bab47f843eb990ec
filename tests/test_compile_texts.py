"""Sources of kernels are kept by library, model, target and precision; each compiler's row counts what it said of them."""

import json
import os
from pathlib import Path

import pytest

from host_tools.base.errors import ToolMissing
from host_tools.drivers import compiler_table
from host_tools.drivers.compiler import Compiler
from tests import compile_texts, kernel_texts
from tests.compile_texts import Refusal, Text
from tests.delegate import TARGETS, Outcome
from tests.kernel_texts import Dumped, Kernel, KernelTexts, Target, distinct, twin
from tests.vectors import all_cases

ADRENO = Target("adreno-640", TARGETS / "adreno-640.json")
MODEL = next(case for case in all_cases() if case.op == "SOFTMAX").model


class NoLibrary:
    """Stands for a worker that must not be asked."""

    def __init__(self, library: Path) -> None:
        self.library = library

    def run(self, *_, **__) -> Outcome:
        raise AssertionError("a model was run")


def test_a_model_is_run_once(quadra, tmp_path):
    model = MODEL()
    first = KernelTexts(quadra, tmp_path).of(model, ADRENO, "f16")
    kept = KernelTexts(NoLibrary(quadra.library), tmp_path)
    assert kept.of(model, ADRENO, "f16") == first and not first.error and not first.on_cpu
    assert [kernel.name for kernel in first.kernels] and all("__kernel" in k.path.read_text() for k in first.kernels)
    for other in ((model, ADRENO, "f32"), (model, twin("mali-g76-buffers", tmp_path), "f16"), (MODEL(), ADRENO, "f32")):
        with pytest.raises(AssertionError, match="a model was run"):
            kept.of(*other)


def test_another_library_has_sources_of_its_own(quadra, tmp_path):
    KernelTexts(quadra, tmp_path / "kept").of(MODEL(), ADRENO, "f16")
    other = tmp_path / "other.so"
    other.write_bytes(b"another library")
    with pytest.raises(AssertionError, match="a model was run"):
        KernelTexts(NoLibrary(other), tmp_path / "kept").of(MODEL(), ADRENO, "f16")


def test_a_damaged_record_is_made_again(quadra, tmp_path):
    store = KernelTexts(quadra, tmp_path)
    first = store.of(MODEL(), ADRENO, "f16")
    [record] = store.folder.glob("models/*/*.json")
    record.write_text(record.read_text()[:-5])
    assert store.of(MODEL(), ADRENO, "f16") == first


def test_equal_sources_are_one_file(quadra, tmp_path):
    store = KernelTexts(quadra, tmp_path)
    kernels = [kernel for precision in ("f16", "f32_f16") for kernel in store.of(MODEL(), ADRENO, precision).kernels]
    assert len(distinct(kernels)) < len(kernels)  # in OpenCL both compute in floats


def test_of_many_libraries_the_last_ones_are_kept(quadra, tmp_path):
    folders = []
    for index in range(5):
        library = tmp_path / f"{index}.so"
        library.write_text(str(index))
        folders.append(KernelTexts(NoLibrary(library), tmp_path / "kept").folder)
        os.utime(folders[-1], (index, index))
    assert {*(tmp_path / "kept").iterdir()} == {*folders[2:]}


def test_targets_are_those_of_the_files_and_know_their_language(tmp_path):
    found = {target.name: target for target in kernel_texts.targets(tmp_path)}
    assert {path.stem for path in TARGETS.glob("*.json")} < set(found)
    assert {found[name].language for name in found if name.endswith("-gles")} == {"gles"}
    assert found["mali-g76"].language == "opencl" and found["cpu-avx2"].is_cpu and not found["mali-g76"].is_cpu
    storage = json.loads(found["mali-g76-buffers-gles"].path.read_text())["storage"]
    assert storage == "buffer" and found["mali-g76-buffers-gles"].language == "gles"


class Store:
    """Every model has the source that all have, and one of its own for each target."""

    def __init__(self, quadra) -> None:
        pass

    def of(self, model: bytes, target: Target, precision: str) -> Dumped:
        if model == b"damaged":
            return Dumped((), (), "cannot be read")
        names = ["shared", f"{model.decode()}-{target.name}"]
        return Dumped(tuple(Kernel(name, Path(f"{name}.cl")) for name in names), (), "")


def test_a_source_is_collected_once_and_is_a_phones_if_any_phone_has_it(tmp_path, monkeypatch):
    monkeypatch.setattr(compile_texts, "KernelTexts", Store)
    monkeypatch.setattr(compile_texts, "named_models", lambda: iter([("a", lambda: b"A"), ("b", lambda: b"B")]))
    targets = [Target(name, TARGETS / f"{name}.json") for name in ("cpu-avx2", "adreno-640")]
    found = {text.path.stem: text for text in compile_texts.collect(None, targets, print)}
    assert set(found) == {"shared", "A-cpu-avx2", "A-adreno-640", "B-cpu-avx2", "B-adreno-640"}
    assert [name for name, text in found.items() if text.for_cpus] == ["A-cpu-avx2", "B-cpu-avx2"]
    assert found["B-adreno-640"].name == "b, adreno-640, f32" and found["shared"].name == "a, adreno-640, f32"
    some = compile_texts.collect(None, targets, print, lambda name, target: name == "b" and not target.is_cpu)
    assert {text.path.stem for text in some} == {"shared", "B-adreno-640"}


def test_a_model_that_does_not_load_is_no_silence(monkeypatch):
    monkeypatch.setattr(compile_texts, "KernelTexts", Store)
    monkeypatch.setattr(compile_texts, "named_models", lambda: iter([("a", lambda: b"damaged")]))
    with pytest.raises(AssertionError, match="a for adreno-640 in f32: cannot be read"):
        compile_texts.collect(None, [ADRENO], print)


@pytest.fixture
def row(tmp_path, monkeypatch):
    """row(texts, **fields): of a compiler that refuses what has `wrong` in it; its calls."""
    monkeypatch.setattr(compile_texts, "JUDGED", tmp_path / "judged")
    calls: list[Path] = []

    def compile_all(paths):
        calls.extend(paths)
        return ["1:2: error: 'x9' is wrong" if "wrong" in path.read_text() else "" for path in paths]

    def make(texts, **fields):
        made = {"check": lambda: None, "compile": compile_all, **fields}
        compiler = Compiler("strict", "opencl", "a test", "none", **made)
        monkeypatch.setattr(compiler_table, "find", lambda name: compiler)
        return compile_texts.run(["strict"], texts)[0]

    make.calls = calls
    return make


@pytest.fixture
def texts(tmp_path):
    def text(name: str, content: str, language: str = "opencl", for_cpus: bool = False) -> Text:
        path = tmp_path / f"{name}.cl"
        path.write_text(content)
        return Text(path, language, for_cpus, f"model of {name}", f"kernel of {name}")

    return [
        text("right", "right"),
        text("long", "wrong, and long"),
        text("short", "wrong"),
        text("wide", "right", for_cpus=True),
        text("shader", "wrong", language="gles"),
    ]


def test_a_row_counts_and_shows_the_smallest_of_each_kind(row, texts):
    found = row(texts)
    assert (found.texts, found.accepted, found.refused, found.left_out) == (4, 2, 2, 0)
    message = "1:2: error: 'x9' is wrong"
    path = str(texts[2].path)
    assert found.refusals == (Refusal("'…' is wrong", 2, "model of short", "kernel of short", path, message),)


def test_a_compiler_for_phones_is_not_given_kernels_for_cpus(row, texts):
    found = row(texts, for_cpus=False)
    assert (found.texts, found.left_out) == (3, 1) and texts[3].path not in row.calls


def test_a_source_is_judged_once_by_each_compiler(row, texts):
    first = row(texts)
    assert len(row.calls) == 4
    again = row(texts)
    assert len(row.calls) == 4 and again.refusals == first.refusals
    other = Compiler("strict", "opencl", "a test", "another version", lambda: None, lambda paths: ["" for _ in paths])
    assert compile_texts._row(other, texts, print).refused == 0


def test_a_compiler_that_is_not_here_is_skipped_with_the_reason(row, texts):
    def check():
        raise ToolMissing("use it", "it is not there", "fetch it")

    found = row(texts, check=check)
    assert found.skipped == "it is not there; fetch it" and found.texts == 0 and not row.calls
