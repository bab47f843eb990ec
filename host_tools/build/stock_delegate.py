"""TFLite's stock GPU delegate, from Maven Central: its library, and what it is shown of this machine."""

from pathlib import Path

from host_tools.build import maven

ALIASES = ("tensorflow-lite-gpu", "tensorflow-lite-gpu-api")
_LIBRARY = "libtensorflowlite_gpu_jni.so"
# The stock delegate asks for GPUs only, and chooses its kernels by their names. Where it does not know one, it takes
# plain buffers, which is what suits a CPU; a CPU's own name could be taken for a GPU of that vendor.
SHOWN_DEVICE = {"BIONIC_CL_GPU_FOR": _LIBRARY, "BIONIC_CL_NAME": "PoCL", "BIONIC_CL_VENDOR": "PoCL"}


def library(abi: str) -> Path:
    """The stock delegate's library."""
    return maven.aar_file("tensorflow-lite-gpu", f"jni/{abi}/{_LIBRARY}")
