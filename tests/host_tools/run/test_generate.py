"""`inv generate`: a decoder's tokens on the GPU beside the CPU's."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import msgspec
import numpy as np
import pytest

from host_tools.base import settings
from host_tools.base.errors import Misuse
from host_tools.judge import decoding
from host_tools.places import generation as worker, interpreters
from host_tools.record import named_plans, printed, schema
from host_tools.request import decoders, from_arguments, make_decoder, model_tree
from host_tools.run import token_generation
from host_tools.tasks import command_line, plans
from tests.host_tools.request import test_make_decoder
from tests.runs import BACKENDS, PRECISIONS
from tests.signature_models import two_signatures

FORMS = list(test_make_decoder.EXPORTS)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """By the name of an export, a decoder of its form."""
    folder = tmp_path_factory.mktemp("decoders")
    paths = {name: folder / f"{name}.tflite" for name in FORMS}
    for name, path in paths.items():
        make_decoder.write(test_make_decoder.sizes_of(name), path, seed=3)
    return paths


def run(path, library=None, asked=None, **given) -> printed.GenerateDocument:
    spec = from_arguments.make_spec(str(path), peers=(), deadline_s=200.0, **given)
    return token_generation.run(spec, asked or token_generation.Asked(steps=4), library)


def check(found: printed.GenerateDocument, steps: int = 4) -> None:
    assert found.nodes_on_gpu == found.nodes > 0
    assert found.agreement.ok and found.agreement.equal + found.agreement.undecided == steps, found.agreement
    assert 0 < float(found.agreement.largest_difference) <= found.agreement.tolerance, "0: the CPU beside itself"
    token_generation.check(found)


ALL = list(itertools.product(FORMS, BACKENDS, PRECISIONS))
SAMPLE = (0, 4, 8, 15)  # each form, API and precision; the others are slow tests


@pytest.mark.parametrize(
    ("name", "backend", "precision"),
    [pytest.param(*one, marks=() if i in SAMPLE else pytest.mark.slow) for i, one in enumerate(ALL)],
)
def test_tokens_and_logits_are_the_cpus(library, made, name, backend, precision):
    found = run(made[name], library, backend=backend, precision=precision)
    check(found)
    assert (found.backend, found.precision, found.prefills) == (backend, precision, [16])
    quadra, cpu = found.runtimes
    assert quadra.prefill.tokens == 16 and quadra.decode.tokens == quadra.decode.calls == 4
    assert float(quadra.decode.tokens_per_s) > 0 and quadra.peak_bytes > quadra.before_bytes > 0
    assert found.moved.cache_bytes == sum(a.nbytes for a in _caches(made[name]).values())
    assert found.moved.host_copied_bytes == 2 * found.moved.cache_bytes
    if backend == "gles":
        assert found.moved.copied_bytes >= 2 * found.moved.cache_bytes
    assert [step.token for step in found.agreement.steps] == [found.prompt[-1], *cpu.chosen[:-1]], "forced"


@pytest.mark.parametrize(("backend", "in_place", "name"), [("opencl", False, FORMS[0]), ("gles", True, FORMS[2])])
def test_compiled_model_hands_its_buffers_on(made, backend, in_place, name):
    found = run(made[name], asked=token_generation.Asked(steps=4, in_place=in_place), backend=backend, api="compiled")
    check(found)
    assert found.moved.host_copied_bytes == 0


@pytest.mark.parametrize(("backend", "api"), [("opencl", "compiled"), ("gles", "compiled"), ("gles", "interpreter")])
def test_caches_that_stay_on_the_gpu_are_not_handed_over(library, made, backend, api):
    """Nothing moves but tokens, positions, a mask and logits: no byte of caches."""
    given = {} if api == "compiled" else {"library": library}
    found = run(made[FORMS[1]], **given, backend=backend, api=api, options="states=kv_cache_")
    check(found)
    moved = found.moved
    assert moved.host_copied_bytes == moved.copied_states_bytes == 0 and moved.cache_bytes > 0
    assert moved.copied_outputs_bytes == (moved.logits_bytes if backend == "gles" else 0)
    assert moved.copied_bytes == moved.copied_inputs_bytes + moved.copied_outputs_bytes
    assert moved.copied_inputs_bytes <= 8 + 4 * found.positions


def test_a_real_export_runs(library):
    files = [file for folder in settings.read().models_dirs for file in folder.rglob(f"{FORMS[1]}.tflite")]
    if not files:
        pytest.skip(f"{FORMS[1]} is not in a folder of QUADRA_MODELS_DIR")
    found = run(files[0], library, token_generation.Asked(steps=3, prompt="40", free=True), backend="opencl")
    check(found, 3)
    assert found.prefills == [16, 16, 16] and found.free


def _caches(path) -> dict[str, np.ndarray]:
    decoder = decoders.read(path.read_bytes(), path.name)
    return {name: np.zeros(decoder.decode.inputs[name].shape, np.float32) for name in decoder.caches}


@pytest.mark.parametrize("name", FORMS)
def test_a_prompt_in_chunks_is_a_prompt_token_by_token(made, name):
    """What fills up a chunk changes nothing; nor does a chunk for which the caches have no room."""
    content = made[name].read_bytes()
    decoder = decoders.read(content, name)
    exact, _, _ = worker.for_builtin(made[name])  # the converter's attention with one head of keys looks ahead
    prompt = np.random.default_rng(5).integers(0, decoder.vocabulary, decoder.positions).tolist()
    for count in (21, decoder.positions):
        logits = []
        for one in (decoder, replace(decoder, prefills=())):
            interpreter = interpreters.make(exact, name, threads=1, kernels=interpreters.BUILTIN)
            made_by = worker.Generator(one, worker.Interpreter(interpreter, one, content, name))
            made_by.take(prompt[: count - 1])
            logits.append(made_by.step(prompt[count - 1], count - 1))
        assert [used.tokens for used, _, _ in decoder.chunks(20)] == [16, 16]
        np.testing.assert_allclose(*logits, atol=1e-5 * np.ptp(logits[0]))


def test_weights_of_kernels_that_round_open_the_tolerance(library, made):
    found = run(made[FORMS[0]], library, token_generation.Asked(steps=3, against="xnnpack"), backend="opencl")
    assert found.agreement.ok and found.agreement.tolerance == 5e-2 > float(found.agreement.largest_difference) > 1e-4
    alone = run(made[FORMS[0]], library, token_generation.Asked(steps=3, prompt="1", against="none"), backend="opencl")
    assert alone.agreement is None and alone.prefills == [] and len(alone.runtimes[0].chosen) == 3


def test_agreement_says_equal_undecided_and_different():
    theirs = np.float32([[0, 1, 10], [0, 9.9999, 10], [0, 5, 10], [0, 1, 10]])
    ours = theirs.copy()
    ours[1, 1] = 10.0005  # the best two are nearer than twice the tolerance
    found = decoding.agreement(ours, theirs, [0, 1, 2, 3], "f32", free=False, rounded=False)
    assert found.ok and (found.equal, found.undecided, found.different) == (3, 1, 0)
    ours[2, 1] = 11
    found = decoding.agreement(ours, theirs, [0, 1, 2, 3], "f16", free=False, rounded=False)
    assert not found.ok and found.different == 1 and float(found.largest_difference) == pytest.approx(0.6)
    assert len(decoding.agreement(ours, theirs, [0] * 4, "f16", free=True, rounded=False).steps) == 2
    ours[2] = np.nan
    found = decoding.agreement(ours, theirs, [0] * 4, "f16", free=False, rounded=False)
    assert not found.ok and float(found.largest_difference) == np.inf


def test_wrong_logits_end_with_status_1_and_all_that_was_found(library, made, capsys, monkeypatch):
    monkeypatch.setitem(decoding.TOLERANCE, "f32", 1e-9)
    words = [str(made[FORMS[2]]), "--steps=3", "--backend=opencl", f"--library={library}"]
    with pytest.raises(SystemExit) as ended:
        command_line.main(["generate", *words, "--json"])
    document = _document(capsys)
    assert ended.value.code == document.exit_status == 1 and "the tolerance is 1e-09" in document.error.came_back
    assert not document.agreement.ok and len(document.agreement.steps) == 3 and len(document.runtimes) == 2
    assert command_line.main(["generate", *words]) == 1 and "wrong" in capsys.readouterr().out


def _document(capsys) -> printed.GenerateDocument:
    out = capsys.readouterr().out
    assert schema.unknown(printed.GenerateDocument, json.loads(out)) == []
    return msgspec.json.decode(out, type=printed.GenerateDocument)


def without(content: bytes, change) -> bytes:
    tree = model_tree.unpack(content)
    change(tree)
    return model_tree.pack(tree)


def renamed(was: bytes, name: bytes):
    def change(tree) -> None:
        for signature in tree.signatureDefs:
            for end in (*signature.inputs, *signature.outputs):
                end.name = name if end.name == was else end.name

    return change


def test_models_that_are_no_decoders_are_said(made, tmp_path, capsys):
    whole = made[FORMS[0]].read_bytes()

    def no_signatures(tree) -> None:
        tree.signatureDefs = []

    def no_cache(tree) -> None:
        one = tree.signatureDefs[1]
        one.outputs = [end for end in one.outputs if not end.name.startswith(b"kv_cache")]

    def free_sizes(tree) -> None:
        graph = tree.subgraphs[1]
        graph.tensors[graph.inputs[0]].shapeSignature = [1, -1]

    for content, said in {
        without(whole, no_signatures): "it has no signatures",
        two_signatures(): "`decode` has no cache",
        without(whole, no_cache): "`decode` has no cache",
        without(whole, renamed(b"tokens", b"embeddings")): "`decode` takes 0 tokens",
        without(whole, renamed(b"input_pos", b"place")): "an input 'place'",
        without(whole, renamed(b"mask", b"lora")): "an input 'lora'",
        without(whole, free_sizes): "sizes that are not known",
    }.items():
        path = tmp_path / "model.tflite"
        path.write_bytes(content)
        with pytest.raises(Misuse, match=said):
            run(path)
    path.write_bytes(whole[:-20000])
    status = command_line.main(["generate", str(path)])
    assert status == 2 and "cut off or damaged" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (token_generation.Asked(steps=0), "0 is not 1 to"),
        (token_generation.Asked(steps=65), "its caches hold 64 tokens: 1 of the prompt and 65 steps"),
        (token_generation.Asked(steps=4, prompt="62"), "62 of the prompt and 4 steps"),
        (token_generation.Asked(steps=4, prompt="999999999"), "999999999 of the prompt"),
        (token_generation.Asked(steps=4, prompt="0"), "at least one token"),
        (token_generation.Asked(steps=4, prompt="1,2,x"), "is not token ids"),
        (token_generation.Asked(steps=4, prompt="1,512"), "token 512 is beyond the model's vocabulary of 512"),
        (token_generation.Asked(steps=4, in_place=True), "copies caches"),
    ],
)
def test_what_cannot_be_asked_is_said(made, asked, said):
    with pytest.raises(Misuse, match=said):
        run(made[FORMS[0]], asked=asked)


def test_the_command_prints_a_table_or_a_document(library, made, capsys):
    words = [str(made[FORMS[0]]), "--steps=3", "--prompt=5,6,7", "--backend=opencl", f"--library={library}"]
    assert command_line.main(["generate", *words]) == 0
    out = capsys.readouterr().out
    for word in (
        "181 of 181 nodes on the GPU",
        "decode, tokens/s",
        "CPU, builtin kernels",
        "of 3 tokens 3 equal: right",
    ):
        assert word in out, out
    with pytest.raises(SystemExit) as ended:
        command_line.main(["generate", str(made[FORMS[0]]), "--steps=100", "--json"])
    document = _document(capsys)
    assert ended.value.code == document.exit_status == 2 and "caches hold 64" in document.error.came_back


def test_a_decoder_is_made_from_the_command_line(tmp_path, capsys):
    path = tmp_path / "made.tflite"
    words = ["--make=decoder", f"--sizes={test_make_decoder.EXPORTS[FORMS[1]]}", f"--out={path}", "--seed=3"]
    assert command_line.main(["models", *words]) == 0 and capsys.readouterr().out.strip() == str(path)
    assert decoders.read(path.read_bytes(), "made").positions == 128
    assert command_line.main(["models", *words, f"--out={tmp_path}/none/x"]) != 0


@pytest.mark.parametrize("word", ["", ":decode"])
def test_plans_of_a_decoder_can_be_read(library, made, tmp_path, word):
    """Nobody reads its states where they come in. A signature has its plan alone."""
    options = plans.Options(target="adreno-640", out=str(tmp_path / "made.quadra"))
    paths = plans.make(str(made[FORMS[0]]) + word, options, library)
    names = [{tensor.name for tensor in named_plans.of_file(path).checked().tensors} for path in paths]
    assert [any(name.startswith("decode") for name in found) for found in names] == ([True] if word else [False, True])
