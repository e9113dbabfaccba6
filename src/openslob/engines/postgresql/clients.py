"""PostgreSQL's client programs: the variables of libpq, and the workloads of pgbench and sysbench."""

from __future__ import annotations

import re
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
from psycopg import conninfo, sql

from openslob.core.disk import scratch_folder
from openslob.core.errors import SlobError
from openslob.core.histogram import Histogram
from openslob.engines.client_loop import histogram_of
from openslob.engines.clients import (
    SYSBENCH_WORKLOADS,
    TABLES,
    ClientResult,
    ReadyWorkload,
    Sysbench,
    WorkloadRequest,
    require_ours,
    require_workload,
    run_program,
    version_of,
)
from openslob.engines.common_checks import LOCK_PATIENCE_S
from openslob.engines.postgresql.binaries import major
from openslob.engines.postgresql.errors import report_as
from openslob.engines.postgresql.names import PostgresNames
from openslob.engines.postgresql.providers import find_installation
from openslob.engines.postgresql.quiesce import checkpoint
from openslob.engines.postgresql.server import default_spec

# libpq's variable for each parameter of a URL.
_VARIABLES = {
    "host": "PGHOST",
    "hostaddr": "PGHOSTADDR",
    "port": "PGPORT",
    "dbname": "PGDATABASE",
    "user": "PGUSER",
    "password": "PGPASSWORD",
    "passfile": "PGPASSFILE",
    "sslmode": "PGSSLMODE",
    "sslcert": "PGSSLCERT",
    "sslkey": "PGSSLKEY",
    "sslrootcert": "PGSSLROOTCERT",
    "options": "PGOPTIONS",
    "target_session_attrs": "PGTARGETSESSIONATTRS",
}
_SYSBENCH_OPTIONS = {
    "PGHOST": "host",
    "PGPORT": "port",
    "PGUSER": "user",
    "PGPASSWORD": "password",
    "PGDATABASE": "db",
}
# pgbench's own scripts by workload.
_BUILTIN = {"tpcb": "tpcb-like", "tpcb-simple-update": "simple-update", "tpcb-select": "select-only"}
_DEBIAN = "/usr/lib/postgresql/{version}/bin/pgbench"
_AT_WORK = """
SELECT l.pid, a.application_name
  FROM pg_locks AS l JOIN pg_class AS c ON c.oid = l.relation JOIN pg_stat_activity AS a USING (pid)
 WHERE c.relnamespace = to_regnamespace(%s) AND a.datname = current_database() AND l.pid <> pg_backend_pid()"""
_LOG = "log"
_LATENCY_FIELD = 2  # of a line of its log, in µs


def environment(url: str) -> Mapping[str, str]:
    """Return libpq's variables for the target; a password is in one, as libpq itself reads it."""
    given = conninfo.conninfo_to_dict(url)
    return {variable: str(given[name]) for name, variable in _VARIABLES.items() if given.get(name)}


def workloads() -> Sequence[str]:
    """Return the names of the ready-made workloads."""
    return (*_BUILTIN, *SYSBENCH_WORKLOADS)


@contextmanager
def ready(url: str, requests: Sequence[WorkloadRequest], keep: bool) -> Iterator[Mapping[str, ReadyWorkload]]:
    """Make the tables of workloads in a schema of their own; remove it at the end of the block unless ``keep``."""
    for request in requests:
        require_workload(request.name, workloads())
    given = environment(url)
    variables = {**given, "PGOPTIONS": f"{given.get('PGOPTIONS', '')} -c search_path={TABLES}".strip()}
    of_sysbench = [request for request in requests if request.name in SYSBENCH_WORKLOADS]
    of_pgbench = [request for request in requests if request not in of_sysbench]
    with ExitStack() as opened:
        opened.enter_context(_schema(url, keep))
        made: dict[str, ReadyWorkload] = {}
        if of_pgbench:
            made |= opened.enter_context(_pgbench(of_pgbench, variables))
        if of_sysbench:
            made |= opened.enter_context(_sysbench(of_sysbench, variables))
        remarks = _checkpoint(url)
        yield {name: replace(workload, remarks=(*workload.remarks, *remarks)) for name, workload in made.items()}


@contextmanager
def selects(url: str, request: WorkloadRequest, schemas: int, keys: int) -> Iterator[ReadyWorkload]:
    """Select one row by a random key, of a table drawn for each transaction, with prepared statements."""
    with scratch_folder("pgbench") as folder:
        scripts = [part for script in _scripts(schemas, keys, folder) for part in ("-f", str(script))]
        yield _of_pgbench(find_pgbench(request), scripts, request, environment(url), folder)


def _scripts(schemas: int, keys: int, folder: Path) -> Iterator[Path]:
    """Write a script for each table."""
    for number in range(1, schemas + 1):
        table = PostgresNames().cf1(number).as_string()
        script = folder / f"select-{number}.sql"
        script.write_text(
            f"\\set key random(1, {keys})\nSELECT count(c2) FROM {table} WHERE custid = :key;\n", encoding="utf-8"
        )
        yield script


@contextmanager
def _pgbench(requests: Sequence[WorkloadRequest], variables: Mapping[str, str]) -> Iterator[dict[str, ReadyWorkload]]:
    first = requests[0]
    found = find_pgbench(first)
    run_program([found[0], "-i", "-q", "-s", str(first.scale)], variables, first.stopped, first.limit_s)
    with scratch_folder("pgbench") as folder:
        yield {
            request.name: _of_pgbench(found, [f"--builtin={_BUILTIN[request.name]}"], request, variables, folder)
            for request in requests
        }


def _of_pgbench(
    found: tuple[str, Sequence[str]], what: Sequence[str], request: WorkloadRequest, variables: Mapping[str, str],
    folder: Path,
) -> ReadyWorkload:  # fmt: skip
    """Return pgbench with prepared statements; if it is to note its latencies, it does so in ``folder``."""
    program, remarks = found
    load = ["-c", str(request.clients), "-j", str(request.threads), "-T", str(max(1, round(request.seconds)))]
    timed = ["--log", f"--log-prefix={folder / _LOG}"] if request.timed else []
    words = [program, "-n", "-M", "prepared", *what, *load, *timed]
    return ReadyWorkload(words, version_of(program), partial(pgbench_result, folder=folder), variables, remarks)


def pgbench_result(output: str, folder: Path) -> ClientResult:
    """Return what pgbench printed, and logged in ``folder``. SlobError when it printed no rate."""
    rate = re.search(r"^tps = ([\d.]+)", output, re.MULTILINE)
    done = re.search(r"^number of transactions actually processed: (\d+)", output, re.MULTILINE)
    if rate is None or done is None:
        raise SlobError(f"pgbench's output can't be read: {output.strip()!r}")
    return ClientResult(int(done[1]), float(rate[1]), _read_log(folder))


def _read_log(folder: Path) -> Histogram | None:
    """Return the latencies of the last run, whose log is then removed; None if it has none."""
    logs = list(folder.glob(f"{_LOG}.*"))
    counted: Counter[int] = Counter()
    for path in logs:
        with path.open(encoding="utf-8") as lines:
            counted.update(int(line.split()[_LATENCY_FIELD]) for line in lines)
        path.unlink()
    return histogram_of(counted) if logs else None


def find_pgbench(request: WorkloadRequest) -> tuple[str, list[str]]:
    """Return the pgbench of the server's version, or another with a remark. SlobError when there is none."""
    own = str(major(request.version))
    places = [Path(_DEBIAN.format(version=own))]
    with suppress(SlobError):
        spec = replace(default_spec("any"), version=own, bin_dir=request.bin_dir)
        places.insert(0, find_installation(spec, fetch=False).program("pgbench"))
    if found := next((str(place) for place in places if place.is_file()), None):
        return found, []
    if found := shutil.which("pgbench"):
        said = version_of(found)
        return found, [] if f" {own}" in said else [f"the server has version {own}, and this is {said}"]
    why = f"the workload {request.name} needs pgbench, which is not installed"
    raise SlobError(why, f"install the client programs of PostgreSQL {own}")


@contextmanager
def _sysbench(
    requests: Sequence[WorkloadRequest], variables: Mapping[str, str]
) -> Iterator[Mapping[str, ReadyWorkload]]:
    connection = {option: variables[name] for name, option in _SYSBENCH_OPTIONS.items() if name in variables}
    with Sysbench("pgsql", connection, variables).ready(requests) as made:
        yield made


@contextmanager
def _schema(url: str, keep: bool) -> Iterator[None]:
    """Make the schema of the tables; one that was kept, or left behind, is removed first."""
    with report_as("the tables of the workload"), psycopg.connect(url, autocommit=True) as connection:
        _await_others(connection)
        _drop(connection)
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(TABLES)))
    try:
        yield
    finally:
        if not keep:
            with report_as("the tables of the workload"), psycopg.connect(url, autocommit=True) as connection:
                _drop(connection)


def _await_others(connection: psycopg.Connection[Any]) -> None:
    """Wait for a workload that has just been ended: a server process that is in a statement notices it after that.

    SlobError when somebody else works on the tables: to drop them would be a deadlock.
    """
    deadline = time.monotonic() + LOCK_PATIENCE_S
    while found := connection.execute(_AT_WORK, [TABLES]).fetchone():
        if time.monotonic() > deadline:
            pid, application = found
            why = f"{TABLES} is in use by server process {pid} ({application})"
            raise SlobError(why, "wait for it, or end it")
        time.sleep(LOCK_PATIENCE_S / 20)


def _drop(connection: psycopg.Connection[Any]) -> None:
    found = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", [TABLES]).fetchall()
    require_ours([str(name) for (name,) in found])
    connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(TABLES)))


def _checkpoint(url: str) -> list[str]:
    """Write all changed blocks, so that this does not happen under the load; return a remark if that is not allowed."""
    with psycopg.connect(url, autocommit=True) as connection:
        return [] if checkpoint(connection) else ["no checkpoint was made before the load: the user may not"]
