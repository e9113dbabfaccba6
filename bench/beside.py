"""Figures of a run beside somebody else's load: still the test's own, or unknown?

Runs alone, and beside one session in another database that reads, reads cached rows, or updates. The truth that figures
are compared with comes from elsewhere: reads from the operating system's counters of the test's own sessions in the
same run; logical reads from the statistics of the test's tables, or from what a block visit took in the runs alone; log
bytes from what an update took there, which differs from run to run. `alone_on_server` must hold in all runs alone, and
fail in 19 of 20 others.

    .venv/bin/python bench/beside.py [--quick] [--seconds 5] [--rounds 20] [--servers 18 16 mariadb]
"""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from common import Bar, Bench, bench, notify, parse, parser, print_figure, print_heading, start
from foreign import Foreign, Kind, foreign_on
from openslob.core.units import MIB
from openslob.core.workload import Workload
from openslob.engines import registry
from openslob.engines.base import CounterReading, SessionPlan
from openslob.record.model import Holds, RunRecord

ALONE = "alone"
APART_BAR = Bar(2, at_least=False)
SHARE_FAILED = 0.95
SHAPE = {"schemas": 4, "scale": "48M", "sessions": 4, "warmup": 0.5}
# Physical reads of uncached data, and updates: each with the figures that it has.
WORKLOADS: Mapping[str, Mapping[str, Any]] = {"reads": {"update_pct": 0}, "updates": {"update_pct": 20, "work_unit": 8}}


class WatchedEngine:
    """An engine whose sessions' I/O the operating system counts, read whenever the engine's counters are."""

    def __init__(self, engine: Any, foreign: Foreign) -> None:  # noqa: ANN401
        self._engine, self._foreign = engine, foreign
        self.backends: list[int] = []
        self._updates = False
        self.bytes_read: list[tuple[int, float]] = []

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self._engine, name)

    def open_session(self, plan: SessionPlan) -> Any:  # noqa: ANN401
        """Open a session and note its number in the server."""
        session = self._engine.open_session(plan)
        self._updates = plan.workload.update_pct > 0
        self.backends.append(session.backend_id())
        return session

    def open_counters(self) -> Any:  # noqa: ANN401
        """Open the counters, with readings of the sessions' I/O beside them."""
        counters = self._engine.open_counters()
        read, files = counters.read, self._foreign.io_counters(self.backends, self._updates)
        # A run that is repeated has new sessions.
        self.backends, self.bytes_read = [], []
        read_by_file = dict.fromkeys(files, 0.0)

        def read_both() -> CounterReading:
            reading: CounterReading = read()
            for file in files:
                # The server may end a background thread at any time: what it read until then remains.
                with suppress(FileNotFoundError):
                    read_by_file[file] = _bytes_read(file)
            self.bytes_read.append((reading.server_ns, sum(read_by_file.values())))
            return reading

        counters.read = read_both
        return counters

    def bytes_read_in(self, record: RunRecord) -> float:
        """Return what the sessions read in the window, cached by the operating system or not."""
        window = record.window
        assert window is not None
        before = [read for at, read in self.bytes_read if at <= window.load_start_ns]
        after = [read for at, read in self.bytes_read if at >= window.load_end_ns]
        return after[0] - before[-1]


def _bytes_read(file: Path) -> float:
    counts = dict(line.split(": ") for line in file.read_text(encoding="ascii").splitlines())
    return float(counts["rchar"])


@dataclass
class Results:
    """What the runs of one situation showed: ratios to the truth by figure, unknown figures, outcomes."""

    outcomes: Counter[str] = field(default_factory=Counter)
    ratios: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    unknown: Counter[str] = field(default_factory=Counter)
    per_visit: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))


def main() -> None:
    """Run the benchmark and print the results."""
    options = parser(__doc__, seconds=5, rounds=20)
    default = ["18", "16", "/usr/lib/postgresql/15/bin", "mariadb"]
    options.add_argument("--servers", nargs="+", default=default, help="versions, directories of programs, or engines")
    options.add_argument("--workloads", nargs="+", default=list(WORKLOADS), choices=WORKLOADS, help="(all)")
    args = parse(options)
    for server in args.servers:
        with server_of(server) as target:
            print_heading(f"{target.engine.facts().product} {target.engine.facts().version}")
            measure(target, args.workloads, args.seconds, args.rounds)


@contextmanager
def server_of(named: str) -> Iterator[Bench]:
    """Create a server of this engine, of this version or of these programs, with data many times its cache."""
    programs = Path(named) if "/" in named else None
    # Programs of one's own may be too old for direct I/O.
    chosen: dict[str, Any] = {"bin_dir": programs, "io": "buffered"} if programs else {"io": "direct"}
    if not programs:
        chosen["engine" if named in registry.managed_engines() else "version"] = named
    version = programs.parent.name if programs else named
    with bench(f"beside-{version}", cache_bytes=16 * MIB, **chosen) as target:
        yield target


def measure(target: Bench, workloads: Sequence[str], seconds: float, rounds: int) -> None:
    """Measure all situations in turn, and print how figures and verdicts came out."""
    foreign = foreign_on(target.engine.name, target.url)
    foreign.prepare()
    for name in workloads:
        load = WORKLOADS[name]
        found = {situation: Results() for situation in (ALONE, *Kind)}
        for round_ in range(rounds):
            for situation, results in found.items():
                notify(f"{name}, {situation}, {round_ + 1} of {rounds}")
                one_run(target, foreign, situation, {**SHAPE, **load, "run_time": seconds}, results, found[ALONE])
        report(name, found, rounds)


def one_run(
    target: Bench, foreign: Foreign, situation: str, load: Mapping[str, Any], results: Results, alone: Results
) -> None:
    """Make one run and compare its figures with the truth."""
    engine = target.engine
    # Updates make tables grow, up to a size that no run accepts.
    target.load(Workload.model_validate(SHAPE))
    watched = WatchedEngine(engine, foreign)
    target.engine = watched
    try:
        with nullcontext() if situation == ALONE else foreign.working(Kind(situation)):
            record = target.run(**load)
    finally:
        target.engine = engine
    verdicts = {verdict.name: verdict for verdict in record.verdicts}
    results.outcomes[verdicts["alone_on_server"].verdict] += 1
    for name, truth in truths(record, watched, results if situation == ALONE else alone).items():
        found = record.summary[name].value
        if found is None:
            results.unknown[name] += 1
        elif truth:
            results.ratios[name].append(found / truth)
    for name in ("limit_found", "mode", "commits_waited"):
        if name in verdicts:
            results.outcomes[f"{name} {verdicts[name].verdict}"] += 1


def truths(record: RunRecord, watched: WatchedEngine, alone: Results) -> dict[str, float | None]:
    """Return what figures should be; None for those of which only the runs alone show what they are."""
    value = {name: figure.value for name, figure in record.summary.items()}
    assert record.window is not None
    block = float(record.engine["block_size"])
    read = watched.bytes_read_in(record) / record.window.load_seconds
    visits, updates = value["block_visits_per_s"], value["commits_per_s"]
    found: dict[str, float | None] = {"pio_read_per_s": read / block, "pio_read_mb_per_s": read / MIB}
    if logical := _logical_reads(record):
        found["lio_per_s"] = logical / record.window.load_seconds
    for name, unit in (("lio_per_s", visits), ("redo_mb_per_s", updates)):
        if not unit or name in found:
            continue
        figure = value[name]
        if record.verdicts and _alone(record) and figure is not None:
            alone.per_visit[name].append(figure / unit)
        found[name] = statistics.median(alone.per_visit[name]) * unit if alone.per_visit[name] else None
    found |= dict.fromkeys(("db_cpu_per_s", "log_syncs_per_s", "pio_write_per_s", "engine_read_latency_us"))
    return found


def _logical_reads(record: RunRecord) -> float | None:
    """Return the requested blocks of the test's tables and indexes, where the engine counts them by object."""
    parts = [io for kind, io in record.io_by_object.items() if kind != "log"]
    counts = [io[name] for io in parts for name in ("hits", "read_requests")]
    return None if None in counts else sum(each for each in counts if each is not None)


def _alone(record: RunRecord) -> bool:
    return any(each.name == "alone_on_server" and each.verdict is Holds.HOLDS for each in record.verdicts)


def report(workload: str, found: Mapping[str, Results], rounds: int) -> None:
    """Print the outcomes, and for each figure how far it was from the truth at worst, or how often it was unknown."""
    for situation, results in found.items():
        print(f"  {workload}, {situation}: {dict(results.outcomes)}", flush=True)
        expected = Holds.HOLDS if situation == ALONE else Holds.FAILS
        least = rounds if situation == ALONE else SHARE_FAILED * rounds
        print_figure(f"runs in which alone_on_server {expected}", [results.outcomes[expected]], "", Bar(least))
        for name, ratios in results.ratios.items():
            apart = [100 * abs(ratio - 1) for ratio in ratios]
            # What a block visit takes differs from run to run; the counters of the same run must agree.
            exact = name.startswith("pio_read")
            print_figure(f"{name} apart from the truth", apart, "%", APART_BAR if exact else None)
        if results.unknown:
            print(f"    unknown: {_times(results.unknown)}", flush=True)


def _times(unknown: Counter[str]) -> str:
    return ", ".join(f"{name} {times} times" for name, times in sorted(unknown.items()))


if __name__ == "__main__":
    start(main)
