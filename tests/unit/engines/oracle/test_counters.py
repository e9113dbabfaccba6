"""Reading the counters: which parts a user may read, at which cost, and what starts them again."""

import re
from contextlib import closing

import pytest

from factories.oracle.made_up_views import ONE, MadeUpViews, views_in
from factories.oracle.standin_sql import database, translated
from factories.tables import table
from openslob.core.errors import SlobError
from openslob.engines.oracle.connection import PACKAGE, Connection, statement
from openslob.engines.oracle.counters import VIEWS, DatabaseCounters, OracleCounters
from openslob.engines.sql import read_statements


def counters(server, clock=None):
    return OracleCounters(Connection(server), *([clock] if clock else []))


def later(server, **rows):
    """The same server after a while, with other rows."""
    server.rows |= {"clock": [("clock", "us", 65_000_000)], **rows}


def test_the_difference_of_two_readings():
    server = MadeUpViews()
    read = counters(server)
    before = read.read()
    later(server, sysstat=[("sysstat", "user commits", 160), ("sysstat", "redo writes", 9)])
    after = read.read()
    assert (before.server_ns, after.server_ns) == (5_000_000_000, 65_000_000_000)
    delta = read.difference(before, after)
    assert (delta.commits, delta.log_write_requests) == (60, 2)
    assert (delta.db_cpu_us, delta.host_busy_us) == (0, 0)


def test_all_parts_are_read_in_one_statement():
    server = MadeUpViews()
    read = counters(server)
    server.asked.clear()
    read.read()
    text = server.asked[-1]
    assert text.count("'clock' AS source") == 1
    assert {view.lower().replace("v_$", "v$") for views in VIEWS.values() for view in views} <= views_in(text)
    assert "{" not in text


@table("part", list(VIEWS))
def test_a_view_that_this_user_may_not_read_is_left_out(part):
    for view in VIEWS[part]:
        hidden = view.lower().replace("v_$", "v$")
        server = MadeUpViews(hidden=(hidden,))
        read = counters(server)
        server.asked.clear()
        delta = read.difference(read.read(), read.read())
        assert hidden not in server.asked[-1].lower()
        assert delta.rows_read is None
        if part == "sysstat":
            assert delta.unknown["commits"] == (
                "this user may not read V$SYSSTAT: GRANT SELECT ON SYS.V_$SYSSTAT TO SLOB"
            )


def test_histograms_are_missing_on_an_old_server_too():
    server = MadeUpViews(hidden=("v$event_histogram_micro",))
    assert "older than 12.1.0.2" in counters(server).missing["histogram"]


def test_another_refusal_is_told_in_the_server_s_words():
    server = MadeUpViews(refuse={"v$osstat": "ORA-01031: insufficient privileges"})
    read = counters(server)
    delta = read.difference(read.read(), read.read())
    assert delta.unknown["host_busy_us"].endswith(" V$OSSTAT: ORA-01031: insufficient privileges")


def test_a_part_that_takes_long_is_left_out():
    """Of the part that is slow twice; the first time is that of parsing it."""
    server = MadeUpViews()
    slow = {"s.sql_id IN": 2, "v$segment_statistics": 1}
    now = [0.0]
    answer = server.answer

    def answered(text):
        for needle, left in slow.items():
            if needle in text and left > 0:
                slow[needle] -= 1
                now[0] += 0.5
        return answer(text)

    server.answer = answered
    read = counters(server, lambda: now[0])
    delta = read.difference(read.read(), read.read())
    assert re.findall(r"V\$\w+|[\d.]+ s", delta.unknown["rows_updated"]) == ["V$SQL", "0.50 s"]
    assert "v$segment_statistics" in server.asked[-1]


def test_a_long_way_to_the_server_is_none_of_its_time():
    server = MadeUpViews()
    now = [0.0]
    answer = server.answer

    def answered(text):
        now[0] += 0.3
        return answer(text)

    server.answer = answered
    read = counters(server, lambda: now[0])
    assert read.difference(read.read(), read.read()).commits == 0


def test_a_server_that_is_lost_meanwhile_is_not_one_that_refuses():
    lost = MadeUpViews(refuse={"v$osstat": "DPY-4011: the database or network closed the connection"})
    with pytest.raises(SlobError, match="DPY-4011"):
        counters(lost)


@table("rows", [{"epoch": [("epoch", "slob1 2026-11-22 10:00:00", 1)]}, {"sysstat": [("sysstat", "user commits", 99)]}])
def test_a_restart_makes_everything_unknown(rows):
    server = MadeUpViews()
    read = counters(server)
    before = read.read()
    later(server, **rows)
    delta = read.difference(before, read.read())
    assert delta.commits is None
    assert "reset" in delta.unknown["*"]


@table("container, known", [(None, True), (0, True), (1, True), (3, False)])
def test_a_pluggable_database_is_told_from_the_root(container, known):
    read = counters(MadeUpViews(container=container))
    delta = read.difference(read.read(), read.read())
    assert (delta.log_write_requests is not None) is known
    assert ("CDB$ROOT" in delta.unknown.get("db_cpu_us", "")) is not known


@table(
    ("version", "container", "own"),
    [
        ("11.2.0.4.0", None, set()),
        ("19.3.0.0.0", 0, set()),
        ("19.3.0.0.0", 1, set()),
        ("12.1.0.2.0", 3, {"sysstat", "sys_time_model", "system_event"}),
        ("19.3.0.0.0", 3, {"sysstat", "sys_time_model", "system_event", "event_histogram_micro"}),
    ],
)
def test_a_pluggable_database_s_own_views_are_read_in_the_place_of_the_others(version, container, own):
    server = MadeUpViews(container=container)
    server.version = version
    read = counters(server)
    server.asked.clear()
    read.read()
    found = views_in(server.asked[-1])
    assert {view.removeprefix("v$con_") for view in found if view.startswith("v$con_")} == own
    assert not {f"v${each}" for each in own} & found, "no counter of the root beside one of the database's own"
    assert {"v$osstat", "v$sesstat", "v$segment_statistics"} <= found


def test_a_right_that_a_pluggable_database_needs_is_named_as_it_is_there():
    read = counters(MadeUpViews(container=3, hidden=("v$con_sysstat",)))
    assert read.missing == {
        "sysstat": "this user may not read V$CON_SYSSTAT: GRANT SELECT ON SYS.V_$CON_SYSSTAT TO SLOB"
    }


class Late:
    """A server whose times of calls move for some readings after a load, a quarter of a second apart."""

    def __init__(self, *db_cpu):
        self.server, self.now, self.moves = MadeUpViews({**ONE, "time_model": times(0)}), 0.0, list(db_cpu)
        self.read = OracleCounters(Connection(self.server), lambda: self.now, self.sleep)
        self.before = self.read.read()

    def sleep(self, seconds):
        self.now += seconds
        if self.moves:
            self.server.rows["time_model"] = times(self.moves.pop(0))

    def settled(self, after_s=30):
        later(self.server, time_model=times(1_000_000))
        self.server.rows["clock"] = [("clock", "us", 5_000_000 + after_s * 1_000_000)]
        after = self.read.settle(self.before, self.read.read())
        return self.read.difference(self.before, after)


def times(db_cpu):
    return [
        ("time_model", "DB CPU", db_cpu),
        ("time_model", "DB time", 2 * db_cpu),
        ("time_model", "background cpu time", 9),
    ]


def test_times_of_calls_that_come_late_are_of_the_load():
    late = Late(1_000_000, 1_900_000, 2_000_000)
    delta = late.settled()
    assert (delta.foreground_cpu_us, delta.db_time_us) == (2_000_000, 4_000_000)
    assert late.now == 5 * 0.25, "it is over once nothing has moved twice"


def test_what_reading_them_takes_is_none_of_the_load():
    delta = Late(1_005_000, 1_009_000).settled()
    assert delta.foreground_cpu_us == 1_000_000


def test_times_that_move_on_and_on_are_unknown():
    late = Late(*range(1_000_000, 9_000_000, 100_000))
    delta = late.settled()
    assert 5 <= late.now < 5.5
    for name in ("foreground_cpu_us", "background_cpu_us", "db_cpu_us", "db_time_us"):
        assert getattr(delta, name) is None
        assert "still moved 5 s after" in delta.unknown[name]
    assert delta.commits == 0


def test_after_a_minute_or_of_a_whole_server_nothing_is_waited_for():
    late = Late(2_000_000)
    assert late.settled(after_s=60).foreground_cpu_us == 1_000_000
    whole = DatabaseCounters(Connection(late.server), lambda: late.now, late.sleep)
    before = whole.read()
    assert whole.settle(before, before) is before
    assert late.now == 0


def test_a_user_who_may_not_read_them_waits_for_nothing():
    server = MadeUpViews(hidden=("v$sys_time_model",))
    read = OracleCounters(Connection(server), sleep=lambda _: pytest.fail("it waits"))
    before = read.read()
    assert read.settle(before, before) is before


def test_processes_and_the_sampler_s_own():
    read = counters(MadeUpViews())
    assert read.task_kinds() == {77: "LGWR"}
    assert read.backend_ids() == [77]
    hidden = counters(MadeUpViews(hidden=("v$process",)))
    assert hidden.task_kinds() == {}
    assert hidden.backend_ids() == []


def test_a_lost_server_is_one_line():
    server = MadeUpViews()
    read = counters(server)
    server.refuse = {"clock": "DPY-4011: the database or network closed the connection"}
    with pytest.raises(SlobError, match="the counters can't be read: DPY-4011"):
        read.read()


UPDATED = {"sql": [("sql.update", "rows", 640), ("sql.update", "cursors", 1), ("sql.update", "loads", 1)]}


def test_the_loop_s_statements_are_searched_once_and_then_read_by_number():
    server = MadeUpViews({**ONE, **UPDATED, "statements": [("b7",), ("a5",)]})
    read = counters(server)
    server.asked.clear()
    before = read.read()
    later(server, sql=[("sql.update", "rows", 1280), ("sql.update", "cursors", 1), ("sql.update", "loads", 1)])
    assert read.difference(before, read.read()).rows_updated == 640
    assert all("s.sql_id IN ('a5', 'b7')" in text and "DISTINCT" not in text for text in server.asked)


def test_statements_that_come_later_are_found_but_their_counts_are_of_earlier_runs_too():
    server = MadeUpViews(ONE)
    read = counters(server)
    before = read.read()
    server.rows |= {"statements": [("a5",)], **UPDATED}
    found = read.read()
    assert read.difference(before, found).rows_updated is None
    assert read.difference(found, read.read()).rows_updated == 0


def test_the_same_statement_of_another_user_is_not_counted():
    with closing(database(lambda *_: None)) as server:
        server.execute(
            "CREATE TABLE v$sql AS SELECT 'u1' AS sql_id, 6 AS command_type, 'SLOB' AS parsing_schema_name, 1 AS loads,"
            " 7 AS executions, 70 AS rows_processed, 0 AS buffer_gets, 0 AS disk_reads, 0 AS cpu_time,"
            " 0 AS elapsed_time, 0 AS user_io_wait_time"
        )
        server.execute("INSERT INTO v$sql SELECT * FROM v$sql")
        server.execute("UPDATE v$sql SET parsing_schema_name = 'OTHER' WHERE rowid = 2")
        found = server.execute(translated(statement("counters", "sql", statements="'u1'"))).fetchall()
    assert ("sql.update", "rows", 70) in found
    assert ("sql.update", "cursors", 1) in found


def test_statements_that_are_never_found_are_not_searched_for_ever():
    server = MadeUpViews(ONE)
    read = counters(server)
    server.asked.clear()
    before, *_ = [read.read() for _ in range(9)]
    assert sum("DISTINCT" in text for text in server.asked) == 2
    assert "shared pool" in read.difference(before, read.read()).unknown["rows_updated"]


def test_a_search_that_fails_is_the_reason_and_not_that_the_statements_are_gone():
    memory = 'ORA-04031: unable to allocate 40 bytes of shared memory ("shared pool")'
    read = counters(MadeUpViews(ONE, refuse={"DISTINCT s.sql_id": memory}))
    why = read.difference(read.read(), read.read()).unknown["rows_updated"]
    assert "V$SQL:" in why
    assert "ORA-04031" in why


def test_before_a_run_its_rows_are_not_said_to_be_unknown():
    idle = {**ONE, "sessions": [("sessions", "count", 0), ("sessions", "identity", 0)]}
    for hidden, rows in (((), 0), (("v$sql",), None)):
        read = counters(MadeUpViews(idle, hidden=hidden))
        assert read.difference(read.read(), read.read()).rows_updated == rows


def test_a_sum_of_nothing_is_no_number():
    server = MadeUpViews({**ONE, "objects": [("object.table", "read bytes", None)]})
    read = counters(server)
    assert set(read.difference(read.read(), read.read()).by_object) == {"log"}


def test_each_view_that_is_read_can_be_granted():
    statements = "\n".join(read_statements(PACKAGE, "grants").values())
    views = {view for views in VIEWS.values() for view in views} | {"V_$PROCESS"}
    assert {view for view in views if f"SYS.{view} TO" not in statements} == set()


def test_no_part_that_needs_our_tables_is_read():
    assert not {"sql", "sessions", "objects"} & set(DatabaseCounters.parts)
