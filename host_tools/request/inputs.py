"""Input values of a run: random by seed, or a picture scaled to what the model expects."""

import contextlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import tflite

from host_tools.base.errors import Misuse
from host_tools.base.units import size_text
from host_tools.record import reading
from host_tools.record.schema import Tensor
from host_tools.record.spec import InputSpec
from host_tools.request import model_tree, signatures

if TYPE_CHECKING:
    from PIL import Image

_BILINEAR = 2  # PIL.Image.Resampling.BILINEAR
_PICTURE_SIDE = 640  # of the copy that the report shows
_DTYPES = {getattr(tflite.TensorType, name.upper()): np.dtype(name) for name in (
    "float32", "float16", "float64", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool",
)}  # fmt: skip
_SIDE = re.compile(r"[0-9]{1,10}")
NPZ = ".npz"
_FREE = -1  # of a declared shape: the size is given when the model is run


@dataclass(frozen=True)
class InputTensor:
    """What a model says of one input. scale 0 means: not quantised."""

    name: str
    dtype: np.dtype
    shape: tuple[int, ...]
    scale: float = 0.0
    zero_point: int = 0
    declared: tuple[int, ...] = ()  # the shape with -1 where the size is free; empty: all are fixed


def of_model(content: bytes, signature: str = "") -> list[InputTensor]:
    """The inputs of a signature, or of the main graph, in the order of a run's arrays. Misuse: there is no such signature."""
    entry = signatures.entry(content, signature)
    try:
        graph = tflite.Model.GetRootAs(content, 0).Subgraphs(entry.subgraph)
        return [_input(name, graph.Tensors(tensor)) for name, tensor in entry.inputs]
    except Misuse:
        raise
    except Exception as error:  # flatbuffers raises whatever a bad offset leads to
        raise model_tree.damaged("and its inputs", content, error) from error


def _input(name: str, tensor: tflite.Tensor) -> InputTensor:
    dtype = _DTYPES.get(tensor.Type())
    if dtype is None:
        raise Misuse(
            f"make values for the input {name}",
            f"inputs of TFLite's type {tensor.Type()} cannot be made",
            "give a model with numeric inputs",
        )
    shape = tuple(int(tensor.Shape(i)) for i in range(tensor.ShapeLength()))
    declared = tuple(int(tensor.ShapeSignature(i)) for i in range(tensor.ShapeSignatureLength()))
    found = InputTensor(name, dtype, shape, declared=declared if _FREE in declared else ())
    quantization = tensor.Quantization()
    if quantization is None or quantization.ScaleLength() != 1:
        return found
    zero = int(quantization.ZeroPoint(0)) if quantization.ZeroPointLength() else 0
    return replace(found, scale=float(quantization.Scale(0)), zero_point=zero)


def from_details(details: Sequence[Mapping[str, Any]]) -> list[InputTensor]:
    """InputTensors from the interpreter's get_input_details()."""
    return [
        InputTensor(d["name"], np.dtype(d["dtype"]), tuple(int(n) for n in d["shape"]), *d["quantization"])
        for d in details
    ]


def make(spec: InputSpec, tensors: Sequence[InputTensor]) -> list[np.ndarray]:
    """One array per input. The same spec gives the same values on every machine."""
    tensors = sized(tensors, spec.sizes)
    if spec.kind == "arrays":
        return _from_files(Path(spec.arrays), tensors, spec.sizes)
    generator = np.random.default_rng(spec.seed)
    arrays = [_random(tensor, spec.value_range, generator) for tensor in tensors]
    if spec.kind == "picture":
        index = picture_input(tensors)
        arrays[index] = _picture(Path(spec.picture), tensors[index], spec.value_range)
    return arrays


def sized(tensors: Sequence[InputTensor], sizes: Mapping[str, Sequence[int]]) -> list[InputTensor]:
    """The inputs in the shapes that were asked for, by name. Misuse: there is no such input, or of another rank."""
    by_name = {tensor.name: tensor for tensor in tensors}
    known = "; ".join(f"{t.name} {list(t.declared or t.shape)}" for t in tensors)
    for name, shape in sizes.items():
        if name not in by_name:
            raise Misuse(f"give the input '{name}' a size", f"the inputs are: {known}", "name one of these")
        if len(by_name[name].shape) not in (0, len(shape)):
            came_back = f"it has {len(by_name[name].shape)} dimensions, --size gives it {len(shape)}"
            raise Misuse(f"give the input {name} a size", came_back, f"the inputs are: {known}")
        if any(free not in (_FREE, side) for free, side in zip(by_name[name].declared, shape)):
            came_back = f"{list(shape)} changes a side that is fixed"
            raise Misuse(f"give the input {name} a size", came_back, f"the inputs are: {known}")
        if math.prod(shape) * by_name[name].dtype.itemsize > reading.ARRAY_BYTES:
            came_back = f"{list(shape)} is more than {size_text(reading.ARRAY_BYTES)}"
            raise Misuse(f"give the input {name} a size", came_back, "give smaller sides")
    return [replace(t, shape=tuple(sizes[t.name])) if t.name in sizes else t for t in tensors]


def _from_files(folder: Path, tensors: Sequence[InputTensor], sizes: Mapping[str, Sequence[int]]) -> list[np.ndarray]:
    """NAME.npy, or 000.npy, 001.npy, …, each of the type and size of its input; a free size is the array's. Or a .npz file
    of arrays by these names, or as numpy.savez calls those without one (arr_0, arr_1, …)."""
    named = reading.arrays_of_npz(folder) if folder.suffix == NPZ and folder.is_file() else None
    if named is not None:
        paths = [folder / _array_name(named, index, tensor.name) for index, tensor in enumerate(tensors)]
        missing = [path for path in paths if path.name not in named]
    else:
        paths = [_array_file(folder, index, tensor.name) for index, tensor in enumerate(tensors)]
        missing = [path for path in paths if not path.exists()]
    if missing:
        raise Misuse(
            f"read the inputs of {folder}",
            f"there is no {missing[0].name}",
            f"write an array for each input of the model: {', '.join(one.name for one in paths)}",
        )
    arrays = [reading.array(path) if named is None else named[path.name] for path in paths]
    for path, array, tensor in zip(paths, arrays, tensors):
        wanted = tensor.shape if tensor.name in sizes else tensor.declared or tensor.shape
        fits = len(wanted) == array.ndim and all(n in (size, _FREE) for n, size in zip(wanted, array.shape))
        if array.dtype != tensor.dtype or not fits:
            raise Misuse(
                f"give the model {path}",
                f"it is {array.dtype} {list(array.shape)}, the input {tensor.name} {tensor.dtype} {list(wanted)}",
                "give an array of that type and shape",
            )
    return arrays


def _array_file(folder: Path, index: int, name: str) -> Path:
    """By the input's name where there is such a file; a name may be no file's."""
    named = folder / f"{name}.npy"
    return named if "/" not in name and "\0" not in name and named.is_file() else folder / f"{index:03d}.npy"


def _array_name(named: Mapping[str, np.ndarray], index: int, name: str) -> str:
    """Of an input in a .npz file; the last of its possible names where it has none of them."""
    return next((one for one in (name, f"{index:03d}") if one in named), f"arr_{index}")


def picture_input(tensors: Sequence[InputTensor | Tensor]) -> int:
    """Index of the one input that takes a picture: [batch, h, w, 1, 3 or 4 channels]."""
    fits = [i for i, t in enumerate(tensors) if len(t.shape) == 4 and t.shape[3] in (1, 3, 4) and min(t.shape[1:3]) > 1]
    if len(fits) != 1:
        inputs = "; ".join(f"{t.name} {list(t.shape)}" for t in tensors)
        raise Misuse(
            "give the model a picture",
            f"{len(fits)} of its inputs have the shape [batch, height, width, 1 or 3 or 4]: {inputs}",
            "run it on random inputs: omit --image",
        )
    return fits[0]


def open_picture(path: Path | BinaryIO) -> "Image.Image":
    """The picture of a file, or of its bytes, its camera rotation applied. Misuse where it is none."""
    from PIL import (  # here: most processes need no pictures, and each would load this
        Image,
        ImageOps,
        UnidentifiedImageError,
    )

    try:
        with Image.open(path) as picture:
            picture.load()
            return ImageOps.exif_transpose(picture)
    except FileNotFoundError as error:
        raise Misuse(f"open the picture {path}", "there is no such file", "give the path of a picture") from error
    except IsADirectoryError as error:
        raise Misuse(f"open the picture {path}", "that is a folder", "give the path of a picture") from error
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, ValueError, SyntaxError) as error:
        raise Misuse(f"open the picture {path}", _first_line(error), "give a PNG, JPEG or BMP file") from error


def for_report(path: Path) -> "Image.Image":
    """A copy of the picture that is small enough to go into a report."""
    picture = open_picture(path).convert("RGB")
    picture.thumbnail((_PICTURE_SIDE, _PICTURE_SIDE))
    return picture


def _picture(path: Path, tensor: InputTensor, value_range: tuple[float, float]) -> np.ndarray:
    """[batch, h, w, c] of the tensor's type; a quantised input gets the quantised value of value_range."""
    _, height, width, channels = tensor.shape
    mode = {1: "L", 3: "RGB", 4: "RGBA"}[channels]
    resized = open_picture(path).convert("RGB").convert(mode).resize((width, height), _BILINEAR)
    pixels = np.asarray(resized).reshape(height, width, channels)
    if channels == 4:
        pixels = pixels * np.array([1, 1, 1, 0], np.uint8)  # the fourth plane is a mask of the frame before: none
    if tensor.dtype == np.uint8:
        values = pixels
    elif tensor.dtype == np.int8:
        values = pixels.astype(np.int16) - 128
    elif tensor.dtype.kind == "f" or tensor.scale:
        low, high = value_range
        values = pixels.astype(np.float32) * ((high - low) / 255.0) + low
        if tensor.scale:
            limits = np.iinfo(tensor.dtype)
            values = np.clip(np.round(values / tensor.scale) + tensor.zero_point, limits.min, limits.max)
    else:
        raise Misuse(
            "give the model a picture",
            f"its input {tensor.name} has the type {tensor.dtype}",
            "run it on random inputs: omit --image",
        )
    return np.ascontiguousarray(np.broadcast_to(values.astype(tensor.dtype), tensor.shape))


def _random(tensor: InputTensor, value_range: tuple[float, float], generator: np.random.Generator) -> np.ndarray:
    if any(n < 1 for n in tensor.shape):
        raise Misuse(
            f"make values for the input {tensor.name}",
            f"its shape {list(tensor.shape)} has no elements",
            "give a model with fixed sizes",
        )
    kind = tensor.dtype.kind
    if kind == "f":
        return generator.uniform(*value_range, tensor.shape).astype(tensor.dtype)
    if kind == "b":
        return generator.integers(0, 2, tensor.shape).astype(bool)
    if kind in "iu":
        low, high = _integers(tensor.dtype, tensor.scale)
        return generator.integers(low, high + 1, tensor.shape).astype(tensor.dtype)
    raise Misuse(
        f"make values for the input {tensor.name}",
        f"inputs of the type {tensor.dtype} cannot be made",
        "give a model with numeric inputs",
    )


def _integers(dtype: np.dtype, scale: float) -> tuple[int, int]:
    """Least and largest random number. Bytes and quantised inputs take their whole range; other integers are mostly indices and
    counts: small ones."""
    limits = np.iinfo(dtype)
    return (int(limits.min), int(limits.max)) if dtype.itemsize == 1 or scale else (0, 4)


def parse_sizes(words: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """NAME=1x64x48x3 for each, as a dict."""
    found = {}
    for word in words:
        name, _, shape = word.rpartition("=")
        sides = shape.split("x")
        if not name or not all(_SIDE.fullmatch(side) and 0 < int(side) < 2**31 for side in sides):
            raise Misuse(
                "read --size", f"{word!r} is not NAME=1x64x48x3", "name an input of the model, and all its sizes"
            )
        if name in found:
            raise Misuse("read --size", f"the input {name} has two sizes", "give it one")
        found[name] = tuple(map(int, sides))
    return found


def parse_range(text: str) -> tuple[float, float]:
    """'0,1' or '-1,1' as numbers."""
    parts = text.split(",")
    try:
        low, high = (float(part) for part in parts)
    except ValueError as error:
        raise Misuse("read --range", f"{text!r} is not LOW,HIGH", "write for example --range=-1,1") from error
    return low, high


def describe(spec: InputSpec, tensors: Sequence[Tensor] = ()) -> str:
    """One line for people. tensors: the inputs as they ran, as far as there are any; what they were given depends on their types."""
    sizes = "".join(f", {name} {'×'.join(map(str, shape))}" for name, shape in spec.sizes.items())
    if spec.kind == "arrays":
        return f"arrays of {Path(spec.arrays).name}{sizes}"
    low, high = spec.value_range
    floats = f"{low:g}..{high:g}"
    if spec.kind == "picture":
        made = {"uint8": "its bytes as they are", "int8": "its bytes less 128"}
        words = f"scaled to {floats}"
        with contextlib.suppress(Misuse):  # there are no tensors, or those of another run
            words = made.get(tensors[picture_input(tensors)].dtype, words)
        return f"picture {Path(spec.picture).name}, {words}{sizes}"
    known = {dtype.name: dtype for dtype in _DTYPES.values()}
    kinds = dict.fromkeys(_random_words(known[t.dtype], t.scale, floats) for t in tensors if t.dtype in known)
    return f"random values {', '.join(kinds) or floats}, seed {spec.seed}{sizes}"


def _random_words(dtype: np.dtype, scale: float, floats: str) -> str:
    """What `_random` makes for an input of this type and scale."""
    if dtype.kind == "f":
        return floats
    if dtype.kind == "b":
        return "false and true"
    low, high = _integers(dtype, scale)
    return f"{low}..{high} ({dtype})"


def free_sizes(declared: Mapping[str, Sequence[int]], tensors: Sequence[Tensor]) -> list[str]:
    """A sentence for each input whose sizes the model leaves free: in which it ran. tensors: as it ran."""
    ran = {tensor.name: tensor.shape for tensor in tensors}
    return [
        f"the input {name} has free sizes, {list(shape)}: it ran as {'×'.join(map(str, ran[name])) or 'a scalar'}"
        for name, shape in declared.items()
        if name in ran
    ]


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]


def tensor_json(details: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What tensors.json keeps of the interpreter's details."""
    return [
        {
            "name": t.name,
            "dtype": t.dtype.name,
            "shape": list(t.shape),
            "scale": float(t.scale),
            "zero_point": int(t.zero_point),
            **({"tensor": detail["tensor"]} if "tensor" in detail else {}),
        }
        for t, detail in zip(from_details(details), details)
    ]
