"""The caller's side of a lab: which devices there are, files to their hosts, and orders, through lost connections."""

import secrets
import threading
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

from distributed import Client
from distributed.client import ClosedClientError
from distributed.comm import CommClosedError

from host_tools.base.errors import DeviceLost, LabUnreachable, Misuse, QuadraError, RunFailed, TransferFailed
from host_tools.places.lab import address as addresses, contents, dask_logs, jobs
from host_tools.places.lab.host import Offered, Order, Reply, host_slot, resource_of, source_digest

_CONNECT_S = 10.0
_POLL_S = 0.5
_LOOK_S = 2.0
_CALL_S = 60.0
# Of dask: the scheduler or the worker is away, or another lane closed the connection that broke.
_BROKEN = (OSError, TimeoutError, CommClosedError, ClosedClientError, CancelledError)
_HOW = "start it: `./inv lab scheduler`; then `./inv lab worker ADDRESS` on each host"


class Stopped(Exception):
    """The caller wants no answer any more."""


class _Again(Exception):
    """The connection broke: what was sent may be lost."""


class Lab:
    """One lab, for several threads. back_s: how long a scheduler may be away; gone_s: how long a device; rejoin_s: how
    long a device may be away after the scheduler came back, whose workers have to find it first."""

    def __init__(self, address: str = "", back_s: float = 120.0, gone_s: float = 15.0, rejoin_s: float = 60.0) -> None:
        self.address = addresses.checked(address)
        self.back_s, self.gone_s, self.rejoin_s = back_s, gone_s, rejoin_s
        self._connected_at = -rejoin_s  # again; the first time workers are there already
        self.sent_bytes: dict[str, int] = defaultdict(int)  # by host
        self.left_out: list[str] = []  # devices of the hosts that cannot be used, and why
        self.reconnected = 0
        self._client: Any = None
        self._given_up: LabUnreachable | None = None  # the scheduler was away for too long
        self._change = threading.RLock()
        self._sending: dict[str, threading.Lock] = defaultdict(threading.Lock)
        self._there: set[str] = set()
        self._looked = 0.0
        dask_logs.silence()
        self._connect()

    def __enter__(self) -> "Lab":
        return self

    def __exit__(self, *_: object) -> None:
        with self._change:
            self._drop()

    def devices(self) -> list[Offered]:
        """Of all hosts, by host and name; `left_out` says which others there are. Misuse where a host runs another Quadra;
        LabUnreachable where there is no device."""
        found: list[Offered] = []
        try:
            answers: Mapping[str, Any] = self._client.run(jobs.about)
        except _BROKEN as error:
            raise self._unreachable(error) from error
        self.left_out.clear()
        for host, source, offered, left_out in answers.values():
            if source != source_digest():
                came_back = "it runs another version of Quadra than this machine"
                raise Misuse(f"use the host {host} of the lab", came_back, "check out the same commit on both")
            found += offered
            self.left_out += left_out
        if not found:
            came_back = "; ".join((f"workers connected: {len(answers)}, devices: none", *self.left_out))
            do_next = "`./inv lab worker ADDRESS` on each host; `./inv device list` there shows its devices"
            raise LabUnreachable(f"find devices in the lab {self.address}", came_back, do_next)
        return sorted(found, key=lambda one: (one.host, one.name))

    def there(self, full_name: str) -> bool:
        """Whether a device is offered now."""
        try:
            client = self._client
            return client is not None and resource_of(full_name) in self._offers(client)
        except (_Again, *_BROKEN):
            return False

    def run(self, device: Offered, order: Order, files: Mapping[str, Path], stopped: threading.Event) -> Reply:
        """Does an order on a device, whose host gets the files that it lacks first.

        The order is sent again after a lost connection; the host does not do it twice. DeviceLost where the device is
        away for gone_s, LabUnreachable where the scheduler is for back_s; Stopped.
        """
        while True:
            client = self._connected(stopped)
            try:
                self._wait_for(client, device, stopped)
                self._bring(client, device, files, stopped)
                return _reply(self._ask(client, device, stopped, device.resource, jobs.run, order), device)
            except (Stopped, KeyboardInterrupt):
                self._stop(client, device, order.spec.run_id)
                raise
            except (_Again, *_BROKEN):
                if client.status != "running":
                    self._lost(client)
                time.sleep(_POLL_S)

    def _ask(
        self, client: Any, device: Offered, stopped: threading.Event, slot: str, function: Any, *words: Any
    ) -> Any:
        """What a function of jobs says on the device's host; slot: the resource that it takes there."""
        future = client.submit(function, *words, resources={slot: 1}, pure=False)
        ended = threading.Event()
        future.add_done_callback(lambda _: ended.set())
        try:
            while not ended.wait(_POLL_S):
                if stopped.is_set():
                    raise Stopped
                if client.status != "running":
                    raise _Again
                self._wait_for(client, device, stopped)
            if future.status in ("cancelled", "lost"):
                raise _Again
            if future.status == "error":
                error = future.exception()
                if type(error).__name__ == "KilledWorker":
                    raise self._gone(device, "its worker died several times while it worked")
                came_back = f"the worker says: {type(error).__name__}: {error}"
                raise RunFailed(f"use {device.full_name}", came_back, "see its terminal")
            return future.result(timeout=_CALL_S)
        finally:
            future.release()  # what nobody waits for is not begun; what was begun ends by itself

    def _stop(self, client: Any, device: Offered, run_id: str) -> None:
        try:
            self._ask(client, device, threading.Event(), host_slot(device.host), jobs.stop, run_id)
        except (_Again, *_BROKEN, QuadraError):
            pass  # it ends by itself

    def _wait_for(self, client: Any, device: Offered, stopped: threading.Event) -> None:
        """Until the device is offered; DeviceLost where that takes too long."""
        end = max(time.monotonic() + self.gone_s, self._connected_at + self.rejoin_s)
        while True:
            offers = self._offers(client)
            if device.resource in offers:
                return
            if stopped.is_set():
                raise Stopped
            if time.monotonic() > end:
                left = host_slot(device.host) in offers
                raise self._gone(device, "its host does not offer it any more" if left else "its host's worker is gone")
            time.sleep(_POLL_S)

    def _offers(self, client: Any) -> set[str]:
        """The resources of all workers; asked every two seconds, for all threads."""
        with self._change:
            if time.monotonic() - self._looked > _LOOK_S:
                try:
                    workers = client.scheduler_info()["workers"]
                except _BROKEN as error:
                    raise _Again from error
                self._there = {name for one in workers.values() for name, count in one["resources"].items() if count}
                self._looked = time.monotonic()
            return self._there

    def _bring(self, client: Any, device: Offered, files: Mapping[str, Path], stopped: threading.Event) -> None:
        """Sends what the host lacks, piece by piece."""

        def ask(function: Any, *words: Any) -> Any:
            value, why = self._ask(client, device, stopped, host_slot(device.host), function, *words)
            if why:
                do_next = "see the disk of that host"
                raise TransferFailed(f"send files to the host {device.host}", why, do_next, step="lab")
            return value

        names = {contents.name_of(path): path for path in files.values()}
        with self._sending[device.host]:
            for name in ask(jobs.missing, list(names)):
                token, size = secrets.token_hex(16), names[name].stat().st_size
                with open(names[name], "rb") as stream:
                    for offset in range(0, max(size, 1), contents.PIECE_BYTES):
                        data = stream.read(contents.PIECE_BYTES)
                        ask(jobs.put, name, token, offset, data, offset + len(data) >= size)
                        self.sent_bytes[device.host] += len(data)

    def _connected(self, stopped: threading.Event) -> Any:
        """The connection; a new one where it broke, tried for back_s."""
        end = time.monotonic() + self.back_s
        while True:
            with self._change:
                if self._given_up:
                    raise self._given_up
                if self._client is not None and self._client.status == "running":
                    return self._client
                try:
                    self._drop()
                    self._connect()
                    self.reconnected += 1
                    self._connected_at = time.monotonic()
                    return self._client
                except LabUnreachable as error:
                    if time.monotonic() > end:
                        self._given_up = error
                        raise
            if stopped.wait(_POLL_S):
                raise Stopped

    def _connect(self) -> None:
        try:
            self._client = Client(self.address, timeout=_CONNECT_S, set_as_default=False)
        except (*_BROKEN, ValueError, RuntimeError) as error:
            raise self._unreachable(error) from error
        self._looked = 0.0

    def _lost(self, client: Any) -> None:
        with self._change:
            if self._client is client:
                self._drop()

    def _drop(self) -> None:
        if self._client is not None:
            client, self._client = self._client, None
            try:
                client.close(timeout=2)
            except _BROKEN:
                pass

    def _unreachable(self, error: BaseException) -> LabUnreachable:
        return LabUnreachable(f"reach the lab's scheduler {self.address}", dask_logs.first_line(error), _HOW)

    def _gone(self, device: Offered, why: str) -> DeviceLost:
        do_next = f"see the terminal of `./inv lab worker` on {device.host}"
        return DeviceLost(f"use {device.full_name}", why, do_next, serial=device.serial, step="lab")


def _reply(value: Any, device: Offered) -> Reply:
    if not isinstance(value, Reply):
        raise RunFailed(f"run on {device.full_name}", "its worker gave no reply", "check out the same commit on both")
    return value


def listed(devices: Sequence[Offered]) -> str:
    """3 hosts, 6 devices"""
    hosts = len({one.host for one in devices})
    return f"{hosts} host{'s' if hosts != 1 else ''}, {len(devices)} device{'s' if len(devices) != 1 else ''}"
