"""Many inputs of one model, which are judged together: a folder of folders, of .npz files or of pictures, or an earlier run."""

from collections.abc import Callable
from pathlib import Path

from msgspec import structs

from host_tools.base import digests
from host_tools.base.errors import Misuse
from host_tools.record.spec import InputSpec, RunSpec
from host_tools.request import inputs

MOST = 100_000
SET = "set"  # the folder in a run's own for what the further inputs gave


def is_set(path: Path) -> bool:
    """Whether a path of --image or --inputs has many inputs."""
    return path.is_dir() and not any(path.glob("*.npy"))


def of(spec: RunSpec) -> list[InputSpec]:
    """All inputs of a run, the first one included."""
    if not spec.input_set:
        return [spec.inputs]
    found = pictures(Path(spec.input_set)) if spec.inputs.kind == "picture" else arrays(Path(spec.input_set))
    return [_at(spec.inputs, path) for path in found]


def pictures(folder: Path) -> list[Path]:
    """The pictures of a folder, by name. Misuse: there are none."""
    from PIL import Image  # here: it loads 70 files

    endings = Image.registered_extensions()
    return _some(folder, "pictures", lambda path: path.suffix.lower() in endings and path.is_file())


def arrays(folder: Path) -> list[Path]:
    """Folders of .npy files and .npz files of a folder, by name; of a run its inputs, and those of its set. Misuse: none."""
    if (folder / RunSpec.FILE).is_file():
        return [folder / "inputs", *sorted(path for path in folder.glob(f"{SET}/*/inputs") if path.is_dir())]
    return _some(
        folder,
        "inputs",
        lambda path: (path.suffix == inputs.NPZ and path.is_file()) or (path.is_dir() and any(path.glob("*.npy"))),
    )


def _some(folder: Path, what: str, fits: Callable[[Path], bool]) -> list[Path]:
    found = sorted(path for path in folder.iterdir() if path.name[0] != "." and fits(path))
    if not found:
        do_next = (
            "put pictures into it"
            if what == "pictures"
            else "put a folder of .npy files, or a .npz file, into it for each"
        )
        raise Misuse(f"read the {what} of {folder}", "the folder has none", do_next)
    if len(found) > MOST:
        raise Misuse(f"read the {what} of {folder}", f"it has {len(found)}", f"give at most {MOST}")
    return found


def _at(spec: InputSpec, path: Path) -> InputSpec:
    if spec.kind == "picture":
        return structs.replace(spec, picture=str(path), picture_sha256=digests.sha256_of(path))
    return structs.replace(spec, arrays=str(path))
