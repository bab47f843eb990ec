"""The CPU's reference for a run in another place: `cpu_reference FOLDER` is the process that makes it."""

import sys
from pathlib import Path

from host_tools.places import model_worker, reference, worker as host_worker
from host_tools.record import run_folder


class _Finished(model_worker.Worker):
    """A worker whose model has run elsewhere: outputs, inputs and tensors are in the folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, Path(), Path())
        done = run_folder.RunFolder(folder)
        self.arrays, self.outputs = done.arrays("inputs"), done.arrays("outputs")
        self.tensors = done.json("tensors.json")


def write(folder: Path) -> None:
    """Writes cpu_outputs/ and reference.json, as on the host."""
    model_worker.stage(reference.STAGE)
    reference.write(_Finished(folder))


def main(argv: list[str]) -> int:
    return host_worker.answer(Path(argv[0]), lambda: write(Path(argv[0])))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
