"""Whether test tables find room in a tablespace, and what a load says of its redo."""

import re

import pytest

from factories.oracle.double import Answers, connected, rows
from factories.oracle.wire import OracleError
from openslob.engines.oracle import tablespace
from openslob.engines.oracle.connection import ConnectionParams
from openslob.engines.tables import table_cf1, table_cf2
from openslob.errors import SlobError
from openslob.units import GIB, MIB
from openslob.workload import DataSpec

MISSING = OracleError(942, "table or view does not exist")
USERS = {"tablespace_name": "USERS", "block_size": 8192, "force_logging": "NO", "bigfile": "NO", "owner": "SCOTT"}
SPEC = DataSpec(schemas=1, scale_blocks=100, scan_blocks=10, obfuscate=False)


def answers(**changed):
    """A tablespace of 8 KB blocks with 1 GB free in a file of fixed size, and no quota's limit."""
    given = {
        "FROM user_tablespaces": rows(USERS),
        "FROM user_ts_quotas": rows({"bytes": 0, "max_bytes": -1}),
        "FROM session_privs": rows(),
        "FROM user_segments": rows({"held_bytes": 0}),
        "FROM user_free_space": rows({"free_bytes": GIB}),
        "FROM dba_data_files": rows({"growth_bytes": 0}),
        r"FROM v\$database": rows({"force_logging": "NO"}),
    }
    return Answers(**(given | changed))


def found(name=None, **changed):
    return tablespace.find(connected(answers(**changed)), name)


def test_what_a_tablespace_is():
    place = found()
    assert (place.name, place.owner, place.block_size, place.clause) == ("USERS", "SCOTT", 8192, "")
    assert (place.quota_bytes, place.free_bytes, place.growth_bytes) == (None, GIB, 0)


def test_a_named_tablespace_is_part_of_each_definition():
    small = USERS | {"tablespace_name": "SLOB4K", "block_size": 4096}
    place = found("slob4k", **{"FROM user_tablespaces": rows(small)})
    assert place.clause == 'TABLESPACE "SLOB4K"'


def test_the_tablespace_whose_case_fits_is_taken():
    both = rows(USERS | {"tablespace_name": "USERS"}, USERS | {"tablespace_name": "users", "block_size": 4096})
    assert found("users", **{"FROM user_tablespaces": both}).block_size == 4096


def test_a_tablespace_that_is_not_there():
    with pytest.raises(SlobError, match="there is no tablespace NONE that this user may see"):
        found("NONE", **{"FROM user_tablespaces": rows()})


def test_data_for_other_blocks_are_refused():
    spec = DataSpec(1, 100, 10, obfuscate=False, tablespace="USERS", block_size=4096)
    with pytest.raises(SlobError, match=r"has blocks of 8,192 bytes, and the data are specified for 4,096"):
        tablespace.of_data(connected(answers()), ConnectionParams("x", {}), spec)


@pytest.mark.parametrize(
    ("changed", "left"),
    [
        ({"FROM user_ts_quotas": rows({"bytes": 10 * MIB, "max_bytes": 30 * MIB})}, 20 * MIB),
        ({"FROM user_ts_quotas": rows({"bytes": 40 * MIB, "max_bytes": 30 * MIB})}, 0),
        ({"FROM user_ts_quotas": rows()}, 0),
        ({"FROM user_ts_quotas": rows(), "FROM session_privs": rows({"privilege": "UNLIMITED TABLESPACE"})}, None),
    ],
)
def test_the_room_that_a_quota_leaves(changed, left):
    assert found(**changed).quota_bytes == left


def test_a_quota_that_is_too_small_is_refused_with_the_statement_that_raises_it():
    place = found(**{"FROM user_ts_quotas": rows({"bytes": 0, "max_bytes": 10 * MIB})})
    with pytest.raises(SlobError, match=r"needs 20 MB more in tablespace USERS.*leaves 10 MB") as caught:
        tablespace.check_space(place, 20 * MIB)
    assert 'ALTER USER "SCOTT" QUOTA UNLIMITED ON "USERS"' in caught.value.remedy


def test_files_that_are_full_and_may_not_grow_are_refused():
    with pytest.raises(SlobError, match=r"its files have 1 GB and may grow by 0") as caught:
        tablespace.check_space(found(), 2 * GIB)
    assert caught.value.remedy.endswith('ALTER TABLESPACE "USERS" ADD DATAFILE SIZE 1024M')


def test_a_tablespace_of_one_file_takes_no_other():
    place = found(**{"FROM user_tablespaces": rows(USERS | {"bigfile": "YES"})})
    with pytest.raises(SlobError, match="AUTOEXTEND ON MAXSIZE UNLIMITED"):
        tablespace.check_space(place, 2 * GIB)


def test_what_is_loaded_now_counts_as_free():
    place = found(**{"FROM user_segments": rows({"held_bytes": 2 * GIB})})
    assert tablespace.check_space(place, 2 * GIB) == "2 GB needed in tablespace USERS, and free"


def test_files_that_may_grow():
    place = found(**{"FROM dba_data_files": rows({"growth_bytes": 8 * GIB})})
    assert "free once its files have grown" in tablespace.check_space(place, 2 * GIB)


def test_files_whose_growth_cant_be_seen_are_tried():
    place = found(**{"FROM dba_data_files": MISSING})
    text = tablespace.check_space(place, 2 * GIB)
    assert "whether they may grow can't be seen" in text
    assert 'GRANT SELECT ON SYS.DBA_DATA_FILES TO "SCOTT"' in text


def test_tables_take_whole_extents():
    tables = [table_cf1("CF1_1", 1, 32_768), table_cf2("CF2_1", 1, 16)]
    # 264 MB in extents of 8 MB, an index of 640 KB and a table of 132 KB in extents of 64 KB.
    assert tablespace.needed_bytes(tables, 8192) == 264 * MIB + 640 * 1024 + 192 * 1024


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({}, "NOLOGGING"),
        ({"FROM user_tablespaces": rows(USERS | {"force_logging": "YES"})}, "tablespace USERS has FORCE LOGGING"),
        ({r"FROM v\$database": rows({"force_logging": "YES"})}, "the database has FORCE LOGGING"),
        ({r"FROM v\$database": MISSING}, r"can't be seen without SELECT on V_\$DATABASE"),
    ],
)
def test_whether_the_load_writes_redo(changed, text):
    connection = connected(answers(**changed))
    place = tablespace.find(connection, None)
    assert re.search(text, tablespace.redo_of_load(connection, place))
