"""What a caller asks of a worker. dask calls these functions in threads of the worker's process."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from distributed import get_worker

from host_tools.base.errors import QuadraError
from host_tools.places.lab.host import Host, Offered, Order, Reply, of_worker

T = TypeVar("T")


def about(dask_worker: Any) -> tuple[str, str, list[Offered], list[str]]:
    """The host's name, the digest of its Quadra, its devices, and which others cannot be used, and why."""
    host = of_worker(dask_worker)
    return host.host, host.source, host.offered(), host.left_out


def missing(names: Sequence[str]) -> tuple[list[str], str]:
    """Those of the contents that the host does not have; and why it cannot say."""
    return _said(lambda host: host.contents.missing(names), [])


def put(name: str, token: str, offset: int, data: bytes, last: bool) -> tuple[None, str]:
    """The next piece of a content; why it was not taken."""
    return _said(lambda host: host.contents.put(name, token, offset, data, last), None)


def stop(run_id: str) -> None:
    """Ends a run."""
    of_worker(get_worker()).stop(run_id)


def run(order: Order) -> Reply:
    """Does an order."""
    return of_worker(get_worker()).run(order)


def _said(work: Callable[[Host], T], otherwise: T) -> tuple[T, str]:
    """QuadraErrors as text: pickle makes no three-part error of them again."""
    try:
        return work(of_worker(get_worker())), ""
    except QuadraError as error:
        return otherwise, f"{error.tried}: {error.came_back}"
