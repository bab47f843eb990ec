"""The Java API and the runner: compiled against Android's and TFLite's own classes, tested on this machine's JVM."""

import re
from pathlib import Path

import pytest

from host_tools.base import cpu_drivers
from host_tools.build import java
from tests import android_parts
from tests.host_tools.test_options_doc import table

API = java.APP / "delegate/src/main/java/org/quadra/gpu"
_DEADLINE_S = 300.0


@pytest.fixture(autouse=True, scope="module")
def android_classes():
    """Android's and TFLite's classes, from Maven Central once; without a network these tests say so and are skipped."""
    android_parts.need_classes()


def junit(classes: list[str], library: Path, cache: Path) -> str:
    """What JUnit prints for these classes, in one JVM; fails where one of them fails."""
    done = java.run_java(
        "org.junit.runner.JUnitCore",
        classes,
        [java.test_classes(), *java.test_class_path()],
        timeout_s=_DEADLINE_S,
        properties={"java.library.path": str(library), **java.robolectric_properties()},
        env={**cpu_drivers.settings(1), **cpu_drivers.caches(cache), "QUADRA_BACKEND": "auto"},
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    return done.stdout


def names(*suffixes: str) -> list[str]:
    """Names of the test classes whose file name ends so."""
    root = java.APP / "host_test/src/test/java"
    files = java.sources(java.TEST_MODULE, "test")
    return [".".join(file.relative_to(root).with_suffix("").parts) for file in files if file.stem.endswith(suffixes)]


def test_java_tests_pass_with_the_native_library(library, tmp_path):
    classes = [name for name in names("Test") if not name.endswith(("WithoutLibraryTest", "DexedClassesTest"))]
    assert len(classes) >= 6
    said = junit(classes, library.parent, tmp_path)
    assert re.search(r"OK \(\d+ tests\)", said)


def test_java_says_what_is_missing_without_the_native_library(tmp_path):
    assert "OK (2 tests)" in junit(names("WithoutLibraryTest"), tmp_path, tmp_path)


def test_java_has_a_setter_for_every_option():
    """Of one option each, but for the few whose name or arguments are TensorFlow Lite's, or say more at once."""
    kinds = {"Word": "String", "Text": "String", "Flag": "boolean", "Int": "int"}
    named_otherwise = {
        "is_precision_loss_allowed": "setPrecisionLossAllowed(boolean ",
        "inference_preference": "setInferencePreference(int ",
        "serialization_dir": "setSerializationParams(String ",
        "model_token": "setSerializationParams(String ",
        "first_delegate_node_index": "setDelegatedNodes(int ",
        "last_delegate_node_index": "setDelegatedNodes(int ",
        **{f"inference_priority{number}": "setInferencePriorities(String... " for number in (1, 2, 3)},
    }
    text = (API / "GpuDelegateFactory.java").read_text()
    for name, kind, *_ in table():
        camel = "".join(word.capitalize() for word in name.split("_"))
        setter = named_otherwise.get(name, f"set{camel}({kinds[kind]} ")
        body = re.search(rf"public Options {re.escape(setter)}.*?\n    \}}", text, re.DOTALL)
        assert body, f"{name}: no {setter}"
        key = re.sub(r"[123]$", '" + (i + 1)', name) if "priority" in name else f'{name}"'
        assert f'set("{key}' in body[0], body[0]


def test_natives_in_java_are_those_that_the_library_registers():
    text = (API / "QuadraNative.java").read_text()
    types = {
        "long": "J",
        "void": "V",
        "byte[]": "[B",
        "byte[][]": "[[B",
        "ByteBuffer": "Ljava/nio/ByteBuffer;",
        "VerdictListener": "Lorg/quadra/gpu/VerdictListener;",
    }
    declared = {}
    for result, name, arguments in re.findall(r"static native (\S+) (\w+)\(([^)]*)\);", text):
        declared[name] = f"({''.join(types[a.split()[0]] for a in arguments.split(',') if a)}){types[result]}"
    native = (java.settings.ROOT / "delegate_native/jni/jni.cc").read_text()
    assert dict(re.findall(r'quadra::Method\("(\w+)", "([^"]+)"', native)) == declared


def test_the_api_has_the_names_of_tflites_own_delegate():
    """A program that was written for it changes its imports: every public method there is one here."""
    jars = java.maven.class_path("tflite", "shipped")
    joined = ":".join(map(str, jars))
    javap = Path(java.tool("javac")).with_name("javap")
    pairs = [
        "GpuDelegate",
        "GpuDelegate$Options",
        "GpuDelegateFactory",
        "GpuDelegateFactory$Options",
        "CompatibilityList",
    ]
    pairs.append("GpuDelegateFactory$Options$GpuBackend")
    for name in pairs:
        theirs = _public(javap, joined, f"org.tensorflow.lite.gpu.{name}")
        ours = _public(javap, f"{joined}:{java.app_classes()}", f"org.quadra.gpu.{name}")
        assert theirs <= ours, name


def _public(javap: Path, class_path: str, name: str) -> set:
    said = java.child_process.run([javap, "-public", "-cp", class_path, name], timeout_s=60).stdout
    members = re.findall(r"^  public (.*);$", said.replace("org.tensorflow.lite.gpu.", "org.quadra.gpu."), re.MULTILINE)
    return {member.replace("final ", "").replace("synchronized ", "") for member in members}


def test_java_in_the_documentation_compiles(tmp_path, monkeypatch):
    """Each example is the body of a method that gets a model, an input and an output; its imports come first."""
    pages = [java.settings.ROOT / "README.md", *sorted((java.settings.ROOT / "docs").glob("*.md"))]
    examples = [text for page in pages for text in re.findall(r"^```java\n(.*?)^```", page.read_text(), re.M | re.S)]
    assert len(examples) >= 3
    files = [_example(tmp_path / f"Example{number}.java", text) for number, text in enumerate(examples)]
    class_path = [java.app_classes(), *java.app_class_path()]
    monkeypatch.setattr(java, "BUILT", tmp_path)
    java.compile_java(files, class_path, "the examples of the documentation")


def _example(file: Path, text: str) -> Path:
    lines = text.splitlines()
    imports = [line for line in lines if line.startswith("import ")]
    body = "\n".join(line for line in lines if not line.startswith("import "))
    method = f"void run(java.io.File model, Object input, Object output) throws Exception {{\n{body}\n}}"
    file.write_text("\n".join([*imports, f"class {file.stem} {{ {method} }}", ""]))
    return file


@pytest.mark.parametrize("module", java.MODULES)
def test_java_files_keep_to_the_house_rules(module):
    for file in java.sources(module):
        lines = file.read_text().splitlines()
        assert len(lines) < 400, file
        assert max(map(len, lines)) <= 100, file
        assert "finalize(" not in file.read_text(), file
