"""A delegate reports on all graphs of a model; the folder of a signature's run keeps what is about the graphs that it enters."""

import shutil
from pathlib import Path
from typing import Any

from host_tools.record import run_folder, schema
from host_tools.record.run_folder import RunFolder

_FOLDER = "partition_"


def keep(folder: Path) -> None:
    """Removes the other graphs' nodes, partitions and profiles from a run's files. Does nothing where the main graph ran."""
    run = RunFolder(folder)
    if not run.spec().signature or not run.has(schema.Model.FILE):
        return
    graphs = set(run.read(schema.Model).subgraphs)
    for file, rows in ((schema.Verdicts.FILE, "profile"), (schema.Profile.FILE, "invokes")):
        if run.has(file):
            run_folder.write_json(folder / file, _of(run.json(file), graphs, rows))
    if not run.has(schema.Verdicts.FILE):
        return
    kept = {f"{_FOLDER}{partition.id}" for partition in run.read(schema.Verdicts).partitions}
    for path in run.partitions():
        if path.name not in kept:
            shutil.rmtree(path, ignore_errors=True)


def _of(value: dict[str, Any], graphs: set[int], rows: str) -> dict[str, Any]:
    """A report, or a profile, which has its partitions. rows: the field with a row per partition and inference."""
    partitions = [one for one in value["partitions"] if one.get("subgraph", 0) in graphs]
    ids = {one["id"] for one in partitions}
    found = {**value, "partitions": partitions, rows: [row for row in value.get(rows, []) if row["partition"] in ids]}
    if "nodes" in value:
        found["nodes"] = [node for node in value["nodes"] if node.get("subgraph", 0) in graphs]
    return found
