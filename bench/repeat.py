"""Repeatability: five equal cached runs with 2 sessions, and the noise verdict of each.

.venv/bin/python bench/repeat.py [--quick] [--seconds 15] [--rounds 5]
"""

from __future__ import annotations

import statistics

from common import Bar, bench, figure, parse, parser, print_figure, print_heading, start, verdict
from openslob.core.units import MIB
from openslob.core.workload import Workload

SPREAD_BAR = Bar(3, at_least=False)


def main() -> None:
    """Run the benchmark and print the results."""
    args = parse(parser(__doc__, seconds=15, rounds=5))
    shape = {"schemas": 2, "scale": "32M", "warmup": 2, "run_time": args.seconds, "mode": "lio"}
    with bench("repeat", cache_bytes=128 * MIB) as target:
        target.load(Workload.model_validate(shape))
        print_heading(f"{args.rounds} equal runs of {args.seconds:g} s, cached, 2 sessions")
        values = []
        for number in range(args.rounds):
            record = target.run(**shape)
            values.append(figure(record, "ops_per_s"))
            print(f"  run {number + 1}: {values[-1]:,.0f} operations/s; {verdict(record, 'quiet_machine')}", flush=True)
    spread = 100 * (max(values) - min(values)) / statistics.mean(values)
    print_figure("spread: highest less lowest, of the mean", [spread], "%", SPREAD_BAR)


if __name__ == "__main__":
    start(main)
