"""Whether what `slob endure` says of a slow load is true: faults are injected at random moments, and judged blind.

Each run of a workload has one fault, or none: a cap on reads, writes or the log (one level, stairs, a bucket that is
filled again, a slow fall, an oscillation; on the device, or below it, where its host can't see it), reads or log syncs
that take longer, a CPU quota that slob can see or not, neighbours. The plan and the injector, in processes of their
own, keep the truth in a folder that the measuring side does not read; a third program compares both. Needs root,
control groups of version 1, and a C compiler.

    .venv/bin/python bench/blind.py measure FOLDER [--runs 60] [--engine mariadb]
    .venv/bin/python bench/blind.py measure FOLDER --resume
    .venv/bin/python bench/blind.py score FOLDER... [--again] [--markdown FILE]
    .venv/bin/python bench/blind.py raw FOLDER
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import sys
from pathlib import Path

from blinded.inject import inject, write_plan
from blinded.judge import read_runs
from blinded.measure import ask_for_plan, measure
from blinded.plan import each_once, plan
from blinded.score import show_raw, show_score
from common import start
from limits import require_groups
from openslob.core.errors import SlobError
from openslob.engines import registry

RUNS = 60
SECONDS = 50.0


def main() -> None:
    """Do what the command line says."""
    args = _arguments()
    # SIGTERM raises SystemExit, so that everything is undone.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("bench: terminated"))
    try:
        args.does(args)
    except KeyboardInterrupt:
        sys.exit("bench: stopped; --resume goes on")


def _arguments() -> argparse.Namespace:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = options.add_subparsers(required=True, metavar="COMMAND")
    measuring = commands.add_parser("measure", help="make runs, each beside an injector")
    measuring.add_argument("folder", type=Path, help="a new folder for runs and truth")
    measuring.add_argument("--runs", type=int, default=RUNS, help="0: each kind of fault once (%(default)d)")
    measuring.add_argument("--seconds", type=float, default=SECONDS, help="length of each load (%(default)g)")
    measuring.add_argument("--engine", default=registry.default_engine(), choices=registry.managed_engines())
    measuring.add_argument("--seed", type=int, help="of the plan; without one nobody knows it")
    measuring.add_argument("--resume", action="store_true", help="go on with a folder: runs that are done are kept")
    measuring.set_defaults(does=_measure)
    scoring = commands.add_parser("score", help="compare what slob said with the truth")
    scoring.add_argument("folders", type=Path, nargs="+")
    scoring.add_argument("--again", action="store_true", help="judge what the program of today says of the raw files")
    scoring.add_argument("--markdown", type=Path, help="write the table of what was said to this file")
    scoring.set_defaults(does=_score)
    seeing = commands.add_parser("raw", help="show what the faults did, by the injecting side's own counts")
    seeing.add_argument("folders", type=Path, nargs="+")
    seeing.set_defaults(does=lambda args: print(show_raw(read_runs(args.folders))))
    # These two are for the measuring side, which must not know what they draw.
    planning = commands.add_parser("plan")
    planning.add_argument("folder", type=Path)
    planning.add_argument("--runs", type=int, required=True)
    planning.add_argument("--seed", type=int)
    planning.set_defaults(does=_plan)
    injecting = commands.add_parser("inject")
    injecting.add_argument("folder", type=Path)
    injecting.add_argument("number", type=int)
    injecting.add_argument("--seconds", type=float, required=True)
    injecting.set_defaults(does=lambda args: inject(args.folder, args.number, args.seconds))
    return options.parse_args()


def _measure(args: argparse.Namespace) -> None:
    require_groups("cpu", "cpuacct", "blkio")
    kept = args.folder / "asked.json"
    if args.resume != kept.exists():
        raise SlobError(f"{args.folder} has {'no' if args.resume else 'a'} plan", "--resume goes on with one")
    if not args.resume:
        ask_for_plan(args.folder, args.runs, args.seed)
        kept.write_text(json.dumps({"engine": args.engine, "seconds": args.seconds}))
    measure(args.folder, **json.loads(kept.read_text()))


def _plan(args: argparse.Namespace) -> None:
    rng = random.Random(args.seed)
    write_plan(args.folder, plan(args.runs, rng) if args.runs else each_once(rng))


def _score(args: argparse.Namespace) -> None:
    text, table, missed = show_score(read_runs(args.folders, args.again))
    print(text)
    if args.markdown:
        args.markdown.write_text(table)
    if missed:
        sys.exit("bench: not every bar is reached")


if __name__ == "__main__":
    start(main)
