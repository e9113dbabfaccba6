"""What `slob check` finds on an Oracle database, from the answers that one would give; no Oracle was asked."""

from __future__ import annotations

import re
from dataclasses import replace

from factories.oracle.answers import RELEASES, Answers, Server
from factories.oracle.double import connected
from factories.tables import table
from openslob.core.units import GIB, MIB
from openslob.core.workload import Workload
from openslob.engines.facts import DataState, Finding, ServerFacts
from openslob.engines.oracle.checks import findings
from openslob.engines.oracle.server_facts import read_facts
from openslob.engines.oracle.target import ConnectParams

PARAMS = ConnectParams("oracle://db/slob", {})
WORK = Workload(schemas=2, scale="1G")
UPDATES = Workload(schemas=2, scale="1G", update_pct=50)
NOWAIT = Workload(schemas=2, scale="1G", update_pct=50, commit_mode="nowait")
ENGINE = Workload(schemas=2, scale="1G", update_pct=50, commit_mode="engine")
HEAVY = Workload(schemas=2, scale="1G", update_pct=50, redo_stress="HEAVY")
REDO = Workload(schemas=2, scale="1G", update_pct=50, mode="redo")
PDB = (3, "SALES")
MOVING = Server(parameters={"memory_target": "9G", "db_cache_size": "2G"})
SMALL_LOGS = ((1, 200 * MIB),) * 3
NOT_HIDDEN = dict.fromkeys(
    ("_db_block_prefetch_limit", "_db_block_prefetch_quota", "_db_file_noncontig_mblock_read_count"), "absent"
)


def found(server: Server, workload: Workload = WORK, loaded: bool = True, thick: bool = False) -> list[Finding]:
    connection = connected(Answers(server), RELEASES[server.release][0])
    params = replace(PARAMS, thick=thick)
    facts = read_facts(connection, params)
    spec = workload.data(facts.block_size, facts.tablespace)
    state = DataState(spec, True, "now", {1: 1, 2: 1}) if loaded else None
    return list(findings(connection, params, workload, facts, lambda: state))


def facts_of(server: Server) -> ServerFacts:
    return read_facts(connected(Answers(server), RELEASES[server.release][0]), PARAMS)


def quiet(server: Server) -> Server:
    """Without what is worth knowing of nearly every database."""
    return replace(server, parameters={"db_cache_size": "8G", **server.parameters})


def test_nothing_is_found_where_all_is_well():
    assert found(quiet(Server())) == []
    assert found(quiet(Server()), HEAVY) == []


BLOCKS, SPOILS, KNOW = (True, False), (False, True), (False, False)


@table(
    ("server", "workload", "name", "grade", "remedy"),
    [
        (Server("11.2"), WORK, "version", BLOCKS, "?thick=yes"),
        (Server(session_server="SHARED"), WORK, "pooler", BLOCKS, "SERVER = DEDICATED"),
        (Server(session_server="POOLED"), WORK, "pooler", BLOCKS, "SERVER = DEDICATED"),
        (Server(database={"open_mode": "READ ONLY WITH APPLY"}), WORK, "read only", BLOCKS, "primary"),
        (Server(instance={"logins": "RESTRICTED"}), WORK, "restricted", BLOCKS, "DISABLE RESTRICTED SESSION;"),
        (Server(profile={"CPU_PER_CALL": "3000"}), WORK, "profile", BLOCKS, "LIMIT CPU_PER_CALL UNLIMITED;"),
        (Server(profile={"LOGICAL_READS_PER_CALL": "9"}), WORK, "profile", BLOCKS, "ALTER USER SLOB PROFILE slob;"),
        (Server(profile={"CONNECT_TIME": "1"}), WORK, "profile", BLOCKS, "CONNECT_TIME UNLIMITED"),
        (Server(profile={"IDLE_TIME": "1"}), WORK, "profile", BLOCKS, "IDLE_TIME UNLIMITED"),
        (Server(parameters={"max_idle_time": "1"}), WORK, "idle time", BLOCKS, "SET max_idle_time = 0;"),
        (Server(profile={"SESSIONS_PER_USER": "3"}), WORK, "connections", BLOCKS, "LIMIT SESSIONS_PER_USER 7;"),
        (Server(processes=(638, "640")), WORK, "connections", BLOCKS, "SET processes = 645 SCOPE = SPFILE;"),
        (Server(privileges=("CREATE TABLE",)), WORK, "rights", BLOCKS, "GRANT CREATE PROCEDURE TO SLOB;"),
        (Server("12.2", may_sleep=False), WORK, "sleep", BLOCKS, "GRANT EXECUTE ON SYS.DBMS_LOCK TO SLOB;"),
        (Server(privileges=("CREATE TABLE", "CREATE PROCEDURE")), WORK, "checkpoint", KNOW, "GRANT ALTER SYSTEM"),
        (Server(tablespace={"block_size": 4096}), WORK, "cache", BLOCKS, "SET db_4k_cache_size = 1G;"),
        (Server(tablespace={"status": "READ ONLY"}), WORK, "tablespace", BLOCKS, "ALTER TABLESPACE SLOB READ WRITE;"),
        (Server(tablespace={"status": "OFFLINE"}), WORK, "tablespace", BLOCKS, "ALTER TABLESPACE SLOB ONLINE;"),
        (Server(tablespace=None), WORK, "tablespace", BLOCKS, "QUOTA UNLIMITED ON SLOB;"),
        (
            Server(parameters={"commit_wait": "FORCE_WAIT"}), NOWAIT,
            "commit mode", BLOCKS, "SET commit_wait = NOWAIT;",
        ),
        (
            Server(parameters={"commit_logging": "BATCH"}), ENGINE,
            "commit_logging", KNOW, "COMMIT_MODE=wait",
        ),
        (Server(), ENGINE, "commit mode", KNOW, "COMMIT_MODE=wait"),
        (Server(parameters=NOT_HIDDEN), WORK, "prefetch", KNOW, '"_db_block_prefetch_limit" = 0 SCOPE = SPFILE;'),
        (Server(asynch_io="ASYNC_OFF"), WORK, "asynchronous I/O", SPOILS, "filesystemio_options = SETALL"),
        (MOVING, WORK, "memory", KNOW, "db_cache_size = 8589934592;"),
        (Server(plan=("DAYTIME", "ON")), WORK, "resource manager", SPOILS, "resource_manager_plan = '';"),
        (Server(parameters={"cpu_count": "2"}), WORK, "cpu_count", KNOW, "SET cpu_count = 16;"),
        (
            Server(windows=(("MONDAY_WINDOW", "DEFAULT_MAINTENANCE_PLAN", "FALSE", 90),)), WORK,
            "maintenance", SPOILS, "DBMS_SCHEDULER.DISABLE('SYS.MONDAY_WINDOW', force => TRUE)",
        ),
        (Server(windows=(("W", None, "TRUE", 90000),)), WORK, "maintenance", SPOILS, "SYS.W"),
        (Server(parameters={"db_flash_cache_file": "/f"}), WORK, "flash cache", SPOILS, "db_flash_cache_size = 0;"),
        (Server(flash_hits=7), WORK, "smart storage", KNOW, "load far more"),
        (Server(parameters={"result_cache_mode": "force"}), WORK, "result_cache_mode", KNOW, "MANUAL;"),
        (Server(in_memory="ENABLED"), WORK, "in-memory", SPOILS, "NO INMEMORY;"),
        (
            Server(tablespace={"def_tab_compression": "ENABLED", "compress_for": "ADVANCED"}), WORK,
            "compression", KNOW, "DEFAULT NOCOMPRESS;",
        ),
        (Server(tablespace={"encrypted": "YES"}), WORK, "encryption", KNOW, "not"),
        (Server(logs=SMALL_LOGS), UPDATES, "redo log", KNOW, "ADD LOGFILE SIZE 1G;"),
        (Server(logs=SMALL_LOGS), REDO, "redo log", SPOILS, "ADD LOGFILE SIZE 1G;"),
        (Server(logs=((1, 4 * GIB),) * 2), UPDATES, "redo log", KNOW, "ADD LOGFILE SIZE 4096M;"),
        (Server(undo=(("/u/undo", 100 * MIB, 200 * MIB),)), HEAVY, "undo", KNOW, "ALTER TABLESPACE UNDOTBS1 ADD"),
        (Server(database={"log_mode": "ARCHIVELOG"}), WORK, "archiving", KNOW, "take it into account"),
        (Server(database={"force_logging": "YES"}), WORK, "force logging", KNOW, "take it into account"),
        (Server(database={"flashback_on": "YES"}), WORK, "flashback", KNOW, "take it into account"),
        (Server(database={"supplemental_log_data_min": "YES"}), WORK, "supplemental logging", KNOW, "take it"),
        (Server(database={"protection_mode": "MAXIMUM AVAILABILITY"}), WORK, "standby", KNOW, "take it"),
        (Server(parameters={"db_block_checking": "MEDIUM"}), WORK, "db_block_checking", KNOW, "= FALSE;"),
        (Server(parameters={"db_lost_write_protect": "TYPICAL"}), WORK, "db_lost_write_protect", KNOW, "= NONE;"),
        (Server(parameters={"timed_statistics": "FALSE"}), WORK, "timed_statistics", KNOW, "= TRUE;"),
        (Server(parameters={"statistics_level": "BASIC"}), WORK, "statistics_level", KNOW, "= TYPICAL;"),
        (Server(container=PDB), WORK, "container", KNOW, "common user in the root"),
        (Server(container=(1, "CDB$ROOT")), WORK, "container", KNOW, "service of a pluggable database"),
        (Server(instances=("slob1", "slob2")), WORK, "instances", KNOW, "separated by commas"),
        (Server(neighbours=(("BEN", "run/x", 4),)), WORK, "other load", SPOILS, "one after the other"),
        (Server(), Workload(schemas=2, scale="1G", target_ops=1000), "pacing", SPOILS, "use 10 sessions or more"),
        (Server(), Workload(schemas=2, scale="1G", target_iops=64000), "pacing", SPOILS, "use 10 sessions or more"),
        (Server(), Workload(block_path="local"), "block path", BLOCKS, "BLOCK_PATH=shared"),
        (Server(), Workload(loop="client"), "loop", BLOCKS, "LOOP=server"),
        (Server(refused=("plsql_code_type",)), WORK, "PLSQL_CODE_TYPE", SPOILS, "take it into account"),
        (Server(ignored=("plsql_code_type",)), WORK, "PLSQL_CODE_TYPE", SPOILS, "take it into account"),
        (Server(refused=("plsql_optimize_level",)), WORK, "PLSQL_OPTIMIZE_LEVEL", SPOILS, "take it into account"),
        (Server(refused=("optimizer_dynamic_sampling",)), WORK, "OPTIMIZER_DYNAMIC_SAMPLING", KNOW, "nothing"),
        (Server(refused=("optimizer_adaptive_plans",)), WORK, "OPTIMIZER_ADAPTIVE_PLANS", KNOW, "nothing"),
        (Server(refused=("parallel query",)), WORK, "PARALLEL QUERY", KNOW, "nothing"),
        (Server(refused=("commit_wait",)), UPDATES, "COMMIT_WAIT", KNOW, "nothing"),
        (Server(refused=("commit_wait",)), NOWAIT, "COMMIT_WAIT", KNOW, "nothing"),
        (
            Server(refused=("optimizer_ignore_hints",), parameters={"optimizer_ignore_hints": "TRUE"}), WORK,
            "OPTIMIZER_IGNORE_HINTS", KNOW, "nothing",
        ),
    ],
)  # fmt: skip
def test_each_state_of_a_server_has_its_finding_with_grade_and_remedy(server, workload, name, grade, remedy):
    this = [each for each in found(quiet(server), workload) if each.name == name]
    assert len(this) == 1, [each.name for each in this]
    assert (this[0].blocking, this[0].spoils) == grade
    assert remedy in this[0].remedy
    if this[0].remedy.startswith(("ALTER ", "GRANT ", "CREATE ", "EXEC ")):
        assert this[0].by.startswith("as SYSDBA")


@table(
    ("server", "words"),
    [
        (Server(quota=GIB), "this user's quota leaves 1 GB"),
        (Server(free_bytes=GIB, files=(("/a", GIB, GIB),)), "tablespace SLOB has room for 1 GB"),
        (Server(free_bytes=0, files=(("/a", GIB, 2 * GIB),)), "tablespace SLOB has room for 1 GB"),
    ],
)
def test_data_that_would_not_find_room_are_found_before_the_load(server, words):
    (space,) = (each for each in found(quiet(server), loaded=False) if each.name == "space")
    assert space.blocking
    assert words in space.why
    assert not [each for each in found(quiet(server)) if each.name == "space"]


def test_limits_of_idle_time_that_a_run_does_not_reach_are_no_findings():
    server = Server(profile={"IDLE_TIME": "60", "CONNECT_TIME": "60"}, parameters={"max_idle_time": "60"})
    assert found(quiet(server)) == []
    assert found(quiet(Server(parameters={"max_idle_time": "0"}))) == []


def test_the_lock_needs_room_in_the_user_s_default_tablespace():
    server = replace(quiet(Server()), default_tablespace="USERS")
    connection, params = connected(Answers(server)), replace(PARAMS, tablespace="SLOB")
    facts = read_facts(connection, params)
    state = DataState(WORK.data(facts.block_size, facts.tablespace), True, "now", {1: 1, 2: 1})
    (lock,) = findings(connection, params, WORK, facts, lambda: state)
    assert lock.blocking
    assert (lock.name, lock.remedy) == ("tablespace", "ALTER USER SLOB QUOTA 16M ON USERS;")
    assert "lock" in lock.why


def test_files_that_may_grow_have_room():
    server = Server(free_bytes=0, files=(("/a", GIB, 64 * GIB),))
    assert [each.name for each in found(quiet(server), loaded=False)] == ["data"]
    hidden = replace(server, without=frozenset({"DBA_DATA_FILES"}))
    (space,) = (each for each in found(quiet(hidden), loaded=False) if each.name == "space")
    assert not space.blocking
    assert "whether they may grow is not known" in space.why


def test_quotas_do_not_matter_to_a_user_whose_right_makes_them_irrelevant():
    few = Server(quota=GIB)
    rich = replace(few, privileges=(*few.privileges, "UNLIMITED TABLESPACE"))
    assert "space" in [each.name for each in found(quiet(few), loaded=False)]
    assert [each.name for each in found(quiet(rich), loaded=False)] == ["data"]


def test_who_may_run_a_remedy_depends_on_the_container():
    (root,) = (each for each in found(Server(container=PDB, plan=("X", "ON"))) if each.name == "resource manager")
    assert root.by == "as SYSDBA in the root container"
    (pdb,) = (each for each in found(Server(container=PDB, privileges=())) if each.name == "rights")
    assert pdb.by == "as SYSDBA, after ALTER SESSION SET CONTAINER = SALES"
    (alone,) = (each for each in found(Server(privileges=())) if each.name == "rights")
    assert alone.by == "as SYSDBA"


def test_11_2_is_for_client_libraries():
    assert not [each for each in found(Server("11.2"), thick=True) if each.blocking]


def test_a_plan_that_cages_the_instance_says_on_how_many_cpus():
    (plan,) = (each for each in found(Server(plan=("X", "ON"), parameters={"cpu_count": "2"})) if each.spoils)
    assert "on 2 of the host's 16 CPUs" in plan.why


def test_limits_of_a_profile_that_is_not_enforced_are_none():
    server = Server(profile={"CPU_PER_CALL": "3000"}, parameters={"resource_limit": "FALSE"})
    assert found(quiet(server)) == []


def test_a_rate_says_how_fast_the_log_fills():
    paced = Workload(schemas=8, scale="1G", sessions=64, update_pct=100, target_ops=1000, redo_stress="HEAVY")
    logs = [each for each in found(quiet(Server()), paced) if each.name == "redo log"]
    assert [each.spoils for each in logs] == [True]
    assert re.findall(r"(\d+) (?:MB/s|s)\b", logs[0].why) == ["375", "11"]


@table(
    ("files", "options", "direct"),
    [
        ((("+DATA/x", 1, 1), ("+DATA/y", 1, 1)), "none", True),
        ((("/u02/x", 1, 1), ("+DATA/y", 1, 1)), "none", False),
        ((("/u02/x", 1, 1),), "NONE", False),
        ((("/u02/x", 1, 1),), "ASYNCH", False),
        ((("/u02/x", 1, 1),), "directIO", True),
        ((("/u02/x", 1, 1),), "setall", True),
    ],
)
def test_whether_io_is_direct(files, options, direct):
    server = Server(files=files, parameters={"filesystemio_options": options})
    assert facts_of(server).direct_io is direct
    hidden = facts_of(replace(server, without=frozenset({"DBA_DATA_FILES"}))).direct_io
    assert hidden is (True if options.upper() in ("SETALL", "DIRECTIO") else None)
    assert facts_of(replace(server, without=frozenset({"DBA_DATA_FILES", "V_$PARAMETER"}))).direct_io is None


def test_the_finding_of_a_refused_setting_says_how_the_server_refused_it():
    (by_error,) = (each for each in found(Server(refused=("plsql_code_type",))) if each.refused)
    assert by_error.why == (
        "PLSQL_CODE_TYPE = NATIVE is refused to sessions (ORA-01031): the work loop is interpreted, so an operation "
        "takes more CPU"
    )
    ignoring = Server(ignored=("plsql_code_type",))
    (silent,) = (each for each in found(ignoring) if each.refused)
    assert "(it stays INTERPRETED, without an error)" in silent.why
    # Nobody can tell without the right to read V$PARAMETER, and errors are seen all the same.
    unseen = replace(ignoring, without=frozenset({"V_$PARAMETER"}))
    assert not [each for each in found(unseen) if each.refused]
    assert [each.name for each in found(replace(unseen, refused=("plsql_code_type",))) if each.refused]


def test_a_setting_that_is_as_it_should_be_is_not_missed():
    assert not [each for each in found(Server(refused=("optimizer_ignore_hints",))) if each.refused]
    assert not [each for each in found(Server(refused=("commit_wait",)), WORK) if each.refused]
    assert not [each for each in found(Server(refused=("commit_wait",)), ENGINE) if each.refused]
