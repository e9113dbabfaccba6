"""Physical reads of 8 sessions compared with fio on the same file system, and their CPU with pgbench's.

fio reads a file as large as the data: 8 jobs, synchronous, direct, blocks of the same size, at random. pgbench runs
one-row selects with 8 clients; its physical reads are those that the server counts, its CPU is the server's.

    .venv/bin/python bench/physical.py [--quick] [--seconds 10] [--rounds 5]
"""

from __future__ import annotations

from contextlib import ExitStack

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
from openslob.units import MIB
from openslob.workload import Workload
from peers import Fio, fio_program, pgbench

SESSIONS = 8
FIO_BAR = Bar(0.9)
CPU_BAR = Bar(3)
# One block visit in sixteen is a cache hit.
DATA_PER_CACHE = 16


def main() -> None:
    """Run the benchmark and print the results."""
    args = parse(parser(__doc__, seconds=10, rounds=5))
    size_mb = 512 if args.quick else 1024
    shape = {"schemas": 1, "sessions": SESSIONS, "scale": f"{size_mb}M", "mode": "pio"}
    workload = Workload.model_validate({**shape, "run_time": args.seconds, "warmup": 1})
    with ExitStack() as stack:
        target = stack.enter_context(bench("physical", cache_bytes=size_mb // DATA_PER_CACHE * MIB))
        target.load(workload)
        fio = _fio(target, stack, size_mb)
        print_heading(f"physical, {SESSIONS} sessions, {size_mb} MB of data", pairs=True)
        measure(target, workload, fio, args.rounds)


def _fio(target: Bench, stack: ExitStack, size_mb: int) -> Fio | None:
    program = fio_program()
    if program is None:
        notify("fio is not installed: nothing is compared with it")
        return None
    block_size = target.engine.facts().block_size
    return Fio(program, stack.enter_context(scratch_folder()), size_mb * MIB, block_size, SESSIONS)


def measure(target: Bench, workload: Workload, fio: Fio | None, rounds: int) -> None:
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
        theirs = pgbench(target, keys, SESSIONS, workload.run_time)
        by_cpu.append(Pair(figure(ours, "iops_per_db_cpu"), theirs.reads_per_cpu_s))
    if reads:
        print_pairs("reads/s, fio", reads, FIO_BAR)
    print_pairs("reads per DB CPU second, pgbench prepared", by_cpu, CPU_BAR)


if __name__ == "__main__":
    start(main)
