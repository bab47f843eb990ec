"""The two processes of a lab that keep running: the scheduler, and a worker on each host."""

import asyncio
import signal
import socket
import tempfile
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import dask
from distributed import Scheduler, Worker
from distributed.utils import get_ip

from host_tools.base import installed, settings
from host_tools.base.errors import LabUnreachable, Misuse, QuadraError
from host_tools.places.lab import address as addresses, dask_logs
from host_tools.places.lab.host import Host, Offered, host_slot

_LOOK_EVERY_S = 5.0
_AGAIN_S = 1.0
_THREADS = 64  # of a worker: more than a host has devices, whose slots are the limit
# A worker whose host lost power or network is given up after this time; one whose process died at once.
_SILENT = "60s"
Say = Callable[[str], None]


class LastingThreadPoolExecutor(ThreadPoolExecutor):
    """Outlives a connection to the scheduler: dask would wait for runs that still go on before it connects again."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        pass


def scheduler(listen: str, port: int, say: Say) -> None:
    """Serves until Ctrl-C. LabUnreachable where the port cannot be had."""
    _until_interrupted(_scheduler(listen, port, say))


async def _scheduler(listen: str, port: int, say: Say) -> None:
    with dask.config.set({"distributed.scheduler.worker-ttl": _SILENT}):
        try:
            async with Scheduler(host=listen, port=port, dashboard=False, dashboard_address=f"{listen}:0") as served:
                say(f"scheduler   {served.address}")
                say(installed.said(f"workers     ./inv lab worker {served.address}"))
                runs = f"./inv regress SUITE --lab {served.address}, or ./inv bench --lab {served.address}"
                say(installed.said(f"runs        {runs}"))
                await served.finished()
        except (OSError, ValueError) as error:
            do_next = "give another --port, or --listen with an address of this machine"
            raise LabUnreachable(f"listen on {listen}:{port}", str(error), do_next) from error


def worker(address: str, host_name: str, say: Say, host: Host | None = None) -> None:
    """Offers this host's devices until Ctrl-C; connects again whenever the scheduler comes back.

    host: instead of one with the devices of this machine's adb server.
    """
    address = addresses.checked(address)
    name = host_name or socket.gethostname()
    if not addresses.NAME.fullmatch(name):
        raise Misuse(f"call this host {name!a}", "a name has up to 64 letters, digits, dots and dashes", "give --host")
    host = host or Host(name, settings.read().devices_dir / ".lab")
    try:
        _until_interrupted(_worker(address, host, say))
    finally:
        host.stop()


async def _worker(address: str, host: Host, say: Say) -> None:
    threads, reason = LastingThreadPoolExecutor(_THREADS), ""
    await asyncio.to_thread(host.look)  # what keeps it from looking is said at once; later it may pass
    with tempfile.TemporaryDirectory(prefix="quadra-lab-") as scratch:
        while True:
            try:
                await _serve(address, host, say, threads, scratch)
                found = "the scheduler is gone"
            except (OSError, TimeoutError, ValueError, RuntimeError, QuadraError) as error:
                found = dask_logs.first_line(error.__cause__ or error)
            if found != reason:
                say(f"{host.host}: {found}; trying {address} again until Ctrl-C")
            reason = found
            await asyncio.sleep(_AGAIN_S)


async def _serve(address: str, host: Host, say: Say, threads: ThreadPoolExecutor, scratch: str) -> None:
    """One connection to the scheduler, to its end."""
    offered = await asyncio.to_thread(host.look)
    here = get_ip(addresses.host_of(address))  # listens only where the scheduler is reached
    async with Worker(
        address,
        name=host.host,  # dask refuses a second worker of that name
        host=here,
        nthreads=_THREADS,
        executor=threads,
        memory_limit=0,
        resources={**_slots(offered), host_slot(host.host): float(_THREADS)},
        plugins=(host,),
        local_directory=scratch,
        dashboard=False,
        dashboard_address=f"{here}:0",
        death_timeout=10,
    ) as served:
        say(f"{host.host}: {_listed(offered)}; scheduler {address}")
        looking = asyncio.create_task(_keep_looking(served, host, offered, say))
        try:
            await served.finished()
        finally:
            looking.cancel()


async def _keep_looking(served: Any, host: Host, before: list[Offered], say: Say) -> None:
    """Devices come and go: their slots, too."""
    while True:
        await asyncio.sleep(_LOOK_EVERY_S)
        try:
            now = await asyncio.to_thread(host.look)
        except Exception as error:  # of adb; the next look may go well
            say(f"{host.host}: cannot look for devices: {dask_logs.first_line(error)}")
            continue
        if {one.resource for one in now} != {one.resource for one in before}:
            gone = {one.resource: 0.0 for one in before}
            await served.set_resources(**{**gone, **_slots(now)})
            say(f"{host.host}: {_listed(now)}")
        before = now


def _slots(offered: list[Offered]) -> dict[str, float]:
    return {one.resource: 1.0 for one in offered}


def _listed(offered: list[Offered]) -> str:
    return ", ".join(one.name for one in offered) or "no device"


def _until_interrupted(work: Coroutine[Any, Any, None]) -> None:
    """Each Ctrl-C or SIGTERM cancels `work`: an exception in the middle of dask's code may be lost there."""
    dask_logs.silence()
    asyncio.run(_cancelled_by_signals(work))


async def _cancelled_by_signals(work: Coroutine[Any, Any, None]) -> None:
    task = asyncio.ensure_future(work)
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    try:
        await task
    except asyncio.CancelledError:
        pass
