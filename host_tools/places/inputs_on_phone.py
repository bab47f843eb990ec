"""Many inputs of one model on a device: pushed in batches, run by one process for each batch, brought and judged batch by batch.

A batch is whole when its outputs are here and the CPU's beside them: what a lost device leaves undone is only the batch that it
was at, and of that what it had written. `further_inputs` asks for the rest again.
"""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from host_tools.base import interrupt
from host_tools.base.errors import QuadraError
from host_tools.build import artifacts
from host_tools.phone.adb import lock
from host_tools.phone.app import install_app
from host_tools.phone.app.remote_folder import SET
from host_tools.phone.files import transfer
from host_tools.places import on_host
from host_tools.places.on_phone import Phone, PhoneAttempt
from host_tools.places.on_phone_shell import PhoneShell, ShellAttempt
from host_tools.places.place import Show
from host_tools.record import peer_names, run_folder, schema
from host_tools.record.run_folder import RunFolder
from host_tools.record.spec import RunSpec
from host_tools.request import inputs, model_facts

MOST = 64  # of a batch
MOST_BYTES = 64 << 20
_SHARE = 4  # a batch is given so small a part of the deadline of its process
_STATEFUL = ("VAR_HANDLE", "CALL_ONCE")


class _Batches(PhoneAttempt):
    """What an attempt with many inputs does otherwise than one run. The mode of its runner is `inputs`."""

    more: ClassVar[Mapping[str, str]] = {"store": transfer.STORE}
    into: Path  # the folder of the run
    wanted: Mapping[str, RunSpec]
    seconds_each: float
    total: int

    def _measure(self) -> tuple[dict[str, schema.Cold], dict[str, Any]]:
        content = Path(self.spec.model.path).read_bytes()
        named = inputs.of_model(content, self.spec.signature)
        anew = keeps_state(content, self.spec.signature)
        peers = [peer for peer in self.spec.peers if peer == peer_names.XNNPACK]
        left = list(self.wanted)
        for batch in batches(self._made(named, left), self._most()):
            done = self.total - len(left)
            self._begin(f"push inputs {done + 1} to {done + len(batch)} of {self.total}")
            arrays = {name: sorted((self.folder / SET / name / "inputs").glob("*.npy")) for name in batch}
            there = self.remote.fill_set(self.folder, arrays, anew, self.show)
            self._start("inputs", peers)
            self._bring()
            self.device.shell(["rm", "-f", *there], timeout_s=20.0, check=False, step="remove the inputs")
            self._settle(done)
            left = left[len(batch) :]
        return {}, {}

    def _most(self) -> int:
        """Inputs that a process computes in a small part of its deadline."""
        return max(1, min(MOST, int(self.spec.deadline_s / _SHARE / max(self.seconds_each, 1e-3))))

    def _made(self, named: Sequence[Any], left: Sequence[str]) -> Iterator[tuple[str, int]]:
        """The inputs, one after the other: spec.json and arrays of each in its folder; and their bytes."""
        for name in left:
            folder = self.folder / SET / name
            folder.mkdir(parents=True, exist_ok=True)
            run_folder.write_json(folder / RunSpec.FILE, self.wanted[name].to_json())
            arrays = inputs.make(self.wanted[name].inputs, named)
            run_folder.write_arrays(folder / "inputs", arrays)
            yield name, sum(array.nbytes for array in arrays)

    def _bring(self) -> None:
        self.remote.pull_set(self.folder / SET, self.show)

    def _check(self) -> None:
        pass

    def _settle(self, done: int = 0) -> None:
        """Computes the CPU's outputs of what came, and moves it into the run's folder."""
        came = [path for path in sorted((self.folder / SET).iterdir()) if (path / schema.Tensors.FILE).exists()]
        if not came:
            return
        self._begin(f"make the CPU's reference of {done + len(came)} of {self.total} inputs")
        argv, env = on_host.python_command("host_tools.places.cpu_reference", *came)
        self.start("reference", argv, env)
        (self.into / SET).mkdir(exist_ok=True)
        for path in came:
            run_folder.write_json(path / schema.Status.FILE, schema.Status(state=run_folder.COMPLETE, stage="done"))
            path.rename(self.into / SET / path.name)

    def _complete(self, starts: dict[str, schema.Cold], more: dict[str, Any], library: Path) -> None:
        pass


class InApp(_Batches):
    """By the test app."""


class InShell(_Batches, ShellAttempt):
    """By the native runner."""


def run(place: Phone | PhoneShell, folder: RunFolder, wanted: Mapping[str, RunSpec], show: Show) -> None:
    """Runs these at a device, and leaves a run folder in `set/` of `folder` for each, by its name there. What an error left undone
    is asked for again by the caller."""
    library, runs = place.delegate(), folder.path / f".{SET}"
    made = place.app() if isinstance(place, Phone) else place.program()
    spec = place.aim(next(iter(wanted.values())))
    shutil.rmtree(runs, ignore_errors=True)
    try:
        with interrupt.once(), lock.lease(place.device.serial, f"run {spec.model.name} on many inputs"):
            attempt = _attempt(place, run_folder.partial(spec, runs), spec, show)
            attempt.into, attempt.wanted, attempt.total = folder.path, wanted, len(wanted)
            attempt.seconds_each = _seconds_each(folder)
            try:
                attempt.finish(lambda: attempt.work(made, library), lambda: None)
            except QuadraError as error:
                if error.kept:
                    attempt.folder = error.kept
                    attempt._settle()
                raise
    finally:
        shutil.rmtree(runs, ignore_errors=True)


def _attempt(place: Phone | PhoneShell, folder: Path, spec: RunSpec, show: Show) -> InApp | InShell:
    if isinstance(place, Phone):
        return InApp(folder, spec, show, place.device)
    attempt = InShell(folder, spec, show, place.device)
    attempt.runtime, attempt.library = artifacts.runtime(install_app.abi_of(place.device)), place.delegate()
    return attempt


def batches(made: Iterator[tuple[str, int]], most: int) -> Iterator[list[str]]:
    """Names, as many together as a batch takes: their count, and the bytes of their arrays."""
    batch: list[str] = []
    size = 0
    for name, count in made:
        if batch and (len(batch) == most or size + count > MOST_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(name)
        size += count
    if batch:
        yield batch


def keeps_state(content: bytes, signature: str) -> bool:
    """Whether an inference depends on earlier ones of the same interpreter: then each input gets one of its own."""
    nodes = model_facts.read(content, "the model", signature)["nodes"]
    return bool(model_facts.variables(content, signature)) or any(node["op"] in _STATEFUL for node in nodes)


def _seconds_each(folder: RunFolder) -> float:
    """What one takes, from the run of the first input: a start of Quadra, an inference of each."""
    timings = folder.read(schema.Timings)
    inferences = sum(max(samples, default=0) for samples in timings.samples_us.values())
    start = timings.init_us.get("quadra_warm")
    return (inferences + (start.total_us if start else 0)) / 1e6
