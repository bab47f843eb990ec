"""Runs as JUnit XML, for a CI server: a test case for each output of each run, and one for each limit."""

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from host_tools.base.errors import QuadraError, skipped
from host_tools.base.short_names import short
from host_tools.judge.judged import Judged
from host_tools.judge.limits import Limits
from host_tools.record import run_folder, schema
from host_tools.show import xml_text
from host_tools.show.run_account import Ended


def write(ended: Sequence[Ended], limits: Limits, path: Path, error: QuadraError | None = None) -> None:
    """Writes the file. error: why there are no runs."""
    run_folder.write_bytes(path, text(ended, limits, error).encode("utf-8"), "--junit")


def text(ended: Sequence[Ended], limits: Limits, error: QuadraError | None = None) -> str:
    """The document. An output that is wrong and a limit that is exceeded are failures; a run that did not finish is an error,
    and one on a device that cannot be used is skipped."""
    suites = ElementTree.Element("testsuites", name="quadra run")
    rows = [one for one in ended if one.judged or one.error]
    for one in rows or [Ended("", None, error)]:
        label = one.judged.folder.spec().label if one.judged else "run"
        suite = ElementTree.SubElement(
            suites, "testsuite", name=xml_text.clean(f"{label} on {one.name}".removesuffix(" on "))
        )
        cases = list(_cases(one.judged, limits)) if one.judged else [("run", _kind(one.error), str(one.error))]
        for name, kind, sentence in cases:
            case = ElementTree.SubElement(suite, "testcase", classname=xml_text.clean(label), name=xml_text.clean(name))
            if kind:
                found = ElementTree.SubElement(case, kind, message=xml_text.clean(sentence))
                found.text = xml_text.clean(sentence)
            elif sentence:
                ElementTree.SubElement(case, "system-out").text = xml_text.clean(sentence)
        kinds = [kind for _, kind, _ in cases]
        counts = {"failures": "failure", "errors": "error", "skipped": "skipped"}
        suite.set("tests", str(len(cases)))
        for attribute, kind in counts.items():
            suite.set(attribute, str(kinds.count(kind)))
    return xml_text.document(suites)


def _kind(error: QuadraError | None) -> str:
    return "skipped" if error and skipped(error) else "error"


def _cases(judged: Judged, limits: Limits) -> Sequence[tuple[str, str, str]]:
    """Names, empty or what the case has inside, and sentences."""
    found = []
    for row in judged.over.outputs if judged.over else ():
        said = f"right with each of {len(judged.over.names) if judged.over else 0} inputs"
        found.append((f"output {row.index} ({short(row.name)})", "failure" if row.problem else "", row.problem or said))
    for output in judged.comparison.outputs if judged.comparison and not judged.over else ():
        said = f"largest error {output.relative:.2g} of its range, tolerance {output.allowed:.2g}"
        found.append(
            (f"output {output.index} ({short(output.name)})", "" if output.ok else "failure", output.problem or said)
        )
    if not judged.comparison:
        reference = judged.folder.optional(schema.Reference)
        found.append(("outputs", "skipped", f"not judged: {reference.error if reference else 'there is no reference'}"))
    for metric in judged.metrics.metrics if judged.metrics else ():
        said = metric.problem or f"is {float(metric.mean):.4g}"
        found.append((metric.name, "failure" if metric.problem else "", f"{metric.name} {said}"))
    if judged.determinism:
        found.append(("same every time", "" if judged.determinism.ok else "failure", judged.determinism.sentence))
    for name, given, only in (
        ("time", limits.ms, Limits(ms=limits.ms)),
        ("nodes on the CPU", limits.cpu_nodes, Limits(cpu_nodes=limits.cpu_nodes)),
    ):
        if given is not None:
            problem = "; ".join(only.problems(judged))
            found.append((name, "failure" if problem else "", problem or f"at most {given:g}"))
    try:
        judged.check_backend()
    except QuadraError as error:
        found.append(("backend", "error", str(error)))
    return found
