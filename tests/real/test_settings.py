"""Settings of role, database and server: every row of docs/settings.md on a real server."""

from __future__ import annotations

import re
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
import pymysql
import pytest

from factories.paths import ROOT
from factories.running import complaint, slob
from openslob.core.workload import Workload
from openslob.engines.mysql.connection import parse
from openslob.engines.registry import engine_for
from openslob.kinds.run.plan import session_plans
from openslob.record import store
from openslob.record.model import Status

pytestmark = pytest.mark.server

# Beside some of the others it makes MariaDB crash.
ALONE = ("max_session_mem_used",)
SMALL = {"schemas": 2, "scale": "1000", "scan_table_sz": "20"}
LOAD = {**SMALL, "sessions": 2, "update_pct": 20, "scan_pct": 5, "work_unit": 8, "run_time": 1, "warmup": 0}
PAGE = (ROOT / "docs" / "settings.md").read_text()
# What would keep the test from undoing a setting.
UNDISTURBED = " ".join(
    f"-c {setting}"
    for setting in (
        *(
            "statement_timeout=0",
            "idle_session_timeout=0",
            "transaction_timeout=0",
            "default_transaction_read_only=off",
        ),
        *("session_preload_libraries=", "search_path=public"),
    )
)


@dataclass(frozen=True)
class Row:
    """A row of the page: ``what`` says what a load and a run do under a value of a setting."""

    setting: str
    value: str
    what: str

    @property
    def is_set(self) -> bool:
        """Whether a session of the work loop has another value than its role or server."""
        return self.what.startswith("set to") and "for a load" not in self.what.partition(";")[0]

    @property
    def stops(self) -> bool:
        return self.what.startswith("stops")

    def __str__(self) -> str:
        return f"{self.setting}={self.value}"


def rows_of(heading):
    section = PAGE.split(f"## {heading}\n")[1].partition("\n## ")[0]
    table, _, others = section.partition("\nThese stay as they are")
    rows = [Row(*found) for found in re.findall(r"^\| `([^`]+)` \| `([^`]+)` \| (.+) \|$", table, re.MULTILINE)]
    return [*rows, *(Row(name, value, "as it is") for name, value in re.findall(r"`([\w.]+)=([^`]+)`", others))]


class Postgresql:
    """Settings of the role that everything connects as."""

    engine = "postgresql"
    rows = rows_of("PostgreSQL")

    def __init__(self, server):
        self.url = server.status().url
        self.ask("CREATE ACCESS METHOD heap2 TYPE TABLE HANDLER heap_tableam_handler")

    def ask(self, statement):
        with psycopg.connect(self.url, autocommit=True, options=UNDISTURBED) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    @contextmanager
    def having(self, row):
        # A list of schemas is not one text.
        value = row.value if row.setting == "search_path" else f"'{row.value}'"
        self.ask(f"ALTER ROLE CURRENT_USER SET {row.setting} = {value}")
        try:
            yield
        finally:
            self.ask(f"ALTER ROLE CURRENT_USER RESET {row.setting}")

    def in_session(self, connection, setting):
        return connection.execute("SELECT current_setting(%s)", (setting,)).fetchone()[0]


class Mariadb:
    """Settings of the server, which each new session has."""

    engine = "mariadb"
    rows = rows_of("MariaDB and MySQL")

    def __init__(self, server):
        self.url = server.status().url

    def ask(self, statement, *values):
        undisturbed = (
            "SET max_statement_time = 0, tx_read_only = 0, max_session_mem_used = 9223372036854775807, sql_mode = ''"
        )
        with pymysql.connect(**parse(self.url).arguments, autocommit=True, init_command=undisturbed) as connection:
            cursor = connection.cursor()
            cursor.execute(statement, values)
            return cursor.fetchall()

    @contextmanager
    def having(self, row):
        ((before,),) = self.ask(f"SELECT @@GLOBAL.{row.setting}")
        self.ask(f"SET GLOBAL {row.setting} = {row.value}")
        try:
            yield
        finally:
            self.ask(f"SET GLOBAL {row.setting} = %s", before)

    def in_session(self, connection, setting):
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT @@SESSION.{setting} AS its_value")
            return cursor.fetchone()["its_value"]


KINDS = {kind.engine: kind for kind in (Postgresql, Mariadb)}
EVERY = [(name, row) for name, kind in KINDS.items() for row in kind.rows]
STOPPING = [(name, row) for name, row in EVERY if row.stops]


def named(value):
    return str(value)


@pytest.fixture(scope="module")
def targets(make_server):
    """The target of an engine, made when it is first asked for."""
    made = {}

    def target(engine):
        if engine not in made:
            made[engine] = KINDS[engine](make_server(name=f"settings-{engine}", engine=engine))
        return made[engine]

    return target


def flags(values):
    return [text for name, value in values.items() for text in (f"--{name.replace('_', '-')}", str(value))]


def loads_and_runs(url, results):
    """The output of `slob check`, once load and run have succeeded and the figures are those of the raw files."""
    loaded = slob("load", "--target", url, *flags(SMALL))
    assert loaded.returncode == 0, loaded.stderr
    checked = slob("check", "--target", url, *flags(SMALL))
    assert checked.returncode == 0, checked.stdout + checked.stderr
    ran = slob("run", "--target", url, "--results", results, *flags(LOAD))
    assert ran.returncode == 0, ran.stderr
    (found,) = store.find(results)
    record = found.record
    assert record.status is Status.COMPLETE
    busy_s = sum(kind["mean_us"] * kind["count"] for kind in record.latency.values()) / 1e6
    assert busy_s <= LOAD["sessions"] * record.window.load_seconds * 1.001
    ops = record.summary["ops_total"].value
    assert abs(record.summary["updates_total"].value - ops * LOAD["update_pct"] / 100) <= LOAD["sessions"]
    verified = slob("verify", found.path, "--results", results)
    assert verified.returncode == 0, verified.stderr
    return checked.stdout


@pytest.mark.parametrize("engine", KINDS)
def test_what_is_set_for_applications_changes_nothing_all_at_once(engine, targets, tmp_path):
    target = targets(engine)
    with ExitStack() as stack:
        # One value of each setting.
        together = [row for row in target.rows if row.what.startswith("set to") and row.setting not in ALONE]
        for row in {row.setting: row for row in together}.values():
            stack.enter_context(target.having(row))
        loads_and_runs(target.url, tmp_path)
        made = engine_for(target.url)
        session: Any = made.open_session(session_plans(Workload(**LOAD), made.facts().block_size, "test")[0])
        stack.callback(session.close)
        session.prepare()
        left = {row.setting: (row.value, target.in_session(session.connection, row.setting)) for row in target.rows
                if row.is_set}  # fmt: skip
    ours = {setting: value.strip("'") == str(present) for setting, (value, present) in left.items()}
    assert not any(ours.values()), ours


@pytest.mark.parametrize(("engine", "row"), STOPPING, ids=named)
def test_what_no_session_may_set_is_named_with_its_place_and_its_remedy(engine, row, targets, tmp_path):
    target = targets(engine)
    slob("drop", "--target", target.url)
    with target.having(row):
        # To load 4000 blocks, the server sorts in a file.
        line = complaint(*_outcome(slob("load", "--target", target.url, *flags({**SMALL, "scale": 4000}))))
    assert row.setting in line
    assert re.search("RESET|SET GLOBAL|set it to", line), line


@pytest.mark.nightly
@pytest.mark.parametrize(("engine", "row"), [pair for pair in EVERY if pair not in STOPPING], ids=named)
def test_each_setting_alone(engine, row, targets, tmp_path):
    target = targets(engine)
    slob("drop", "--target", target.url)
    with target.having(row):
        checked = loads_and_runs(target.url, tmp_path)
    if row.what.startswith("said"):
        assert row.setting in checked


def _outcome(done):
    return done.returncode, done.stderr


def test_functions_of_a_schema_that_comes_first_are_not_called(targets, tmp_path):
    target = targets("postgresql")
    slob("drop", "--target", target.url)
    target.ask(
        "CREATE SCHEMA first;"
        "CREATE FUNCTION first.count(text) RETURNS bigint LANGUAGE sql AS 'SELECT 7::bigint';"
        "CREATE FUNCTION first.pg_relation_size(oid) RETURNS bigint LANGUAGE sql AS 'SELECT 8192::bigint'"
    )
    try:
        with target.having(Row("search_path", "first, pg_catalog", "")):
            loads_and_runs(target.url, tmp_path)
    finally:
        target.ask("DROP SCHEMA first CASCADE")


def test_what_is_loaded_is_not_guessed_when_the_server_can_t_say(targets, monkeypatch):
    """An error on the way to the manifest was taken for data that are not there: the default of SCHEMAS then."""
    target = targets("postgresql")
    assert slob("load", "--target", target.url, *flags(SMALL)).returncode == 0
    target.ask("ALTER TABLE slob.manifest RENAME COLUMN blocks TO blocks_before")
    target.ask("ALTER TABLE slob.manifest ADD blocks text")
    target.ask("UPDATE slob.manifest SET blocks = 'no document'")
    try:
        line = complaint(*_outcome(slob("run", "--target", target.url, *flags({**LOAD, "schemas": 1}))))
    finally:
        slob("drop", "--target", target.url)
    assert "asks for" not in line
