"""Client programs of a product: how they find the target, and ready-made workloads on tables of their own.

A ready-made workload is what a known benchmark program runs: its tables are in a place that nothing else uses.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from openslob.errors import SlobError, UsageError

# Schema or database of the tables of ready-made workloads.
TABLES = "slob_workload"
# Rows for each unit of scale, as pgbench has them in its accounts; in so many tables where there are several.
ROWS_PER_SCALE = 100_000
_TABLES = 4
_POLL_S = 0.1
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


@dataclass(frozen=True)
class WorkloadRequest:
    """A ready-made workload: ``clients`` connections for ``seconds``; ``scale`` is in units of `ROWS_PER_SCALE` rows.

    ``version`` is the server's, ``bin_dir`` the directory of its programs if that is known. ``stopped`` tells whether
    the user wants no more of it.
    """

    name: str
    clients: int
    seconds: float
    scale: int
    version: str
    bin_dir: Path | None = None
    stopped: Callable[[], bool] = lambda: False

    @property
    def threads(self) -> int:
        """How many threads of the program drive the clients: one for each CPU is enough."""
        return max(1, min(self.clients, os.cpu_count() or 1))


@dataclass(frozen=True)
class ReadyWorkload:
    """A ready-made workload whose tables are there: its command, without passwords, and what it runs in.

    ``program`` has its version. ``remarks`` are what must be known of the choice of the program.
    """

    command: Sequence[str]
    program: str
    environment: Mapping[str, str] = field(default_factory=dict)
    remarks: Sequence[str] = ()


class ClientPrograms(Protocol):
    """The functions of an engine's module for client programs."""

    def environment(self, url: str) -> Mapping[str, str]:
        """Return the variables by which the product's client programs find the target, and a password for it."""

    def workloads(self) -> Sequence[str]:
        """Return the names of the ready-made workloads."""

    def ready(self, url: str, request: WorkloadRequest, keep: bool) -> AbstractContextManager[ReadyWorkload]:
        """Return a workload with its tables, which are removed at the end of the block unless ``keep``.

        UsageError for an unknown name, SlobError when the program is missing or can't make its tables.
        """


def require_workload(name: str, known: Sequence[str]) -> None:
    """Raise UsageError unless there is a workload of this name."""
    if name not in known:
        raise UsageError(
            f"--workload {name}: there is no such workload on this server", f"there are {', '.join(known)}"
        )


def require_ours(tables: Sequence[str]) -> None:
    """Raise SlobError for tables in `TABLES` that no workload makes: they are somebody's, and would be removed."""
    if others := [name for name in tables if not name.startswith(_OURS)]:
        raise SlobError(
            f"{TABLES} has tables that no workload made, such as {others[0]}", "rename it: workloads make their own"
        )


def run_program(words: Sequence[str], environment: Mapping[str, str], stopped: Callable[[], bool]) -> str:
    """Run a client program to its end and return its output. SlobError when it fails or ``stopped`` says so."""
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
    ):
        try:
            while True:
                try:
                    code = process.wait(_POLL_S)
                    break
                except subprocess.TimeoutExpired:
                    if stopped():
                        raise SlobError("stopped before the start; nothing was observed") from None
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
    def ready(self, request: WorkloadRequest) -> Iterator[ReadyWorkload]:
        """Make the tables in the database of the connection, whose place the caller makes and removes."""
        program = shutil.which("sysbench")
        if program is None:
            raise SlobError(
                f"the workload {request.name} needs sysbench, which is not installed", "apt-get install sysbench"
            )
        with tempfile.TemporaryDirectory(prefix="slob-sysbench-") as folder:
            file = Path(folder) / "sysbench.conf"
            file.touch(mode=0o600)
            options = {
                "db-driver": self.driver,
                **{f"{self.driver}-{name}": to for name, to in self.connection.items()},
            }
            file.write_text("".join(f"{name}={to}\n" for name, to in options.items()), encoding="utf-8")
            size = [f"--tables={_TABLES}", f"--table-size={request.scale * ROWS_PER_SCALE // _TABLES}"]
            base = [program, _LUA[request.name], f"--config-file={file}", *size]
            run_program(
                [*base, f"--threads={min(_TABLES, request.threads)}", "prepare"], self.environment, request.stopped
            )
            load = [f"--threads={request.clients}", f"--time={max(1, round(request.seconds))}", "--events=0"]
            yield ReadyWorkload([*base, *load, "run"], version_of(program), self.environment)


def version_of(program: str) -> str:
    """Return the name of a program with its version, as it says itself."""
    said = run_program([program, "--version"], {}, lambda: False)
    return re.sub(r"\s*\(using.*\)", "", said.splitlines()[0]) if said else Path(program).name
