"""The cache of compiled models: a second start finds what the first one made, and gets the same numbers; whatever is
wrong with a file or its folder costs time and nothing else."""

from __future__ import annotations

import json
import os
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from host_tools.base import child_process, settings
from host_tools.record import cache_file
from host_tools.record.cache_file import Parts
from tests import cpu, faults
from tests.delegate import UNOPTIMISED, Quadra, environment, options
from tests.faults import compile_driver_faults
from tests.host_tools.record import cache_files
from tests.model_builder import Model
from tests.vectors.composites import SHAPE, composite, rms_norm

BACKENDS = ["opencl", "gles"]
# The drivers' own caches would hide ours.
NO_DRIVER_CACHES = {"POCL_KERNEL_CACHE": "0", "MESA_SHADER_CACHE_DISABLE": "true"}


def model(bias: float = 0.5) -> bytes:
    m = Model()
    x = m.input((1, 6, 7, 4))
    weights = np.random.default_rng(3).normal(size=(8, 3, 3, 4)).astype(np.float32)
    m.output(m.softmax(m.conv2d(x, weights, np.full(8, bias, np.float32), activation="RELU")))
    return m.bytes()


FEED = np.random.default_rng(1).normal(size=(1, 6, 7, 4)).astype(np.float32)


def start(library: Path, folder: Path, raw: bytes = model(), feed: np.ndarray = FEED, **more: str):
    """The outcome of a new process, and what its first partition says of the cache."""
    worker = Quadra(library, **UNOPTIMISED)
    try:
        given = options(**{"backend": "opencl", "serialization_dir": str(folder), **more})
        outcome = worker.run(raw, [feed], **given)
    finally:
        worker.close()
    assert not outcome.error, outcome.error
    return outcome, outcome.report["partitions"][0]["cache"]


def kept(folder: Path) -> list[Path]:
    """The plans' files."""
    return sorted(folder.glob("*.quadra")) if folder.exists() else []


@pytest.mark.parametrize("target", ["", "adreno-640", "mali-g76-buffers"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_the_second_start_finds_the_plan_and_gives_the_same_bits(library, tmp_path, backend, target):
    folder, how = tmp_path / "kept", {"backend": backend, "target": target, "model_token": "m"}
    first, said = start(library, folder, **how)
    assert said == "miss: none is kept; saved"
    first.check(cpu.run(model(), [FEED]))
    assert [path.name.split("_")[0] for path in kept(folder)] == ["m"]
    second, said = start(library, folder, **how)
    assert said == "hit"
    assert second.report["partitions"][0]["timings_us"]["plan"] == 0
    for a, b in zip(first.outputs[0], second.outputs[0], strict=True):
        assert a.tobytes() == b.tobytes()


def test_what_the_library_writes_is_good_to_the_toolkit(library, tmp_path):
    start(library, tmp_path, model_token="m")
    (path,) = kept(tmp_path)
    found = cache_file.read(path)
    assert found.verify() == "" and found.binaries() and found.said()["precision"].startswith("f32")
    assert found.parts.pack() == path.read_bytes()


def test_a_hit_compiles_nothing(library, tmp_path, monkeypatch):
    for name, value in NO_DRIVER_CACHES.items():
        monkeypatch.setenv(name, value)
    first, _ = start(library, tmp_path)
    second, said = start(library, tmp_path)
    assert said == "hit"
    spent, again = (one.report["partitions"][0]["timings_us"]["compile"] for one in (first, second))
    assert again < spent / 4


def sharing_kernels() -> bytes:
    """Four partitions: the second has kernels of the first and one of its own, the third has some of the first's alone,
    the fourth has them in another order. All need the same of the prelude."""
    m = Model()
    y = m.softmax(m.unary("TANH", m.input((1, 6, 7, 4))))
    y = m.softmax(m.unary("TANH", m.softmax(m.left_to_cpu(y))))
    y = m.left_to_cpu(m.unary("TANH", m.left_to_cpu(y)))
    m.output(m.softmax(y), m.unary("TANH", y))
    return m.bytes()


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_hit_compiles_nothing_of_partitions_that_share_kernels(library, tmp_path, backend):
    """One program has the kernels of a partition on this machine; the second partition's are in two."""
    counter, folder = compile_driver_faults(tmp_path / "libdriver.so"), tmp_path / "kept"
    given = {"backend": backend, "serialization_dir": str(folder)}
    given["opencl_library" if backend == "opencl" else "egl_library"] = str(counter)
    for again in (False, True):
        worker = Quadra(library, **UNOPTIMISED)
        try:
            outcome = worker.run(sharing_kernels(), [FEED], counter=counter, **options(**given))
        finally:
            worker.close()
        outcome.check(cpu.run(sharing_kernels(), [FEED]), everything_on_gpu=False)
        said = [partition["cache"] for partition in outcome.report["partitions"]]
        assert said == (["hit"] if again else ["miss: none is kept; saved"]) * 4
        compiled = outcome.driver["calls"].get(
            "clCreateProgramWithSource" if backend == "opencl" else "glShaderSource", 0
        )
        assert (compiled == 0) == again, compiled


def test_a_hit_with_kernels_in_another_order_is_right(library, tmp_path):
    """Those of the last partition, in the program of the first: a process that has the last alone runs each by its name."""
    raw = sharing_kernels()
    start(library, tmp_path, raw, FEED)
    outcome, said = start(library, tmp_path, raw, FEED, first_delegate_node_index="9")
    assert said == "hit" and len(outcome.report["partitions"]) == 1
    outcome.check(cpu.run(raw, [FEED]), everything_on_gpu=False)


_DECODER = """
import sys
import numpy as np
from host_tools.request import decoder_sizes, make_decoder
from pathlib import Path
from tests.delegate_worker import open_model, report
library, backend, folder, again = sys.argv[1:]
path = Path(folder) / "decoder.tflite"
sizes = "smollm2-135m,layers=1,width=64,heads=2,kv_heads=1,hidden=64,vocabulary=64,positions=32,prefill=8"
if not again: make_decoder.write(decoder_sizes.chosen(sizes), path)
given = {"backend": backend, "serialization_dir": folder + "/kept"}
interpreter, delegate = open_model(library, path.read_bytes(), given)
for key in ("prefill_8", "decode"):
    runner = interpreter.get_signature_runner(key)
    runner(**{name: np.zeros(one["shape"], one["dtype"]) for name, one in runner.get_input_details().items()})
told = report(library, delegate)
assert all(node["on"] == "gpu" for node in told["nodes"])
said = [partition["cache"] for partition in told["partitions"]]
assert said == ["hit" if again else "miss: none is kept; saved"] * 2, said
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_hit_compiles_nothing_of_any_signature(library, tmp_path, backend):
    for again in ("", "again"):
        words = [sys.executable, "-c", _DECODER, library, backend, tmp_path, again]
        child_process.run(words, cwd=settings.ROOT, env={**environment(library), **UNOPTIMISED}, timeout_s=200)


def test_what_is_not_the_same_is_not_found(library, tmp_path):
    start(library, tmp_path)
    wide = np.concatenate([FEED, FEED], axis=2)
    for name, how in {
        "a number": {"raw": model(bias=0.5000001)},
        "a size": {"feed": wide},
        "the precision": {"precision": "f16"},
        "the target": {"target": "adreno-640"},
        "the token": {"model_token": "other"},
        "the backend": {"backend": "gles"},
    }.items():
        _, said = start(library, tmp_path, **how)
        assert said.startswith("miss: none is kept; saved"), name
    assert len(kept(tmp_path)) == 7
    assert start(library, tmp_path)[1] == "hit"


def test_models_of_several_partitions_share_the_folder(library, tmp_path):
    m = Model()
    x = m.input((1, 4, 4, 8))
    m.output(m.unary("TANH", m.left_to_cpu(m.unary("TANH", x))))
    feed = np.full((1, 4, 4, 8), 0.3, np.float32)
    start(library, tmp_path, m.bytes(), feed)
    outcome, _ = start(library, tmp_path, m.bytes(), feed)
    assert [partition["cache"] for partition in outcome.report["partitions"]] == ["hit", "hit"]


def test_damaged_files_are_made_anew(library, tmp_path, quadra):
    raw, expected = model(), cpu.run(model(), [FEED])
    given = options(serialization_dir=str(tmp_path))
    quadra.run(raw, [FEED], **given)
    (path,) = kept(tmp_path)
    whole = path.read_bytes()
    for damaged in (
        b"",
        whole[:103],
        whole[:-1],
        whole + b"x",
        b"x" + whole,
        bytes(len(whole)),
        whole[:4000] + whole[4001:],
    ):
        path.write_bytes(damaged)
        report = quadra.run(raw, [FEED], **given).report
        assert report["partitions"][0]["cache"].startswith("miss: "), len(damaged)
        assert report["partitions"][0]["cache"].endswith("; saved")
        assert path.read_bytes() == whole
    start(library, tmp_path / "opencl")
    (path,) = kept(tmp_path / "opencl")
    whole = bytearray(path.read_bytes())
    for at in np.random.default_rng(4).integers(0, len(whole), 5):
        one = whole.copy()
        one[at] ^= 1 << (at % 8)
        path.write_bytes(one)
        outcome, said = start(library, tmp_path / "opencl")
        assert said.startswith("miss: it"), said
        outcome.check(expected)


def damaged(path: Path, part: str) -> None:
    """Flips a bit in the middle of a part of the file."""
    data = bytearray(path.read_bytes())
    bytes_of_part = getattr(Parts.parse(bytes(data)), part)
    data[data.rindex(bytes_of_part) + len(bytes_of_part) // 2] ^= 4
    path.write_bytes(data)


@pytest.mark.parametrize("part", ["key", "plan", "binaries"])
def test_a_flipped_bit_in_any_part_is_a_miss_that_names_it(library, tmp_path, part):
    start(library, tmp_path)
    (path,) = kept(tmp_path)
    damaged(path, part)
    outcome, said = start(library, tmp_path)
    assert said == f"miss: its {part} {'are' if part == 'binaries' else 'is'} damaged; saved"
    outcome.check(cpu.run(model(), [FEED]))
    assert start(library, tmp_path)[1] == "hit"


def test_a_plan_of_another_model_is_not_taken_even_if_its_hashes_fit(library, tmp_path):
    start(library, tmp_path / "wide", feed=np.concatenate([FEED, FEED], axis=2))
    start(library, tmp_path / "own")
    (wide,), (own,) = kept(tmp_path / "wide"), kept(tmp_path / "own")
    plan = Parts.parse(wide.read_bytes()).plan
    own.write_bytes(replace(Parts.parse(own.read_bytes()), plan=plan).pack())
    outcome, said = start(library, tmp_path / "own")
    assert said == "miss: its plan takes or gives other tensors than the model; saved"
    outcome.check(cpu.run(model(), [FEED]))


def binaries_of(data: bytes) -> list[tuple[int, int, bytes]]:
    """Fingerprint, format and bytes of each program in the FlatBuffer."""
    return [(one["fingerprint"], one["format"], bytes(one["bytes"])) for one in cache_file.programs_of(data)]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_hit_whose_binaries_are_not_taken_compiles_and_mends_the_file(library, tmp_path, backend):
    first, said = start(library, tmp_path, backend=backend)
    assert said == "miss: none is kept; saved"
    (path,) = kept(tmp_path)
    whole = Parts.parse(path.read_bytes())
    assert whole.pack() == path.read_bytes()
    programs = binaries_of(whole.binaries)
    if not any(code for _, _, code in programs):
        pytest.skip("this driver gives no binaries")
    assert cache_files.binaries(*programs) and binaries_of(cache_files.binaries(*programs)) == programs
    n = len(programs)
    driver = "{version}; {driver}".format_map(first.report["device"])

    def of(*programs: tuple[int, int, bytes], by: str = driver) -> bytes:
        return cache_files.binaries(*programs, driver=by)

    for bad, what in {
        b"": "",
        of(): "",
        of(*[(f, form, b"") for f, form, _ in programs]): "",
        of(*[(f + 1, form, code) for f, form, code in programs]): "",
        of(*[(f, form, b"\1" * 40) for f, form, _ in programs]): f": the driver refused {n}",
        of(*programs, by=driver + "1"): ": the driver is another one",
    }.items():
        path.write_bytes(replace(whole, binaries=bad).pack())
        outcome, said = start(library, tmp_path, backend=backend)
        assert said == (
            f"hit, but {n} of {n} programs were compiled{what}; saved"
            if bad
            else "miss: its binaries are no FlatBuffer of this schema; saved"
        )
        assert [a.tobytes() for a in outcome.outputs[0]] == [a.tobytes() for a in first.outputs[0]]
        assert start(library, tmp_path, backend=backend)[1] == "hit", "the file is mended"


def test_a_folder_that_cannot_be_used_is_said_and_the_model_runs(library, tmp_path):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "none" / "deeper", Path("/dev/null"), Path("/proc/self")):
        outcome, said = start(library, folder, backend="opencl")
        assert "; not saved: " in said, said
        outcome.check(cpu.run(model(), [FEED]))
    shutil.rmtree(tmp_path / "none", ignore_errors=True)


def test_no_link_is_followed(library, tmp_path):
    folder = tmp_path / "kept"
    start(library, folder)
    (path,) = kept(folder)
    elsewhere = tmp_path / "elsewhere"
    path.rename(elsewhere)
    before = elsewhere.read_bytes()
    path.symlink_to(elsewhere)
    _, said = start(library, folder)
    assert said.startswith("miss: open it: "), said
    assert said.endswith("; saved")
    assert not path.is_symlink()  # it was replaced
    assert elsewhere.read_bytes() == before


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_start_from_the_cache_dumps_what_every_start_does(library, tmp_path, backend):
    dumped = []
    for word in ("first", "second"):
        _, said = start(library, tmp_path / "kept", backend=backend, dump_dir=str(tmp_path / word))
        files = {path for path in (tmp_path / word).rglob("*") if path.is_file()}
        dumped.append({str(path.relative_to(tmp_path / word)): path.read_bytes() for path in files})
    assert said == "hit"
    first, second = dumped
    assert second.pop("partition_0/graph.opt.txt").startswith(b"# the plan came from the cache")
    assert b"conv2d" in first.pop("partition_0/graph.opt.txt")
    for files in dumped:
        files.pop("partition_0/binaries.quadra", None)  # a driver may write the time into them
    assert {"partition_0/graph.txt", "partition_0/plan.quadra"} < first.keys()
    assert second == first


def test_kept_tensors_need_a_plan_of_their_own(library, tmp_path):
    _, said = start(library, tmp_path / "kept", dump_dir=str(tmp_path / "dump"), dump_tensors="1")
    assert said == "off"
    assert not kept(tmp_path / "kept")


@pytest.mark.parametrize("processes", [6, pytest.param(64, marks=pytest.mark.slow)])
def test_processes_share_a_folder(library, tmp_path, processes):
    expected = cpu.run(model(), [FEED])
    with ThreadPoolExecutor(min(processes, 4 * (os.cpu_count() or 1))) as pool:
        outcomes = list(pool.map(lambda _: start(library, tmp_path, backend="opencl"), range(processes)))
    for outcome, said in outcomes:
        assert said in ("hit", "miss: none is kept; saved")
        outcome.check(expected)
    assert len(kept(tmp_path)) == 1


# --- how a plan is written

_WRITTEN_LATER = """
import json, pathlib, sys
from tests.delegate_worker import invoke, open_model, report
from tests.test_cache import FEED, LARGE_FEED, in_pieces, kept, large
library, folder, let_go, backend, with_weights = sys.argv[1:]
options = {"backend": backend, "serialization_dir": folder, "small_partitions_allowed": "1"}
model, feed = (large(1, layers=2), LARGE_FEED) if with_weights else (in_pieces(), FEED)
interpreter, delegate = open_model(library, model, options)
outputs = [invoke(interpreter, [feed])[0].tobytes() for _ in range(3)]
assert len(set(outputs)) == 1
before = len(kept(pathlib.Path(folder)))
pathlib.Path(let_go).touch()
said = [partition["cache"] for partition in report(library, delegate)["partitions"]]
print(json.dumps([before, said, len(kept(pathlib.Path(folder)))]))
"""


@pytest.mark.parametrize("with_weights", ["", "large weights"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_no_inference_waits_for_the_file(library, tmp_path, backend, with_weights):
    """The disk takes it only after three inferences; the report waits."""
    folder, let_go = tmp_path / "kept", tmp_path / "let_go"
    preload = faults.compile_preload("hold_fsync.c", tmp_path / "libhold_fsync.so")
    env = environment(library)
    env |= {"LD_PRELOAD": f"{env.get('LD_PRELOAD', '')} {preload}", "QUADRA_LET_GO": str(let_go)}
    argv = [sys.executable, "-c", _WRITTEN_LATER, library, folder, let_go, backend, with_weights]
    done = child_process.run(argv, cwd=settings.ROOT, env=env, timeout_s=60)
    before, said, after = json.loads(done.stdout.splitlines()[-1])
    assert (before, said, after) == (0, ["miss: none is kept; saved"] * 2, 2)


_ON_A_FULL_DISK = """
import json, pathlib, resource, sys
import numpy as np
from tests import cpu
from tests.delegate_worker import invoke, open_model, report
from tests.test_cache import LARGE_FEED, large
library, folder, backend, most = sys.argv[1:]
options = {"backend": backend, "serialization_dir": folder, "small_partitions_allowed": "1"}
model = large(1, layers=2)
(want,) = cpu.run(model, [LARGE_FEED])
resource.setrlimit(resource.RLIMIT_FSIZE, (int(most) if int(most) else resource.RLIM_INFINITY, resource.RLIM_INFINITY))
interpreter, delegate = open_model(library, model, options)
during = sorted(path.name.rpartition(".")[2] for path in pathlib.Path(folder).iterdir() if path.stat().st_size > 1 << 16)
for _ in range(2):
    (got,) = invoke(interpreter, [LARGE_FEED])
    assert np.abs(got - want).max() <= 1e-5 * np.ptp(want), np.abs(got - want).max()
told = report(library, delegate)
assert [node["on"] for node in told["nodes"]].count("gpu") == 2
left = sorted(path.name.rpartition(".")[2] for path in pathlib.Path(folder).iterdir())
print(json.dumps([during, [partition["cache"] for partition in told["partitions"]], left]))
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_weights_that_a_full_disk_refuses_hurt_no_inference(library, tmp_path, backend):
    """They are written before the host's copy goes, where the device has its own; nothing is left of a part of them."""
    said = {}
    for most in (1 << 20, 0, 0):
        argv = [sys.executable, "-c", _ON_A_FULL_DISK, library, tmp_path / "kept", backend, str(most)]
        done = child_process.run(argv, cwd=settings.ROOT, env=environment(library), timeout_s=60)
        during, *said = json.loads(done.stdout.splitlines()[-1])
        if most:
            assert (
                not during
                and [one.partition(" (")[0] for one in said[0]]
                == ["miss: none is kept; not saved: write it: File too large"] * 2
            )
            assert set(said[1]) <= {"verdicts", "hashes"}
    assert said[0] == ["hit"] * 2 and "unfinished" not in said[1]


# --- the limit of the folder's size


def large(seed: int, layers: int) -> bytes:
    """Each layer is a partition with 2.25 MiB of weights."""
    m, random = Model(), np.random.default_rng(seed)
    y = m.input((1, 768))
    for layer in range(layers):
        weights = random.normal(size=(768, 768)).astype(np.float32)
        y = m.fully_connected(m.left_to_cpu(y) if layer else y, weights, np.zeros(768, np.float32))
    m.output(y)
    return m.bytes()


LARGE_FEED = np.full((1, 768), 0.1, np.float32)


def said_of_partitions(library: Path, folder: Path, raw: bytes, limit: int, backend: str) -> list[str]:
    outcome, _ = start(library, folder, raw, LARGE_FEED, backend=backend, cache_limit_mib=str(limit))
    outcome.check(cpu.run(raw, [LARGE_FEED]), everything_on_gpu=False)
    return [partition["cache"] for partition in outcome.report["partitions"]]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_models_plans_that_exceed_the_limit_together_stay(library, tmp_path, backend):
    def run(raw: bytes, limit: int) -> list[str]:
        return said_of_partitions(library, tmp_path, raw, limit, backend)

    own, other = large(1, layers=2), large(2, layers=1)
    first = run(own, 3)
    assert all(said.startswith("miss: none is kept; saved") for said in first)
    last = max(first, key=len)  # they are written side by side
    assert "; saved; files in use: 4." in last and last.endswith(" MiB, the limit is 3 MiB")
    assert run(own, 3) == ["hit", "hit"]
    assert run(other, 0) == ["miss: none is kept; saved"] and run(own, 0) == ["hit", "hit"], "no limit"
    for path in tmp_path.iterdir():
        os.utime(path, (0, 0))
    (tmp_path / "_0.verdicts").write_bytes(bytes(8))  # another one's, and used since
    (third,) = run(large(3, layers=1), 3)
    assert third.startswith("miss: none is kept; saved; removed files: ") and third.endswith("the limit is 3 MiB"), (
        third
    )
    assert len(kept(tmp_path)) == 1 and (tmp_path / "_0.verdicts").exists()
    assert run(own, 3)[0].startswith("miss: none is kept")


# --- files of weights


def same_weights(seed: int, layers: int) -> bytes:
    """Each layer is a partition with the same 2.25 MiB of weights."""
    m = Model()
    weights = np.random.default_rng(seed).normal(size=(768, 768)).astype(np.float32)
    y = m.input((1, 768))
    for layer in range(layers):
        activation = ("NONE", "RELU", "RELU6")[layer]
        y = m.fully_connected(m.left_to_cpu(y) if layer else y, weights, np.zeros(768, np.float32), activation)
    m.output(y)
    return m.bytes()


def weights_of(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.weights"))


@pytest.mark.parametrize("backend", BACKENDS)
def test_equal_weights_are_in_the_folder_once(library, tmp_path, backend):
    raw = same_weights(1, layers=3)
    assert said_of_partitions(library, tmp_path, raw, 0, backend) == ["miss: none is kept; saved"] * 3
    (weights,) = weights_of(tmp_path)
    assert 0 <= weights.stat().st_size - 768 * 768 * 4 < 4096 and len(kept(tmp_path)) == 3
    for path in kept(tmp_path):
        assert path.stat().st_size < 768 * 768
        assert cache_file.read(path).verify() == ""
    assert said_of_partitions(library, tmp_path, raw, 0, backend) == ["hit"] * 3


@pytest.mark.parametrize("backend", BACKENDS)
def test_damaged_weights_are_a_miss_and_made_anew(library, tmp_path, backend):
    raw, elsewhere = same_weights(1, layers=2), tmp_path / "elsewhere"
    folder = tmp_path / "kept"
    said_of_partitions(library, folder, raw, 0, backend)
    (path,) = weights_of(folder)
    whole = path.read_bytes()

    def replaced(data: bytes) -> None:
        path.unlink(missing_ok=True)
        path.write_bytes(data)

    def linked() -> None:
        path.rename(elsewhere)
        path.symlink_to(elsewhere)

    for damage in (
        lambda: replaced(whole[:100000] + bytes([whole[100000] ^ 16]) + whole[100001:]),
        lambda: replaced(whole[:-1]),
        lambda: replaced(whole + b"x"),
        path.unlink,
        linked,
    ):
        damage()
        said = said_of_partitions(library, folder, raw, 0, backend)
        assert all(one.startswith("miss: a file of its weights: ") and one.endswith("; saved") for one in said), said
        assert path.read_bytes() == whole and not path.is_symlink()
    assert elsewhere.read_bytes() == whole
    assert said_of_partitions(library, folder, raw, 0, backend) == ["hit", "hit"]


def test_weights_go_with_the_last_plan_that_has_them(library, tmp_path):
    """Those of the model that was not used for longest, and no others."""
    first, second, third = (same_weights(seed, layers=2) for seed in (1, 2, 3))
    for raw in (first, second):
        said_of_partitions(library, tmp_path, raw, 0, "opencl")
        for path in tmp_path.iterdir():
            used = path.stat().st_mtime - 100
            os.utime(path, (used, used))
    of_one = sum(path.stat().st_size for path in tmp_path.iterdir()) / 2
    limit = round(2.2 * of_one / (1 << 20))
    said = said_of_partitions(library, tmp_path, third, limit, "opencl")
    assert any("; removed files: " in one for one in said), said
    assert len(weights_of(tmp_path)) == 2
    assert said_of_partitions(library, tmp_path, second, limit, "opencl") == ["hit", "hit"]
    assert said_of_partitions(library, tmp_path, first, 0, "opencl")[0].startswith("miss: none is kept")


# --- verdicts


def judged(outcome) -> list[bool]:
    """By partition: whether its nodes were judged and imported in this start."""
    return [partition["timings_us"]["import"] > 0 for partition in outcome.report["partitions"]]


def in_pieces() -> bytes:
    """Two partitions, and a node between them that the CPU keeps."""
    m = Model()
    x = m.input((1, 6, 7, 4))
    m.output(m.unary("TANH", m.left_to_cpu(m.unary("TANH", x))))
    return m.bytes()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("make", [model, in_pieces])
def test_a_second_start_judges_nothing(library, tmp_path, make, backend):
    first, _ = start(library, tmp_path, make(), backend=backend)
    assert judged(first) == [True] * len(first.report["partitions"])
    assert [path.suffix for path in sorted(tmp_path.iterdir())].count(".verdicts") == 1
    second, _ = start(library, tmp_path, make(), backend=backend)
    assert not any(judged(second)) and second.nodes == first.nodes
    assert [a.tobytes() for a in first.outputs[0]] == [a.tobytes() for a in second.outputs[0]]


def of_composites(factor: float = 0.5, epsilon: float = 1e-6, then: str = "TANH") -> bytes:
    """One is computed by its name, the other is in a third, and multiplies by `factor`."""
    m, outer, inner = Model(), Model(), Model()
    x = m.input(SHAPE)
    normed = composite(m, [x, np.ones(SHAPE[-1:], np.float32)], SHAPE, 1, epsilon=epsilon)
    m.output(composite(m, [normed], SHAPE, 2, "outer"))
    outer.output(outer.unary(then, composite(outer, [outer.input(SHAPE)], SHAPE, 3, "inner")))
    inner.output(inner.mul(inner.input(SHAPE), np.full(SHAPE[-1:], factor, np.float32)))
    return m.bytes(rms_norm(), outer, inner)


def expected_of_composites(x: np.ndarray, factor: float = 0.5, epsilon: float = 1e-6, then: str = "TANH") -> np.ndarray:
    normed = x / np.sqrt(np.mean(x.astype(np.float64) ** 2, -1, keepdims=True) + epsilon)
    return {"TANH": np.tanh, "RELU": lambda y: np.maximum(y, 0)}[then](normed * factor)


@pytest.mark.parametrize("backend", BACKENDS)
def test_verdicts_of_composites_are_kept_with_what_these_stand_for(library, tmp_path, backend):
    """A decomposition's constants and nodes, and a composite's attributes, are a part of the model."""
    x = np.random.default_rng(5).normal(size=SHAPE).astype(np.float32)
    others = {}, {"factor": 0.25}, {"epsilon": 3.0}, {"then": "RELU"}
    for again in (False, True):
        for other in others:
            outcome, said = start(library, tmp_path, of_composites(**other), x, backend=backend)
            assert judged(outcome) == [not again] and said == ("hit" if again else "miss: none is kept; saved")
            assert not outcome.on_cpu(), outcome.on_cpu()
            ((got,),) = outcome.outputs
            assert np.abs(got - expected_of_composites(x, **other)).max() <= 1e-5
    assert len(list(tmp_path.glob("*.verdicts"))) == len(others)


def test_a_start_from_the_cache_can_be_resized(library, tmp_path, quadra):
    """The graph, which such a start did without, is imported when a size asks for another plan."""
    given = options(serialization_dir=str(tmp_path))
    wide = np.concatenate([FEED, FEED], axis=2)
    for raw in (model(), in_pieces()):
        quadra.run(raw, [FEED], **given)
        outcome = quadra.run(raw, [FEED], [wide], [FEED], **given)
        for got, feed in zip(outcome.outputs, (FEED, wide, FEED), strict=True):
            replace(outcome, outputs=[got]).check(cpu.run(raw, [feed]), everything_on_gpu=False)
        assert not any(judged(outcome)), "what was recalled was judged"


def test_a_start_from_the_cache_with_composites_can_be_resized(library, tmp_path, quadra):
    given = options(serialization_dir=str(tmp_path))
    x = np.random.default_rng(5).normal(size=SHAPE).astype(np.float32)
    wide = np.concatenate([x, x], axis=2)
    quadra.run(of_composites(), [x], **given)
    outcome = quadra.run(of_composites(), [x], [wide], [x], **given)
    assert not outcome.error, outcome.error
    for (got,), feed in zip(outcome.outputs, (x, wide, x), strict=True):
        assert np.abs(got - expected_of_composites(feed)).max() <= 1e-5
    assert not any(judged(outcome)), "what was recalled was judged"


def test_parameters_and_options_are_a_part_of_what_was_judged(library, tmp_path, quadra):
    def upscaled(corners: bool) -> bytes:
        m = Model()
        m.output(m.resize_bilinear(m.input((1, 6, 7, 4)), (12, 14), align_corners=corners))
        return m.bytes()

    given = options(serialization_dir=str(tmp_path))
    for _ in range(2):
        for corners in (False, True):
            outcome = quadra.run(upscaled(corners), [FEED], **given)
            outcome.check(cpu.run(upscaled(corners), [FEED]))
    assert not any(judged(outcome))
    refused = quadra.run(upscaled(True), [FEED], **given, first_delegate_node_index="1")
    assert refused.on_cpu() == ["0 RESIZE_BILINEAR: only the nodes 1 to 2147483647 may run on the GPU"]


def test_damaged_verdicts_cost_a_judgement_and_nothing_else(library, tmp_path, quadra):
    given = options(serialization_dir=str(tmp_path))
    first = quadra.run(model(), [FEED], **given)
    (path,) = tmp_path.glob("*.verdicts")
    whole = path.read_bytes()
    assert cache_file.read(path).verify() == "" and cache_file.read(path).holds_verdicts
    parts = Parts.parse(whole)
    # Files of an earlier format had numbers and texts: of one node on the GPU, and its partition.
    numbers = np.int32([1, 1, 1, 0, 1, 0, 1, 1, 0, 0, *[1, 1, 1, 6, 7, 4, 4] * 2]).tobytes()
    old = replace(parts, plan=numbers, binaries=b"\0aa\0\0").pack()
    other = replace(parts, plan=Parts.parse(cache_files.verdicts()).plan).pack()
    for damaged_file in (b"", whole[:-1], b"x" + whole, replace(parts, plan=parts.plan[:-8]).pack(), old, other):
        path.write_bytes(damaged_file)
        outcome = quadra.run(model(), [FEED], **given)
        assert judged(outcome) == [True] and outcome.report["partitions"][0]["cache"] == "hit"
        assert outcome.nodes == first.nodes and path.read_bytes() == whole
    assert judged(quadra.run(model(), [FEED], **given)) == [False]
    (plan,) = kept(tmp_path)
    plan.unlink()
    outcome = quadra.run(model(), [FEED], **given)
    assert outcome.report["partitions"][0]["cache"] == "miss: none is kept; saved", "verdicts without their plan"
