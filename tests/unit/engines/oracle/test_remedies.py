"""Remedies on servers where a database's usual ones do not work: managed services, and files that must be named."""

from __future__ import annotations

import pytest

from factories.oracle.answers import RELEASES, Answers, Server
from factories.oracle.double import connected
from factories.tables import table
from openslob.core.units import GIB, MIB
from openslob.core.workload import Workload
from openslob.engines.capabilities import Capability
from openslob.engines.facts import DataState, Finding
from openslob.engines.oracle.checks import findings
from openslob.engines.oracle.remedies import advise, find_cloud, name_service
from openslob.engines.oracle.server_facts import Survey, read_facts
from openslob.engines.oracle.target import ConnectParams

PARAMS = ConnectParams("oracle://db/slob", {})
REDO = Workload(schemas=2, scale="1G", update_pct=50, mode="redo")
HEAVY = Workload(schemas=2, scale="1G", update_pct=50, redo_stress="HEAVY")
POOR = {"privileges": ("CREATE TABLE", "CREATE PROCEDURE"), "without": frozenset({"V_$SESSION", "V_$SQL"})}
SMALL = {"logs": ((1, 200 * MIB),) * 3, "undo": (("/u/undo", 100 * MIB, 200 * MIB),)}
# Without OMF.
NAMED = {"db_create_file_dest": "absent"}


def survey_of(server: Server) -> Survey:
    return Survey(connected(Answers(server), RELEASES[server.release][0]))


def found(server: Server, workload: Workload = REDO, loaded: bool = True) -> dict[str, Finding]:
    connection = connected(Answers(server), RELEASES[server.release][0])
    facts = read_facts(connection, PARAMS)
    state = DataState(workload.data(facts.block_size, facts.tablespace), True, "now", {1: 1, 2: 1})
    listed = findings(connection, PARAMS, workload, facts, lambda: state if loaded else None)
    return {each.name: each for each in listed}


@table(
    ("server", "workload", "name", "by", "remedy"),
    [
        (
            Server(cloud="rds", **POOR), REDO, "monitor", "as the master user",
            "BEGIN rdsadmin.rdsadmin_util.grant_sys_object('V_$SESSION', 'SLOB', 'SELECT');\n"
            "rdsadmin.rdsadmin_util.grant_sys_object('V_$SQL', 'SLOB', 'SELECT');\nEND;\n/",
        ),
        (
            Server(cloud="rds", **POOR), REDO, "checkpoint", "as the master user",
            "EXEC rdsadmin.rdsadmin_util.checkpoint;\n-- just before the run",
        ),
        (
            Server("12.2", cloud="rds", may_sleep=False), REDO, "sleep", "as the master user",
            "BEGIN rdsadmin.rdsadmin_util.grant_sys_object('DBMS_LOCK', 'SLOB', 'EXECUTE');\nEND;\n/",
        ),
        (
            Server(cloud="rds", **SMALL), REDO, "redo log", "as the master user",
            "\n".join(["EXEC rdsadmin.rdsadmin_util.add_logfile(p_size => '1G');"] * 3),
        ),
        (
            Server(cloud="rds", instance={"logins": "RESTRICTED"}), REDO, "restricted", "as the master user",
            "EXEC rdsadmin.rdsadmin_util.restricted_session(p_enable => false);",
        ),
        (
            Server(cloud="rds", processes=(638, "640")), REDO, "connections", "",
            "in the DB parameter group, if it has the parameter: processes = 645\n"
            "-- and reboot the DB instance; or use fewer sessions",
        ),
        (
            Server(cloud="rds", plan=("DAY", "ON")), REDO, "resource manager", "",
            "in the DB parameter group, if it has the parameter: resource_manager_plan = ''",
        ),
        (
            Server(cloud="rds", windows=(("W", None, "TRUE", 90000),)), REDO, "maintenance", "",
            "run outside of the maintenance window",
        ),
        (
            Server(cloud="rds", container=(3, "TENANT")), REDO, "container", "",
            "nobody gets into the root container here",
        ),
        # Statements that the service takes from its administrator.
        (
            Server(cloud="rds", **SMALL), HEAVY, "undo", "as the master user",
            "ALTER TABLESPACE UNDOTBS1 ADD DATAFILE SIZE 4G AUTOEXTEND ON;",
        ),
        (
            Server(cloud="autonomous", **POOR), REDO, "monitor", "as ADMIN", "GRANT SELECT_CATALOG_ROLE TO SLOB;",
        ),
        (
            Server(cloud="autonomous", **POOR), REDO, "checkpoint", "as ADMIN",
            "GRANT ALTER SYSTEM TO SLOB;\n-- which ends sessions left behind: nobody may run a checkpoint here",
        ),
        (
            Server(cloud="autonomous", **SMALL), REDO, "redo log", "",
            "the service decides this: take it into account when you compare servers",
        ),
        (
            Server(cloud="autonomous", processes=(638, "640")), REDO, "connections", "",
            "use fewer sessions, or give the database more CPUs",
        ),
        (
            Server(cloud="autonomous", parameters={"result_cache_mode": "FORCE"}), REDO, "result_cache_mode",
            "as ADMIN", "ALTER SYSTEM SET result_cache_mode = MANUAL;",
        ),
        (
            Server(cloud="autonomous", instance={"logins": "RESTRICTED"}), REDO, "restricted", "",
            "set the operation mode to Read/Write in the console",
        ),
    ],
)  # fmt: skip
def test_each_remedy_is_the_service_s_own(server, workload, name, by, remedy):
    this = found(server, workload)[name]
    assert (this.by, this.remedy) == (by, remedy)


@pytest.mark.parametrize("cloud", ["rds", "autonomous"])
def test_room_for_the_data_is_given_as_the_service_does(cloud):
    space = found(Server(cloud=cloud, free_bytes=GIB, files=(("/a", GIB, GIB),)), loaded=False)["space"]
    expected = {
        "rds": ("as the master user", "ALTER TABLESPACE SLOB AUTOEXTEND ON MAXSIZE UNLIMITED;"),
        "autonomous": ("", "give the database more storage in the console"),
    }
    assert (space.by, space.remedy) == expected[cloud]


def test_the_master_user_of_rds_can_run_a_checkpoint_itself():
    assert "checkpoint" not in found(Server(cloud="rds", is_master=True, **POOR))


def test_a_server_that_says_nothing_is_no_service():
    assert find_cloud(survey_of(Server())) is None
    assert find_cloud(survey_of(Server("11.2"))) is None
    monitor = found(Server(**POOR))["monitor"]
    assert monitor.by == "as SYSDBA"
    assert monitor.remedy.startswith("GRANT SELECT ON SYS.V_$SESSION TO SLOB;")


def test_the_facts_name_the_service():
    plain, rds = Server(), Server(cloud="rds")
    for server, service, remedy in (
        (plain, None, "ALTER SYSTEM SET filesystemio_options = SETALL SCOPE = SPFILE and restart the instance"),
        (rds, "Amazon RDS", "in the DB parameter group, if it has the parameter: filesystemio_options = SETALL"),
        (Server(cloud="autonomous"), "Autonomous Database", "the service decides this: take it into account when"),
    ):
        survey = survey_of(server)
        facts = name_service(survey, read_facts(survey.connection, PARAMS))
        assert facts.connection.get("service") == service
        assert facts.direct_io_remedy.startswith(remedy)


def test_what_a_capability_lacks_is_given_by_the_service_s_administrator():
    remedy = "run spcreate.sql, then GRANT EXECUTE ON PERFSTAT.STATSPACK TO SLOB;"
    lacking = Capability("statspack", False, "not installed", "no report", remedy, by="as SYSDBA")
    assert advise(survey_of(Server(cloud="rds")), lacking).remedy == (
        "add the option STATSPACK to the option group, then GRANT EXECUTE ON PERFSTAT.STATSPACK TO SLOB;"
    )


@table(
    ("server", "remedy", "named"),
    [
        (Server(), "ALTER TABLESPACE SLOB ADD DATAFILE SIZE 9M;", "ALTER TABLESPACE SLOB ADD DATAFILE SIZE 9M;"),
        (
            Server(parameters=NAMED), "ALTER TABLESPACE SLOB ADD DATAFILE SIZE 9M AUTOEXTEND ON;",
            "ALTER TABLESPACE SLOB ADD DATAFILE '/u02/slob_2.dbf' SIZE 9M AUTOEXTEND ON;",
        ),
        (
            Server(parameters=NAMED, files=(("C:\\data\\SLOB.DBF", 1, 1),)),
            "ALTER TABLESPACE SLOB ADD DATAFILE SIZE 9M;",
            "ALTER TABLESPACE SLOB ADD DATAFILE 'C:\\data\\slob_2.dbf' SIZE 9M;",
        ),
        (
            Server(parameters=NAMED, files=(("+DATA/ORCL/DATAFILE/slob.266.1", 1, 1),)),
            "ALTER TABLESPACE SLOB ADD DATAFILE SIZE 9M;", "ALTER TABLESPACE SLOB ADD DATAFILE '+DATA' SIZE 9M;",
        ),
        (
            Server(parameters=NAMED), "ALTER DATABASE ADD LOGFILE SIZE 1G;\nALTER DATABASE ADD LOGFILE SIZE 1G;",
            "ALTER DATABASE ADD LOGFILE '/u02/slob_redo_1.log' SIZE 1G;\n"
            "ALTER DATABASE ADD LOGFILE '/u02/slob_redo_2.log' SIZE 1G;",
        ),
        (
            Server(parameters={**NAMED, "db_recovery_file_dest": "/fra"}), "ALTER DATABASE ADD LOGFILE SIZE 1G;",
            "ALTER DATABASE ADD LOGFILE SIZE 1G;",
        ),
        # Nobody can tell.
        (
            Server(parameters=NAMED, without=frozenset({"V_$PARAMETER"})), "ALTER DATABASE ADD LOGFILE SIZE 1G;",
            "ALTER DATABASE ADD LOGFILE SIZE 1G;",
        ),
        (
            Server(parameters=NAMED, without=frozenset({"DBA_DATA_FILES"})), "ALTER DATABASE ADD LOGFILE SIZE 1G;",
            "ALTER DATABASE ADD LOGFILE SIZE 1G;",
        ),
    ],
)  # fmt: skip
def test_a_new_file_is_named_where_the_server_names_none(server, remedy, named):
    assert advise(survey_of(server), Finding("space", "", remedy, False, by="as SYSDBA")).remedy == named


def test_both_remedies_of_a_check_name_their_files():
    server = Server(parameters=NAMED, **SMALL)
    assert "ADD LOGFILE '/u02/slob_redo_3.log' SIZE 1G;" in found(server)["redo log"].remedy
    assert "ADD DATAFILE '/u/undotbs1_2.dbf' SIZE 4G" in found(server, HEAVY)["undo"].remedy
