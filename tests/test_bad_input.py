"""Bad input is a clear error or a verdict with a reason, never a crash."""

from __future__ import annotations

import random
import subprocess
import sys

import numpy as np
import pytest
import tflite

from host_tools.base import child_process, settings
from host_tools.dev import sanitize
from tests import cpu
from tests.bad_models import BAD_MODELS, make
from tests.delegate import TOLERANCE, Quadra, WorkerDied, environment, options
from tests.model_builder import Model
from tests.runs import BACKENDS
from tests.vectors import all_cases
from tests.vectors.case import constant

IMAGE = (1, 4, 5, 6)
on_both = pytest.mark.parametrize("backend", BACKENDS)
W, B = constant("bad_input/w", (8, 3, 3, 6)), constant("bad_input/b", (8,))


def small_model(shape=IMAGE, **fields) -> bytes:
    model = Model()
    model.output(model.conv2d(model.input(shape, **fields), W, B, stride=(2, 2), activation="RELU"))
    return model.bytes()


def feed(shape=IMAGE, seed: str = "bad_input") -> np.ndarray:
    return constant(seed, shape)


@pytest.mark.parametrize(
    "damage",
    [
        lambda raw: b"",
        lambda raw: b"TFL3",
        lambda raw: raw[:100],
        lambda raw: b"\xff" * 400,
        lambda raw: raw[:4] + b"ABCD" + raw[8:],
    ],
    ids=["empty", "magic_only", "truncated", "garbage", "other_magic"],
)
def test_damaged_file_is_refused(quadra, damage):
    assert "ValueError" in quadra.run(damage(small_model()), **options()).error


_OPEN = """
import sys
from ai_edge_litert.interpreter import Interpreter
try:
    Interpreter(model_content=sys.stdin.buffer.read())
except Exception:
    pass
"""


def test_damaged_bytes_crash_no_more_than_the_interpreter_alone(quadra):
    """A few bytes of a file changed: what the interpreter survives without the delegate, it survives with it."""
    generator, cases = random.Random(1), all_cases()
    for _ in range(100):
        raw = bytearray(generator.choice(cases).model())
        for _ in range(generator.choice([1, 1, 2, 4])):
            place = generator.randrange(8, len(raw))
            raw[place] = generator.choice([0, 1, 0x7F, 0xFF, raw[place] ^ 1 << generator.randrange(8)])
        try:
            quadra.run(bytes(raw), **options("generic", backend="null"))
        except WorkerDied as died:
            alone = subprocess.run([sys.executable, "-c", _OPEN], input=bytes(raw), capture_output=True, timeout=60)
            assert alone.returncode < 0, died


@pytest.mark.parametrize("name", BAD_MODELS)
def test_senseless_node_is_left_to_cpu(quadra, name):
    outcome = quadra.run(make(name), **options(backend="null", target="generic"))
    if not outcome.nodes:  # the interpreter itself refuses the model, some of them only when it allocates
        with pytest.raises((RuntimeError, ValueError)):
            cpu.reference_interpreter(make(name)).allocate_tensors()  # XNNPACK crashes of some
        return
    bad = outcome.nodes[0] if name.startswith("densify") else outcome.nodes[-1]
    assert bad["on"] == "cpu" and bad["reason"], bad


@on_both
@pytest.mark.parametrize(("op", "dtype"), [("MUL", "uint32")])
def test_unsupported_type_is_left_to_cpu(quadra, op, dtype, backend):
    model = Model()
    x = model.input((2, 3), dtype)
    model.output(model.op(op, [x, x], (2, 3), f"{op.title()}Options", output={"dtype": dtype}))
    raw, feeds = model.bytes(), [np.arange(6, dtype=dtype).reshape(2, 3)]
    outcome = quadra.run(raw, feeds, **options(backend=backend))
    outcome.check(cpu.run(raw, feeds), everything_on_gpu=False)
    assert outcome.nodes[0]["on"] == "cpu" and dtype in outcome.nodes[0]["reason"].lower(), outcome.nodes


def _hash_table(m: Model, x):
    kinds = {"KeyDtype": tflite.TensorType.INT64, "ValueDtype": tflite.TensorType.STRING}
    table = m.op("HASHTABLE", [], (1,), "HashtableOptions", output={"dtype": "resource"}, TableId=1, **kinds)
    size = m.op("HASHTABLE_SIZE", [table], (1,), "HashtableSizeOptions", output={"dtype": "int64"})
    return m.add(x, m.op("CAST", [size], (1,), "CastOptions"))


def _where(m: Model, x):
    chosen = m.elementwise("GREATER", x, np.float32(0), to_bool=True)
    return m.op("CAST", [m.op("WHERE", [chosen], (3, 2), output={"dtype": "int64"})], (3, 2), "CastOptions")


def _complex(m: Model, x):
    whole = m.op("CAST", [x], x.shape, "CastOptions", output={"dtype": "complex64"})
    return m.op("CAST", [whole], x.shape, "CastOptions")


_KEPT = "uses what the interpreter keeps, for other subgraphs, too"


@on_both
@pytest.mark.parametrize(
    ("build", "reasons"),
    [
        (_hash_table, dict.fromkeys(("HASHTABLE", "HASHTABLE_SIZE"), _KEPT)),
        (_where, {"WHERE": "how many results WHERE has depends on numbers"}),
        (_complex, {"CAST": "complex64"}),
    ],
)
def test_what_no_gpu_can_keep_stays_on_the_cpu_and_the_rest_does_not(quadra, build, reasons, backend):
    m = Model()
    m.output(build(m, m.unary("TANH", m.input((2, 3)))))
    given = [np.float32([[-1, 2, -3], [4, -5, 6]])]
    outcome = quadra.run(m.bytes(), given, **options(backend=backend))
    outcome.check(cpu.run(m.bytes(), given), everything_on_gpu=False)
    told = {node["op"]: node["reason"] for node in outcome.nodes if node["on"] == "cpu"}
    assert all(part in told[op] for op, part in reasons.items()), told
    assert outcome.nodes[0]["on"] == "gpu"


@on_both
def test_texts_stay_on_the_cpu(quadra, backend):
    m = Model()
    x = m.input((3,), "string")
    m.output(m.op("GATHER", [x, np.int32([1, 0])], (2,), "GatherOptions", output={"dtype": "string"}))
    outcome = quadra.run(m.bytes(), [np.array([b"a", b"b", b"c"])], **options(backend=backend))
    assert "is string" in outcome.nodes[0]["reason"].lower(), outcome.nodes
    assert list(outcome.outputs[0][0]) == [b"b", b"a"]


@on_both
def test_zero_size_tensor_is_left_to_cpu(quadra, backend):
    model = Model()
    model.output(model.unary("RELU", model.input((1, 0, 4, 4))))
    outcome = quadra.run(model.bytes(), [np.zeros((1, 0, 4, 4), np.float32)], **options(backend=backend))
    assert outcome.nodes[0]["on"] == "cpu" and outcome.nodes[0]["reason"]
    assert outcome.error or outcome.outputs[0][0].shape == (1, 0, 4, 4)


@on_both
@pytest.mark.parametrize("op", ["RESHAPE", "PAD", "STRIDED_SLICE", "RESIZE_BILINEAR", "MEAN"])
def test_shape_known_only_at_run_time_is_left_to_cpu(quadra, op, backend):
    """The parameter is a runtime tensor; a node before and one after it still run right."""
    model = Model()
    x = model.input(IMAGE)
    y = model.unary("RELU", x)
    values = {
        "RESHAPE": ([np.int32([1, 4, 6, 5])], (1, 4, 6, 5), "ReshapeOptions"),
        "PAD": ([np.zeros((4, 2), np.int32)], IMAGE, "PadOptions"),
        "STRIDED_SLICE": ([np.int32([0] * 4), np.int32(IMAGE), np.int32([1] * 4)], IMAGE, "StridedSliceOptions"),
        "RESIZE_BILINEAR": ([np.int32([4, 5])], IMAGE, "ResizeBilinearOptions"),
        "MEAN": ([np.int32([1])], (1, 5, 6), "ReducerOptions"),
    }
    operands, shape, kind = values[op]
    runtime = [model.input(a.shape, "int32") for a in operands]
    model.output(model.unary("TANH", model.op(op, [y, *runtime], shape, kind)))
    raw, feeds = model.bytes(), [feed(), *operands]
    outcome = quadra.run(raw, feeds, **options(backend=backend))
    node = outcome.nodes[1]
    assert node["on"] == "cpu" and node["reason"], node
    outcome.check(cpu.run(raw, feeds), everything_on_gpu=False)


@on_both
def test_rank_known_only_at_run_time(quadra, backend):
    """The axes that come in name one axis twice, so the sum has another rank than the file says."""
    model = Model()
    x, axes = model.input(IMAGE), model.input((2,), "int32")
    model.output(model.unary("RELU", model.op("SUM", [x, axes], (1, 6), "ReducerOptions")))
    feeds = [feed(), np.int32([1, 1])]
    outcome = quadra.run(model.bytes(), feeds, **options(backend=backend))
    outcome.check(cpu.run(model.bytes(), feeds), everything_on_gpu=False)


def test_missing_opencl_library_leaves_model_to_cpu_or_says_so(library):
    worker = Quadra(library)
    outcome = worker.run(small_model(), [feed()], **options(opencl_library="/nowhere/libOpenCL.so"))
    worker.close()
    said = outcome.error + "".join(node["reason"] for node in outcome.nodes if node["on"] == "cpu")
    assert "/nowhere/libOpenCL.so" in said and "opencl_library" in said, outcome
    if not outcome.error:
        outcome.check(cpu.run(small_model(), [feed()]), everything_on_gpu=False)


def test_machine_without_opencl_device(library, tmp_path):
    worker = Quadra(library, OCL_ICD_VENDORS=str(tmp_path))
    for backend in ("opencl", "auto"):
        outcome = worker.run(small_model(), [feed()], backend=backend)
        assert "OpenCL" in outcome.error + "".join((outcome.report or {}).get("backend_notes", [])), outcome
        if not outcome.error:
            outcome.check(cpu.run(small_model(), [feed()]), everything_on_gpu=False)
    worker.close()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("speed", "fast"),
        ("backend", "vulkan"),
        ("precision", "f64"),
        ("precision", ""),
        ("profile", "maybe"),
        ("max_delegated_partitions", "-1"),
        ("max_delegated_partitions", "two"),
        ("max_delegated_partitions", "99999999999999999999"),
        ("debug", "9"),
        ("debug", "1x"),
    ],
)
def test_wrong_option_is_named(quadra, name, value):
    outcome = quadra.run(small_model(), **{"backend": "null", name: value})
    assert outcome.error.startswith("ValueError"), outcome
    assert name in outcome.error and (value in outcome.error or name == "speed"), outcome.error


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", ""),
        ("{", ""),
        ("[]", ""),
        ('{"name": 5}', "name"),
        ('{"name": "x", "colour": "red"}', "colour"),
        ('{"name": "x", "storage": "tape"}', "storage"),
        ('{"name": "x", "vector_width": "wide"}', "vector_width"),
        ('{"name": "x", "vector_width": 3}', "vector_width"),
        ('{"name": "x", "max_work_group": [1]}', "max_work_group"),
        ('{"name": "x", "max_work_group_size": -4}', "max_work_group_size"),
        ('{"name": "x"} y', ""),
        ("[" * 100000, ""),
        (None, ""),
        *[
            (f'{{"name": "x", "{key}": {number}}}', key)
            for key, number in [
                ("buffer_alignment_bytes", 1073741825),
                ("buffer_alignment_bytes", 3),
                ("buffer_alignment_bytes", 131072),
                ("buffer_alignment_bytes", 0),
                ("vector_width", 12),
                ("vector_width", 32),
                ("vector_registers", 10**6),
                ("max_work_group_size", 2**30),
                ("max_work_group", [64, 2**31 - 1, 1]),
                ("local_memory_bytes", 10**12),
                ("max_buffer_bytes", 10**300),
                ("max_buffer_bytes", 0.5),
                ("max_image2d", [2**30, 8]),
                ("flat_group", -1),
                ("max_storage_blocks", 10**9),
                ("max_texture_units", 10**9),
            ]
        ],
    ],
    ids=range(29),
)
def test_bad_target_file_is_named(quadra, tmp_path, text, word):
    path = tmp_path / "bad.json"
    if text is not None:
        path.write_text(text)
    outcome = quadra.run(small_model(), backend="null", target=str(path))
    said = outcome.error or " ".join(outcome.on_cpu())
    assert str(path) in said and word in said, outcome


@on_both
@pytest.mark.parametrize("folder", ["/proc/quadra", "/dev/null/x"])
def test_folder_that_cannot_be_written_is_named(quadra, folder, backend):
    outcome = quadra.run(small_model(), [feed()], **options(backend=backend, dump_dir=folder))
    said = outcome.error or " ".join(outcome.on_cpu())
    assert folder in said, outcome
    if not outcome.error:
        outcome.check(cpu.run(small_model(), [feed()]), everything_on_gpu=False)


def test_null_backend_says_that_it_cannot_invoke(quadra):
    outcome = quadra.run(small_model(), [feed()], **options(backend="null", target="generic"))
    assert not outcome.on_cpu() and outcome.nodes
    assert "null" in outcome.error


def test_null_backend_needs_no_driver(library, tmp_path):
    worker = Quadra(library, OCL_ICD_VENDORS=str(tmp_path))
    assert not worker.run(small_model(), backend="null").on_cpu()
    worker.close()


@on_both
@pytest.mark.parametrize("target", ["", "adreno-640", "mali-g76-buffers"])
@pytest.mark.parametrize("signature", [None, (-1, -1, -1, 6)], ids=["fixed", "dynamic"])
def test_resized_inputs_stay_right(quadra, target, signature, backend):
    """Other sizes and batches after loading, and back again."""
    model = Model()
    x = model.input(IMAGE, signature=signature)
    y = model.conv2d(x, W, B, stride=(2, 2), activation="RELU")
    model.output(model.mean(y, (1, 2)), model.average_pool2d(y, (2, 2)), model.softmax(y))
    raw = model.bytes()
    shapes = [IMAGE, (1, 9, 7, 6), (3, 4, 5, 6), (2, 1, 1, 6), IMAGE]
    rounds = [[feed(shape, f"round {i}")] for i, shape in enumerate(shapes)]
    outcome = quadra.run(raw, *rounds, **options(target, backend))
    assert not outcome.error, outcome.error
    for got, feeds in zip(outcome.outputs, rounds, strict=True):
        resized = Model()
        z = resized.conv2d(resized.input(feeds[0].shape), W, B, stride=(2, 2), activation="RELU")
        resized.output(resized.mean(z, (1, 2)), resized.average_pool2d(z, (2, 2)), resized.softmax(z))
        outcome.outputs = [got]
        outcome.check(cpu.run(resized.bytes(), feeds))


def _moved(name, *operands, kind="", shapes=((1, 1, 1),), **options):
    """A node whose shapes in the file are stale; None stands for its input."""

    def build(model, x):
        return tuple(model.op(name, [x if value is None else value for value in operands], [*shapes], kind, **options))

    return build


# name -> (build, shapes that (2, 4, 3) may become, shapes that it may not)
_RESIZED = {
    "SPLIT": (
        _moved("SPLIT", np.int32(1), None, kind="SplitOptions", shapes=[(2, 2, 3)] * 2, NumSplits=2),
        [(3, 8, 5), (1, 2, 1)],
        [(2, 5, 3)],
    ),
    "SPLIT_V": (
        _moved("SPLIT_V", None, np.int32([1, -1]), np.int32(1), kind="SplitVOptions", shapes=[(1,)] * 2, NumSplits=2),
        [(3, 8, 5), (1, 2, 1)],
        [(2, 1, 3)],
    ),
    "UNPACK": (
        _moved("UNPACK", None, kind="UnpackOptions", shapes=[(2, 3)] * 4, Num=4, Axis=1),
        [(3, 4, 5)],
        [(2, 3, 3), (2, 5, 3)],
    ),
    "PACK": (_moved("PACK", None, None, kind="PackOptions", ValuesCount=2, Axis=1), [(3, 4, 5), (1, 1, 1)], []),
    "TRANSPOSE": (_moved("TRANSPOSE", None, np.int32([2, 0, 1])), [(5, 6, 7), (1, 1, 1)], []),
    "TILE": (_moved("TILE", None, np.int32([2, 1, 3])), [(5, 6, 7), (1, 1, 1)], []),
    "SLICE": (
        _moved("SLICE", None, np.int32([0, 1, 0]), np.int32([2, 3, 2]), shapes=[(2, 3, 2)]),
        [(2, 4, 9), (3, 5, 3)],
        [(1, 4, 3), (2, 3, 3)],
    ),
    "GATHER": (
        _moved("GATHER", None, np.int32([1, 0, 3]), kind="GatherOptions", Axis=1),
        [(3, 5, 7), (1, 4, 1)],
        [(2, 3, 3)],
    ),
    "SUM": (_moved("SUM", None, np.int32([-2]), kind="ReducerOptions"), [(3, 5, 7), (2, 400, 3)], []),
    "REDUCE_MAX": (_moved("REDUCE_MAX", None, np.int32([0, 2]), kind="ReducerOptions"), [(3, 5, 7)], []),
    "CUMSUM": (_moved("CUMSUM", None, np.int32(1), kind="CumsumOptions"), [(3, 5, 7), (2, 400, 3)], []),
    "MIRROR_PAD": (
        _moved("MIRROR_PAD", None, np.int32([[1, 0], [3, 2], [0, 0]]), kind="MirrorPadOptions"),
        [(3, 5, 7), (2, 4, 1)],
        [(2, 3, 3), (1, 4, 3)],
    ),
}


@on_both
@pytest.mark.parametrize("name", _RESIZED)
def test_resized_axes_stay_right_or_are_refused(quadra, name, backend):
    build, good, bad = _RESIZED[name]
    model = Model()
    model.output(*build(model, model.input((2, 4, 3))))
    raw = model.bytes()
    rounds = [[np.round(feed(shape, name) * 8)] for shape in [(2, 4, 3), *good, (2, 4, 3)]]
    outcome = quadra.run(raw, *rounds, **options(backend=backend))
    assert not outcome.error and not outcome.on_cpu(), (outcome.error, outcome.on_cpu())
    for got, feeds in zip(outcome.outputs, rounds, strict=True):
        outcome.outputs = [got]
        outcome.check(cpu.run(raw, feeds))
    for shape in bad:
        outcome = quadra.run(raw, [feed(shape)], **options(backend=backend))
        assert not outcome.outputs and "Quadra: " in outcome.error and "Internal" not in outcome.error, outcome.error


@on_both
@pytest.mark.parametrize("op", ["DIV", "FLOOR_DIV", "FLOOR_MOD"])
def test_division_of_ints_without_a_result_ends_no_process(quadra, op, backend):
    """By zero, and of the least int by -1: what comes out is nowhere defined, but something comes out."""
    model = Model()
    a, b = model.input((4,), "int32"), model.input((4,), "int32")
    kind = "DivOptions" if op == "DIV" else ""
    model.output(model.elementwise(op, a, b, kind=kind), model.elementwise(op, a, np.int32([0, -1, 0, -1]), kind=kind))
    feeds = [np.int32([7, -(2**31), -(2**31), 6]), np.int32([0, -1, 0, 3])]
    outcome = quadra.run(model.bytes(), feeds, **options(backend=backend))
    assert not outcome.error and not outcome.on_cpu(), (outcome.error, outcome.on_cpu())
    assert outcome.outputs[0][0][3] == (0 if op == "FLOOR_MOD" else 2)


@on_both
def test_resize_that_breaks_the_model_is_an_error(quadra, backend):
    """The channels no longer fit the weights: no result may come out of it, and the next model still works."""
    outcome = quadra.run(small_model(), [feed((1, 4, 5, 3))], **options(backend=backend))
    assert outcome.error and not outcome.outputs
    quadra.run(small_model(), [feed()], **options(backend=backend)).check(cpu.run(small_model(), [feed()]))


@on_both
@pytest.mark.parametrize("shape", [(3, 4), (1, 2, 3, 4), (2, 3, 4, 5)])
def test_resize_to_another_rank_is_an_error(quadra, shape, backend):
    """Axes are counted from the ranks in the model: no result in the wrong shape may come out of it."""
    model = Model()
    model.output(model.unary("RELU", model.input((2, 3, 4))))
    outcome = quadra.run(model.bytes(), [feed(shape)], **options(backend=backend))
    assert "rank" in outcome.error and "Internal" not in outcome.error and not outcome.outputs


@on_both
def test_wrong_shapes_in_file_do_not_matter(quadra, backend):
    """Shapes of inner tensors in a file can be stale; what counts is what follows from the inputs."""
    model = Model()
    x = model.input(IMAGE)
    y = model.op("RELU", [x], (1, 1, 1, 1))
    model.output(model.conv2d(model.op("TANH", [y], IMAGE), W, B))
    outcome = quadra.run(model.bytes(), [feed()], **options(backend=backend))
    outcome.check(cpu.run(model.bytes(), [feed()]))


@on_both
def test_few_partitions_when_asked(quadra, backend):
    """max_delegated_partitions keeps the largest; the rest is the CPU's, with the reason."""
    model = Model()
    y = model.conv2d(model.unary("RELU", model.input(IMAGE)), W, B)
    z = model.left_to_cpu(y)
    model.output(model.unary("TANH", z))
    feeds = [feed()]
    outcome = quadra.run(model.bytes(), feeds, **options(backend=backend, max_delegated_partitions="1"))
    outcome.check(cpu.run(model.bytes(), feeds), everything_on_gpu=False)
    assert [node["on"] for node in outcome.nodes] == ["gpu", "gpu", "cpu", "cpu"]
    assert "max_delegated_partitions" in outcome.nodes[3]["reason"]


@on_both
def test_half_arithmetic_is_left_out_where_the_device_has_none(quadra, backend):
    """PoCL does not compute in half: the precision asked for is still right, within half's tolerance."""
    outcome = quadra.run(small_model(), [feed()], **options(backend=backend, precision="f16"))
    outcome.check(cpu.run(small_model(), [feed()]), TOLERANCE["f16"], everything_on_gpu=False)
    assert not outcome.on_cpu() or "half" in outcome.on_cpu()[0] or "f16" in outcome.on_cpu()[0]


_SCRIPT = """
import sys, threading
import numpy as np
from tests.delegate_worker import open_model, invoke, report
from tests.test_bad_input import small_model, feed, cpu
library, backend = sys.argv[1:]
expected = cpu.run(small_model(), [feed()])[0]
def right(interpreter):
    assert np.allclose(invoke(interpreter, [feed()])[0], expected, atol=1e-5)
"""


def script(library, backend: str, body: str, timeout_s: float = 300) -> str:
    done = child_process.run(
        [sys.executable, "-X", "faulthandler", "-c", _SCRIPT + body, library, backend],
        cwd=settings.ROOT,
        env=environment(library),
        timeout_s=timeout_s * sanitize.slower(library),
    )
    return done.stdout


@on_both
def test_resizing_what_has_an_unknown_size_does_not_leak(library, backend):
    """TRANSPOSE by a permutation given at run time: the partition behind it learns its sizes while it runs."""
    grown = script(
        library,
        backend,
        """
from tests.model_builder import Model
model = Model()
x, order = model.input((1, 64, 64, 8)), model.input((4,), "int32")
model.output(model.unary("RELU", model.op("TRANSPOSE", [x, order], x.shape)))
interpreter, delegate = open_model(library, model.bytes(), {"backend": backend})
def pages():
    return int(open("/proc/self/statm").read().split()[1]) * 4
for cycle in range(220):
    invoke(interpreter, [np.ones((1, 64, 64 + cycle % 2, 8), np.float32), np.array([0, 1, 2, 3], np.int32)])
    if cycle == 20:
        start = pages()
print(pages() - start)
""",
    )
    assert int(grown) < 10000 or sanitize.is_sanitized(library), f"{grown} KiB more after 200 resizes of 130 KiB"


def test_opencl_works_after_gles_in_one_process(library):
    """Both drivers may bring the same compiler."""
    script(
        library,
        "gles",
        """
for name in (backend, "opencl", backend):
    right(open_model(library, small_model(), {"backend": name})[0])
""",
    )


@on_both
def test_interpreters_in_threads(library, backend):
    """Made in one thread and used in another; two at the same time."""
    script(
        library,
        backend,
        """
made = [open_model(library, small_model(), {"backend": backend}) for _ in range(2)]
failures = []
def work(interpreter):
    try:
        for _ in range(20): right(interpreter)
    except BaseException as error:
        failures.append(error)
def make_and_work():
    work(open_model(library, small_model(), {"backend": backend})[0])
threads = [threading.Thread(target=work, args=(i,)) for i, _ in made] + [threading.Thread(target=make_and_work)]
[t.start() for t in threads]; [t.join() for t in threads]
assert not failures, failures
""",
    )


@on_both
def test_one_delegate_in_two_interpreters_until_exit(library, backend):
    """At exit the delegate may go before the kernels that it made."""
    script(
        library,
        backend,
        """
from ai_edge_litert.interpreter import Interpreter, load_delegate
delegate = load_delegate(library, {"backend": backend})
made = [Interpreter(model_content=small_model(), experimental_delegates=[delegate]) for _ in range(2)]
for interpreter in made: right(interpreter)
keep = (made, delegate)
""",
    )


def test_report_fits_the_buffer_it_is_given(library):
    script(
        library,
        "null",
        """
import ctypes
interpreter, delegate = open_model(library, small_model(), {"backend": backend})
function = ctypes.CDLL(library).QuadraDelegateReport
function.restype, function.argtypes = ctypes.c_size_t, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
pointer = delegate._get_native_delegate_pointer()
needed = function(pointer, None, 0)
buffer = ctypes.create_string_buffer(b"#" * 64, 64)
assert function(pointer, buffer, 16) == needed
assert buffer.raw[15] == 0 and buffer.raw[16:] == b"#" * 48, buffer.raw
assert report(library, delegate)["schema_version"] == 1
ctypes.CDLL(library).QuadraDelegateDelete(None)
ctypes.PyDLL(library).tflite_plugin_destroy_delegate(None)
""",
    )


_START = """
import time
from tests.model_builder import Model
def cost(nodes):
    model = Model()
    x = model.input((1, 8, 8, 4))
    y = x
    for _ in range(nodes):
        y = model.add(y, x)
    model.output(y)
    raw, taken = model.bytes(), []
    for _ in range(3):
        start = time.process_time()
        interpreter, delegate = open_model(library, raw, {"backend": backend})
        taken.append(time.process_time() - start)
    assert all(node["on"] == "gpu" for node in report(library, delegate)["nodes"])
    return min(taken)
print(cost(4000) / cost(500))
"""


def test_start_grows_linearly_with_the_nodes(library):
    """Eight times as many nodes: 64 times the work where every node looks at all others, as it once was (37)."""
    assert float(script(library, "null", _START)) < 20
