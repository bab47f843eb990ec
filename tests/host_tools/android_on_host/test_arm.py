"""The libraries that phones get are executed: ARM's runner, TFLite's ARM runtime and ARM's delegate, under qemu. What the
delegate makes of a model there (graph, kernels, packed weights, memory) is byte for byte what it makes here; on arm64 Mesa
runs its kernels."""

import os
import re
import struct

import numpy as np
import pytest

from host_tools.analyse import phone_compilers
from host_tools.android_on_host import bionic
from host_tools.android_on_host.bionic import machines, relocations, symbols
from host_tools.base import child_process
from host_tools.base.errors import FetchFailed, Misuse, ToolMissing
from host_tools.build import bazel, maven
from host_tools.places import cpu_reference, on_host, prepare
from host_tools.record import run_folder
from host_tools.request import from_arguments
from tests.delegate import TOLERANCE
from tests.host_tools.analyse.test_analyse_for_real import REAL
from tests.model_builder import one_convolution

ABIS = ("arm64-v8a", "armeabi-v7a")
# Floats, halves and integers; images and buffers; both languages; a state that is kept.
MODELS = [
    ("selfie_segmentation", "adreno-640", "f32"),
    ("deeplabv3_257_mv_gpu", "mali-g76", "f16"),
    ("mobilenet_v2_1.0_224_quant", "adreno-640-gles", "f32"),
    ("keras_lstm_mnist_ptq", "generic-gles", "f32_f16"),
]


class Phone:
    """What an ABI's phones run, as far as it runs here."""

    def __init__(self, abi, folder):
        try:
            self.runtime = maven.aar_file("tensorflow-lite", f"jni/{abi}/libtensorflowlite_jni.so")
        except FetchFailed as error:
            pytest.skip(str(error))
        self.runner, self.library = folder / "quadra_runner", folder / "libquadra.so"
        relocations.unpack(bazel.runners([abi])[abi], self.runner)
        relocations.unpack(bazel.android([abi])[abi].path, self.library)
        self._folder = folder

    def start(self, spec, name, mode, driver=None):
        """The folder that it leaves, with plans. driver: phone_compilers.Installed, whose Mesa has llvmpipe, too."""
        folder = self._folder / name
        folder.mkdir()
        told = spec.to_json()
        told["options"]["dump_dir"] = str(folder)
        run_folder.write_json(folder / "spec.json", told)
        prepare.prepare(spec, folder)
        words = ["--folder", folder, "--runtime", self.runtime, "--quadra", self.library, "--mode", mode]
        env = {**os.environ, **driver.environment()} if driver else None
        try:
            argv = bionic.command(
                self.runner, [self.runtime, self.library], words, driver.libraries if driver else None
            )
        except ToolMissing as error:
            pytest.skip(str(error))
        child_process.run(argv, timeout_s=300, env=env)
        return run_folder.RunFolder(folder)


@pytest.fixture(scope="module", params=ABIS)
def phone(request, tmp_path_factory):
    return Phone(request.param, tmp_path_factory.mktemp(request.param))


def plans(folder):
    return {path.parent.name: path.read_bytes() for path in folder.rglob("plan.quadra")}


@pytest.mark.slow
@pytest.mark.parametrize(("model", "target", "precision"), MODELS)
def test_plans_are_those_that_are_made_here(phone, library, model_path, model, target, precision, tmp_path):
    spec = from_arguments.make_spec(str(model_path(model)), backend="null", target=target, precision=precision)
    on_host.dump(spec, library, tmp_path)
    folder = phone.start(spec, f"{model}-{target}-{precision}", "verdicts")
    nodes = folder.json("verdicts.json")["nodes"]
    assert nodes and all(node["on"] == "gpu" for node in nodes), nodes
    assert plans(folder.path) == plans(tmp_path) != {}


@pytest.mark.slow
@pytest.mark.parametrize("phone", ["arm64-v8a"], indirect=True)
@pytest.mark.parametrize("precision", ["f32", "f16"])
def test_kernels_run_on_arms_mesa(phone, monkeypatch, precision, tmp_path):
    """OpenGL ES of ARM's delegate, on llvmpipe as it is among the packages of Mali's compiler."""
    monkeypatch.setenv("QUADRA_TOOLS_DIR", str(REAL))
    driver = phone_compilers.installed("mali")
    if not driver:
        pytest.skip(f"Mesa for arm64 is not installed: {phone_compilers.INSTALL}")
    model = tmp_path / "small.tflite"
    model.write_bytes(one_convolution())
    spec = from_arguments.make_spec(str(model), backend="gles", precision=precision, repetitions=1)
    left = phone.start(spec, f"mesa-{precision}", "run", driver)
    verdicts = left.json("verdicts.json")
    assert verdicts["backend"] == "gles" and verdicts["device"]["name"].startswith("llvmpipe"), verdicts[
        "backend_notes"
    ]
    assert verdicts["nodes"] and all(node["on"] == "gpu" for node in verdicts["nodes"]), verdicts["nodes"]
    cpu_reference.write(left.path)
    (ours,), (cpu,) = left.arrays("outputs"), left.arrays("cpu_outputs")
    np.testing.assert_allclose(ours, cpu, rtol=0, atol=TOLERANCE[precision] * np.ptp(cpu))


def packed(*groups):
    """Android's packed relocations of (count, flags, numbers …); all start at offset 0x100."""
    numbers = [sum(group[0] for group in groups), 0x100, *(number for group in groups for number in group)]
    out = bytearray(b"APS2")
    for number in numbers:
        while True:
            byte, number = number & 127, number >> 7
            last = number in (0, -1) and bool(byte & 64) == (number == -1)
            out.append(byte | (0 if last else 128))
            if last:
                break
    return bytes(out)


def test_packed_relocations_are_read():
    relative, by_symbol = 23, (5 << 8) | 2
    data = packed((3, 1 | 2, 4, relative), (2, 0, 8, by_symbol, 4096, relative))
    entries = [struct.unpack("<II", entry) for entry in relocations._plain(data, wide=False)]
    assert entries == [(0x104, relative), (0x108, relative), (0x10C, relative), (0x114, by_symbol), (0x1114, relative)]
    data = packed((2, 1 | 8, 1027, 16, -5, 8, 300), (1, 1 | 2, 8, 1026))
    entries = [struct.unpack("<QQq", entry) for entry in relocations._plain(data, wide=True)]
    assert entries == [(0x110, 1027, -5), (0x118, 1027, 295), (0x120, 1026, 0)]
    with pytest.raises(Misuse, match="not with APS2"):
        list(relocations._plain(b"APS1\0", wide=True))


def test_what_has_none_is_copied_and_what_is_no_library_is_refused(tmp_path):
    (tmp_path / "text").write_text("no library")
    with pytest.raises(Misuse, match="text"):
        relocations.unpack(tmp_path / "text", tmp_path / "to")
    here = bionic._of_machine("libEGL.so")
    relocations.unpack(here, tmp_path / "to")
    assert (tmp_path / "to").read_bytes() == here.read_bytes()
    assert symbols.read(tmp_path / "to").machine == machines.HERE.elf


def test_32_bit_functions_stand_in_one_place():
    arm = next(machine for machine in machines.MACHINES if machine.abi == "armeabi-v7a")
    own = set(re.findall(r"\bbionic_(\w+)\(", (bionic._HERE / "arm.c").read_text()))
    assert {"mmap", "clock_gettime"} <= bionic.same_functions() and not own & bionic.own_functions()
    assert bionic.own_functions(arm) == own | bionic.own_functions()
