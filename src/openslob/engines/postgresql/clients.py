"""PostgreSQL's client programs: the variables of libpq, and the workloads of pgbench and sysbench."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
from psycopg import conninfo, sql

from openslob.engines.clients import (
    SYSBENCH_WORKLOADS,
    TABLES,
    ReadyWorkload,
    Sysbench,
    WorkloadRequest,
    require_ours,
    require_workload,
    run_program,
    version_of,
)
from openslob.engines.postgresql.binaries import find_installation, major
from openslob.engines.postgresql.errors import reported
from openslob.engines.postgresql.server import default_spec
from openslob.errors import SlobError

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


def environment(url: str) -> Mapping[str, str]:
    """Return libpq's variables for the target; a password is in one, as libpq itself reads it."""
    given = conninfo.conninfo_to_dict(url)
    return {variable: str(given[name]) for name, variable in _VARIABLES.items() if given.get(name)}


def workloads() -> Sequence[str]:
    """Return the names of the ready-made workloads."""
    return (*_BUILTIN, *SYSBENCH_WORKLOADS)


@contextmanager
def ready(url: str, request: WorkloadRequest, keep: bool) -> Iterator[ReadyWorkload]:
    """Make the tables of a workload in a schema of their own; remove it at the end of the block unless ``keep``."""
    require_workload(request.name, workloads())
    make = _sysbench if request.name in SYSBENCH_WORKLOADS else _pgbench
    given = environment(url)
    variables = {**given, "PGOPTIONS": f"{given.get('PGOPTIONS', '')} -c search_path={TABLES}".strip()}
    with _schema(url, keep), make(request, variables) as workload:
        remarks = _checkpoint(url)
        yield replace(workload, remarks=(*workload.remarks, *remarks))


@contextmanager
def _pgbench(request: WorkloadRequest, variables: Mapping[str, str]) -> Iterator[ReadyWorkload]:
    program, remarks = _find_pgbench(request)
    run_program([program, "-i", "-q", "-s", str(request.scale)], variables, request.stopped)
    load = ["-c", str(request.clients), "-j", str(request.threads), "-T", str(max(1, round(request.seconds)))]
    words = [program, "-n", "-M", "prepared", f"--builtin={_BUILTIN[request.name]}", *load]
    yield ReadyWorkload(words, version_of(program), variables, remarks)


def _find_pgbench(request: WorkloadRequest) -> tuple[str, list[str]]:
    """Return the pgbench of the server's version, or another with a remark. SlobError when there is none."""
    own = str(major(request.version))
    places = [Path(_DEBIAN.format(version=own))]
    with suppress(SlobError):
        spec = replace(default_spec("any"), version=own, bin_dir=request.bin_dir)
        places.insert(0, find_installation(spec).program("pgbench"))
    if found := next((str(place) for place in places if place.is_file()), None):
        return found, []
    if found := shutil.which("pgbench"):
        said = version_of(found)
        return found, [] if f" {own}" in said else [f"the server has version {own}, and this is {said}"]
    why = f"the workload {request.name} needs pgbench, which is not installed"
    raise SlobError(why, f"install the client programs of PostgreSQL {own}")


@contextmanager
def _sysbench(request: WorkloadRequest, variables: Mapping[str, str]) -> Iterator[ReadyWorkload]:
    connection = {option: variables[name] for name, option in _SYSBENCH_OPTIONS.items() if name in variables}
    with Sysbench("pgsql", connection, variables).ready(request) as workload:
        yield workload


@contextmanager
def _schema(url: str, keep: bool) -> Iterator[None]:
    """Make the schema of the tables; one that was kept, or left behind, is removed first."""
    with reported("the tables of the workload"), psycopg.connect(url, autocommit=True) as connection:
        _drop(connection)
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(TABLES)))
    try:
        yield
    finally:
        if not keep:
            with reported("the tables of the workload"), psycopg.connect(url, autocommit=True) as connection:
                _drop(connection)


def _drop(connection: psycopg.Connection[Any]) -> None:
    found = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", [TABLES]).fetchall()
    require_ours([str(name) for (name,) in found])
    connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(TABLES)))


def _checkpoint(url: str) -> list[str]:
    """Write all changed blocks, so that this does not happen under the load; return a remark if that is not allowed."""
    try:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CHECKPOINT")
    except psycopg.errors.InsufficientPrivilege:
        return ["no checkpoint was made before the load: the user may not"]
    return []
