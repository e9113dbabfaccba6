"""Counters of MariaDB that do not grow for ever, and those of rows that come and go."""

from openslob.engines.mysql.counters import ByteCount, were_reset, whole_delta


def counted_on(*counts):
    checkpoints = ByteCount()
    return [checkpoints.count_on(count) for count in counts]


def test_checkpoints_are_counted_on_where_their_byte_begins_again():
    assert counted_on(254, 255, 1, 3, 255, 0) == [254, 255, 257, 259, 511, 512]


def test_a_count_that_has_more_than_a_byte_is_taken_as_it_is_and_a_reset_shows():
    assert counted_on(250, 300, 1000, 3) == [250, 300, 1000, 3]
    assert counted_on(255, 1, 300) == [255, 257, 300]


def test_rows_that_come_and_go_are_counted_apart_from_updates_which_are_then_not_known():
    change = {"churn.rows": 200.0, "churn.purge_lag": -7.0, "changes.cf1_1": 400.0, "visits.cf1_1.custid": 100.0}
    delta = whole_delta(change)
    assert (delta.rows_inserted_or_deleted, delta.purge_lag, delta.rows_read) == (200, -7, 100)
    assert (delta.rows_updated, delta.table_bytes, delta.dead_rows) == (None, None, None)
    assert {"rows_updated", "table_bytes", "index_bytes", "dead_rows", "vacuums"} <= delta.unknown.keys()
    assert whole_delta({"changes.cf1_1": 400.0}).rows_updated == 400


def test_a_server_that_counts_no_rows_by_table_has_no_count_of_those_that_come_and_go():
    delta = whole_delta({"churn.purge_lag": -7.0, "churn.table_bytes": 9.0})
    assert (delta.rows_inserted_or_deleted, delta.rows_updated) == (None, None)
    assert "userstat" in delta.unknown["rows_inserted_or_deleted"]
    assert {"index_bytes", "dead_rows", "vacuums"} <= delta.unknown.keys()


def test_a_purge_lag_that_becomes_less_is_no_reset_of_statistics():
    before = {"churn.rows": 200.0, "churn.purge_lag": 90.0, "others.rows_read": 5.0, "status.COM_COMMIT": 10.0}
    assert not were_reset(before, {**before, "churn.purge_lag": 3.0, "others.rows_read": 1.0})
    assert were_reset(before, {**before, "churn.rows": 199.0})
    assert were_reset(before, {**before, "status.COM_COMMIT": 0.0})
