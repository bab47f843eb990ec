"""The toolkit's folders, in the order of a run: who may import whom; what judges and shows never starts a process."""

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from host_tools.base import settings

TOOLKIT = settings.ROOT / "host_tools"
API = settings.ROOT / "quadra_tools"
STARTER = "host_tools.base.child_process"
FORKS = "host_tools.dev.fuzz.folder_fuzzer"  # itself, thousands of times: what it reads with is loaded once
ANALYSES = ("record", "judge", "show")
_ROW = re.compile(r"^\| `(\w+)/` \| [^|]+ \| ([^|]*) \|$", re.MULTILINE)
_MOST_AT_THE_TOP = 20
_LONGEST_TASK = 100  # lines of the file of a task that a folder does


def rules() -> dict[str, frozenset[str]]:
    """Folder and those that it may import, as docs/architecture.md has them, in its order."""
    page = (settings.ROOT / "docs" / "architecture.md").read_text().split("## The toolkit")[1].split("\n## ")[0]
    return {folder: frozenset(re.findall(r"`(\w+)`", others)) for folder, others in _ROW.findall(page)}


def module_of(path: Path) -> str:
    parts = path.relative_to(settings.ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(source: str, modules: set[str], types: bool = False) -> Iterator[str]:
    """Modules among `modules` that a source imports, inside functions, too. types: also what only a type checker reads."""
    waiting: list[ast.AST] = [ast.parse(source)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING" and not types:
            continue
        waiting += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom):
            full = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name in modules else node.module for name in full if {name, node.module} & modules)


SOURCES = {module_of(path): path.read_text(encoding="utf-8") for path in TOOLKIT.rglob("*.py")}


@cache
def graph() -> dict[str, set[str]]:
    """What each module of the toolkit imports. Every process of a run collects this file; one looks into the sources."""
    return {module: set(imported(source, set(SOURCES))) - {module} for module, source in SOURCES.items()}


def folder_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def may_import(module: str, other: str, allowed: Mapping[str, frozenset[str]]) -> bool:
    here, there = folder_of(module), folder_of(other)
    return not there or here == there or there in allowed[here]


def reached(module: str, graph: Mapping[str, set[str]]) -> set[str]:
    """All that an import of `module` imports, itself included; packages as their parts are imported."""
    found, waiting = set(), [module]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += graph.get(one, ())
            waiting += [one.rpartition(".")[0]] if one.count(".") > 1 else []
    return found


def circles(graph: Mapping[str, set[str]]) -> list[set[str]]:
    """Sets of modules that reach each other."""
    reach = {one: reached_from(one, graph) for one in graph}
    found = {frozenset({one} | {other for other in reach[one] if one in reach.get(other, ())}) for one in graph}
    return [set(one) for one in found if len(one) > 1]


def reached_from(module: str, graph: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = list(graph[module])
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += graph.get(one, ())
    return found


def test_the_top_is_small_and_each_folder_has_its_row_and_its_sentence():
    entries = {path.name for path in TOOLKIT.iterdir() if path.name != "__pycache__"}
    folders = {name for name in entries if (TOOLKIT / name).is_dir()}
    assert entries - folders == {"__init__.py"} and len(entries) <= _MOST_AT_THE_TOP
    assert list(rules()) and set(rules()) == folders
    assert not [name for name in folders if not ast.get_docstring(ast.parse(SOURCES[f"host_tools.{name}"]))]


def test_the_table_has_no_circle():
    assert not circles(rules())


def test_imports_follow_the_table():
    allowed = rules()
    assert not [
        f"{module} imports {other}"
        for module in graph()
        for other in graph()[module]
        if not may_import(module, other, allowed)
    ]


def test_the_virtual_device_is_known_by_its_names_and_faults_only():
    known = {"host_tools.virtual_device.registry", "host_tools.virtual_device.faults"}
    outside = {other for module in graph() if folder_of(module) != "virtual_device" for other in graph()[module]}
    assert {other for other in outside if folder_of(other) == "virtual_device"} <= known


def test_what_analyses_starts_no_process():
    modules = [module for module in SOURCES if folder_of(module) in ANALYSES]
    assert not [module for module in modules if STARTER in reached(module, graph())]
    starters = re.compile(
        r"\bsubprocess\.(?:run|Popen|call|check_\w+)\(|\bos\.(?:system|popen|exec\w+|spawn\w+|fork)\(|multiprocessing"
    )
    assert {module for module, source in SOURCES.items() if starters.search(source)} == {STARTER, FORKS}


def test_the_python_api_calls_what_the_tasks_call_and_no_task():
    sources = [path.read_text(encoding="utf-8") for path in API.rglob("*.py")]
    used = {module for source in sources for module in imported(source, set(SOURCES), types=True)}
    assert {"run", "measure"} <= {folder_of(module) for module in used}
    assert "tasks" not in {folder_of(module) for module in used}


@pytest.mark.parametrize("folder", ["run", "measure", "debug", "parity"])
def test_a_task_of_a_folder_is_thin(folder):
    """It runs nothing by itself: it neither knows a place nor an attempt, and its file is short."""
    tasks = [one for one in graph() if folder_of(one) == "tasks" and folder in map(folder_of, graph()[one])]
    named = [
        one for one in tasks if one.rpartition(".")[2] in ("run", "bench", "overflow", "advise", "support", "parity")
    ]
    assert named
    for task in named:
        assert SOURCES[task].count("\n") <= _LONGEST_TASK, task
        assert not {"places", "phone", "build"} & set(map(folder_of, graph()[task])), task


def test_no_files_import_each_other_not_even_for_types():
    sources = {
        module_of(path): path.read_text(encoding="utf-8") for top in (TOOLKIT, API) for path in top.rglob("*.py")
    }
    graph = {module: set(imported(source, set(sources), types=True)) - {module} for module, source in sources.items()}
    assert not [sorted(circle) for circle in circles(graph)]


def test_no_circle_between_folders_of_a_folder():
    packages = {module for module in SOURCES if (TOOLKIT.parent / Path(*module.split("."))).is_dir()}
    between: dict[str, set[str]] = {}
    for module in graph():
        for other in graph()[module]:
            here, there = (one if one in packages else one.rpartition(".")[0] for one in (module, other))
            if here != there and not here.startswith(f"{there}.") and not there.startswith(f"{here}."):
                between.setdefault(here, set()).add(there)
    assert not circles(between)


def test_no_two_modules_have_one_name():
    names = Counter(
        module.rpartition(".")[2] for module in SOURCES if not (TOOLKIT.parent / Path(*module.split("."))).is_dir()
    )
    assert not [name for name, count in names.items() if count > 1]


def test_the_tests_lie_in_the_same_folders():
    here = {path.name for path in Path(__file__).parent.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert here == set(rules())


@pytest.mark.parametrize(
    ("module", "other", "allowed"),
    [
        ("host_tools.judge.compare", "host_tools.record.spec", True),
        ("host_tools.judge.compare", "host_tools.judge.peers", True),
        ("host_tools.judge.compare", "host_tools.show.report", False),
        ("host_tools.show.charts", "host_tools.build.maven", False),
        ("host_tools.phone.adb.server", "host_tools.places.place", False),
    ],
)
def test_the_rule_itself(module, other, allowed):
    assert may_import(module, other, rules()) is allowed


def test_circles_are_found():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"d"}, "d": {"a", "e"}, "e": set()}) == [{"a", "b", "c", "d"}]
    source = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from x import a\ndef f():\n    from x import b\n"
    assert list(imported(source, {"x.a", "x.b"})) == ["x.b"]
    assert sorted(imported(source, {"x.a", "x.b"}, types=True)) == ["x.a", "x.b"]


def test_processes_that_run_models_load_neither_a_terminal_nor_pictures():
    """A run starts up to six of them, and each waited 0.2 s for these."""
    code = "import sys, host_tools.places.worker; print(sorted({'PIL', 'rich'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=settings.ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
