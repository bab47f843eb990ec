"""`--driver` of run, support and parity: what contradicts it is misuse; what ran says which driver it was."""

import io

import numpy as np
import pytest
from msgspec import structs
from rich.console import Console

from host_tools.base.errors import Misuse, ToolMissing
from host_tools.drivers import driver_table
from host_tools.judge import judged
from host_tools.parity import vector_parity
from host_tools.places import on_host
from host_tools.record import schema, spec as specs
from host_tools.request import as_command, from_arguments
from host_tools.run import chosen_driver, node_support
from host_tools.show import report, run_account, run_document
from host_tools.tasks import parity as parity_task
from tests.model_builder import Model

HERE = ["softpipe", "angle", "rusticl", "rusticl-26"]
DEVICES = {"softpipe": "softpipe", "angle": "SwiftShader", "rusticl": "LLVM 15", "rusticl-26": "LLVM 19"}


@pytest.fixture
def model(tmp_path, monkeypatch):
    monkeypatch.setenv("QUADRA_RUNS_DIR", str(tmp_path / "runs"))
    made = Model()
    x = made.input((1, 8, 8, 3))
    made.output(made.add(x, np.ones((1, 8, 8, 3), np.float32)))
    path = tmp_path / "sum.tflite"
    path.write_bytes(made.bytes())
    return str(path)


@pytest.fixture(params=HERE)
def row(request):
    found = driver_table.find(request.param)
    try:
        found.check()
    except ToolMissing as error:
        pytest.skip(str(error))
    return found


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"backend": "opencl"}, "the driver is of OpenGL ES, and --backend is opencl"),
        ({"target": "adreno-640"}, "the driver is of OpenGL ES, and the target adreno-640 of OpenCL"),
        ({"on": "jvm"}, "--on jvm is another place"),
        ({"on": "host,jvm"}, "--on host,jvm is another place"),
        ({"options": "tuning=fast,egl_library=x"}, "--options egl_library names another driver"),
    ],
)
def test_what_contradicts_the_driver_is_misuse(words, says):
    with pytest.raises(Misuse, match=f"(?s)run on the driver angle: {says}.*next: "):
        chosen_driver.find("angle", **words)


def test_what_goes_with_the_driver_is_taken():
    assert chosen_driver.find("", backend="opencl", on="jvm") is None
    for words in (
        {},
        {"backend": "auto"},
        {"backend": "gles"},
        {"target": "adreno-640-gles"},
        {"options": "tuning=fast"},
    ):
        assert chosen_driver.find("angle", **words).name == "angle"


def test_a_spec_with_a_driver_is_of_this_machine(model):
    spec = from_arguments.make_spec(model, driver="angle", backend="gles")
    with pytest.raises(Misuse, match="run with --driver angle in the place jvm"):
        specs.checked(structs.replace(spec, place="jvm"))


def test_a_driver_that_is_not_here_leaves_no_run_folder(model, tmp_path, monkeypatch):
    monkeypatch.setenv("QUADRA_TOOLS_DIR", str(tmp_path / "empty"))
    with pytest.raises(ToolMissing, match="inv drivers --fetch angle"):
        on_host.Host().run(from_arguments.make_spec(model, driver="angle", backend="gles"))
    assert not (tmp_path / "runs").exists()


def test_a_run_on_a_driver_says_so(model, library, row):
    spec = from_arguments.make_spec(
        model, driver=row.name, backend=row.backend, repetitions=1, options="small_partitions_allowed=1"
    )
    folder = on_host.Host(library).run(spec)
    found = judged.judge(folder)
    assert found.ok
    verdicts, environment = folder.read(schema.Verdicts), folder.read(schema.Environment)
    assert verdicts.backend == row.backend and DEVICES[row.name] in verdicts.device.name
    assert all(node.on == "gpu" for node in verdicts.nodes)
    assert (folder.spec().driver, environment.driver, environment.driver_source) == (row.name, row.name, row.source)
    listed = environment.opencl_devices if row.backend == "opencl" else environment.gles_devices
    assert any(DEVICES[row.name] in device.name for device in listed)
    command = as_command.run(folder.spec())
    assert f"--driver={row.name}" in command and "egl_library" not in command and "--backend" not in command
    assert f"on the driver {row.name}" in report.render(found)
    console = Console(file=io.StringIO(), width=200)
    run_account.account(found, console)
    assert f"on the driver {row.name}: " in console.file.getvalue()
    assert run_document.of([run_account.Ended("host", found)], None).runs[0].driver == row.name


def test_support_asks_the_drivers_own_device(model, library, row, tmp_path):
    spec = node_support.make_spec(model, driver=row.name)
    answered, _ = node_support.ask(spec, library)
    entry = on_host.entered(spec)
    assert answered.backend == "null" and node_support.api_of(spec) == row.backend
    own = from_arguments.make_spec(model, driver=row.name, backend=row.backend, options="small_partitions_allowed=1")
    (tmp_path / "scratch").mkdir()
    asked = on_host.verdicts(
        structs.replace(own, options={**entry.options, **own.options}), library, tmp_path / "scratch"
    )
    assert answered.target == asked.target


def test_support_takes_a_target_or_a_driver(model):
    with pytest.raises(Misuse, match="the driver's own device is the target"):
        node_support.make_spec(model, driver="angle", target="generic-gles")


def test_parity_runs_on_the_driver_alone_and_says_so(library):
    found = vector_parity.measure(library, ["RELU"], True, print, "softpipe")
    assert {backend for backend, _, _ in found.columns} == {"gles"}
    assert [cell.total for cell in found.cells.values()] == [2] * 6 and not list(found.failures())
    console = Console(file=io.StringIO(), width=100)
    parity_task.show(found, console)
    assert (
        "Ops on the driver softpipe:" in console.file.getvalue() and parity_task.to_json(found)["driver"] == "softpipe"
    )
