"""Libraries that let Android's x86_64 files load here: what they give is right, what they do not know is named."""

import ctypes
import os
import subprocess
import sys

import pytest

from host_tools.android_on_host import bionic
from host_tools.base.errors import FolderNotWritable, Misuse
from host_tools.build import c_library

# Declarations as Android's headers have them; nothing of this machine's C library is included.
PROBE = r"""
typedef unsigned long size_t;
struct FILE; extern struct FILE *stderr;
int fprintf(struct FILE *, const char *, ...); int fflush(struct FILE *);
int strerror_r(int, char *, size_t); long sysconf(int); size_t strlcpy(char *, const char *, size_t);
int *__errno(void); int sigfillset(unsigned long *); int pthread_sigmask(int, const unsigned long *, unsigned long *);
double cos(double); void *dlopen(const char *, int); int close(int);
int __android_log_print(int, const char *, const char *, ...); int __system_property_get(const char *, char *);
void *memalign(size_t, size_t); int posix_memalign(void **, size_t, size_t);
long answers[11];
__attribute__((constructor)) static void fill(void) {
  char text[64]; unsigned long set[2] = {0, 42}, old[2] = {0, 42};
  answers[0] = strerror_r(2, text, sizeof text) == 0 && text[0] == 'N';
  answers[1] = sysconf(0x61);
  answers[2] = strlcpy(text, "twelve chars", 7) == 12 && text[6] == 0 && text[5] == 'e';
  close(-1);
  answers[3] = *__errno();
  sigfillset(set);
  answers[4] = set[0] == ~0ul && set[1] == 42;
  answers[5] = pthread_sigmask(0, 0, old) == 0 && old[1] == 42;
  answers[6] = cos(0.0) == 1.0;
  answers[7] = dlopen("libnowhere.so", 2) == 0;
  answers[8] = __system_property_get("ro.build.version.sdk", text) == 2 && text[0] == '3' && text[1] == '4';
  answers[9] = __system_property_get("ro.hardware", text) == 0 && text[0] == 0;
  void *memory = 0;
  answers[10] = posix_memalign(&memory, 32, 96) == 0 && (size_t)memory % 64 == 0 && (size_t)memalign(32, 96) % 64 == 0;
  fprintf(stderr, "to %s\n", "stderr"); fflush(stderr);
  __android_log_print(4, "tag", "%d lines", 2);
}
"""
ASKS = {
    "libc.so": "stderr fprintf fflush strerror_r sysconf strlcpy __errno sigfillset pthread_sigmask close"
    " __system_property_get memalign posix_memalign",
    "libm.so": "cos",
    "libdl.so": "dlopen",
    "liblog.so": "__android_log_print",
}


def android_library(folder, source, asks, name="libprobe.so", extra=(), versioned=True):
    """A library for Android x86_64: it asks libraries under Android's names for symbols of their versions.

    versioned=False: the log's has none, as for libraries made with older NDKs.
    """
    folder.mkdir(exist_ok=True)
    words = []
    for library, names in asks.items():
        text = "".join(f".globl {n}\n.type {n},@function\n{n}: ret\n" for n in names.split())
        if "stderr" in names.split():
            data = ".type stderr,@object\n.data\nstderr: .quad 0\n.text"
            text = text.replace(".type stderr,@function\nstderr: ret", data)
        (folder / "stub.s").write_text(text + '.section .note.GNU-stack,"",@progbits\n')
        version = "LIBLOG" if library == "liblog.so" else "LIBC"
        (folder / "v.map").write_text(f"{version} {{ global: *; }};")
        versions = ["-Wl,--version-script=v.map"] if versioned or library != "liblog.so" else []
        gcc(folder, "-o", library, "stub.s", f"-Wl,-soname,{library}", *versions)
        words.append(folder / library)
    (folder / "probe.c").write_text(source)
    gcc(folder, "-fno-builtin", "-o", name, "probe.c", *words, f"-Wl,-soname,{name}", *extra)
    return folder / name


def gcc(folder, *words):
    subprocess.run(["gcc", "-shared", "-fPIC", "-nostdlib", *map(str, words)], cwd=folder, check=True)


@pytest.fixture(autouse=True)
def tools_dir(tmp_path, monkeypatch):
    monkeypatch.setenv("QUADRA_TOOLS_DIR", str(tmp_path / "tools"))
    return tmp_path / "tools"


def load(folder, library, code):
    """Runs Python `code` in a process that may load Android's libraries; `lib` is the loaded library."""
    text = f"import ctypes; lib = ctypes.CDLL({str(library)!r}); {code}"
    env = {**os.environ, "LD_LIBRARY_PATH": str(folder)}
    return subprocess.run([sys.executable, "-c", text], env=env, capture_output=True, text=True)


@pytest.mark.parametrize("versioned", (True, False))
def test_android_code_gets_functions_that_mean_what_androids_headers_say(versioned, tmp_path):
    library = android_library(tmp_path / "android", PROBE, ASKS, versioned=versioned)
    done = load(bionic.folder_for([library]), library, "print(*(ctypes.c_long * 11).in_dll(lib, 'answers'))")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [
        "1",
        str(os.sysconf("SC_NPROCESSORS_ONLN")),
        "1",
        "9",
        "1",
        "1",
        "1",
        "1",
        "1",
        "1",
        "1",
    ]
    assert "to stderr\ntag: 2 lines\n" in done.stderr


def test_an_unknown_symbol_is_an_error_that_names_it_and_the_library(tmp_path):
    source = "int setjmp(void *); int f(void *b) { return setjmp(b); }"
    library = android_library(tmp_path / "android", source, {"libc.so": "setjmp"})
    with pytest.raises(Misuse, match=r"load libprobe.so.*it asks for setjmp \(version LIBC\)"):
        bionic.folder_for([library])


def test_what_one_library_asks_another_may_have(tmp_path):
    asks = {"libc.so": "close"}
    first = android_library(tmp_path / "a", "int helper(void) { return 5; }", asks, "libfirst.so")
    source = "int helper(void); int call(void) { return helper(); }"
    second = android_library(tmp_path / "b", source, asks, "libsecond.so", extra=[first])
    assert bionic.folder_for([first, second]).is_dir()
    with pytest.raises(Misuse, match="needs libfirst.so"):
        bionic.folder_for([second])


def test_libraries_are_made_once_for_what_is_asked(tmp_path):
    library = android_library(tmp_path / "a", "int close(int); int f(void) { return close(9); }", {"libc.so": "close"})
    made = bionic.folder_for([library])
    stamp = (made / "libc.so").stat().st_mtime_ns
    assert bionic.folder_for([library]) == made and (made / "libc.so").stat().st_mtime_ns == stamp
    assert [path.name for path in made.parent.iterdir()] == [made.name]  # nothing half-made is left


def test_another_machines_library_and_no_library_are_refused(tmp_path):
    library = android_library(tmp_path / "a", "int f(void) { return 1; }", {"libc.so": "close"})
    content = bytearray(library.read_bytes())
    content[18:20] = (183).to_bytes(2, "little")  # e_machine: AArch64
    (tmp_path / "arm.so").write_bytes(content)
    with pytest.raises(Misuse, match="it is for AARCH64, not for Android x86_64"):
        bionic.folder_for([tmp_path / "arm.so"])
    source = tmp_path / "here.c"
    source.write_text('#include <stdio.h>\nint f(void) { return puts("here"); }\n')
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", tmp_path / "here.so", source], check=True)
    with pytest.raises(Misuse, match="it is for this machine, not for Android"):
        bionic.folder_for([tmp_path / "here.so"])
    (tmp_path / "text.so").write_text("not a library")
    with pytest.raises(Misuse, match="read the library"):
        bionic.folder_for([tmp_path / "text.so"])


def test_a_folder_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    library = android_library(tmp_path / "a", "int f(void) { return 1; }", {"libc.so": "close"})
    monkeypatch.setenv("QUADRA_TOOLS_DIR", "/proc/nowhere")
    with pytest.raises(FolderNotWritable, match="QUADRA_TOOLS_DIR"):
        bionic.folder_for([library])


def test_the_default_display_needs_no_window_system(tmp_path):
    source = "void *eglGetDisplay(void *); void *display(void) { return eglGetDisplay(0); }"
    folder = tmp_path / "a"
    folder.mkdir()
    (folder / "egl.s").write_text('.globl eglGetDisplay\neglGetDisplay: ret\n.section .note.GNU-stack,"",@progbits\n')
    gcc(folder, "-o", "libEGL.so", "egl.s", "-Wl,-soname,libEGL.so")
    library = android_library(folder, source, {"libc.so": "close"}, extra=[folder / "libEGL.so"])
    code = (
        "lib.display.restype = ctypes.c_void_p; d = lib.display(); e = ctypes.CDLL('libEGL.so');"
        "a, b = ctypes.c_int(), ctypes.c_int();"
        "print(e.eglInitialize(ctypes.c_void_p(d), ctypes.byref(a), ctypes.byref(b)), a.value)"
    )
    done = load(bionic.folder_for([library]), library, code)
    assert done.stdout.split() == ["1", "1"], done.stderr


def test_lists_hold_each_name_once_and_glibc_has_it():
    lines = (bionic._HERE / "same.txt").read_text().splitlines()
    names = [name for line in lines if line[:1] != "#" for name in line.split()]
    assert len(names) == len(set(names))
    assert not set(names) & bionic.own_functions()
    libraries = [ctypes.CDLL(name) for name in ("libc.so.6", "libm.so.6")]
    absent = [name for name in names if not any(hasattr(library, name) for library in libraries)]
    assert not absent


def test_all_that_quadra_may_ask_of_android_is_known():
    asked = {symbol.name for symbol in c_library.symbols("x86_64")}
    asked.discard("__stack_chk_guard")  # of other ABIs; that of x86_64 lies beside the thread's data
    assert len(asked) > 50
    assert not asked - bionic.own_functions() - bionic.same_functions() - bionic._DATA
