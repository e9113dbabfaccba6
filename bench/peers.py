"""The alternatives that openslob is compared with: pgbench, a loop of dynamic SQL, and fio."""

from __future__ import annotations

import json
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg

from common import Bench
from openslob.core.errors import SlobError
from openslob.core.interrupt import Interrupt
from openslob.engines import registry
from openslob.engines.clients import WorkloadRequest
from openslob.kinds.storage.comparison.execute import Client, observe_client

TABLE = "slob.cf1_1"
DYNAMIC_LOOP = Path(__file__).parent / "sql" / "dynamic_loop.sql"


@dataclass(frozen=True)
class Theirs:
    """Transactions per second as pgbench says them, and reads per CPU second of the server."""

    per_s: float
    reads_per_cpu_s: float


def pgbench(bench: Bench, keys: int, clients: int, seconds: float) -> Theirs:
    """Run pgbench with prepared one-row selects on openslob's table; return its rate and the server's cost."""
    programs = registry.client_programs(bench.url)
    if programs is None:
        raise SlobError(f"no client program is known for {bench.url}")
    bin_dir = bench.server.status().spec.bin_dir
    request = WorkloadRequest("pgbench", clients, seconds, 1, bench.engine.facts().version, bin_dir)
    with programs.selects(bench.url, request, 1, keys) as selects, TemporaryDirectory() as results:
        client = Client(selects, request)
        observed = observe_client(
            bench.engine, client, "pgbench", Path(results), Interrupt(), _ignore, lambda _record: ""
        )
    per_cpu = observed.record.summary["iops_per_db_cpu"].value
    return Theirs(observed.said.per_s if observed.said else 0.0, per_cpu or 0.0)


def _ignore(_text: str) -> None:
    """Ignore messages."""


def dynamic_loop(bench: Bench, keys: int, work_unit: int, sessions: int, seconds: float) -> float:
    """Return block visits per second of sessions that run the loop of dynamic SQL at the same time."""
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
    """Return the path of fio, or None if it is not installed."""
    return shutil.which("fio")


class Fio:
    """Random single-block reads by fio on its own file: synchronous, direct, in a different order every time."""

    def __init__(self, program: str, folder: Path, size: int, block_size: int, jobs: int) -> None:
        self._command = [
            program, "--name=randread", f"--filename={folder / 'fio.data'}", f"--size={size}", f"--bs={block_size}",
            "--rw=randread", "--ioengine=psync", "--direct=1", f"--numjobs={jobs}", "--norandommap", "--randrepeat=0",
            "--group_reporting", "--output-format=json",
        ]  # fmt: skip
        self._call("--create_only=1")

    def iops(self, seconds: float) -> float:
        """Return reads per second of all jobs together."""
        jobs = self._call("--time_based", f"--runtime={seconds:g}s")["jobs"]
        return float(sum(job["read"]["iops"] for job in jobs))

    def _call(self, *options: str) -> dict[str, list[dict[str, dict[str, float]]]]:
        done = subprocess.run([*self._command, *options], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SlobError(f"fio failed: {done.stderr.strip()}")
        # fio may print messages before its JSON.
        parsed: dict[str, list[dict[str, dict[str, float]]]] = json.loads(done.stdout[done.stdout.index("{") :])
        return parsed
