"""The APK without Gradle: what is in it, and what is refused."""

import hashlib
import re
import shutil
import zipfile
from pathlib import Path

import pytest

from host_tools.base.errors import FolderNotWritable, JudgementFailed, Misuse
from host_tools.build import apk, apk_check, apk_facts, java
from tests import android_parts


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    android_parts.need_classes()
    return android_parts.stand_ins(tmp_path_factory.mktemp("libraries"))


@pytest.fixture(scope="module")
def made(libraries, tmp_path_factory):
    """An APK with all ABIs and the peers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(apk, "LIBRARIES", tmp_path_factory.mktemp("gradle") / "libs")
        return apk.make(libraries, tmp_path_factory.mktemp("apk") / "runner.apk", peers=True)


@pytest.fixture(autouse=True)
def gradles_folder(monkeypatch, tmp_path):
    monkeypatch.setattr(apk, "LIBRARIES", tmp_path / "gradle-libs")


def test_everything_that_was_looked_at_is_as_it_should_be(made):
    assert all(one.ok for one in made.findings)
    found = {one.what: one.found for one in made.findings}
    assert found["package"].startswith("org.quadra.runner ")
    assert found["Android levels"] == "from 26, made for 36"
    assert found["instrumentation of the manifest"] == "org.quadra.runner.QuadraRunner"
    assert found["signature"].startswith("v2 and v3")
    for abi in apk.ABIS:
        assert found[f"lib/{abi}"] == "libquadra.so, libtensorflowlite_gpu_jni.so, libtensorflowlite_jni.so"
        assert "pages of 16 KB" in found[f"lib/{abi}/libquadra.so"]


def test_the_classes_in_the_apk_are_those_that_were_compiled(made):
    classes = java.app_classes()
    told = apk_check.by_digest(made.path, apk.CLASS_LIST)
    real = {str(p.relative_to(classes)): hashlib.sha256(p.read_bytes()).hexdigest() for p in classes.rglob("*.class")}
    assert told == real and "org/quadra/runner/QuadraRunner.class" in told


def test_the_classes_that_run_on_this_machine_are_those_that_were_dexed(made):
    done = java.run_java(
        "org.junit.runner.JUnitCore",
        ["org.quadra.runner.DexedClassesTest"],
        [java.test_classes(), *java.test_class_path()],
        timeout_s=300,
        properties={"quadra.apk": str(made.path), **java.robolectric_properties()},
        check=False,
    )
    assert "OK (1 test)" in done.stdout, done.stdout[-3000:]


def test_the_classes_ask_for_nothing_that_only_the_tests_have(made):
    with zipfile.ZipFile(made.path) as archive:
        dex = archive.read("classes.dex")
    assert b"Lorg/quadra/gpu/GpuDelegate;" in dex and b"org/robolectric" not in dex and b"junit" not in dex


def test_the_same_input_makes_the_same_apk(made, libraries, tmp_path):
    again = apk.make(libraries, tmp_path / "again.apk", peers=True)
    assert again.path.read_bytes() == made.path.read_bytes()


def test_one_abi_without_peers_has_only_these(libraries, tmp_path):
    made = apk.make({"x86_64": libraries["x86_64"]}, tmp_path / "one.apk")
    with zipfile.ZipFile(made.path) as archive:
        native = [name for name in archive.namelist() if name.startswith("lib/")]
        assert b"Lorg/tensorflow/lite/gpu/GpuDelegate;" not in archive.read("classes.dex")
    assert native == ["lib/x86_64/libquadra.so", "lib/x86_64/libtensorflowlite_jni.so"]
    kept = apk.found_in(apk.LIBRARIES)  # for Gradle, and for the next time
    assert list(kept) == ["x86_64"] and kept["x86_64"].read_bytes() == libraries["x86_64"].read_bytes()
    assert apk.make(kept, tmp_path / "two.apk").path.read_bytes() == made.path.read_bytes()


def test_a_library_for_another_abi_is_refused(libraries, tmp_path):
    with pytest.raises(Misuse) as error:
        apk.make({"arm64-v8a": libraries["x86_64"]}, tmp_path / "wrong.apk")
    assert "is a library for x86_64, not for arm64-v8a" in error.value.came_back
    assert not (tmp_path / "wrong.apk").exists()


def test_a_library_of_this_machine_or_none_at_all_is_refused(tmp_path):
    (tmp_path / "x86_64").mkdir()
    with pytest.raises(Misuse) as error:
        apk.found_in(tmp_path)
    assert "inv build --abi" in error.value.do_next
    (tmp_path / "x86_64" / apk.NAME).write_bytes(b"no library")
    with pytest.raises(Misuse) as error:
        apk.make(apk.found_in(tmp_path), tmp_path / "no.apk")
    assert f"measure {tmp_path}" in error.value.tried
    with pytest.raises(Misuse) as error:
        apk.found_in(tmp_path, ["arm64-v8a"])
    assert "arm64-v8a/libquadra.so is not there" in error.value.came_back
    with pytest.raises(Misuse) as error:
        apk.from_arguments("mips", "", "")
    assert "there is no ABI mips" in error.value.came_back


def test_a_library_with_small_pages_fails_the_judgement_and_leaves_nothing(libraries, tmp_path):
    small = tmp_path / apk.NAME
    shutil.copyfile(apk.maven.aar_file("tensorflow-lite-gpu", "jni/arm64-v8a/libtensorflowlite_gpu_jni.so"), small)
    with pytest.raises(JudgementFailed) as error:
        apk.make({"arm64-v8a": small}, tmp_path / "out" / "small.apk")
    assert "pages of 4 KB" in error.value.came_back
    assert list((tmp_path / "out").iterdir()) == []


def test_a_manifest_that_names_a_missing_class_fails_the_judgement(libraries, tmp_path, monkeypatch):
    changed = tmp_path / "AndroidManifest.xml"
    changed.write_text(apk.MANIFEST.read_text().replace("org.quadra.runner.QuadraRunner", ".Missing"))
    monkeypatch.setattr(apk, "MANIFEST", changed)
    with pytest.raises(JudgementFailed) as error:
        apk.make({"x86_64": libraries["x86_64"]}, tmp_path / "out.apk")
    assert "org.quadra.runner.Missing is not in the dex" in error.value.came_back
    assert not (tmp_path / "out.apk").exists()


def test_an_earlier_apk_survives_a_failure(libraries, tmp_path, monkeypatch):
    (tmp_path / "out.apk").write_bytes(b"the good one")
    monkeypatch.setattr(apk_check, "inspect", lambda *_: [apk_check.Finding("signature", "none", False)])
    with pytest.raises(JudgementFailed):
        apk.make({"x86_64": libraries["x86_64"]}, tmp_path / "out.apk")
    assert (tmp_path / "out.apk").read_bytes() == b"the good one"


def test_release_refuses_what_no_ndk_made_and_wants_a_key(libraries, tmp_path, monkeypatch):
    one = {"arm64-v8a": libraries["arm64-v8a"]}
    monkeypatch.setattr(apk_check, "made_by", lambda path: "stand-in NDK (clang 22)")
    with pytest.raises(JudgementFailed) as error:
        apk.make(one, tmp_path / "out.apk", release=True)
    assert "stand-in NDK" in error.value.came_back and "ANDROID_NDK_HOME" in error.value.do_next
    monkeypatch.delenv("ANDROID_NDK_HOME", raising=False)
    with pytest.raises(Misuse) as error:
        apk.from_arguments("", "", str(tmp_path / "out.apk"), release=True)
    assert "ANDROID_NDK_HOME is not set" in error.value.came_back
    monkeypatch.setattr(apk_check, "made_by", lambda path: "NDK 26.1.10909125")
    monkeypatch.delenv("QUADRA_KEYSTORE", raising=False)
    with pytest.raises(Misuse) as error:
        apk.make(one, tmp_path / "out.apk", release=True)
    assert "QUADRA_KEYSTORE is not set" in error.value.came_back
    monkeypatch.setenv("QUADRA_KEYSTORE", str(apk.TEST_KEY))
    monkeypatch.setenv("QUADRA_KEYSTORE_PASSWORD", "android")
    found = {one.what: one.found for one in apk.make(one, tmp_path / "out.apk", release=True).findings}
    assert found["debuggable"] == "no"


def test_a_folder_that_cannot_be_made_is_named(libraries, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FolderNotWritable):
        apk.make({"x86_64": libraries["x86_64"]}, tmp_path / "file" / "out.apk")


def test_damage_is_found(made, tmp_path):
    """Each check has been seen red."""
    damaged = tmp_path / "damaged.apk"
    with zipfile.ZipFile(made.path) as source, zipfile.ZipFile(damaged, "w") as target:
        for entry in source.infolist():
            if "armeabi-v7a/libquadra" not in entry.filename:
                how = zipfile.ZIP_DEFLATED if "x86_64/libq" in entry.filename else zipfile.ZIP_STORED
                target.writestr(entry.filename, b"dex" if entry.filename == "classes.dex" else source.read(entry), how)
    wrong = {one.what for one in apk_check.inspect(damaged, java.app_classes(), apk.ABIS, release=True) if not one.ok}
    expected = {"debuggable", "classes.dex, read by dexdump", "instrumentation of the manifest", "lib/armeabi-v7a"}
    expected |= {"libraries are stored", "libraries begin on 16 KB pages", "signature"}
    assert wrong == expected


def test_a_lambda_that_dx_left_as_it_was_is_found(tmp_path):
    """Java runs it here, and no phone does."""
    source = tmp_path / "WithLambda.java"
    source.write_text("class WithLambda { static Runnable one() { return () -> {}; } }")
    classes = java.compile_java([source], [tmp_path], "a class with a lambda")
    with zipfile.ZipFile(tmp_path / "dexed.apk", "w") as dexed:
        java.run_java(apk._DEX_MAIN, ["--dex", "--min-sdk-version=26", f"--output={tmp_path / 'classes.dex'}", classes],
                      apk.maven.class_path("dalvik-dx"), timeout_s=60)  # fmt: skip
        dexed.write(tmp_path / "classes.dex", "classes.dex")
    (found,) = apk_check._lambdas(apk_facts.dexdump(tmp_path / "dexed.apk"))
    assert not found.ok and found.found.startswith("1 call sites")


def test_the_manifest_names_every_library_that_the_backend_opens_by_name():
    source = (java.settings.ROOT / "delegate_native/runtime/opencl/cl_api.cc").read_text()
    opened = set(re.findall(r'"(libOpenCL[\w-]*\.so)"', source))
    for module in java.MODULES:
        text = (java.APP / module / "src/main/AndroidManifest.xml").read_text()
        assert set(re.findall(r'uses-native-library android:name="([^"]+)" android:required="false"', text)) == opened


def test_the_version_is_the_librarys():
    source = (java.settings.ROOT / "delegate_native/base/version.h").read_text()
    assert f'kVersion[] = "{apk.maven.version("quadra-name")}"' in source


def test_without_a_folder_the_libraries_are_built(monkeypatch, tmp_path):
    def build(abis):
        return {abi: apk.bazel.AndroidLibrary(abi, tmp_path / abi, tmp_path, []) for abi in abis}

    asked = []
    monkeypatch.setattr(apk.bazel, "android", build)
    monkeypatch.setattr(apk, "make", lambda *words, **more: asked.append((words, more)))
    apk.from_arguments("", "", "out.apk", peers=True)
    apk.from_arguments("x86_64,arm64-v8a", "", "")
    (first, more), (second, _) = asked
    assert first == ({abi: tmp_path / abi for abi in apk.ABIS}, Path("out.apk").resolve())
    assert more == {"release": False, "peers": True}
    assert list(second[0]) == ["x86_64", "arm64-v8a"] and second[1] == apk.BUILT / "quadra-runner.apk"
