"""RFFT2D of one row: numpy's rfft of the first `length` numbers, or of those there are and zeros. COMPLEX_ABS, REAL and IMAG
of it, and ops that move complex numbers."""

from __future__ import annotations

import numpy as np

from tests.vectors.case import Case, Feed

_COMPLEX = {"dtype": "complex64"}
_PARTS = {"COMPLEX_ABS": np.abs, "REAL": np.real, "IMAG": np.imag}


def rfft2d(x, length: int):
    """Of the first row of each plane."""
    return np.fft.rfft(x[..., :1, :].astype(np.float64), length).astype(np.complex64)


def spectrum(m, x, length: int):
    size = np.array([1, length], np.int32)
    return m.op("RFFT2D", [x, size], (*x.shape[:-2], 1, length // 2 + 1), "Rfft2dOptions", output=_COMPLEX)


def part(m, name: str, x):
    return m.op(name, [x], x.shape)


def _case(op: str, name: str, shape: tuple[int, ...] | Feed, length: int, **how) -> Case:
    """The op of a spectrum."""
    return Case(
        op,
        name,
        [shape],
        lambda m, x: part(m, op, spectrum(m, x, length)),
        lambda x: _PARTS[op](rfft2d(x, length)),
        **how,
    )


def _transform(name: str, shape: tuple[int, ...], length: int) -> Case:
    """The complex numbers are the result."""
    return Case("RFFT2D", name, [shape], lambda m, x: spectrum(m, x, length), lambda x: rfft2d(x, length))


def _move(op: str, name: str, shape, build, reference) -> Case:
    """An op that moves complex numbers, then their absolute values."""
    return Case(
        op,
        name,
        [shape],
        lambda m, x: part(m, "COMPLEX_ABS", build(m, spectrum(m, x, 8))),
        lambda x: np.abs(reference(rfft2d(x, 8))),
    )


def _squeeze(m, x):
    shape = (*x.shape[:-2], x.shape[-1])
    return m.op("SQUEEZE", [x], shape, "SqueezeOptions", output=_COMPLEX, SqueezeDims=[len(x.shape) - 2])


def _shaped(*shape: int):
    return lambda m, x: m.op("RESHAPE", [x, np.array(shape, np.int32)], shape, "ReshapeOptions", output=_COMPLEX)


def _all_parts() -> Case:
    """One spectrum has three readers, and is an output itself."""

    def build(m, x):
        made = spectrum(m, x, 16)
        return (made, *(part(m, op, made) for op in _PARTS))

    def reference(x):
        made = rfft2d(x, 16)
        return (made, *(function(made) for function in _PARTS.values()))

    return Case("RFFT2D", "all_parts", [(2, 1, 16)], build, reference)


def _power_spectrum() -> Case:
    """What an audio model begins with: a window's factors, the spectrum, the logarithm of bands of it."""
    length, bins, bands = 64, 33, 10
    window = np.hanning(length).astype(np.float32)
    weights = np.abs(np.sin(np.arange(bands * bins))).reshape(bands, bins).astype(np.float32)

    def build(m, x):
        made = part(m, "COMPLEX_ABS", _squeeze(m, spectrum(m, m.mul(x, window), length)))
        power = m.mul(made, made)
        sums = m.op(
            "FULLY_CONNECTED", [power, weights], (*power.shape[:-1], bands), "FullyConnectedOptions", KeepNumDims=True
        )
        return m.elementwise("LOG", m.add(sums, np.float32(1)))

    def reference(x):
        made = np.abs(rfft2d(x * window, length))[..., 0, :]
        return np.log(np.square(made) @ weights.T + 1)

    return Case("RFFT2D", "power_spectrum", [Feed((1, 20, 1, length), -1, 1)], build, reference)


CASES = [
    _transform("rows", (5, 1, 16), 16),
    _transform("filled_up", (2, 3, 1, 11), 16),
    _transform("cut_off", (3, 1, 23), 8),
    _transform("first_row", (2, 3, 16), 16),
    _transform("one_row", (1, 8), 8),
    _transform("rank_6", (2, 1, 3, 2, 1, 8), 8),
    _transform("shortest", (3, 1, 5), 2),
    _transform("long", (2, 1, 2048), 2048),
    _all_parts(),
    _power_spectrum(),
    *(_case(op, "frames", (9, 1, 64), 64) for op in _PARTS),
    *(_case(op, "batches", (2, 3, 1, 32), 32) for op in _PARTS),
    *(_case(op, "one_number", (2, 1, 4), 4) for op in _PARTS),
    _case("COMPLEX_ABS", "audio", Feed((6, 1, 256), -1, 1), 256),
    _case("COMPLEX_ABS", "filled_up", Feed((3, 1, 400), -1, 1), 512),
    _case("COMPLEX_ABS", "large", Feed((3, 1, 16), -1e36, 1e36), 16, half=False),
    _case("COMPLEX_ABS", "small", Feed((3, 1, 16), -1e-30, 1e-30), 16, half=False),
    _move("SQUEEZE", "complex", (2, 3, 1, 8), _squeeze, lambda x: x[:, :, 0]),
    _move("RESHAPE", "complex", (2, 3, 1, 8), _shaped(3, 10), lambda x: x.reshape(3, 10)),
    _move("RESHAPE", "complex_rows", (4, 1, 8), _shaped(5, 4), lambda x: x.reshape(5, 4)),
    _move(
        "EXPAND_DIMS",
        "complex",
        (2, 1, 8),
        lambda m, x: m.op("EXPAND_DIMS", [x, np.int32(1)], (2, 1, 1, 5), "ExpandDimsOptions", output=_COMPLEX),
        lambda x: x[:, None],
    ),
]


def _rejected(name: str, reason: str, shape, size: tuple[int, int], **how) -> Case:
    return Case(
        "RFFT2D",
        "rejected_" + name,
        [shape],
        lambda m, x: m.op(
            "RFFT2D", [x, np.array(size, np.int32)], (*x.shape[:-2], size[0], size[1] // 2 + 1), output=_COMPLEX
        ),
        lambda x: np.fft.rfft2(x.astype(np.float64), size).astype(np.complex64),
        place="cpu",
        reason=reason,
        **how,
    )


CASES += [
    _rejected("rows", "4 rows", (2, 4, 8), (4, 8)),
    _rejected("length", "4096", (1, 4096), (1, 4096)),
    Case(
        "TRANSPOSE",
        "rejected_complex",
        [(2, 3, 1, 8)],
        lambda m, x: part(
            m,
            "REAL",
            m.op("TRANSPOSE", [spectrum(m, x, 8), np.array([1, 0, 2, 3], np.int32)], (3, 2, 1, 5), output=_COMPLEX),
        ),
        lambda x: np.real(rfft2d(x, 8)).transpose(1, 0, 2, 3),
        place="cpu",
        reason="complex64",
    ),
]
