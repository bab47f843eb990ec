"""The cells of a suite as RunSpecs."""

from dataclasses import replace

from host_tools.judge.regression.suite import Cell, Suite
from host_tools.places.place import Place
from host_tools.record.spec import RunSpec
from host_tools.request import from_arguments, models


def spec_of(cell: Cell, suite: Suite, place: Place, profile: bool = False) -> RunSpec:
    """A RunSpec of the cell, aimed at the place; Misuse where the model is not here."""
    peers = tuple(p for p in suite.peers if place.kind != "host" or p == "xnnpack")
    spec = from_arguments.make_spec(
        cell.model,
        target=cell.target,
        sizes=cell.sizes,
        seed=suite.seed,
        backend=cell.backend,
        precision=cell.precision,
        repetitions=suite.repetitions,
        threads=suite.threads,
        peers=peers,
        profile=profile,
        cold=suite.cold,
        deadline_s=suite.deadline_s,
        **from_arguments.destination(place.name),
    )
    return place.aim(spec)


def with_signatures(suite: Suite) -> Suite:
    """The suite with a cell for each of a model's several signatures. ModelNotFound for models that are not here, before
    anything runs; a suite fetches nothing."""
    models.require((from_arguments.split(cell.model)[0] for cell in suite.cells), f"run the suite {suite.name}")
    each = {
        cell: from_arguments.sizes_of_each(from_arguments.each_signature(cell.model), cell.sizes)
        for cell in suite.cells
    }
    cells = (
        replace(cell, model=word, sizes=tuple(sizes)) for cell, words in each.items() for word, sizes in words.items()
    )
    return replace(suite, cells=tuple(dict.fromkeys(cells)))
