"""How often `slob crash` notices torn pages: on servers made unsafe on purpose, and on servers as they are.

Each try is `slob crash --kind cut --survive random` with a control, of so many cycles and with a seed of its own; it
caught the control if one of its cycles did. Servers as they are must raise no alarm. Every proof is a record in
``--results``, and the same command goes on where it was stopped: a proof that is there is counted and not made again.
With ``--results-only`` nothing is made. Needs FUSE.

    .venv/bin/python bench/torn.py --results torn [--engine mariadb] [--control NAME] [--survive nothing] \
        [--rounds 10] [--cycles 10] [--clean 200]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from common import Bar, notify, parse, parser, print_figure, print_heading, start
from openslob.analyze.shares import Share, share_of
from openslob.core.interrupt import Interrupt
from openslob.engines import registry
from openslob.kinds.crash.execute import CrashRequest, execute
from openslob.kinds.crash.record import CrashCycle, CrashFolder, CrashMethod, CrashRecord
from openslob.kinds.crash.report import cycle_line
from openslob.record.model import Status

SESSIONS, ROWS = 8, 256
# The cycles of a proof of a server as it is, and the first of their seeds.
CLEAN_CYCLES, CLEAN_SEED = 20, 1000


def main() -> None:
    """Make the proofs that are not there yet, and print what all of them come to."""
    args = parse(options())
    args.control = args.control or next(each.name for each in registry.controls(args.engine) if each.torn)
    tries = [proof(args, f"{args.control}-{seed}", args.control, args.cycles, seed) for seed in range(args.rounds)]
    seeds = range(CLEAN_SEED, CLEAN_SEED + args.clean // CLEAN_CYCLES)
    clean = [proof(args, f"as-is-{seed}", None, CLEAN_CYCLES, seed) for seed in seeds]
    print_heading(f"{args.engine}: cuts of the storage, {args.survive} survives")
    print_caught(args, [each for each in tries if each])
    print_clean([cycle for each in clean if each for cycle in each.cycles])


def options() -> argparse.ArgumentParser:
    """Return the options of this script."""
    found = parser(__doc__, rounds=10)
    found.add_argument("--results", type=Path, required=True, help="folder of the records")
    found.add_argument("--engine", default=registry.default_engine(), help="engine of the server (%(default)s)")
    found.add_argument("--control", help="what makes it unsafe (its control of torn pages)")
    found.add_argument("--survive", default="random", choices=("nothing", "random"), help="(%(default)s)")
    found.add_argument("--cycles", type=int, default=10, help="cycles of a try (%(default)d)")
    found.add_argument("--clean", type=int, default=200, help="cycles of servers as they are (%(default)d)")
    found.add_argument("--results-only", action="store_true", help="count what is there")
    return found


def proof(args: argparse.Namespace, name: str, control: str | None, cycles: int, seed: int) -> CrashRecord | None:
    """Return the proof of this name, which is made if it is not there; None if nothing is to be made."""
    name = f"torn-{args.engine}-{args.survive}-{name}"
    if there := next(complete(args.results, name, cycles), None):
        return there
    if args.results_only:
        return None
    request = CrashRequest(
        (CrashMethod.CUT,), cycles, SESSIONS, ROWS, seed, name, args.results,
        engine=args.engine, control=control, survive=args.survive,
    )  # fmt: skip
    record, _ = execute(request, Interrupt(), notify, lambda cycle: notify(f"{cycle.number}: {cycle_line(cycle)}"))
    return record


def complete(results: Path, name: str, cycles: int) -> Iterator[CrashRecord]:
    """Yield the records of a proof that came to its end: a server as it is has fewer cycles after an alarm."""
    for folder in sorted(results.glob(f"*-{name}")):
        record = CrashFolder.load(folder)
        if record.name == name and record.status is Status.COMPLETE and record.asked["cycles"] == cycles:
            yield record


def print_caught(args: argparse.Namespace, tries: Sequence[CrashRecord]) -> None:
    """Print in how many tries the control was caught, and in how many of all cycles."""
    if not tries:
        return
    caught = sum(any(not cycle.is_clean for cycle in each.cycles) for each in tries)
    what = f"tries of {args.cycles} cycles that caught {args.control}, of {len(tries)}"
    print_figure(what, [caught], "tries", Bar(len(tries)))
    cycles = [cycle for each in tries for cycle in each.cycles]
    share = share_of(sum(not cycle.is_clean for cycle in cycles), len(cycles))
    print(f"  of all their cycles: {told(share)}")
    run = 1 - (1 - share.low) ** args.cycles
    print(f"  so a run of {args.cycles} cycles catches it with at least {100 * run:.3f} %   {Bar(0.8).judge(run)}")
    print_hit(cycles)


def print_clean(cycles: Sequence[CrashCycle]) -> None:
    """Print how many cycles of servers as they are raised an alarm."""
    if not cycles:
        return
    share = share_of(sum(not cycle.is_clean for cycle in cycles), len(cycles))
    print_figure("alarms on servers as they are", [share.found], "cycles", Bar(0, at_least=False))
    print(f"  of all their cycles: {told(share)}")
    for cycle in cycles:
        if not cycle.is_clean:
            print(f"  cycle {cycle.number}: {cycle_line(cycle)}")
    print_hit(cycles)


def told(share: Share) -> str:
    """Return a share with its interval, in words."""
    return f"{share.found} of {share.trials}: {100 * share.low:.1f} to {100 * share.high:.1f} % (95 %)"


def print_hit(cycles: Sequence[CrashCycle]) -> None:
    """Print what the crashes hit: whether they could show anything."""
    torn = [cycle.torn_pages or 0 for cycle in cycles]
    print(
        f"  of {len(cycles)}: {sum(each > 0 for each in torn)} left torn pages, {median(torn):,.0f} in the median; "
        f"{sum(bool(cycle.in_checkpoint) for cycle in cycles)} in a checkpoint, "
        f"{sum(cycle.recovery_crashes or 0 for cycle in cycles)} again in recovery; "
        f"{sum(not cycle.compared for cycle in cycles)} did not recover or could not be read",
        flush=True,
    )


if __name__ == "__main__":
    start(main)
