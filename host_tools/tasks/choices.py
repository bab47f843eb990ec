"""The values that options and words of tasks may have, for the parser, help and completion. The lists are where the values
are used; they are imported only when a task with such an option is read, so that listing the tasks stays quick."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

ANY_PLACE = ("host", "jvm", "virtual", "any", "all")


@dataclass(frozen=True)
class Choices:
    """values: in the order in which help shows them. several: with commas between. other: anything else is possible, too, such
    as a file, so that these are only completed."""

    values: tuple[str, ...]
    several: bool = False
    other: bool = False

    def unknown(self, given: str) -> str | None:
        """The first value that is not possible; None: all are."""
        parts = [part.strip() for part in given.split(",")] if self.several else [given]
        wrong = (part for part in parts if part not in self.values and (part or not self.several))
        return None if self.other else next(wrong, None)


def of(task: str, option: str) -> Choices | None:
    """Those of a task's option, or word; None: it takes any text."""
    find = CHOICES.get(f"{task} {option}") or CHOICES.get(option)
    return find() if find else None


def _backends() -> Choices:
    from host_tools.record import spec

    return Choices(tuple(name for name in spec.BACKENDS if name != "null"))  # that one runs nothing: it is of tests


def _planned_backends() -> Choices:
    return Choices(tuple(name for name in _backends().values if name != "auto"))


def _bench_backends() -> Choices:
    from host_tools.measure import bench_request

    return Choices(tuple(bench_request.BACKENDS))


def _precisions() -> Choices:
    from host_tools.record import spec

    return Choices(spec.PRECISIONS)


def _half_precisions() -> Choices:
    return Choices(tuple(name for name in _precisions().values if name != "f32"))


def _apis() -> Choices:
    from host_tools.record import spec

    return Choices(spec.APIS)


def _bench_apis() -> Choices:
    from host_tools.measure import bench_request

    return Choices(tuple(bench_request.APIS))


def _references() -> Choices:
    from host_tools.run import token_generation

    return Choices(token_generation.AGAINST)


def _routes() -> Choices:
    from host_tools.record import spec

    return Choices(tuple(filter(None, spec.ROUTES)))


def _peers() -> Choices:
    from host_tools.record import spec

    return Choices(spec.PEERS, several=True)


def _abis(several: bool) -> Choices:
    from host_tools.base.android import ABIS

    return Choices((*ABIS, "all"), several=several)


def _sanitizers() -> Choices:
    from host_tools.dev import sanitize

    return Choices(tuple(sanitize.RUNTIMES), several=True)


def _checks() -> Choices:
    from host_tools.dev import lint

    return Choices(tuple(lint.checks()), several=True)


def _gpus() -> Choices:
    from host_tools.analyse import phone_gpus

    return Choices(tuple(gpu.name for gpu in phone_gpus.GPUS), several=True)


def _driver() -> Choices:
    from host_tools.drivers import driver_table

    return _or_other(driver.name for driver in driver_table.DRIVERS)  # the task says which there are


def _targets() -> Choices:
    from host_tools.request import from_arguments

    return _or_other(from_arguments.listed_targets())


def _suites() -> Choices:
    from host_tools.judge.regression import suite

    return _or_other(path.stem for path in suite.FOLDER.glob("*.toml"))


def _models() -> Choices:
    from host_tools.request import models

    own = (path.stem for _, files in models.own_files() for path in files)
    return _or_other({*own, *models.catalogue()})


def _drivers() -> Choices:
    from host_tools.drivers import driver_table

    return Choices(("all", *(driver.name for driver in driver_table.DRIVERS)), several=True)


def _fuzzed() -> Choices:
    from host_tools.dev.fuzz import fuzz

    return _or_other(fuzz.KINDS)


def _or_other(names: Iterable[str]) -> Choices:
    return Choices(tuple(sorted(names)), other=True)


# By option, or by task and option where a task has its own.
CHOICES: dict[str, Callable[[], Choices]] = {
    "abi": lambda: _abis(several=False),
    "aar abi": lambda: _abis(several=True),
    "apk abi": lambda: _abis(several=True),
    "generate against": _references,
    "api": _apis,
    "bench api": _bench_apis,
    "backend": _backends,
    "advise backend": _planned_backends,
    "bench backend": _bench_backends,
    "plan backend": _planned_backends,
    "support backend": _planned_backends,
    "driver": _driver,
    "gpu": _gpus,
    "model": _models,
    "models": _models,
    "on": lambda: _or_other(ANY_PLACE),
    "lint only": _checks,
    "models make": lambda: Choices(("decoder",)),
    "peer": _peers,
    "analyse peer": lambda: Choices(("shipped-gles", "shipped-opencl", "ml-drift")),
    "precision": _precisions,
    "overflow precision": _half_precisions,
    "sanitize": _sanitizers,
    "suite": _suites,
    "target": _targets,
    "test drivers": _drivers,
    "via": _routes,
    "fuzz what": _fuzzed,
}
