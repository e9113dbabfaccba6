"""Shared parts of the benchmarks: a temporary server, runs of openslob, and ratios of alternating measurements.

Machines are noisy. Therefore each round measures all alternatives one after the other, and the result is the median of
the ratios of the rounds, with the lowest and the highest ratio.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from openslob.core.errors import SlobError
from openslob.core.interrupt import Interrupt
from openslob.core.units import MIB, NANOS
from openslob.core.workload import Workload
from openslob.engines import registry
from openslob.engines.base import Engine
from openslob.engines.managed.base import ManagedServer
from openslob.kinds.run import loading, runner
from openslob.kinds.run.crew import Hire, local_crew
from openslob.record.model import RunRecord
from openslob.record.raw_csv import raw_table

# Other load on the host may spoil a few short runs. If it spoils so many, the host is too busy for measurements.
ATTEMPTS = 5
QUICK_S = 3.0
QUICK_ROUNDS = 2


def parser(description: str | None, rounds: int, seconds: float | None = None) -> argparse.ArgumentParser:
    """Return a parser for the common options. Without ``seconds`` there is no option for the length."""
    options = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    if seconds:
        options.add_argument("--seconds", type=float, default=seconds, help="length of each measurement (%(default)g)")
    options.add_argument("--rounds", type=int, default=rounds, help="how often each is measured (%(default)d)")
    options.add_argument("--quick", action="store_true", help="a look: 3 s, 2 rounds, less data")
    return options


def parse(options: argparse.ArgumentParser) -> argparse.Namespace:
    """Parse the command line, and apply ``--quick``."""
    args = options.parse_args()
    if args.quick:
        args.rounds = min(args.rounds, QUICK_ROUNDS)
        args.seconds = min(getattr(args, "seconds", QUICK_S), QUICK_S)
    # SIGTERM raises SystemExit, so that servers are destroyed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("bench: terminated"))
    return args


def start(main: Callable[[], None]) -> None:
    """Run a benchmark. Errors that a user can cause are reported in one line."""
    try:
        main()
    except SlobError as error:
        sys.exit(f"bench: {error}")


def notify(text: str) -> None:
    """Print one line of progress."""
    print(f"bench: {text}", file=sys.stderr, flush=True)


class Bench:
    """A temporary managed server, with methods to load data and run workloads. The records of runs are not kept."""

    def __init__(self, server: ManagedServer, results: Path) -> None:
        self.server = server
        self.results = results
        self.url = server.start().url
        self.engine: Engine = registry.engine_for(self.url)

    def restart(self, **changed: Any) -> None:  # noqa: ANN401
        """Restart the server with changed settings and the same data."""
        spec = replace(self.server.status().spec, **changed)
        self.server = registry.managed(spec)
        self.server.start()

    def load(self, workload: Workload) -> None:
        """Load the data of a workload."""
        result = loading.load(self.engine, self.server, workload, lambda _: None, lambda: False, lambda _: None)
        notify(f"loaded {result.bytes / MIB:,.0f} MB in {result.seconds:.0f} s")

    def run(self, hire: Hire = local_crew, **parameters: object) -> RunRecord:
        """Run openslob once with these parameters and return the record. Raises SlobError if it fails.

        A run without rates, because other load on the host delayed the reading of its counters, is repeated.
        """
        workload = Workload.model_validate(parameters)
        for _ in range(ATTEMPTS - 1):
            try:
                record = self.run_once(workload, hire)
                figure(record, "ops_per_s")
            except SlobError as error:
                notify(f"repeating the run: {error.what}")
            else:
                return record
        return self.run_once(workload, hire)

    def run_once(self, workload: Workload, hire: Hire = local_crew) -> RunRecord:
        """Run openslob once with this workload and return the record."""
        request = runner.RunRequest(workload, "bench", self.results, hire=hire)
        return runner.run(self.engine, request, Interrupt(), lambda _: None, lambda _: "").record


@contextmanager
def bench(
    purpose: str,
    engine: str = registry.default_engine(),
    **spec: Any,  # noqa: ANN401
) -> Iterator[Bench]:
    """Create a server with these settings for the block, and destroy it with its data at the end."""
    server_spec = replace(registry.default_spec(f"bench-{purpose}-{os.getpid()}", engine), log_bytes=1024 * MIB, **spec)
    server = registry.managed(server_spec)
    with tempfile.TemporaryDirectory(prefix="slob-bench-") as results:
        try:
            yield Bench(server, Path(results))
        finally:
            server.destroy()


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Create a temporary folder on the file system of managed servers, for alternatives to measure."""
    place = registry.servers_place()
    place.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bench-", dir=place) as folder:
        Path(folder).chmod(0o755)  # the servers' user needs access
        yield Path(folder)


def figure(record: RunRecord, name: str) -> float:
    """Return a figure of the summary. Raises SlobError with the reason if it is unknown."""
    found = record.summary[name]
    if found.value is None:
        raise SlobError(f"{name} is unknown: {found.why}")
    return found.value


def skew_p99_ms(folder: Path) -> float:
    """Return the time after the first session's first operation by which 99 of 100 sessions had begun theirs."""
    columns, rows = raw_table(folder, "slices.csv")
    session, first = columns.index("session"), columns.index("first_op_ns")
    begins: dict[object, int] = {}
    for row in rows:
        if isinstance(at_ns := row[first], int):
            begins[row[session]] = min(at_ns, begins.get(row[session], at_ns))
    sorted_ns = sorted(begins.values())
    return (sorted_ns[int(0.99 * (len(sorted_ns) - 1))] - sorted_ns[0]) / NANOS * 1e3


def verdict(record: RunRecord, name: str) -> str:
    """Return a verdict as ``outcome: reason``."""
    found = next(each for each in record.verdicts if each.name == name)
    return f"{found.verdict}: {found.why}"


@dataclass(frozen=True)
class Bar:
    """The required lowest, or highest, value of a figure."""

    limit: float
    at_least: bool = True

    def judge(self, value: float) -> str:
        """Return the text of the bar, and whether ``value`` reaches it."""
        reached = value >= self.limit if self.at_least else value <= self.limit
        sign = "≥" if self.at_least else "≤"
        return f"bar {sign} {self.limit:g}: {'reached' if reached else 'MISSED'}"


@dataclass(frozen=True)
class Pair:
    """The results of openslob and of an alternative, measured one after the other."""

    ours: float
    theirs: float


def print_pairs(what: str, pairs: Sequence[Pair], bar: Bar | None = None) -> None:
    """Print both medians, the median, lowest and highest ratio, and the bar."""
    ours, theirs = [pair.ours for pair in pairs], [pair.theirs for pair in pairs]
    ratios = [pair.ours / pair.theirs for pair in pairs]
    middle = statistics.median(ratios)
    judged = f"   {bar.judge(middle)}" if bar else ""
    print(
        f"  {what:<44} {statistics.median(ours):>12,.4g} {statistics.median(theirs):>12,.4g}"
        f"   ratio {middle:.3g} ({min(ratios):.3g} to {max(ratios):.3g}){judged}",
        flush=True,
    )


def print_figure(what: str, values: Sequence[float], unit: str, bar: Bar | None = None) -> None:
    """Print the median, lowest and highest value of a figure, and the bar for the median."""
    middle = statistics.median(values)
    judged = f"   {bar.judge(middle)}" if bar else ""
    print(f"  {what:<44} {middle:>12.4g} {unit} ({min(values):.4g} to {max(values):.4g}){judged}", flush=True)


def print_heading(title: str, pairs: bool = False) -> None:
    """Print a heading, with the columns of `print_pairs` if ``pairs``."""
    print(f"\n{title:<46} {'ours':>12} {'theirs':>12}" if pairs else f"\n{title}", flush=True)
