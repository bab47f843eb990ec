"""The AAR and the Maven repository that it is published in: entries, classes, libraries, POM, metadata, same bytes twice."""

import hashlib
import io
import json
import re
import shutil
import zipfile
from xml.etree import ElementTree

import pytest

from host_tools.base import child_process, settings
from host_tools.base.android import ABIS, ACCELERATOR, QUICK_ABIS
from host_tools.base.errors import JudgementFailed, Misuse
from host_tools.build import aar, android_check, apk, apk_check, bazel, java, maven, prefab, size
from tests import android_parts

POM = "{http://maven.apache.org/POM/4.0.0}"
ANDROID = "{http://schemas.android.com/apk/res/android}"


@pytest.fixture(scope="module")
def libraries(request):
    android_parts.need_classes()
    abis = ABIS if request.config.getoption("--slow") else QUICK_ABIS
    return {abi: one.path for abi, one in bazel.android(abis).items()}


@pytest.fixture(scope="module")
def published(libraries, tmp_path_factory):
    return aar.make(libraries, tmp_path_factory.mktemp("maven"))


def test_the_aar_has_what_gradle_would_put_there(published, libraries):
    assert all(one.ok for one in published.findings), published.findings
    stem = f"quadra-gpu-delegate-{maven.version('quadra-name')}"
    assert published.path.name == f"{stem}.aar"
    with zipfile.ZipFile(published.path) as archive:
        assert archive.testzip() is None
        content = {name: archive.read(name) for name in archive.namelist()}
    metadata = "META-INF/com/android/build/gradle/aar-metadata.properties"
    native = {f"jni/{abi}/{name}" for abi in libraries for name in ("libquadra.so", ACCELERATOR)}
    own = {name for name in content if not name.startswith("prefab/")}
    assert own == {"AndroidManifest.xml", "classes.jar", "R.txt", "proguard.txt", metadata, *native}
    assert "minAndroidGradlePluginVersion=1.0.0\n" in content[metadata].decode() and content["R.txt"] == b""
    for abi in libraries:
        assert content[f"jni/{abi}/libquadra.so"] == libraries[abi].read_bytes()
    root = ElementTree.fromstring(content["AndroidManifest.xml"])
    assert root.get("package") == "org.quadra.gpu"
    assert root.find("uses-sdk").attrib == {f"{ANDROID}minSdkVersion": maven.version("android-minSdk")}
    assert len(root.findall("application/uses-native-library")) == 3
    with zipfile.ZipFile(published.path.with_name(f"{stem}-sources.jar")) as archive:
        sources = {name.removesuffix(".java") for name in archive.namelist()}
    with zipfile.ZipFile(io.BytesIO(content["classes.jar"])) as archive:
        classes = {re.sub(r"(\$.+)?\.class$", "", name) for name in archive.namelist()}
    assert classes == sources - {"org/quadra/gpu/package-info"} and "org/quadra/gpu/GpuDelegate" in classes


def test_native_code_is_built_against_the_prefab_package_alone(published, libraries, tmp_path):
    """The format's own rules, read here once more; then a C program with each module's headers, linked to its library."""
    with zipfile.ZipFile(published.path) as archive:
        archive.extractall(tmp_path)
    package = tmp_path / "prefab"
    about = json.loads((package / "prefab.json").read_text())
    assert about == {"schema_version": 2, "name": "quadra", "version": maven.version("quadra-name"), "dependencies": []}
    modules = {path.name: path for path in (package / "modules").iterdir()}
    assert set(modules) == {"quadra", "drop_in"} and {path.name for path in package.iterdir()} == {
        "prefab.json",
        "modules",
    }
    exported = {name: json.loads((path / "module.json").read_text()) for name, path in modules.items()}
    assert exported == {"quadra": {"export_libraries": []}, "drop_in": {"export_libraries": [":quadra"]}}
    assert not (modules["drop_in"] / "libs").exists(), "headers alone"
    for abi in libraries:
        folder = modules["quadra"] / "libs" / f"android.{abi}"  # platform, dot, anything
        level = int(maven.version("android-minSdk"))
        found = json.loads((folder / "abi.json").read_text())
        assert found.pop("ndk") >= 27 and found == {"abi": abi, "api": level, "stl": "none", "static": False}
        assert (folder / "libquadra.so").read_bytes() == libraries[abi].read_bytes()
    source = tmp_path / "app.c"
    source.write_text(
        '#include "quadra.h"\n#include "tensorflow/lite/delegates/gpu/delegate.h"\n'
        "void* make(void) { QuadraDelegateOptions options = QuadraDelegateOptionsDefault();\n"
        "  TfLiteGpuDelegateOptionsV2 other = TfLiteGpuDelegateOptionsV2Default();\n"
        "  return options.size ? (void*)QuadraDelegateCreate(&options, 0) : (void*)TfLiteGpuDelegateV2Create(&other); }\n"
    )
    includes = [f"-I{path / 'include'}" for path in modules.values()]
    words = ["-shared", "-fPIC", "-nostdlib", "-Wall", "-Werror", "-Wl,-z,defs,--allow-shlib-undefined", *includes]
    library = modules["quadra"] / "libs" / "android.x86_64" / "libquadra.so"
    done = child_process.run(["cc", *words, source, library, "-o", tmp_path / "libapp.so"], timeout_s=60)
    assert done.returncode == 0, done
    assert size.measure(tmp_path / "libapp.so").needed == ["libquadra.so"]
    entries = {name: (tmp_path / name).read_bytes() for name in prefab.names(["x86_64"]) | {"jni/x86_64/libquadra.so"}}
    assert prefab.inspect(entries, ["x86_64"]).ok
    wrong = {
        "another than in jni": {"jni/x86_64/libquadra.so": b""},
        "names another ABI": {"prefab/modules/quadra/libs/android.x86_64/abi.json": b'{"abi": "x86"}'},
        "no version 1.0-rc": {"prefab/prefab.json": b'{"name": "quadra", "version": "1.0-rc"}'},
    }
    for reason, changed in wrong.items():
        finding = prefab.inspect({**entries, **changed}, ["x86_64"])
        assert not finding.ok and reason in finding.found


def test_the_java_tests_run_with_the_classes_of_the_aar(published):
    """Every test of the API, the runner's and those of Android's environment among them, takes them from there."""
    assert java.test_class_path()[0] == java.delegate_jar()
    with zipfile.ZipFile(published.path) as archive:
        assert archive.read("classes.jar") == java.delegate_jar().read_bytes()


def test_the_pom_and_the_metadata_say_what_is_there(published):
    folder, version = published.path.parent, maven.version("quadra-name")
    pom = ElementTree.parse(published.path.with_suffix(".pom")).getroot()
    said = [pom.findtext(f"{POM}{tag}") for tag in ("groupId", "artifactId", "version", "packaging")]
    assert said == ["org.quadra", "quadra-gpu-delegate", version, "aar"]
    assert folder == published.repository / "org" / "quadra" / "quadra-gpu-delegate" / version
    (needed,) = pom.iterfind(f"{POM}dependencies/{POM}dependency")
    assert [one.text for one in needed] == [
        *("org.tensorflow", "tensorflow-lite-api", maven.version("tensorflow-lite")),
        *("aar", "provided"),
    ]
    metadata = ElementTree.parse(folder.parent / "maven-metadata.xml").getroot()
    assert metadata.findtext("versioning/release") == version
    assert [one.text for one in metadata.iter("version")] == [version]
    files = [path for path in published.repository.rglob("*.*") if path.suffix in (".aar", ".jar", ".pom", ".xml")]
    assert len(files) == 4
    for file in files:
        for kind in ("md5", "sha1"):
            expected = hashlib.new(kind, file.read_bytes()).hexdigest()
            assert file.with_name(f"{file.name}.{kind}").read_text() == expected


def test_the_same_input_makes_the_same_repository_and_other_versions_stay(published, libraries, tmp_path, monkeypatch):
    aar.make(libraries, tmp_path)
    again = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*.*") if path.is_file()}
    first = published.repository
    assert again == {path.relative_to(first): path.read_bytes() for path in first.rglob("*.*") if path.is_file()}
    number = maven.version("quadra-name")
    monkeypatch.setattr(
        maven, "version", lambda name, known=maven.version: "9.9.9" if "quadra" in name else known(name)
    )
    for _ in range(2):
        newer = aar.make(libraries, tmp_path)
    metadata = ElementTree.parse(newer.path.parents[1] / "maven-metadata.xml").getroot()
    assert [one.text for one in metadata.iter("version")] == [number, "9.9.9"]
    assert metadata.findtext("versioning/release") == "9.9.9"
    (newer.path.parents[1] / "maven-metadata.xml").write_text("<metadata>")
    with pytest.raises(Misuse, match=r"publish in .*maven-metadata\.xml"):
        aar.make(libraries, tmp_path)


def test_what_android_would_not_load_is_not_published(libraries, tmp_path, monkeypatch):
    """Small pages, another file, another package: each is found, and leaves nothing behind."""
    other = tmp_path / "other"
    other.mkdir()
    shutil.copyfile(maven.aar_file("tensorflow-lite-gpu", "jni/x86_64/libtensorflowlite_gpu_jni.so"), other / apk.NAME)
    shutil.copyfile(libraries["x86_64"].with_name(ACCELERATOR), other / ACCELERATOR)
    with pytest.raises(JudgementFailed) as error:
        aar.make({"x86_64": other / apk.NAME}, tmp_path / "maven")
    assert "pages of 4 KB" in error.value.came_back and "not aligned to pages of 16384 bytes" in error.value.came_back
    one = {"x86_64": libraries["x86_64"]}
    monkeypatch.setattr(java, "delegate_jar", lambda: java.maven.class_path("junit")[0])
    with pytest.raises(JudgementFailed, match="org/junit"):
        aar.make(one, tmp_path / "maven")
    monkeypatch.undo()
    monkeypatch.setattr(aar, "contents", lambda given, known=aar.contents: {**known(given), "assets/more": b""})
    with pytest.raises(JudgementFailed, match="also assets/more"):
        aar.make(one, tmp_path / "maven")
    assert not (tmp_path / "maven").exists()


def test_the_page_names_what_is_published(published):
    page = (settings.ROOT / "docs" / "use_in_an_app.md").read_text()
    assert f'implementation("{published.coordinates}")' in page
    assert f'implementation("org.tensorflow:tensorflow-lite:{maven.version("tensorflow-lite")}")' in page
    fetched = re.findall(r"<groupId>(.+)</groupId><artifactId>(.+)</artifactId><version>(.+)</version>", page)
    tflite = [
        ("org.tensorflow", name, maven.version("tensorflow-lite"))
        for name in ("tensorflow-lite", "tensorflow-lite-api")
    ]
    assert fetched == [tuple(published.coordinates.split(":")), *tflite]
    assert str(aar.REPOSITORY.relative_to(settings.ROOT)) in page
    assert f"both {maven.version('litert')})" in page and f"LiteRT {maven.version('litert')}" in (
        (settings.ROOT / "docs" / "android.md").read_text()
    )
    (maker,) = [one.found for one in published.findings if one.what == "made by"]
    assert maker.startswith("NDK ") != ("for tests" in maker)


def test_release_needs_an_ndk(libraries, tmp_path, monkeypatch):
    with pytest.raises(JudgementFailed, match="for tests only"):
        monkeypatch.setattr(apk_check, "made_by", lambda path: "stand-in NDK (clang 22)")
        aar.make(libraries, tmp_path, release=True)
    monkeypatch.delenv("ANDROID_NDK_HOME", raising=False)
    with pytest.raises(Misuse, match="ANDROID_NDK_HOME is not set"):
        aar.from_arguments("", str(tmp_path), release=True)
    with pytest.raises(Misuse, match="there is no ABI mips"):
        aar.from_arguments("mips", "", release=False)


def test_a_shrunken_app_keeps_what_the_native_library_finds_by_name():
    """R8 removes and renames what no Java names: the rules name all that jni.cc does."""
    native = (settings.ROOT / "delegate_native/jni/jni.cc").read_text()
    rules = (java.APP / "delegate" / "consumer-rules.pro").read_text()
    (kept,) = re.findall(
        r"^-keep(,includedescriptorclasses)? class ([\w.]+) \{(.*?)^\}", rules, re.MULTILINE | re.DOTALL
    )
    assert kept[0], "the types of the arguments are in the names that JNI looks for"
    assert kept[1].replace(".", "/") == re.search(r'kClass\[\] = "([^"]+)"', native)[1]
    assert "native <methods>;" in kept[2]
    called = re.findall(r'GetStatic\w*ID\(\w+, "(\w+)",', native)
    assert called and all(re.search(rf"\b{name}\(", kept[2]) for name in called)
    assert not re.search(r"GetMethodID|GetFieldID|NewObject", native), "the rules must name these too"


def test_pages_are_the_smallest_alignment_and_java_finds_its_entry(libraries):
    assert {"JNI_OnLoad", "tflite_plugin_create_delegate"} <= set(size.measure(libraries["x86_64"]).exports)
    assert android_check.page_bytes(libraries["x86_64"]) == 16384
    assert android_check.page_bytes(libraries["armeabi-v7a"]) == 4096
