"""What we are measured against, on the same server and data: pgbench, a loop of dynamic SQL, and fio."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import psycopg

from common import Bench
from openslob.engines.postgresql.binaries import find_installation
from openslob.errors import SlobError
from openslob.record.measurement import EngineDelta, HostDelta
from openslob.run.samplers import Samplers
from openslob.sample.os_reader import difference

TABLE = "slob.cf1_1"
DYNAMIC_LOOP = Path(__file__).parent / "sql" / "dynamic_loop.sql"
# Backends hand their counters in when they end, which may be a moment after their client has.
COUNTERS_SETTLE_S = 0.5


@dataclass(frozen=True)
class Observed:
    """What a peer did per second, and what server and host counted from its start to its end."""

    per_s: float
    engine: EngineDelta
    host: HostDelta

    @property
    def reads_per_cpu_s(self) -> float:
        """Physical read requests per CPU second of the server."""
        if not self.engine.read_requests or not self.host.server_cpu_s:
            raise SlobError("the peer's reads or the server's CPU are unknown", str(self.engine.unknown))
        return self.engine.read_requests / self.host.server_cpu_s


def pgbench(bench: Bench, keys: int, clients: int, seconds: float) -> Observed:
    """One-row selects by prepared statements on our table: transactions per second, with the server's cost."""
    with tempfile.TemporaryDirectory(prefix="slob-bench-") as folder:
        script = Path(folder) / "select.sql"
        script.write_text(f"\\set key random(1, {keys})\nSELECT count(c2) FROM {TABLE} WHERE custid = :key;\n")
        samplers = Samplers(bench.engine, clients, lambda _: None)
        try:
            samplers.get_ready()
            before = samplers.opening_edge()
            per_s = _run_pgbench(bench, script, clients, seconds)
            time.sleep(COUNTERS_SETTLE_S)
            after = samplers.closing_edge()
            return Observed(per_s, samplers.engine_delta(before, after), difference(before.os, after.os))
        finally:
            samplers.close()


def _run_pgbench(bench: Bench, script: Path, clients: int, seconds: float) -> float:
    program = find_installation(bench.server.status().spec).program("pgbench")
    threads = min(clients, os.cpu_count() or 1)
    options = ["-n", "-M", "prepared", "-f", script, "-c", clients, "-j", threads, "-T", max(1, round(seconds))]
    done = subprocess.run(
        [str(part) for part in (program, *options, bench.url)], capture_output=True, text=True, check=False
    )
    found = re.search(r"^tps = ([\d.]+)", done.stdout, re.MULTILINE)
    if done.returncode != 0 or found is None:
        raise SlobError(f"pgbench failed: {done.stderr.strip() or done.stdout.strip()}")
    return float(found[1])


def dynamic_loop(bench: Bench, keys: int, work_unit: int, sessions: int, seconds: float) -> float:
    """Block visits per second of so many sessions that run the loop of dynamic SQL at the same time."""
    with psycopg.connect(bench.url, autocommit=True) as connection:
        connection.execute(DYNAMIC_LOOP.read_text())

    def visits_per_s(_: int) -> float:
        with psycopg.connect(bench.url) as connection:
            call = "SELECT visits / seconds FROM bench_dynamic_loop(%s, %s::numeric, %s, %s)"
            row = connection.execute(call, (TABLE, seconds, keys, work_unit)).fetchone()
        if row is None:
            raise SlobError("the loop of dynamic SQL returned nothing")
        return float(row[0])

    with ThreadPoolExecutor(sessions) as pool:
        return sum(pool.map(visits_per_s, range(sessions)))


def fio_program() -> str | None:
    """Path of fio, or None when it is not installed."""
    return shutil.which("fio")


class Fio:
    """Random single-block reads by fio on a file of its own: synchronous, direct, another order every time."""

    def __init__(self, program: str, folder: Path, size: int, block_size: int, jobs: int) -> None:
        self._command = [
            program, "--name=randread", f"--filename={folder / 'fio.data'}", f"--size={size}", f"--bs={block_size}",
            "--rw=randread", "--ioengine=psync", "--direct=1", f"--numjobs={jobs}", "--norandommap", "--randrepeat=0",
            "--group_reporting", "--output-format=json",
        ]  # fmt: skip
        self._call("--create_only=1")

    def iops(self, seconds: float) -> float:
        """Reads per second of all jobs together."""
        jobs = self._call("--time_based", f"--runtime={seconds:g}s")["jobs"]
        return float(sum(job["read"]["iops"] for job in jobs))

    def _call(self, *options: str) -> dict[str, list[dict[str, dict[str, float]]]]:
        done = subprocess.run([*self._command, *options], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SlobError(f"fio failed: {done.stderr.strip()}")
        # fio may say something before its JSON.
        parsed: dict[str, list[dict[str, dict[str, float]]]] = json.loads(done.stdout[done.stdout.index("{") :])
        return parsed
