"""What of the server's counters is others' work, from counters by table and by file."""

import pytest

from openslob.engines.mysql import counters

FILE = "file.wait/io/file/innodb/innodb_data_file"
# 4,000 rows of ours were read, with 4,100 reads in all: 100 of them of files that serve everybody.
ALONE = {
    "status.INNODB_DATA_READS": 4100.0,
    "status.INNODB_DATA_READ": 4100 * 16384.0,
    "status.INNODB_OS_LOG_WRITTEN": 700.0,
    "status.INNODB_LOG_WRITES": 7.0,
    "status.INNODB_DATA_WRITES": 9.0,
    "status.INNODB_DATA_WRITTEN": 9 * 16384.0,
    "status.INNODB_DATA_FSYNCS": 6.0,
    "status.COM_COMMIT": 100.0,
    "status.HANDLER_DELETE": 0.0,
    "status.HANDLER_UPDATE": 100.0,
    "status.HANDLER_WRITE": 0.0,
    "visits.cf1_1.custid": 4000.0,
    "changes.cf1_1": 100.0,
    "sharing.rows_read": 4000.0,
    "sharing.rows_changed": 100.0,
    "others.rows_read": 0.0,
    "tables.reads": 4000.0,
    "tables.read_bytes": 4000 * 16384.0,
    "tables.read_ps": 4e11,
    f"{FILE}.read_ps": 4.1e11,
    f"{FILE}.others": 1.0,
    "others.reads": 0.0,
    "others.read_bytes": 0.0,
    "others.read_ps": 0.0,
    "others.writes": 0.0,
}
READER = {
    "status.INNODB_DATA_READS": 5100.0,
    "status.INNODB_DATA_READ": 5100 * 16384.0,
    f"{FILE}.read_ps": 5.1e11,
    "others.rows_read": 900.0,
    "others.reads": 1000.0,
    "others.read_bytes": 1000 * 16384.0,
    "others.read_ps": 1e11,
}
READS = {"read_requests", "read_bytes", "read_time_us"}
CHANGES = {"write_requests", "write_bytes", "log_bytes", "log_syncs", "log_write_requests"}


def delta_of(*changes):
    return counters.to_delta({name: value for change in changes for name, value in change.items()})


def test_alone_every_counter_that_can_be_told_apart_is_ours_as_it_is():
    delta = delta_of(ALONE)
    assert (delta.read_requests, delta.read_time_us, delta.log_bytes, delta.log_syncs) == (4100, 410_000, 700, 5)
    assert set(delta.others.values()) == {0}
    assert delta.server_wide == {"logical_reads", "commits", "checkpoints"}


def test_a_reader_beside_is_taken_out_of_the_reads_and_adds_nothing_to_the_log():
    delta = delta_of(ALONE, READER)
    assert (delta.read_requests, delta.read_bytes, delta.read_time_us) == (4100, 4100 * 16384, pytest.approx(410_000))
    assert (delta.others["read_requests"], delta.others["rows_read"], delta.others["rows_updated"]) == (1000, 900, 0)
    assert delta.log_bytes == 700
    assert delta.wait_means_us == {"IO:innodb_data_file": pytest.approx(100)}
    assert "logical_reads" in delta.server_wide


def test_a_reader_of_another_table_in_the_test_s_database_is_taken_out_too():
    in_ours = {
        name.replace("others.read", "ours.read"): value for name, value in READER.items() if "others.read" in name
    }
    delta = delta_of(ALONE, {name: value for name, value in READER.items() if "others." not in name}, in_ours)
    assert (delta.read_requests, delta.others["read_requests"]) == (4100, 1000)


def test_a_writer_beside_makes_the_log_the_whole_server_s():
    delta = delta_of(ALONE, READER, {"status.HANDLER_WRITE": 30.0})
    assert (delta.others["rows_updated"], delta.rows_updated) == (30, 100)
    assert delta.server_wide >= CHANGES | {"log", "commits"}
    assert not delta.others.keys() & CHANGES


def test_pages_written_of_others_tables_are_a_change_even_without_a_row():
    assert delta_of(ALONE, {"others.writes": 2.0}).server_wide >= CHANGES


def test_reads_that_may_be_anybody_s_are_ours_unless_others_change_rows():
    undo = {"status.INNODB_DATA_READS": 4500.0}
    writer = {"status.HANDLER_WRITE": 30.0}
    assert delta_of(ALONE, undo).read_requests == 4500
    assert "read_requests" in delta_of(ALONE, undo, writer).server_wide
    # So few do not matter.
    assert "read_requests" not in delta_of(ALONE, {"status.INNODB_DATA_READS": 4040.0}, writer).server_wide
    # Whoever changes nothing reads no old row versions.
    reads_only = {"changes.cf1_1": 0.0, "sharing.rows_changed": 0.0, "status.HANDLER_UPDATE": 0.0}
    delta = delta_of(ALONE, undo, reads_only, writer)
    assert (delta.read_requests, delta.others["read_requests"]) == (4000, 500)


def test_others_in_the_test_s_own_tables_can_not_be_told_apart():
    delta = delta_of(ALONE, {"sharing.rows_read": 4500.0})
    assert delta.others["rows_read"] == 500
    assert delta.server_wide >= READS


def test_changes_that_a_node_of_a_cluster_applies_are_the_test_s():
    applied = {"sharing.rows_changed": 180.0, "status.HANDLER_UPDATE": 180.0, "sharing.rows_read": 4080.0}
    delta = delta_of(ALONE, applied)
    assert (delta.others["rows_updated"], delta.others["rows_read"], delta.read_requests) == (0, 0, 4100)
    assert "log_bytes" not in delta.server_wide


def test_a_server_without_tables_of_others_has_no_counts_of_them():
    delta = delta_of(
        {name: value for name, value in ALONE.items() if name == "others.rows_read" or "others." not in name}
    )
    assert set(delta.others.values()) == {0}
    assert "log_bytes" not in delta.server_wide


def test_without_counts_by_file_reads_are_the_whole_server_s():
    status_only = {name: value for name, value in ALONE.items() if not name.startswith(("file", "tables", "others"))}
    delta = delta_of(status_only)
    assert delta.server_wide >= READS | CHANGES
    assert delta.others == {"rows_updated": 0}
    assert delta_of({"status.INNODB_DATA_READS": 5.0}).others == {}


def test_a_table_of_others_that_is_dropped_takes_its_counts_along():
    delta = delta_of(ALONE, {"others.rows_read": -5.0, "others.reads": -5.0})
    assert delta.others["rows_read"] == 0
    assert "read_requests" in delta.server_wide


@pytest.mark.parametrize("name", ["timed", "object"])
def test_what_breaks_shared_counters_down_is_shared_too(name):
    delta = delta_of(ALONE, {"status.HANDLER_WRITE": 30.0, "status.INNODB_DATA_READS": 4500.0})
    assert {"timed": "IO:innodb_data_file", "object": "log"}[name] in delta.server_wide
    assert "table and index" not in delta.server_wide
