"""A load of Oracle's test tables, its verification and its failures."""

from dataclasses import replace
from threading import Event

import oracledb
import pytest

from factories.oracle.double import Answers, connected, raw_of, statements_of
from factories.oracle.loading import MISSING, Database
from factories.oracle.wire import OracleError
from openslob.core.errors import SlobError
from openslob.core.units import MIB
from openslob.core.workload import DataSpec
from openslob.engines.oracle import manifest, tables
from openslob.engines.oracle.adapter import OracleEngine
from openslob.engines.oracle.tables import Destination, Way, Ways, tables_of
from openslob.engines.tables import table_cf1

SPEC = DataSpec(schemas=2, scale_blocks=300, scan_blocks=20, obfuscate=False)
RANDOM = DataSpec(schemas=1, scale_blocks=40, scan_blocks=4, obfuscate=True)
REFUSED = OracleError(600, "internal error code")
FULL = OracleError(1653, "unable to extend table")


class Doubled(OracleEngine):
    """One whose connections are those that ``make`` makes."""

    def __init__(self, make):
        super().__init__("oracle://slob:secret@db/FREEPDB1")
        self.make = make

    def connect(self, _purpose, _watch=None):
        return self.make()


def loaded(database, spec=SPEC, *, thin=True, degree=2, progress=lambda _: None, cancelled=lambda: False):
    return Doubled(lambda: connected(database.client(), thin=thin)).data.load(spec, degree, progress, cancelled)


def state(database):
    return manifest.read(connected(database.client()))


def test_all_tables_are_filled_in_the_order_of_their_keys():
    database = Database()
    result = loaded(database)
    for table in tables_of(SPEC):
        stored = database.tables[table.relation]
        assert [row["custid"] for row in stored.rows] == table.keys.chunk(0, table.blocks).tolist()
        assert {row["c20"] for row in stored.rows} == {"X" * 128}
        assert stored.default is None
        assert stored.indexed == table.indexed
        assert (stored.analyzed, stored.locked) == (True, True)
    assert result.blocks == 2 * (300 + 20) + 4 * 8
    assert "(APPEND_VALUES)" in result.checks["how rows came"]
    assert result.checks["rows that are not the first of their block"] == "0 in each of 4"
    assert state(database).is_whole


def test_incompressible_rows_come_by_the_drivers_direct_path():
    database = Database()
    result = loaded(database, RANDOM)
    texts = [row[f"c{number}"] for row in database.tables["CF1_1"].rows for number in range(2, 21)]
    assert {len(text) for text in texts} == {128}
    assert len(set(texts)) == len(texts)
    assert "direct path" in result.checks["how rows came"]


def test_the_same_text_comes_in_every_load():
    first, second = Database(), Database()
    loaded(first, RANDOM)
    loaded(second, RANDOM, thin=False)
    assert first.tables["CF1_1"].rows == second.tables["CF1_1"].rows


@pytest.mark.parametrize(
    ("spec", "thin", "refusals", "way"),
    [
        (
            SPEC,
            True,
            {"INSERT /*+ APPEND_VALUES": REFUSED},
            "rows made in the server from keys (APPEND); not keys sent",
        ),
        (
            RANDOM,
            False,
            {},
            "rows sent (APPEND_VALUES); not rows sent by the driver's direct path load: the driver has",
        ),
        (RANDOM, True, {"INSERT INTO CF": REFUSED}, "rows sent (APPEND_VALUES); not rows sent by the driver's direct"),
        (RANDOM, False, {"INSERT /*+ APPEND_VALUES": REFUSED}, "rows made in the server from keys (APPEND); not rows"),
    ],
)
def test_the_next_way_is_taken_when_one_is_refused(spec, thin, refusals, way):
    database = Database()
    # The row that MINIMIZE needs is no part of the load.
    database.refusals = refusals
    result = loaded(database, spec, thin=thin, degree=1)
    assert result.checks["how rows came"].startswith(way)
    assert len(database.tables["CF1_1"].rows) == spec.scale_blocks
    assert not [name for name in database.tables if name.startswith("SLOB_KEYS")]
    assert sum(code.startswith("INSERT /*+ APPEND_VALUES") for code in database.log) <= 44


def test_a_refused_way_is_told_with_its_reason_and_not_tried_again():
    database = Database()
    database.refusals["INSERT /*+ APPEND_VALUES"] = REFUSED
    result = loaded(database, degree=1)
    assert "ORA-00600: internal error code" in result.checks["how rows came"]
    assert sum(code.startswith("INSERT /*+ APPEND_VALUES") for code in database.log) == 1


def test_what_a_refused_way_has_written_counts_no_more():
    def breaks_off(_connection, _destination, wrote_blocks):
        wrote_blocks(5)
        raise oracledb.DatabaseError("ORA-00600: internal error code")

    second = Way("second", lambda _connection, _destination, wrote_blocks: wrote_blocks(8))
    all_ways = Ways([Way("first", breaks_off), second])
    connection, seen = connected(Answers()), []
    all_ways.fill(connection, Destination(table_cf1("CF1_1", 1, 8), None, 0), seen.append)
    assert seen == [5, -5, 8]
    assert statements_of(connection) == ["TRUNCATE TABLE CF1_1 REUSE STORAGE"]
    assert all_ways.text == "second; not first: ORA-00600: internal error code"


def test_no_way_is_left():
    database = Database()
    database.refusals = {"INSERT /*+": REFUSED}
    with pytest.raises(SlobError, match=r"works on this server: keys sent.*rows made in the server.*ORA-00600"):
        loaded(database)
    assert database.tables == {}


def test_a_table_that_may_not_limit_its_rows_is_told():
    database = Database()
    database.refusals["ALTER TABLE CF1_1 MINIMIZE"] = OracleError(28601, "invalid [no]MINIMIZE option")
    result = loaded(database)
    assert result.checks["MINIMIZE RECORDS_PER_BLOCK"].endswith("ORA-28601: invalid [no]MINIMIZE option")
    assert len(database.tables["CF1_1"].rows) == SPEC.scale_blocks


def test_nothing_is_done_when_the_data_are_there():
    database = Database()
    loaded(database)
    database.log.clear()
    assert loaded(database).reused
    assert not [code for code in database.log if code.startswith(("DROP", "CREATE", "INSERT"))]


def test_other_data_replace_them():
    database = Database()
    loaded(database)
    database.others["SLOB_SLICE_1"] = "PROCEDURE"
    database.tables["CF1_ACCOUNTS"] = database.tables["CF1_1"]
    loaded(database, RANDOM)
    assert set(database.test_tables()) == {"CF1_1", "CF2_1"}
    assert database.others == {}
    # The user's own table.
    assert "CF1_ACCOUNTS" in database.tables


def test_a_full_tablespace_in_the_middle_leaves_nothing():
    database, seen = Database(), []
    database.capacity = 250
    with pytest.raises(SlobError, match=r"the load of CF1_\d failed: ORA-01653"):
        loaded(database, progress=seen.append)
    assert database.tables == {}
    assert state(database) is None


def test_a_cancelled_load_leaves_nothing():
    database, asked = Database(), Event()
    database.before["INSERT /*+ APPEND_VALUES"] = lambda: asked.wait(60)

    def cancelled():
        asked.set()
        return True

    with pytest.raises(SlobError, match="the load was cancelled"):
        loaded(database, cancelled=cancelled)
    assert database.tables == {}


def test_what_a_killed_load_left_is_no_data_and_the_next_load_replaces_it():
    database = Database()
    database.refusals["UPDATE SLOB_MANIFEST"] = OracleError(3113, "end-of-file on communication channel")
    database.before["UPDATE SLOB_MANIFEST"] = lambda: database.refusals.update(DROP=REFUSED)
    with pytest.raises(SlobError, match="what it wrote could not be removed"):
        loaded(database)
    database.before.clear()
    database.refusals.clear()
    assert state(database).fault == "the last load did not finish"
    database.tables["SLOB_KEYS_CF1_1"] = database.tables["SLOB_TABLES"]
    assert not loaded(database).reused
    assert state(database).is_whole
    assert "SLOB_KEYS_CF1_1" not in database.tables


def test_a_load_that_may_write_nothing_says_just_that():
    database = Database()
    assert not loaded(database).reused
    database.refusals["DROP"] = REFUSED
    with pytest.raises(SlobError) as ended:
        loaded(database, spec=replace(SPEC, schemas=1))
    assert "what it wrote" not in str(ended.value)
    assert state(database).is_whole


@pytest.mark.parametrize(
    ("spoil", "fault"),
    [
        (lambda db: setattr(db, "rows_a_block", 2), "blocks in use of CF"),
        (lambda db: db.before.update({"SELECT COUNT(*)": lambda: last(db, "CF2_1").pop()}), "rows of CF"),
        (lambda db: db.refusals.update({"BEGIN DBMS_STATS.LOCK": REFUSED}), "ORA-00600"),
        (
            lambda db: db.before.update({"SELECT t.custid": lambda: db.tables["CF1_1"].rows[3].update(c7="short")}),
            "bytes of the shortest row's text of CF1_1: 2,309, expected 2,432",
        ),
        (
            lambda db: db.before.update({"SELECT t.custid": lambda: db.tables["CF1_1"].rows.sort(key=_key)}),
            "neighbouring keys in neighbouring blocks of CF1_1",
        ),
    ],
)
def test_data_that_are_not_as_they_should_be_do_not_count_as_loaded(spoil, fault):
    database = Database()
    spoil(database)
    with pytest.raises(SlobError) as caught:
        loaded(database, degree=1)
    assert fault in str(caught.value)
    assert database.tables == {}


def last(database, name):
    """The rows of a table, and of any other when it is not there yet."""
    return database.tables.get(name, database.tables["CF1_1"]).rows


def _key(row):
    return row["custid"]


def test_a_table_that_somebody_dropped_meanwhile():
    database = Database()
    database.before["SELECT t.num_rows"] = lambda: database.tables.pop("CF2_1", None)
    with pytest.raises(SlobError, match="the table CF2_1 is not there"):
        loaded(database, degree=1)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda db: db.tables.pop("CF2_2"), "the table cf2_2 is no longer there"),
        (lambda db: db.tables["CF1_1"].rows.extend(db.tables["CF1_1"].rows[:100]), "cf1_1 has grown from 308 to 408"),
        (lambda db: db.tables["CF2_1"].rows.clear(), "the table cf2_1 has shrunk"),
        (lambda db: setattr(db.tables["CF1_2"], "indexed", False), "its unique index on custid is missing"),
        (lambda db: db.tables["SLOB_TABLES"].rows.clear(), "the manifest of the load is damaged"),
    ],
)
def test_data_that_somebody_changed_later_are_noticed(change, fault):
    database = Database()
    loaded(database)
    change(database)
    assert fault in state(database).fault


@pytest.mark.parametrize("text", ["{", '{"schemas": 1}', "[]"])
def test_a_manifest_of_another_program_is_none(text):
    database = Database()
    loaded(database)
    database.tables["SLOB_MANIFEST"].rows[0]["spec"] = text
    assert state(database) is None


def test_a_manifest_with_other_columns_is_none():
    database = Database()
    loaded(database)
    database.refusals["SELECT m.spec"] = OracleError(904, '"M"."SPEC": invalid identifier')
    assert state(database) is None


def test_a_drop_removes_all_that_was_made_and_nothing_else():
    database = Database()
    loaded(database)
    database.tables["ORDERS"] = database.tables["CF1_1"]
    database.others["SLOB_SLICE_1"] = "PROCEDURE"
    removed = manifest.remove(connected(database.client()))
    assert set(removed) == {"SLOB_MANIFEST", "SLOB_TABLES", "CF1_1", "CF1_2", "CF2_1", "CF2_2", "SLOB_SLICE_1"}
    assert set(database.tables) == {"ORDERS"}


def test_what_somebody_else_drops_first_is_no_error():
    database = Database()
    loaded(database)
    database.others["SLOB_SLICE_1"] = "PROCEDURE"
    database.refusals["DROP TABLE CF1_1"] = MISSING
    database.refusals["DROP PROCEDURE SLOB_SLICE_1"] = OracleError(4043, "object SLOB_SLICE_1 does not exist")
    assert {"CF1_1", "SLOB_SLICE_1"} <= set(manifest.remove(connected(database.client())))


def test_the_blocks_of_all_tables():
    database = Database()
    loaded(database)
    assert sum(manifest.count_blocks(connected(database.client())).values()) == 2 * (300 + 20) + 4 * 8


def test_too_little_room_is_found_before_anything_is_removed():
    database = Database()
    loaded(database)
    with pytest.raises(
        SlobError,
        match=r"USERS has room for 1 GB; as SYSDBA, .* CONTAINER = PDB1: ALTER TABLE",
    ):
        loaded(database, DataSpec(1, 200_000, 20, obfuscate=False))
    assert state(database).is_whole


def test_a_large_table_is_looked_at_in_stretches(monkeypatch):
    monkeypatch.setattr(tables, "BATCH_BYTES", 256 * MIB)
    database = Database()
    loaded(database, DataSpec(1, 5000, 20, obfuscate=False))
    looks = [code for code in database.log if code.startswith("SELECT t.custid") and "FROM CF1_1 t WHERE" in code]
    assert len(looks) == 5
    assert max(code.count(",") for code in looks) < 1100


@pytest.mark.parametrize(("degree", "parallel"), [(8, "PARALLEL 4"), (2, "NOPARALLEL"), (1, "NOPARALLEL")])
def test_few_large_tables_are_indexed_by_several_sessions(degree, parallel):
    database = Database()
    loaded(database, degree=degree)
    made = [code for code in database.log if code.startswith("CREATE UNIQUE INDEX")]
    assert all(f" NOLOGGING {parallel}" in code for code in made)
    again = [code for code in database.log if re_serial(code)]
    assert len(again) == (2 if parallel != "NOPARALLEL" else 0)


def test_an_edition_without_parallel_sessions_indexes_with_one():
    database = Database()
    refusal = OracleError(439, "feature not enabled")
    database.refusals["CREATE UNIQUE INDEX CF1_1_CUSTID ON CF1_1 (custid) PCTFREE 0 INITRANS 4 NOLOGGING PAR"] = refusal
    result = loaded(database, degree=8)
    assert result.checks["parallel index"] == "refused: ORA-00439: feature not enabled"
    assert database.tables["CF1_2"].indexed


def re_serial(code):
    return code.startswith("ALTER INDEX") and code.endswith("NOPARALLEL")


def test_the_connections_of_a_load_commit_by_themselves_afterwards():
    database, opened = Database(), []
    database.refusals["INSERT /*+ APPEND_VALUES"] = REFUSED

    def one_more():
        opened.append(connected(database.client()))
        return opened[-1]

    Doubled(one_more).data.load(SPEC, 1, lambda _: None, lambda: False)
    assert all(raw_of(connection).autocommit for connection in opened)
    assert not any(raw_of(connection).is_open for connection in opened)
