"""A load of Oracle's tables by the real driver, over the wire to the stand-in."""

import threading

import oracledb
import pytest

from factories.oracle.standin import StandInServer
from factories.oracle.standin_world import World
from factories.oracle.wire import Identity
from openslob.core.errors import SlobError
from openslob.core.workload import DataSpec
from openslob.engines import registry
from openslob.engines.oracle import run_table
from openslob.engines.oracle.adapter import connect
from openslob.engines.oracle.tables import tables_of

PLAIN = DataSpec(schemas=2, scale_blocks=300, scan_blocks=20, obfuscate=False)
RANDOM = DataSpec(schemas=1, scale_blocks=300, scan_blocks=20, obfuscate=True)


@pytest.fixture
def standin(monkeypatch):
    monkeypatch.setenv("ORACLE_PASSWORD", "slob")
    standin = StandInServer(World(cpus=2))
    with standin.server:
        yield standin


def loaded(engine, spec, cancelled=lambda: False):
    return engine.data.load(spec, 2, lambda _: None, cancelled)


def rows_of(standin, table):
    with standin.world.lock:
        return standin.world.db.execute(f"SELECT custid, c2, c20 FROM {table} ORDER BY rowid").fetchall()


@pytest.mark.parametrize(
    ("spec", "way"),
    [
        (PLAIN, "keys sent, constant text as the columns' default"),
        (RANDOM, "rows sent by the driver's direct path load"),
    ],
)
def test_all_rows_come_in_the_order_of_their_keys(standin, spec, way):
    engine = connect(standin.server.url)
    with engine.exclusive("load"):
        result = loaded(engine, spec)
    assert result.checks["how rows came"].startswith(way)
    for table in tables_of(spec):
        rows = rows_of(standin, table.relation)
        assert [row[0] for row in rows] == table.keys.chunk(0, table.blocks).tolist()
        assert {len(text) for row in rows for text in row[1:]} == {128}
    assert engine.data.state().verified
    assert engine.data.table_blocks() == result.blocks


def test_a_drop_leaves_nothing(standin):
    engine = connect(standin.server.url)
    with engine.exclusive("load"):
        loaded(engine, PLAIN)
    with engine.exclusive("drop"):
        assert "CF1_2" in engine.data.drop()
    assert standin.world.tables == {}


def test_a_full_tablespace_ends_the_load_in_one_line(standin):
    standin.world.room_blocks = 400
    engine = connect(standin.server.url)
    with engine.exclusive("load"), pytest.raises(SlobError, match=r"the load of CF\d_\d failed: .*ORA-01653") as caught:
        loaded(engine, PLAIN)
    assert "\n" not in str(caught.value)
    assert standin.world.tables == {}


def test_a_second_driver_is_told_who_works(standin, monkeypatch):
    monkeypatch.setattr(run_table, "LOCK_PATIENCE_S", 0.05)
    first, second = connect(standin.server.url), connect(standin.server.url)
    refused = []

    def try_it():
        with pytest.raises(SlobError, match="is in use: load by pid") as caught, second.exclusive("run"):
            pass
        refused.append(caught.value)

    with first.exclusive("load"):
        other = threading.Thread(target=try_it)
        other.start()
        other.join()
    assert refused
    with second.exclusive("run") as hold:
        hold.require()


def test_a_direct_path_load_into_a_table_that_is_not_there(standin):
    with (
        oracledb.connect(user="slob", password="slob", dsn=standin.server.dsn) as connection,
        pytest.raises(oracledb.DatabaseError, match="ORA-00942"),
    ):
        connection.direct_path_load("SLOB", "CF1_1", ["CUSTID"], [(1,)])


def test_instances_of_one_database_share_its_lock_and_its_data(monkeypatch):
    monkeypatch.setenv("ORACLE_PASSWORD", "slob")
    standin = StandInServer(World(cpus=2), identities=(Identity(instance="one"), Identity(instance="two")))
    with standin.server:
        both = ",".join(f"{standin.server.url}/{name}" for name in ("one", "two"))
        engine, _ = registry.resolve(both)
        with engine.exclusive("load") as hold:
            hold.require()
            loaded(engine, PLAIN)
        with engine.exclusive("drop"):
            engine.data.drop()
        assert standin.world.tables == {}
