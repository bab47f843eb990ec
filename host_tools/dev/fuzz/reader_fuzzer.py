"""`inv fuzz reader`: clang's libFuzzer, with AddressSanitizer and UBSan, inside the native reader of cache files.

The target is tests/native/cache_file_fuzz.cc. It starts from the files that the delegate leaves for a few small models.
"""

import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from host_tools.base import child_process, settings
from host_tools.base.errors import RunFailed, ToolMissing
from host_tools.build.stand_in.assemble import LLVM
from host_tools.dev.fuzz import cache_fuzzer, seeds
from host_tools.dev.fuzz.finding import Finding

FILE = "cached.quadra"  # of a finding that is kept
_TARGET = "tests/native/cache_file_fuzz.cc"
_SOURCES = (
    *(f"delegate_native/cache/{name}.cc" for name in ("cache_file", "weights_file", "whole_file")),
    "delegate_native/plan/check_plan.cc",
    "delegate_native/base/*.cc",
)
# The library's texts are symbols, which are defined apart.
_PACK_TEXTS, _UNPACKS = "bazel/pack_texts.py", "unpack_texts.cc"
_SCHEMA = "delegate_native/plan/plan.fbs"
_FLAGS = (
    *("-std=c++17", "-O1", "-g", "-fno-exceptions", "-fno-rtti", "-DFLATBUFFERS_MAX_ALIGNMENT=65536"),
    *("-fsanitize=fuzzer,address,undefined,float-cast-overflow", "-fno-sanitize=vptr", "-fno-sanitize-recover=all"),
)
_MOST_BYTES = 200_000  # of a file
_SLOW_S = 20  # one file takes microseconds

Show = Callable[[str], None]


def search(
    seconds: float, seed: int, library: Path, counts: Counter[str], show: Show, root: Path = settings.ROOT
) -> Finding | None:
    """Runs the target for so many seconds, or to its first finding, whose case is the file's bytes.

    counts: gets the files read and the branches reached. library: the libquadra.so that writes the first files; root:
    the checkout whose reader is compiled. RunFailed: the target ended without a finding.
    """
    with _target(root, show) as target:
        corpus = target.parent / "corpus"
        corpus.mkdir()
        show("write the first files")
        for number, file in enumerate(cache_fuzzer.first_files(library, seeds.load())):
            (corpus / f"{number}.quadra").write_bytes(file)
        started = time.monotonic()

        def pulse(line: str) -> None:
            if found := re.match(r"#(\d+)\s+\w+\s+cov: (\d+)", line):
                counts["cases"], counts["branches of the reader reached"] = int(found[1]), int(found[2])
                show(f"{(time.monotonic() - started) / seconds:.0%} of {seconds:g} s, {found[1]} cases")

        limits = (f"-seed={seed}", f"-max_total_time={max(1, round(seconds))}", f"-max_len={_MOST_BYTES}")
        return _run(target, (*limits, corpus), seconds, pulse)


def repeat(file: Path, show: Show) -> Finding | None:
    """Reads the file of a finding again."""
    with _target(settings.ROOT, show) as target:
        return _run(target, (file,), _SLOW_S, lambda line: None, again=file)


@contextmanager
def _target(root: Path, show: Show) -> Iterator[Path]:
    """The compiled target, in a folder of its own that goes with it."""
    compiler = LLVM / "bin" / "clang++"
    if not compiler.exists() or not any(LLVM.glob("lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a")):
        do_next = "apt-get install clang-22 libclang-rt-22-dev"
        raise ToolMissing("compile with libFuzzer", f"{LLVM} has no clang++ or no libFuzzer", do_next)
    show("compile the reader")
    with tempfile.TemporaryDirectory(prefix="quadra-fuzz-") as name:
        target = Path(name) / "cache_file_fuzz"
        headers = Path(name) / "delegate_native" / "plan"
        headers.mkdir(parents=True)
        child_process.run(["flatc", "--cpp", "-o", headers, root / _SCHEMA], timeout_s=60)
        found = [path for pattern in _SOURCES for path in sorted(root.glob(pattern)) if path.name != _UNPACKS]
        texts = Path(name) / "texts.S"
        headers_too = [path.with_suffix(".h") for path in found if path.with_suffix(".h").exists()]
        packed = child_process.run(
            ["python3", settings.ROOT / _PACK_TEXTS, "--plain", *found, *headers_too, root / _TARGET], timeout_s=60
        )
        texts.write_text(packed.stdout)
        sources = [root / _TARGET, *found, texts]
        child_process.run([compiler, *_FLAGS, f"-I{root}", f"-I{name}", *sources, "-o", target], timeout_s=600)
        yield target


def _run(
    target: Path, words: tuple[object, ...], seconds: float, pulse: Show, again: Path | None = None
) -> Finding | None:
    """again: the one file that is read; libFuzzer then keeps no copy of it."""
    folder, memory = target.parent, Path("/dev/shm")
    # A slow file ends the search at _SLOW_S; libFuzzer would keep those of 10 s, too, and go on.
    own = (target, f"-timeout={_SLOW_S}", "-report_slow_units=1000", f"-artifact_prefix={folder}/finding-")
    env = {"QUADRA_FUZZ_FOLDER": str(memory if memory.is_dir() else folder)}
    done = child_process.run([*own, *words], env=env, timeout_s=seconds + 120, check=False, on_line=pulse)
    if done.returncode == 0:
        return None
    named = re.search(r"(?:SUMMARY: |a plan that was let pass: )(.*)", done.stderr)
    file = again or next(folder.glob("finding-*"), None)
    if not named or not file:
        status = done.returncode
        ended = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
        last = "".join(f"\n  | {line}" for line in done.stderr.strip().splitlines()[-12:])
        do_next = "mend what it says; a signal may come from the system, where memory is short"
        raise RunFailed("fuzz the reader with libFuzzer", f"the process {ended}, without a finding{last}", do_next)
    place = named[1].replace(str(settings.ROOT) + "/", "")
    return Finding(file.read_bytes(), "report", place, done.stderr[-20_000:])
