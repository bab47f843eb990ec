"""What clang-tidy says becomes findings, each once; how sources are compiled is told as Bazel compiles them."""

import json
from pathlib import Path

import pytest

from host_tools.base import settings
from host_tools.base.errors import CommandFailed, Misuse
from host_tools.build import bazel
from host_tools.dev import clang_tidy, compile_commands, tidy_groups

OPS = settings.ROOT / "delegate_native" / "ops"
FOUND = f"""\
{OPS}/op.h:7:3: error: a header is too long [bugprone-header,-warnings-as-errors]
    7 | struct Op {{
{OPS}/op.h:8:1: note: it begins here
"""


@pytest.fixture
def fake_tidy(tmp_path, monkeypatch):
    """fake_tidy(status, output): a clang-tidy that answers so, for two sources."""
    sources = [OPS / "axes.cc", OPS / "op.cc"]
    monkeypatch.setattr(compile_commands, "write", lambda folder: sources)
    monkeypatch.setattr(clang_tidy, "_COMMANDS", tmp_path)
    monkeypatch.setattr(clang_tidy, "_TOGETHER", tmp_path / "together")
    commands = [{"file": str(source), "arguments": ["gcc", f"-D{source.stem}", "-c", "x"]} for source in sources]
    (tmp_path / compile_commands.NAME).write_text(json.dumps(commands))
    monkeypatch.setattr(clang_tidy, "_tool", lambda: str(tmp_path / "clang-tidy"))

    def make(status: int, output: str, errors: str = "") -> Path:
        (tmp_path / "output").write_text(output)
        (tmp_path / "errors").write_text(errors)
        script = tmp_path / "clang-tidy"
        script.write_text(
            f'#!/bin/sh\necho "$@" >> {tmp_path}/words\ncat {tmp_path}/output\ncat {tmp_path}/errors >&2\nexit {status}\n'
        )
        script.chmod(0o755)
        return tmp_path / "words"

    return make


def test_what_every_source_sees_in_a_header_is_found_once(fake_tidy):
    fake_tidy(1, FOUND)
    (finding,) = clang_tidy.run()
    assert str(finding) == "delegate_native/ops/op.h:7:3: a header is too long [bugprone-header]"


def test_nothing_found_is_an_empty_list(fake_tidy):
    words = fake_tidy(0, "")
    shown: list[str] = []
    assert clang_tidy.run(show=shown.append) == []
    assert sorted(shown) == ["delegate_native/ops/axes.cc", "delegate_native/ops/op.cc"]
    assert "--fix" not in words.read_text()


def test_mending_is_asked_of_clang_tidy(fake_tidy):
    words = fake_tidy(0, "")
    clang_tidy.run([OPS / "axes.cc"], fix=True)
    assert "--fix" in words.read_text()


def test_a_header_is_checked_through_a_source_that_includes_it(fake_tidy):
    words = fake_tidy(0, "")
    clang_tidy.run([OPS / "limits.h"])
    assert words.read_text().split()[-1] == str(OPS / "op.cc")


def test_a_path_without_sources_is_misuse(fake_tidy):
    fake_tidy(0, "")
    with pytest.raises(Misuse, match="docs"):
        clang_tidy.run([settings.ROOT / "docs"])


def test_a_clang_tidy_that_cannot_work_is_an_error(fake_tidy):
    fake_tidy(1, "", "error: unknown key 'Cheks'\n")
    with pytest.raises(CommandFailed, match="unknown key 'Cheks'"):
        clang_tidy.run()


@pytest.fixture
def checked(tmp_path, monkeypatch):
    """checked(**sources): what the real clang-tidy finds in sources of these names, and the groups that it read."""
    (tmp_path / "delegate_native").mkdir()
    monkeypatch.setattr(settings, "ROOT", tmp_path)
    monkeypatch.setattr(clang_tidy, "_COMMANDS", tmp_path / "clang")
    monkeypatch.setattr(clang_tidy, "_TOGETHER", tmp_path / "clang" / "together")
    (tmp_path / ".clang-tidy").write_text((Path(__file__).parents[3] / ".clang-tidy").read_text())

    def write(sources, folder):
        names = {tmp_path / "delegate_native" / f"{name}.cc": text for name, text in sources.items()}
        for path, text in names.items():
            path.write_text(text)
        commands = [
            ["gcc", f"-frandom-seed={path.stem}", "-iquote", ".", "-c", str(path), "-o", path.stem] for path in names
        ]
        entries = [{"directory": str(tmp_path), "file": word[5], "arguments": word} for word in commands]
        folder.mkdir(exist_ok=True)
        (folder / compile_commands.NAME).write_text(json.dumps(entries))
        return list(names)

    def check(**sources):
        monkeypatch.setattr(compile_commands, "write", lambda folder: write(sources, folder))
        shown: list[str] = []
        return [(one.path.name, one.check) for one in clang_tidy.run(show=shown.append)], shown

    return check


NOTHING = "namespace { int one() { return 1; } }\nint two() { return one(); }\n"
DEFECT = "unsigned long three(int* x) {\n  return sizeof(sizeof(x));\n}\n"


def test_sources_are_read_together_and_a_defect_of_any_is_found_where_it_is(checked):
    found, read = checked(a=NOTHING, b=DEFECT, c="int four() { return 4; }\n")
    assert read == ["delegate_native/a.cc and 2 more"]
    assert set(found) == {("b.cc", "bugprone-sizeof-expression")}


def test_what_compiles_only_alone_is_read_alone(checked):
    second = "namespace { int one() { return 2; } }\n" + DEFECT  # the words that meet are not at a line's beginning
    found, read = checked(a=NOTHING, b=second)
    assert read == ["delegate_native/a.cc and 1 more"]
    assert set(found) == {("b.cc", "bugprone-sizeof-expression")}


def test_a_source_that_compiles_in_no_way_is_a_finding(checked):
    found, _ = checked(a=NOTHING, b="int four() { return five; }\n")
    assert found == [("b.cc", "clang-diagnostic-error")]


def test_sources_that_define_the_same_word_or_are_compiled_in_other_ways_stay_apart(tmp_path, monkeypatch):
    monkeypatch.setattr(settings, "ROOT", tmp_path)
    texts = [
        "int a() {\n",
        "int a(float x) {\n",
        "constexpr int b[] = {1};\n",
        "struct b {\n",
        "#define c 1\n",
        "int d() {\n",
        "struct g {\n",
        "int h(g x) {\n",  # a header's g
    ]
    sources = [tmp_path / f"{number}.cc" for number in range(len(texts))]
    for source, text in zip(sources, texts):
        source.write_text(text)
    entries = [
        {"file": str(one), "arguments": ["gcc", *["-DX"] * (one == sources[5]), "-c", one.name]} for one in sources
    ]
    (tmp_path / compile_commands.NAME).write_text(json.dumps(entries))
    groups = tidy_groups.write(tmp_path, sources, tmp_path / "together")
    assert [[int(source.stem) for source in group.sources] for group in groups] == [[0, 2, 4, 6], [1, 3, 7], [5]]
    written = json.loads((tmp_path / "together" / compile_commands.NAME).read_text())
    assert [one["file"] for one in written[len(texts) :]] == [str(group.path) for group in groups[:2]]


def test_commands_name_the_files_of_the_checkout_and_are_for_clang(tmp_path, monkeypatch):
    ours = ["gcc", "-fno-canonical-system-headers", "-iquote", "bazel-out/x/bin", "-isystem", "external/y"]
    ours += ["-c", "delegate_native/ops/axes.cc"]
    places = {"execution_root": Path("/root_of/it"), "output_base": Path("/base")}
    monkeypatch.setattr(bazel, "build", lambda targets: {})
    monkeypatch.setattr(bazel, "places", lambda: places)
    monkeypatch.setattr(bazel, "compile_commands", lambda targets: [ours, ours, ["gcc", "-c", "external/y/y.cc"]])
    assert compile_commands.write(tmp_path) == [OPS / "axes.cc"]
    (entry,) = json.loads((tmp_path / compile_commands.NAME).read_text())
    words = ["gcc", "-iquote", "/root_of/it/bazel-out/x/bin", "-isystem", "/base/external/y", "-c"]
    assert entry["arguments"] == [*words, "delegate_native/ops/axes.cc"]
    assert entry["directory"] == str(settings.ROOT)
