"""What Mesa's compilers print of a kernel is read: its figures, its instructions, its loops. Recorded with Mesa 26.1.6.

The kernel of all three: for each of m, for each of n: s = (a * 0.5 + s) * b, vectors of four numbers.
"""

from pathlib import Path

import pytest

from host_tools.analyse import machine_code

_WORDS = {path.stem: path.read_text() for path in (Path(__file__).parent / "recorded").glob("*.txt")}


def of(kind, words=""):
    found = machine_code.read(kind, words or _WORDS[kind])
    assert found
    return found


@pytest.mark.parametrize(
    ("kind", "figures"), [("adreno", (73, 5, 16)), ("bifrost", (43, 13, 2)), ("valhall", (46, 13, 2))]
)
def test_the_figures_are_the_compilers_own(kind, figures):
    found = of(kind)
    assert (found.instructions, found.registers, found.threads, found.spills, found.fills) == (*figures, 0, 0)


def test_opencls_figures_stand_behind_the_listing():
    found = of("adreno", _WORDS["adreno_opencl"])
    assert (found.instructions, found.registers, found.threads, found.spills, found.fills) == (106, 6, 16, 0, 0)
    assert [loop.parent for loop in found.loops] == [-1, 0, 1]
    assert [(loop.work["reads"], loop.work["writes"]) for loop in found.loops] == [(0, 1), (0, 0), (2, 0)]


def test_malis_figures_of_opencl():
    """One loop: s += a[i + x] * image(x + i, y).x, vectors of four numbers, then an image is written."""
    found = of("valhall", _WORDS["valhall_opencl"])
    assert (found.instructions, found.registers, found.threads, found.spills, found.fills) == (37, 14, 2, 0, 0)
    assert [loop.parent for loop in found.loops] == [-1, 0]
    outside, inner = (loop.work for loop in found.loops)
    assert (inner["multiply_adds"], inner["reads"], inner["read_bytes"], inner["read_texels"]) == (4, 2, 16, 1)
    assert (outside["writes"], outside["written_texels"]) == (1, 1)


def test_opencls_spills_are_counted_in_the_listing():
    words = _WORDS["adreno_opencl"].replace("MESA: info: nop\n", "MESA: info: stp.u32 p[r2.x], r12.x, 1\n", 1)
    assert words != _WORDS["adreno_opencl"]
    assert of("adreno", words).spills == 1


@pytest.mark.parametrize("kind", ["adreno", "bifrost", "valhall"])
def test_one_loop_lies_in_the_other(kind):
    assert [loop.parent for loop in of(kind).loops] == [-1, 0, 1]


@pytest.mark.parametrize("kind", ["bifrost", "valhall"])
def test_a_product_is_no_multiply_add(kind):
    """Mali multiplies with a multiply-add of zero: four of the eight in the inner loop."""
    assert [loop.work["multiply_adds"] for loop in of(kind).loops] == [0, 0, 4]


@pytest.mark.parametrize(("kind", "reads"), [("adreno", 2), ("bifrost", 2), ("valhall", 2)])
def test_the_inner_loop_reads_and_the_end_writes(kind, reads):
    outside, _, inner = of(kind).loops
    assert (inner.work["reads"], inner.work["writes"], outside.work["writes"]) == (reads, 0, 1)


@pytest.mark.parametrize(("kind", "slots"), [("bifrost", 35), ("valhall", 46)])
def test_all_slots_are_those_that_the_compiler_counts(kind, slots):
    """Bifrost counts tuples."""
    assert sum(loop.work["slots"] for loop in of(kind).loops) == slots


def test_on_adreno_repetitions_and_pauses_are_slots_and_what_runs_before_all_work_items_is_not():
    outside, _, inner = of("adreno").loops
    assert inner.work["slots"] == 51  # 41 instructions, 7 repetitions, 3 pauses
    before = "MESA: info: shps #l8\n"
    assert before in _WORDS["adreno"]
    slower = of("adreno", _WORDS["adreno"].replace(before, before + "MESA: info: (rpt5)nop\n"))
    assert slower.loops[0].work["slots"] == outside.work["slots"]


def test_adrenos_multiply_adds_count_with_their_repetitions():
    words = _WORDS["adreno"].replace("(rpt1)mul.f r53.z", "(rpt1)mad.f32 r53.z")
    assert of("adreno", words).loops[2].work["multiply_adds"] == 2


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("adreno", "jump #l16", "stp.u32 p[r1.x], r2.x, 4\nMESA: info: jump #l16"),
        ("bifrost", "+LOAD.i128 t1, r7", "+LOAD.i128.tl t1, r7"),
        (
            "valhall",
            "LD_PKA.i128.unsigned.slot0.wait0 @r8:r9:r10:r11, r8^, r7^",
            "LOAD.i32.slot0 @r0, thread_local_pointer.w0",
        ),
    ],
)
def test_spills_are_told_from_reads(kind, old, new):
    assert old in _WORDS[kind]
    assert of(kind, _WORDS[kind].replace(old, new)).loops[2].work["spilled"] == 1


IN_HALF = {"products": 1, "half_products": 1}


@pytest.mark.parametrize(
    ("instruction", "counts"),
    [
        ("ldg.u32 r1.y, g[r2.x+16], 4", {"reads": 1, "read_bytes": 16}),
        ("(sy)ldg.u16 hr1.y, g[r2.x], 4", {"reads": 1, "read_bytes": 8}),
        ("ldg.f32 r1.y, g[r2.x]", {"reads": 1, "read_bytes": 4}),
        ("ldib.b.untyped.1d.u32.4.imm.base0 r1.x, r2.x, 3", {"reads": 1, "read_bytes": 16}),
        ("ldib.b.typed.2d.f16.4.imm.base0 hr1.x, r2.x, 32", {"reads": 1, "read_texels": 1}),
        ("(rpt1)isam.1d (f16)(xyzw)hr0.x, r3.w, s#0, t#0", {"reads": 2, "read_texels": 2, "slots": 2}),
        ("saml (f32)(xyzw)r0.x, r3.w, r4.x, s#0, t#0", {"reads": 1, "read_texels": 1}),
        ("stib.b.typed.2d.f32.4.imm.base0 r1.x, r2.x, 32", {"writes": 1, "written_texels": 1}),
        ("stg.u32 g[r2.x], r1.x, 2", {"writes": 1, "written_bytes": 8}),
        ("ldl.u32 r1.x, l[r2.x], 1", {"reads": 1}),
        ("stl.u32 l[r2.x], r1.x, 1", {"writes": 1}),
        ("ldp.u32 r1.x, p[r2.x], 1", {"spilled": 1}),
        ("(nop3) mad.f16 hr1.x, hr2.x, hc0.y, hr1.x", {"multiply_adds": 1, "half_slots": 1, **IN_HALF, "slots": 4}),
        (
            "(rpt3)mad.f16 hr1.x, (r)hr2.x, hr3.y, (r)hr1.x",
            {"multiply_adds": 4, "half_slots": 4, "products": 4, "half_products": 4, "slots": 4},
        ),
        ("mad.f32 r1.x, r2.x, c0.y, r1.x", {"multiply_adds": 1, "products": 1}),
        ("mul.f hr1.x, hr2.x, hr3.x", {"half_slots": 1, **IN_HALF}),
        ("mul.f r1.x, r2.x, hr3.x", {"products": 1}),
        ("mul.u24 r1.x, r2.x, r3.x", {}),
        ("add.f hr1.x, hr2.x, (neg)hr3.x", {"half_slots": 1}),
        ("add.f r1.x, r2.x, r3.x", {}),
        ("cmps.s.lt p0.x, hr1.x, r2.x", {}),  # one is whole
        ("cov.f32f16 hr1.x, r2.x", {}),
        ("mov.f16f16 hr1.x, hr2.x", {}),
    ],
)
def test_what_an_instruction_of_adrenos_moves_and_computes_in_half(instruction, counts):
    op = machine_code._FLAGS.sub("", instruction).split()[0]
    found = machine_code._adreno_work(op, instruction)
    assert {what: count for what, count in found.items() if count} == {"slots": 1, **counts}


@pytest.mark.parametrize(
    ("instruction", "counts"),
    [
        ("LD_PKA.i128.unsigned.slot0 @r8:r9:r10:r11, r8^, r7^", {"reads": 1, "read_bytes": 16}),
        ("LOAD.i64.unsigned.slot0 @r0:r1, r8^, offset:0", {"reads": 1, "read_bytes": 8}),
        ("LD_TEX.f32.slot1 @r0:r1:r2:r3, r1^", {"reads": 1, "read_texels": 1}),
        ("STORE.i96.slot0 @r0:r1:r2, r8^", {"writes": 1, "written_bytes": 12}),
        ("ST_CVT.slot0 @r0:r1:r2:r3, r8^", {"writes": 1, "written_texels": 1}),
        ("LOAD.i32.wls t0, r1", {"reads": 1}),
        ("LOAD.i32.ubo t0, r1", {}),
        ("FMA.f32 r0, r1, r2, r3", {"multiply_adds": 1, "products": 1, "half_products": 0}),
        ("FMA.f32 r0, r0^, r1, 0x0.neg", {"multiply_adds": 0, "products": 1, "half_products": 0}),
        ("FMA.v2f16 r0, r1, r2, r3", {"multiply_adds": 2, "products": 2, "half_products": 2}),
    ],
)
def test_what_an_instruction_of_malis_moves(instruction, counts):
    assert dict(machine_code._mali_work(instruction.split()[0], instruction)) == counts


@pytest.mark.parametrize(("kind", "lanes"), [("adreno", 64), ("bifrost", 8), ("valhall", 16)])
def test_lanes_of_a_wave(kind, lanes):
    assert of(kind).lanes == lanes


def test_adrenos_wave_may_be_twice_as_wide():
    words = _WORDS["adreno_opencl"]
    assert of("adreno", words.replace("1 double_threadsize", "0 double_threadsize")).lanes == 64
    assert of("adreno", words.replace("0 double_threadsize", "1 double_threadsize")).lanes == 128


@pytest.mark.parametrize("kind", ["adreno", "bifrost", "valhall"])
@pytest.mark.parametrize("words", ["", "said: 12 cows\n", "said: CL shader: 3 inst\n"])
def test_other_words_are_not_read(kind, words):
    assert machine_code.read(kind, words) is None
