"""Ratios of Quadra's kernels to another's: complete, a bound, or none; the same in the table and in the file."""

from collections import Counter
from dataclasses import replace

import pytest

from host_tools.analyse import beside
from host_tools.analyse.beside import Pair
from host_tools.analyse.figures import DispatchFigures, Figures, KernelFigures, Memory
from host_tools.analyse.machine_code import Compiled
from host_tools.analyse.phone_gpus import GPUS
from host_tools.base import terminal


def figures(slots, is_complete=True, reads=4_000_000, **more):
    """One kernel that runs twice, with so many slots in all."""
    work = Counter(slots=slots // 2, reads=reads // 2, **{what: count // 2 for what, count in more.items()})
    runs = [DispatchFigures("d", (), 500_000, work, is_complete) for _ in range(2)]
    return Figures(GPUS[0], "26.1", "f32", "", [KernelFigures("k", "", Compiled(9, 5, 16, 2, 3, ()), runs)])


def pair(ours, peer, nodes=7, model="m"):
    return Pair(model, ours, peer, nodes, 7)


@pytest.mark.parametrize(
    ("ours", "peer", "words", "slots"),
    [
        (True, True, "complete", 0.5),
        (False, True, "at_least", 0.5),
        (True, False, "at_most", 0.5),
        (False, False, "unknown", None),
    ],
)
def test_where_a_count_may_be_too_low_the_ratio_is_a_bound(ours, peer, words, slots):
    found = pair(figures(10_000_000, ours), figures(20_000_000, peer)).ratios.to_json()
    assert (found["are"], found["slots"]) == (words, slots)
    assert found["spilled"] is None  # the peer has none
    assert found["reads"] == (1.0 if slots else None)


def test_the_mean_is_geometric_and_of_whole_models():
    half, double = pair(figures(10), figures(20)), pair(figures(80), figures(10))
    assert beside.mean([half, double]).of["slots"] == pytest.approx(2.0)
    assert beside.mean([half, replace(double, nodes=6)]).of["slots"] == 0.5
    at_least, at_most = pair(figures(10, False), figures(20)), pair(figures(10), figures(20, False))
    assert beside.mean([half, at_least]).to_json()["are"] == "at_least"
    assert beside.mean([at_most, at_least]).to_json()["are"] == "unknown"
    assert beside.mean([replace(half, nodes=6)]).of["slots"] is None


def test_the_table_and_the_file(capsys):
    pairs = [
        pair(figures(10_000_000), figures(20_000_000)),
        pair(figures(30_000_000, False), figures(20_000_000), model="n"),
        pair(figures(10_000_000), figures(20_000_000), 3, "part"),
    ]
    beside.show(pairs, terminal.console())
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "m Quadra 1 2 1.00 10.00 0.00 0.00 4.00 0.00 0.00 0.00 0.00 5 5 16" in lines
    assert "ratio 1.00 1.00 1.00 0.50 1.00 1.00" in lines
    assert "n Quadra 1 2 1.00 ≥30.00 ≥0.00 ≥0.00 ≥4.00 ≥0.00 ≥0.00 ≥0.00 ≥0.00 5 5 16" in lines
    assert "stock delegate, 3 of 7 nodes 1 2 1.00 20.00 0.00 0.00 4.00 0.00 0.00 0.00 0.00 5 5 16" in lines
    assert "geometric mean ratio 1.00 1.00 1.00 ≥0.87 ≥1.00 1.00" in lines
    assert any("leaves nodes to the CPU" in line for line in lines)
    first, _, last = beside.to_json(pairs)
    assert (first["model"], first["executed"]["slots"], first["peer"]["executed"]["slots"]) == (
        "m",
        10_000_000,
        20_000_000,
    )
    assert first["ratios"]["slots"] == 0.5 and last["mean_ratios_of_gpu"]["slots"] == pytest.approx(0.75**0.5)
    assert (last["peer"]["nodes"], last["peer"]["all_nodes"]) == (3, 7)
    assert (last["ratios"]["are"], last["ratios"]["slots"]) == ("unknown", None)


def opencl(found, precision="f32", memory=None):
    return replace(found, api="opencl", precision=precision, memory=memory)


def test_opencls_table_has_waves_bytes_memory_and_half_at_its_rate(capsys):
    ours = figures(
        10_000_000,
        wave_slots=12_000_000,
        half_rate_slots=8_000_000,
        read_texels=1_000_000,
        read_bytes=4_000_000,
        written_texels=500_000,
    )
    theirs = figures(20_000_000, wave_slots=16_000_000, half_rate_slots=12_000_000, read_texels=2_000_000)
    one = pair(opencl(ours, "f16", Memory(3_000_000, 9)), opencl(theirs, "f16", Memory(2_000_000, 9)))
    found = one.ratios.of
    assert found["wave_slots"] == 0.75 and found["half_rate_slots"] == 8 / 12 and found["memory"] == 1.5
    assert found["read_bytes"] == (8 + 4) / 16  # a texel of halves has eight bytes
    assert replace(opencl(ours), precision="f32").bytes("read") == 16_000_000 + 4_000_000
    beside.show([one], terminal.console())
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith("What flatters Quadra:") and "adreno-630, OpenCL, f16" in said
    assert "m Quadra 1 2 1.00 10.00 12.00 8.00 4.00 0.00 0.00 12.00 4.00 3.00 5 5 16" in said


def test_what_flatters_is_said_where_it_does(capsys):
    half = replace(pair(opencl(figures(10), "f16"), opencl(figures(20), "f16")), direct=opencl(figures(16), "f16"))
    whole = pair(opencl(figures(10)), opencl(figures(20)))
    mali = pair(*(replace(opencl(figures(10), "f16"), gpu=GPUS[3]) for _ in range(2)))
    for one, constants, samplers in ((half, True, True), (whole, True, False), (mali, False, False)):
        beside.show([one], terminal.console())
        said = " ".join(capsys.readouterr().out.split())
        assert ("constant weights" in said) is constants and ("through a sampler" in said) is samplers


def test_texts_without_samplers_have_rows_and_ratios_of_their_own(capsys):
    def one(direct, model):
        half = pair(opencl(figures(10_000_000), "f16"), opencl(figures(20_000_000), "f16"), model=model)
        return replace(half, direct=opencl(figures(direct), "f16"))

    pairs = [one(16_000_000, "m"), one(4_000_000, "n")]
    assert pairs[0].ratios.of["slots"] == 0.5 and pairs[0].direct_ratios.of["slots"] == 0.625
    assert beside.mean(pairs).of["slots"] == pytest.approx(0.5)
    assert beside.mean(pairs, direct=True).of["slots"] == pytest.approx((0.625 * 2.5) ** 0.5)
    beside.show(pairs, terminal.console())
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert any(line.startswith("stock delegate without samplers 1 2 1.00 16.00") for line in lines)
    assert any(line.startswith("ratio without samplers 1.00 1.00 1.00 1.25") for line in lines)
    (first, _) = beside.to_json(pairs)
    assert first["peer_without_samplers"]["executed"]["slots"] == 16_000_000
    assert first["ratios_without_samplers"]["slots"] == 0.625
    assert first["mean_ratios_of_gpu_without_samplers"]["slots"] == pytest.approx(1.25)


def test_a_peers_text_that_does_not_compile_is_a_line_and_makes_a_bound(capsys):
    broken = figures(10_000_000)
    runs = [DispatchFigures("d", (), 500_000, Counter(), False)] * 3
    broken.kernels.append(KernelFigures("main_function_7", "it does not compile: no", None, runs))
    one = replace(pair(figures(20_000_000), broken), refused=("device 0x7",))
    assert one.ratios.to_json()["are"] == "at_most"
    beside.show([one], terminal.console())
    said = " ".join(capsys.readouterr().out.split())
    assert "stock delegate 2 5 2.50 ≥10.00" in said and "ratio 0.50 0.40 0.40 ≤2.00" in said
    assert "stock delegate: main_function_7, 3 runs: it does not compile: no" in said
    assert "asked the pretended phone for device 0x7, and got nothing" in said
    (row,) = beside.to_json([one])
    assert row["peer"]["refused"] == ["device 0x7"] and row["peer"]["complete"] is False


def test_another_peer_is_named_and_its_api(capsys):
    theirs = replace(figures(20_000_000), api="vulkan")
    beside.show([replace(pair(opencl(figures(10_000_000)), theirs, 3), peer_is=beside.ML_DRIFT)], terminal.console())
    said = " ".join(capsys.readouterr().out.split())
    assert "OpenCL beside Vulkan" in said and "ML Drift, 3 of 7 nodes" in said and "ML Drift leaves nodes" in said
    assert "constant weights" not in said and "stock delegate" not in said
