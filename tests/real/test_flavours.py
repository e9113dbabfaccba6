"""Real servers are what they are, and one that imitates is not taken for the original.

What no server here is (Aurora), a real one pretends to be: it has a function of that name.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace

import pytest

from factories.foreign_mariadb import ForeignMariaDb, host_programs
from factories.foreign_postgresql import ForeignServer, started
from factories.running import FULL_SPEED, measured
from openslob.core.errors import SlobError
from openslob.core.workload import Workload
from openslob.engines.registry import engine_for
from openslob.kinds.run.preflight import preflight
from openslob.record.model import Holds

pytestmark = pytest.mark.server
SMALL = {"schemas": 1, "scale": "4000", "scan_table_sz": "10", "work_unit": 8}
RELATIVE = "unknown relative of PostgreSQL"
EXPORT, LOCK = "pg_export_snapshot", "pg_try_advisory_lock"


@pytest.fixture(scope="module")
def foreign(slob_home):
    """A server on which the role app owns one schema."""
    with started(ForeignServer()) as server:
        yield server


@contextmanager
def changed(server, now, afterwards, database="bench"):
    """Change the server's catalog, as only somebody who imitates does, and undo that."""
    server.ask(f"SET allow_system_table_mods = on; {now}", database)
    try:
        yield
    finally:
        server.ask(f"SET allow_system_table_mods = on; {afterwards}", database)


def schemas(server):
    return server.ask("SELECT nspname FROM pg_namespace ORDER BY 1", "bench")


def test_postgresql_is_itself(foreign):
    facts = engine_for(foreign.url("app", "bench")).facts()
    assert (facts.product, facts.family, facts.caution, facts.no_device) == ("PostgreSQL", "PostgreSQL", "", "")
    assert facts.version == facts.number == foreign.ask("SHOW server_version")[0][0].split()[0]


@pytest.mark.parametrize(
    ("now", "afterwards", "why"),
    [
        (
            "CREATE SCHEMA wrapper; CREATE FUNCTION wrapper.version() RETURNS text LANGUAGE sql AS "
            "$$SELECT 'PostgreSQL 99.1 on paper, compiled by hand, 64-bit'$$; GRANT USAGE ON SCHEMA wrapper TO app; "
            "ALTER ROLE app SET search_path = wrapper, pg_catalog",
            "ALTER ROLE app RESET search_path; DROP SCHEMA wrapper CASCADE",
            "version() in its search_path answers 'PostgreSQL 99.1 on paper",
        ),
        (
            "ALTER FUNCTION pg_catalog.version() RENAME TO version_before; CREATE FUNCTION pg_catalog.version() "
            "RETURNS text LANGUAGE sql AS $$SELECT pg_catalog.version_before() || ', FancyDB 3'$$",
            "DROP FUNCTION pg_catalog.version(); ALTER FUNCTION pg_catalog.version_before() RENAME TO version",
            ", FancyDB 3",
        ),
        (
            f"ALTER FUNCTION pg_catalog.{EXPORT}() RENAME TO hidden",
            f"ALTER FUNCTION pg_catalog.hidden() RENAME TO {EXPORT}",
            f"it has no function {EXPORT}",
        ),
    ],
    ids=["wrapper", "version text", "missing function"],
)
def test_a_server_that_imitates_is_not_taken_for_the_original_and_is_measured(foreign, now, afterwards, why):
    with changed(foreign, now, afterwards):
        found = preflight(engine_for(foreign.url("app", "bench")), Workload(**SMALL))
        assert found.facts.product == RELATIVE
        assert why in found.facts.caution
        assert not found.blocked
    assert engine_for(foreign.url("app", "bench")).facts().product == "PostgreSQL"


def test_a_relative_without_what_the_method_needs_is_refused_before_anything_is_made(foreign):
    renamed = "ALTER FUNCTION pg_catalog.{}({}) RENAME TO {}"
    both = ("bigint", "int, int")
    before = schemas(foreign)
    with (
        changed(
            foreign,
            "; ".join(renamed.format(LOCK, each, "hidden") for each in both),
            "; ".join(renamed.format("hidden", each, LOCK) for each in both),
        ),
        pytest.raises(SlobError, match=rf"\({RELATIVE} [\d.]+\) can't be measured: it has no function {LOCK}"),
    ):
        engine_for(foreign.url("app", "bench")).facts()
    assert schemas(foreign) == before


def test_what_calls_itself_by_the_name_of_another_product_is_refused_before_anything_is_made(foreign):
    before = schemas(foreign)
    with changed(
        foreign,
        "ALTER FUNCTION pg_catalog.version() RENAME TO version_before; CREATE FUNCTION pg_catalog.version() "
        "RETURNS text LANGUAGE sql AS $$SELECT 'CockroachDB CCL v26.3.1 (x86_64)'$$",
        "DROP FUNCTION pg_catalog.version(); ALTER FUNCTION pg_catalog.version_before() RENAME TO version",
    ):
        engine = engine_for(foreign.url("app", "bench"))
        with (
            pytest.raises(SlobError, match=r"\(CockroachDB 26\.3\.1\) can't be measured: its rows are in a key-v"),
            engine.exclusive("load"),
        ):
            engine.data.load(Workload(**SMALL).data(8192), 1, lambda _: None, lambda: False)
    assert schemas(foreign) == before


def test_where_storage_is_a_service_no_read_is_called_one_of_a_device(foreign, tmp_path):
    pretends = "CREATE FUNCTION pg_catalog.aurora_version() RETURNS text LANGUAGE sql AS $$SELECT '16.4.2'$$"
    with changed(foreign, pretends, "DROP FUNCTION pg_catalog.aurora_version()"):
        engine = engine_for(foreign.url("app", "bench"))
        with engine.exclusive("load"):
            engine.data.load(Workload(**SMALL).data(8192), 1, lambda _: None, lambda: False)
        location = engine.location()
        assert location.is_known
        assert not location.data_directories
        assert "storage service of its own" in location.why_unknown
        found = {each.name: each for each in engine.findings(Workload(**SMALL))}
        assert found["track_wal_io_timing"].by.startswith("in the DB parameter group of the service, ")
        record = measured(engine, tmp_path, **SMALL, **FULL_SPEED).record
    assert (record.engine["product"], record.engine["version"]) == ("Amazon Aurora PostgreSQL", "16.4.2")
    assert record.engine["flavour"]["family"] == "PostgreSQL"
    assert record.engine["flavour"]["by"] == "function aurora_version"
    (judged,) = [each for each in record.verdicts if each.name == "reads_reached_device"]
    assert judged.verdict is Holds.UNKNOWN
    assert "storage service of its own" in judged.why
    assert record.value("dev_read_per_s") is None
    # What does not depend on storage is known.
    assert record.environment["server_cpu_s"]
    assert any(
        "Amazon Aurora PostgreSQL: Aurora's blocks are in a storage service" in each for each in record.reservations
    )


@contextmanager
def mariadb(**options):
    programs = host_programs()
    server = ForeignMariaDb(programs=replace(programs, options={**programs.options, **options}))
    try:
        server.start()
        server.add_user("app", "slob")
        yield server
    finally:
        server.stop()


def test_mariadb_is_itself(slob_home):
    with mariadb() as server:
        facts = engine_for(server.url("app", "slob")).facts()
    assert (facts.product, facts.family, facts.caution) == ("MariaDB", "MariaDB", "")
    assert facts.version == facts.number


def test_a_mariadb_that_imitates_is_not_taken_for_the_original(slob_home):
    with mariadb(version="8.0.36") as server:
        facts = engine_for(server.url("app", "slob")).facts()
    assert (facts.product, facts.family, facts.number) == ("unknown relative of MariaDB", "MariaDB", "8.0.36")


def run_by_client(engine, folder):
    """Run both loops, the server's in vain; return the record of the client's."""
    with pytest.raises(SlobError, match=r"can't run the work loop: .*; --loop client sends"):
        measured(engine, folder, **SMALL, update_pct=20)
    with engine.exclusive("load"):
        engine.data.load(Workload(**SMALL).data(engine.facts().block_size), 1, lambda _: None, lambda: False)
    assert not preflight(engine, Workload(**SMALL, loop="client")).blocked
    return measured(engine, folder, **SMALL, loop="client", update_pct=20, work_loop=200, run_time=0).record


def test_a_product_without_procedures_is_measured_by_the_client_loop_alone(slob_home, tmp_path):
    """This one says that it is TiDB, of a version that a MariaDB may have; its user may create no procedure."""
    with mariadb(version="11.4.2-TiDB-v8.5.4") as server:
        rights = "SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, ALTER, INDEX"
        server.add_user("plain", "bench", rights)
        record = run_by_client(engine_for(server.url("plain", "bench")), tmp_path)
        assert server.ask("SELECT * FROM information_schema.routines WHERE routine_schema = 'bench'") == ()
    assert record.errors == ()
    assert (record.engine["product"], record.engine["version"]) == ("TiDB", "8.5.4")
    assert record.value("ops_total") == 200
    assert record.value("updates_total") == 40


def test_a_relative_without_the_language_of_the_work_loop_is_measured_by_the_client_loop_alone(foreign, tmp_path):
    with changed(foreign, "DROP EXTENSION plpgsql CASCADE", "CREATE EXTENSION plpgsql"):
        record = run_by_client(engine_for(foreign.url("app", "bench")), tmp_path)
    assert record.errors == ()
    assert record.value("ops_total") == 200
