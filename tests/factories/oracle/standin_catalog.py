"""The stand-in's views by name, with their columns as the Oracle Reference names them.

They are filled before each statement that names them. A column that is not here is ORA-00904 to the engine, as in a
version that lacks it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from factories.oracle import standin_views as views
from factories.oracle.standin_sql import SHARP
from factories.oracle.standin_views import DISK_BYTES, TABLESPACE, Rows
from factories.oracle.standin_world import PDB, PRODUCT, USER, World

_SESSION = (
    "sid serial# username module action status state event wait_class server service_name paddr machine program "
    "port osuser type blocking_session_status blocking_instance blocking_session wait_time_micro last_call_et "
    "seconds_in_wait sql_id sql_child_number con_id process logon_time"
)
_INSTANCE = "instance_number instance_name host_name version startup_time status parallel archiver logins instance_role"
_HISTOGRAM = "event# event wait_time_micro wait_count wait_time_format last_update_time con_id"

_SYSSTAT, _TIME_MODEL = "statistic# name class value stat_id con_id", "stat_id stat_name value con_id"
_EVENTS = (
    "event total_waits total_timeouts time_waited time_waited_micro total_waits_fg time_waited_fg "
    "time_waited_micro_fg wait_class event_id"
)

# Packages that a user may be allowed to execute.
OWNERS = {"DBMS_WORKLOAD_REPOSITORY": "SYS", "STATSPACK": "PERFSTAT", "RDSADMIN_UTIL": "RDSADMIN"}

# View -> its columns, and its rows. What a pluggable database counts is in the views of containers; the others have
# there what is counted for the whole instance.
VIEWS: Mapping[str, tuple[str, Callable[[World, int], Rows]]] = {
    "v$sysstat": (_SYSSTAT, views.of_whole_instance(views.of_sysstat, 3)),
    "gv$sysstat": (f"inst_id {_SYSSTAT}", views.of_all_instances(views.of_sysstat)),
    "gv$con_sysstat": (f"inst_id {_SYSSTAT}", views.of_all_instances(views.of_sysstat)),
    "v$con_sysstat": (_SYSSTAT, views.of_container(views.of_sysstat, 1)),
    "v$statname": ("statistic# name class stat_id", views.of_statname),
    "v$sesstat": ("sid statistic# value", views.of_sesstat),
    "v$mystat": ("sid statistic# value", views.of_mystat),
    "v$sys_time_model": (_TIME_MODEL, views.of_whole_instance(views.of_time_model, 2)),
    "v$con_sys_time_model": (_TIME_MODEL, views.of_container(views.of_time_model, 1)),
    "v$system_event": (_EVENTS, views.of_whole_instance(views.of_system_event, 1, 4, 5, 7)),
    "v$con_system_event": (_EVENTS, views.of_container(views.of_system_event, 0)),
    "v$event_histogram_micro": (_HISTOGRAM, views.of_whole_instance(views.of_histogram, 3, since=18)),
    "v$con_event_histogram_micro": (_HISTOGRAM, views.of_container(views.of_histogram, 1)),
    "v$osstat": ("stat_name value", views.of_osstat),
    "v$iostat_function": (
        "function_name small_read_reqs large_read_reqs small_write_reqs large_write_reqs small_read_megabytes "
        "large_read_megabytes small_write_megabytes large_write_megabytes",
        views.of_iostat_function,
    ),
    "v$iostat_file": (
        "file_no filetype_name asynch_io access_method",
        views.fixed((1, "Data File", "ASYNC_ON", "OS_LIB")),
    ),
    "v$session": (_SESSION, views.of_session),
    "gv$session": (f"inst_id {_SESSION}", views.of_all_instances(views.of_session)),
    "v$process": ("addr spid pname program background", views.of_process),
    "v$instance": (_INSTANCE, views.of_instance),
    "gv$instance": (f"inst_id {_INSTANCE}", views.of_all_instances(views.of_instance)),
    "v$database": (
        "dbid name open_mode log_mode force_logging flashback_on database_role platform_name protection_mode "
        "supplemental_log_data_min current_scn cdb db_unique_name con_dbid",
        views.of_database,
    ),
    "v$parameter": (
        "name value display_value isdefault ismodified issys_modifiable isses_modifiable",
        views.of_parameters,
    ),
    "v$buffer_pool": ("name block_size current_size buffers", views.of_buffer_pool),
    "v$sga_dynamic_components": (
        "component current_size min_size max_size oper_count user_specified_size last_oper_time",
        views.of_sga,
    ),
    "v$log": (
        "group# bytes blocksize members status archived thread#",
        views.fixed(*((at, 1 << 30, 512, 1, "CURRENT" if at == 1 else "INACTIVE", "NO", 1) for at in (1, 2, 3))),
    ),
    "v$datafile": (
        "file# name block_size bytes enabled ts#",
        views.fixed((1, "/standin/users01.dbf", 8192, DISK_BYTES, "READ WRITE", 1)),
    ),
    "v$resource_limit": (
        "resource_name current_utilization max_utilization limit_value",
        lambda world, _: (
            ("processes", len(world.sessions), len(world.sessions), "1000"),
            ("sessions", len(world.sessions), len(world.sessions), "1500"),
        ),
    ),
    "v$rsrc_plan": ("name is_top_plan cpu_managed", views.fixed()),
    "v$session_connect_info": (
        "sid network_service_banner client_driver client_version authentication_type",
        lambda world, _: ((sid, "TCP/IP NT Protocol Adapter", "thin", "", "DATABASE") for sid in world.sessions),
    ),
    "product_component_version": (
        "product version version_full status",
        lambda world, _: ((PRODUCT, world.version, world.version, "Stand-in"),),
    ),
    "user_resource_limits": (
        "resource_name limit",
        views.fixed(("SESSIONS_PER_USER", "UNLIMITED"), ("CPU_PER_CALL", "UNLIMITED"), ("IDLE_TIME", "UNLIMITED")),
    ),
    "session_privs": (
        "privilege",
        lambda world, _: ((name,) for name in world.privileges),
    ),
    "session_roles": ("role", views.fixed()),
    "user_tab_privs_recd": ("owner table_name privilege", views.fixed(("SYS", "DBMS_LOCK", "EXECUTE"))),
    "user_ind_columns": ("index_name table_name column_name column_position", views.of_ind_columns),
    "dba_data_files": (
        "file_id file_name tablespace_name bytes maxbytes autoextensible",
        views.fixed((1, "/standin/users01.dbf", TABLESPACE, DISK_BYTES, DISK_BYTES, "NO")),
    ),
    "all_tab_privs": (
        "grantor grantee table_schema table_name privilege",
        views.fixed(("SYS", USER, "SYS", "DBMS_LOCK", "EXECUTE")),
    ),
    "all_scheduler_windows": ("window_name resource_plan active next_start_date enabled", views.fixed()),
    "dba_autotask_client": ("client_name status", views.fixed()),
    "all_objects": (
        "owner object_name object_type",
        lambda world, _: ((owner, name, "PACKAGE") for name, owner in OWNERS.items() if name in world.packages),
    ),
    "all_users": (
        "username user_id created",
        lambda world, _: ((name, 77, "2026-11-22") for name in (USER, *(["RDSADMIN"] if world.cloud == "rds" else []))),
    ),
    "user_tablespaces": (
        "tablespace_name block_size bigfile segment_space_management extent_management logging force_logging "
        "compress_for status contents def_tab_compression encrypted def_inmemory",
        lambda world, _: (
            (
                TABLESPACE,
                world.block_size,
                "NO",
                "AUTO",
                "LOCAL",
                "LOGGING",
                "NO",
                None,
                "ONLINE",
                "PERMANENT",
                "DISABLED",
                "NO",
                "DISABLED",
            ),
        ),
    ),
    "user_ts_quotas": (
        "tablespace_name bytes max_bytes blocks max_blocks",
        views.fixed((TABLESPACE, 0, -1, 0, -1)),
    ),
    "user_free_space": ("tablespace_name bytes blocks", views.fixed((TABLESPACE, DISK_BYTES, DISK_BYTES // 8192))),
    "user_users": (
        "username user_id created default_tablespace account_status",
        views.fixed((USER, 77, "2026-11-22 00:00:00", TABLESPACE, "OPEN")),
    ),
    "user_segments": ("segment_name segment_type bytes blocks tablespace_name extents", views.of_segments),
    "user_tables": (
        "table_name num_rows blocks chain_cnt avg_row_len pct_free last_analyzed tablespace_name logging status "
        "compression empty_blocks",
        views.of_tables,
    ),
    "user_tab_statistics": ("table_name object_type stattype_locked num_rows stale_stats", views.of_tab_statistics),
    "user_indexes": (
        "index_name table_name uniqueness status num_rows blevel leaf_blocks clustering_factor distinct_keys degree "
        "visibility tablespace_name",
        views.of_indexes,
    ),
    "user_tab_columns": (
        "table_name column_name column_id data_type data_length data_default nullable num_nulls",
        views.of_columns,
    ),
    "user_tab_col_statistics": ("table_name column_name num_distinct", views.of_column_statistics),
    "user_objects": ("object_id object_name object_type status temporary", views.of_objects),
    "v$sql": (
        "sql_id command_type program_id executions rows_processed buffer_gets disk_reads cpu_time elapsed_time "
        "user_io_wait_time loads child_number child_address plan_hash_value sql_text con_id parsing_schema_name "
        "object_status last_active_time",
        views.of_sql,
    ),
    "v$sql_plan": (
        "sql_id child_number child_address id parent_id operation options object_name plan_hash_value",
        views.of_sql_plan,
    ),
    "v$sql_plan_statistics_all": ("sql_id id last_output_rows", views.fixed()),
    "user_errors": ("name line text attribute message_number sequence type", views.fixed()),
    "v$segment_statistics": (
        "owner object_name object_type statistic_name value tablespace_name",
        views.of_segment_statistics,
    ),
    "v$pdbs": ("con_id name open_mode", views.fixed((3, PDB, "READ WRITE"))),
}
_NAMES = re.compile(
    r"(?<![\w$])(" + "|".join(map(re.escape, sorted(VIEWS, key=len, reverse=True))) + r")(?![\w$])", re.I
)


def named_in(text: str) -> set[str]:
    """Return the views that a statement names."""
    return {found.lower() for found in _NAMES.findall(text)}


def create(world: World) -> None:
    """Make all views, empty."""
    for name, (columns, _) in VIEWS.items():
        world.db.execute(f"CREATE TABLE {name} ({_columns_of(columns)})")
    world.db.execute("CREATE TABLE plan_table (statement_id, id, operation, options, object_name)")


def fill(world: World, sid: int, names: Iterable[str]) -> None:
    """Let views show the state of now, as session ``sid`` sees it."""
    world.db.execute("BEGIN")
    for name in names:
        columns, rows = VIEWS[name]
        world.db.execute(f"DELETE FROM {name}")
        marks = ", ".join("?" * len(columns.split()))
        world.db.executemany(f"INSERT INTO {name} VALUES ({marks})", list(rows(world, sid)))
    world.db.execute("COMMIT")


def _columns_of(columns: str) -> str:
    return ", ".join(f'"{column.replace("#", SHARP)}"' for column in columns.split())
