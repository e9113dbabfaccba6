"""What speaks MySQL's protocol: how each is recognised, with where that is documented, and what it means.

The tests run on MySQL and MariaDB themselves. No other of these was tried: their answers are as documented.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pymysql

from openslob.engines.flavour import Answers, Flavour, Identity, recognise, refusal, require_signs, unknown_relative
from openslob.engines.mysql.connection import Connection, query, query_shown, statement
from openslob.engines.mysql.errors import NOT_ANSWERED, code_of, explain_error
from openslob.engines.mysql.rocksdb import LIMITS, SIGN

MARIADB, MYSQL = "MariaDB", "MySQL"
# Each has it, and the other does not.
_OWN = {MARIADB: "variable aria_block_size", MYSQL: "variable persisted_globals_load"}
_PAGES = {"placement": "keys", "lock": "advisory"}
ORIGINALS = (
    Flavour(MARIADB, text=r"^[\d.]+(?:-\d+)?-MariaDB\b", **_PAGES),
    Flavour(MYSQL, text=r"^[\d.]+(?:-\S+)? (?:MySQL |Source distribution|\(Ubuntu\)|\(Debian\)|Homebrew)", **_PAGES),
)
# The first that fits counts: what is more than another comes before it. The version text ends with version_comment.
FLAVOURS: Sequence[Flavour] = (
    Flavour(
        "TiDB", "https://docs.pingcap.com/tidb/v8.4/mysql-compatibility", r"-TiDB-v?(\S+)",
        no_loop="it has no stored procedures, and that is one", lock="advisory",
        no_device="TiDB's rows are in a key-value store, where no page holds one row",
    ),
    Flavour(
        "Vitess", "https://vitess.io/docs/archive/21.0/reference/compatibility/mysql-compatibility/",
        r"\b(?:Vitess|PlanetScale)\b",
        no_loop="it creates no stored procedures, and that is one (PlanetScale runs Vitess)", **_PAGES,
    ),
    Flavour(
        "Dolt", "https://docs.dolthub.com/architecture/storage-engine", r" Dolt\b",
        ["variable dolt_show_system_tables", "variable dolt_log_level"],
        refused="its rows are in chunks by content, not in InnoDB's pages: no page holds one row",
    ),
    Flavour(
        "OceanBase", "https://www.oceanbase.ai/docs/version", r"-OceanBase\S*?v([\d.]+)|\bOceanBase",
        refused="its rows are in a log-structured merge tree, not in InnoDB's pages: no page holds one row",
    ),
    Flavour(
        "SingleStore", "https://docs.singlestore.com/db/v7.6/connect-to-your-cluster/connect-with-mysql/connect-with-mysql-client/",
        r"\b(?:SingleStore(?:DB)?|MemSQL) source distribution", ["variable memsql_version"],
        versioned_by="variable memsql_version",
        refused="its rows are in column segments or in memory, not in InnoDB's pages: no page holds one row",
    ),
    Flavour(
        "Amazon Aurora MySQL",
        "https://docs.aws.amazon.com/AmazonRDS/latest/AuroraUserGuide/Aurora.VersionPolicy.Versioning.html",
        signs=["variable aurora_version"], versioned_by="variable aurora_version", **_PAGES,
        settings="DB parameter group",
        no_device="Aurora's pages are in a storage service of its own",
    ),
    Flavour(
        "Cloud SQL for MySQL", "version texts in published dumps: 8.0.31-google", r"^([\d.]+)-google\b|\(Google\)$",
        **_PAGES, settings="database flags",
    ),
    Flavour(
        "Amazon RDS for {family}", "https://github.com/phpmyadmin/phpmyadmin", signs=["variable basedir=/rdsdbbin/"],
        **_PAGES, settings="DB parameter group",
    ),
    Flavour(
        "Percona XtraDB Cluster", "https://docs.percona.com/percona-xtradb-cluster/8.0/",
        r"^(\S+) Percona XtraDB Cluster", **_PAGES,
    ),
    Flavour(
        "Percona Server", "https://docs.percona.com/percona-server/8.0/", r"^(\S+) Percona Server", **_PAGES,
    ),
    Flavour(
        "{family} with RocksDB", "https://mariadb.com/kb/en/myrocks/", signs=[SIGN], lock="advisory", unit="key",
        limits=LIMITS,
    ),
    *ORIGINALS,
)  # fmt: skip
_NEEDED = {"variable innodb_page_size": "says how large the page of a row is"}


def identify(connection: Connection, target: str) -> Identity:
    """Return which product the server is. SlobError when nothing can be measured there."""
    answers = _ask(connection, target)
    found = recognise(FLAVOURS, answers, target)
    doubts = list(_doubts(answers, found.product)) if found and found.product in _OWN else []
    if found is None or doubts:
        found = unknown_relative(answers, doubts)
    require_signs(_NEEDED, answers, target, f"{found.product} {found.version}")
    return found


def _doubts(answers: Answers, product: str) -> Iterator[str]:
    """Yield why a server that calls itself by the name of an original is not taken for it."""
    other = MYSQL if product == MARIADB else MARIADB
    if _OWN[other] in answers.signs:
        yield f"it says that it is {product}, and has {other}'s {_OWN[other]}"
    # MySQL has its own from 8.0 on; older ones are refused for their age.
    if _OWN[product] not in answers.signs and not (product == MYSQL and answers.number.startswith("5.")):
        yield f"it says that it is {product}, and lacks the {_OWN[product]}"


def _ask(connection: Connection, target: str) -> Answers:
    known = (*_NEEDED, *_OWN.values(), *(sign for row in FLAVOURS for sign in row.signs))
    wanted = {"version", "version_comment", *(sign.removeprefix("variable ").partition("=")[0] for sign in known)}
    names = ", ".join(f"'{name}'" for name in sorted(wanted))
    try:
        shown = query_shown(connection, statement("flavours", "signs", names=names))
    except (
        pymysql.ProgrammingError,
        pymysql.NotSupportedError,
        pymysql.InternalError,
        pymysql.OperationalError,
    ) as error:
        if code_of(error) in NOT_ANSWERED:
            raise
        # What has no such statement at least says its version.
        version, comment = query(connection, statement("flavours", "text"))[0].values()
        answers = Answers(MYSQL, *_texts(str(version), str(comment)))
        recognise((row for row in FLAVOURS if row not in ORIGINALS), answers, target)
        why = f"it refuses the query of its settings: {explain_error(error)}"
        raise refusal(target, f"an unknown relative of {MYSQL}: {answers.text}", why) from error
    signs = {f"variable {name}": value for name, value in shown.items()}
    number, text = _texts(shown.get("version", ""), shown.get("version_comment", ""))
    family = MARIADB if _OWN[MARIADB] in signs or f"-{MARIADB}" in text else MYSQL
    return Answers(family, number, text, signs)


def _texts(version: str, comment: str) -> tuple[str, str]:
    """Return the number of the version, and the text that has all that the server says of it."""
    return version.partition("-")[0], f"{version} {comment}".strip()
