"""What a device's GPU is, as a target to plan for. The delegate tells it there, beside a model of one node."""

from dataclasses import replace
from pathlib import Path

from host_tools.base.errors import Misuse, RunFailed
from host_tools.base.progress import progress
from host_tools.phone.state import device_facts
from host_tools.places.on_phone import DevicePlace
from host_tools.record import schema
from host_tools.request import from_arguments
from host_tools.request.decoder_tree import Tree
from host_tools.request.run_options import RunOptions
from host_tools.run import requested

NO_NODE = {"first_delegate_node_index": "2147483647"}  # the driver is asked for its device, and compiles nothing


def ask(options: RunOptions, folder: Path) -> Path:
    """The target's file, in `folder`. options: `on`, one device; `via` and `backend`.

    Misuse: that is no single device. RunFailed: neither OpenCL nor OpenGL ES works there.
    """
    places = requested.places(replace(options, library=""))  # that one is for this machine
    if len(places) != 1 or not isinstance(places[0], DevicePlace):
        came_back = "a plan is made for one device"
        raise Misuse(
            f"plan for --on {options.on}", came_back, "give a serial or name of `inv device list`, any or virtual"
        )
    place = places[0]
    spec = from_arguments.make_spec(
        str(_small_model(folder)), backend=options.backend or "auto", repetitions=1, peers=(), deadline_s=120.0,
        options=",".join(f"{name}={value}" for name, value in NO_NODE.items()), route=options.via,
        **from_arguments.destination(options.on),
    )  # fmt: skip
    with progress(f"ask {options.on} for its GPU") as show:
        run = place.run(place.aim(spec), show, folder)
    target = run.path / device_facts.TARGET_FILE
    if not target.is_file():
        notes = "; ".join(run.read(schema.Verdicts).backend_notes) or "no GPU API worked there"
        raise RunFailed(
            f"ask {options.on} for its GPU", notes, f"`inv run MODEL --on {options.on}` shows all that it says"
        )
    return target


def _small_model(folder: Path) -> Path:
    tree = Tree()
    graph = tree.graph("main")
    numbers = graph.input("numbers", (1, 4))
    graph.output(graph.add(numbers, numbers))
    path = folder / "device.tflite"
    tree.write(path)
    return path
