"""The Python wheel: what is in it, its tag, its module from the unpacked wheel, and (slow) a fresh environment that has it."""

import base64
import csv
import email
import hashlib
import importlib.util
import io
import json
import os
import re
import sys
import venv
import zipfile
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection

from host_tools.base import child_process, cpu_drivers, settings
from host_tools.base.android import ACCELERATOR
from host_tools.base.errors import JudgementFailed
from host_tools.build import bazel, maven, wheel
from tests.model_builder import one_convolution
from tests.test_kept_states import cache as one_state

PACKAGE = f"quadra_delegate-{maven.version('quadra-name')}"
# After the lines of README: they leave `interpreter` and `delegate`. Prints the largest difference to the CPU.
JUDGE = """
import json, numpy as np
interpreter.allocate_tensors()
cpu = Interpreter("model.tflite")
cpu.allocate_tensors()
(given,), (output,) = interpreter.get_input_details(), interpreter.get_output_details()
value = np.random.default_rng(1).random(given["shape"], np.float32)
for one in (interpreter, cpu):
    one.set_tensor(given["index"], value)
    one.invoke()
got, expected = (one.get_tensor(one.get_output_details()[0]["index"]) for one in (interpreter, cpu))
found = quadra.report(delegate)
nodes = [node["on"] for node in found["nodes"]]
error = float(abs(got - expected).max())
print(json.dumps([quadra.__file__, found["backend"], len(nodes), nodes.count("gpu"), error, float(np.ptp(expected))]))
"""
_DEADLINE_S = 600.0


@pytest.fixture(scope="module")
def libraries():
    return bazel.accelerator().parent


@pytest.fixture(scope="module")
def made(libraries, tmp_path_factory):
    return wheel.make(libraries, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def unpacked(made, tmp_path_factory):
    folder = tmp_path_factory.mktemp("unpacked")
    with zipfile.ZipFile(made.path) as archive:
        archive.extractall(folder)
    return folder


def module_of(folder):
    spec = importlib.util.spec_from_file_location("quadra", folder / "quadra" / "__init__.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def lines_of_readme() -> str:
    """README's Python; the last line makes the interpreter."""
    text = (settings.ROOT / "README.md").read_text()
    return next(block for block in re.findall(r"^```python\n(.*?)^```", text, re.M | re.S) if "import quadra" in block)


def judged(python, script, folder, **env) -> list:
    done = child_process.run(
        [python, "-c", script],
        cwd=folder,
        timeout_s=_DEADLINE_S,
        env={**cpu_drivers.settings(1), **cpu_drivers.caches(folder), **env},
    )
    return json.loads(done.stdout.splitlines()[-1])


def test_the_wheel_has_the_module_its_types_and_both_libraries(made, unpacked, libraries):
    with zipfile.ZipFile(made.path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    folder = f"{PACKAGE}.dist-info"
    assert set(content) == {
        *("quadra/__init__.py", "quadra/py.typed", "quadra/lib/libquadra.so", f"quadra/lib/{ACCELERATOR}"),
        *(f"{folder}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "licenses/LICENSE")),
    }
    assert content["quadra/lib/libquadra.so"] == (libraries / "libquadra.so").read_bytes()
    told = email.message_from_bytes(content[f"{folder}/METADATA"])
    assert (told["Name"], told["Version"]) == ("quadra-delegate", maven.version("quadra-name"))
    assert told.get_all("Requires-Dist") == ["ai-edge-litert>=2.1"] and told["License-Expression"] == "Apache-2.0"
    how = email.message_from_bytes(content[f"{folder}/WHEEL"])
    assert how["Root-Is-Purelib"] == "false" and made.path.name == f"{PACKAGE}-{how['Tag']}.whl"
    rows = list(csv.reader(io.StringIO(content[f"{folder}/RECORD"].decode())))
    assert {row[0] for row in rows} == set(content)
    for name, digest, _ in rows[:-1]:
        expected = base64.urlsafe_b64encode(hashlib.sha256(content[name]).digest()).rstrip(b"=").decode()
        assert digest == f"sha256={expected}"
    assert module_of(unpacked).__version__ == maven.version("quadra-name")


def test_the_tag_names_the_oldest_glibc_that_has_every_symbol(made):
    """By our own reading of the libraries."""
    asked = {(2, 0)}
    with zipfile.ZipFile(made.path) as archive:
        for name in ("libquadra.so", ACCELERATOR):
            elf = ELFFile(io.BytesIO(archive.read(f"quadra/lib/{name}")))
            for section in (one for one in elf.iter_sections() if isinstance(one, GNUVerNeedSection)):
                names = [aux.name for _, auxiliaries in section.iter_versions() for aux in auxiliaries]
                versions = [re.fullmatch(r"GLIBC_(\d+)\.(\d+)(\.\d+)?", one) for one in names]
                asked |= {(int(one[1]), int(one[2])) for one in versions if one}
    tag = re.search(r"-py3-none-manylinux_(\d+)_(\d+)_(\w+)\.whl$", made.path.name)
    assert (int(tag[1]), int(tag[2])) >= max(asked) and tag[3] == wheel._this_platform().removeprefix("linux_")
    assert f"GLIBC_{'.'.join(map(str, max(asked)))}" in made.symbols
    assert wheel._newest(["GLIBC_2.2.5", "GLIBC_2.34", "CXXABI_1.3", "GLIBC_2.4"]) == ["CXXABI_1.3", "GLIBC_2.34"]


def test_the_same_libraries_make_the_same_wheel_and_others_are_refused(made, libraries, tmp_path):
    assert wheel.make(libraries, tmp_path).path.read_bytes() == made.path.read_bytes()
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd.c").write_text("extern void* eglGetDisplay(void*); void* asks(void) { return eglGetDisplay(0); }")
    argv = ["cc", "-shared", "-fPIC", "-o", tmp_path / "odd" / "libquadra.so", tmp_path / "odd.c", "-l:libEGL.so.1"]
    child_process.run(argv, timeout_s=60)
    (tmp_path / "odd" / ACCELERATOR).write_bytes((libraries / ACCELERATOR).read_bytes())
    with pytest.raises(JudgementFailed, match="libEGL"):
        wheel.make(tmp_path / "odd", tmp_path)


def test_the_module_runs_a_model_from_the_unpacked_wheel(unpacked, tmp_path):
    (tmp_path / "model.tflite").write_bytes(one_convolution())
    where, backend, count, on_gpu, error, scale = judged(
        sys.executable, lines_of_readme() + JUDGE, tmp_path, PYTHONPATH=str(unpacked)
    )
    assert where == str(unpacked / "quadra" / "__init__.py")
    assert (backend, count, on_gpu) == ("opencl", 1, 1) and error <= 1e-5 * scale


STATES = """
import json, os
import numpy as np
import quadra
from ai_edge_litert.compiled_model import CompiledModel
from ai_edge_litert.environment import Environment
from ai_edge_litert.hardware_accelerator import HardwareAccelerator
from ai_edge_litert.interpreter import Interpreter

content = open("model.tflite", "rb").read()
delegate = quadra.load_delegate(states="cache", backend="opencl")
interpreter = Interpreter(model_content=content, experimental_delegates=[delegate])
interpreter.allocate_tensors()
indexes = [one["index"] for one in interpreter.get_input_details()]

def by_interpreter(part, at):
    for index, array in zip(indexes[1:], (part, at)):
        interpreter.set_tensor(index, array)
    interpreter.invoke()

os.environ.update(QUADRA_STATES="cache", QUADRA_BACKEND="opencl")
environment = Environment.create(runtime_path=str(quadra.accelerator()))
first, model = (CompiledModel.from_buffer(content, hardware_accel=HardwareAccelerator.GPU, environment=environment) for _ in "12")
inputs, outputs = model.create_input_buffers(0), model.create_output_buffers(0)

def by_compiled_model(part, at):
    for buffer, array in zip(inputs[1:], (part, at)):
        buffer.write(array)
    model.run_by_index(0, inputs, outputs)

def refused(do, *words):
    try:
        do(*words)
    except ValueError as error:
        return str(error)

said = []
for delegate, step in ((delegate, by_interpreter), (quadra.compiled_delegate(), by_compiled_model)):
    (told,) = quadra.report(delegate)["states"]
    want = np.zeros(told["shape"], told["element"])
    assert np.array_equal(quadra.read_state(delegate, "cache"), want) and want.dtype == np.float32
    for turn in range(3):
        part = np.full((1, 1, 2, 8), turn + 1, np.float32)
        step(part, np.int32([0, turn, 0, 0]))
        want[:, turn] = part[:, 0]
        assert np.array_equal(quadra.read_state(delegate, "cache"), want)
    want = np.arange(want.size, dtype=np.float32).reshape(want.shape)
    quadra.write_state(delegate, "cache", np.asfortranarray(want))
    mine = np.empty_like(want)
    assert quadra.read_state(delegate, "cache", mine) is mine and np.array_equal(mine, want)
    quadra.clear_states(delegate)
    assert not quadra.read_state(delegate, "cache").any()
    said += [
        refused(quadra.read_state, delegate, "k"),
        refused(quadra.write_state, delegate, "cache", want[0, 0]),
        refused(quadra.read_state, delegate, "cache", mine[:, ::2]),
        refused(quadra.clear_states, delegate, "k"),
    ]
delegate = quadra.compiled_delegate(1)
said.append(refused(quadra.compiled_delegate, 2))
del first
said.append(refused(quadra.report, delegate))
print(json.dumps(said))
"""


def test_states_are_read_written_and_cleared_from_python(unpacked, tmp_path):
    """Through the interpreter and through CompiledModel, whose delegate the module finds."""
    (tmp_path / "model.tflite").write_bytes(one_state().bytes())
    said = judged(sys.executable, STATES, tmp_path, PYTHONPATH=str(unpacked))
    assert said == [
        "Quadra: option states: 'k' is no state",
        f"Quadra: write the state 'cache': it has {16 * 2 * 8 * 4} bytes, not {2 * 8 * 4}",
        "Quadra: read the state 'cache': the array must be writable and contiguous",
        "Quadra: option states: 'k' is no state",
    ] * 2 + [
        "Quadra: find the delegate of a compiled model: 2 of Quadra's live",
        "Quadra: take the delegate of a compiled model: the model has gone",
    ]


def test_what_is_missing_or_wrong_is_a_sentence(unpacked, tmp_path, monkeypatch):
    quadra = module_of(unpacked)
    assert quadra.accelerator() == quadra.library().parent == unpacked / "quadra" / "lib"
    assert quadra._word(True) == "1" and quadra._word(0.5) == "0.5"
    with pytest.raises(ValueError, match="backend"):
        quadra.load_delegate({"backend": "cuda"})
    monkeypatch.setitem(sys.modules, "ai_edge_litert.interpreter", None)
    monkeypatch.setitem(sys.modules, "ai_edge_litert", None)
    with pytest.raises(
        ImportError, match="neither ai_edge_litert nor tflite_runtime.*next: `pip install ai-edge-litert`"
    ):
        quadra.load_delegate()
    monkeypatch.setattr(quadra, "_LIBRARIES", tmp_path)
    with pytest.raises(ImportError, match="find libquadra.so: .* is not there; next: install the wheel"):
        quadra.load_delegate()
    (tmp_path / "libquadra.so").write_bytes(b"for another machine")
    with pytest.raises(OSError, match="Quadra: load .*next: this is Linux on"):
        quadra.load_delegate()


@pytest.fixture
def installable(unpacked, tmp_path, monkeypatch):
    """The wheel's module, and the folder of an ai_edge_litert that stands for the installed one."""
    folder = tmp_path / "site" / "ai_edge_litert"
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    (tmp_path / "site" / "ai_edge_litert-9.8.7.dist-info").mkdir()
    (tmp_path / "site" / "ai_edge_litert-9.8.7.dist-info" / "METADATA").write_text(
        "Name: ai-edge-litert\nVersion: 9.8.7\n"
    )
    for name in [one for one in sys.modules if one.split(".")[0] == "ai_edge_litert"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(tmp_path / "site")
    return module_of(unpacked), folder


def files_of(folder):
    return {path.name: path.resolve() for path in folder.iterdir() if path.name not in ("__init__.py", "__pycache__")}


def test_the_accelerator_is_installed_into_litert_and_taken_away_again(installable, unpacked, capsys):
    quadra, folder = installable
    both = {name: unpacked / "quadra" / "lib" / name for name in ("libquadra.so", ACCELERATOR)}
    for _ in range(2):
        assert quadra.install() == folder / ACCELERATOR and files_of(folder) == both
        line = (
            f"ai-edge-litert 9.8.7 runs models on the GPU with Quadra now: {folder / ACCELERATOR}; quadra.uninstall()"
        )
        assert line in capsys.readouterr().out
    assert not any(Path(os.readlink(folder / name)).is_absolute() for name in both)
    quadra.uninstall()
    assert files_of(folder) == {} and "without Quadra again" in capsys.readouterr().out
    quadra.uninstall()
    assert "without Quadra already" in capsys.readouterr().out


def test_the_nightly_is_named_with_its_version_and_what_no_package_brought_too(installable, tmp_path, capsys):
    quadra, folder = installable
    (folder.parent / "ai_edge_litert-9.8.7.dist-info").rename(tmp_path / "elsewhere")
    quadra.uninstall()
    assert capsys.readouterr().out.startswith("ai_edge_litert, which no package brought, is without Quadra already")
    nightly = folder.parent / "ai_edge_litert_nightly-9.9.0.dev20261026.dist-info"
    nightly.mkdir()
    (nightly / "METADATA").write_text("Name: ai-edge-litert-nightly\nVersion: 9.9.0.dev20261026\n")
    quadra.install()
    assert capsys.readouterr().out.startswith(
        "ai-edge-litert-nightly 9.9.0.dev20261026 runs models on the GPU with Quadra"
    )


def test_a_link_to_a_package_that_has_gone_is_replaced_and_removed(installable, unpacked):
    quadra, folder = installable
    for do in (quadra.install, quadra.uninstall):
        for name in ("libquadra.so", ACCELERATOR):
            (folder / name).unlink(missing_ok=True)
            (folder / name).symlink_to(f"/gone/quadra/lib/{name}")
        do()
        assert set(files_of(folder).values()) <= {
            unpacked / "quadra" / "lib" / name for name in ("libquadra.so", ACCELERATOR)
        }


@pytest.mark.parametrize("name", ["libquadra.so", ACCELERATOR])
def test_a_file_that_is_not_ours_stays(installable, name):
    quadra, folder = installable
    (folder / name).write_bytes(b"another accelerator")
    with pytest.raises(FileExistsError, match=f"{name} is not Quadra's; next: move it elsewhere"):
        quadra.install()
    quadra.uninstall()
    assert [path.name for path in folder.iterdir() if path.suffix == ".so"] == [name]
    assert (folder / name).read_bytes() == b"another accelerator"


def test_an_installation_that_fails_leaves_nothing(installable, monkeypatch):
    """The second link cannot be made, as where a disk is full."""
    quadra, folder = installable
    replace = os.replace

    def full(source, target):
        if Path(target).name == ACCELERATOR:
            raise OSError(28, "No space left on device")
        replace(source, target)

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", full)
        with pytest.raises(OSError, match="install into ai-edge-litert 9.8.7: .*No space left.*next: .*runtime_path"):
            quadra.install()
        assert files_of(folder) == {}
    quadra.install()
    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", full)
        with pytest.raises(OSError):
            quadra.install()
    assert set(files_of(folder)) == {"libquadra.so", ACCELERATOR}, "what was there before works on"


def test_without_litert_or_a_library_that_loads_nothing_is_installed(installable, tmp_path, monkeypatch):
    quadra, folder = installable
    monkeypatch.setattr(quadra, "_LIBRARIES", tmp_path)
    (tmp_path / ACCELERATOR).touch()
    (tmp_path / "libquadra.so").write_bytes(b"for another machine")
    with pytest.raises(OSError, match="Quadra: load "):
        quadra.install()
    assert files_of(folder) == {}
    monkeypatch.setitem(sys.modules, "ai_edge_litert", None)
    for do in (quadra.install, quadra.uninstall):
        with pytest.raises(ImportError, match="ai_edge_litert is not installed; next: `pip install"):
            do()


@pytest.mark.slow
def test_a_fresh_environment_runs_a_real_model_in_three_lines(made, model_path, tmp_path):
    """pip takes the wheel and what it needs; all nodes are on the GPU, and as right as the CPU. CompiledModel, too."""
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    child_process.run([python, "-m", "pip", "install", "--no-input", made.path], timeout_s=_DEADLINE_S)
    (tmp_path / "model.tflite").write_bytes(model_path("selfie_segmentation").read_bytes())
    where, backend, count, on_gpu, error, scale = judged(python, lines_of_readme() + JUDGE, tmp_path)
    assert where.startswith(str(tmp_path / "venv"))
    assert backend == "opencl" and count == on_gpu == 246 and error <= 1e-4 * scale
    script = """
import json, quadra
from ai_edge_litert.compiled_model import CompiledModel
from ai_edge_litert.environment import Environment
from ai_edge_litert.hardware_accelerator import HardwareAccelerator
environment = Environment.create(runtime_path=str(quadra.accelerator()))
made = CompiledModel.from_file("model.tflite", hardware_accel=HardwareAccelerator.GPU, environment=environment)
print(json.dumps([made.is_fully_accelerated()]))
"""
    assert judged(python, script, tmp_path) == [True]
