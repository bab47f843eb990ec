"""What the stages of a worker process share: the model, its inputs, interpreters of it, and the run folder."""

import functools
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from host_tools.places import reference_model
from host_tools.record import peer_names, run_folder, schema
from host_tools.request import inputs, model_facts

if TYPE_CHECKING:
    from ai_edge_litert.interpreter import Delegate, Interpreter


class Worker:
    """Holds what the stages share. Each stage writes its results before the next begins."""

    def __init__(self, folder: Path, library: Path, cache: Path, peers: tuple[str, ...] = ()) -> None:
        self.folder, self.library, self.cache, self.peers = folder, library, cache, peers
        self.spec = run_folder.RunFolder(folder).spec()
        self.interpreters = _runtime(self.spec.api)
        self.model = self.spec.model.name
        self.path = Path(self.spec.model.path)
        self.facts = model_facts.of_file(self.path, self.model, self.spec.signature)  # a damaged model ends here
        self.outputs: list[np.ndarray] = []
        self.timings: dict[str, Any] = {
            "schema_version": 1,
            "threads": self.spec.threads,
            "init_us": {},
            "samples_us": {},
        }
        self.tensors: dict[str, Any] = {}

    @functools.cached_property
    def content(self) -> bytes:
        """The model's bytes, for what cannot take its file: weights may be gigabytes."""
        return self.path.read_bytes()

    @functools.cached_property
    def for_cpu(self) -> tuple[bytes, list[str]]:
        """What the CPU's kernels get, and how it differs from the model."""
        return reference_model.for_cpu(self.path)

    @property
    def cpu_content(self) -> bytes:
        return self.for_cpu[0]

    @property
    def rewrites(self) -> list[str]:
        return self.for_cpu[1]

    @functools.cached_property
    def arrays(self) -> list[np.ndarray]:
        """The inputs."""
        return inputs.make(self.spec.inputs, inputs.of_model(self.content, self.spec.signature))

    def make(self, content: bytes | Path, **more: Any) -> "Interpreter":
        """An interpreter of what the spec runs."""
        return self.interpreters.make(
            content, self.model, threads=self.spec.threads, signature=self.spec.signature, **more
        )

    def options(self, **more: str) -> dict[str, str]:
        return {k: v for k, v in {**self.spec.options, **more}.items() if v}

    def start_quadra(self, **more: str) -> "tuple[Delegate, Interpreter, dict[str, Any]]":
        """Delegate, ready interpreter with inputs set and run once, and the time of each step in us."""
        clock = self._clock()
        stage("load the delegate")
        delegate = self.interpreters.load_quadra(self.library, self.options(**more))
        clock.lap("load_delegate_us")
        stage("give the model's nodes to the delegate")
        interpreter = self.make(self.content, delegate=delegate)
        clock.lap("interpreter_us")
        self._first_run(interpreter, clock, "Quadra")
        return delegate, interpreter, clock.laps

    def start_xnnpack(self) -> "tuple[Interpreter, dict[str, Any]]":
        clock = self._clock()
        stage("start XNNPACK")
        interpreter = self.make(self.cpu_content)
        clock.lap("interpreter_us")
        self._first_run(interpreter, clock, "XNNPACK")
        return interpreter, clock.laps

    def start_peer(self, name: str) -> "tuple[Interpreter, dict[str, Any]]":
        """The same of a peer by its name."""
        if name == peer_names.XNNPACK:
            return self.start_xnnpack()
        from host_tools.places import litert_gpu

        clock = self._clock()
        stage(f"start {name}")
        all_float32 = self.spec.options.get("precision", "f32") == "f32" and not self.spec.peer_defaults
        made = litert_gpu.make(
            self.content, self.model, threads=self.spec.threads, all_float32=all_float32, signature=self.spec.signature
        )
        clock.lap("interpreter_us")
        self._first_run(made, clock, name)
        return made, clock.laps

    def _clock(self) -> "Clock":
        """Starts when the inputs and the model's bytes are there: making them is no part of a start."""
        _ = self.arrays, self.content, self.for_cpu
        return Clock()

    def _first_run(self, interpreter: "Interpreter", clock: "Clock", who: str) -> None:
        self.interpreters.allocate(interpreter, self.model, self.content, self.arrays)
        clock.lap("allocate_us")
        stage(f"first inference of {who}")
        self.interpreters.set_inputs(interpreter, self.arrays)
        self.interpreters.invoke(interpreter, f"{self.model} on {who}")
        clock.lap("first_invoke_us")
        clock.end()

    def keep(self, group: str, interpreter: "Interpreter") -> list[np.ndarray]:
        arrays: list[np.ndarray] = self.interpreters.outputs_of(interpreter)
        run_folder.write_arrays(self.folder / group, arrays)
        self.tensors[group] = inputs.tensor_json(interpreter.get_output_details())
        run_folder.write_json(self.folder / "tensors.json", self.tensors)
        return arrays

    def keep_report(self, delegate: "Delegate") -> schema.Verdicts:
        run_folder.write_json(self.folder / "verdicts.json", self.interpreters.report_of(delegate))
        return run_folder.RunFolder(self.folder).read(schema.Verdicts)

    def keep_timings(self) -> None:
        run_folder.write_json(self.folder / "timings.json", self.timings)


def _runtime(api: str) -> Any:
    """What makes interpreters of this API; imported after the baseline of memory was taken."""
    if api == "compiled":
        from host_tools.places import compiled_models

        return compiled_models
    from host_tools.places import interpreters

    return interpreters


class Clock:
    """Laps in whole microseconds, and when each began (ns of the monotonic clock); the processor time of the whole, and of
    the first inference."""

    def __init__(self) -> None:
        self.laps: dict[str, Any] = {}
        self._starts: dict[str, int] = {}
        self._cpu: dict[str, int] = {}
        self._last, self._last_cpu = time.perf_counter_ns(), time.process_time_ns()

    def lap(self, name: str) -> None:
        now, cpu = time.perf_counter_ns(), time.process_time_ns()
        self.laps[name] = (now - self._last) // 1000
        self._cpu[name] = (cpu - self._last_cpu) // 1000
        self._starts[name] = self._last
        self._last, self._last_cpu = now, cpu

    def end(self) -> None:
        self.laps["total_us"] = sum(self.laps.values())
        self.laps["cpu_us"] = sum(self._cpu.values())
        self.laps["first_invoke_cpu_us"] = self._cpu["first_invoke_us"]
        self.laps["starts_ns"] = self._starts


def stage(text: str) -> None:
    print(f"stage: {text}", flush=True)
