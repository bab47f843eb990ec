"""Whether equal inferences gave equal outputs, bit by bit, and which dispatch is the first that differs."""

from collections.abc import Mapping, Sequence

from host_tools.base.units import counted
from host_tools.record import schema
from host_tools.record.kept_tensors import Kept
from host_tools.record.repeats import Repeats
from host_tools.record.spec import RunSpec

_CONSTANTS = ("DEQUANTIZE", "DENSIFY")  # of constants: no kernel of their own


def outputs(found: schema.Determinism, repeats: Repeats, names: Sequence[str]) -> None:
    """Fills in the outputs that differ. names: of the outputs, which are all values of `repeats`."""
    usual = {one.index: one for one in found.outputs}
    for index, name in enumerate(names):
        spread = repeats.spread(index)
        if spread.inferences and index not in usual:
            found.outputs.append(schema.DifferentOutput(index=index, name=name, **schema.plain(spread)))


def dispatches(
    found: schema.Determinism, repeats: Repeats, kept: Sequence[Kept], ops: Mapping[int, str], nodes_on_cpu: int
) -> None:
    """Fills in the dispatches. kept: the tensors, which are the first values of `repeats`; outputs follow them. ops: by node."""
    usual, different = repeats.usual(), repeats.different()
    found.copied, found.copied_different = len(repeats.results), len(different)
    first_in: dict[int, int] = {}
    for inference in different:
        result = repeats.results[inference]
        first = next(index for index, one in enumerate(result) if one != usual[index])
        first_in[first] = first_in.get(first, 0) + 1
    for index in sorted(first_in):
        if index < len(kept):
            one = kept[index]
            told = " + ".join(ops[node] for node in one.nodes if node in ops and ops[node] not in _CONSTANTS)
            found.dispatches.append(
                schema.DifferentDispatch(
                    first_in=first_in[index], partition=one.partition, dispatch=one.dispatch, nodes=list(one.nodes),
                    ops=told, tensor=one.tensor, **schema.plain(repeats.spread(index)),
                )
            )  # fmt: skip
    if not found.dispatches:
        found.note = _note(found, len(kept), nodes_on_cpu)


def _note(found: schema.Determinism, tensors: int, nodes_on_cpu: int) -> str:
    if not tensors:
        return "no tensor can be copied: no node ran on the GPU, or the library has no dump_tensors"
    if not found.copied_different:
        return (
            f"not reproduced in {found.copied} inferences with copies of all tensors: these wait for each dispatch,"
            " so a race between dispatches, or in what follows the last one, does not show"
        )
    where = f"{counted(nodes_on_cpu, 'node')} on the CPU, or the way back" if nodes_on_cpu else "the way back"
    return (
        f"outputs differ in {found.copied_different} of {found.copied} inferences with copies of all tensors, and no tensor"
        f" of the GPU does: {where} from the GPU"
    )


def conclude(found: schema.Determinism, spec: RunSpec) -> None:
    """The sentence, and whether all is well. spec: how many were asked for."""
    found.ok = not (found.inferences_different or found.processes_different or found.failed)
    said = []
    if found.inferences:
        said.append(f"{found.inferences_different} of {counted(found.inferences, 'inference')} differ")
        said[-1] += _deadline(found.inferences, spec.same_inferences)
    if found.processes:
        said.append(f"{found.processes_different} of {counted(found.processes, 'process')} differ")
        said[-1] += _deadline(found.processes + found.failed, spec.same_processes)
    if found.failed:
        said.append(f"{found.failed} process{'es' if found.failed > 1 else ''} failed, first: {found.error}")
    found.sentence = f"{'equal bit by bit' if found.ok else 'not the same every time'}: {', '.join(said)}"
    if found.dispatches:
        first, count = found.dispatches[0], len(found.dispatches)
        others = f" (others are first in other inferences: {count} dispatches in all)" if count > 1 else ""
        found.sentence += f"; the first dispatch that differs is {where(first)}, in {first.first_in} of {found.copied} inferences{others}"
    elif found.note:
        found.sentence += f"; {found.note}"


def _deadline(count: int, wanted: int) -> str:
    return f" (the deadline came before {wanted})" if count < wanted else ""


def where(row: schema.DifferentDispatch) -> str:
    """A dispatch in a sentence."""
    words = ", ".join(map(str, row.nodes))
    nodes = f"node{'s' if len(row.nodes) > 1 else ''} {words}" if words else "an input on its way to the GPU"
    return f"{row.dispatch} ({row.ops + ', ' if row.ops else ''}{nodes})"
