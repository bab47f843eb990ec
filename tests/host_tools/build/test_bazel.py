"""Bazel's answers become files, passed tests and errors with a cause."""

import contextlib
import json

import pytest

from host_tools.base.errors import BuildFailed, JudgementFailed
from host_tools.build import bazel, ndk


@pytest.fixture
def fake_bazel(tmp_path, monkeypatch):
    """fake_bazel(status, output, events): a bazel that answers so."""

    def make(status, output="", events=()):
        (tmp_path / "output").write_text(output)
        (tmp_path / "events").write_text("".join(json.dumps(e) + "\n" for e in events))
        script = tmp_path / "bazel"
        script.write_text(
            "#!/bin/sh\nfor word; do case $word in --build_event_json_file=*) events=${word#*=} ;; esac; done\n"
            f'echo "$@" > {tmp_path}/words\ncat {tmp_path}/output >&2\ncp {tmp_path}/events "$events"\nexit {status}\n'
        )
        script.chmod(0o755)
        monkeypatch.setenv("QUADRA_BAZEL", str(script))

    return make


def test_a_built_target_tells_its_files():
    (header,) = bazel.build(["//bazel:setup_fbs"])["//bazel:setup_fbs"]
    assert "CreateProbe" in header.read_text()


def test_a_target_that_is_not_there_is_told():
    with pytest.raises(BuildFailed, match="(?s)no such target '//bazel:nothing'.*fix the errors above"):
        bazel.build(["//bazel:nothing"])


def test_progress_has_the_steps_without_how_bazel_does_them(fake_bazel, monkeypatch):
    shown = []
    monkeypatch.setattr(bazel, "progress", lambda title: contextlib.nullcontext(shown.append))
    lines = [
        "Another command (pid=17) is running. Waiting for it to complete on the server (server_pid=18)...",
        "INFO: Invocation ID: 1",
        "Loading: 0 packages loaded",
        "[21 / 172] Compiling ops/conv.cc; 0s processwrapper-sandbox ... (2 actions running)",
        "[1,022 / 1,172] Linking libquadra.so ... (2 ac",
        "[3 / 172] checking cached actions",
    ]
    fake_bazel(0, output="\n".join(lines))
    bazel.build(["//x"])
    assert shown == [
        "waits for another build of this clone to end",
        "[21 / 172] Compiling ops/conv.cc",
        "[1,022 / 1,172] Linking libquadra.so",
        "[3 / 172] checking cached actions",
    ]


def test_tests_that_failed_are_a_judgement(fake_bazel):
    fake_bazel(3, output="[1 / 2] Linking x\nx.cc:7: Failure\n")
    with pytest.raises(JudgementFailed, match="x.cc:7: Failure") as caught:
        bazel.test(["//x:x_test"])
    assert "Linking" not in str(caught.value)


def test_tests_that_passed_are_named(fake_bazel):
    summary = {"id": {"testSummary": {"label": "//x:x_test"}}, "testSummary": {"overallStatus": "PASSED"}}
    fake_bazel(0, events=[summary])
    assert bazel.test(["//x:x_test"]) == ["//x:x_test"]


def test_a_bazel_that_cannot_work_is_told_apart_from_code_that_does_not_compile(fake_bazel):
    fake_bazel(36, output="FATAL: mkdir: Permission denied\n")
    with pytest.raises(BuildFailed, match="(?s)Permission denied.*check that Bazel works"):
        bazel.build(["//x"])


def test_files_of_nested_sets_are_all_found():
    def named_set(number, files, inner=()):
        uris = [{"uri": f"file:///out/{name}"} for name in files]
        return {
            "id": {"namedSet": {"id": number}},
            "namedSetOfFiles": {"files": uris, "fileSets": [{"id": i} for i in inner]},
        }

    completed = {
        "id": {"targetCompleted": {"label": "//x"}},
        "completed": {"success": True, "outputGroup": [{"name": "default", "fileSets": [{"id": "1"}]}]},
    }
    events = [named_set("0", ["a%20b"]), named_set("1", ["c"], inner=["0"]), completed]
    assert sorted(map(str, bazel._outputs(events)["//x"])) == ["/out/a b", "/out/c"]


@pytest.mark.parametrize(("debug", "config", "name"), [(False, "android", "small.so"), (True, "debug", "whole.so")])
def test_an_android_library_for_debugging_keeps_its_symbols(debug, config, name, fake_bazel, tmp_path, monkeypatch):
    """Seen red: --debug was not looked at beside --abi."""
    monkeypatch.setattr(bazel.ndk, "find", lambda: ndk.Ndk(tmp_path, "NDK 26", False))
    groups = {"default": "small.so", "unstripped": "whole.so", "objects": "a.o"}
    sets = [
        {"id": {"namedSet": {"id": file}}, "namedSetOfFiles": {"files": [{"uri": f"file:///{file}"}]}}
        for file in groups.values()
    ]
    found = [{"name": group, "fileSets": [{"id": file}]} for group, file in groups.items()]
    done = {
        "id": {"targetCompleted": {"label": "//delegate_native:x86_64"}},
        "completed": {"success": True, "outputGroup": found},
    }
    fake_bazel(0, events=[*sets, done])
    made = bazel.android(["x86_64"], debug=debug)["x86_64"]
    assert (made.path.name, made.unstripped.name) == (name, "whole.so")
    assert f"--config={config}" in (tmp_path / "words").read_text().split()
