"""Stands in for the Java process of an app: tells its status as android_app/host_test does, and ends as it is told.

stub_runner PROPERTIES: JSON; the argument `do` of the runner says what happens.
"""

import json
import os
import signal
import sys

properties = json.loads(sys.argv[1])
channel = open(properties["quadra.status"], "w", encoding="utf-8")


def tell(what: str, code: int, **values: str) -> None:
    channel.write(json.dumps({"what": what, "code": code, "values": values}) + "\n")
    channel.flush()


def stage(name: str) -> None:
    print(f"stage: {name}", flush=True)
    tell("status", 0, stage=name)


def main(do: str) -> int:
    stage("start")
    print(
        "tflite: Replacing 3 out of 3 node(s) with delegate (QuadraDelegate) node, yielding 1 partitions.", flush=True
    )
    if do == "exception":
        print(
            "java.lang.IllegalStateException: it is so\n\tat org.quadra.runner.RunWorker.work(RunWorker.java:7)",
            flush=True,
        )
        tell("crash", 0, **{"class": "java.lang.IllegalStateException", "message": "it is so"})
        return 70
    if do == "abort":
        os.kill(os.getpid(), signal.SIGABRT)
    stage("measure")
    if do == "wait":
        sys.stdin.buffer.read()
        return 137
    if properties["quadra.pause"]:
        sys.stdin.buffer.readline()
    if do == "fail":
        tell(
            "finish",
            0,
            state="failed",
            error=f"read the folder {properties['quadra.argument.folder']}: no",
            exit_code="2",
        )
        return 2
    if do == "exit":
        return 9
    tell("finish", -1, state="complete")
    return 0


os._exit(main(properties.get("quadra.argument.do", "")))
