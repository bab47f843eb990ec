"""Gradle's project, which is not run here, and the packager take the same sources, manifest, versions and names."""

import inspect
import re
from pathlib import Path

import pytest

import tasks
from host_tools.base.android import ABIS
from host_tools.build import apk, java, maven, ndk

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
    known |= {f"bundles.{name}" for name in maven._catalogue()["bundles"]} | set(maven._catalogue()["libraries"])
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


def test_the_scripts_name_nothing_that_the_plugin_no_longer_has():
    """By the migration notes of version 9: its DSL without the old types, and Kotlin that it brings itself."""
    gone = r"applicationVariants|libraryVariants|BaseExtension|\bsrcDirs?\b|kotlinOptions|org\.jetbrains\.kotlin|targetSdkVersion"
    for file in files():
        assert not re.findall(gone, file.read_text()), file
    for module in MODULES:
        assert "enableKotlin = false" in script(module) and not list((java.APP / module).rglob("*.kt"))
    levels = {name: int(maven.version(f"android-{name}")) for name in ("minSdk", "targetSdk", "compileSdk")}
    assert levels["targetSdk"] == levels["compileSdk"] == 36, "what the store asks of apps"


def test_only_the_tests_take_sources_from_elsewhere():
    assert not [m for m in java.MODULES if re.search(r"java\.(?:srcDir|directories)|manifest\.srcFile", script(m))]
    assert '"../runner/src/main/java"' in script(java.TEST_MODULE)


def test_dependencies_are_the_packagers():
    assert "compileOnly(libs.tensorflow.lite.api)" in script("delegate")  # `provided` in the AAR's POM
    assert 'implementation(project(":delegate"))' in script("runner")
    assert "else libs.bundles.tflite" in script("runner")
    assert "implementation(libs.bundles.tflite)" in script(java.TEST_MODULE)
    assert "runtimeOnly(libs.bundles.shipped)" in script("runner")


def test_gradle_takes_the_native_library_from_where_the_packager_leaves_it():
    assert 'sourceSets["main"].jniLibs.directories.add(libraries.path)' in script("delegate")
    folder = re.search(r'^val libraries = .* else file\("([^"]+)"\)$', script("delegate"), re.MULTILINE).group(1)
    assert (java.APP / "delegate" / folder).resolve() == apk.LIBRARIES


def test_gradle_has_the_native_libraries_built_before_it_needs_them():
    """The command is one that `./inv` has, run where `inv` is; without libraries there is no build."""
    text = script("delegate")
    program, task, *words = re.findall(r'"([^"]+)"', re.search(r"commandLine\(([^)]*)\)", text).group(1))
    assert (java.settings.ROOT / program).resolve() == java.settings.ROOT / "inv"
    assert task in vars(tasks) and words == ["--abi"]
    assert "abi" in inspect.signature(vars(tasks)[task].body).parameters and ndk.abis("all") == ABIS
    assert java.APP.parent == java.settings.ROOT and "workingDir = repository" in text
    assert "val repository = rootDir.parentFile" in text
    assert 'tasks.named("preBuild") { dependsOn(checkNative) }' in text and "dependsOn(buildNative)" in text
    sentences = re.findall(r"throw GradleException\((.*?)\n {12}\)", text, re.DOTALL)
    assert len(sentences) == 2 and all("Quadra: " in one and "; next: " in one for one in sentences)


def test_the_wrapper_and_the_plugin_fit_each_other():
    """Gradle's root project is the folder of the settings: the wrapper's properties and the checksums lie in its gradle/."""
    lines = (java.APP / "gradle" / "wrapper" / "gradle-wrapper.properties").read_text().splitlines()
    told = dict(line.split("=", 1) for line in lines)
    assert told["distributionUrl"].endswith(f"/distributions/gradle-{maven.version('gradle')}-bin.zip")
    assert re.fullmatch("[0-9a-f]{64}", told["distributionSha256Sum"])
    needs = {(9, 0): (9, 1), (9, 1): (9, 3, 1)}  # from the plugin's release notes
    plugin = tuple(map(int, maven.version("agp").split(".")))
    assert tuple(map(int, maven.version("gradle").split("."))) >= needs[plugin[:2]]
    assert "gradleVersion = libs.versions.gradle.get()" in (java.APP / "build.gradle.kts").read_text()
    assert maven.CHECKSUMS == java.APP / "gradle" / "verification-metadata.xml" and maven.CHECKSUMS.is_file()
    properties = (java.APP / "gradle.properties").read_text().splitlines()
    assert "org.gradle.dependency.verification=lenient" in properties  # until the plugin's files are listed
    ignored = (java.settings.ROOT / ".gitignore").read_text().splitlines()
    assert {"/android_app/gradlew", "/android_app/gradle/wrapper/gradle-wrapper.jar"} <= set(ignored)


def test_what_only_gradle_takes_is_not_asked_of_maven_central():
    rows = maven._catalogue()["libraries"]
    left_out = {alias: row["module"] for alias, row in rows.items() if alias not in maven.known()}
    assert left_out == {name: f"com.google.ai.edge.litert:{name}" for name in maven.bundle("litert")}
    assert "libs.bundles.litert" in script("runner")


def test_manifests_leave_to_gradle_what_gradle_adds():
    for module in java.MODULES:
        text = (java.APP / module / "src/main/AndroidManifest.xml").read_text()
        assert not re.search(r"package=|versionCode|versionName|uses-sdk|extractNativeLibs|debuggable", text)


def test_the_namespace_of_the_runner_is_its_package():
    names = re.findall(r'android:name="(org[\w.]+)"', apk.MANIFEST.read_text())
    assert names == ["org.quadra.runner.QuadraRunner"]
    assert Path(java.APP / "runner/src/main/java" / (names[0].replace(".", "/") + ".java")).is_file()
