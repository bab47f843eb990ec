"""What this machine does before a run in another place: the model's facts, and its inputs."""

from pathlib import Path

from host_tools.base.errors import Misuse
from host_tools.places import reference_model
from host_tools.record import run_folder, spec as specs
from host_tools.record.run_folder import CPU_MODEL
from host_tools.request import inputs, model_facts


def prepare(spec: specs.RunSpec, folder: Path) -> None:
    """Writes model.json, inputs/ and, where the CPU needs it, the rewritten model. Misuse: the model is damaged."""
    content = Path(spec.model.path).read_bytes()
    run_folder.write_json(folder / "model.json", model_facts.read(content, spec.model.name, spec.signature))
    if content[4:8] != b"TFL3":
        do_next = "give a .tflite file; a damaged one: fetch it again"
        raise Misuse(f"read the model {spec.model.name}", "it is not a TFLite model", do_next)
    cpu_content, rewrites = reference_model.for_cpu(Path(spec.model.path))
    if rewrites:
        (folder / CPU_MODEL).write_bytes(cpu_content)
    arrays = inputs.make(spec.inputs, inputs.of_model(content, spec.signature))
    run_folder.write_arrays(folder / "inputs", arrays)
    if spec.inputs.kind == "picture":
        inputs.for_report(Path(spec.inputs.picture)).save(folder / "picture.png")
