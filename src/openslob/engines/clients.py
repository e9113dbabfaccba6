"""Client programs of a product: how they find the target, and ready-made workloads on tables of their own.

A ready-made workload is what a known benchmark program runs: its tables are in a place that nothing else uses.
"""

from __future__ import annotations

import math
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from openslob.core.disk import scratch_folder
from openslob.core.errors import SlobError, UsageError
from openslob.core.guard import guard_group
from openslob.core.histogram import Histogram
from openslob.core.secrets import redact_words
from openslob.core.units import MIB

# Schema or database of the tables of ready-made workloads.
TABLES = "slob_workload"
# Rows for each unit of scale, as pgbench has them in its accounts; in so many tables where there are several.
ROWS_PER_SCALE = 100_000
_TABLES = 4
_POLL_S = 0.1
_US_PER_MS = 1_000
# How the names of their tables begin.
_OURS = ("pgbench_", "sbtest")
_LUA = {
    "oltp-read-only": "oltp_read_only",
    "oltp-read-write": "oltp_read_write",
    "oltp-write-only": "oltp_write_only",
    "oltp-point-select": "oltp_point_select",
    "oltp-update-index": "oltp_update_index",
    "oltp-update-non-index": "oltp_update_non_index",
}
SYSBENCH_WORKLOADS = tuple(_LUA)
# Least size of the tables and their indexes for each unit of scale.
_PGBENCH_UNIT, _SYSBENCH_UNIT = 15 * MIB, 22 * MIB


def scale_of(name: str, size: int) -> int:
    """Return the scale at which the tables of a workload have at least so many bytes."""
    return max(1, math.ceil(size / (_SYSBENCH_UNIT if name in SYSBENCH_WORKLOADS else _PGBENCH_UNIT)))


def table_sets(names: Sequence[str]) -> int:
    """Return how many sets of tables these workloads have: those of one program share theirs."""
    return len({name in SYSBENCH_WORKLOADS for name in names})


@dataclass(frozen=True)
class WorkloadRequest:
    """A ready-made workload: ``clients`` connections for ``seconds``; ``scale`` is in units of `ROWS_PER_SCALE` rows.

    ``version`` is the server's, ``bin_dir`` the directory of its programs if that is known. ``stopped`` tells whether
    the user wants no more of it. The tables must be made in ``limit_s`` seconds, if that is given. If ``timed``, the
    program notes how long its transactions take.
    """

    name: str
    clients: int
    seconds: float
    scale: int
    version: str
    bin_dir: Path | None = None
    stopped: Callable[[], bool] = lambda: False
    limit_s: float | None = None
    timed: bool = False

    @property
    def threads(self) -> int:
        """How many threads of the program drive the clients: one for each CPU is enough."""
        return max(1, min(self.clients, os.cpu_count() or 1))


@dataclass(frozen=True)
class ClientResult:
    """What a client program says of its run: transactions, their rate per second, and how long they took.

    ``latency`` has all of them, where the program noted each; ``latency_us`` the figures that it says itself.
    """

    transactions: int
    per_s: float
    latency: Histogram | None = None
    latency_us: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class ReadyWorkload:
    """A workload of a client program whose tables are there: its command, without passwords, and what it runs in.

    ``program`` has its version. ``result`` reads what the command printed, after each of its runs; SlobError when that
    can't be read. ``remarks`` are what must be known of the choice of the program.
    """

    command: Sequence[str]
    program: str
    result: Callable[[str], ClientResult]
    environment: Mapping[str, str] = field(default_factory=dict)
    remarks: Sequence[str] = ()

    def spec(self, request: WorkloadRequest) -> dict[str, Any]:
        """Return what the record of an observation says of its load."""
        shape = {"scale": request.scale, "clients": request.clients, "program": self.program}
        return {
            "command": redact_words(self.command),
            "seconds": request.seconds,
            "workload": {"name": request.name, **shape},
        }


class ClientPrograms(Protocol):
    """The functions of an engine's module for client programs."""

    def environment(self, url: str) -> Mapping[str, str]:
        """Return the variables by which the product's client programs find the target, and a password for it."""

    def workloads(self) -> Sequence[str]:
        """Return the names of the ready-made workloads."""

    def ready(
        self, url: str, requests: Sequence[WorkloadRequest], keep: bool
    ) -> AbstractContextManager[Mapping[str, ReadyWorkload]]:
        """Return workloads by name, with their tables, which are removed at the end of the block unless ``keep``.

        Workloads of one program share their tables, at the scale of the first. UsageError for an unknown name,
        SlobError when a program is missing or can't make its tables.
        """

    def selects(
        self, url: str, request: WorkloadRequest, schemas: int, keys: int
    ) -> AbstractContextManager[ReadyWorkload]:
        """Return one-row selects of keys 1 to ``keys`` in the table of each schema of a load.

        SlobError when the product has no program that makes them.
        """


def require_workload(name: str, known: Sequence[str], flag: str = "--workload") -> None:
    """Raise UsageError unless there is a workload of this name."""
    if name not in known:
        raise UsageError(f"{flag} {name}: there is no such workload on this server", f"there are {', '.join(known)}")


def require_ours(tables: Sequence[str]) -> None:
    """Raise SlobError for tables in `TABLES` that no workload makes: they are somebody's, and would be removed."""
    if others := [name for name in tables if not name.startswith(_OURS)]:
        raise SlobError(
            f"{TABLES} has tables that no workload made, such as {others[0]}", "rename it: workloads make their own"
        )


def run_program(
    words: Sequence[str], environment: Mapping[str, str], stopped: Callable[[], bool], limit_s: float | None = None
) -> str:
    """Run a client program to its end and return its output.

    SlobError when it fails, takes longer than ``limit_s``, or ``stopped`` says so.
    """
    until = time.monotonic() + (limit_s or math.inf)
    with (
        tempfile.TemporaryFile() as output,
        subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **environment},
            process_group=0,
        ) as process,
        guard_group(process.pid),
    ):
        try:
            while True:
                try:
                    code = process.wait(_POLL_S)
                    break
                except subprocess.TimeoutExpired:
                    if stopped():
                        raise SlobError("stopped before the start; nothing was observed") from None
                    if time.monotonic() > until:
                        why = f"{Path(words[0]).name} did not make its tables in {limit_s:,.0f} s"
                        raise SlobError(why, "give less data") from None
        finally:
            if process.poll() is None:
                process.kill()
        output.seek(0)
        said = output.read().decode(errors="replace").strip()
    if code:
        why = said.splitlines()[-1] if said else f"exit code {code}"
        raise SlobError(f"{Path(words[0]).name} failed: {why}", "see whether the user may create tables there")
    return said


@dataclass(frozen=True)
class Sysbench:
    """sysbench for one driver; ``connection`` are its options of the connection, which no command line shows."""

    driver: str
    connection: Mapping[str, object]
    environment: Mapping[str, str] = field(default_factory=dict)

    @contextmanager
    def ready(self, requests: Sequence[WorkloadRequest]) -> Iterator[Mapping[str, ReadyWorkload]]:
        """Make the tables in the database of the connection, whose place the caller makes and removes."""
        first, program = requests[0], require_sysbench(requests[0].name)
        with scratch_folder("sysbench") as folder:
            file = folder / "sysbench.conf"
            file.touch(mode=0o600)
            options = {
                "db-driver": self.driver,
                **{f"{self.driver}-{name}": to for name, to in self.connection.items()},
            }
            file.write_text("".join(f"{name}={to}\n" for name, to in options.items()), encoding="utf-8")
            shared = [f"--config-file={file}", f"--tables={_TABLES}"]
            shared.append(f"--table-size={first.scale * ROWS_PER_SCALE // _TABLES}")
            making = [program, _LUA[first.name], *shared, f"--threads={min(_TABLES, first.threads)}", "prepare"]
            run_program(making, self.environment, first.stopped, first.limit_s)
            said = version_of(program)
            yield {
                request.name: ReadyWorkload(
                    [program, _LUA[request.name], *shared, *_sysbench_load(request)],
                    said,
                    sysbench_result,
                    self.environment,
                )
                for request in requests
            }


def _sysbench_load(request: WorkloadRequest) -> Sequence[str]:
    timed = ["--percentile=99"] if request.timed else []
    seconds = max(1, round(request.seconds))
    return [f"--threads={request.clients}", f"--time={seconds}", "--events=0", *timed, "run"]


def sysbench_result(output: str) -> ClientResult:
    """Return what sysbench printed. SlobError when it printed no rate."""
    done = re.search(r"^ *transactions: +(\d+) +\(([\d.]+) per sec", output, re.MULTILINE)
    if done is None:
        raise SlobError(f"sysbench's output can't be read: {output.strip()!r}")
    patterns = {"mean_us": r"^ *avg: +([\d.]+)", "p99_us": r"^ *99th percentile: +([\d.]+)"}
    found = {name: re.search(pattern, output, re.MULTILINE) for name, pattern in patterns.items()}
    latency = {name: float(said[1]) * _US_PER_MS for name, said in found.items() if said}
    return ClientResult(int(done[1]), float(done[2]), latency_us=latency)


def require_sysbench(name: str) -> str:
    """Return the path of sysbench, which the workload of this name needs. SlobError when it is not installed."""
    if program := shutil.which("sysbench"):
        return program
    raise SlobError(f"the workload {name} needs sysbench, which is not installed", "apt-get install sysbench")


def version_of(program: str) -> str:
    """Return the name of a program with its version, as it says itself."""
    said = run_program([program, "--version"], {}, lambda: False)
    return re.sub(r"\s*\(using.*\)", "", said.splitlines()[0]) if said else Path(program).name
