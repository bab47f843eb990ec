"""What memory a decoder takes beside XNNPACK, for docs/measurements.md:

    python -m tests.decoder_memory LIBRARY qwen3-0.6b,layers=4,weights=int4 …

The sizes are those of `inv models --make decoder`. Each side runs in a process of its own, once before it is measured, so that the driver has compiled. Memory is
resident, at its peak and after one inference of each signature, above the same process with split_concat and without the states, in units of the file."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from host_tools.base import settings
from host_tools.request import decoder_sizes, make_decoder
from tests.delegate import environment

ONCE, XNNPACK = "--once", "xnnpack"


def run_once(path: str, library: str, backend: str, cache: str) -> None:
    """In the process that is measured. Prints the peak, what is resident in the end, and seconds until signatures can run."""
    from ai_edge_litert.interpreter import Interpreter, load_delegate

    from tests.delegate_worker import report

    options = {"backend": backend} | ({"serialization_dir": cache} if cache else {})
    if "split_concat" not in path:
        options["states"] = "kv_cache_"
    begin = time.perf_counter()
    delegates = [] if backend == XNNPACK else [load_delegate(library, options)]
    interpreter = Interpreter(model_path=path, experimental_delegates=delegates, num_threads=1)
    keys = list(interpreter.get_signature_list())
    if not keys:
        interpreter.allocate_tensors()
        interpreter.invoke()
    runners = [interpreter.get_signature_runner(key) for key in keys]
    for one in runners:
        one._interpreter_wrapper.AllocateTensors(one._subgraph_index)
    start = time.perf_counter() - begin
    for one in runners:
        for name, detail in one.get_input_details().items():
            if "kv_cache" not in name or not delegates:
                zeros = np.zeros(detail["shape"], detail["dtype"])
                one._interpreter_wrapper.SetTensor(detail["index"], zeros, one._subgraph_index)
        one._interpreter_wrapper.Invoke(one._subgraph_index)
    nodes = [node for delegate in delegates for node in report(library, delegate)["nodes"]]
    assert all(node["on"] == "gpu" for node in nodes), [node for node in nodes if node["on"] != "gpu"][:3]
    status = dict(re.findall(r"(\w+):\s+(\d+) kB", Path("/proc/self/status").read_text()))
    print(int(status["VmHWM"]) << 10, int(status["VmRSS"]) << 10, start)


def measure(path: Path, library: str, backend: str, cache: str = "") -> np.ndarray:
    words = [sys.executable, "-m", "tests.decoder_memory", ONCE, str(path), library, backend, cache]
    # What is freed is the system's again, and not the C library's.
    env = os.environ | environment(Path(library)) | {"MALLOC_MMAP_THRESHOLD_": "131072"}
    done = subprocess.run(words, cwd=settings.ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return np.array([float(number) for number in done.stdout.split()[-3:]])


def measure_decoder(sizes: decoder_sizes.Sizes, given: argparse.Namespace, idle: dict[str, np.ndarray]) -> None:
    number = {"f32": 4, "int8": 1}[sizes.caches]
    states = 2 * number * sizes.layers * sizes.kv_heads * sizes.head_size * sizes.positions
    with tempfile.TemporaryDirectory(prefix="decoder_memory") as folder:
        path = Path(folder) / "decoder.tflite"
        make_decoder.write(sizes, path)
        size = path.stat().st_size
        print(
            f"  {len(sizes.prefill) + 1} signatures, {size / 1e6:.0f} MB, states of {states / 1e6:.0f} MB", flush=True
        )
        for backend, above in idle.items():
            measure(path, given.library, backend)
            kept = str(Path(folder) / "kept")
            cached = {"writes the cache": kept, "from the cache": kept} if given.cached and backend != XNNPACK else {}
            for how, cache in {"": "", **cached}.items():
                *memory, start = measure(path, given.library, backend, cache)
                peak, steady = (np.array(memory) - above - states) / size
                print(f"    {backend} {how}: peak {peak:.2f}, steady {steady:.2f}, start {start:.2f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library")
    parser.add_argument("sizes", nargs="+")
    parser.add_argument("--backends", default="opencl,gles,xnnpack")
    parser.add_argument("--prefills", default="128,16+64+128,8+16+32+64+128", help="of decoders one after the other")
    parser.add_argument("--cached", action="store_true", help="also a start that writes the cache, and one from it")
    given = parser.parse_args()
    small = next(Path(os.environ["QUADRA_MODELS_DIR"]).rglob("split_concat.tflite"))
    idle = {}
    for backend in given.backends.split(","):
        idle[backend] = [measure(small, given.library, backend) for _ in range(2)][1][:2]
    for words in given.sizes:
        print(words)
        for prefill in given.prefills.split(","):
            measure_decoder(decoder_sizes.chosen(f"{words},prefill={prefill}"), given, idle)


if __name__ == "__main__":
    if sys.argv[1:2] == [ONCE]:
        run_once(*sys.argv[2:])
    else:
        main()
