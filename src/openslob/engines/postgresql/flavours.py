"""What speaks PostgreSQL's protocol: how each is recognised, with where that is documented, and what it means.

The tests run on PostgreSQL itself. No other of these was tried: their answers are as documented.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import psycopg
from psycopg import sql

from openslob.engines.flavour import Answers, Flavour, Identity, recognise, refusal, require_signs, unknown_relative
from openslob.engines.postgresql.connection import Connection, statement
from openslob.engines.postgresql.errors import explain_error

FAMILY = "PostgreSQL"
_KEY_VALUE = "its rows are in a key-value store, where no block holds one row and no read is that of a block"
# What PostgreSQL and those who package it write. A fork adds a name of its own.
_PACKAGERS = r"Debian|Ubuntu|Raspbian|Devuan|Homebrew|Postgres\.app"
ORIGINAL = Flavour(
    FAMILY,
    text=rf"^PostgreSQL (\d+(?:\.\d+|devel|(?:beta|rc)\d+)) ?(?:\((?:{_PACKAGERS})[^()]*\) ?)?"
    r"(?:on [\w.-]+)?, compiled by .*\b(?:32|64)-bit$",
    placement="ctid",
    lock="advisory",
)
# The first that fits counts: what is more than another comes before it.
FLAVOURS: Sequence[Flavour] = (
    Flavour(
        "CockroachDB", "https://www.cockroachlabs.com/docs/v26.3/postgresql-compatibility",
        r"^CockroachDB\D* v(\S+)", ["parameter crdb_version"], refused=_KEY_VALUE,
    ),
    Flavour(
        "YugabyteDB", "https://docs.yugabyte.com/stable/architecture/docdb/", r"-YB-([\d.]+)", refused=_KEY_VALUE,
    ),
    Flavour(
        "Amazon Redshift", "https://docs.aws.amazon.com/redshift/latest/dg/c_redshift-and-postgres-sql.html",
        r"\bRedshift ([\d.]+)", ["parameter padb_version"],
        refused="its tables are stored by column and have no index, so that no block holds one row",
    ),
    Flavour(
        "Greenplum", "https://docs.huihoo.com/greenplum/pivotal/4.3.6/concepts.html",
        r"\(Greenplum Database ([^\s)]+)", ["setting gp_server_version"],
        refused="its rows are on segments, whose reads are not among the counts of the server that is named",
    ),
    Flavour(
        "QuestDB", "https://questdb.com/docs/pgwire/pgwire-intro", r", QuestDB",
        refused="it takes PostgreSQL's protocol, but not the statements of a load: it has no DELETE and no procedures",
    ),
    Flavour(
        "Amazon Aurora PostgreSQL",
        "https://docs.aws.amazon.com/AmazonRDS/latest/AuroraUserGuide/Aurora.VersionPolicy.Versioning.html",
        signs=["function aurora_version"], versioned_by="function aurora_version", placement="ctid", lock="advisory",
        settings="DB parameter group",
        no_device="Aurora's blocks are in a storage service of its own, or in the local NVMe tier of its "
        "optimized reads (aurora_stat_optimized_reads_cache)",
    ),
    Flavour(
        "AlloyDB", "https://dbdb.io/db/alloydb",
        signs=["setting alloydb.iam_authentication", "setting alloydb.logical_decoding"],
        placement="ctid", lock="advisory", settings="database flags",
        no_device="AlloyDB's blocks are in a storage service of its own, or in a cache on local SSD",
    ),
    Flavour(
        "Neon", "https://neon.com/docs/extensions/neon", signs=["setting neon.tenant_id", "setting neon.timeline_id"],
        placement="ctid", lock="advisory",
        no_device="Neon's blocks are on page servers, or in the local file cache (neon_stat_file_cache)",
    ),
    Flavour(
        "Citus", "https://docs.citusdata.com/en/v10.2/develop/api_metadata.html", signs=["extension citus"],
        versioned_by="extension citus", placement="ctid", lock="advisory",
        limits="the tables of a load are local to the node that is named, and the figures are that node's",
    ),
    Flavour(
        "Azure Database for PostgreSQL",
        "https://learn.microsoft.com/en-us/azure/postgresql/extensions/how-to-allow-extensions",
        signs=["setting azure.extensions"], placement="ctid", lock="advisory", settings="server parameters",
    ),
    Flavour(
        "Cloud SQL for PostgreSQL", "https://cloud.google.com/sql/docs/postgres/flags",
        signs=["setting cloudsql.iam_authentication", "setting cloudsql.logical_decoding"],
        placement="ctid", lock="advisory", settings="database flags",
    ),
    Flavour(
        "Amazon RDS for PostgreSQL",
        "https://docs.aws.amazon.com/AmazonRDS/latest/UserGuide/PostgreSQL.Concepts.General.FeatureSupport.Extensions.html",
        signs=["setting rds.extensions"], placement="ctid", lock="advisory", settings="DB parameter group",
    ),
    Flavour(
        "EDB Postgres Advanced Server", "https://docslib.org/doc/9644598/edb-postgres-advanced-server-guide",
        r"\(EnterpriseDB Advanced Server ([^\s)]+)", ["setting edb_redwood_date"], placement="ctid", lock="advisory",
    ),
    ORIGINAL,
)  # fmt: skip
# The work loop is written in it; the client loop does without.
_LANGUAGE = "language plpgsql"
# What the method can't do without, and what for.
_NEEDED = {
    "access method heap": "places one row in each block",
    "function pg_try_advisory_lock": "keeps two runs apart",
    "function pg_try_advisory_lock_shared": "stops the sessions",
    "function pg_relation_size": "counts the blocks of a table",
    "function pg_stat_get_blocks_fetched": "counts the visits of blocks",
}
# What every PostgreSQL from 13 on has besides, and imitations often lack.
_USUAL = (
    *("function pg_blocking_pids", "function pg_control_system", "function pg_current_wal_flush_lsn"),
    *("function pg_export_snapshot", "function pg_stat_get_wal_senders"),
)
# What the server sends when a connection begins.
_PARAMETERS = ("crdb_version", "padb_version")


def identify(connection: Connection, target: str) -> Identity:
    """Return which product the server is. SlobError when nothing can be measured there."""
    answers, shown = _ask(connection, target)
    found = recognise(FLAVOURS, answers, target)
    doubts = list(_doubts(answers, shown)) if found and found.product == FAMILY else []
    if found is None or doubts:
        found = unknown_relative(answers, doubts)
    require_signs(_NEEDED, answers, target, f"{found.product} {found.version}")
    if _LANGUAGE not in answers.signs:
        found = replace(found, no_loop=f"it has no {_LANGUAGE}, which that is written in")
    if found.versioned_by.startswith("function "):
        name = sql.Identifier(found.versioned_by.removeprefix("function "))
        version = connection.execute(sql.SQL("SELECT pg_catalog.{}()").format(name)).fetchall()[0][0]
        found = replace(found, version=str(version))
    return found


def _doubts(answers: Answers, shown: str) -> Iterator[str]:
    """Yield why a server that calls itself PostgreSQL is not taken for it."""
    if shown != answers.text:
        yield f"version() in its search_path answers {shown!r}"
    if not re.match(rf"PostgreSQL {re.escape(answers.number)}\W", answers.text):
        yield f"its server_version is {answers.number}, and its version text {answers.text!r}"
    for sign in (_LANGUAGE, *_NEEDED, *_USUAL):
        if sign not in answers.signs:
            yield f"it has no {sign}"


def _ask(connection: Connection, target: str) -> tuple[Answers, str]:
    """Return the answers, and what version() gives in the search_path of the role, for the statements of others."""
    sent = {name: connection.info.parameter_status(name) for name in ("server_version", *_PARAMETERS)}
    number = (sent.pop("server_version") or "").partition(" ")[0]
    signs = {f"parameter {name}": value for name, value in sent.items() if value}
    try:
        rows = connection.execute(statement("flavours", "signs", **_names())).fetchall()
    except (psycopg.ProgrammingError, psycopg.NotSupportedError, psycopg.InternalError, psycopg.DataError) as error:
        if connection.closed:
            raise
        # What has other catalogs than PostgreSQL at least says its version.
        text = str(connection.execute(statement("flavours", "text")).fetchall()[0][0])
        answers = Answers(FAMILY, number, text, signs)
        recognise((row for row in FLAVOURS if row is not ORIGINAL), answers, target)
        why = f"it refuses the query of its catalogs: {explain_error(error)}"
        raise refusal(target, f"an unknown relative of {FAMILY}: {text}", why) from error
    said = {f"{kind} {name}": value or "" for kind, name, value in rows}
    text, shown = said.pop("text version"), said.pop("text shown")
    return Answers(FAMILY, number, text, signs | said), shown


def _names() -> dict[str, sql.Composable]:
    """Return the names to look for, by the placeholder of their kind."""
    known = [sign for row in FLAVOURS for sign in row.signs]
    found: dict[str, list[str]] = {"setting": [], "function": [], "extension": [], "language": [], "method": []}
    for sign in dict.fromkeys((*known, _LANGUAGE, *_NEEDED, *_USUAL)):
        kind, _, name = sign.rpartition(" ")
        found.setdefault(kind.removeprefix("access "), []).append(name)
    return {kind: sql.SQL(", ").join(map(sql.Literal, names)) for kind, names in found.items() if kind != "parameter"}
