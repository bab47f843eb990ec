"""A process that generates tokens with a decoder: generation FOLDER LIBRARY SIDE.

SIDE `quadra` runs the model with the delegate, `builtin` and `xnnpack` on the CPU. FOLDER has spec.json and request.json; logits and
generated.json go there. Nothing but a side's own runs in the process: its memory is that of an app with the model.
"""

import functools
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from host_tools.base.errors import RunFailed
from host_tools.places import interpreters
from host_tools.places.model_worker import stage
from host_tools.places.worker import answer
from host_tools.record import run_folder
from host_tools.request import decoders
from host_tools.request.decoders import MASK, POSITIONS, TOKENS, Decoder, Signature

REQUEST, RESULT = "request.json", "generated.json"
QUADRA, BUILTIN, XNNPACK = "quadra", "builtin", "xnnpack"
_MASKED = -0.7 * float(np.finfo(np.float32).max)  # as LiteRT-LM has it


class Request(msgspec.Struct, kw_only=True):
    """prompt: token ids. steps: how many tokens are generated. forced: those to feed instead of the side's own choice, from the
    second step on; empty: its own. in_place: caches are inputs and outputs in one buffer each (CompiledModel)."""

    prompt: list[int]
    steps: int
    forced: list[int] = []
    in_place: bool = False


class Phase(msgspec.Struct, kw_only=True):
    """Calls of prefill signatures, or of decode. tokens: that were taken."""

    tokens: int = 0
    wall_us: list[int] = []
    processor_us: list[int] = []


class Memory(msgspec.Struct, kw_only=True):
    """Pss when the last token was there; the most resident memory of the process; Pss before the model was opened."""

    steady_bytes: int
    peak_bytes: int
    before_bytes: int


class Result(msgspec.Struct, kw_only=True):
    """chosen: the token with the best logits of each step. start_us: to the end of the first call of each signature that is
    used. host_copied_bytes: of a decode step, moved by the runtime's API and not by the delegate. rounds: its kernels round
    activations where they meet integer weights."""

    chosen: list[int]
    prefill: Phase
    decode: Phase
    start_us: int
    memory: Memory
    host_copied_bytes: int = 0
    rewrites: list[str] = []
    rounds: bool = False
    report: dict[str, Any] = {}


class Interpreter:
    """The signatures of one interpreter. Caches go through the host's memory, as its Python API has it, but for those that
    stay on the GPU by the option `states`. delegate: None: the CPU's."""

    def __init__(self, interpreter: Any, decoder: Decoder, content: bytes, model: str, delegate: Any = None) -> None:
        from host_tools.places.one_signature import OneSignature
        from host_tools.request import signatures

        self._decoder, self._logits = decoder, decoders.logits_name(content, decoder)
        self._delegate, self._handed = delegate, decoder.caches
        self._caches: dict[str, np.ndarray] = {}
        self._runs: dict[str, OneSignature] = {}
        for one in (*decoder.prefills, decoder.decode):
            self._runs[one.key] = run = OneSignature(interpreter, signatures.entry(content, one.key))
            try:
                run.allocate_tensors()
            except (ValueError, RuntimeError) as error:
                raise RunFailed(f"prepare {one.key} of {model}", " ".join(str(error).split()), "see the log") from error
        self._ends = {
            key: [{d["name"]: d["index"] for d in end} for end in (run.get_input_details(), run.get_output_details())]
            for key, run in self._runs.items()
        }
        if delegate:
            kept = [one["name"] for one in interpreters.report_of(delegate)["states"]]
            self._handed = tuple(name for name in decoder.caches if not any(name in state for state in kept))
        self.reset()

    @property
    def host_copied_bytes(self) -> int:
        return 2 * sum(self._decoder.decode.inputs[name].bytes for name in self._handed)

    def reset(self) -> None:
        cache = self._decoder.decode.inputs
        self._caches = {name: np.zeros(cache[name].shape, cache[name].dtype) for name in self._handed}
        if self._delegate:
            interpreters.clear_states(self._delegate)

    def set(self, signature: Signature, feeds: Mapping[str, np.ndarray]) -> None:
        run, (inputs, _) = self._runs[signature.key], self._ends[signature.key]
        for name, array in {**self._caches, **feeds}.items():
            run.set_tensor(inputs[name], array)

    def run(self, signature: Signature) -> None:
        interpreters.invoke(self._runs[signature.key], signature.key)

    def logits(self, signature: Signature) -> np.ndarray | None:
        """Also takes over the caches."""
        run, (_, outputs) = self._runs[signature.key], self._ends[signature.key]
        self._caches = {name: run.get_tensor(outputs[name]) for name in self._caches}
        return run.get_tensor(outputs[self._logits]) if self._logits in outputs else None


class Compiled:
    """A CompiledModel. Its buffers of caches are handed from call to call: outputs of one are inputs of the next."""

    def __init__(
        self, compiled: Any, decoder: Decoder, content: bytes, in_place: bool, clear_states: Callable[[], None]
    ) -> None:
        self._model, self._decoder, self._clear_states = compiled, decoder, clear_states
        self._logits = decoders.logits_name(content, decoder)
        self._names = compiled.get_signature_list()
        self._numbers = {key: compiled.get_signature_index(key) for key in self._names}
        self._own: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
        for one in (*decoder.prefills, decoder.decode):
            number, names = self._numbers[one.key], self._names[one.key]
            inputs = dict(zip(names["inputs"], compiled.create_input_buffers(number), strict=True))
            outputs = dict(zip(names["outputs"], compiled.create_output_buffers(number), strict=True))
            self._own[one.key] = inputs, outputs
        inputs, outputs = self._own[decoder.decode.key]
        self._caches = {name: inputs[name] for name in decoder.caches}
        self._is_in_place = in_place
        self._others = self._caches if in_place else {name: outputs[name] for name in decoder.caches}
        self.reset()

    host_copied_bytes = 0

    def reset(self) -> None:
        for name, buffer in self._caches.items():
            tensor = self._decoder.decode.inputs[name]
            buffer.write(np.zeros(tensor.shape, tensor.dtype))
        self._clear_states()

    def set(self, signature: Signature, feeds: Mapping[str, np.ndarray]) -> None:
        for name, array in feeds.items():
            self._own[signature.key][0][name].write(array)

    def run(self, signature: Signature) -> None:
        inputs, outputs = self._own[signature.key]
        names = self._names[signature.key]
        try:
            self._model.run_by_index(
                self._numbers[signature.key],
                [self._caches.get(name, inputs[name]) for name in names["inputs"]],
                [self._others.get(name, outputs[name]) for name in names["outputs"]],
            )
            self._caches, self._others = self._others, self._caches
            # To lock a buffer is to wait for its numbers.
            name = next(iter(self._caches))
            self._caches[name].read(1, np.dtype(self._decoder.decode.inputs[name].dtype))
        except (ValueError, RuntimeError) as error:
            do_next = "omit --in-place: LiteRT may refuse a buffer that is both" if self._is_in_place else "see the log"
            raise RunFailed(f"run {signature.key}", " ".join(str(error).split()), do_next) from error

    def logits(self, signature: Signature) -> np.ndarray | None:
        outputs = self._own[signature.key][1]
        if self._logits not in outputs:
            return None
        array: np.ndarray = outputs[self._logits].read(self._decoder.vocabulary, np.float32)
        return array


@dataclass
class Generator:
    """Feeds a decoder and keeps the time of each call."""

    decoder: Decoder
    runtime: Interpreter | Compiled
    prefill: Phase = field(default_factory=Phase)
    decode: Phase = field(default_factory=Phase)

    def warm_up(self, prompt: Sequence[int]) -> None:
        """Each signature that the prompt needs, once: drivers compile, and processes page in."""
        used = {one.key: one for one, _, _ in self.decoder.chunks(len(prompt) - 1)}
        for one in (*used.values(), self.decoder.decode):
            stage(f"first call of {one.key}")
            self._call(one, prompt[:1], 0, Phase())
        self.runtime.reset()

    def take(self, prompt: Sequence[int]) -> None:
        for one, at, count in self.decoder.chunks(len(prompt)):
            self._call(one, prompt[at : at + count], at, self.prefill)

    def step(self, token: int, position: int) -> np.ndarray:
        logits = self._call(self.decoder.decode, [token], position, self.decode)
        assert logits is not None, "decode gives logits"
        return logits.reshape(-1)

    def _call(self, one: Signature, tokens: Sequence[int], at: int, phase: Phase) -> np.ndarray | None:
        """What is missing of the signature's tokens is filled up: what it writes into the caches lies behind all that later
        tokens read, until they have written there themselves."""
        self.runtime.set(one, feeds(one, tokens, at))
        wall, processor = time.perf_counter_ns(), time.process_time_ns()
        self.runtime.run(one)
        phase.wall_us.append((time.perf_counter_ns() - wall) // 1000)
        phase.processor_us.append((time.process_time_ns() - processor) // 1000)
        phase.tokens += len(tokens)
        return self.runtime.logits(one)


def feeds(one: Signature, tokens: Sequence[int], at: int) -> dict[str, np.ndarray]:
    """The inputs beside the caches, for tokens from the position `at` on."""
    filled = np.zeros(one.tokens, np.int32)
    filled[: len(tokens)] = tokens
    positions = np.arange(at, at + one.tokens, dtype=np.int32)
    found = {
        TOKENS: filled.reshape(one.inputs[TOKENS].shape),
        POSITIONS: positions.reshape(one.inputs[POSITIONS].shape),
    }
    if MASK in one.inputs:
        mask = one.inputs[MASK]
        seen = np.arange(mask.shape[-1])[None, :] <= positions[:, None]
        rows = seen if mask.dtype == "bool" else np.where(seen, 0.0, _MASKED).astype(np.float32)
        found[MASK] = np.ascontiguousarray(np.broadcast_to(rows, mask.shape))
    return found


def run(folder: Path, library: Path, side: str) -> None:
    spec = run_folder.RunFolder(folder).spec()
    request = msgspec.json.decode((folder / REQUEST).read_bytes(), type=Request)
    path = Path(spec.model.path)
    content = path.read_bytes()
    decoder = decoders.read(content, spec.model.name)
    rewrites: list[str] = []
    rounds = False
    before = pss_bytes()
    _forget_peak()
    start = time.perf_counter_ns()
    delegate: Any = None
    accelerator: Any = None
    runtime: Interpreter | Compiled
    if side == QUADRA and spec.api == "compiled":
        from host_tools.places import compiled_models

        stage("compile the model")
        accelerator = compiled_models.load_quadra(library, spec.options)
        made = compiled_models.compile_model(path, spec.model.name, spec.threads, accelerator)
        clear_states = functools.partial(compiled_models.clear_states, accelerator)
        runtime = Compiled(made, decoder, content, request.in_place, clear_states)
    else:
        stage("make the interpreter")
        if side == QUADRA:
            delegate = interpreters.load_quadra(library, spec.options)
        exact, rewrites, rounds = for_builtin(path) if side == BUILTIN else (path, [], side == XNNPACK)
        kernels = interpreters.XNNPACK if side == XNNPACK else interpreters.BUILTIN
        interpreter = interpreters.make(
            exact, spec.model.name, threads=spec.threads, kernels=kernels, delegate=delegate
        )
        runtime = Interpreter(interpreter, decoder, content, spec.model.name, delegate)
    rounds = rounds and decoders.has_integer_weights(content)
    del content
    generator = Generator(decoder, runtime)
    generator.warm_up(request.prompt)
    started = (time.perf_counter_ns() - start) // 1000
    stage(f"prefill of {len(request.prompt) - 1} tokens")
    generator.take(request.prompt[:-1])
    chosen = _generate(generator, request, folder / f"{side}.npy")
    report = interpreters.report_of(delegate) if delegate else {}
    if accelerator:
        from host_tools.places import compiled_models

        report = compiled_models.report_of(accelerator)
    result = Result(
        chosen=chosen,
        prefill=generator.prefill,
        decode=generator.decode,
        start_us=started,
        memory=Memory(steady_bytes=pss_bytes(), peak_bytes=_peak_bytes(), before_bytes=before),
        host_copied_bytes=runtime.host_copied_bytes,
        rewrites=rewrites,
        rounds=rounds,
        report=report,
    )
    (folder / RESULT).write_bytes(msgspec.json.encode(result))


def _generate(generator: Generator, request: Request, logits_file: Path) -> list[int]:
    """The best token of each step. All logits go into the file."""
    chosen: list[int] = []
    token, position = request.prompt[-1], len(request.prompt) - 1
    shape = (request.steps, generator.decoder.vocabulary)
    kept = np.lib.format.open_memmap(logits_file, "w+", np.float32, shape)
    for step in range(request.steps):
        if step % 16 == 0:
            stage(f"token {step + 1} of {request.steps}")
        logits = generator.step(token, position + step)
        kept[step] = logits
        chosen.append(int(np.nanargmax(logits)) if not np.isnan(logits).all() else 0)
        token = request.forced[step] if request.forced else chosen[-1]
    kept.flush()
    return chosen


def for_builtin(path: Path) -> tuple[bytes, list[str], bool]:
    """What the builtin kernels get: composites as their names mean, and floats where they would round activations. Whether they
    do so all the same: a file of 2 GB and more cannot be rewritten."""
    from host_tools.places import reference_model

    made, notes = reference_model.for_cpu(path)
    exact = reference_model.exact(made)
    return exact.content, notes + exact.rewrites(), exact.quantised


def pss_bytes() -> int:
    """The process's share of the memory that it has mapped."""
    lines = Path("/proc/self/smaps_rollup").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))


def _peak_bytes() -> int:
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM:"))


def _forget_peak() -> None:
    """What reading the request took is no part of the peak."""
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")


def main(argv: list[str]) -> int:
    folder, library, side = Path(argv[0]), Path(argv[1]), argv[2]
    return answer(folder, lambda: run(folder, library, side))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
