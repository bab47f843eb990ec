"""A start from the cache does not read weights whose files are as they were when somebody hashed them; and is right
whatever became of the files, or of the index of hashes."""

from __future__ import annotations

import json
import os
import struct
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from host_tools.base import child_process, settings
from host_tools.record import cache_file
from host_tools.record.content_hash import content_hash
from tests.delegate import environment
from tests.model_builder import Model
from tests.runs import BACKENDS

on_both = pytest.mark.parametrize("backend", BACKENDS)

SIDE, LAYERS = 384, 3
WEIGHTS = SIDE * SIDE * 4 * LAYERS
SETTLED_S = 2.1  # older than the longest tick of a file system
# device, inode, size, times of content and of inode in ns; offset, size; sample; hash
RECORD = struct.Struct("<QQQqqQQQQQ")

_RUN = """
import json, sys
from pathlib import Path
import numpy as np
from ai_edge_litert.interpreter import Interpreter, load_delegate
from tests.delegate_worker import report
path, library, backend, cache, is_buffer = sys.argv[1:]
delegate = load_delegate(library, {"backend": backend, "serialization_dir": cache, "small_partitions_allowed": "1"})
given = {"model_content": Path(path).read_bytes()} if is_buffer else {"model_path": path}
interpreter = Interpreter(**given, experimental_delegates=[delegate])
interpreter.allocate_tensors()
interpreter.set_tensor(interpreter.get_input_details()[0]["index"], np.load(path + ".x.npy"))
interpreter.invoke()
got = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
told = report(library, delegate)
assert all(node["on"] == "gpu" for node in told["nodes"])
(partition,) = told["partitions"]
print(json.dumps([told["hashed_bytes"], partition["cache"], got.ravel().tolist()]))
"""


def layers_of(seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [(rng.uniform(-1, 1, (SIDE, SIDE)) / np.sqrt(SIDE)).astype(np.float32) for _ in range(LAYERS)]


def write_model(path: Path, seed: int = 0) -> None:
    m = Model()
    y = m.input((1, SIDE))
    for weights in layers_of(seed):
        y = m.fully_connected(y, weights, np.zeros(SIDE, np.float32))
    m.output(y)
    path.write_bytes(m.bytes())
    np.save(f"{path}.x", np.random.default_rng(1).uniform(-1, 1, (1, SIDE)).astype(np.float32))


def start(library: Path, path: Path, folder: Path, backend: str, layers=None, is_buffer: str = "") -> tuple[int, str]:
    """Bytes that were hashed, and what the partition says of the cache. The numbers are right."""
    words = [sys.executable, "-c", _RUN, str(path), str(library), backend, str(folder), is_buffer]
    done = child_process.run(words, cwd=settings.ROOT, env=environment(library), timeout_s=200)
    hashed, said, got = json.loads(done.stdout.splitlines()[-1])
    want = np.load(f"{path}.x.npy").astype(np.float64)
    for weights in layers_of(0) if layers is None else layers:
        want = want @ weights.T
    assert np.abs(np.array(got) - want.ravel()).max() <= 1e-5 * np.ptp(want)
    return hashed, said


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "model.tflite"
    write_model(path)
    time.sleep(SETTLED_S)
    return path


def index_of(folder: Path) -> Path:
    (index,) = folder.glob("*.hashes")
    return index


def records(index: Path) -> list[tuple[int, ...]]:
    return list(RECORD.iter_unpack(cache_file.Parts.parse(index.read_bytes()).plan))


def rewrite(index: Path, changed: list[tuple[int, ...]]) -> None:
    parts = cache_file.Parts.parse(index.read_bytes())
    index.write_bytes(replace(parts, plan=b"".join(RECORD.pack(*one) for one in changed)).pack())


def after_two_starts(library: Path, path: Path, folder: Path, backend: str) -> int:
    """The folder has the model's hashes and those of its own files; the size of these."""
    hashed, said = start(library, path, folder, backend)
    assert said == "miss: none is kept; saved" and hashed == WEIGHTS
    time.sleep(SETTLED_S)
    of_weights = sum(one.stat().st_size for one in folder.glob("*.weights"))
    assert of_weights >= WEIGHTS
    assert start(library, path, folder, backend) == (of_weights, "hit")
    return of_weights


@on_both
def test_a_hit_after_a_hit_reads_no_weights(library, path, tmp_path, backend):
    folder = tmp_path / "kept"
    after_two_starts(library, path, folder, backend)
    assert start(library, path, folder, backend) == (0, "hit")
    assert cache_file.Parts.parse(index_of(folder).read_bytes()).pack() == index_of(folder).read_bytes()


def test_a_model_in_memory_is_hashed_each_time(library, path, tmp_path):
    folder = tmp_path / "kept"
    after_two_starts(library, path, folder, "opencl")
    assert start(library, path, folder, "opencl", is_buffer="buffer") == (WEIGHTS, "hit")


def change(path: Path, at: int, keeps_time: bool) -> None:
    facts = path.stat()
    with path.open("r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 1]))
    if keeps_time:
        os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))


@on_both
@pytest.mark.parametrize("keeps_time", [False, True])
def test_one_byte_of_the_model_s_file_is_noticed(library, path, tmp_path, backend, keeps_time):
    folder = tmp_path / "kept"
    of_weights = after_two_starts(library, path, folder, backend)
    layers = layers_of(0)
    at = path.read_bytes().index(layers[1].tobytes())
    change(path, at + 3, keeps_time)  # of the first number: its sign's and exponent's byte
    layers[1].view(np.uint8).reshape(-1)[3] ^= 1
    hashed, said = start(library, path, folder, backend, layers)
    assert said == "miss: none is kept; saved" and hashed >= WEIGHTS
    time.sleep(SETTLED_S)
    change(path, at + 3, keeps_time)  # as it was before: the first plan again
    hashed, said = start(library, path, folder, backend)
    assert said == "hit" and WEIGHTS <= hashed <= WEIGHTS + of_weights


@on_both
def test_one_byte_of_a_file_of_weights_is_noticed(library, path, tmp_path, backend):
    folder = tmp_path / "kept"
    after_two_starts(library, path, folder, backend)
    weights = max(folder.glob("*.weights"))
    change(weights, 4099, keeps_time=True)
    assert start(library, path, folder, backend)[1] == "miss: a file of its weights: it is damaged; saved"
    time.sleep(SETTLED_S)
    start(library, path, folder, backend)
    assert start(library, path, folder, backend) == (0, "hit")


def test_a_file_that_may_still_change_without_a_trace_is_hashed_each_time(library, tmp_path):
    path, folder = tmp_path / "model.tflite", tmp_path / "kept"
    write_model(path)
    later = time.time() + 1000
    os.utime(path, (later, later))
    for _ in range(3):
        assert start(library, path, folder, "opencl")[0] >= WEIGHTS
        time.sleep(SETTLED_S / 2)


def test_a_replaced_file_is_another_one(library, path, tmp_path):
    folder, other = tmp_path / "kept", tmp_path / "other"
    after_two_starts(library, path, folder, "opencl")
    write_model(other, seed=5)
    time.sleep(SETTLED_S)
    other.rename(path)
    time.sleep(SETTLED_S)  # the new name is a change, too
    assert start(library, path, folder, "opencl", layers_of(5)) == (WEIGHTS, "miss: none is kept; saved")


def test_damage_to_the_index_costs_a_look_at_the_files(library, path, tmp_path):
    folder = tmp_path / "kept"
    of_weights = after_two_starts(library, path, folder, "opencl")
    index, elsewhere = index_of(folder), tmp_path / "elsewhere"
    whole = index.read_bytes()
    parts = cache_file.Parts.parse(whole)

    def linked() -> None:
        elsewhere.write_bytes(whole)
        index.unlink()
        index.symlink_to(elsewhere)

    for damage in (
        index.unlink,
        linked,
        lambda: index.write_bytes(b""),
        lambda: index.write_bytes(whole[:100]),
        lambda: index.write_bytes(whole[:-1]),
        lambda: index.write_bytes(os.urandom(len(whole))),
        lambda: index.write_bytes(whole[:-7] + bytes([whole[-7] ^ 4]) + whole[-6:]),
        lambda: index.write_bytes(replace(parts, key=parts.key + b"x").pack()),
        lambda: index.write_bytes(replace(parts, plan=parts.plan[:-8]).pack()),
        lambda: index.write_bytes(replace(parts, plan=os.urandom(RECORD.size * 4096)).pack()),
        lambda: index.write_bytes(replace(parts, plan=os.urandom(RECORD.size * 10000)).pack()),
    ):
        damage()
        assert start(library, path, folder, "opencl") == (WEIGHTS + of_weights, "hit")
        assert not index.is_symlink() and len(records(index)) <= 4096
        assert start(library, path, folder, "opencl") == (0, "hit")


def test_an_index_is_believed_where_the_file_and_a_sample_are_the_same(library, path, tmp_path):
    """So the tests above would see a file that is taken for another: here one is, by a made-up index."""
    folder = tmp_path / "kept"
    of_weights = after_two_starts(library, path, folder, "opencl")
    index, inode = index_of(folder), path.stat().st_ino
    found = records(index)
    assert len([one for one in found if one[1] == inode]) == LAYERS
    assert {one[5] for one in found if one[1] != inode} == {0}
    (first, *_) = [one for one in found if one[1] == inode]
    assert path.read_bytes().index(layers_of(0)[0].tobytes()) in {one[5] for one in found}
    sample = path.read_bytes()[first[5] + first[6] // 2 :][:256]
    assert first[7] == content_hash(sample)[0]
    # Other hashes of the model's weights: another model, whose plan nobody has.
    lying = [(*one[:8], one[8] ^ 1, one[9]) if one[1] == inode else one for one in found]
    rewrite(index, lying)
    assert start(library, path, folder, "opencl")[1].startswith("miss: none is kept")
    # The same with samples that do not fit.
    rewrite(index, [(*one[:7], one[7] ^ 1, *one[8:]) if one[1] == inode else one for one in lying])
    hashed, said = start(library, path, folder, "opencl")
    assert said == "hit" and WEIGHTS <= hashed <= WEIGHTS + of_weights


def test_processes_write_the_index_at_once(library, tmp_path):
    folder, paths = tmp_path / "kept", [tmp_path / f"{seed}.tflite" for seed in range(4)]
    for seed, one in enumerate(paths):
        write_model(one, seed)
    time.sleep(SETTLED_S)

    def run(seed: int) -> tuple[int, str]:
        return start(library, paths[seed], folder, "opencl", layers_of(seed))

    with ThreadPoolExecutor(4) as pool:
        assert all(said == "miss: none is kept; saved" for _, said in pool.map(run, range(4)))
        time.sleep(SETTLED_S)
        for _ in range(2):
            assert all(said == "hit" for _, said in pool.map(run, range(4)))
    for seed in range(4):  # what one overwrote of another's is found again
        run(seed)
    assert [run(seed) for seed in range(4)] == [(0, "hit")] * 4
    assert not list(folder.glob("*.unfinished"))
