"""AWR and Statspack snapshots: by whose leave, which reports, and what is kept when one fails."""

from __future__ import annotations

import re
from contextlib import contextmanager

import pytest

from factories.oracle.wire import Executor, OracleError, Rows, Server
from factories.paths import ROOT
from openslob.core.errors import SlobError
from openslob.core.workload import StatisticsType
from openslob.engines.oracle.connection import open_connection
from openslob.engines.oracle.snapshots import LICENCE, capabilities, open_snapshots
from openslob.engines.oracle.target import parse
from openslob.engines.sql import read_sql

AWR = frozenset({"awr"})
GRANT = re.compile(r"^GRANT [^;]*;", re.MULTILINE)


class Database(Executor):
    """Answers what snapshots ask; takes snapshots by number. ``denied`` are texts whose statements fail."""

    def __init__(self, log, packs="DIAGNOSTIC+TUNING", may=1, container="0", parallel="NO", denied=()):
        self.log, self.packs, self.may, self.container, self.parallel = log, packs, may, container, parallel
        self.denied = denied

    def execute(self, text, binds):
        self.log.append((text, {name: value for name, value in binds.items() if value is not None}))
        for words in self.denied:
            if words in text:
                raise OracleError(942, "table or view does not exist")
        for words, answer in self.answers().items():
            if words in text:
                return answer(binds) if callable(answer) else answer
        raise NotImplementedError(text)

    def answers(self):
        taken = [text for text, _ in self.log if "SNAP" in text and ":snap_id" in text]
        return {
            ":snap_id": {"snap_id": 40 + len(taken)},
            "all_objects": Rows(["AWR", "STATSPACK"], [[self.may, self.may]]),
            "user_users": Rows(["USER_NAME"], [["BENCH"]]),
            "v$parameter": Rows(["VALUE"], [[self.packs]]),
            "CON_ID": Rows(["CON_ID", "CON_NAME"], [[self.container, "SLOBPDB"]]),
            "con_dbid": Rows(["DBID", "INSTANCE_NUMBER", "PARALLEL"], [[777, 1, self.parallel]]),
            "v$database": Rows(["DBID", "INSTANCE_NUMBER", "PARALLEL"], [[555, 1, self.parallel]]),
            "gv$instance": Rows(["INST_ID"], [[1], [2]]),
            "GLOBAL_REPORT": Rows(["OUTPUT"], [["WORKLOAD REPOSITORY REPORT (RAC)"]]),
            "AWR_REPORT_TEXT": lambda binds: Rows(
                ["OUTPUT"], [["WORKLOAD REPOSITORY report for"], [None], [f"instance {binds['instance_number']:.0f}"]]
            ),
        }


@contextmanager
def database(**facts):
    log = []
    with Server(lambda _: Database(log, **facts)) as server:
        params = parse(server.url)
        password = {**params.arguments, "password": "slob"}
        yield log, lambda: open_connection(type(params)(params.shown, password), "snapshots")


def sent(log, words):
    return [values for text, values in log if words in text]


def taken(connect, kind=StatisticsType.AWR, consented=AWR):
    snapshots = open_snapshots(connect, consented, kind)
    try:
        snapshots.begin()
        return snapshots.end()
    finally:
        snapshots.close()


def test_awr_reports_lie_in_files_named_as_oracle_names_them():
    with database() as (log, connect):
        files = taken(connect)
    assert list(files) == ["awrrpt_1_41_42.txt", "snapshots.txt"]
    assert files["awrrpt_1_41_42.txt"] == "WORKLOAD REPOSITORY report for\n\ninstance 1\n"
    assert "snapshot 41: " in files["snapshots.txt"]
    assert f"the user said that this server has the licence ({LICENCE})" in files["snapshots.txt"]
    assert sent(log, "AWR_REPORT_TEXT") == [{"dbid": 555, "instance_number": 1, "first_snap": 41, "last_snap": 42}]


def test_a_pluggable_database_is_named_by_its_own_number():
    with database(container="3") as (log, connect):
        taken(connect)
    assert sent(log, "AWR_REPORT_TEXT")[0]["dbid"] == 777


def test_of_a_cluster_there_is_a_report_on_each_instance_and_on_all():
    with database(parallel="YES") as (_, connect):
        assert list(taken(connect)) == [
            "awrrpt_1_41_42.txt", "awrrpt_2_41_42.txt", "awrrpt_rac_41_42.txt", "snapshots.txt",
        ]  # fmt: skip


def test_instances_that_this_user_may_not_see_have_no_report():
    with database(parallel="YES", denied=("gv$instance",)) as (_, connect):
        assert list(taken(connect)) == ["awrrpt_1_41_42.txt", "awrrpt_rac_41_42.txt", "snapshots.txt"]


def test_a_report_that_fails_does_not_lose_the_others():
    with database(parallel="YES", denied=("GLOBAL_REPORT",)) as (_, connect):
        files = taken(connect)
    assert list(files) == ["awrrpt_1_41_42.txt", "awrrpt_2_41_42.txt", "snapshots.txt"]
    assert "awrrpt_rac_41_42.txt could not be made: ORA-00942" in files["snapshots.txt"]


def test_without_any_report_the_snapshots_are_named():
    with (
        database(denied=("AWR_REPORT_TEXT",)) as (_, connect),
        pytest.raises(SlobError, match="could not be made") as e,
    ):
        taken(connect)
    assert "snapshots 41 and 42" in e.value.remedy


def test_statspack_needs_no_licence_and_says_how_the_report_is_made():
    with database(packs="NONE") as (log, connect):
        files = taken(connect, StatisticsType.STATSPACK, frozenset())
    assert list(files) == ["snapshots.txt"]
    assert "begin_snap 41, end_snap 42" in files["snapshots.txt"]
    assert sent(log, "DBMS_WORKLOAD_REPOSITORY.") == []


def test_nothing_is_asked_without_a_wish():
    with database() as (log, connect):
        assert open_snapshots(connect, AWR, StatisticsType.NONE) is None
        assert log == []


@pytest.mark.parametrize(
    ("facts", "kind", "consented", "said"),
    [
        ({}, "awr", (), f"awr may be used only with the licence of the {LICENCE}"),
        ({"packs": "NONE"}, "awr", ("awr",), "AWR is switched off: control_management_pack_access is NONE"),
        ({"may": 0}, "awr", ("awr",), "this user may not execute DBMS_WORKLOAD_REPOSITORY"),
        ({"denied": ("v$parameter",)}, "awr", ("awr",), "GRANT SELECT ON SYS.V_$PARAMETER TO BENCH;"),
        ({"may": 0}, "statspack", ("awr",), "GRANT EXECUTE ON PERFSTAT.STATSPACK TO BENCH;"),
    ],
)
def test_what_may_not_be_used_is_not_touched(facts, kind, consented, said):
    with database(**facts) as (log, connect), pytest.raises(SlobError) as caught:
        open_snapshots(connect, frozenset(consented), StatisticsType(kind))
    assert said in f"{caught.value.what}; {caught.value.remedy}"
    assert sent(log, "WORKLOAD_REPOSITORY.") == sent(log, "STATSPACK.SNAP") == []


def test_a_pluggable_database_of_the_first_release_takes_none(monkeypatch):
    with database(container="3") as (_, connect), connect() as connection:
        monkeypatch.setattr(type(connection), "version", (12, 1, 0, 2, 0))
        awr, statspack = capabilities(connection)
    assert (awr.present, awr.remedy) == (False, "connect to the root")
    assert statspack.present


def test_a_snapshot_that_fails_is_one_line():
    with (
        database(denied=(":snap_id",)) as (_, connect),
        pytest.raises(SlobError, match="a snapshot of the server's statistics failed"),
    ):
        taken(connect)


def test_grants_are_told_as_the_administrator_of_the_pluggable_database_gives_them():
    with database(may=0, container="3") as (_, connect), connect() as connection:
        awr, statspack = capabilities(connection)
    assert (awr.by, statspack.by) == ("as SYSDBA, after ALTER SESSION SET CONTAINER = SLOBPDB",) * 2


def test_the_documentation_has_every_grant():
    grants = read_sql("openslob.engines.oracle", "grants").replace("{user}", "slob")
    printed = (ROOT / "docs" / "oracle.md").read_text()
    assert set(GRANT.findall(printed)) == set(GRANT.findall(grants))
