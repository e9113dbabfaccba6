"""Loading, verifying and dropping on a real server; test_load_trouble.py has what can go wrong."""

import json
import zlib

import pytest
from psycopg import sql

from factories.load_target import SPEC, Target
from factories.running import slob
from openslob.core.errors import SlobError
from openslob.core.workload import DataSpec, Workload
from openslob.engines import registry
from openslob.engines.postgresql import loader, tables
from openslob.engines.postgresql.names import PostgresNames
from openslob.engines.postgresql.tables import fill, tables_of
from openslob.engines.tables import stretches
from openslob.kinds.run import loading

pytestmark = pytest.mark.server


@pytest.fixture
def target(pg_buffered):
    found = Target(pg_buffered.status().url)
    yield found
    found.ask("DROP SCHEMA IF EXISTS slob CASCADE")


def failed(target, number=1):
    """Names of the checks that a cf1 table does not pass."""
    table = next(table for table in tables_of(SPEC, PostgresNames()) if table.name == f"cf1_{number}")
    with target.connect() as connection:
        return {check.name for check in tables.checks_of(connection, table) if not check.holds}


def test_a_load_makes_exactly_what_was_asked_for(target):
    result = target.load()
    assert (result.blocks, result.bytes, result.reused) == (640, 640 * 8192, False)
    assert result.checks["rows"] == "300 in each of 2; 20 in each of 2"
    state = target.state()
    assert (state.spec, state.verified, state.blocks) == (SPEC, True, {1: 300, 2: 300})
    # counted independently of the product's own checks
    for number in (1, 2):
        assert target.ask(
            f"""SELECT count(*), count(DISTINCT custid), min(custid), max(custid),
                       count(DISTINCT (ctid::text::point)[0]), count(DISTINCT c2 || c20), min(length(c2))
                FROM slob.cf1_{number}"""
        ) == [(300, 300, 1, 300, 300, 1, 128)]
        assert target.ask(f"SELECT count(*), pg_relation_size('slob.cf2_{number}') FROM slob.cf2_{number}") == [
            (20, 20 * 8192)
        ]
    placements = [target.ask(f"SELECT array_agg(custid ORDER BY ctid) FROM slob.cf1_{number}") for number in (1, 2)]
    assert placements[0] != placements[1]


def test_loading_again_is_instant_and_other_data_replace_these(target):
    target.load()
    before = target.ask("SELECT oid FROM pg_class WHERE relname = 'cf1_1'")
    again = target.load()
    assert again.reused
    assert again.blocks == 640
    assert again.seconds < 1
    assert target.ask("SELECT oid FROM pg_class WHERE relname = 'cf1_1'") == before
    other = DataSpec(schemas=1, scale_blocks=100, scan_blocks=10, obfuscate=True)
    assert not target.load(other).reused
    assert sorted(target.left()) == ["cf1_1", "cf1_1_custid_idx", "cf2_1", "manifest"]
    assert target.state().spec == other


@pytest.mark.parametrize("damage", ["DROP TABLE slob.cf2_2", "TRUNCATE slob.cf1_1"])
def test_damaged_data_do_not_count_as_verified_and_are_loaded_anew(target, damage):
    target.load()
    target.ask(damage)
    assert not target.state().verified
    assert not target.load().reused
    assert target.state().verified


SABOTAGE = {
    "DELETE FROM slob.cf1_1 WHERE custid = 7": "rows",
    "UPDATE slob.cf1_1 SET custid = 0 WHERE custid = 1": "lowest key",
    "UPDATE slob.cf1_1 SET custid = 301 WHERE custid = 300": "highest key",
    "DROP INDEX slob.cf1_1_custid_idx": "valid unique indexes on custid",
    "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'slob.cf1_1_custid_idx'::regclass": (
        "valid unique indexes on custid"
    ),
    "CLUSTER slob.cf1_1 USING cf1_1_custid_idx": "neighbouring keys in neighbouring blocks",
    "ALTER TABLE slob.cf1_1 SET (fillfactor = 100); VACUUM FULL slob.cf1_1": "rows in the fullest block",
    "INSERT INTO slob.cf1_1 SELECT -n FROM generate_series(1, 300) n; VACUUM slob.cf1_1": "blocks",
    "UPDATE slob.cf1_1 SET c2 = 'y' WHERE custid = 5; ANALYZE slob.cf1_1": "blocks not all-visible",
    "DELETE FROM pg_statistic WHERE starelid = 'slob.cf1_1'::regclass": "columns with statistics",
    "UPDATE pg_class SET reltuples = 5 WHERE relname = 'cf1_1'": "rows by the statistics",
}


@pytest.mark.parametrize(("damage", "check"), SABOTAGE.items(), ids=lambda text: text[:40])
def test_each_check_sees_what_it_is_for(target, damage, check):
    target.load()
    assert failed(target) == set()
    for part in damage.split(";"):
        target.ask(part)
    assert check in failed(target)
    assert failed(target, number=2) == set()


def test_a_failed_check_fails_the_load_and_leaves_nothing(target, monkeypatch):
    def fill_badly(connection, table, *rest):
        fill(connection, table, *rest)
        if table.name == "cf1_2":
            connection.execute(sql.SQL("DELETE FROM {} WHERE custid = 9").format(sql.SQL(table.relation)))

    monkeypatch.setattr(loader, "fill", fill_badly)
    with pytest.raises(SlobError, match=r"verification failed: rows of slob\.cf1_2: 299, expected 300"):
        target.load()
    assert target.left() == []
    assert target.state() is None


def test_a_sample_of_a_large_table_covers_it_evenly():
    assert list(stretches(4096)) == [(0, 4096)]
    found = list(stretches(100_000))
    assert len(found) == 16
    assert (found[0], found[-1]) == ((0, 256), (99_744, 100_000))


def test_the_first_read_after_a_load_writes_nothing(target):
    """Hint bits and visibility are in place: reading all blocks, by scan and by index, dirties none of them."""
    target.load(DataSpec(schemas=1, scale_blocks=3000, scan_blocks=100, obfuscate=False))
    with target.connect() as connection:
        connection.execute("CHECKPOINT")  # what the load itself has still to write is not the reader's
        connection.execute("SET max_parallel_workers_per_gather = 0; SET enable_bitmapscan = off")
        for plan in ("SET enable_indexscan = off", "SET enable_indexscan = on; SET enable_seqscan = off"):
            connection.execute(plan)
            query = "SELECT count(c2) FROM slob.cf1_1 WHERE custid BETWEEN 1 AND 3000"
            row = connection.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {query}").fetchone()
            buffers = row[0][0]["Plan"]
            assert buffers["Shared Hit Blocks"] + buffers["Shared Read Blocks"] >= 3000
            assert buffers["Shared Dirtied Blocks"] == 0
            assert buffers["Shared Written Blocks"] == 0


def test_obfuscated_columns_do_not_compress(target):
    target.load(DataSpec(schemas=1, scale_blocks=50, scan_blocks=10, obfuscate=True))
    rows = [row[0].encode() for row in target.ask("SELECT concat(c2, c3, c10, c19, c20) FROM slob.cf1_1")]
    assert len(set(rows)) == 50
    assert len(zlib.compress(b"".join(rows), 9)) > 0.8 * sum(map(len, rows))


def test_drop_takes_all_of_ours_and_nothing_else(target):
    target.load()
    target.ask("CREATE PROCEDURE slob.slice_1(a int, OUT b int) LANGUAGE sql AS 'SELECT 1'")
    target.ask("CREATE TABLE slob.cf1_archive (a int)")
    removed = target.drop()
    assert removed[0] == "slob.manifest"
    assert {"slob.cf1_1", "slob.cf1_2", "slob.cf2_1", "slob.cf2_2", "slob.slice_1"} < set(removed)
    assert target.left() == ["cf1_archive"]
    target.ask("DROP TABLE slob.cf1_archive")
    assert target.drop() == ["slob"]
    assert target.drop() == []


def test_a_managed_server_is_restarted_for_the_load_once(pg_server):
    target = Target(pg_server.status().url)
    engine = registry.engine_for(target.url)
    workload = Workload.model_validate({"schemas": 2, "scale": 300, "scan_table_sz": 20})
    told, started = [], target.ask("SELECT pg_postmaster_start_time()")
    results = [loading.load(engine, pg_server, workload, lambda _: None, lambda: False, told.append) for _ in range(2)]
    assert [result.reused for result in results] == [False, True]
    assert len(told) == 1
    assert target.ask("SELECT pg_postmaster_start_time()") != started
    assert target.ask("SHOW debug_io_direct") == [("data",)]
    target.drop()


def test_postgresql_16_takes_the_same_load(make_server):
    server = make_server(version="16", io="buffered")
    target = Target(server.status().url)
    assert target.load().checks["rows in the fullest block"] == "1 in each of 4"
    assert target.load().reused
    assert target.drop()[-1] == "slob"
    server.destroy()


def test_the_commands_print_results_on_stdout_and_progress_on_stderr(target):
    size = ("--schemas", "2", "--scale", "300", "--scan-table-sz", "20")
    loaded = slob("load", "--target", target.url, *size, "--json")
    assert loaded.returncode == 0
    result = json.loads(loaded.stdout)
    assert (result["blocks"], result["reused"], result["spec"]["schemas"]) == (640, False, 2)
    assert "640 of 640 blocks" in loaded.stderr
    assert "already there and verified" in slob("load", "--target", target.url, *size).stdout
    assert "removed slob.cf1_2" in slob("drop", "--target", target.url).stdout
    nothing = slob("drop", "--target", target.url)
    assert (nothing.returncode, nothing.stderr) == (0, "")
    assert nothing.stdout.startswith("there is nothing to remove")


def test_the_place_of_the_data_is_the_tables_own_tablespace(target, pg_buffered):
    target.load()
    engine = registry.engine_for(pg_buffered.status().url)
    data = engine.location().data_directory
    with target.connect() as connection:
        connection.execute("SET allow_in_place_tablespaces = on")
        connection.execute("CREATE TABLESPACE elsewhere LOCATION ''")
    target.ask("ALTER TABLE slob.cf1_1 SET TABLESPACE elsewhere")
    try:
        several = engine.location()
        assert (several.data_directory, several.why_unknown) == (None, "the test tables lie in several tablespaces")
        for name, kind in target.ask(
            "SELECT oid::regclass::text, relkind FROM pg_class"
            " WHERE relnamespace = 'slob'::regnamespace AND relname LIKE 'cf%' AND relkind IN ('r', 'i')"
        ):
            target.ask(f"ALTER {'INDEX' if kind == 'i' else 'TABLE'} {name} SET TABLESPACE elsewhere")
        place = engine.location().data_directory
        assert place.parent == data / "pg_tblspc"
        assert place.is_dir()
    finally:
        target.ask("DROP SCHEMA slob CASCADE")
        target.ask("DROP TABLESPACE elsewhere")
