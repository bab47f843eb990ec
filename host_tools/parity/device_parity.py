"""`inv parity --on`: test vectors, random graphs, dead lanes and models on a device, in few processes. See docs/devices.md.

First each API tells its target. Then every case runs once in each of its columns, several cases in a model; parts of models
that did not run are repeated alone. At last what may mend a wrong case is tried on it.
"""

import getpass
import socket
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from host_tools.base import digests, interrupt
from host_tools.base.errors import DeviceError, JudgementFailed, Misuse, QuadraError
from host_tools.base.units import counted
from host_tools.judge import judged_cases as judged
from host_tools.judge.judged_cases import Found
from host_tools.parity.device_parity_log import Log, key, opened
from host_tools.parity.device_parity_session import CaseMaker, Session, Show, case_maker
from host_tools.phone.adb import choice, lock
from host_tools.phone.adb.adb_device import Device
from host_tools.phone.state import device_facts, readiness
from host_tools.places import cases_on_device
from host_tools.places.cases_on_device import CasesOnDevice, Parts
from host_tools.record import without_names
from host_tools.record.case_set import CaseSet
from host_tools.show import device_parity_page

_FACTS = ("manufacturer", "model", "soc", "soc_manufacturer", "hardware", "release", "sdk", "abis", "build", "page_bytes", "virtual")  # fmt: skip
_COSTS = ("seconds", "processes", "pushed_bytes", "pulled_bytes")


def measure(
    device: Device,
    library: Path | None,
    ops: Sequence[str],
    quick: bool,
    fresh: bool,
    show: Show,
    made: Parts | None = None,
) -> tuple[Found, Path]:
    """Runs all of it, or what an earlier run has left to do; returns what was found, and the folder with log, page and JSON.

    A DeviceError says which case the device was at; the log is kept, the page shows what there is, and the next call goes on.
    """
    maker = case_maker(ops, quick)
    show("make the cases")
    with interrupt.once(), maker.made() as cases:  # an op that there is not is named before anything is built
        show("build what the device needs")
        made = made or cases_on_device.parts(device, library)
        with lock.lease(device.serial, "parity"):
            return _measured(device, made, maker, cases, quick, fresh, show)


def _measured(
    device: Device, made: Parts, maker: CaseMaker, cases: CaseSet, quick: bool, fresh: bool, show: Show
) -> tuple[Found, Path]:
    sha256 = digests.sha256_of(made.library)
    log = opened([device.serial, sha256, cases.digest()], fresh)
    log.add("asked", quick=quick, left_out=maker.left_out, sha256=sha256, bytes=made.library.stat().st_size)
    session = Session(CasesOnDevice(device, made, show), log, show)
    started = time.monotonic()
    try:
        if not log.has("device"):
            readiness.put_right(device)
            log.add("device", facts=device_facts.of(device))
        with readiness.ready(device, show):
            session.runner.push()
            session.probe(cases)
            session.main(cases)
            session.alone(maker)
            session.mend(maker)
        log.finish()
    except QuadraError as error:
        log.add(_next(log, "interruption"), at=session.at, error=error.came_back.partition("\n")[0])
        raise _told(error, session, device) from error
    finally:
        runner = session.runner
        took = (time.monotonic() - started, runner.processes, runner.sent_bytes, runner.received_bytes)
        log.add(_next(log, "cost"), **dict(zip(_COSTS, took)))
        found = _found(session)
        device_parity_page.write(cleaned(found, [device.serial]), log.folder)
    return found, log.folder


def device_of(on: str) -> Device:
    devices = choice.choose(on)
    if len(devices) > 1:
        raise Misuse(f"parity --on {on}", f"{len(devices)} devices are meant", "name one, or give --on any")
    if devices[0].unusable:
        raise devices[0].unusable
    return devices[0]


def _told(error: QuadraError, session: Session, device: Device) -> QuadraError:
    """The error with the case that the device was at. What was found so far stays."""
    if not isinstance(error, DeviceError):
        error.kept = session.log.folder
        return error
    found = f"{error.came_back}\n  it was at {session.at}; kept until then: {counted(session.runs(), 'run')}"
    do_next = f"{error.do_next}; then give the same command: it goes on from there".lstrip("; ")
    told = type(error)(error.tried, found, do_next, serial=device.serial, step=error.step)
    told.kept = session.log.folder
    return told


def _next(log: Log, kind: str) -> str:
    return key(kind, sum(1 for _ in log.of(kind)))


def _found(session: Session) -> Found:
    log = session.log
    cost: dict[str, Any] = {name: sum(line[name] for _, line in log.of("cost")) for name in _COSTS}
    cost |= {"seconds": round(cost["seconds"]), "runs": session.runs(), "programs": session.programs()}
    asked, facts = log.lines["asked"], log.lines.get("device", {"facts": {}})["facts"]
    library = {"sha256": asked["sha256"], "bytes": asked["bytes"]}
    apis = dict[str, dict[str, Any]]()
    for (backend,), line in log.of("api"):
        apis[backend] = {"absent": line["reason"], "target": line["facts"]}
        library |= {name: line[name] for name in ("version", "made_by") if line[name]}
    found = Found({word: facts[word] for word in _FACTS if word in facts}, apis, library)
    found.rows, found.measured, found.tried = session.rows(), session.measured(), session.tried()
    found.absent, found.cost, found.quick = session.absent, {"cases": len(found.rows), **cost}, asked["quick"]
    found.left_out, found.finished = asked["left_out"], log.finished()
    found.interruptions = [f"at {line['at']}: {line['error']}" for _, line in log.of("interruption")]
    found.time = time.strftime("%Y-%m-%dT%H:%MZ", time.gmtime())
    return found


def cleaned(found: Found, device_names: Sequence[str]) -> dict[str, Any]:
    """What may be shown to others: without the names of device, computer and user, and without paths."""
    names = [*device_names, socket.gethostname(), getpass.getuser(), str(Path.home())]
    document: dict[str, Any] = without_names.cleaned(judged.document(found), names)
    return document


def fail_if_bad(found: Found, folder: Path) -> None:
    """JudgementFailed when a case is not right, or none ran."""
    bad = judged.bad(found)
    if bad or not found.rows:
        came_back = f"{len(bad)} of {len(found.rows)} are not right" if found.rows else "no case ran: no GPU API works"
        error = JudgementFailed("run the cases on the device", came_back, "the page names each, and what mends it")
        error.kept = folder
        raise error
