"""The demonstration: a person's mask from a photograph, on the delegate's backends, judged against the CPU; then the
whole loop of a phone, on a device that needs no hardware."""

import sys
import time
from pathlib import Path
from typing import List, Optional

from host_tools import bazel, models, on_devices, report, run
from host_tools.device import app
from host_tools.device.adb import Device
from host_tools.place import device as place
from host_tools.run_folder import RunFolder
from host_tools.virtual_device import registry

MODEL = "selfie_segmentation"
ON_DEVICE = (MODEL, "deeplabv3_257_mv_gpu")  # the second lies in a folder of one's own
BACKENDS = ("opencl", "gles")
_DEVICE = "demo"


def show() -> RunFolder:
    """Fetches the model, builds the delegate, runs, judges, prints. JudgementFailed when the mask is wrong."""
    _step(1, f"the model {MODEL} and a photograph")
    models.find(MODEL)
    picture = models.picture()
    _step(2, "the delegate, built for this machine")
    library: Path = bazel.library()
    _step(3, "run it on OpenGL ES, beside the CPU and XNNPACK")
    other = run.run_and_judge(run.make_spec(MODEL, backend="gles", image=str(picture), profile=True), library)
    _step(4, "run it on OpenCL, too")
    spec = run.make_spec(MODEL, image=str(picture), profile=True, cold=True, repetitions=50)
    folder = run.run_and_judge(spec, library)
    print(file=sys.stderr)
    run.account(folder, run.console())
    print(f"\n{run.short_account(other)}")
    run.judge(folder)
    run.judge(other)
    print(file=sys.stderr)
    loop(picture, first_step=5)
    print(f"\nOpen {folder.path / report.FILE} in a browser: picture, mask, time per op, where each node ran.")
    print("Next: `./inv models`, `./inv run MODEL`, `./inv run MODEL --on virtual`, `./inv coverage MODEL`, `./inv bench`.")
    return folder


def loop(picture: Optional[Path] = None, library: Optional[Path] = None, first_step: int = 1) -> List[RunFolder]:
    """Build, APK, virtual device, install, push, run, pull, compare, report; prints a row per run.

    library: Quadra for Android x86_64 (default: built). JudgementFailed when an output is wrong.
    """
    picture = picture or models.picture()
    wanted = [name for name in ON_DEVICE if _is_here(name)]
    _step(first_step, "the whole loop of a phone, without one: a virtual device, which adb takes for a phone")
    serial = registry.start(_DEVICE)
    try:
        device = Device(serial, virtual=True)
        _step(first_step + 1, f"the delegate for its ABI ({device.properties()['ro.product.cpu.abilist']}), in the test app's APK")
        library = library or place.library(device)
        app.apk_for(device, library)
        started = time.monotonic()
        _step(first_step + 2, "install, push, run, pull, compare, report")
        folders = []
        for name in wanted:
            for backend in BACKENDS:
                where = {"place": "device", "device": serial, "peers": ("xnnpack",)}
                spec = run.make_spec(name, backend=backend, image=str(picture), repetitions=10, **where)
                folders.append(run.run_and_judge(spec, library, device=device))
        print(file=sys.stderr)
        console = run.console()
        console.print(on_devices.table(folders))
        console.print(f"{time.monotonic() - started:.0f} s from the APK to the last report; the reports are in {folders[-1].path.parent}")
    finally:
        registry.stop(_DEVICE)
    for folder in folders:
        run.judge(folder)
    return folders


def _is_here(name: str) -> bool:
    entry = models.catalogue()[name]
    if entry.member or models.located(entry):
        return True
    print(f"   left out: {name} is not in a folder of QUADRA_MODELS_DIR", file=sys.stderr)
    return False


def _step(number: int, text: str) -> None:
    print(f"{number}  {text}", file=sys.stderr, flush=True)
