"""What the benchmarks share: a server of their own, runs through the product, and ratios of things measured in turn.

Machines are noisy, so two things are never compared across runs: each round measures all of them one after the other,
and what counts is the median of the rounds' own ratios, with the lowest and the highest beside it.
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

from openslob.engines import registry
from openslob.engines.base import Engine
from openslob.engines.managed.base import ManagedServer
from openslob.errors import SlobError
from openslob.record.model import RunRecord
from openslob.run import loading, runner
from openslob.run.interrupt import Interrupt
from openslob.units import MIB
from openslob.workload import Workload

# A short run beside others may lose its window a few times; every time, and the host is too busy to measure on.
ATTEMPTS = 5
QUICK_S = 3.0
QUICK_ROUNDS = 2


def parser(description: str | None, rounds: int, seconds: float | None = None) -> argparse.ArgumentParser:
    """The options of every benchmark, with its defaults for measuring in earnest; without ``seconds`` no length."""
    options = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    if seconds:
        options.add_argument("--seconds", type=float, default=seconds, help="length of each measurement (%(default)g)")
    options.add_argument("--rounds", type=int, default=rounds, help="how often each is measured (%(default)d)")
    options.add_argument("--quick", action="store_true", help="a look: 3 s, 2 rounds, less data")
    return options


def parse(options: argparse.ArgumentParser) -> argparse.Namespace:
    """The options given, with what ``--quick`` stands for."""
    args = options.parse_args()
    if args.quick:
        args.rounds = min(args.rounds, QUICK_ROUNDS)
        args.seconds = min(getattr(args, "seconds", QUICK_S), QUICK_S)
    # Being told to end is an exception like any other, so that servers are destroyed on the way out.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("bench: told to end"))
    return args


def start(main: Callable[[], None]) -> None:
    """Run a benchmark; what a user can meet is one line."""
    try:
        main()
    except SlobError as error:
        sys.exit(f"bench: {error}")


def notify(text: str) -> None:
    """One line of progress."""
    print(f"bench: {text}", file=sys.stderr, flush=True)


class Bench:
    """A managed server of this benchmark's own, and what is done with it. Records of its runs are not kept."""

    def __init__(self, server: ManagedServer, results: Path) -> None:
        self.server = server
        self._results = results
        self.url = server.start().url
        self.engine: Engine = registry.engine_for(self.url)

    def restart(self, **changed: Any) -> None:  # noqa: ANN401
        """Run the server with other settings, its data as they are."""
        spec = replace(self.server.status().spec, **changed)
        self.server = registry.managed(spec)
        self.server.start()

    def load(self, workload: Workload) -> None:
        """Load what a workload needs."""
        result = loading.load(self.engine, self.server, workload, lambda _: None, lambda: False, lambda _: None)
        notify(f"loaded {result.bytes / MIB:,.0f} MB in {result.seconds:.0f} s")

    def run(self, **parameters: object) -> RunRecord:
        """One run of the product with these parameters. SlobError when it fails.

        A run whose counters were held up by something else on the host, so that it has no rates, is made again.
        """
        workload = Workload.model_validate(parameters)
        for _ in range(ATTEMPTS - 1):
            try:
                record = self._run(workload)
                figure(record, "ops_per_s")
            except SlobError as error:
                notify(f"once more: {error.what}")
            else:
                return record
        return self._run(workload)

    def _run(self, workload: Workload) -> RunRecord:
        request = runner.RunRequest(workload, "bench", self._results)
        return runner.run(self.engine, request, Interrupt(), lambda _: None, lambda _: "").record


@contextmanager
def bench(
    purpose: str,
    engine: str = registry.default_engine(),
    **spec: Any,  # noqa: ANN401
) -> Iterator[Bench]:
    """A new server, made as ``spec`` says, for the block; destroyed with its data however the block ends."""
    wanted = replace(registry.default_spec(f"bench-{purpose}-{os.getpid()}", engine), log_bytes=1024 * MIB, **spec)
    server = registry.managed(wanted)
    with tempfile.TemporaryDirectory(prefix="slob-bench-") as results:
        try:
            yield Bench(server, Path(results))
        finally:
            server.destroy()


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A new folder on the file system that managed servers lie on, for what is measured beside them."""
    place = registry.servers_place()
    place.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bench-", dir=place) as folder:
        Path(folder).chmod(0o755)  # the servers' user must get in
        yield Path(folder)


def figure(record: RunRecord, name: str) -> float:
    """A figure of the summary. SlobError with the reason when it is not known: nothing can be compared then."""
    found = record.summary[name]
    if found.value is None:
        raise SlobError(f"{name} is unknown: {found.why}")
    return found.value


def verdict(record: RunRecord, name: str) -> str:
    """``outcome: reason`` of a verdict."""
    found = next(each for each in record.verdicts if each.name == name)
    return f"{found.verdict}: {found.why}"


@dataclass(frozen=True)
class Bar:
    """What a figure shall reach: at least, or at most, ``limit``."""

    limit: float
    at_least: bool = True

    def judge(self, value: float) -> str:
        """The bar, and whether ``value`` reaches it."""
        reached = value >= self.limit if self.at_least else value <= self.limit
        sign = "≥" if self.at_least else "≤"
        return f"bar {sign} {self.limit:g}: {'reached' if reached else 'MISSED'}"


@dataclass(frozen=True)
class Pair:
    """The same thing done our way and theirs, in turn."""

    ours: float
    theirs: float


def print_pairs(what: str, pairs: Sequence[Pair], bar: Bar | None = None) -> None:
    """Medians of ours and theirs, and the median, lowest and highest of the rounds' ratios beside the bar."""
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
    """Median, lowest and highest of a figure beside its bar, which the median is judged by."""
    middle = statistics.median(values)
    judged = f"   {bar.judge(middle)}" if bar else ""
    print(f"  {what:<44} {middle:>12.4g} {unit} ({min(values):.4g} to {max(values):.4g}){judged}", flush=True)


def print_heading(title: str, pairs: bool = False) -> None:
    """A heading; ``pairs``: over the columns of `print_pairs`."""
    print(f"\n{title:<46} {'ours':>12} {'theirs':>12}" if pairs else f"\n{title}", flush=True)
