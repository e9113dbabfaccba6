"""Settings as they are given and compared."""

import pytest

from openslob.core.errors import UsageError
from openslob.engines.mysql.known_settings import Variable, number, variable
from openslob.engines.postgresql.known_settings import make_options
from openslob.engines.settings import lines, parse_settings


def test_values_of_a_setting_are_a_list_and_two_lists_of_a_name_go_together():
    assert parse_settings(["io_method=sync, worker", "full_page_writes=on", "io_method=sync,io_uring"]) == {
        "io_method": ("sync", "worker", "io_uring"),
        "full_page_writes": ("on",),
    }


def test_quotes_keep_a_comma_in_a_value_and_give_an_empty_one():
    assert parse_settings(["optimizer_switch='mrr=on,mrr_cost_based=off',mrr=off"]) == {
        "optimizer_switch": ("mrr=on,mrr_cost_based=off", "mrr=off")
    }
    assert parse_settings(["debug_io_direct='',data"]) == {"debug_io_direct": ("", "data")}


@pytest.mark.parametrize("text", ["io_method", "=1", "io_method=", "io_method=sync,", "a='b", "io_method=,sync"])
def test_what_is_no_setting_is_refused_in_one_line(text):
    with pytest.raises(UsageError) as error:
        parse_settings([text])
    assert "--set" in str(error.value)


def test_settings_are_lines_of_a_server():
    assert lines({"fsync": "off", "io_method": "sync"}) == "fsync=off\nio_method=sync"


@pytest.mark.parametrize(
    ("kind", "asked", "shown", "same"),
    [
        ("BOOLEAN", "1", "ON", True),
        ("BOOLEAN", "off", "OFF", True),
        ("BOOLEAN", "maybe", "ON", False),
        ("ENUM", "o_dsync", "O_DSYNC", True),
        ("ENUM", "1", "O_DSYNC", True),
        ("ENUM", "0", "O_DSYNC", False),
        ("BIGINT UNSIGNED", "4K", "4096", True),
        ("BIGINT UNSIGNED", "1", "100", False),
        ("DOUBLE", "90", "90.000000", True),
        ("VARCHAR", "a", "b", False),
        ("FLAGSET", "mrr=on", "index_merge=on,mrr=on", True),
    ],
)
def test_a_server_may_write_a_value_in_another_way(kind, asked, shown, same):
    known = Variable("x", "GLOBAL", False, kind, ("fsync", "O_DSYNC"), shown, True)
    assert known.is_shown(asked, shown) is same


def test_a_row_of_the_catalogue_may_have_nulls():
    row = ("INNODB_DOUBLEWRITE", "GLOBAL", "YES", "BOOLEAN", r"\N", "ON", r"\N")
    assert variable(row) == Variable("innodb_doublewrite", "GLOBAL", True, "BOOLEAN", (), "ON", False)
    assert number("ON") is None and number("1.5") == 1.5


def test_a_cluster_is_made_with_checksums_or_without():
    assert make_options("data_checksums", "off") == ["--no-data-checksums"]
    assert make_options("wal_segment_size", "64MB") == ["--wal-segsize=64"]
    for name, value in (("data_checksums", "maybe"), ("wal_segment_size", "x"), ("segment_size", "1")):
        with pytest.raises(UsageError):
            make_options(name, value)
