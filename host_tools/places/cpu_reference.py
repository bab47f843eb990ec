"""The CPU's reference for runs in another place: `cpu_reference FOLDER…` is the process that makes it."""

import sys
from collections.abc import Sequence
from pathlib import Path

from host_tools.places import model_worker, reference, worker as host_worker
from host_tools.record import run_folder

_SHARED = ("content", "for_cpu")  # of a model, whatever its inputs


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


def write_all(folders: Sequence[Path]) -> None:
    """The same of several inputs of one model, which is read once."""
    first: _Finished | None = None
    for number, folder in enumerate(folders, 1):
        one = _Finished(folder)
        if first:
            one.__dict__.update({name: getattr(first, name) for name in _SHARED})
        first = first or one
        model_worker.stage(f"{reference.STAGE}: {number} of {len(folders)}" if len(folders) > 1 else reference.STAGE)
        reference.write(one)


def main(argv: list[str]) -> int:
    """An error is told in the first folder's error.json."""
    return host_worker.answer(Path(argv[0]), lambda: write_all([Path(word) for word in argv]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
