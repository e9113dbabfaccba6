"""Each version of Oracle and each missing grant: what is known, what is unknown and why, and what stops a run."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from factories.oracle.answers import RELEASES, Answers, Server, views_of
from factories.oracle.double import connected
from factories.tables import table
from openslob.core.errors import SlobError
from openslob.core.workload import Workload
from openslob.engines.oracle.checks import GRANT, SECTIONS, findings, list_grants
from openslob.engines.oracle.connection import PACKAGE
from openslob.engines.oracle.server_facts import read_facts
from openslob.engines.oracle.target import ConnectParams
from openslob.engines.oracle.versions import CONTAINER_VIEWS, own_view
from openslob.engines.sql import read_sql, read_statements

PARAMS = ConnectParams("oracle://db/slob", {})
PDB = (3, "SALES")
ROOT = Path(__file__).parents[4]
SQL = ROOT / "src" / "openslob" / "engines" / "oracle" / "sql"
VIEWS = [view for section in SECTIONS for view in GRANT.findall(read_statements(PACKAGE, "grants")[section])]
OF_PLUGGABLE = ("figures_of_pluggable", "figures_of_pluggable_18")
CONTAINERS = {
    "11.2": None, "12.1": (0, "ORCL"), "12.2": (0, "ORCL"), "18": PDB, "19": PDB, "21": PDB, "23ai": PDB, "26ai": PDB,
}  # fmt: skip
# Reserved by SQL or by PL/SQL, of those that a value could be called by; as a bind's name they are ORA-01745.
RESERVED = """
    access all any array as at begin between by case check cluster column columns comment connect create current cursor
    date decimal declare default delete desc drop else end exception exclusive exists fetch file float for from function
    grant group if immediate in increment index indexes initial insert integer into is level like lock long minus mode
    modify not nowait null number of offline on online option or order overlaps prior privileges procedure public raw
    rename resource revoke row rowid rownum rows select session set share size smallint sql start subtype successful
    synonym sysdate table then to trigger type uid union unique update user validate values varchar varchar2 view views
    when whenever where with
"""


def asked(server: Server, workload: Workload | None = None):
    connection = connected(Answers(server), RELEASES[server.release][0])
    params = replace(PARAMS, thick=server.release == "11.2")
    facts = read_facts(connection, params)
    return facts, list(findings(connection, params, workload or Workload(), facts, lambda: None))


@table("release", list(RELEASES))
def test_every_version_is_known_by_its_facts(release):
    facts, found = asked(Server(release, container=CONTAINERS[release]))
    assert facts.product in ("Oracle Database", "Oracle AI Database")
    assert facts.version == RELEASES[release][0]
    assert (facts.block_size, facts.cache_bytes, facts.direct_io) == (8192, 2**33, True)
    assert facts.free_connections == 581
    assert facts.settings["edition"].startswith(RELEASES[release][1].split()[-3 if release != "23ai" else -2])
    assert ("container" in facts.settings) == (release != "11.2")
    assert [each.name for each in found if each.blocking] == ["data"]
    assert not [each for each in found if each.name in ("monitor", "sleep", "checkpoint")]


@table("release", list(RELEASES))
def test_sleeping_is_a_right_before_18(release):
    _, found = asked(Server(release, may_sleep=False))
    assert any(each.name == "sleep" for each in found) == (release in ("11.2", "12.1", "12.2"))


@table("release", list(RELEASES))
def test_without_any_grant_a_run_is_possible_and_says_what_it_lacks(release):
    server = Server(
        release,
        container=CONTAINERS[release],
        without=frozenset({*VIEWS, *(view.replace("V_$", "V_$CON_") for view in VIEWS)}),
    )
    facts, found = asked(server)
    assert facts.block_size == 8192
    assert (facts.cache_bytes, facts.free_connections, facts.direct_io) == (None, None, None)
    assert not facts.read_only
    assert [each.name for each in found if each.blocking] == ["data"]
    (grants,) = (each.remedy.splitlines() for each in found if each.name == "monitor")
    in_cluster = {"GV_$INSTANCE"}
    too_new = {"V_$EVENT_HISTOGRAM_MICRO"} if release == "11.2" else set()
    pluggable = CONTAINERS[release] == PDB
    views = {own_view(view, pluggable, server.version) for view in {*VIEWS} - in_cluster - too_new}
    assert ("V_$CON_SYSSTAT" in views, "V_$SYSSTAT" in views) == (pluggable, not pluggable)
    assert set(grants) == {f"GRANT SELECT ON SYS.{view} TO SLOB;" for view in views}
    assert len(grants) == len(set(grants))


@table("view", VIEWS)
def test_each_missing_grant_is_told_with_its_statement(view):
    server = Server(instances=("slob1", "slob2"), without=frozenset({view}))
    _, found = asked(server, Workload(update_pct=50, redo_stress="HEAVY"))
    if view == "V_$INSTANCE":
        # Whether it is a cluster is not known then; views of all instances are not asked for.
        assert "cluster" not in asked(server)[0].settings
    (monitor,) = (each for each in found if each.name == "monitor")
    assert monitor.remedy == f"GRANT SELECT ON SYS.{view} TO SLOB;"
    assert monitor.why.startswith("this user may not read one of the server's views, so that less will be known of: ")
    assert not monitor.blocking
    assert [each.name for each in found if each.blocking] == ["data"]


@table(
    ("view", "lost"),
    [
        ("V_$BUFFER_POOL", {"cache_bytes": None}),
        ("V_$RESOURCE_LIMIT", {"free_connections": None}),
        ("V_$DATABASE", {"read_only": False}),
    ],
)
def test_what_a_view_alone_shows_is_unknown_without_it(view, lost):
    facts, _ = asked(Server(without=frozenset({view})))
    assert {name: getattr(facts, name) for name in lost} == lost


def test_a_standby_is_known_without_any_right():
    standby = Server(database={"database_role": "PHYSICAL STANDBY", "open_mode": "READ ONLY"})
    assert asked(standby)[0].read_only
    assert asked(replace(standby, without=frozenset({"V_$DATABASE"})))[0].read_only


def test_a_pool_is_known_by_the_tables_own_block_size():
    pools = (("DEFAULT", 8192, 1000), ("KEEP", 8192, 500), ("DEFAULT", 4096, 64))
    facts, _ = asked(Server(tablespace={"block_size": 4096}, pools=pools))
    assert (facts.block_size, facts.cache_bytes) == (4096, 64 * 2**20)


def test_a_tablespace_that_the_user_may_not_use_is_said_with_the_statement():
    with pytest.raises(SlobError, match="may not use tablespace SLOB") as caught:
        asked(Server(tablespace=None, without=frozenset({"V_$PARAMETER"})))
    assert caught.value.remedy == "as an administrator: ALTER USER SLOB QUOTA UNLIMITED ON SLOB;"


def test_instances_of_one_cluster_have_the_same_identity_and_others_have_not():
    one, other = asked(Server())[0], asked(Server(instances=("slob1", "slob2")))[0]
    assert one.cluster_id == other.cluster_id
    assert one.cluster_id != asked(Server(container=PDB))[0].cluster_id


def test_statements_ask_for_no_view_that_no_grant_gives():
    granted, free = {*VIEWS}, {"ALL_SCHEDULER_WINDOWS"}
    for file in ("facts", "counters", "waits", "session"):
        for name, text in read_statements(PACKAGE, file).items():
            assert views_of(text.replace("{own}", "")) - free <= granted, (file, name)


def test_each_view_of_a_pluggable_database_s_own_can_be_granted():
    granted = {view for section in OF_PLUGGABLE for view in GRANT.findall(read_statements(PACKAGE, "grants")[section])}
    assert granted == {own_view(view, True, (99,)) for view in CONTAINER_VIEWS}


def test_the_manual_has_the_grants_that_are_asked_for():
    manual = (ROOT / "docs" / "oracle.md").read_text()
    printed = set(re.findall(r"^GRANT (?:SELECT|ALTER|EXECUTE).*?;", manual, re.MULTILINE))
    asked_for = {
        line
        for section in ("sleeping", *SECTIONS, *OF_PLUGGABLE, "reporting", "settling")
        for line in list_grants(section, "slob")
    }
    assert printed == asked_for


def test_every_right_is_used():
    sql = " ".join(read_sql(PACKAGE, path.stem) for path in SQL.glob("*.sql") if path.stem != "grants").lower()
    sql = sql.replace("{own}", "")
    for view in VIEWS:
        name = view.lower().replace("v_$", "v$")
        used = name if name != "gv$session" else "{prefix}v$session"
        assert used in sql, view


def test_no_bind_has_a_reserved_name():
    binds = {
        (file.stem, name, bind.lower())
        for file in SQL.glob("*.sql")
        for name, text in read_statements(PACKAGE, file.stem).items()
        for bind in re.findall(r":([a-z]\w*)", re.sub(r"'[^']*'", "", text), re.IGNORECASE)
    }
    assert len(binds) > 40
    assert not [each for each in binds if each[2] in RESERVED.split()]
