"""Whether physical reads reach the device: the same run on a server with direct I/O and on a buffered one.

With direct I/O, the block device must have completed as many reads as the engine counted, and the verdict must hold. On
the buffered server, whose data are in the page cache, it must fail. The device's counters include all its users.

    .venv/bin/python bench/honesty.py [--quick] [--seconds 10] [--rounds 3]
"""

from __future__ import annotations

from common import Bar, Bench, bench, figure, parse, parser, print_figure, print_heading, start, verdict
from openslob.core.units import MIB
from openslob.core.workload import Workload
from openslob.record.model import Holds, RunRecord

# METHOD: device reads are engine reads ± 2 %.
BAR = Bar(2, at_least=False)
NAME = "reads_reached_device"


def main() -> None:
    """Run the benchmark and print the results."""
    args = parse(parser(__doc__, seconds=10, rounds=3))
    shape = {"schemas": 4, "scale": "64M" if args.quick else "128M", "sessions": 8, "warmup": 1}
    workload = Workload.model_validate({**shape, "run_time": args.seconds, "mode": "pio"})
    for io in ("direct", "buffered"):
        with bench(f"honesty-{io}", cache_bytes=16 * MIB, io=io) as target:
            target.load(workload)
            print_heading(f"{io} I/O, 8 sessions")
            records = measure(target, workload, args.rounds)
            expected = Holds.HOLDS if io == "direct" else Holds.FAILS
            as_expected = sum(verdict(record, NAME).startswith(expected) for record in records)
            print_figure(f"runs in which the verdict {expected}", [as_expected], "", Bar(args.rounds))
            if io == "direct":
                print_figure("device reads apart from engine reads", [apart_pct(each) for each in records], "%", BAR)


def apart_pct(record: RunRecord) -> float:
    """Return the difference between the device's and the engine's reads in %."""
    return 100 * abs(figure(record, "dev_read_per_s") / figure(record, "pio_read_per_s") - 1)


def measure(target: Bench, workload: Workload, rounds: int) -> list[RunRecord]:
    """Run several times; print the reads of engine and device, and the verdict, of each run."""
    records = []
    for _ in range(rounds):
        record = target.run(**workload.to_record())
        engine, device = figure(record, "pio_read_per_s"), figure(record, "dev_read_per_s")
        records.append(record)
        print(f"  engine {engine:,.0f} reads/s, device {device:,.0f}: ratio {device / engine:.4f}", flush=True)
        print(f"  {NAME} {verdict(record, NAME)}", flush=True)
    return records


if __name__ == "__main__":
    start(main)
