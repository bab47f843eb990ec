"""The process in which a model runs on this machine. Started by on_host.py: worker FOLDER LIBRARY MODE CACHE PEERS.

MODE `cold` times the first start only; `second` one with what that left, and XNNPACK's; `run` does everything else; `dump` only writes down what is made of the model,
where `run` did not come that far; `plans` the same with the report; `verdicts` asks only who would run what, `kernels` whether somebody can run each custom op; `repeat` compares
equal inferences; `inputs` computes the further ones of many inputs.
CACHE is the folder where the driver keeps what it compiled. PEERS: who runs beside Quadra, with a comma between them. Progress goes to stdout as `stage: …` lines; results and
errors go into the run folder.
"""

import contextlib
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from host_tools.base import cpu_drivers, portable
from host_tools.base.errors import Misuse, QuadraError
from host_tools.places import further_inputs, reference, reference_model, repeat, sustain
from host_tools.places.model_worker import Worker, stage
from host_tools.record import peer_names, run_folder, spec as specs
from host_tools.record.spec import RunSpec
from host_tools.request import inputs

if TYPE_CHECKING:
    from ai_edge_litert.interpreter import Interpreter

_PAIRS_BUDGET_S = 20.0  # slow models stop early; timings.json says how many runs there were
_PROFILED_RUNS = 10


def cold(worker: Worker, baseline_bytes: int) -> None:
    """First start with an empty driver cache, to the end of the first inference: cold.json."""
    _, _, laps = worker.start_quadra()
    run_folder.write_json(worker.folder / "cold.json", {**laps, **memory(baseline_bytes)})


def second(worker: Worker, baseline_bytes: int) -> None:
    """A start with what an earlier one left, and XNNPACK's in the same process: second.json."""
    starts = {"quadra": worker.start_quadra()[2]}
    if "xnnpack" in worker.spec.peers:
        with contextlib.suppress(QuadraError):  # the run will say why
            starts["xnnpack"] = worker.start_xnnpack()[1]
    run_folder.write_json(worker.folder / "second.json", {"starts": starts})


def verdicts(worker: Worker, baseline_bytes: int) -> None:
    """Who would run what, by the null backend: verdicts.json."""
    stage("ask the delegate for its verdicts")
    delegate = worker.interpreters.load_quadra(worker.library, worker.options())
    worker.make(worker.path, delegate=delegate)
    worker.keep_report(delegate)


def kernels(worker: Worker, baseline_bytes: int) -> None:
    """RunFailed where neither the delegate nor the interpreter has a kernel for a custom op: the null backend says that before
    drivers compile what would not run."""
    from host_tools.places import interpreters

    stage("look for kernels of custom ops")
    delegate = interpreters.load_quadra(worker.library, {"backend": "null"})
    signature = worker.spec.signature
    interpreter = interpreters.make(worker.content, worker.model, threads=1, delegate=delegate, signature=signature)
    reasons = {node["op"]: node["reason"] for node in interpreters.report_of(delegate)["nodes"] if node["on"] == "cpu"}
    try:
        interpreters.allocate(interpreter, worker.model, worker.content, worker.arrays)
    except interpreters.NoKernel as error:
        if reasons.get(error.op) == f"Quadra has no {error.op} yet":  # a GPU may have other limits, but no other ops
            raise
    except QuadraError:
        pass  # the run will say why


def full(worker: Worker, baseline_bytes: int) -> None:
    """Everything but the cold start."""
    run_folder.write_json(worker.folder / "model.json", worker.facts)
    compiled = cpu_drivers.compiled(worker.cache)
    delegate, quadra, laps = worker.start_quadra()
    worker.timings["init_us"]["quadra_warm"] = laps
    worker.timings["driver_compiled"] = cpu_drivers.compiled(worker.cache) - compiled
    worker.timings["memory"] = memory(baseline_bytes)
    worker.keep_timings()
    worker.outputs = worker.keep("outputs", quadra)
    worker.tensors["inputs"] = inputs.tensor_json(quadra.get_input_details())
    run_folder.write_arrays(worker.folder / "inputs", worker.arrays)
    worker.keep_report(delegate)
    stage(reference.STAGE)
    reference.write(worker)
    pairs(worker, {"quadra": quadra, **peers(worker)})
    if worker.spec.sustained_s:
        sustain.sustain(worker, quadra)
    if worker.spec.profile:
        profile(worker)
    if worker.spec.keep_tensors or not worker.spec.profile:
        dump(worker, baseline_bytes)


def plans(worker: Worker, baseline_bytes: int) -> None:
    """What `dump` leaves, and which of the model's graphs each plan is of."""
    run_folder.write_json(worker.folder / "model.json", worker.facts)
    dump(worker, baseline_bytes)
    verdicts(worker, baseline_bytes)


def dump(worker: Worker, baseline_bytes: int) -> None:
    """Graphs, kernels and plans, from a delegate of its own: a driver may have to compile anew to give its programs."""
    if reference_model.custom_ops(worker.content):
        kernels(worker, baseline_bytes)
    stage("save the plan")
    if worker.spec.keep_tensors:
        worker.start_quadra(dump_dir=str(worker.folder), dump_tensors="1")
        return
    delegate = worker.interpreters.load_quadra(worker.library, worker.options(dump_dir=str(worker.folder)))
    interpreter = worker.make(worker.content, delegate=delegate)
    worker.interpreters.allocate(interpreter, worker.model, worker.content, worker.arrays)


def peers(worker: Worker) -> "dict[str, Interpreter]":
    """By key, those who run beside Quadra, started and ready for timing; one that cannot run the model is left out."""
    found = {}
    for name in worker.peers:
        key = peer_names.key(name)
        try:
            interpreter, laps = worker.start_peer(name)
        except QuadraError as error:
            worker.timings[f"{key}_error"] = str(error)
            worker.keep_timings()
            continue
        worker.timings["init_us"][key] = laps
        worker.keep(f"{key}_outputs", interpreter)
        found[key] = interpreter
    return found


def pairs(worker: Worker, started: "dict[str, Interpreter]") -> None:
    """Alternated runs, the one that goes first changing too: what slows the machine slows all.

    samples_us is time on the wall, cpu_us the processor time of the whole process: on a busy machine the latter
    tells more.
    """
    stage("measure")
    runners = list(started.items())
    for _ in range(worker.spec.warm_up):
        for _, interpreter in runners:
            interpreter.invoke()
    samples: dict[str, list[int]] = {name: [] for name, _ in runners}
    cpu: dict[str, list[int]] = {name: [] for name, _ in runners}
    starts: dict[str, list[int]] = {name: [] for name, _ in runners}
    pause_s = worker.spec.delay_ms / 1000
    end = time.monotonic() + _PAIRS_BUDGET_S + worker.spec.repetitions * len(runners) * pause_s
    for run in range(worker.spec.repetitions):
        for name, interpreter in runners if run % 2 == 0 else reversed(runners):
            time.sleep(pause_s)
            began, cpu_began = time.perf_counter_ns(), time.process_time_ns()
            interpreter.invoke()
            samples[name].append((time.perf_counter_ns() - began) // 1000)
            cpu[name].append((time.process_time_ns() - cpu_began) // 1000)
            starts[name].append(began)
        if time.monotonic() > end and run >= 2:
            break
    worker.timings["samples_us"], worker.timings["cpu_us"] = samples, cpu
    worker.timings["starts_ns"] = starts
    worker.keep_timings()


def profile(worker: Worker) -> None:
    """Time per dispatch, from a delegate of its own, because asking a driver for times costs time: profile.json.
    It also does what `dump` does."""
    stage("profile each dispatch")
    dump_dir = "" if worker.spec.keep_tensors else str(worker.folder)  # the plan with copies is another one
    delegate, interpreter, laps = worker.start_quadra(profile="1", dump_dir=dump_dir)
    walls, starts = [], []
    for _ in range(_PROFILED_RUNS):
        starts.append(time.perf_counter_ns())
        worker.interpreters.invoke(interpreter, f"{worker.model} with profile=1")
        walls.append((time.perf_counter_ns() - starts[-1]) // 1000)
    report = worker.interpreters.report_of(delegate)
    value = {
        "schema_version": 1,
        "dispatch_times_by": report.get("dispatch_times_by", ""),
        "invoke_us": walls,
        "invoke_starts_ns": starts,
        "start": laps,
        "partitions": report["partitions"],
        "invokes": report.get("profile", []),
    }
    run_folder.write_json(worker.folder / "profile.json", value)


def memory(baseline_bytes: int) -> dict[str, int]:
    return {"peak_rss_bytes": portable.peak_rss_bytes(), "baseline_rss_bytes": baseline_bytes, **resident()}


def resident() -> dict[str, int]:
    """What the process holds now. Pages of a file that was mapped and not changed are the system's: they go when others need
    the memory. A changed one counts as anonymous."""
    lines = (line.split() for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines())
    kib = {words[0]: int(words[1]) for words in lines if words and words[0].startswith(("VmRSS", "Rss"))}
    return {"rss_bytes": kib["VmRSS:"] * 1024, "private_bytes": (kib["RssAnon:"] + kib["RssShmem:"]) * 1024}


MODES = {
    "cold": cold,
    "second": second,
    "run": full,
    "dump": dump,
    "plans": plans,
    "verdicts": verdicts,
    "kernels": kernels,
    "repeat": repeat.repeat,
    further_inputs.MODE: further_inputs.work,
}


def _keep_to_cores(spec: RunSpec) -> None:
    """Before anything starts threads: they would stay where they are."""
    cores = specs.cores_of(spec.cpus)
    if not cores:
        return
    try:
        if portable.use_cores(cores):
            return
        came_back = "this system has no call for it"
    except OSError as error:
        came_back = f"{error.strerror}: this process may use {portable.cpus()} cores"
    raise Misuse(f"run on the processor cores {spec.cpus}", came_back, "give cores that are there, or omit --cpus")


def _work(folder: Path, library: Path, mode: str, cache: Path, names: tuple[str, ...]) -> None:
    baseline = portable.peak_rss_bytes()
    _keep_to_cores(run_folder.RunFolder(folder).spec())
    MODES[mode](Worker(folder, library, cache, names), baseline)


def answer(folder: Path, work: Callable[[], None]) -> int:
    """Does `work`; the exit status, after an error with error.json."""
    try:
        work()
    except QuadraError as error:
        value = {"kind": type(error).__name__, "exit_code": error.exit_code, "parts": list(error.args)}
        with contextlib.suppress(QuadraError):  # on a full disk: standard error has it
            run_folder.write_json(folder / "error.json", value)
        print(f"error: {error}", file=sys.stderr, flush=True)
        return error.exit_code
    return 0


def main(argv: list[str]) -> int:
    folder, library, mode, cache = Path(argv[0]), Path(argv[1]), argv[2], Path(argv[3])
    names = peer_names.parse(argv[4])
    stage("start")
    return answer(folder, lambda: _work(folder, library, mode, cache, names))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
