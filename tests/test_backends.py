"""Backends whose drivers misbehave: the next backend or the CPU takes over, the numbers stay right, and the report says
what was tried, what came back and what to do next."""

from __future__ import annotations

import re

import pytest

from tests import cpu
from tests.delegate import TARGETS, Outcome, Quadra, options
from tests.faults import NOWHERE, egl, old_egl, opencl  # noqa: F401 (fixtures)
from tests.model_builder import Model
from tests.vectors import all_cases
from tests.vectors.batch import batches
from tests.vectors.case import constant

IMAGE = (1, 4, 5, 6)
FEEDS = [[constant(f"backends/{i}", IMAGE)] for i in range(2)]

# What a driver refuses before anything runs, and a word of what came back. Shaders: 1 brings the input in.
REFUSED = [
    ("no_display", "offers no display"),
    ("initialize_fails", "eglInitialize: EGL_NOT_INITIALIZED"),
    ("context_refused", "eglCreateContext(OpenGL ES 3.1): EGL_BAD_MATCH"),
    ("version=3.0", "version 3.0"),
    ("hide=EGL_KHR_surfaceless_context no_configs", "no configuration"),
    ("refuse_compile=1", "compile to_slices"),
    ("refuse_compile=kernel_x", "0:7: this test wants no such thing"),
    ("refuse_link=2", "link conv2d"),
    ("out_of_memory=1", "GL_OUT_OF_MEMORY"),
    ("out_of_memory=3", "GL_OUT_OF_MEMORY"),
    # At the first launch of each program.
    ("lost_after=0", "GL_CONTEXT_LOST"),
    ("fence_fails", "wait for the kernels"),
    ("wait_fails", "wait for the kernels"),
    ("never_done", "not done after"),
]
LAUNCHED_FIRST, DISPATCHES = 5, 6  # programs of small_model(), and its dispatches
# What goes wrong while the model runs.
BROKEN = [
    (f"lost_after={LAUNCHED_FIRST}", "GL_CONTEXT_LOST"),
    (f"lost_after={LAUNCHED_FIRST + 1}", "GL_CONTEXT_LOST"),
    (f"lost_silently_after={LAUNCHED_FIRST + 1}", "GL_CONTEXT_LOST"),
    ("map_fails", "map an input"),
    ("unmap_fails", "the driver lost the memory"),
]
# A GPU that has no more than OpenGL ES 3.1 promises, and not all that llvmpipe has besides.
POOR = (
    "storage_blocks=4 storage_bindings=4 image_uniforms=4 image_units=4 texture_units=16 invocations=128 "
    "group_x=128 group_y=128 group_z=64 groups_x=65535 groups_y=65535 groups_z=65535 shared_bytes=16384 "
    "storage_alignment=256 uniform_alignment=256 uniform_block_bytes=16384 texture_size=2048 hide=GL_EXT_texture_buffer "
    "hide=GL_EXT_disjoint_timer_query no_binaries"
)
LIMITS = {
    "poor": f"{POOR} renderer=Poor storage_block_bytes=1048576",
    "small blocks": f"{POOR} renderer=Poor storage_block_bytes=65536",
    "few groups": f"{POOR} renderer=Poor groups_x=16 groups_y=16",
    "small groups": "renderer=Small invocations=32 group_x=32 group_y=16 group_z=4",
    "few images": "image_uniforms=1 image_units=1 texture_buffer_texels=4096",
    "aligned": "storage_alignment=256 uniform_alignment=256 texture_buffer_alignment=64",
}


def small_model() -> bytes:
    model = Model()
    y = model.conv2d(
        model.input(IMAGE),
        constant("backends/w", (8, 3, 3, 6)),
        constant("backends/b", (8,)),
        stride=(2, 2),
        activation="RELU",
    )
    model.output(model.add(y, y), model.softmax(y))
    return model.bytes()


def two_partitions() -> bytes:
    """The node between them is the CPU's."""
    model = Model()
    y = model.unary("TANH", model.input(IMAGE))
    z = model.left_to_cpu(y)
    model.output(model.conv2d(z, constant("backends/w", (8, 3, 3, 6)), constant("backends/b", (8,))))
    return model.bytes()


def notes(outcome: Outcome) -> list[str]:
    assert outcome.report, outcome.error
    return outcome.report["backend_notes"]


def is_clear(sentence: str, backend: str) -> bool:
    """What was tried: what came back; what to do next. Once each."""
    return bool(re.fullmatch(rf"{backend}: [^:]+: .+; next: .+", sentence)) and sentence.count("next: ") == 1


def right_on_cpu(outcome: Outcome, model: bytes) -> None:
    outcome.check(cpu.run(model, FEEDS[-1]), everything_on_gpu=False)
    assert len(outcome.on_cpu()) == len(outcome.nodes) and all(node["reason"] for node in outcome.nodes), outcome.nodes


@pytest.fixture
def gles(quadra: Quadra, egl, tmp_path):
    """gles(model, *rounds, faults=..., option=...): runs on OpenGL ES with the faults, and nothing that is called may
    overstep a limit, leave anything undeleted or be an error to the driver."""
    log = tmp_path / "violations.txt"

    def run(model: bytes, *rounds, faults: str = "", env: dict[str, str] | None = None, **given: str) -> Outcome:
        outcome = quadra.run(
            model,
            *rounds,
            env={"EGL_FAULTS": f"{faults} strict={log}", **(env or {})},
            **{"backend": "gles", "egl_library": str(egl), **given},
        )
        assert not log.exists(), log.read_text()
        return outcome

    return run


def test_a_driver_without_faults_runs_the_model(gles):
    outcome = gles(small_model(), *FEEDS)
    outcome.check(cpu.run(small_model(), FEEDS[-1]))
    assert outcome.report["backend"] == "gles" and not notes(outcome)


@pytest.mark.parametrize(("faults", "word"), REFUSED)
def test_cpu_takes_over_from_a_driver_that_refuses(gles, faults, word):
    outcome = gles(small_model(), *FEEDS, faults=faults)
    right_on_cpu(outcome, small_model())
    [note] = notes(outcome)
    assert is_clear(note, "gles") and word in note, note
    assert all(word in node["reason"] for node in outcome.nodes), outcome.nodes


@pytest.mark.parametrize(("faults", "word"), REFUSED)
def test_with_no_backend_left_both_reasons_are_told(gles, faults, word):
    outcome = gles(small_model(), *FEEDS, faults=faults, backend="auto", opencl_library=NOWHERE)
    right_on_cpu(outcome, small_model())
    first, second = notes(outcome)
    assert is_clear(first, "opencl") and NOWHERE in first, first
    assert is_clear(second, "gles") and word in second, second
    for node in outcome.nodes:
        assert NOWHERE in node["reason"] and word in node["reason"], node


def test_gles_takes_over_where_opencl_is_missing(gles):
    outcome = gles(small_model(), *FEEDS, backend="auto", opencl_library=NOWHERE)
    outcome.check(cpu.run(small_model(), FEEDS[-1]))
    [note] = notes(outcome)
    assert outcome.report["backend"] == "gles" and is_clear(note, "opencl") and NOWHERE in note, outcome.report


@pytest.mark.parametrize(
    ("faults", "word"),
    [("clBuildProgram@*=-11", "this test wants no such thing"), ("clCreateKernel@*=-46", "CL_INVALID_KERNEL_NAME")],
)
def test_gles_takes_over_where_opencl_does_not_compile(gles, opencl, faults, word):
    outcome = gles(small_model(), *FEEDS, backend="auto", opencl_library=str(opencl), env={"DRIVER_FAULTS": faults})
    outcome.check(cpu.run(small_model(), FEEDS[-1]))
    [note] = notes(outcome)
    assert outcome.report["backend"] == "gles" and is_clear(note, "opencl") and word in note, outcome.report


def test_neither_compiles(gles, opencl):
    outcome = gles(
        small_model(),
        *FEEDS,
        backend="auto",
        faults="refuse_compile=1",
        opencl_library=str(opencl),
        env={"DRIVER_FAULTS": "clBuildProgram@*=-11 clCreateKernel@*=-46"},
    )
    right_on_cpu(outcome, small_model())
    assert len(notes(outcome)) == 2
    for node in outcome.nodes:
        assert re.search("opencl: its partition .+; gles: its partition ", node["reason"]), node


def test_opencl_comes_first(gles, opencl):
    outcome = gles(small_model(), *FEEDS, backend="auto", faults="no_display", opencl_library=str(opencl))
    outcome.check(cpu.run(small_model(), FEEDS[-1]))
    assert outcome.report["backend"] == "opencl" and not notes(outcome), outcome.report


def test_a_partition_that_does_not_compile_leaves_the_other_on_the_gpu(gles):
    outcome = gles(two_partitions(), *FEEDS, faults="refuse_compile=kernel_x", small_partitions_allowed="1")
    outcome.check(cpu.run(two_partitions(), FEEDS[-1]), everything_on_gpu=False)
    assert [node["on"] for node in outcome.nodes] == ["gpu", "cpu", "cpu"], outcome.nodes
    assert "this test wants no such thing" in outcome.nodes[2]["reason"] and len(notes(outcome)) == 1


def test_a_bad_target_file_is_told_once(gles, tmp_path):
    path = tmp_path / "bad.json"
    path.write_text("{")
    outcome = gles(small_model(), *FEEDS, backend="auto", target=str(path))
    right_on_cpu(outcome, small_model())
    [note] = notes(outcome)
    assert is_clear(note, "auto") and note.count(str(path)) == 1, note
    assert all(node["reason"].count(str(path)) == 1 for node in outcome.nodes), outcome.nodes


@pytest.mark.parametrize(("faults", "word"), BROKEN)
def test_what_breaks_while_it_runs_is_an_error_and_the_next_interpreter_works(gles, faults, word):
    outcome = gles(small_model(), *FEEDS, faults=faults)
    assert not outcome.outputs and re.search(f"DeviceFailed: .*{word}.*; next: ", outcome.error), outcome
    gles(small_model(), *FEEDS).check(cpu.run(small_model(), FEEDS[-1]))


def test_a_context_lost_between_two_invocations(gles):
    outcome = gles(small_model(), *FEEDS, faults=f"lost_after={LAUNCHED_FIRST + DISPATCHES + 1}")
    assert len(outcome.outputs) == 1 and "GL_CONTEXT_LOST" in outcome.error, outcome
    assert "make the delegate and its interpreter anew" in outcome.error
    outcome.error = ""
    outcome.check(cpu.run(small_model(), FEEDS[0]))


def test_what_breaks_while_it_runs_on_opencl(gles, opencl):
    given = {"backend": "opencl", "opencl_library": str(opencl)}
    outcome = gles(small_model(), *FEEDS, env={"DRIVER_FAULTS": "clEnqueueNDRangeKernel@*=-5"}, **given)
    assert re.search("DeviceFailed: launch .*: CL_OUT_OF_RESOURCES; next: ", outcome.error), outcome.error
    gles(small_model(), *FEEDS, **given).check(cpu.run(small_model(), FEEDS[-1]))


def test_a_long_plan_is_handed_to_the_device_as_it_is_queued(quadra, opencl, tmp_path):
    """Else a driver may begin only when all of it is there. (PoCL's own launcher needs none of it.)"""
    long = Model()
    y = long.input(IMAGE)
    for _ in range(70):
        y = long.softmax(y)
    long.output(y)
    other = tmp_path / "opencl.so"  # a process keeps a library's context, and with it what its device is
    other.symlink_to(opencl)
    given = options(backend="opencl", opencl_library=str(other))
    gpu = {"DRIVER_FAULTS_GPU": "1"}
    outcome = quadra.run(long.bytes(), FEEDS[0], counter=opencl, env=gpu, **given)
    outcome.check(cpu.run(long.bytes(), FEEDS[0]), 1e-4)
    calls = outcome.driver["calls"]
    assert calls["clFlush"] == 2 and calls["clEnqueueNDRangeKernel"] > 70, calls


@pytest.mark.parametrize(
    "faults",
    [
        "reset_strategy_refused",
        "hide=EGL_EXT_create_context_robustness",
        "hide=GL_KHR_robustness",
        "hide=EGL_KHR_no_config_context",
        "hide=EGL_KHR_surfaceless_context",
        "hide=EGL_MESA_platform_surfaceless",
        "hide=EGL_KHR_no_config_context hide=EGL_KHR_surfaceless_context",
        "hide=glTexBufferRangeEXT",
        "version=3.1",
        "no_binaries",
    ],
)
def test_a_driver_that_lacks_what_is_not_needed(gles, tmp_path, faults):
    outcome = gles(small_model(), *FEEDS, faults=faults, dump_dir=str(tmp_path / "dump"))
    outcome.check(cpu.run(small_model(), FEEDS[-1]))
    assert outcome.report["backend"] == "gles"


def test_an_egl_library_that_lacks_a_function(quadra, old_egl):
    outcome = quadra.run(small_model(), *FEEDS, backend="gles", egl_library=str(old_egl))
    right_on_cpu(outcome, small_model())
    [note] = notes(outcome)
    assert is_clear(note, "gles") and "lacks eglReleaseThread" in note and str(old_egl) in note, note


def test_an_egl_library_that_is_not_there(quadra):
    outcome = quadra.run(small_model(), *FEEDS, backend="gles", egl_library="/nowhere/libEGL.so")
    right_on_cpu(outcome, small_model())
    [note] = notes(outcome)
    assert is_clear(note, "gles") and "/nowhere/libEGL.so" in note, note


def test_a_function_that_egl_does_not_know_is_looked_up_in_the_driver(quadra, egl):
    """Before EGL 1.5, eglGetProcAddress may know extensions only."""
    outcome = quadra.run(
        small_model(),
        *FEEDS,
        backend="gles",
        egl_library=str(egl),
        env={"EGL_FAULTS": "hide=glMemoryBarrier hide=glMapBufferRange"},
    )
    outcome.check(cpu.run(small_model(), FEEDS[-1]))


@pytest.mark.parametrize(
    ("faults", "least_us", "most_us"),
    [
        ("timer_ns=7000", 6.9, 7.1),
        ("timer_ns=0", 7.2, 1e7),
        ("timer_ns=1", 7.2, 1e7),
        ("timer_ns=7000 disjoint", 7.2, 1e7),
        ("no_timers", 7.2, 1e7),
        ("hide=GL_EXT_disjoint_timer_query", 7.2, 1e7),
    ],
)
def test_timers_that_do_not_measure_give_way_to_waiting(gles, faults, least_us, most_us):
    """llvmpipe's count nothing, so its name is hidden."""
    outcome = gles(small_model(), *FEEDS, faults=f"renderer=Timed {faults}", profile="1")
    outcome.check(cpu.run(small_model(), FEEDS[-1]))
    profile = [us for run in outcome.report["profile"] for us in run["dispatch_us"]]
    count = len(outcome.report["partitions"][0]["dispatches"])
    assert len(profile) == 2 * count and min(profile) >= least_us and max(profile) <= most_us, profile


def _limited(case, name, faults, target, *marks):
    return pytest.param(case, faults, target, id=f"{case.id}-{name}-{target or 'own'}", marks=marks)


def _limit_params() -> list:
    """Three cases of each op, one of them quick: with buffers or with images, in turn. Merged kernels are poor in all
    ways: all of these, with both."""
    quick_places = [("few groups", ""), ("poor", "adreno-640")]
    params = []
    for name, faults in LIMITS.items():
        for target in ("", "adreno-640"):
            place = (name, target)
            seen: dict[str, int] = {}
            quick = []
            for case in filter(lambda case: case.place == "gpu", all_cases()):
                seen[case.op] = seen.get(case.op, 0) + 1
                merged = case.op in ("graph", "rewrite")
                if seen[case.op] > 3 and not merged:
                    continue
                is_its_turn = seen[case.op] == 1 and place == quick_places[len(seen) % 2]
                if is_its_turn or (merged and place in quick_places):
                    quick.append(case)
                else:
                    params.append(_limited(case, name, faults, target, pytest.mark.slow))
            params += [_limited(case, name, faults, target) for case in batches(quick, key=lambda case: None)]
    return params


@pytest.mark.parametrize(("case", "faults", "target"), _limit_params())
def test_no_kernel_oversteps_a_poor_gpus_limits(gles, case, faults, target):
    given = {"target": str(TARGETS / f"{target}.json")} if target else {}
    outcome = gles(case.model(), case.feeds(), faults=faults, **given)
    case.check(outcome, 1e-5)


def test_the_watched_driver_tells_of_what_is_overstepped(quadra, egl, tmp_path):
    """Limits that the driver keeps to itself cannot be kept."""
    log = tmp_path / "violations.txt"
    faults = (
        "secret_limits renderer=Poor hide=GL_EXT_texture_buffer storage_blocks=1 storage_alignment=4096 "
        "uniform_alignment=4096 uniform_block_bytes=8 storage_block_bytes=64 group_x=1 groups_x=0 invocations=1 "
        "storage_bindings=1 shared_bytes=-1"
    )
    env = {"EGL_FAULTS": f"{faults} strict={log}"}
    quadra.run(small_model(), *FEEDS, backend="gles", egl_library=str(egl), env=env)
    told = log.read_text()
    for word in (
        "storage_blocks",
        "storage_alignment",
        "uniform_alignment",
        "uniform_block_bytes",
        "shared_bytes",
        "storage_block_bytes",
        "group_x",
        "groups_x",
        "invocations",
        "storage_bindings",
    ):
        assert f"against {word}=" in told, word
