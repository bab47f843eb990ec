"""A session for other programs: JUnit XML for a CI server, Google Benchmark's JSON for its compare.py and the like,
and the whole as regress.json."""

import math
import platform
import statistics
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from host_tools.base import portable
from host_tools.judge.regression import metrics
from host_tools.judge.regression.cell_verdicts import Case, Finding
from host_tools.judge.regression.exact import INCONCLUSIVE, REGRESSED
from host_tools.judge.regression.launch import Launch
from host_tools.judge.regression.session import Session
from host_tools.record import machine, run_folder
from host_tools.show import xml_text

JUNIT, BENCHMARK, WHOLE = "junit.xml", "benchmark.json", "regress.json"


def write(session: Session) -> None:
    """Writes all three into the session's folder."""
    run_folder.write_text(session.folder / JUNIT, junit(session))
    run_folder.write_json(session.folder / BENCHMARK, benchmark(session))
    run_folder.write_json(session.folder / WHOLE, whole(session))


def junit(session: Session) -> str:
    """A test case per cell, device and metric. Regressed is a failure, inconclusive is skipped with its reason, what
    could not run is an error."""
    suites = ElementTree.Element("testsuites", name=xml_text.clean(f"regress {session.suite.name}"))
    for device in dict.fromkeys(case.device for case in session.cases):
        cases = [case for case in session.cases if case.device == device]
        suite = ElementTree.SubElement(suites, "testsuite", name=xml_text.clean(f"{session.suite.name} on {device}"))
        counts = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
        for case in cases:
            _properties(suite, case)
        for case in cases:
            for finding in case.findings:
                counts["tests"] += 1
                kind = _test_case(suite, case, finding)
                if kind:
                    counts[kind] += 1
        suite.set("timestamp", time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(session.started)))
        suite.set("time", f"{session.ended - session.started:.1f}")
        for key, count in counts.items():
            suite.set(key, str(count))
    return xml_text.document(suites)


def _properties(suite: ElementTree.Element, case: Case) -> None:
    found = suite.find("properties")
    if found is None:
        found = ElementTree.SubElement(suite, "properties")
        for key in ("GPU", "processor", "route"):
            if case.conditions.get(key):
                ElementTree.SubElement(found, "property", name=key, value=xml_text.clean(str(case.conditions[key])))
        ElementTree.SubElement(found, "property", name="library", value=case.library)


def _test_case(suite: ElementTree.Element, case: Case, finding: Finding) -> str:
    """The count that it adds to; empty: passed."""
    name = f"{case.key} {finding.metric}"
    spent = sum(map(float, finding.now)) / 1e6 if finding.unit.startswith("us") else 0.0
    row = ElementTree.SubElement(
        suite, "testcase", classname=xml_text.clean(case.key), name=xml_text.clean(name), time=f"{spent:.6f}"
    )
    text = xml_text.clean(finding.text)
    if finding.verdict == REGRESSED:
        ElementTree.SubElement(row, "failure", type=REGRESSED, message=text).text = text
        return "failures"
    if case.error and not case.good:
        ElementTree.SubElement(row, "error", type="could not run", message=xml_text.clean(case.error))
        return "errors"
    if finding.verdict == INCONCLUSIVE:
        ElementTree.SubElement(row, "skipped", message=f"inconclusive: {text}")
        return "skipped"
    ElementTree.SubElement(row, "system-out").text = f"{finding.verdict}: {text}"
    return ""


def benchmark(session: Session) -> dict[str, Any]:
    """Google Benchmark's layout: a repetition row per process, its times the medians of the inferences in it."""
    rows: list[dict[str, Any]] = []
    for case in session.cases:
        good = case.good
        for index, launch in enumerate(good):
            name = f"{case.key}/{case.device}"
            times = launch.samples["quadra.wall_us"]
            row: dict[str, Any] = {"name": name, "run_name": name, "run_type": "iteration"}
            row |= {"repetitions": len(good), "repetition_index": index, "threads": session.suite.threads}
            row |= {"iterations": len(times), "time_unit": "us"}
            row["real_time"] = statistics.median(times)
            row["cpu_time"] = statistics.median(launch.samples.get("quadra.cpu_us") or [row["real_time"]])
            rows.append(row | _counters(launch))
    context = {
        "date": time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(session.started)),
        "host_name": platform.node(),
        "executable": f"quadra regress {session.suite.name}",
        "num_cpus": portable.cpus(),
        "mhz_per_cpu": 0,
        "cpu_scaling_enabled": False,
        "caches": [],
        "load_avg": portable.load(),
        "library_build_type": "release",
        "json_schema_version": 1,
        "cpu": machine.cpu_name(),
    }
    return {"context": context, "benchmarks": rows}


def _counters(launch: Launch) -> dict[str, float]:
    found = {}
    for name in ("start.quadra_warm.total_us", "start.quadra_warm.first_invoke_us", "memory.peak_rss_bytes"):
        if launch.samples.get(name):
            found[name.rpartition(".")[2]] = launch.samples[name][0]
    for name, values in launch.samples.items():
        who, _, word = name.rpartition(".")
        if word in ("wall_us", "cpu_us") and who in ("xnnpack", "shipped_opencl", "shipped_gles") and values:
            found[f"{who}_{word}"] = statistics.median(values)
    return found


def whole(session: Session) -> dict[str, Any]:
    """Verdicts and numbers; the raw samples are in the history and in the run folders."""
    return {
        "schema_version": 2,
        "suite": session.suite.name,
        "session": session.number,
        "state": session.state,
        "baseline": session.baseline,
        "notes": session.notes,
        "started": session.started,
        "ended": session.ended,
        "cells": [
            {
                "key": case.key,
                "device": case.device,
                "verdict": case.verdict,
                "error": case.error,
                "exit_code": case.exit_code,
                "launches": [{"run": one.folder, "state": one.state, "error": one.error} for one in case.launches],
                "baseline_session": case.baseline.session if case.baseline else None,
                "library": case.library,
                "conditions": case.conditions,
                "metrics": {finding.metric: _finding(finding) for finding in case.findings},
            }
            for case in session.cases
        ],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    found: dict[str, Any] = {"verdict": finding.verdict, "text": finding.text}
    if finding.metric in metrics.TIMED:
        found |= {"unit": finding.unit, "baseline": list(finding.before), "now": list(finding.now)}
    if finding.shift:
        shift = {key: _number(value) for key, value in asdict(finding.shift).items()}
        found |= {"shift": shift, "q": finding.q, "least": finding.least}
    return found


def _number(value: float) -> Any:
    return value if math.isfinite(value) else str(value)


def paths(folder: Path) -> list[Path]:
    return [folder / name for name in (JUNIT, BENCHMARK, WHOLE)]
