"""Random models fed with hostile numbers, against the CPU interpreter's kernels, in one process: NaN, infinities, numbers
near the ends of their type, no number at all, other sizes from run to run.

    python -m tests.hostile_graphs --count 1000 --backend gles --seed 7

The same seed makes the same cases; `--first N` goes on where a run was stopped, `--case N` runs that one alone, and
`--reduce` makes it small."""

from __future__ import annotations

import argparse
import copy
import json
import os
import queue
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import hypothesis
import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from hypothesis import HealthCheck, Phase

from host_tools.base.settings import ROOT
from host_tools.drivers import driver_table
from host_tools.drivers.driver import Entry
from tests import cpu, on_driver
from tests.delegate import TOLERANCE, UNOPTIMISED, environment, options
from tests.delegate_worker import invoke, open_model, report, told
from tests.hostile_ops import BETWEEN, NEVER_EMPTY, NEVER_RESIZED, Case, cases, name, specials
from tests.model_builder import Model
from tests.random_graphs import Graph

_CHUNK = 25  # cases that hypothesis makes from one seed
_ROUNDS = 5
_SILENCE_S = 120  # of a worker, before it counts as hanging
_NUDGES = (1e-6, -1e-6, 3e-6)
# What Quadra says where a size is 0, which the CPU takes: it is an error until the next resize (test_sizes.py).
# Or where sizes do not fit, which the CPU's FULLY_CONNECTED does not look at.
_NOTHING = re.compile(
    "no numbers.*numbers all the same|its result is empty|its result has 0 elements|part [0-9]+ is empty|(now has no numbers).*|InvalidModel: (reshape|batch_matmul): .*|does not fit into|axes of rank|now has rank"
)
_NAMED = re.compile("'t[0-9]+'")
Feeds = list[np.ndarray]


# Cases and what is fed to them


def made(base: int, first: int, strategy=None) -> Iterator[tuple[int, Case]]:
    """Cases of a seed with their numbers, from `first` on."""
    for chunk in range(first // _CHUNK, 1 << 40):
        found: list[Case] = []
        _examples(base, chunk, found.append, strategy)
        for number, case in enumerate(found[:_CHUNK], chunk * _CHUNK):
            if number >= first:
                yield number, case


def _examples(base: int, chunk: int, take: Callable[[Case], None], strategy=None, phases=(Phase.generate,)) -> None:
    """The first example is always the simplest one, and not worth its time: it is left out."""
    seen = []

    @hypothesis.seed(base * 1_000_003 + chunk)
    @hypothesis.settings(
        max_examples=_CHUNK + 1,
        phases=phases,
        database=None,
        deadline=None,
        derandomize=False,
        suppress_health_check=list(HealthCheck),
    )
    @hypothesis.given(cases() if strategy is None else strategy)
    def examples(case):
        seen.append(1)
        if len(seen) > 1:
            take(case)

    examples()


def rounds(case: Case) -> list[Feeds]:
    """What is fed, run after run: ordinary numbers, hostile ones, hostile ones of other sizes, the first sizes again."""
    generator = np.random.default_rng([case.graph.seed, 5])
    shapes = [value.shape for value in case.graph.model.inputs]
    if any(value.variable for value in case.graph.model.values):
        return [_feeds(case, generator, shapes, turn) for turn in (0, 0, 1)]
    fed = [_feeds(case, generator, shapes, 0), _feeds(case, generator, shapes, 1)]
    for turn in (2, 3):
        fed += [_feeds(case, generator, _resized(case, generator, shapes), turn)]
    return [*fed, _feeds(case, generator, shapes, 4)]


def _resized(case: Case, generator: np.random.Generator, shapes: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Sizes where one axis of an input has another length, and those of other inputs that have its length."""
    long = [shape for shape in shapes if shape]
    if not long or case.ops & NEVER_RESIZED:
        return shapes
    chosen = long[generator.integers(len(long))]
    axis = generator.integers(len(chosen)) if generator.integers(2) else 0
    before = chosen[axis]
    # Places would be beyond a smaller table: the CPU may read there.
    bounded = any(source.bounded for source in case.graph.sources)
    bounded |= bool(case.ops & NEVER_EMPTY)
    after = generator.choice([before + 1, 2 * before] if bounded else [0, 0, 1, before + 1, 2 * before])
    return [
        tuple(int(after) if i == axis and n == before and len(s) == len(chosen) else n for i, n in enumerate(s))
        for s in shapes
    ]


def _feeds(case: Case, generator: np.random.Generator, shapes: list[tuple[int, ...]], turn: int) -> Feeds:
    fed = []
    victim = generator.integers(max(len(shapes), 1))
    for i, (value, source, shape) in enumerate(zip(case.graph.model.inputs, case.graph.sources, shapes)):
        array = source.make(generator, value.dtype, shape)
        fed.append(array)
        numbers = specials(value.dtype, case.ops)
        if turn == 0 or source.bounded or not numbers.size or not array.size:
            continue
        if case.sums and value.dtype == "float32":  # one number, whose way through the sums is known
            count = 1 if i == victim else 0
        else:
            count = max(1, array.size // (2 if turn % 2 else 5))
        places = generator.permutation(array.size)[:count]
        array.reshape(-1)[places] = generator.choice(numbers, len(places))
    return fed


# The CPU, and what is right


class Cpu:
    """One of the interpreter's sets of kernels with a model; by default the plain ones, which keep all tensors."""

    def __init__(self, model: bytes, kernels: str = "") -> None:
        if kernels:
            resolver = OpResolverType[kernels]
            self._interpreter = Interpreter(model_content=model, experimental_op_resolver_type=resolver, num_threads=1)
        else:
            self._interpreter = cpu.reference_interpreter(model, experimental_preserve_all_tensors=True)

    def run(self, feeds: Feeds) -> Feeds | None:
        """None: it refuses them."""
        try:
            return floats(invoke(self._interpreter, feeds))
        except (RuntimeError, ValueError):
            return None

    def largest(self) -> float:
        """Of the finite numbers of all tensors."""
        most = 0.0
        for detail in self._interpreter.get_tensor_details():
            if detail["dtype"] not in (np.float32, np.complex64):
                continue
            try:
                (numbers,) = floats([self._interpreter.get_tensor(detail["index"])])
            except ValueError:
                continue
            finite = np.abs(numbers[np.isfinite(numbers)])
            most = max(most, float(finite.max())) if finite.size else most
        return most


def floats(arrays: Feeds) -> Feeds:
    """Complex numbers as two floats each."""
    return [np.ascontiguousarray(a)[..., None].view(np.float32) if a.dtype == np.complex64 else a for a in arrays]


_KERNELS = (
    "BUILTIN_WITHOUT_DEFAULT_DELEGATES",
    "BUILTIN",
    "BUILTIN_REF",
)  # the optimised ones, XNNPACK, the plain ones


def _flushed(feeds: Feeds, least: float = np.finfo(np.float32).tiny) -> Feeds:
    """GPUs may take the smallest numbers for zeros."""
    return [
        np.where(np.abs(f) < least, np.copysign(0, f), f).astype(f.dtype) if f.dtype == np.float32 else f for f in feeds
    ]


def _further_flushed(feeds: Feeds) -> Feeds:
    """Or what comes of the least normal ones."""
    return _flushed(feeds, 8 * np.finfo(np.float32).tiny)


def _clamped(feeds: Feeds) -> Feeds:
    """The CPU's ONE_HOT looks at the lower words of places alone; on the GPU what is out of range stays out of range."""
    return [np.clip(f, -(2**31), 2**31 - 1) if f.dtype == np.int64 else f for f in feeds]


def _tamed(feeds: Feeds) -> Feeds:
    """Hostile floats become ordinary ones."""
    return [np.where(np.abs(f) < 10, f, np.float32(0.75)) if f.dtype == np.float32 else f for f in feeds]


def _nudged(feeds: Feeds, by: float) -> Feeds:
    with np.errstate(all="ignore"):
        return [(f * np.float32(1 + by)) if f.dtype == np.float32 else f for f in feeds]


def right(got: np.ndarray, want: np.ndarray, allowed: np.ndarray | float) -> np.ndarray:
    """Cell by cell."""
    if got.dtype.kind != "f":
        return got == want
    top = np.finfo(np.float32).max
    with np.errstate(all="ignore"):
        same = (got == want) | (np.isnan(got) & np.isnan(want))
        # A kernel clamps to the largest float where another has infinity.
        same |= (np.abs(got) >= top) & (np.abs(want) >= top) & (np.sign(got) == np.sign(want))
        return same | (np.isfinite(got) & np.isfinite(want) & (np.abs(got.astype(np.float64) - want) <= allowed))


class Judge:
    """Judges one model's outputs; asks other kernels than the reference's only where these differ."""

    def __init__(self, case: Case, model: bytes, fed: list[Feeds], tolerance: float) -> None:
        self.case, self.model, self.fed, self.tolerance = case, model, fed, tolerance
        self.state = any(value.variable for value in case.graph.model.values)
        self._plain: list[Feeds | None] = []  # what comes of ordinary numbers in the same places
        self.expected, self._largest = [], []
        reference = Cpu(model)
        for feeds in fed:
            self.expected.append(reference.run(feeds))
            self._largest.append(reference.largest() if case.sums and self.expected[-1] is not None else 0.0)
        for feeds, expected in zip(fed, self.expected):
            tells = expected is not None and not self.state and (case.sums or feeds is fed[0])
            self._plain.append(reference.run(_tamed(feeds)) if tells else None)

    def wrong(self, turn: int, outputs: Feeds) -> str:
        """Empty where they are right."""
        expected, outputs = self.expected[turn], floats(outputs)
        for number, (got, want) in enumerate(zip(outputs, expected, strict=True)):
            if got.shape != want.shape or got.dtype != want.dtype:
                return f"output {number}: {got.dtype}{got.shape}, expected {want.dtype}{want.shape}"
        goods = self._goods(turn, outputs, expected)
        if not all(good.all() for good in goods):
            for others in self._others(turn):
                goods = [g | more for g, more in zip(goods, self._goods(turn, outputs, others))]
                if all(good.all() for good in goods):
                    return ""
        for number, (good, got, want) in enumerate(zip(goods, outputs, expected)):
            if not good.all():
                at = tuple(int(i) for i in np.argwhere(~good)[0])
                return f"output {number}: {(~good).sum()} of {good.size}, the first at {at}: {got[at]!r}, the CPU has {want[at]!r}"
        return ""

    def _goods(self, turn: int, outputs: Feeds, expected: Feeds | None) -> Feeds:
        made = []
        for number, got in enumerate(outputs):
            if expected is None or expected[number].shape != got.shape:
                made.append(np.zeros(got.shape, bool))
                continue
            made.append(right(got, expected[number], self._allowed(turn, number, expected[number])))
        return made

    def _allowed(self, turn: int, number: int, want: np.ndarray) -> np.ndarray | float:
        """Of ordinary numbers a part of their range; of others a part of each. Where sums are made, numbers that a hostile one
        has reached may have been near the largest of all tensors."""
        if want.dtype.kind != "f":
            return 0.0
        plain = self._plain[turn] or self._plain[0]
        span = 1.0
        if plain is not None and plain[number].size:
            finite = plain[number][np.isfinite(plain[number])]
            span = max(float(np.abs(finite).max(initial=0)), 0.05)
        size = np.abs(np.where(np.isfinite(want), want, 0).astype(np.float64))
        if self.case.sums:
            same = plain[number] if plain is not None and plain[number].shape == want.shape else np.nan
            size = np.where((same == want) & (not self.case.ops & BETWEEN), size, self._largest[turn])
        return self.tolerance * np.maximum(span, size)

    def _others(self, turn: int) -> Iterator[Feeds | None]:
        fed = self.fed[turn]
        for kernels in ("", *_KERNELS):
            ways = [_flushed, _further_flushed] if not kernels else [list, _flushed, _further_flushed]
            ways += [_clamped] if "ONE_HOT" in self.case.ops else []
            if not self.case.alone:
                ways += [lambda feeds, by=by: _nudged(feeds, by) for by in _NUDGES]
            for way in ways:
                try:
                    interpreter = Cpu(self.model, kernels)
                except (RuntimeError, ValueError):
                    break
                made = None
                for feeds in self.fed[: turn + 1] if self.state else [fed]:
                    made = interpreter.run(way(feeds))
                yield made


# A graph node by node

# What one kernel makes of a hostile number another node of the graph takes further: all sets of kernels together are no
# list of what is right. So each node is asked alone, with the numbers that it had.


def explained(case: Case, feeds: Feeds, outputs: Feeds, library: Path, how: dict[str, str]) -> str:
    """Empty where each node of the graph is right by itself, and the graph is what its nodes make. Otherwise which is not."""
    model = case.graph.model
    made = [index for node in model.nodes for index in node.outputs]
    opened = copy.copy(model)
    opened.outputs = [model.values[index] for index in made]
    interpreter, _ = open_model(str(library), opened.bytes(), how)
    numbers = dict(zip(made, invoke(interpreter, feeds)))
    numbers.update(zip((value.index for value in model.inputs), feeds))
    for value, got in zip(model.outputs, outputs):
        got, again = floats([got, numbers[value.index]])
        size = np.abs(np.where(np.isfinite(again), again, 0)).max(initial=1) if again.dtype.kind == "f" else 0
        if got.shape != again.shape or not right(got, again, 10 * TOLERANCE["f32"] * size).all():
            return f"t{value.index} is another where all numbers are kept"
    for node in model.nodes:
        one, fed = _alone(model, node, numbers)
        wrong = Judge(one, one.graph.model.bytes(), [fed], TOLERANCE["f32"]).wrong(
            0, [numbers[i] for i in node.outputs]
        )
        if wrong:
            return f"{', '.join(one.ops)} of t{node.outputs}: {wrong}"
    return ""


def _alone(model: Model, node, numbers: dict[int, np.ndarray]) -> tuple[Case, Feeds]:
    """A model of this node; what others compute are its inputs."""
    one, fed, inputs = Model(), [], []
    places: dict[int, int] = {-1: -1}
    for index in node.inputs:
        if index not in places:
            value = model.values[index]
            if value.data is None:
                fed.append(numbers[index])
                places[index] = one.input(numbers[index].shape, value.dtype).index
            else:
                places[index] = one.value(value.shape, value.dtype, data=value.data, sparse=value.sparse).index
        inputs.append(places[index])
    made = [one.value(numbers[index].shape, model.values[index].dtype) for index in node.outputs]
    one.nodes.append(replace(node, inputs=tuple(inputs), outputs=tuple(value.index for value in made)))
    one.output(*made)
    graph = Graph(one, 0, [], [], exact=False)
    return Case(graph, "one", True, frozenset([name(one, one.nodes[0])])), fed


# Running

# PoCL has the whole process skip divisions that the processor refuses: our kernels' and the interpreter's own.
_DRIVERS = {**UNOPTIMISED, "POCL_SIGFPE_HANDLER": "0"}


@dataclass
class Result:
    """Of one case. place: what failed, the same for the same defect as far as that is known."""

    number: int
    family: str = ""
    wrong: str = ""
    place: str = ""
    runs: int = 0
    refused: int = 0  # by the CPU itself
    nodes: int = 0
    on_cpu: dict[str, int] = field(default_factory=dict)
    ops: str = ""
    seconds: float = 0.0
    nothing: str = ""  # why Quadra refuses a size of 0


def run_case(number: int, case: Case, library: Path, how: dict[str, str], stage: Callable[[str], None]) -> Result:
    """Runs a model on the CPU, then with the delegate."""
    result = Result(number, case.family, ops=", ".join(sorted(case.ops)))
    model, fed = case.graph.model.bytes(), rounds(case)
    stage("cpu")
    try:
        judge = Judge(case, model, fed, 10 * TOLERANCE["f32"] if not case.alone else TOLERANCE["f32"])
    except (RuntimeError, ValueError) as error:
        result.refused, result.ops = 1, f"{result.ops}: {error}"[:300]
        return result
    stage("gpu")
    failed = ""
    try:
        interpreter, delegate = open_model(str(library), model, how)
        nodes = report(str(library), delegate)["nodes"]
        result.nodes = len(nodes)
        result.on_cpu = Counter(f"{n['op']}: {_NAMED.sub('…', n['reason'])}" for n in nodes if n["on"] != "gpu")
        for turn, feeds in enumerate(fed):
            if judge.expected[turn] is None:
                result.refused += 1
                continue
            stage(f"gpu {turn}")
            outputs = invoke(interpreter, feeds)
            stage(f"judge {turn}")
            result.runs += 1
            wrong = judge.wrong(turn, outputs)
            if wrong and not case.alone:
                stage("explain")
                why = explained(case, feeds, outputs, library, how)
                wrong = why and f"{wrong}; {why}"
            if wrong:
                failed = f"run {turn}: {wrong}"
                result.place = f"wrong: {result.ops if case.alone else case.family}"
                break
    except (RuntimeError, ValueError) as error:
        failed = told(error)
        if found := _NOTHING.search(failed):
            result.nothing, failed = re.sub(r"\d[\d,]*", "N", found[0].split(". Node")[0]), ""
        result.place = failed and f"failed: {result.ops if case.alone else case.family}"
    result.wrong = failed
    return result


def _work(given: argparse.Namespace, library: Path, how: dict[str, str]) -> None:
    """In the worker: a line of JSON for each case, and before it what is being done."""
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(words: dict) -> None:
        channel.write(json.dumps(words) + "\n")
        channel.flush()

    for number, case in made(given.seed, given.first, cases(given.only)):
        if number >= given.first + given.count:
            return

        def stage(name: str) -> None:
            say({"number": number, "stage": name})

        stage("begin")
        began = time.monotonic()
        result = run_case(number, case, library, how, stage)
        result.seconds = time.monotonic() - began
        say({"result": vars(result), "case": repr(case) if result.wrong else ""})


def _reduce(given: argparse.Namespace, library: Path, how: dict[str, str]) -> None:
    """Prints the smallest case that hypothesis finds from the chunk of the one that is named."""
    number, case = next(made(given.seed, given.case, cases(given.only)))
    print(repr(case), flush=True)
    first = run_case(number, case, library, how, lambda _: None)
    print(first.place, first.wrong, sep="\n")
    show_numbers(first, case, library, how)
    last: list[tuple[Result, Case]] = []

    def take(one: Case) -> None:
        result = run_case(number, one, library, how, lambda _: None)
        if result.place == first.place:
            last[:] = [(result, one)]
            raise AssertionError(result.wrong)

    if not given.reduce or not first.wrong:
        return
    try:
        _examples(given.seed, given.case // _CHUNK, take, cases(given.only), (Phase.generate, Phase.shrink))
    except BaseException:  # its own report is longer than ours
        pass
    for result, one in last:
        print("\nsmallest:", result.wrong, repr(one), sep="\n")
        show_numbers(result, one, library, how)


def show_numbers(result: Result, case: Case, library: Path, how: dict[str, str]) -> None:
    turn = int(result.wrong.split()[1].rstrip(":")) if result.wrong.startswith("run") else 0
    constants = [
        value.data for value in case.graph.model.values if value.data is not None and value.data.dtype.kind == "f"
    ]
    for numbers in (*rounds(case)[turn], *constants):
        flat = numbers.reshape(-1)
        odd = (
            np.flatnonzero(~(np.abs(flat.astype(np.float64)) < 10) | (np.abs(flat) == 0))
            if flat.size > 32
            else range(flat.size)
        )
        print(numbers.dtype, numbers.shape, {int(i): flat[i].item() for i in odd[:40]})


@dataclass
class Session:
    """What came of all cases."""

    done: int = 0
    runs: int = 0
    nodes: int = 0
    refused: int = 0
    nothing: Counter[str] = field(default_factory=Counter)
    died: int = 0  # of the CPU's own kernels
    on_cpu: Counter[str] = field(default_factory=Counter)
    findings: Counter[str] = field(default_factory=Counter)
    families: Counter[str] = field(default_factory=Counter)
    seconds: Counter[str] = field(default_factory=Counter)


def run(given: argparse.Namespace, entry: Entry, argv: list[str], show: Callable[[str], None]) -> Session:
    """Workers one after another: one that dies costs its case."""
    session, first, last = Session(), given.first, given.first + given.count
    library = Path(given.library)
    env = {**os.environ, **environment(library), **entry.env, **_DRIVERS}
    began = time.monotonic()
    while first < last:
        command = [
            sys.executable,
            "-m",
            "tests.hostile_graphs",
            *argv,
            "--worker",
            "--first",
            str(first),
            "--count",
            str(last - first),
        ]
        child = subprocess.Popen(
            entry.command(command), cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        lines: queue.Queue[str] = queue.Queue()
        threading.Thread(
            target=lambda child=child, lines=lines: ([lines.put(n) for n in child.stdout], lines.put("")), daemon=True
        ).start()
        stage, hung = {"number": first, "stage": "begin"}, False
        while True:
            try:
                line = lines.get(timeout=_SILENCE_S)
            except queue.Empty:
                hung = True
                child.kill()
                continue
            if not line or time.monotonic() - began > given.seconds:
                break
            words = json.loads(line)
            if "stage" in words:
                stage = words
                continue
            _take(session, words["result"], words["case"], given)
            first = words["result"]["number"] + 1
            if session.done % 50 == 0:
                spent = time.monotonic() - began
                show(
                    f"{session.done} of {given.count}, {session.done / spent:.1f}/s, findings {sum(session.findings.values())}"
                )
        if line:  # its time is over
            child.kill()
            child.wait()
            break
        status = child.wait()
        if first >= last or (status == 0 and not hung):
            break
        if status > 0:
            raise SystemExit(f"the worker ended with status {status}; `--case {stage['number']}` shows why")
        cause = "hangs" if hung else f"status {status}"
        session.done += 1
        if stage["stage"].startswith("gpu"):
            session.findings[f"died: {cause}"] += 1
            print(f"case {stage['number']}: {cause} at {stage['stage']}", flush=True)
        else:
            session.died += 1
            print(f"case {stage['number']}: the CPU's own kernels: {cause} at {stage['stage']}", flush=True)
        first = stage["number"] + 1
    return session


def _take(session: Session, result: dict, case: str, given: argparse.Namespace) -> None:
    session.done += 1
    session.families[result["family"]] += 1
    session.seconds[result["family"]] += result["seconds"]
    session.runs += result["runs"]
    session.refused += result["refused"]
    session.nodes += result["nodes"]
    session.on_cpu.update(result["on_cpu"])
    session.nothing.update([result["nothing"]] if result["nothing"] else [])
    if result["wrong"]:
        session.findings[result["place"]] += 1
        print(f"case {result['number']} {result['place']}\n  {result['wrong']}", flush=True)
        if session.findings[result["place"]] <= given.show:
            print("  " + case.replace("\n", "\n  "), flush=True)
    elif result["refused"] and not result["nodes"]:
        session.on_cpu[f"the CPU has no such model: {result['ops']}"] += 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile_graphs")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="no longer than this")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--backend", default="", help="opencl or gles; default: opencl, or the row's")
    parser.add_argument("--driver", default="", help="a row of the table of drivers")
    parser.add_argument("--only", default="", help="a family of random_ops.py; raw, wide, graph, or wide graph")
    parser.add_argument(
        "--library",
        default="",
        help="of the delegate; default: the row's own, QUADRA_LIBRARY, or what Bazel builds of this checkout",
    )
    parser.add_argument("--show", type=int, default=1, help="so many models of each kind of finding")
    parser.add_argument("--case", type=int, default=-1, help="this one alone, in this process")
    parser.add_argument("--reduce", action="store_true")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    driver = driver_table.find(given.driver) if given.driver else None
    given.backend = given.backend or (driver.backend if driver else "opencl")
    given.library = given.library or str(on_driver.library_of(driver))
    entry = driver.enter() if driver else Entry()
    how = {**options("", given.backend), **entry.options}
    if given.worker:
        _work(given, Path(given.library), how)
        return 0
    argv = ["--seed", str(given.seed), "--backend", given.backend, "--library", given.library]
    argv += ["--driver", given.driver] if given.driver else []
    argv += ["--only", given.only] if given.only else []
    if given.case >= 0:
        if not os.environ.get("POCL_EXTRA_BUILD_FLAGS"):
            env = {**os.environ, **environment(Path(given.library)), **entry.env, **_DRIVERS}
            command = [sys.executable, "-m", "tests.hostile_graphs", *argv, "--case", str(given.case)]
            command += ["--reduce"] if given.reduce else []
            return subprocess.run(entry.command(command), cwd=ROOT, env=env, check=False).returncode
        _reduce(given, Path(given.library), how)
        return 0
    began = time.monotonic()
    session = run(given, entry, argv, lambda text: print(text, file=sys.stderr, flush=True))
    spent = time.monotonic() - began
    print(
        f"{session.done} models, {session.runs} runs, {spent:.0f} s, {session.done / spent:.1f} models/s; seed {given.seed}"
    )
    on_cpu = sum(session.on_cpu.values())
    print(
        f"{session.nodes} nodes, {on_cpu} on the CPU; {session.refused} runs refused by the CPU's kernels, {session.died} that end them"
    )
    of_families = ", ".join(
        f"{name} {count} ({session.seconds[name]:.0f} s)" for name, count in session.families.most_common()
    )
    print(f"models: {of_families}")
    for reason, count in session.on_cpu.most_common():
        print(f"{count:7}  {reason[:200]}")
    for reason, count in session.nothing.most_common():
        print(f"{count:7}  refused, of no numbers: {reason}")
    for place, count in session.findings.most_common():
        print(f"{count:7}  finding: {place}")
    return int(bool(session.findings))


if __name__ == "__main__":
    sys.exit(main())
