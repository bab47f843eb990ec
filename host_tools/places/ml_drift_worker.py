"""python -m host_tools.places.ml_drift_worker MODEL NAME PRECISION LIBRARY: has LiteRT's own GPU accelerator run a model
before the pretended Vulkan driver LIBRARY, which records it. Its second inference is the one that is looked at."""

import ctypes
import os
import sys
from pathlib import Path

from host_tools.places import interpreters, litert_gpu
from host_tools.record.spec import InputSpec
from host_tools.request import inputs


def main() -> None:
    path, name, precision, library = Path(sys.argv[1]), *sys.argv[2:]
    content = path.read_bytes()
    arrays = inputs.make(InputSpec(), inputs.of_model(content, ""))
    made = litert_gpu.make(content, name, threads=1, all_float32=precision == "f32")
    interpreters.allocate(made, name, content, arrays)
    interpreters.set_inputs(made, arrays)
    recorder = ctypes.CDLL(library)
    made.invoke()
    recorder.pretended_vulkan_mark()
    made.invoke()
    recorder.pretended_vulkan_end()
    os._exit(0)  # nothing of use comes behind it


if __name__ == "__main__":
    main()
