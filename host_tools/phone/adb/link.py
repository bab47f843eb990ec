"""The way to one device: its adb server is started, the device chosen or connected anew, and what breaks gets its class."""

import re
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from adbutils.errors import AdbError, AdbTimeout

from host_tools.base.errors import DeviceError, DeviceLost, DeviceTimedOut, ReplyNotUnderstood, TransferFailed
from host_tools.phone.adb import adb_errors, sync_client
from host_tools.phone.adb.retry import Event
from host_tools.phone.adb.server import Server
from host_tools.phone.adb.server_connection import Connection, Deadline

READY = "device"
T = TypeVar("T")
_POLL_S = 0.02
_BACK_S = 10.0  # how long a device that is offline may take to come back
_SETTLED_S = 1.0  # until a device that was connected anew can be used
_LOOK_S = 1.0  # for a question to the server on this machine
_NETWORK = re.compile(r"(\[[0-9A-Fa-f:.%]+\]|[A-Za-z0-9._-]+):[0-9]{1,5}")


class _Begun(EOFError):
    """The service may have begun before the stream ended: it is not for us to ask for it twice."""


class Link:
    """Opens streams to the device with this serial. Threads may share it."""

    def __init__(self, serial: str, events: list[Event], server: Server) -> None:
        self.serial, self.events = serial, events
        self._server = server
        self._features: set[str] | None = None
        self._connections: set[Connection] = set()
        self._lock = threading.Lock()
        self.stopped = False

    def features(self, timeout_s: float) -> set[str]:
        """What the device's daemon can do."""
        if self._features is None:
            deadline = Deadline(timeout_s)
            with self.doing("features", f"ask {self.serial} what its adb daemon can do", deadline):
                self._features = self._with_server(lambda: self._ask_features(deadline), deadline)
        return self._features

    def _ask_features(self, deadline: Deadline) -> set[str]:
        said = self._ask_server(f"host-serial:{self.serial}:features", deadline)
        if not said:  # the server answers before the device has told it
            raise AdbError("device still connecting")
        return set(said.split(","))

    def stop(self) -> None:
        """Ends what other threads ask right now, and refuses what comes."""
        with self._lock:
            self.stopped = True
            for connection in self._connections:
                connection.close()

    def connect(self, deadline: Deadline) -> None:
        """Connects the server with a device of the network, anew if it was connected."""
        with self.doing("connect", f"connect {self.serial}", deadline):
            self._reconnect(deadline)

    @contextmanager
    def service(self, service: str, deadline: Deadline) -> Iterator[Connection]:
        """An open stream to a service of the device's daemon."""
        connection = self._with_server(lambda: self._start(service, deadline), deadline)
        try:
            yield connection
        finally:
            self._close(connection)

    def _with_server(self, work: Callable[[], T], deadline: Deadline) -> T:
        """What `work` returns. It asks the server for the device; the server is started and the device connected."""
        for last in (False, False, True):
            try:
                return work()
            except (ConnectionError, EOFError) as error:
                if last or self.stopped or isinstance(error, _Begun):
                    raise
                if self._server.up(deadline):
                    self._event("restart", "the adb server was not running")
            except AdbError as error:
                if last or isinstance(error, AdbTimeout) or not self._mend(str(error), deadline):
                    raise
        raise AssertionError("the last attempt returns or raises")

    def _start(self, service: str, deadline: Deadline) -> Connection:
        connection = self._choose(deadline)
        try:
            connection.request(service)
            return connection
        except BaseException as error:
            self._close(connection)
            if isinstance(error, (ConnectionError, EOFError)):
                raise _Begun("the stream was closed") from error
            raise

    def _choose(self, deadline: Deadline) -> Connection:
        connection = self._open(deadline)
        try:
            connection.request(f"host:tport:serial:{self.serial}")
            connection.exact(8)  # the transport's number
            return connection
        except BaseException:
            self._close(connection)
            raise

    def _open(self, deadline: Deadline) -> Connection:
        connection = Connection(self._server.host, self._server.port, deadline)
        with self._lock:
            self._connections.add(connection)
            if self.stopped:
                connection.close()
        return connection

    def _close(self, connection: Connection) -> None:
        with self._lock:
            self._connections.discard(connection)
        connection.close()

    def _mend(self, text: str, deadline: Deadline) -> bool:
        """Whether what the server said may have passed now, after a connection or a while."""
        gone = re.search(r"not found|no devices", text)
        away = re.search(r"offline|still connecting|no transport", text)
        if _NETWORK.fullmatch(self.serial) and (gone or away or "authoriz" in text):
            self._reconnect(deadline)
            return True
        if not away:
            return False
        self._event("wait", adb_errors.shown(text))
        return self._settles(deadline.part(_BACK_S)) == READY

    def _reconnect(self, deadline: Deadline) -> None:
        self._event("reconnect", f"connect {self.serial}")
        try:
            self._ask_server(f"host:disconnect:{self.serial}", deadline)
        except AdbError:
            pass  # it was not connected
        settled = deadline.part(_SETTLED_S)
        while True:
            said = self._ask_server(f"host:connect:{self.serial}", deadline)
            if not re.match(r"(already )?connected to ", said):
                raise adb_errors.of_server(said, f"connect {self.serial}", self.serial, "connect")
            if "not found" not in self._settles(settled) or not settled.left():
                return  # else "already connected" meant the old connection, which was about to end

    def _settles(self, deadline: Deadline) -> str:
        """Waits while the device is on its way: its state then."""
        while True:
            state = self._state(deadline)
            if not re.search(r"offline|connecting|authorizing", state) or deadline.left() < _POLL_S:
                return state
            time.sleep(_POLL_S)

    def _state(self, deadline: Deadline) -> str:
        try:
            return self._ask_server(f"host-serial:{self.serial}:get-state", deadline)
        except (AdbError, EOFError, OSError, ValueError) as error:
            return adb_errors.shown(str(error))

    def _ask_server(self, request: str, deadline: Deadline) -> str:
        connection = self._open(deadline)
        try:
            connection.request(request)
            return connection.block()
        finally:
            self._close(connection)

    def _event(self, error: str, text: str) -> None:
        self.events.append(Event("adb", error, text))

    @contextmanager
    def doing(self, step: str, what: str, deadline: Deadline, *, transfer: bool = False) -> Iterator[None]:
        """Gives what went wrong its class: whose fault it was, and whether it may pass."""
        place = {"serial": self.serial, "step": step}
        try:
            self._go_on(what, place)
            yield
        except DeviceError:
            raise
        except (TimeoutError, AdbTimeout) as error:
            self._go_on(what, place)
            if "authoriz" in self._state(Deadline(_LOOK_S)):
                raise adb_errors.of_server("device unauthorized", what, self.serial, step) from error
            do_next = "check whether the device responds: `./inv device list`"
            raise DeviceTimedOut(what, deadline.text(), do_next, **place) from error
        except AdbError as error:
            if str(error) == "closed" and self._state(Deadline(_LOOK_S)) != READY:
                raise self._cut("closed", what, place, transfer) from error
            raise adb_errors.of_server(str(error), what, self.serial, step) from error
        except sync_client.SyncFailed as error:
            raise adb_errors.of_files(str(error), what, self.serial, step) from error
        except (ValueError, struct.error) as error:
            came_back = f"the reply is malformed: {adb_errors.shown(str(error))}"
            do_next = "try again; if it persists, this device does not follow adb's protocol"
            raise ReplyNotUnderstood(what, came_back, do_next, **place) from error
        except (EOFError, ConnectionError) as error:
            self._go_on(what, place)
            raise self._cut(str(error), what, place, transfer) from error
        except OSError:
            self._go_on(what, place)  # stop() closes what a thread reads from
            raise

    def _go_on(self, what: str, place: dict[str, str]) -> None:
        if self.stopped:
            raise DeviceError(what, "it was stopped", **place)

    def _cut(self, text: str, what: str, place: dict[str, str], transfer: bool) -> DeviceError:
        """The stream ended: because the device is gone, or though it is there."""
        state = self._state(Deadline(_LOOK_S))
        if state != READY:
            do_next = "check its cable or network; `./inv device list` shows its state"
            return DeviceLost(what, f"the connection broke ({state})", do_next, **place)
        if transfer:
            return TransferFailed(what, f"the device ended the transfer early: {text}", "try again", **place)
        error = ReplyNotUnderstood(what, f"the answer ended early: {text}", "try again", **place)
        error.retry = True  # what is whole the next time may be of the right form
        return error
