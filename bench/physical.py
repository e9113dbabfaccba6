"""Physical reads of 8 and 32 sessions compared with fio on the same file system, and their CPU with pgbench's.

fio reads a file as large as the data with as many jobs: synchronous, direct, blocks of the same size, at random.
pgbench runs one-row selects with as many clients; its physical reads are those that the server counts, its CPU is the
server's.

    .venv/bin/python bench/physical.py [--quick] [--seconds 10] [--rounds 5]
"""

from __future__ import annotations

from pathlib import Path

from common import (
    Bar,
    Bench,
    Pair,
    bench,
    figure,
    notify,
    parse,
    parser,
    print_heading,
    print_pairs,
    scratch_folder,
    start,
    verdict,
)
from openslob.core.units import MIB
from openslob.core.workload import Workload
from peers import Fio, fio_program, pgbench

# With more sessions both are bound by the CPUs, of which a server needs more for a read than fio does.
FIO_BARS = {8: Bar(0.9), 32: Bar(0.75)}
CPU_BAR = Bar(3)
# One block visit in sixteen is a cache hit.
DATA_PER_CACHE = 16


def main() -> None:
    """Run the benchmark and print the results."""
    args = parse(parser(__doc__, seconds=10, rounds=5))
    size_mb = 512 if args.quick else 1024
    with bench("physical", cache_bytes=size_mb // DATA_PER_CACHE * MIB) as target, scratch_folder() as scratch:
        target.load(_workload(size_mb, max(FIO_BARS), args.seconds))
        for sessions, bar in FIO_BARS.items():
            print_heading(f"physical, {sessions} sessions, {size_mb} MB of data", pairs=True)
            fio = _fio(target, scratch, size_mb, sessions)
            measure(target, _workload(size_mb, sessions, args.seconds), fio, bar, args.rounds)


def _workload(size_mb: int, sessions: int, seconds: float) -> Workload:
    shape = {"schemas": 1, "sessions": sessions, "scale": f"{size_mb}M", "mode": "pio"}
    return Workload.model_validate({**shape, "run_time": seconds, "warmup": 1})


def _fio(target: Bench, folder: Path, size_mb: int, jobs: int) -> Fio | None:
    program = fio_program()
    if program is None:
        notify("fio is not installed: nothing is compared with it")
        return None
    return Fio(program, folder, size_mb * MIB, target.engine.facts().block_size, jobs)


def measure(target: Bench, workload: Workload, fio: Fio | None, bar: Bar, rounds: int) -> None:
    """Measure all alternatives in turn, and print the ratios."""
    keys = workload.scale.blocks(target.engine.facts().block_size)
    reads: list[Pair] = []
    by_cpu: list[Pair] = []
    for number in range(rounds):
        notify(f"round {number + 1} of {rounds}")
        ours = target.run(**workload.to_record())
        notify(verdict(ours, "mode"))
        if fio:
            reads.append(Pair(figure(ours, "pio_read_per_s"), fio.iops(workload.run_time)))
        theirs = pgbench(target, keys, workload.total_sessions, workload.run_time)
        by_cpu.append(Pair(figure(ours, "iops_per_db_cpu"), theirs.reads_per_cpu_s))
    if reads:
        print_pairs("reads/s, fio", reads, bar)
    print_pairs("reads per DB CPU second, pgbench prepared", by_cpu, CPU_BAR)


if __name__ == "__main__":
    start(main)
