"""An app that takes the AAR, made from the lines of docs/use_in_an_app.md: Maven resolves it, the Java lines are compiled
against it and run a model on the GPU, inside Android's runtime on this machine. Outside the repository. Then the same once
more after ProGuard, which reads R8's rules, shrank and renamed all classes as the AAR's rules allow."""

import json
import os
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest

from host_tools.android_on_host import bionic, jvm
from host_tools.base import child_process, settings
from host_tools.build import aar, java, maven
from tests import cpu
from tests.android_parts import app_library
from tests.model_builder import one_convolution

PAGE = (settings.ROOT / "docs" / "use_in_an_app.md").read_text()
# The tools of the test beside the lines of the page.
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>com.example</groupId><artifactId>app</artifactId><version>1</version><packaging>pom</packaging>
{lines}</project>"""
TOOL = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"
TOOLS = (
    ("com.guardsquare", "proguard-base", "7.6.1"),
    ("org.jetbrains.kotlin", "kotlin-compiler-embeddable", "2.1.0"),
)
APP = """{imports}
public class App {{
  public static void main(String[] words) throws Exception {{
    java.io.File model = new java.io.File(words[0]);
    float[][][][] input = new float[1][8][8][4];
    float[][][][] output = new float[1][8][8][8];
    for (int i = 0; i < 256; i++) input[0][i / 32][i / 4 % 8][i % 4] = i / 256f;
{body}
    GpuDelegate.Options options = new GpuDelegate.Options();
    options.setVerdictListener(node -> System.out.println("told: " + node));
    try (GpuDelegate second = new GpuDelegate(options)) {{
      new Interpreter(model, new Interpreter.Options().addDelegate(second)).close();
    }}
    System.out.println(java.util.Arrays.deepToString(output));
  }}
}}
"""
_DEADLINE_S = 300.0


def lines(language: str, word: str) -> str:
    """The first example of the page in this language that has the word."""
    return next(text for text in re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.M | re.S) if word in text)


def resolved(repository: Path, project: Path) -> dict[str, Path]:
    """Maven takes the AARs of the page from the folder and from Maven Central; by name, unpacked. The tools' jars lie beside."""
    words = re.sub(r"(?<=<url>)file:.*(?=</url>)", repository.as_uri(), lines("xml", "<repository>"))
    more = "".join(TOOL.format(*one) for one in TOOLS)
    (project / "pom.xml").write_text(POM.format(lines=words.replace("</dependencies>", f"{more}</dependencies>")))
    plugin = f"org.apache.maven.plugins:maven-dependency-plugin:{maven.version('maven-dependency-plugin')}"
    argv = ["mvn", "-B", f"-Dmaven.repo.local={project / 'local'}", f"{plugin}:copy-dependencies"]
    child_process.run(argv, cwd=project, timeout_s=_DEADLINE_S)
    found = {}
    for file in (project / "target" / "dependency").glob("*.aar"):
        with zipfile.ZipFile(file) as archive:
            archive.extractall(project / file.stem)
        found[re.sub(r"-\d.*", "", file.stem)] = project / file.stem
    return found


def compiled(project: Path, class_path: list[Path]) -> Path:
    words = lines("java", "GpuDelegate").splitlines()
    imports = "\n".join(line for line in words if line.startswith("import "))
    body = "\n".join(f"    {line}" for line in words if not line.startswith("import "))
    (project / "App.java").write_text(APP.format(imports=imports, body=body))
    joined = os.pathsep.join(map(str, class_path))
    argv = [java.tool("javac"), "-Werror", "-cp", joined, "-d", project / "classes", project / "App.java"]
    child_process.run(argv, timeout_s=_DEADLINE_S)
    return project / "classes"


def compile_kotlin(project: Path, class_path: list[Path]) -> None:
    """The page's Kotlin lines, as the body of a function."""
    words = lines("kotlin", "GpuDelegate").splitlines()
    imports = [line for line in words if line.startswith("import ")]
    body = [line for line in words if not line.startswith("import ")]
    function = ["fun run(model: java.io.File, input: Any, output: Any) {", *body, "}"]
    (project / "App.kt").write_text("\n".join([*imports, *function, ""]))
    tool = tools(project)
    own = [jar for jar in tool if jar.name.startswith("kotlin-stdlib-")]
    joined = os.pathsep.join(map(str, [*class_path, *own]))
    argv = ["-no-stdlib", "-no-reflect", "-Werror", "-cp", joined, "-d", project / "kotlin", project / "App.kt"]
    java.run_java("org.jetbrains.kotlin.cli.jvm.K2JVMCompiler", argv, tool, timeout_s=_DEADLINE_S)
    assert (project / "kotlin" / "AppKt.class").is_file()


def tools(project: Path) -> list[Path]:
    return sorted((project / "target" / "dependency").glob("*.jar"))


def shrunken(project: Path, classes: list[Path], rules: Path) -> Path:
    """The app's classes and the AAR's in one jar, without what nobody uses, and with other names."""
    there = maven.class_path("tflite", "android-all")
    (project / "app.pro").write_text(
        f"-injars {os.pathsep.join(map(str, classes))}\n-outjars {project / 'app.jar'}\n"
        f"-libraryjars <java.home>/jmods/java.base.jmod(!**.jar;!module-info.class)\n"
        f"-libraryjars {os.pathsep.join(map(str, there))}\n-include {rules}\n-dontwarn\n-dontnote\n"
        "-keep class App { public static void main(java.lang.String[]); }\n"
    )
    java.run_java("proguard.ProGuard", [f"@{project / 'app.pro'}"], tools(project), timeout_s=_DEADLINE_S)
    with zipfile.ZipFile(project / "app.jar") as archive:
        names = archive.namelist()
    assert "org/quadra/gpu/QuadraNative.class" in names and "org/quadra/gpu/GpuDelegate.class" not in names
    return project / "app.jar"


@pytest.mark.slow
def test_a_project_made_from_the_pages_lines_runs_a_model_on_the_gpu(tmp_path):
    library, app, model = app_library(), tmp_path / "app", tmp_path / "model.tflite"
    repository = aar.make({jvm.ABI: library}, tmp_path / "maven").repository
    app.mkdir()
    parts = resolved(repository, app)
    assert set(parts) == {"quadra-gpu-delegate", "tensorflow-lite", "tensorflow-lite-api"}
    ours, *others = [part / "classes.jar" for part in (parts.pop("quadra-gpu-delegate"), *parts.values())]
    classes = compiled(app, [ours, *others])
    compile_kotlin(app, [ours, *others])
    model.write_bytes(one_convolution())
    machine = jvm.Machine(library)  # for what stands around it; classes and libraries are the app's own
    native = {ours.parent: "libquadra.so", parts["tensorflow-lite"]: "libtensorflowlite_jni.so"}
    machine.libraries = [part / "jni" / jvm.ABI / name for part, name in native.items()]
    machine.named, machine.compat = machine.libraries[0], bionic.folder_for(machine.libraries)
    given = np.arange(256, dtype=np.float32).reshape(1, 8, 8, 4) / 256
    (expected,) = cpu.run(model.read_bytes(), [given])
    for own in ([classes, ours], [shrunken(app, [classes, ours], ours.with_name("proguard.txt"))]):
        machine.class_path = [*own, *others, *maven.class_path("android-all", "robolectric")]
        env = machine.environment(1, settings.read().driver_cache_dir)
        done = child_process.run(machine.command("App", {}, [model]), timeout_s=_DEADLINE_S, env=env)
        report, told, output = done.stdout.strip().splitlines()[-3:]
        assert report.startswith("1 of 1 node on opencl"), done.stdout
        assert told == "told: 0 CONV_2D on the GPU"
        np.testing.assert_allclose(json.loads(output), expected, rtol=0, atol=1e-4)
