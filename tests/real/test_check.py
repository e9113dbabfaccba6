"""`slob check` on a PostgreSQL that is not ours: it tries statements and leaves nothing; what it calls unknown is."""

from typing import Any

import pytest

from factories.foreign_postgresql import ForeignServer, started
from factories.running import FULL_SPEED, measured, too_busy
from factories.tables import table
from openslob.analyze.load_kinds import load_kind
from openslob.core.workload import Workload
from openslob.engines.postgresql import slice_procedure
from openslob.engines.postgresql.checks import try_statements
from openslob.engines.postgresql.names import PostgresNames
from openslob.engines.registry import engine_for
from openslob.engines.sql import read_sql
from openslob.kinds.run.plan import session_plans
from openslob.kinds.run.preflight import preflight
from openslob.metrics.run_metrics import BELOW_CLOCK, NO_COMMITS, NO_CPU, NO_READS, NO_SYNCS

pytestmark = pytest.mark.server
SMALL = {"schemas": 2, "scale": "500", "scan_table_sz": "10", "work_unit": 8, "run_time": 2, "warmup": 0}
CATALOG = """SELECT 'namespace', nspname::text, oid FROM pg_namespace WHERE nspname !~ '^pg_'
       UNION SELECT 'class', relname, oid FROM pg_class UNION SELECT 'routine', proname, oid FROM pg_proc
       UNION SELECT 'setting', setconfig::text, setrole FROM pg_db_role_setting ORDER BY 1, 2, 3"""


@pytest.fixture(scope="module")
def foreign(slob_home):
    """A server on which the role app owns one schema; it may make temporary tables."""
    with started(ForeignServer()) as server:
        server.ask("GRANT TEMPORARY ON DATABASE bench TO app")
        yield server


def load(engine, workload):
    with engine.exclusive("load"):
        engine.data.load(workload.data(8192), 2, lambda _: None, lambda: False)


@table(
    ("role", "database", "more"),
    [
        ("app", "bench", {}),
        ("app", "bench", {"target_ops": 100, "scan_pct": 10, "update_pct": 50, "obfuscate_columns": True}),
        ("app", "bench", {"block_path": "local", "scan_pct": 10}),
        ("boss", "postgres", {"do_hotspot": True, "hotspot_mb": 1, "hotspot_frequency": 3, "hot_schema_frequency": 3}),
    ],
)
def test_all_of_it_is_taken_and_nothing_stays(foreign, role, database, more):
    engine = engine_for(foreign.url(role, database))
    before = foreign.ask(CATALOG, database)
    found = preflight(engine, Workload(**{**SMALL, **more}))
    assert not [one for one in found.findings if one.name == "statements"]
    assert not found.blocked
    assert foreign.ask(CATALOG, database) == before


def test_a_statement_that_the_server_does_not_parse_stops_a_run(foreign, monkeypatch):
    def newer(package, name):
        return read_sql(package, name).replace("COMMIT;", "COMMIT AND REMEMBER;")

    monkeypatch.setattr(slice_procedure, "read_sql", newer)
    before = foreign.ask(CATALOG, "bench")
    found = preflight(engine_for(foreign.url("app", "bench")), Workload(**SMALL))
    (one,) = [one for one in found.findings if one.name == "statements"]
    assert (one.blocking, found.blocked) == (True, True)
    assert 'syntax error at or near "REMEMBER"' in one.why
    assert foreign.ask(CATALOG, "bench") == before


def test_it_does_not_touch_what_is_loaded_and_works_beside_another_check(foreign):
    engine: Any = engine_for(foreign.url("app", "bench"))
    workload = Workload(**SMALL)
    load(engine, workload)
    engine.install(workload)
    before = foreign.ask(CATALOG, "bench")
    (plan, *_) = session_plans(workload, 8192, "check")
    with engine.open("check") as one, engine.open("check") as other, one.transaction():
        assert list(try_statements(one, PostgresNames(), plan)) == []
        # A savepoint was rolled back; its transaction is open, as that of another check at the same moment may be.
        assert list(try_statements(other, PostgresNames(), plan)) == []
    assert foreign.ask(CATALOG, "bench") == before
    assert engine.data.state().verified
    engine.data.drop()


def test_a_role_that_may_not_create_is_told_the_right_and_nothing_is_tried(foreign):
    foreign.add_role("stranger")
    foreign.ask("GRANT CONNECT ON DATABASE bench TO stranger", database="bench")
    found = preflight(engine_for(foreign.url("stranger", "bench")), Workload(**SMALL))
    assert [one.name for one in found.findings if one.blocking] == ["rights"]


# --- what will be unknown

# Reasons that only the window tells: a cached run reads nothing, and a server with fsync off syncs nothing.
OF_THE_WINDOW = (NO_READS, NO_SYNCS, NO_CPU, NO_COMMITS, BELOW_CLOCK)


def foretold(engine, workload):
    return set(preflight(engine, workload).unknown)


@table(("sessions", "seconds"), [(1, 2), (10, 4)])
def test_what_a_check_calls_unknown_is_unknown_in_the_run_and_nothing_else(foreign, tmp_path, sessions, seconds):
    engine = engine_for(foreign.url("app", "bench"))
    options = {**SMALL, **FULL_SPEED, "sessions": sessions, "run_time": seconds, "update_pct": 20}
    load(engine, Workload(**options))
    unknown = foretold(engine, Workload(**options))
    assert "log_sync_latency_us" in unknown  # track_wal_io_timing is off
    assert ("log_wait_pct" in unknown) == (sessions == 1)
    log = foreign.data / "log"
    said = len(log.read_text())
    record = measured(engine, tmp_path / str(sessions), **options).record
    assert "no checkpoint: this role may not run one" in record.engine["settled"]
    assert "ERROR" not in log.read_text()[said:]  # what a role may is asked, not tried
    figures = load_kind(record).figures(record)
    missing = {name: record.summary[name].why for name in figures if record.summary[name].value is None}
    assert unknown <= set(missing)
    more = {name: why for name, why in missing.items() if name not in unknown and why not in OF_THE_WINDOW}
    assert (
        more == {} or too_busy(record) or all("wait samples" in why or "than the load" in why for why in more.values())
    )
