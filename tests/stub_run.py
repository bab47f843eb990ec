"""Stands in for the app's Java process: leaves a run that was made before, and ends as it is told.

stub_run PROPERTIES PREPARED: JSON of the properties, and a folder with what the run leaves and `how.json`: the stage
at which something happens, and what: wait, crash, lie (says complete, leaves nothing), fail.
"""

import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path

properties, prepared = json.loads(sys.argv[1]), Path(sys.argv[2])
folder = Path(properties["quadra.argument.folder"])
channel = open(properties["quadra.status"], "w", encoding="utf-8")
how = json.loads((prepared / "how.json").read_text())
mode = properties.get("quadra.argument.mode", "run")
peers = properties.get("quadra.argument.peers", "")


def tell(what: str, code: int, **values: str) -> None:
    channel.write(json.dumps({"what": what, "code": code, "values": values}) + "\n")
    channel.flush()


def stage(name: str) -> None:
    print(f"stage: {name}", flush=True)
    tell("status", 0, stage=name)
    if how.get("at") == name:
        if how["do"] == "wait":
            sys.stdin.buffer.read()
            os._exit(137)
        if how["do"] == "crash":
            os.kill(os.getpid(), signal.SIGABRT)


def fail() -> int:
    parts = ["read the model", "it is damaged", "push it again"]
    (folder / "error.json").write_text(json.dumps({"kind": "Misuse", "exit_code": 2, "parts": parts}))
    tell("finish", 0, state="failed", error=": ".join(parts), exit_code="2")
    return 2


def main() -> int:
    stage("start")
    stage("load the delegate")
    if how.get("do") == "fail":
        return fail()
    if mode == "cold":
        stage(f"first inference of {peers or 'quadra'}")
        shutil.copy(prepared / "cold.json", folder)
    else:
        stage("first inference of quadra")
        for peer in filter(None, peers.split(",")):
            stage(f"start {peer}")
        if how.get("do") != "lie":
            shutil.copytree(prepared / "leaves", folder, dirs_exist_ok=True)
        stage("measure")
        time.sleep(how.get("measures_s", 0.05))
        stage("save the plan")
    tell("finish", -1, state="complete")
    return 0


os._exit(main())
