"""What of the MariaDB/MySQL engine can be known without a server."""

import ssl
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pymysql
import pytest

from factories.mysql_counters import changes_of
from factories.tables import table
from openslob.core.errors import SlobError, UsageError
from openslob.core.histogram import BUCKETS, bucket_of, lower_edge_us
from openslob.core.measurement import ONLY_SOME_HAVE
from openslob.core.method import OpKind
from openslob.core.workload import Workload
from openslob.engines.facts import ServerFacts
from openslob.engines.mysql import checks, counters
from openslob.engines.mysql.connection import DirectConnection, open_connection, parse
from openslob.engines.mysql.names import MysqlNames, quote
from openslob.engines.mysql.page_layout import layout_of
from openslob.engines.mysql.quiesce import find_required
from openslob.engines.mysql.session import seeds
from openslob.engines.mysql.slice_procedure import SliceHistograms, buckets_of
from openslob.engines.slice_io import session_seed
from openslob.kinds.run.plan import session_plans

PAGE_SIZES = (4096, 8192, 16384, 32768, 65536)
# Of InnoDB: bytes of a page that rows can't have, and of a row beside its columns (number, transaction, roll pointer).
PAGE_OVERHEAD, ROW_OVERHEAD = 132, 29


def row_sizes(page_size):
    layout = layout_of(page_size)
    visited = ROW_OVERHEAD + 8 + 19 * layout.value_bytes + (2 + layout.pad_bytes if layout.pad_bytes else 0)
    return visited, ROW_OVERHEAD + 2 + layout.filler_pad_bytes, layout.fillers


@table("page_size", PAGE_SIZES)
def test_a_page_has_room_for_a_visited_row_and_its_fillers_and_never_for_two_visited_rows(page_size):
    visited, filler, fillers = row_sizes(page_size)
    usable = page_size - PAGE_OVERHEAD
    assert visited + fillers * filler <= usable
    assert 2 * visited + fillers * filler > usable


@table("page_size", PAGE_SIZES)
def test_no_row_is_so_long_that_a_column_leaves_the_page(page_size):
    visited, filler, _ = row_sizes(page_size)
    assert max(visited, filler) < min((page_size - PAGE_OVERHEAD) // 2, 16_383)


def test_pages_of_8_kb_and_more_have_slob_s_128_bytes_a_column():
    assert [layout_of(size).value_bytes for size in PAGE_SIZES] == [96, 128, 128, 128, 128]
    with pytest.raises(SlobError):
        layout_of(512)


def test_latencies_come_back_by_kind():
    found = SliceHistograms(paced=False)
    found.add("40,401,8002,44,")  # 10 µs select, 100 µs update, 2000 µs scan, 11 µs select
    found.add("")
    assert [found.service[kind].count for kind in OpKind] == [2, 1, 1]
    assert (found.service[OpKind.SELECT].sum_us, found.service[OpKind.SCAN].max_us) == (21, 2000)
    assert found.response == {}


def test_a_paced_session_has_response_times_beside():
    found = SliceHistograms(paced=True)
    found.add("283,0,40,15,401,1000,")
    assert (found.service[OpKind.SELECT].sum_us, found.response[OpKind.SELECT].sum_us) == (10, 15)
    assert (found.service[OpKind.UPDATE].sum_us, found.response[OpKind.UPDATE].sum_us) == (100, 1000)
    assert (found.wake_ups.count, found.wake_ups.sum_us) == (1, 70)


def test_buckets_are_those_of_the_histogram():
    edges = [lower_edge_us(bucket) for bucket in range(BUCKETS)]
    values = [*range(3000), *edges, *(edge - 1 for edge in edges if edge), 10**6, 10**9]
    found = buckets_of(np.array(values)).tolist()
    assert found == [bucket_of(value) for value in values]
    assert max(found) == BUCKETS - 1


def test_a_url_in_the_driver_s_terms(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("MYSQL_PWD", raising=False)
    place = parse("mariadb://a%40b:p%3Aw@db.example:3307/data?ssl_ca=/ca.pem&ssl_verify_identity=yes")
    assert (place.shown, place.database) == ("db.example:3307/data", "data")
    assert place.arguments == {
        "host": "db.example", "port": 3307, "user": "a@b", "password": "p:w", "ssl_ca": "/ca.pem",
        "ssl_verify_identity": True,
    }  # fmt: skip
    assert "p:w" not in repr(place)


def test_a_password_from_the_environment_and_a_socket(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MYSQL_PWD", "hidden")
    place = parse("mysql://root@localhost?unix_socket=/run/db.sock")
    assert (place.shown, place.database) == ("/run/db.sock/slob", "slob")
    assert place.arguments["password"] == "hidden"
    (tmp_path / ".my.cnf").touch()
    assert parse("mysql://localhost/x").arguments["read_default_file"] == str(tmp_path / ".my.cnf")
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)  # as for the user of many a container
    assert "read_default_file" not in parse("mysql://localhost/x").arguments


@table("url", ["mysql://h/d?nonsense=1", "mysql://h/d?ssl_verify_cert=perhaps", "mysql://h:port/d", "mysql://h/a%25b"])
def test_a_url_with_parts_that_mean_nothing_is_refused(url):
    with pytest.raises(UsageError):
        parse(url)


@pytest.mark.parametrize(
    ("error", "says", "remedy"),
    [
        (FileNotFoundError(2, "No such file or directory"), "TLS can't be used: No such file", "ssl_ca"),
        (ssl.SSLError(136, "no certificate or crl found"), "TLS can't be used: no certificate", "ssl_ca"),
        (RuntimeError("'cryptography' package is required"), "the server asks for the password", "unix_socket"),
        (pymysql.OperationalError(2003, "Can't connect ([SSL: CERTIFICATE_VERIFY_FAILED] …)"), "VERIFY", "ssl_verify"),
        (pymysql.OperationalError(2003, "Can't connect (refused)"), "refused", "the server is running"),
    ],
)
def test_why_there_is_no_connection_is_said_in_one_line(monkeypatch, error, says, remedy):
    def refuse(*_, **__):
        raise error

    monkeypatch.setattr(DirectConnection, "connect", refuse)
    with pytest.raises(SlobError) as caught:
        open_connection(parse("mysql://me@h/d"), "test")
    assert says in caught.value.what
    assert remedy in caught.value.remedy


FACTS = ServerFacts("MySQL", "9.7.4", 16384, 2**27, 100, {}, direct_io=True)


@table(
    ("settings", "workload", "found"),
    [
        ({"log_bin": "ON", "sync_binlog": "1", "binlog_format": "ROW"}, {"commit_mode": "nowait"}, ["sync_binlog"]),
        ({"log_bin": "ON", "sync_binlog": "0", "binlog_format": "ROW"}, {"commit_mode": "nowait"}, []),
        ({"log_bin": "ON", "sync_binlog": "1", "binlog_format": "ROW"}, {"commit_mode": "wait"}, []),
        ({"log_bin": "ON", "sync_binlog": "1", "binlog_format": "STATEMENT"}, {}, ["binlog_format"]),
        ({"log_bin": "ON", "sync_binlog": "1", "binlog_format": "STATEMENT"}, {"update_pct": 0}, []),
        ({"log_bin": "OFF", "sync_binlog": "1", "binlog_format": "STATEMENT"}, {"commit_mode": "nowait"}, []),
    ],
)
def test_a_binary_log_that_refuses_updates_or_makes_commits_wait_is_told(settings, workload, found):
    facts = replace(FACTS, settings=settings)
    findings = list(checks.binary_log(Workload(**{"update_pct": 20, **workload}), facts))
    assert [finding.name for finding in findings] == found
    assert all(finding.blocking or finding.spoils for finding in findings)


ROLE = ["GRANT USAGE ON *.* TO `me`@`%`", "GRANT ALL PRIVILEGES ON `bench`.* TO `me`@`%`", "GRANT `r`@`%` TO `me`@`%`"]
PARTS = ["GRANT SELECT, CREATE ROUTINE ON `b`.* TO `me`@`%`", "GRANT DROP ON `b`.`t` TO `me`@`%`"]
TAKEN = ["GRANT SELECT, DROP ON *.* TO `me`@`%`", "REVOKE DROP ON `bench`.* FROM `me`@`%`"]
DYNAMIC = [
    "GRANT PROCESS ON *.* TO `me`@`%` WITH GRANT OPTION",
    "GRANT BACKUP_ADMIN,SYSTEM_VARIABLES_ADMIN ON *.* TO `me`@`%`",
]


@table(
    ("grants", "database", "wanted", "found"),
    [
        (ROLE, "bench", ["SELECT", "DROP"], []),
        (ROLE, "other", ["SELECT", "DROP"], ["SELECT", "DROP"]),
        (ROLE, None, ["SUPER"], ["SUPER"]),
        (PARTS, "b", ["SELECT", "CREATE ROUTINE", "DROP"], ["DROP"]),
        (TAKEN, "bench", ["SELECT", "DROP"], ["DROP"]),
        (TAKEN, "other", ["SELECT", "DROP"], []),
        (DYNAMIC, None, ["SUPER", "SYSTEM_VARIABLES_ADMIN"], ["SUPER"]),
        (["GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost`"], None, ["SUPER"], []),
        (["GRANT DROP ON `my\\_%`.* TO `me`@`%`"], "my_own", ["DROP"], []),
        (["GRANT DROP ON `my\\_%`.* TO `me`@`%`"], "mysql", ["DROP"], ["DROP"]),
        (["GRANT DROP ON `m_`.* TO `me`@`%`"], "mx", ["DROP"], []),
        (['GRANT DROP ON "b".* TO "me"@"%"'], "b", ["DROP"], []),
    ],
)
def test_rights_are_those_of_show_grants(grants, database, wanted, found):
    assert checks.missing_privileges(wanted, grants, database) == found


@table(
    ("product", "workload", "told"),
    [
        ("MariaDB", {"sessions": 2}, True),
        ("MariaDB", {"sessions": 2, "commit_mode": "engine"}, True),
        ("MariaDB", {"sessions": 2, "commit_mode": "nowait"}, False),
        ("MariaDB", {"sessions": 1}, False),
        ("MariaDB", {"sessions": 2, "update_pct": 0}, False),
        ("MySQL", {"sessions": 2}, False),
    ],
)
def test_commits_that_a_procedure_does_not_wait_for_are_told(product, workload, told):
    facts = replace(FACTS, product=product, settings={"innodb_flush_log_at_trx_commit": "1", "log_bin": "OFF"})
    found = list(checks.late_commits(Workload(**{"update_pct": 20, **workload}), facts))
    assert [finding.spoils for finding in found] == [True] * told


def test_names_are_quoted_and_locks_are_short():
    assert quote("a`b") == "`a``b`"
    assert MysqlNames("odd`db").cf1(3) == "`odd``db`.`cf1_3`"
    assert len(MysqlNames("d" * 64).lock("use")) <= 64
    assert MysqlNames("one").lock("use") != MysqlNames("two").lock("use")


def test_the_server_s_commits_are_set_only_for_a_run_that_commits_and_says_how():
    settings = {mode: find_required(Workload(update_pct=1, commit_mode=mode)) for mode in ("wait", "nowait", "engine")}
    assert settings == {"wait": 1, "nowait": 0, "engine": None}
    assert find_required(Workload(update_pct=0, commit_mode="nowait")) is None


def test_seeds_differ_and_are_in_range():
    plans = [plan for seed in range(1, 20) for plan in session_plans(Workload(seed=seed, sessions=64), 8192, "t")]
    found = {tuple(seeds(session_seed(plan)).values()) for plan in plans}
    assert len(found) == 19 * 64
    assert all(0 <= number < 2**30 - 1 for pair in found for number in pair)


CHANGE = {
    "status.INNODB_DATA_READS": 100.0,
    "status.INNODB_DATA_FSYNCS": 7.0,
    "status.INNODB_BUFFER_POOL_PAGES_SPLIT": 0.0,
    "visits.cf1_1.custid": 640.0,
    "visits.cf1_2.custid": 64.0,
    "visits.cf1_1.PRIMARY": 5.0,
    "changes.cf1_1": 64.0,
    "file.wait/io/file/innodb/innodb_data_file.read_ps": 5e10,
    "file.wait/io/file/innodb/innodb_data_file.others": 2.0,
}


def delta_of(change):
    return counters.to_delta(changes_of(change)[1])


def test_differences_in_the_product_s_terms():
    delta = delta_of(CHANGE)
    assert (delta.read_requests, delta.log_syncs, delta.rows_read, delta.rows_updated) == (100, 5, 704, 64)
    assert (delta.read_time_us, delta.rows_updated_in_place) == (50_000, 64)
    assert delta.wait_means_us == {"IO:innodb_data_file": 500}


# What MySQL 9.7 counted of an update run; the kernel saw its process write 1.83 GB.
MYSQL_CHANGE = {
    "status.INNODB_DATA_WRITES": 91571.0,
    "status.INNODB_DATA_WRITTEN": 1058371584.0,
    "status.INNODB_LOG_WRITES": 45010.0,
    "status.INNODB_OS_LOG_WRITTEN": 264211456.0,
    "status.INNODB_REDO_LOG_CURRENT_LSN": 257841555.0,
    "pages.write_bytes": (45780 + 45615) * 16384.0,
}
MYSQL_FILES = {
    "innodb_dblwr_file": (522.0, 749600768.0),
    "innodb_data_file": (45752.0, 749600768.0),
    "innodb_log_file": (45257.0, 308312064.0),
    "innodb_temp_file": (40.0, 1048576.0),
}


def test_mysql_s_writes_are_those_of_pages_without_the_log_and_with_double_writes():
    by_file = {
        f"file.wait/io/file/innodb/{name}.{what}": value
        for name, values in MYSQL_FILES.items()
        for what, value in zip(("writes", "write_bytes"), values, strict=True)
    }
    delta = counters.to_delta({**MYSQL_CHANGE, **by_file})
    assert (delta.write_requests, delta.write_bytes) == (522 + 45752 + 40, 2 * 749600768 + 1048576)
    # Without performance_schema, nearly so.
    estimate = delta_of(MYSQL_CHANGE)
    assert estimate.write_requests == pytest.approx(delta.write_requests, rel=0.01)
    assert estimate.write_bytes == pytest.approx(delta.write_bytes, rel=0.01)
    # MariaDB counts the same itself.
    plain = counters.to_delta({"status.INNODB_DATA_WRITES": 7.0, "status.INNODB_DATA_WRITTEN": 70.0})
    assert (plain.write_requests, plain.write_bytes) == (7, 70)


def test_redo_is_what_was_generated_where_the_server_tells_it_apart_from_what_was_written():
    assert counters.to_delta(MYSQL_CHANGE).log_bytes == 257841555
    assert counters.to_delta({"status.INNODB_OS_LOG_WRITTEN": 5.0}).log_bytes == 5


def test_changes_of_blocks_are_the_pages_that_mini_transactions_changed():
    assert counters.to_delta({"status.INNODB_BUFFER_POOL_WRITE_REQUESTS": 7.0}).block_changes == 7
    assert counters.to_delta({}).unknown["block_changes"]


def test_syncs_of_data_files_are_never_taken_for_those_of_the_log():
    every = {"status.INNODB_DATA_FSYNCS": 7.0}
    unknown = counters.to_delta(every)
    assert unknown.log_syncs is None
    assert "performance_schema" in unknown.unknown["log_syncs"]
    assert counters.to_delta({**every, "status.INNODB_OS_LOG_FSYNCS": 3.0}).log_syncs == 3
    # A file that was opened is among the others.
    assert delta_of({**every, "file.wait/io/file/innodb/innodb_data_file.others": 8.0}).log_syncs == 0


def test_what_is_not_counted_is_unknown_with_a_reason():
    delta = counters.to_delta({"status.INNODB_DATA_READS": 1.0})
    missing = {name for name, value in delta.amounts().items() if value is None} - ONLY_SOME_HAVE
    assert missing == set(delta.unknown)
    assert "userstat" in delta.unknown["rows_read"]
    assert counters.to_delta({**CHANGE, "status.INNODB_BUFFER_POOL_PAGES_SPLIT": 1.0}).rows_updated_in_place is None


@table("database, stored, refused", [("slob", "slob", False), ("MyDB", "MyDB", False), ("MyDB", "mydb", True)])
def test_a_database_must_be_named_as_the_server_stores_it(database, stored, refused):
    """Two runs in one database would not see each other's lock, which goes by the name."""
    with patch.object(checks, "query", lambda *_: [{"name": stored}]):
        if not refused:
            checks.require_stored_name(None, database)
            return
        with pytest.raises(UsageError, match=r"stores the name of the database MyDB as mydb .*; write it like that"):
            checks.require_stored_name(None, database)


def capabilities_of(product, *enabled):
    facts = replace(FACTS, product=product, settings={"performance_schema": "ON"})

    def query(_connection, text, _values=None):
        if enabled == (None,) and "innodb_metrics" in text:
            raise pymysql.err.OperationalError(1227, "you need PROCESS")
        return [{"name": name} for name in enabled] if "innodb_metrics" in text else []

    with patch.object(checks, "query", query), patch.object(checks, "are_observed", lambda _: True):
        return {each.name: each for each in checks.capabilities(None, facts)}


@table(
    ("product", "enabled", "missing"),
    [
        ("MySQL", (), {"checkpoints", "page splits"}),
        ("MySQL", ("log_checkpoints",), {"page splits"}),
        ("MySQL", ("log_checkpoints", "index_page_splits"), set()),
        # Its status has them.
        ("MariaDB", (), {"checkpoints"}),
        # The right is another finding.
        ("MySQL", (None,), set()),
    ],
)
def test_counters_that_are_off_by_default_are_told_with_the_statement_that_turns_them_on(product, enabled, missing):
    found = capabilities_of(product, *enabled)
    assert {name for name, each in found.items() if not each.present} == missing
    remedy = "SET GLOBAL innodb_monitor_enable = 'log_checkpoints' -- and"
    assert "checkpoints" not in missing or found["checkpoints"].remedy.startswith(remedy)
