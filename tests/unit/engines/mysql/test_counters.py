"""Counters of MariaDB that do not grow for ever."""

from openslob.engines.mysql.counters import ByteCount


def counted_on(*counts):
    checkpoints = ByteCount()
    return [checkpoints.count_on(count) for count in counts]


def test_checkpoints_are_counted_on_where_their_byte_begins_again():
    assert counted_on(254, 255, 1, 3, 255, 0) == [254, 255, 257, 259, 511, 512]


def test_a_count_that_has_more_than_a_byte_is_taken_as_it_is_and_a_reset_shows():
    assert counted_on(250, 300, 1000, 3) == [250, 300, 1000, 3]
    assert counted_on(255, 1, 300) == [255, 257, 300]
