"""Whether test tables find room in a tablespace, and what a load says of its redo."""

import re

import pytest

from factories.oracle.answers import Answers, Server
from factories.oracle.double import connected
from openslob.core.errors import SlobError
from openslob.core.units import GIB, MIB
from openslob.core.workload import DataSpec
from openslob.engines.oracle import tablespace
from openslob.engines.oracle.server_facts import Survey
from openslob.engines.tables import table_cf1, table_cf2

ONE_GB = (("/a", GIB, GIB),)
UNSEEN_FILES = frozenset({"DBA_DATA_FILES"})


def survey(**changed):
    """A tablespace of 8 KB blocks with 1 GB free in a file of fixed size, and no quota's limit."""
    given = {"free_bytes": GIB, "quota": -1, "files": ONE_GB, "tablespace": {"bigfile": "NO"}} | changed
    return Survey(connected(Answers(Server(**given))))


def found(name=None, **changed):
    return tablespace.find(survey(**changed), name)


def room(needed, **changed):
    asked = survey(**changed)
    return tablespace.check_space(asked, tablespace.find(asked, None), needed)


def test_what_a_tablespace_is():
    place = found()
    assert (place.name, place.owner, place.block_size, place.clause) == ("SLOB", "SLOB", 8192, 'TABLESPACE "SLOB"')
    assert (place.quota_bytes, place.free_bytes, place.growth_bytes) == (None, GIB, 0)


def test_a_tablespace_that_the_user_may_not_use():
    with pytest.raises(SlobError, match="user SLOB may not use tablespace SLOB4K"):
        found("SLOB4K")


def test_data_for_other_blocks_are_refused():
    spec = DataSpec(1, 100, 10, obfuscate=False, tablespace="SLOB", block_size=4096)
    with pytest.raises(SlobError, match=r"8,192 .* 4,096;"):
        tablespace.find_for_data(survey(), None, spec)


@pytest.mark.parametrize(("quota", "left"), [(20 * MIB, 20 * MIB), (-10 * MIB, 0), (-1, None), (None, None)])
def test_the_room_that_a_quota_leaves(quota, left):
    assert found(quota=quota).quota_bytes == left


def test_a_quota_that_is_too_small_is_refused_with_the_statement_that_raises_it():
    with pytest.raises(SlobError, match=r"20 MB.*quota.* 10 MB") as caught:
        room(20 * MIB, quota=10 * MIB)
    assert caught.value.remedy.endswith(": ALTER USER SLOB QUOTA UNLIMITED ON SLOB;")


def test_files_that_are_full_and_may_not_grow_are_refused():
    with pytest.raises(SlobError, match=r"2 GB.* SLOB .* 1 GB") as caught:
        room(2 * GIB)
    assert caught.value.remedy.endswith("ALTER TABLESPACE SLOB ADD DATAFILE SIZE 1024M AUTOEXTEND ON;")


def test_a_tablespace_of_one_file_takes_no_other():
    with pytest.raises(SlobError, match="AUTOEXTEND ON MAXSIZE UNLIMITED"):
        room(2 * GIB, tablespace={"bigfile": "YES"})


def test_what_is_loaded_now_counts_as_free():
    assert room(2 * GIB, held_bytes=2 * GIB).startswith("2 GB needed ")


def test_files_that_may_grow():
    assert room(2 * GIB, files=(("/a", GIB, 8 * GIB),)).startswith("2 GB needed ")


def test_files_whose_growth_cant_be_seen_are_tried():
    text = room(2 * GIB, without=UNSEEN_FILES)
    assert re.findall(r"\d GB", text) == ["2 GB", "1 GB"]
    assert text.endswith("not known")


def test_tables_take_whole_extents():
    tables = [table_cf1("CF1_1", 1, 32_768), table_cf2("CF2_1", 1, 16)]
    # 264 MB in extents of 8 MB, an index of 640 KB and a table of 132 KB in extents of 64 KB.
    assert tablespace.estimate_bytes(tables, 8192) == 264 * MIB + 640 * 1024 + 192 * 1024


@pytest.mark.parametrize(
    ("changed", "begin", "end"),
    [
        ({}, "none (NOLOGGING)", "lacks these rows"),
        ({"tablespace": {"force_logging": "YES"}}, "written: tablespace SLOB has FORCE LOGGING", "NOLOGGING"),
        ({"database": {"force_logging": "YES"}}, "written: the database has FORCE LOGGING", "NOLOGGING"),
        ({"without": frozenset({"V_$DATABASE"})}, "none (NOLOGGING)", "FORCE LOGGING can't be seen"),
    ],
)
def test_whether_the_load_writes_redo(changed, begin, end):
    text = tablespace.describe_redo(found(**changed))
    assert text.startswith(begin)
    assert text.endswith(end)
