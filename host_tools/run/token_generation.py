"""Generates tokens with a decoder on the GPU, beside the CPU's kernels: `inv generate`."""

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import numpy as np

from host_tools.base.errors import JudgementFailed, Misuse, QuadraError
from host_tools.base.progress import progress
from host_tools.judge import decoding
from host_tools.places import generation, on_host
from host_tools.places.generation import BUILTIN, QUADRA, XNNPACK
from host_tools.record import printed, schema
from host_tools.record.spec import RunSpec
from host_tools.request import decoders, from_arguments, model_facts
from host_tools.request.decoders import Decoder
from host_tools.request.run_options import RunOptions
from host_tools.run import chosen_driver

AGAINST = (BUILTIN, XNNPACK, "none")
_MOST_STEPS = 100_000


@dataclass(frozen=True)
class Asked:
    """prompt: token ids with a comma between them, or how many random ones; empty: as many as the longest prefill that fits, and
    one. against: one of AGAINST."""

    steps: int = 32
    prompt: str = ""
    seed: int = 1
    free: bool = False
    against: str = BUILTIN
    in_place: bool = False


def of_options(options: RunOptions, asked: Asked) -> printed.GenerateDocument:
    """What these options ask for. The model is taken whole: what it has of signatures is a decoder's."""
    row = chosen_driver.find(options.driver, options.backend, options.target, options.on, options.options)
    wanted = replace(options, peer="", backend=row.backend if row else options.backend)
    return run(from_arguments.spec_of(wanted), asked, from_arguments.file(options.library))


def run(spec: RunSpec, asked: Asked, library: Path | None = None) -> printed.GenerateDocument:
    """library: the delegate (default: built). Misuse where the model is no decoder, or its caches hold fewer tokens."""
    content = Path(spec.model.path).read_bytes()
    model_facts.read(content, spec.model.name)  # a damaged model ends here
    decoder = decoders.read(content, spec.model.name)
    del content
    if asked.in_place and spec.api != "compiled":
        raise Misuse("read --in-place", "the interpreter's Python API copies caches", "add --api compiled")
    prompt = _prompt(decoder, asked, spec.model.name)
    request = generation.Request(prompt=prompt, steps=asked.steps, in_place=asked.in_place)
    results: dict[str, generation.Result] = {}
    logits: dict[str, np.ndarray] = {}
    place = on_host.Host(library)
    with tempfile.TemporaryDirectory(prefix="quadra-generate-") as name, progress(spec.model.name) as show:
        folder = Path(name)
        for side in (asked.against, QUADRA) if asked.against != "none" else (QUADRA,):
            if side == QUADRA and results and not asked.free:
                request = msgspec.structs.replace(request, forced=results[asked.against].chosen)
            (folder / generation.REQUEST).write_bytes(msgspec.json.encode(request))
            place.generate(spec, folder, side, show)
            results[side] = msgspec.json.decode((folder / generation.RESULT).read_bytes(), type=generation.Result)
            logits[side] = np.load(folder / f"{side}.npy")
    document = _document(spec, decoder, asked, prompt, results)
    if asked.against in results:
        taken = [prompt[-1], *(request.forced or results[QUADRA].chosen)][: asked.steps]
        precision = spec.options.get("precision") or "f32"
        document.agreement = decoding.agreement(
            logits[QUADRA],
            logits[asked.against],
            taken,
            precision,
            free=asked.free,
            rounded=results[asked.against].rounds,
        )
    return document


def check(document: printed.GenerateDocument) -> None:
    """JudgementFailed: logits or tokens are not the CPU's."""
    found = document.agreement
    if not found or found.ok:
        return
    came_back = f"the logits are off by {float(found.largest_difference):.2g} of their range, the tolerance is {found.tolerance:.0e}"
    if found.different:
        came_back += f"; of {len(found.steps)} tokens {found.different} differ"
    raise JudgementFailed(
        f"generate with {document.model}", came_back, "`./inv bisect MODEL --signature decode` finds the node"
    )


def failed(document: printed.GenerateDocument | None, error: QuadraError) -> printed.GenerateDocument:
    """What --json prints then."""
    found = document or printed.GenerateDocument()
    found.error, found.exit_status = printed.failure(error), error.exit_code
    return found


def _prompt(decoder: Decoder, asked: Asked, model: str) -> list[int]:
    if not 1 <= asked.steps <= _MOST_STEPS:
        raise Misuse("read --steps", f"{asked.steps} is not 1 to {_MOST_STEPS}", "give as many tokens as you want")
    room = decoder.positions - asked.steps + 1  # the last token that is generated is not put into the caches
    words = [word.strip() for word in asked.prompt.split(",")] if asked.prompt else []
    if not all(word.isascii() and word.isdigit() and len(word) < 10 for word in words):
        raise Misuse(
            "read --prompt",
            f"{asked.prompt!r} is not token ids",
            "give ids as 1,2,3, or one number: so many random ones",
        )
    given = [int(word) for word in words]
    longest = max((one.tokens for one in decoder.prefills if one.tokens < room), default=0)
    count = len(given) if len(given) > 1 else given[0] if given else min(longest + 1, max(room, 1))
    if count < 1:
        raise Misuse("read --prompt", "a prompt has at least one token", "give ids as 1,2,3, or their number")
    if count > room:
        raise Misuse(
            f"generate with {model}",
            f"its caches hold {decoder.positions} tokens: {count} of the prompt and {asked.steps} steps are more",
            "give fewer --steps, or a shorter --prompt",
        )
    chosen = np.random.default_rng(asked.seed)
    prompt = given if len(given) > 1 else chosen.integers(0, decoder.vocabulary, count).tolist()
    strange = [token for token in prompt if token >= decoder.vocabulary]
    if strange:
        came_back = f"token {strange[0]} is beyond the model's vocabulary of {decoder.vocabulary}"
        raise Misuse("read --prompt", came_back, "give ids from 0 on")
    return prompt


def _document(
    spec: RunSpec, decoder: Decoder, asked: Asked, prompt: list[int], results: dict[str, generation.Result]
) -> printed.GenerateDocument:
    report = schema.of(schema.Verdicts, results[QUADRA].report)
    used = {one.key: one for one, _, _ in decoder.chunks(len(prompt) - 1)} | {decoder.decode.key: decoder.decode}
    graphs = {one.subgraph for one in used.values()}
    nodes = [node for node in report.nodes if node.subgraph in graphs]
    parts = [part for part in report.partitions if part.subgraph == decoder.decode.subgraph]
    return printed.GenerateDocument(
        model=spec.model.name,
        api=spec.api,
        backend=report.backend,
        precision=report.precision,
        device=report.device.name,
        nodes=len(nodes),
        nodes_on_gpu=sum(node.on == "gpu" for node in nodes),
        cache=[part.cache for part in report.partitions if part.subgraph in graphs],
        positions=decoder.positions,
        vocabulary=decoder.vocabulary,
        prefills=[one.tokens for one, _, _ in decoder.chunks(len(prompt) - 1)],
        prompt=prompt,
        free=asked.free,
        runtimes=[_generated(side, results[side]) for side in (QUADRA, asked.against) if side in results],
        moved=printed.Moved(
            copied_bytes=sum(part.copied_bytes for part in parts),
            copied_inputs_bytes=sum(part.copied_inputs_bytes for part in parts),
            copied_outputs_bytes=sum(part.copied_outputs_bytes for part in parts),
            copied_states_bytes=sum(part.copied_states_bytes for part in parts),
            host_copied_bytes=results[QUADRA].host_copied_bytes,
            cache_bytes=decoder.cache_bytes,
            logits_bytes=decoder.decode.outputs[decoders.LOGITS].bytes,
            constant_bytes=sum(part.constant_bytes for part in parts),
        ),
    )


def _generated(side: str, result: generation.Result) -> printed.Generated:
    return printed.Generated(
        runtime=side,  # type: ignore[arg-type]
        chosen=result.chosen,
        start_us=result.start_us,
        prefill=_calls(result.prefill),
        decode=_calls(result.decode),
        steady_bytes=result.memory.steady_bytes,
        peak_bytes=result.memory.peak_bytes,
        before_bytes=result.memory.before_bytes,
        rewrites=result.rewrites,
    )


def _calls(phase: generation.Phase) -> printed.Calls:
    wall = sum(phase.wall_us)
    return printed.Calls(
        tokens=phase.tokens,
        calls=len(phase.wall_us),
        wall_us=wall,
        processor_us=sum(phase.processor_us),
        median_us=int(np.median(phase.wall_us)) if phase.wall_us else 0,
        tokens_per_s=schema.number(1e6 * phase.tokens / wall if wall else float("nan")),
    )
