"""What of the server's counters is others' work, from counters by table and by file."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factories.mysql_counters import changes_of
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
    "every.rows_changed": 100.0,
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
CHANGES = {"write_requests", "write_bytes", "log_bytes", "log_syncs", "log_write_requests", "block_changes"}


def delta_of(*changes):
    _, whole = changes_of({name: value for change in changes for name, value in change.items()})
    return counters.to_delta(whole)


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
    delta = delta_of(ALONE, READER, {"every.rows_changed": 130.0})
    assert (delta.others["rows_updated"], delta.rows_updated) == (30, 100)
    assert delta.server_wide >= CHANGES | {"log", "commits"}
    assert not delta.others.keys() & CHANGES


def test_pages_written_of_others_tables_are_a_change_even_without_a_row():
    assert delta_of(ALONE, {"others.writes": 2.0}).server_wide >= CHANGES


def test_old_row_versions_are_the_test_s_unless_others_change_rows():
    assert "purge_lag" not in delta_of(ALONE).server_wide
    assert "purge_lag" in delta_of(ALONE, {"every.rows_changed": 130.0}).server_wide


def test_reads_that_may_be_anybody_s_are_ours_unless_others_change_rows():
    undo = {"status.INNODB_DATA_READS": 4500.0}
    writer = {"every.rows_changed": 130.0}
    assert delta_of(ALONE, undo).read_requests == 4500
    assert "read_requests" in delta_of(ALONE, undo, writer).server_wide
    # So few do not matter.
    assert "read_requests" not in delta_of(ALONE, {"status.INNODB_DATA_READS": 4040.0}, writer).server_wide


def test_others_in_the_test_s_own_tables_can_not_be_told_apart():
    delta = delta_of(ALONE, {"sharing.rows_read": 4500.0})
    assert delta.others["rows_read"] == 500
    assert delta.server_wide >= READS


def test_changes_that_a_node_of_a_cluster_applies_are_the_test_s():
    applied = {"sharing.rows_changed": 180.0, "every.rows_changed": 180.0, "sharing.rows_read": 4080.0}
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


def test_a_table_of_others_that_is_dropped_takes_no_counts_along():
    sums = counters.LastingSums()
    seen = [sums.keep({"others.reads": n, "ours.reads": 1.0, "tables.reads": 9.0}) for n in (50.0, 70.0, 5.0, 8.0)]
    assert [each["others.reads"] for each in seen] == [50, 70, 70, 73]
    assert [each["others.dropped"] for each in seen] == [0, 0, 1, 1]
    # None of them is left.
    last = sums.keep({"ours.reads": 4.0, "tables.reads": 9.0})
    assert last == {"others.reads": 73, "others.dropped": 2, "ours.reads": 4, "tables.reads": 9}


def test_reads_of_tables_that_were_dropped_are_not_told_apart():
    (_, dropped), whole = changes_of({**ALONE, **READER}, {"others.reads": -900.0, "status.INNODB_DATA_READS": 10.0})
    assert dropped["others.reads"] == 0
    for change in (dropped, whole):
        delta = counters.to_delta(change)
        assert delta.server_wide >= READS
        assert not delta.others.keys() & READS


def test_a_difference_of_two_counters_never_falls():
    # The second was read later: it has counted more than the first one has.
    step, later = {"status.INNODB_DATA_FSYNCS": 2.0, f"{FILE}.others": 5.0}, {"status.INNODB_DATA_FSYNCS": 9.0}
    parts, whole = changes_of(step, later)
    assert [counters.to_delta(part).log_syncs for part in parts] == [0, 6]
    assert counters.to_delta(whole).log_syncs == 6


# Steps of all counters: those of one reading do not go together, as if each was read at another moment.
STEPS = st.fixed_dictionaries({name: st.integers(0, 2_000).map(float) for name in ALONE})
DROPS = st.fixed_dictionaries({}, optional={"others.reads": st.integers(-9_000, 0).map(float)})


@given(st.lists(st.tuples(STEPS, DROPS), min_size=1, max_size=12))
def test_what_is_attributed_in_a_window_is_the_sum_of_its_intervals(steps):
    parts, whole = changes_of(*(step | drop for step, drop in steps))
    of_all, deltas = counters.to_delta(whole), [counters.to_delta(part) for part in parts]
    for name, value in of_all.amounts().items():
        amounts = [delta.amounts()[name] for delta in deltas]
        assert (value is None) == (None in amounts), name
        if value is not None:
            assert value == pytest.approx(sum(amounts), rel=1e-9, abs=1e-9), name
            assert min(amounts) >= 0
    for name in ("rows_updated", "rows_read"):
        assert of_all.others[name] == pytest.approx(sum(delta.others[name] for delta in deltas), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", ["timed", "object"])
def test_what_breaks_shared_counters_down_is_shared_too(name):
    delta = delta_of(ALONE, {"every.rows_changed": 130.0, "status.INNODB_DATA_READS": 4500.0})
    assert {"timed": "IO:innodb_data_file", "object": "log"}[name] in delta.server_wide
    assert "table and index" not in delta.server_wide
