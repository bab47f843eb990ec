"""The cells of a suite as RunSpecs."""

from dataclasses import replace

from host_tools.base.errors import Misuse
from host_tools.judge.regression import suite as suites
from host_tools.judge.regression.suite import Cell, Suite
from host_tools.places.place import Place
from host_tools.record.spec import RunSpec
from host_tools.request import from_arguments, models


def spec_of(cell: Cell, suite: Suite, place: Place, profile: bool = False) -> RunSpec:
    """A RunSpec of the cell, aimed at the place; Misuse where the model is not here."""
    peers = tuple(p for p in suite.peers if place.kind != "host" or p == "xnnpack")
    spec = from_arguments.make_spec(
        cell.model,
        signature=cell.signature,
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
    cells = []
    for cell in suite.cells:
        for entry in from_arguments.entries(cell.model, "", cell.sizes):
            sizes = tuple(entry["sizes"])
            cells.append(replace(cell, model=entry["model"], signature=entry["signature"], sizes=sizes))
    try:
        return suites.checked(replace(suite, cells=tuple(dict.fromkeys(cells))))
    except ValueError as error:
        raise Misuse(f"run the suite {suite.name}", str(error), "see docs/regress.md") from error
