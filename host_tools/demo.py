"""The demonstration: a person's mask from a photograph, on the delegate's backends, judged against the CPU."""

import sys
from pathlib import Path

from host_tools import bazel, models, report, run
from host_tools.run_folder import RunFolder

MODEL = "selfie_segmentation"


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
    print(f"\nOpen {folder.path / report.FILE} in a browser: picture, mask, time per op, where each node ran.")
    print("Next: `./inv models`, `./inv run MODEL`, `./inv coverage MODEL`, `./inv bench`.")
    run.judge(folder)
    run.judge(other)
    return folder


def _step(number: int, text: str) -> None:
    print(f"{number}  {text}", file=sys.stderr, flush=True)
