"""The roofline of hand-computed dispatches: which bound each has, and its share; the published numbers and their sources."""

from collections import Counter
from dataclasses import replace

import pytest

from host_tools.analyse import figures, gpu_rates, roofline, roofline_table
from host_tools.analyse.figures import DispatchFigures, Figures, KernelFigures, Memory, Once
from host_tools.analyse.gpu_rates import Number, Rates
from host_tools.analyse.machine_code import Compiled
from host_tools.analyse.phone_gpus import GPUS
from host_tools.base import settings, terminal
from host_tools.base.errors import Misuse
from host_tools.record.checked_plan import Arg, Buffer, Dispatch, Io, Kernel, Plan, Program, Region, Tensor
from host_tools.tasks import analyse


def said(value, least=None, most=None):
    return Number(value, "a page", "", least, most)


# A clock is a nanosecond: 100 lanes, 50 bytes, and 2000 of them for a launch.
RATES = Rates("gpu", "Chip", said(1000.0), said(100.0), said(200.0), said(50.0), said(2.0))
CODE = Compiled(9, 5, 16, 0, 0, (), 64)


def dispatch(name, slots, once, moved=None, is_complete=True):
    """moved: bytes read and written by instructions; None: just as many as there are."""
    read, written = moved or (once.weights + once.read, once.written)
    work = Counter(half_rate_slots=slots, read_bytes=read, written_bytes=written)
    return DispatchFigures(name, (), 1, work, is_complete, once=once)


ARITHMETIC = dispatch("a", 1_000_000, Once(100_000, 50_000, 50_000), (900_000, 50_000))  # 10 000 clocks; 4000; 2000
BYTES = dispatch("b", 100_000, Once(0, 200_000, 200_000))  # 1000; 8000; 2000
LAUNCH = dispatch("l", 50_000, Once(0, 10_000, 10_000))  # 500; 400; 2000


def model(*dispatches, **more):
    found = Figures(GPUS[1], "26.1", "f32", "t", [KernelFigures("k", "", CODE, list(dispatches))])
    return replace(found, **more)


def test_each_dispatch_has_the_bound_that_takes_longest():
    found = roofline.of(model(LAUNCH, BYTES, ARITHMETIC), RATES)
    assert [(row.dispatch.name, row.bound) for row in found.rows] == [
        ("a", "arithmetic"),
        ("b", "bytes"),
        ("l", "launches"),
    ]
    first, second, third = found.rows
    assert first.clocks == {"arithmetic": 10_000, "bytes": 4_000, "launches": 2_000}
    assert [found.share(row) for row in found.rows] == [0.5, 0.4, 0.1]
    assert (first.part("bytes"), second.part("arithmetic"), third.part("bytes")) == (0.4, 0.125, 0.2)
    assert first.uncached / first.least == 1.9  # 950 000 bytes: 19 000 clocks
    assert [found.share_of_all(bound) for bound in roofline.BOUNDS] == [0.575, 0.62, 0.3]


def test_the_models_own_products_and_bytes_are_a_bound_of_it():
    known = {"own_multiply_adds": 400_000, "memory": Memory(9_999, 150_000), "outside_bytes": 50_000}
    found = roofline.of(model(ARITHMETIC, BYTES, LAUNCH, **known), RATES)
    assert (found.own_arithmetic / found.sum, found.own_bytes / found.sum) == (0.2, 0.2)
    half = roofline.of(model(ARITHMETIC, BYTES, LAUNCH, precision="f16", **known), RATES)
    assert half.own_arithmetic / half.sum == 0.1


def test_no_more_bytes_count_than_instructions_move():
    """Of a table of which a few rows are read; where loops are not known, all of it counts."""
    once, moved = Once(0, 4_000_000, 1_000), (100_000, 1_000)
    assert dispatch("g", 1, once, moved).least_bytes(16) == 101_000
    assert dispatch("g", 1, once, moved, is_complete=False).least_bytes(16) == 4_001_000


def test_texels_count_as_many_bytes_as_they_have():
    work = Counter(read_texels=10, written_texels=2, read_bytes=5)
    one = DispatchFigures("t", (), 1, work, True, once=Once(0, 1_000, 1_000))
    assert (one.least_bytes(16), one.least_bytes(8)) == (165 + 32, 85 + 16)


def test_where_published_numbers_contradict_each_other_the_bound_says_so():
    rates = Rates("gpu", "Chip", said(1000.0), said(100.0, 100.0, 300.0), said(200.0), said(50.0), said(2.0))
    rows = roofline.of(model(ARITHMETIC, BYTES, LAUNCH), rates).rows
    assert [(row.bound, row.is_sure) for row in rows] == [("arithmetic", False), ("bytes", True), ("launches", True)]


def test_without_a_published_launch_nothing_is_bounded_by_it():
    rates = Rates("gpu", "Chip", said(1000.0), said(100.0), said(200.0), said(50.0), None)
    rows = roofline.of(model(ARITHMETIC, BYTES, LAUNCH), rates).rows
    assert [row.bound for row in rows] == ["arithmetic", "bytes", "arithmetic"]


def test_dispatches_without_machine_code_are_counted_apart():
    found = model(ARITHMETIC)
    found.kernels.append(KernelFigures("x", "it does not compile", None, [replace(BYTES, is_complete=False)]))
    assert roofline.of(found, RATES).without == 1
    assert roofline.of(model(replace(ARITHMETIC, once=None)), RATES) is None


def plan():
    """A kernel that reads a tensor twice, weights, and writes an output."""

    def buffer(kind, size):
        return Buffer(kind, size, b"", 0, 0, "Float")

    def arg(index, written=False):
        return Arg("Buffer", written, "Memory", index, 0, 0.0)

    def tensor(buffer, size):
        return Tensor("t", [1, 1, 1, size // 4], buffer, 0, size, "Float", True, 0, 0, 0)

    buffers = [buffer("Io", 400), buffer("Constant", 1000), buffer("Io", 80)]
    regions = [Region(0, 0, 400), Region(1, 0, 600), Region(1, 600, 40), Region(2, 0, 80)]
    args = [arg(0), arg(1), arg(0), arg(2), arg(3, written=True)]
    run = Dispatch("000_k", "k", 0, "k_1", args, [8, 1, 1], [8, 1, 1], [0])
    programs = [Program("", [Kernel("k_1", "k", "void main() {}", [])], "")]
    tensors = [tensor(0, 400), tensor(2, 80)]
    return Plan(
        "gles", "t", "", "f32", buffers, regions, tensors, programs, [run], [Io(0, [100])], [Io(1, [20])], 0, 0, 1000
    )


def test_bytes_are_those_of_a_plans_regions_each_once(monkeypatch):
    (launch,) = figures.launches_of([plan()])
    assert launch.once == Once(weights=640, read=400, written=80)
    monkeypatch.setattr(figures, "of_launches", lambda *_: model(ARITHMETIC))
    assert figures.of(GPUS[1], [plan()], 0, print).outside_bytes == 480


@pytest.mark.parametrize("gpu", GPUS, ids=lambda gpu: gpu.name)
def test_each_gpu_has_published_numbers_with_their_sources(gpu):
    rates = gpu_rates.of(gpu)
    numbers = [
        rates.clock_mhz,
        rates.multiply_adds_per_clock,
        rates.half_multiply_adds_per_clock,
        rates.bandwidth_gb_s,
        *([rates.launch_us] if rates.launch_us else []),
    ]
    assert rates.name == gpu.name and rates.chip
    assert all(len(one.source) > 20 and one.value > 0 for one in numbers)
    assert all(min(one.range) == (one.least or one.value) for one in numbers)
    assert all(max(one.range) == (one.most or one.value) for one in numbers)
    assert rates.half_multiply_adds_per_clock.value == 2 * rates.multiply_adds_per_clock.value
    assert all(one.note for one in numbers if len(one.range) > 1)  # why this one


@pytest.mark.parametrize("gpu", GPUS, ids=lambda gpu: gpu.name)
def test_the_page_has_the_numbers_of_the_files(gpu):
    rates = gpu_rates.of(gpu)
    name = gpu.name.replace("adreno-", "Adreno ").replace("mali-g", "Mali G")
    page = (settings.ROOT / "docs" / "analyse.md").read_text(encoding="utf-8")
    (row,) = [line for line in page.splitlines() if line.startswith(f"| {name} | {rates.chip} |")]
    cells = [cell.split()[0] for cell in row.strip("| ").split(" | ")[2:]]
    launch = f"{rates.launch_us.value:g}" if rates.launch_us else "not"
    numbers = (rates.clock_mhz, rates.multiply_adds_per_clock, rates.bandwidth_gb_s)
    assert cells == [*(f"{one.value:g}" for one in numbers), launch]


def shown(monkeypatch, capsys, found, rates=RATES):
    monkeypatch.setattr(gpu_rates, "of", lambda gpu: rates)
    roofline_table.show(found, "the title", terminal.console(), 2)
    return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]


def test_the_table(monkeypatch, capsys):
    lines = shown(monkeypatch, capsys, model(LAUNCH, BYTES, replace(ARITHMETIC, is_complete=False)))
    assert "a arithmetic ≥50.0% ≥100% 40% 20% 1.9× 0.10 0.05 0.05" in lines
    assert "b bytes 40.0% 12% 100% 25% 1.0× 0.00 0.20 0.20" in lines
    assert "and 1 more dispatches: --top 0" in lines
    text = " ".join(lines)
    assert "dispatches by arithmetic 1 (50%), by bytes 1 (40%), by launches 1 (10%) of the sum of bounds" in text
    assert "arithmetic alone is 57%, bytes 62%, launches 30% at most" in text
    assert "≥: a loop's trips" in text and "~" not in text


def test_the_table_says_what_is_not_known(monkeypatch, capsys):
    rates = Rates("gpu", "Chip", said(1000.0), said(100.0, 100.0, 300.0), said(200.0), said(50.0), None)
    text = " ".join(shown(monkeypatch, capsys, model(ARITHMETIC), rates))
    assert "arithmetic ~" in text and "give another bound" in text and "is not published" in text
    assert "no dispatch has machine code" in " ".join(shown(monkeypatch, capsys, model()))


def test_the_file_has_shares(monkeypatch):
    monkeypatch.setattr(gpu_rates, "of", lambda gpu: RATES)
    written = []
    monkeypatch.setattr(analyse, "_write", lambda rows, path: written.extend(rows))
    analyse.write_json([model(ARITHMETIC, BYTES, LAUNCH), model()], None)
    first, second = (row["roofline"] for row in written)
    assert second is None
    assert first["shares_bounded_by"] == {"arithmetic": 0.5, "bytes": 0.4, "launches": 0.1}
    assert first["dispatches"][0] == {
        "name": "a",
        "bound": "arithmetic",
        "sure": True,
        "share": 0.5,
        "arithmetic_of_bound": 1.0,
        "bytes_of_bound": 0.4,
        "launches_of_bound": 0.2,
        "uncached_of_bound": 1.9,
        "weights_bytes": 100_000,
        "read_bytes": 50_000,
        "written_bytes": 50_000,
    }


def test_a_peer_has_no_roofline():
    import tasks

    with pytest.raises(Misuse, match="roofline"):
        tasks.analyse.body(None, "m", peer="ml-drift", roofline=True)
