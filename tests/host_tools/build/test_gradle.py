"""Gradle's project, which is not run here, and the packager take the same sources, manifest, versions and names."""

import re
from pathlib import Path

import pytest

from host_tools.build import apk, java, maven

MODULES = (*java.MODULES, java.TEST_MODULE)
NAMESPACES = {"delegate": "org.quadra.gpu", "runner": "org.quadra.runner", "host_test": "org.quadra.host"}


def script(module: str) -> str:
    return (java.APP / module / "build.gradle.kts").read_text()


def files():
    return [java.APP / "settings.gradle.kts", java.APP / "build.gradle.kts"] + [
        java.APP / module / "build.gradle.kts" for module in MODULES
    ]


def test_the_modules_are_those_of_the_settings():
    settings = (java.APP / "settings.gradle.kts").read_text()
    assert re.findall(r'":(\w+)"', settings) == list(MODULES)
    assert 'from(files("../gradle/libs.versions.toml"))' in settings
    assert (java.APP / "../gradle/libs.versions.toml").resolve() == maven.CATALOGUE


def test_every_version_comes_from_the_catalogue():
    for file in files():
        code = re.sub(r"//.*", "", file.read_text())
        assert not re.findall(r'"[\w.:-]*\d+\.\d+[\w.:-]*"|Sdk = \d|version(?:Code|Name) = [\d"]', code), file


def test_every_name_of_the_catalogue_exists():
    known = {f"versions.{name}" for name in maven._catalogue()["versions"]}
    known |= {f"plugins.{name}" for name in maven._catalogue()["plugins"]}
    known |= {f"bundles.{name}" for name in maven._catalogue()["bundles"]} | set(maven.known())
    known = {re.sub(r"[-_]", ".", name) for name in known}
    for file in files():
        for name in re.findall(r"\blibs\.([\w.]+?)(?=\.get\(\)|\))", file.read_text()):
            assert name in known, f"{file}: libs.{name}"


def test_levels_identity_and_versions_are_the_packagers():
    runner = script("runner")
    pairs = {
        "applicationId": "applicationId",
        "minSdk": "android.minSdk",
        "targetSdk": "android.targetSdk",
        "versionCode": "quadra.code",
        "versionName": "quadra.name",
    }
    for field, name in pairs.items():
        assert re.search(rf"\b{field} = libs\.versions\.{re.escape(name)}\.get\(\)", runner), field
    manifest = apk.manifest(release=True)
    assert f'package="{maven.version("applicationId")}"' in manifest
    assert f'minSdkVersion="{maven.version("android-minSdk")}"' in manifest
    assert f'targetSdkVersion="{maven.version("android-targetSdk")}"' in manifest
    for module in MODULES:
        assert script(module).count("JavaVersion.toVersion(libs.versions.java.get())") == 2
    assert "useLegacyPackaging = false" in runner and 'extractNativeLibs="false"' in manifest


@pytest.mark.parametrize("module", MODULES)
def test_sources_lie_where_gradle_looks_for_them(module):
    root = java.APP / module / "src"
    found = set(root.rglob("*.java"))
    mains, tests = java.sources(module), java.sources(module, "test")
    assert found == {*mains, *tests}
    for path in found:
        package = re.search(r"^package ([\w.]+);", path.read_text(), re.MULTILINE).group(1)
        assert path.parent.as_posix().endswith(package.replace(".", "/"))
    assert f'namespace = "{NAMESPACES[module]}"' in script(module)


def test_only_the_tests_take_sources_from_elsewhere():
    assert not [m for m in java.MODULES if re.search(r"java\.srcDir|manifest\.srcFile", script(m))]
    assert '"../runner/src/main/java"' in script(java.TEST_MODULE)


def test_dependencies_are_the_packagers():
    assert "compileOnly(libs.tensorflow.lite.api)" in script("delegate")  # `provided` in the AAR's POM
    assert 'implementation(project(":delegate"))' in script("runner")
    assert "implementation(libs.bundles.tflite)" in script("runner")
    assert "runtimeOnly(libs.bundles.shipped)" in script("runner")


def test_gradle_takes_the_native_library_from_where_the_packager_leaves_it():
    folder = re.search(r'jniLibs\.srcDir\("([^"]+)"\)', script("delegate")).group(1)
    assert (java.APP / "delegate" / folder).resolve() == apk.LIBRARIES


def test_manifests_leave_to_gradle_what_gradle_adds():
    for module in java.MODULES:
        text = (java.APP / module / "src/main/AndroidManifest.xml").read_text()
        assert not re.search(r"package=|versionCode|versionName|uses-sdk|extractNativeLibs|debuggable", text)


def test_the_namespace_of_the_runner_is_its_package():
    names = re.findall(r'android:name="(org[\w.]+)"', apk.MANIFEST.read_text())
    assert names == ["org.quadra.runner.QuadraRunner"]
    assert Path(java.APP / "runner/src/main/java" / (names[0].replace(".", "/") + ".java")).is_file()
