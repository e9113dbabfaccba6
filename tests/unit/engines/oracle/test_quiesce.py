"""What prepares an Oracle database for the window."""

import pytest
from oracledb import DatabaseError

from factories.oracle.double import Answers, connected, rows, statements_of
from factories.oracle.wire import OracleError
from factories.texts import numbers
from openslob.core.workload import Workload
from openslob.engines.oracle.quiesce import quiesce

LOAD = Workload(schemas=2, sessions=2, scale="1000")


def reads(*figures):
    """Answers to how many blocks this session has read from storage, one after another."""
    left = list(figures)
    return lambda _: rows({"blocks": left.pop(0)})


REFUSAL = OracleError(1031, "insufficient privileges")
NO_PACKAGE = OracleError(6550, "line 2, column 5:\nPLS-00201: identifier 'RDSADMIN.RDSADMIN_UTIL' must be declared")


def done(warm_cache, workload=LOAD, **answers):
    connection = connected(Answers(**{r"SELECT /\*\+": rows({"n": 1}), **answers}))
    return quiesce(connection, workload, warm_cache, 8192), statements_of(connection)


def test_a_checkpoint_by_who_may_run_one():
    assert done(False) == (["checkpoint"], ["ALTER SYSTEM CHECKPOINT"])


def test_who_may_not_is_told():
    found, _ = done(False, **{"ALTER SYSTEM": REFUSAL, "rdsadmin": NO_PACKAGE})
    assert found[0].startswith("no checkpoint: this user may not run one (ALTER SYSTEM)")


def test_the_master_user_of_rds_has_a_procedure_instead():
    found, sent = done(False, **{"ALTER SYSTEM": REFUSAL})
    assert found == ["checkpoint"]
    assert sent[-1] == "BEGIN rdsadmin.rdsadmin_util.checkpoint; END;"


def test_a_server_that_refuses_is_quoted():
    found, _ = done(False, **{"ALTER SYSTEM": OracleError(65040, "not allowed from within a pluggable database")})
    (note,) = found
    assert note.startswith("no checkpoint: ORA-65040: ")


def test_a_lost_connection_is_an_error():
    with pytest.raises(DatabaseError, match="ORA-03113"):
        done(False, **{"ALTER SYSTEM": OracleError(3113, "end-of-file on communication channel")})


def test_the_cache_is_filled_by_the_index_and_looked_at_again():
    found, statements = done(True, **{r"v\$mystat": reads(2000, 2000)})
    assert [numbers(note) for note in found[:2]] == [[1000, 2], []]
    warming = [text for text in statements if "COUNT(t.c2)" in text]
    assert len(warming) == 4
    assert all("INDEX(t CF1_" in text for text in warming)


def test_a_cache_that_is_too_small_is_told():
    found, _ = done(True, **{r"v\$mystat": reads(2000, 2500)})
    assert numbers(found[1]) == [500, 2000, 3.906]


def test_whether_it_took_is_unknown_without_the_right():
    found, statements = done(True, **{r"v\$mystat": OracleError(942, "table or view does not exist")})
    assert "can't be seen without SELECT on V_$MYSTAT" in found[1]
    assert len([text for text in statements if "COUNT(t.c2)" in text]) == 2


def test_scans_read_their_tables_through_the_cache_too():
    _, statements = done(True, Workload(schemas=1, scale="100", scan_pct=50), **{r"v\$mystat": reads(0, 0)})
    assert 'ALTER SESSION SET "_serial_direct_read" = NEVER' in statements
    assert len([text for text in statements if "FROM CF2_1" in text]) == 2
