"""Where the server's CPU time of an operation goes: cached with WORK_UNIT=1 and 64, and physical with 8 sessions.

`perf` samples the stacks of the server's processes while the work loop runs (`apt-get install linux-perf`; needs root).
Each sample of the loop counts for the first part below whose function is on its stack. The shares of the parts are
multiplied with the server's CPU time per operation, as the run counts it.

    .venv/bin/python bench/cpu_profile.py [--quick] [--seconds 10]
"""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from common import Bench, bench, figure, notify, parse, parser, print_heading, start
from openslob.core.errors import SlobError
from openslob.core.units import MIB
from openslob.core.workload import Workload

SAMPLES_PER_S = 499
_STACK_BYTES = 8192
LOOP = "exec_stmts"
REST = "other"
# Parts of an operation in the order in which they are looked for, each with the functions that it begins with.
PARTS = {
    "reads of the device: kernel, driver, hypervisor": ("pread", "__libc_pread", "preadv", "FileReadV"),
    "checksums of blocks": ("pg_checksum_page", "PageIsVerified"),
    "buffer cache: find, pin, evict": ("ReadBuffer", "StartReadBuffer", "ReleaseAndReadBuffer", "PinBuffer"),
    "index": ("btgettuple", "btrescan", "btbeginscan", "btendscan"),
    "rows: visibility, pruning": ("index_fetch_heap", "heapam_index_fetch_tuple"),
    "executor: start and end": ("standard_ExecutorStart", "standard_ExecutorEnd", "ExecutorStart", "ExecutorEnd"),
    "executor: run, count": ("standard_ExecutorRun", "ExecutorRun"),
    "plan cache, snapshot, locks": ("SPI_execute_plan_with_paramlist", "_SPI_execute_plan"),
    "clock, histogram, mix, key: the loop's own": (LOOP,),
}


def main() -> None:
    """Run the profiles and print the tables."""
    args = parse(parser(__doc__, seconds=10, rounds=1))
    if shutil.which("perf") is None:
        raise SlobError("perf is not installed: apt-get install linux-perf")
    size_mb = 256 if args.quick else 1024
    cached, physical = {"sessions": 2, "mode": "lio"}, {"sessions": 8, "mode": "pio"}
    for title, cache_mb, cases in (
        ("cached", 2 * size_mb, [cached | {"work_unit": 1, "scale": "64M"}, cached | {"scale": "64M"}]),
        ("physical", size_mb // 16, [physical | {"scale": f"{size_mb}M"}]),
    ):
        with bench("profile", cache_bytes=cache_mb * MIB) as target:
            target.load(Workload.model_validate({"schemas": 1, "scale": f"{size_mb}M"}))
            for case in cases:
                workload = Workload.model_validate({"schemas": 1, "warmup": 1, "run_time": args.seconds, **case})
                profile(target, title, workload)


def profile(target: Bench, title: str, workload: Workload) -> None:
    """Run the workload under perf, and print the parts of an operation in µs."""
    with TemporaryDirectory() as folder:
        data = Path(folder) / "perf.data"
        with _sampled(target, data):
            record = target.run(**workload.to_record())
        stacks = list(stacks_of(_script(data)))
    parts = parts_of(stacks)
    samples = parts.total()
    if not samples:
        raise SlobError("perf has no sample of the work loop")
    op_us = 1e6 * figure(record, "db_cpu_per_s") / figure(record, "ops_per_s")
    print_heading(f"{title}, {workload.total_sessions} sessions, WORK_UNIT={workload.work_unit}: CPU of the server")
    print(f"  {'an operation':<52} {op_us:>9.2f} µs   100 %   {samples:,} samples", flush=True)
    for part in (*PARTS, REST):
        share = parts[part] / samples
        print(f"  {part:<52} {op_us * share:>9.2f} µs {100 * share:>5.1f} %", flush=True)


@contextmanager
def _sampled(target: Bench, data: Path) -> Iterator[None]:
    """Let perf follow the server and the processes that it starts."""
    pid = target.server.status().pid
    command = [
        "perf", "record", "-q", "-e", "cpu-clock", "-F", str(SAMPLES_PER_S), f"--call-graph=dwarf,{_STACK_BYTES}",
        "-p", str(pid), "-o", str(data),
    ]  # fmt: skip
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as perf:
        try:
            yield
        finally:
            perf.terminate()
    notify("reading perf's samples")


def _script(data: Path) -> list[str]:
    command = ["perf", "script", "--no-inline", "-F", "comm,ip,sym", "-i", str(data)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, errors="replace")
    if done.returncode != 0:
        raise SlobError(f"perf failed: {done.stderr.strip()}")
    return done.stdout.splitlines()


def stacks_of(lines: Iterable[str]) -> Iterator[list[str]]:
    """Yield the functions of each sample's stack, as `perf script` prints them: an address and a name a line."""
    stack: list[str] = []
    for line in lines:
        if line.startswith((" ", "\t")) and len(words := line.split()) > 1:
            stack.append(words[1])
        elif not line.strip():
            if stack:
                yield stack
            stack = []
    if stack:
        yield stack


def parts_of(stacks: Iterable[list[str]]) -> Counter[str]:
    """Return how many samples of the work loop belong to each part."""
    found: Counter[str] = Counter()
    for stack in stacks:
        functions = {name.partition(".")[0] for name in stack}
        if LOOP in functions:
            found[next((part for part, marks in PARTS.items() if functions & set(marks)), REST)] += 1
    return found


if __name__ == "__main__":
    start(main)
