"""MariaDB's work loop compared with sysbench on cached data, and its physical reads compared with fio.

  cached    block visits/s (WORK_UNIT=64) against `sysbench oltp_point_select`, prepared, on the same server
  physical  8 sessions: reads/s against fio (psync, direct, 8 jobs, the same block size) on the same file system

sysbench (`apt-get install sysbench`) and fio are each left out where they are not installed.

    .venv/bin/python bench/mariadb.py [--quick] [--seconds 8] [--rounds 5] [--block-size-kb 16]
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from common import (
    Bar,
    Bench,
    Pair,
    bench,
    figure,
    notify,
    parse,
    parser,
    print_figure,
    print_heading,
    print_pairs,
    scratch_folder,
    start,
    verdict,
)
from openslob.core.errors import SlobError
from openslob.core.units import KIB, MIB
from openslob.core.workload import Workload
from openslob.engines.mysql.connection import parse as parse_target
from peers import Fio, fio_program

CACHED_SESSIONS = 2
PHYSICAL_SESSIONS = 8
SYSBENCH_BAR = Bar(3)
FIO_BAR = Bar(0.85)
DRIVER_BAR = Bar(2, at_least=False)
CACHED_MB = 256
# One block visit in sixteen is a cache hit.
DATA_PER_CACHE = 16
# sysbench's rows take about 220 bytes each: as much data as ours.
SYSBENCH_ROWS = 1_000_000


def main() -> None:
    """Run the benchmark and print the results."""
    options = parser(__doc__, seconds=8, rounds=5)
    options.add_argument("--block-size-kb", type=int, default=16, help="blocks of the server in KB (%(default)d)")
    args = parse(options)
    block_size = args.block_size_kb * KIB
    cached(block_size, args.seconds, args.rounds)
    physical(block_size, args.seconds, args.rounds, 512 if args.quick else 2048)


def cached(block_size: int, seconds: float, rounds: int) -> None:
    """Compare reads of cached data with sysbench."""
    shape = {"schemas": 1, "sessions": CACHED_SESSIONS, "scale": f"{CACHED_MB}M", "mode": "lio"}
    workload = Workload.model_validate({**shape, "run_time": seconds, "warmup": 1})
    with bench("cached", "mariadb", cache_bytes=4 * CACHED_MB * MIB, block_size=block_size) as target:
        target.load(workload)
        visits: list[Pair] = []
        driver: list[float] = []
        with _sysbench(target) as points_per_s:
            print_heading(f"cached, {CACHED_SESSIONS} sessions, {CACHED_MB} MB of data", pairs=True)
            for number in range(rounds):
                notify(f"round {number + 1} of {rounds}")
                ours = target.run(**workload.to_record())
                driver.append(figure(ours, "driver_cpu_pct_of_db"))
                if points_per_s:
                    visits.append(Pair(figure(ours, "block_visits_per_s"), points_per_s(seconds)))
        if visits:
            print_pairs("block visits/s, sysbench point selects/s", visits, SYSBENCH_BAR)
        print_figure("CPU of the driver", driver, "% of the server's", DRIVER_BAR)


@contextmanager
def _sysbench(target: Bench) -> Iterator[Callable[[float], float] | None]:
    """Provide a function from seconds to sysbench's point selects per second; None if sysbench is not installed."""
    program = shutil.which("sysbench")
    if program is None:
        notify("sysbench is not installed: nothing is compared with it")
        yield None
        return
    dsn = parse_target(target.url)
    options = [
        program, "oltp_point_select", f"--mysql-socket={dsn.arguments['unix_socket']}",
        f"--mysql-user={dsn.arguments['user']}", f"--mysql-db={dsn.database}", "--db-driver=mysql",
        "--db-ps-mode=auto", f"--table-size={SYSBENCH_ROWS}", f"--threads={CACHED_SESSIONS}",
    ]  # fmt: skip
    _call(*options, "prepare")

    def points_per_s(seconds: float) -> float:
        output = _call(*options, f"--time={max(1, round(seconds))}", "run")
        found = re.search(r"transactions:\s+\d+\s+\(([\d.]+) per sec", output)
        if found is None:
            raise SlobError(f"sysbench's output can't be read: {output!r}")
        return float(found[1])

    try:
        yield points_per_s
    finally:
        _call(*options, "cleanup")


def _call(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SlobError(f"sysbench failed: {done.stdout.strip() or done.stderr.strip()}")
    return done.stdout


def physical(block_size: int, seconds: float, rounds: int, size_mb: int) -> None:
    """Compare physical reads with fio."""
    shape = {"schemas": 1, "sessions": PHYSICAL_SESSIONS, "scale": f"{size_mb}M", "mode": "pio"}
    workload = Workload.model_validate({**shape, "run_time": seconds, "warmup": 1})
    cache_bytes = max(size_mb // DATA_PER_CACHE, 24) * MIB
    with ExitStack() as stack:
        target = stack.enter_context(bench("physical", "mariadb", cache_bytes=cache_bytes, block_size=block_size))
        target.load(workload)
        program = fio_program()
        if program is None:
            notify("fio is not installed: nothing is compared with it")
            return
        fio = Fio(program, stack.enter_context(scratch_folder()), size_mb * MIB, block_size, PHYSICAL_SESSIONS)
        print_heading(
            f"physical, {PHYSICAL_SESSIONS} sessions, {size_mb} MB of data, {block_size // KIB} KB", pairs=True
        )
        reads: list[Pair] = []
        for number in range(rounds):
            notify(f"round {number + 1} of {rounds}")
            ours = target.run(**workload.to_record())
            notify(verdict(ours, "reads_reached_device"))
            reads.append(Pair(figure(ours, "pio_read_per_s"), fio.iops(seconds)))
        print_pairs("reads/s, fio", reads, FIO_BAR)


if __name__ == "__main__":
    start(main)
