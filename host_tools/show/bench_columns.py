"""The tables of a bench: which columns there are and what a row has in each, for the terminal and the page alike."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from host_tools.base import installed, units
from host_tools.judge.bench_figures import COLD, QUADRA, SECOND, STEADY, WARM, Bench, Mean, Row, Runner
from host_tools.record import headline, peer_names, times, verdicts
from host_tools.record.peer_names import LITERT, XNNPACK

WHAT = {STEADY: "one inference", COLD: "cold start", WARM: "warm start", SECOND: "second start"}


@dataclass(frozen=True)
class Cell:
    """A number as text; bad: it is a failure."""

    text: str
    bad: bool = False


@dataclass(frozen=True)
class Column:
    """rank: as of a table's column. Those that need each other's titles ("stock", "ratio") have one."""

    title: str
    cell: Callable[[Row], Cell]
    rank: int = 0


def _ranked(rank: int, columns: Sequence[Column]) -> list[Column]:
    return [replace(column, rank=rank) for column in columns]


def inference(bench: Bench) -> list[Column]:
    """One inference: Quadra, XNNPACK, the stock delegate. ms are medians at one thread, ratios Quadra's time relative to
    theirs; both by the headline's clock."""
    columns = [
        *([Column("device", lambda row: Cell(row.ran_on or "–"))] if bench.asked.in_lab else []),
        Column("GPU nodes", lambda row: _nodes(row.runner(QUADRA)), 4),
        Column("error", lambda row: _error(row.runner(QUADRA), row.unsure)),
        Column("Quadra ms", lambda row: _steady_ms(row, QUADRA)),
    ]
    shipped = _measured(bench) if peer_names.needs_shipped(bench.asked.peers) else []
    twins = (
        [Column("× float", lambda row: _ratio_cell(bench.over_twin(row)))] if any(r.twin for r in bench.rows) else []
    )
    litert = _litert(bench) if LITERT in bench.asked.peers else []
    xnnpack = _xnnpack(bench) if XNNPACK in bench.asked.peers else []
    return [*columns, *xnnpack, *_ranked(3, twins), *_ranked(2, shipped), *_ranked(2, litert)]


def starts_words(bench: Bench) -> str:
    """What the columns of starts are."""
    found = ["ms to the end of the first inference, 1 thread", "cold: all caches are empty", "cpu: processor time"]
    if peer_names.needs_shipped(bench.asked.peers):
        found.append("stock: TFLite's stock GPU delegate, ratio: Quadra's start relative to its")
    if not bench.on_host:
        found.append("warm: the drivers' caches alone are full")
    if bench.on_host or bench.asked.place == "jvm":
        found.append("second: with what an earlier one kept, median of processes of their own")
    if bench.on_host:
        found.append("MiB after the first inference, own: private, no page of a file; weights: on the GPU/in the file")
    return "; ".join(found)


def starts(bench: Bench) -> list[Column]:
    """To the end of the first inference, at one thread; the second start has the plans that the cold one kept; sizes where the peers did not run: memory, of it tensors, their lower bound,
    and weights beside those of the file."""
    shipped = peer_names.needs_shipped(bench.asked.peers)
    found = [_start("cold ms", QUADRA, COLD), Column("cpu", lambda row: _ms(row.runner(QUADRA), COLD, "processor"))]
    found += (
        _ranked(2, [_start("stock", "", COLD), _ratio("ratio", "", COLD), _ratio("cpu", "", COLD, kind="processor")])
        if shipped
        else []
    )
    if not bench.on_host:  # with what the peers' starts take there is no room for more
        found += [_start("warm ms", QUADRA, WARM)]
        found += _ranked(3, [_start("stock", "", WARM), _ratio("ratio", "", WARM)]) if shipped else []
        on_jvm = bench.asked.place == "jvm"  # a device makes no second starts
        found += [_start("second", QUADRA, SECOND)] if on_jvm else []
        if on_jvm and shipped:
            stock = Column("stock", lambda row: _second(row.runner(row.shipped)))
            found += _ranked(3, [stock, _ratio("ratio", "", SECOND)])
        if XNNPACK in bench.asked.peers:
            what = SECOND if on_jvm else WARM
            found += [_start("XNNPACK", XNNPACK, what), _ratio("× XNNPACK", XNNPACK, what)]
        return found
    found += [_start("second", QUADRA, SECOND), Column("× cold", lambda row: _ratio_cell(_of_cold(row)))]
    found += [_start("XNNPACK", XNNPACK, SECOND), _ratio("× XNNPACK", XNNPACK, SECOND)]
    found += [_start("LiteRT GPU", peer_names.key(LITERT), WARM)] if LITERT in bench.asked.peers else []
    found += (
        []
        if LITERT in bench.asked.peers
        else _ranked(4, [_count("kernels", "programs"), _count("dispatches", "dispatches")])
    )
    found += _ranked(3, [_mib("peak cold", "cold_peak_rss_bytes", 0), _mib("peak", "peak_rss_bytes", 0)])
    found += _ranked(1, [_mib("own", "private_bytes", 0)])
    found += _ranked(2, [_mib("tensors", "activation_bytes", 2), _mib("bound", "lower_bound_bytes", 2)])
    return [*found, Column("weights", _weights, 2)]


def _second(runner: Runner) -> Cell:
    """A start from what an earlier one kept, where that kept anything."""
    return Cell("keeps nothing") if runner.kept_bytes == 0 else _ms(runner, SECOND)


def _of_cold(row: Row) -> float | None:
    """Quadra's second start over its first."""
    second, cold = (row.runner(QUADRA).us(what) for what in (SECOND, COLD))
    return second / cold if second and cold else None


def _xnnpack(bench: Bench) -> list[Column]:
    found = [] if bench.on_host else [Column("XNNPACK error", lambda row: _error(row.runner(XNNPACK)))]
    found.append(Column("XNNPACK ms", lambda row: _steady_ms(row, XNNPACK)))
    for threads in bench.asked.threads:
        rank = 1 if threads > 1 else 0
        found += _ranked(rank, [_headline(f"×, {_threads(threads)}", XNNPACK, threads)])
        if bench.on_host and threads == 1:  # in the app there is more beside it
            found += _ranked(1, _others(bench, XNNPACK))
    return found


def _litert(bench: Bench) -> list[Column]:
    """LiteRT's own GPU accelerator, whose driver takes as many threads as it likes."""
    key = peer_names.key(LITERT)
    ran = [
        Column("LiteRT GPU", lambda row: Cell("failed", True) if row.runner(key).error else _error(row.runner(key))),
        Column("ms", lambda row: _steady_ms(row, key)),
    ]
    return [*ran, _headline("ratio", key), *_others(bench, key)]


def _measured(bench: Bench) -> list[Column]:
    ran = [
        Column(
            "stock nodes",
            lambda row: Cell("failed", True) if row.runner(row.shipped).error else _nodes(row.runner(row.shipped)),
        ),
        Column("error", lambda row: _error(row.runner(row.shipped))),
        Column("ms", lambda row: _steady_ms(row, row.shipped)),
    ]
    return [*ran, _headline("ratio", ""), *_others(bench, "")]


def _headline(title: str, peer: str, threads: int = 1) -> Column:
    """Quadra's time of an inference relative to a peer's; no name: the stock delegate's of the row's backend."""

    def cell(row: Row) -> Cell:
        found = row.headline(peer or row.shipped, threads=threads)
        return Cell(units.ratio_text(found.ratio if found else None) + ("" if not found or found.reliable else "?"))

    return Column(title, cell)


def _others(bench: Bench, peer: str) -> list[Column]:
    """What checks the headline with one thread."""
    wall = [_ratio("wall", peer)] if any(row.clock == "processor" for row in bench.rows) else []
    return [*wall, _ratio("min", peer, kind="minimum")]


def _ratio(title: str, peer: str, what: str = STEADY, kind: str = "median") -> Column:
    """One of a headline's ratios, or that of a start; no name: the stock delegate's of the row's backend."""
    return Column(title, lambda row: _ratio_cell(row.over(peer or row.shipped, what, kind)))


def _start(title: str, who: str, what: str) -> Column:
    return Column(title, lambda row: _ms(row.runner(who or row.shipped), what))


def _ratio_cell(value: float | None) -> Cell:
    return Cell(units.ratio_text(value))


def _steady_ms(row: Row, who: str) -> Cell:
    us = row.steady_us(who)
    return Cell(units.ms(us) if us else "–")


def _ms(runner: Runner, what: str = STEADY, kind: str = "median") -> Cell:
    us = runner.us(what, kind)
    return Cell(units.ms(us) if us else "–")


def _count(title: str, key: str) -> Column:
    return Column(title, lambda row: Cell(str(row.sizes.get(key, 0))))


def _mib(title: str, key: str, digits: int) -> Column:
    return Column(title, lambda row: Cell(f"{row.sizes.get(key, 0) / 2**20:.{digits}f}"))


def _weights(row: Row) -> Cell:
    ours, files = (row.sizes.get(key, 0) / 2**20 for key in ("constant_bytes", "file_constant_bytes"))
    return Cell(f"{ours:.2f}/{files:.2f}")


def _nodes(runner: Runner) -> Cell:
    return Cell("–" if runner.nodes_taken is None else f"{runner.nodes_taken}/{runner.nodes}")


def _error(runner: Runner, unsure: bool = False) -> Cell:
    if runner.right is None:
        return Cell("–")
    return Cell(f"{runner.relative_error:.0e}{'*' if unsure else ''}", not runner.right)


def _threads(count: int) -> str:
    return units.counted(count, "thread")


def device_words(bench: Bench) -> list[str]:
    """The one device that measured: who it is, and how hot it was in each row; nothing where there is none or a lab."""
    if not bench.asked.device:
        return []
    who = next((row.who for row in bench.rows if row.who), "")
    heat = [row.heat for row in bench.rows if row.heat]
    same = len(set(heat)) == 1
    lines = [f"{bench.asked.device}{f': {who}' if who else ''}{f'; thermal status {heat[0]}' if same else ''}"]
    return lines + (
        [] if same else [f"{bench.words_of(row)}: thermal status {row.heat}" for row in bench.rows if row.heat]
    )


def xnnpack_note(bench: Bench) -> str:
    """Which XNNPACK it is, where that is not clear."""
    if bench.on_host or XNNPACK not in bench.asked.peers:
        return ""
    return installed.said(
        "XNNPACK is the one in Android's TFLite runtime; `./inv bench` on the host takes that of this machine's interpreter"
    )


def shipped_note(bench: Bench, backend: str) -> str:
    """How both stand to XNNPACK, over the models that the stock delegate ran, too; nothing where there are none."""
    shipped = peer_names.key(f"shipped-{backend}")
    mean = bench.mean(backend, shipped, whole=False)
    over = [(h.ratio, r.peer_over_xnnpack(shipped)) for r in bench.of(backend) if (h := r.headline(XNNPACK))]
    both = [(ours, theirs) for ours, theirs in over if theirs]
    if not mean or not both:
        return ""
    ours, theirs = (times.geometric_mean(values) for values in zip(*both))
    count = units.counted(len(both), "model")
    return (
        f"{verdicts.APIS[backend]} on the {count} that TFLite's stock GPU delegate ran, too: {units.ratio_text(ours)} of XNNPACK's time, "
        f"the stock delegate {units.ratio_text(theirs)}"
    )


def failures(result: Bench) -> list[str]:
    """A sentence for each row without figures, and for each peer that did not run, or not right."""
    lines = []
    for row in result.rows:
        head = result.words_of(row)
        if row.error:
            lines.append(f"{head}: {row.error}")
        lines += [
            f"{head}: {peer_names.label(key)} did not run: {r.error}" for key, r in row.runners.items() if r.error
        ]
        lines += [
            f"{head}: no ratio to {peer_names.label(key)}, which is {r.relative_error:.1e} of the range from the reference"
            for key, r in row.runners.items()
            if r.right is False and key != QUADRA
        ]
    return lines


def over_words(mean: Mean, bench: Bench) -> str:
    """What over whom; of what models, and with how many threads, where that is not clear."""
    what = "relative to" if bench.on_host and mean.what == STEADY else f"{WHAT[mean.what]}, relative to"
    threads = f", {_threads(mean.threads)}" if len(bench.asked.threads_of(mean.kind)) > 1 else ""
    own = ", each in its default precision" if mean.defaults else ""
    return f"{what} {peer_words(mean.peer, bench)}{threads}{own}{'' if mean.whole else ', all models'}"


def precision_note(bench: Bench) -> str:
    """In which precision both sides computed; empty: only XNNPACK stands beside Quadra, which has one."""
    known = [name for name in bench.asked.peers if name != XNNPACK]
    if not known:
        return ""
    who = "TFLite's stock GPU delegate" if peer_names.needs_shipped(known) else "LiteRT's GPU accelerator"
    own = f"Quadra's default precision is float32, that of {who} half (float16) where the driver has it"
    if bench.asked.defaults:
        return f"{own}: in rows named defaults each has its own, in the others all compute in float32"
    return f"all compute in float32. {own}: --defaults adds rows in which each has its own"


def peer_words(key: str, bench: Bench) -> str:
    """A peer by its key; which XNNPACK it is, too."""
    if key == XNNPACK:
        return "XNNPACK" if bench.on_host else "Android's XNNPACK"
    return "LiteRT's GPU accelerator" if key == peer_names.key(LITERT) else "TFLite's stock GPU delegate"


def limit_words(mean: Mean) -> str:
    """The user's limit and how it stands; nothing where there is none."""
    return f"limit {mean.limit:g}: {mean.verdict}" if mean.limit else ""


def clock_words(bench: Bench) -> str:
    """Whose medians the columns of ms and the ratios beside them are."""
    found = {row.clock for row in bench.rows if not row.error}
    if len(found) > 1:
        return "processor time where the driver computes on the CPU, else wall-clock time"
    return headline.CLOCKS[found.pop()] if found else ""


def doubt_words(bench: Bench) -> str:
    """Whose ratios are not reliable; nothing where all are."""
    load = f" (load {bench.load:.1f} on {bench.cpus} CPUs)" if bench.cpus else ""
    busy = [f"the machine was busy{load}: {', '.join(bench.doubtful)}"] if bench.doubtful else []
    found = "; ".join([*bench.waiting, *busy])
    return f"?: not reliable, {found}" if found else ""


def doubt_of(mean: Mean) -> str:
    """Why a mean is not reliable, in short."""
    return "" if mean.headline.reliable else "inferences wait" if mean.waits else "the machine was busy"


def repeats(rows: Sequence[Row], index: int) -> bool:
    """Whether a row is of the same model as the one above."""
    return index > 0 and rows[index - 1].model == rows[index].model
