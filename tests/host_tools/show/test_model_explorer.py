"""Overlays have Model Explorer's form: results by the numbers of nodes, values that JSON has, colours."""

import json

from host_tools.record import schema
from host_tools.show import model_explorer
from tests.host_tools import run_folders


def overlays(folder, to):
    written = model_explorer.write(folder, to / "deep" / "overlays")
    return {path.stem: json.loads(path.read_text()) for path in written}


def row(nodes, relative, problem="", alone=""):
    return schema.BisectRow(
        partition=0, dispatch="000_a", nodes=nodes, ops="A", tensor=1, name="t", relative=relative, problem=problem,
        alone_problem=alone,
    )  # fmt: skip


def test_verdicts_errors_and_times_by_node(tmp_path):
    rows = [row([], 0.0), row([0], 1e-6), row([1, 2], "inf", "has 1 INF", "has 1 INF"), row([3], 0.5, "is off")]
    bisect = schema.plain(
        schema.Bisect(tolerance=1e-4, ops=4, compared=4, rows=rows, kind="kernel", row=2, sentence="s")
    )
    verdicts = schema.plain(run_folders.make(tmp_path / "a").read(schema.Verdicts))
    dispatches = [
        {"name": "000_a", "kernel": "a", "nodes": nodes, "global": [1, 1, 1], "local": [1, 1, 1]}
        for nodes in ([0], [1, 2])
    ]
    partition = {"id": 0, "nodes": [0, 1, 2], "programs": 1, "timings_us": {}, "dispatches": dispatches}
    verdicts["nodes"] = [
        {"index": 0, "op": "A", "on": "gpu", "partition": 0}, {"index": 1, "op": "B", "on": "cpu", "reason": "no [b]"},
        {"index": 0, "op": "A", "on": "gpu", "subgraph": 1},
    ]  # fmt: skip
    verdicts["partitions"] = [partition]
    profile = {
        "invoke_us": [100], "partitions": [partition], "invokes": [{"partition": 0, "dispatch_us": [30.0, 8.0]}]
    }  # fmt: skip
    found = overlays(run_folders.make(tmp_path / "b", report=verdicts, bisect=bisect, profile=profile), tmp_path)
    verdict = found["verdict"]["results"]
    assert verdict["0"]["value"] == "GPU, partition 0" and verdict["1"]["value"] == "CPU: no [b]" and len(verdict) == 2
    errors = found["error"]["results"]
    assert errors["0"] == {"value": 1e-6} and errors["2"]["value"] == model_explorer.NOT_FINITE
    assert set(errors) == {"0", "2", "3"} and errors["2"]["bgColor"] != errors["3"]["bgColor"]
    assert {node: one["value"] for node, one in found["time_us"]["results"].items()} == {"0": 30.0, "1": 4.0, "2": 4.0}
    assert [stop["stop"] for stop in found["time_us"]["gradient"]] == [0, 1]


def test_what_a_run_has_not_gets_no_file(tmp_path):
    assert set(overlays(run_folders.make(tmp_path / "a"), tmp_path)) == {"verdict"}
