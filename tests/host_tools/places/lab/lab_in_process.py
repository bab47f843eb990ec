"""A lab in one process: a scheduler and workers on a loop in a thread, with hosts whose devices run nothing; and, as a
program, a caller: `python -m …lab_in_process ADDRESS SUITE FOLDER`."""

import asyncio
import contextlib
import gc
import hashlib
import os
import sys
import threading
from pathlib import Path

from distributed import Scheduler

from host_tools.base import settings
from host_tools.judge.regression import suite as suites
from host_tools.judge.regression.history import History
from host_tools.measure import regress_resume, regress_session
from host_tools.places.lab import servers
from host_tools.places.lab.client import Lab
from host_tools.places.lab.host import Host, Offered
from host_tools.places.lab.on_lab import LabDevice
from tests.host_tools import run_folders

DELEGATE = b"a delegate"
LIBRARY = hashlib.sha256(DELEGATE).hexdigest()


class FakeHost(Host):
    """behave(device, spec) is called for each run, and may raise."""

    def __init__(self, name, folder, devices, behave):
        super().__init__(name, folder)
        self.devices, self.behave, self.ran = devices, behave, []
        self.stopped = threading.Event()

    def look(self):
        found = [Offered(self.host, name, f"serial-{name}", "x86_64") for name in self.devices]
        self._offered = {one.name: one for one in found}
        return found

    def place(self, device, order):
        return FakePlace(self, device)


class FakePlace:
    def __init__(self, host, device):
        self.host, self.device = host, device

    def run(self, spec, show, runs_dir):
        assert open(spec.model.path, "rb").read(), "the model came"
        self.host.ran.append((self.device.name, spec.run_id))
        self.host.behave(self.device, spec)
        made = run_folders.make(runs_dir, environment={"library": {"sha256": LIBRARY}})
        os.rename(made.path, runs_dir / spec.run_id)
        return type(made)(runs_dir / spec.run_id)

    def stop(self):
        self.host.stopped.set()
        return True


class InProcess:
    """Starts and ends its parts from any thread."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.workers, self.port, self.said = {}, 0, []
        self.start_scheduler()

    def do(self, work, timeout=20):
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(timeout)

    def start_scheduler(self):
        async def start():
            return await Scheduler(host="127.0.0.1", port=self.port, dashboard=False, dashboard_address="127.0.0.1:0")

        self.scheduler = self.do(start())
        self.address = self.scheduler.address
        self.port = int(self.address.rpartition(":")[2])

    def stop_scheduler(self):
        """As if its process died: it says goodbye to nobody."""

        async def stop():
            for comm in [
                *self.scheduler.stream_comms.values(),
                *(c.comm for c in self.scheduler.client_comms.values()),
            ]:
                comm.abort()
            await self.scheduler.close()

        self.do(stop())

    def start_worker(self, host):
        before = len(self.said)
        self.workers[host.host] = asyncio.run_coroutine_threadsafe(
            servers._worker(self.address, host, self.said.append), self.loop
        )
        for _ in range(400):
            if any("; scheduler" in line for line in self.said[before:]):
                return host
            threading.Event().wait(0.05)
        raise AssertionError(self.said)

    def stop_worker(self, name):
        self.workers.pop(name).cancel()

    def close(self):
        """Returns when all has ended: what dask says of a forgotten task must not come behind pytest's last line."""
        for name in list(self.workers):
            self.stop_worker(name)
        with contextlib.suppress(TimeoutError):
            self.do(self.scheduler.close())
        with contextlib.suppress(TimeoutError):
            self.do(self._cancel_all())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(20)
        self.loop.close()
        gc.collect()

    async def _cancel_all(self):
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)


def places(lab, folder):
    """The lab's devices, with files that stand for an APK and a delegate."""
    (folder / "app.apk").write_bytes(b"an APK")
    (folder / "lib.so").write_bytes(DELEGATE)
    apks = {False: folder / "app.apk", True: folder / "app.apk"}
    return [LabDevice(lab, one, folder / "lib.so", apks) for one in lab.devices()]


def regress(suite, lab, folder, resume=""):
    """Runs a suite there, or goes on with a session."""
    with History(settings.read().history) as history:
        earlier = regress_resume.find(resume, suite, history) if resume else None
        devices = places(lab, folder)
        return regress_session.run(suite, devices, history, "", False, lambda text: None, lab.there, earlier)


if __name__ == "__main__":
    with Lab(sys.argv[1]) as connected:
        regress(suites.read(sys.argv[2]), connected, Path(sys.argv[3]))
