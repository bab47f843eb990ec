"""The demonstration: a person's mask from a photograph, on the delegate's backends, judged against the CPU; then the
whole loop of a phone, on a device that needs no hardware."""

import sys
import time
from pathlib import Path

from host_tools.base import terminal
from host_tools.judge.judged import Judged
from host_tools.phone.adb.adb_device import Device
from host_tools.places.on_host import Host
from host_tools.places.on_phone import Phone
from host_tools.request import from_arguments, models
from host_tools.run import model_runs
from host_tools.show import report, run_account
from host_tools.virtual_device import registry

MODEL = "selfie_segmentation"
ON_DEVICE = (MODEL, "mediapipe/face_detection_short_range")  # one fetch brings both
BACKENDS = ("opencl", "gles")
_DEVICE = "demo"


def show() -> Judged:
    """Fetches the model, builds the delegate, runs, judges, prints. JudgementFailed when the mask is wrong."""
    _step(1, f"the model {MODEL} and a photograph")
    models.find(MODEL)
    picture = models.picture()
    _step(2, "the delegate, built for this machine")
    here = Host()
    here.prepare()
    _step(3, "run it on OpenGL ES, beside the CPU and XNNPACK")
    other = model_runs.run_and_judge(
        from_arguments.make_spec(MODEL, backend="gles", image=str(picture), profile=True), here
    )
    _step(4, "run it on OpenCL, too")
    spec = from_arguments.make_spec(MODEL, image=str(picture), profile=True, cold=True, repetitions=50)
    first = model_runs.run_and_judge(spec, here)
    print(file=sys.stderr)
    run_account.account(first, terminal.console())
    print(f"\n{run_account.short_account(other)}")
    model_runs.checked([first, other])
    print(file=sys.stderr)
    loop(picture, first_step=5)
    print(f"\nOpen {first.folder.path / report.FILE} in a browser: picture, mask, time per op, where each node ran.")
    print(
        "Next: `./inv models`, `./inv run MODEL`, `./inv run MODEL --on virtual`, `./inv support MODEL`, `./inv bench`."
    )
    return first


def loop(picture: Path | None = None, library: Path | None = None, first_step: int = 1) -> list[Judged]:
    """Build, APK, virtual device, install, push, run, pull, compare, report; prints a row per run.

    library: Quadra for Android x86_64 (default: built). JudgementFailed when an output is wrong.
    """
    for name in ON_DEVICE:
        models.find(name)
    picture = picture or models.picture()
    _step(first_step, "the workflow of a phone, without one: a virtual device, which adb treats as a phone")
    serial = registry.start(_DEVICE)
    try:
        phone = Phone(Device(serial, virtual=True), library)
        _step(
            first_step + 1,
            f"the delegate for its ABI ({phone.device.properties()['ro.product.cpu.abilist']}), in the test app's APK",
        )
        phone.prepare()
        started = time.monotonic()
        _step(first_step + 2, "install, push, run, pull, compare, report")
        runs = []
        for name in ON_DEVICE:
            for backend in BACKENDS:
                spec = from_arguments.make_spec(name, backend=backend, image=str(picture), repetitions=10)
                runs.append(model_runs.run_and_judge(spec, phone))
        print(file=sys.stderr)
        console = terminal.console()
        run_account.table(runs).show(console)
        console.print(
            f"{time.monotonic() - started:.0f} s from the APK to the last report; the reports are in {runs[-1].folder.path.parent}"
        )
    finally:
        registry.stop(_DEVICE)
    return model_runs.checked(runs)


def _step(number: int, text: str) -> None:
    print(f"{number}  {text}", file=sys.stderr, flush=True)
