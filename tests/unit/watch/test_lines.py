"""The plain lines of a watch: what fits the screen, what is said of figures and waits that are not known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from factories.tables import table
from openslob.core.measurement import ObjectIo, WaitClass
from openslob.record.model import Figure
from openslob.watch.interval import EventRate, Selection, Sort, WatchedInterval
from openslob.watch.lines import Lines, short, short_time

FIGURES = {
    "transactions_per_s": Figure(value=1234.5, unit="1/s"),
    "lio_per_s": Figure(value=456_789.0, unit="blocks/s"),
    "pio_read_per_s": Figure(value=12_345.0, unit="1/s"),
    "engine_read_latency_us": Figure(value=123.4, unit="µs"),
    "pio_write_per_s": Figure(value=None, unit="1/s", why="the server has no pg_stat_io"),
    "pio_write_mb_per_s": Figure(value=None, unit="MB/s", why="the server has no pg_stat_io"),
    "redo_mb_per_s": Figure(value=12.34, unit="MB/s"),
    "log_syncs_per_s": Figure(value=0.0, unit="1/s"),
    "log_sync_latency_us": Figure(value=None, unit="µs", why="the log was not forced to storage"),
    "db_cpu_per_s": Figure(value=1.25, unit="s/s"),
    "host_cpu_busy_pct": Figure(value=100.0, unit="%"),
    "dev_busy_pct": Figure(value=99.6, unit="%"),
    "dev_read_per_s": Figure(value=12_400.0, unit="1/s"),
}
WAITS = (
    EventRate("IO:DataFileRead", WaitClass.DATA_IO, 1.52, 12_345, 123.4, timed=True),
    EventRate("LWLock:WALWrite", WaitClass.LOG, 2.25),
)
SECOND = WatchedInterval(
    end_ns=1_800_000_000_000_000_000,
    seconds=1.0,
    figures=FIGURES,
    waits=WAITS,
    io={"relation/normal": ObjectIo(0, 12_345, 101_130_240, None, 1_523_373), "idle": ObjectIo(0, 0, 0, 0, 0)},
    cpu={"user": 60.0, "system": 39.7, "idle": 0.3},
    samples=10,
)


def words(line):
    """A line without its alignment."""
    return " ".join(line.split())


def lines(interval=SECOND, top=5, width=80, screen=24, **selection):
    return Lines(Selection(**selection), top, width, screen).of(interval)


@table(
    ("value", "expected"),
    [
        (None, "–"),
        (0.0, "0"),
        (0.004, "<0.01"),
        (0.05, "0.05"),
        (0.5, "0.5"),
        (9.99, "9.99"),
        (9.996, "10.0"),
        (123.4, "123"),
        (9999.4, "9999"),
        (9999.6, "10.0k"),
        (12_345, "12.3k"),
        (999_700, "1.00M"),
        (456_789, "457k"),
        (1.2e9, "1.20G"),
    ],
)
def test_numbers_have_room_for_five_characters(value, expected):
    assert short(value) == expected
    assert len(expected) <= 5


@table(
    ("us", "expected"),
    [(None, "–"), (0.0, "0µs"), (85.2, "85.2µs"), (999.8, "1.00ms"), (12_345, "12.3ms"), (2.5e6, "2.50s")],
)
def test_times_have_three_digits(us, expected):
    assert short_time(us) == expected


@pytest.mark.parametrize("width", [80, 100, 120, 200])
def test_no_line_is_wider_than_the_screen(width):
    found = lines(replace(SECOND, waits=(*WAITS, EventRate("x" * 300, WaitClass.OTHER, 1.0))), width=width)
    assert max(map(len, found)) <= width
    assert ("12.4k" in found[3]) == (width > 80)


def test_one_line_of_main_figures():
    above, below, reason, main, *_ = lines()
    assert words(above) == "trans logical reads read writes log syncs sync server host device"
    assert words(below) == "time /s reads/s /s time /s MB/s /s time CPUs CPU busy"
    assert reason == "– physical write requests: the server has no pg_stat_io"
    assert words(main).partition(" ")[2] == "1234 457k 12.3k 123µs – 12.3 0 – 1.25 100% 100%"
    assert len(above) == len(below) == len(main) == 80


def test_the_cpu_of_the_sessions_is_shown_where_that_of_the_server_can_not_be_known():
    """As in a pluggable database; the headings come again when it turns out."""
    why = "a pluggable database does not count what background processes do"
    sessions = {"foreground_cpu_per_s": Figure(value=0.75, unit="s/s")}
    unknown = {**sessions, "db_cpu_per_s": Figure(value=None, unit="s/s", why=why)}
    watched = Lines(Selection(), 0, 80, 24)
    first, then, again = (
        watched.of(replace(SECOND, figures={**FIGURES, **figures})) for figures in (sessions, unknown, unknown)
    )
    assert words(first[0]).split()[-3:] == ["server", "host", "device"]
    assert words(then[0]).split()[-3:] == ["sess.", "host", "device"]
    assert then[2] == f"– db cpu: {why}"
    used = [words(found[at]).split()[-3] for found, at in ((first, 3), (then, 3), (again, 0))]
    assert used == ["1.25", "0.75", "0.75"]


def test_waits_say_whether_they_were_timed_or_sampled():
    assert [words(line) for line in lines() if line.startswith("  wait")] == [
        "wait 2.25 sessions – – sampled LWLock:WALWrite",
        "wait 1.52 sessions 12.3k/s 123µs timed IO:DataFileRead",
    ]
    assert "seen in part LWLock:WALWrite" in " ".join(lines(replace(SECOND, hidden=True)))
    by_latency = [line for line in lines(sort=Sort.LATENCY, top=1) if line.startswith("  wait")]
    assert "DataFileRead" in by_latency[0]
    assert by_latency[1] == "  wait  (1 more; --top 2 shows them)"


@table(
    ("change", "patterns", "expected"),
    [
        ({}, ("nothing",), "  wait  none matches; there are IO:DataFileRead, LWLock:WALWrite"),
        ({"waits": ()}, (), "  wait  no session was at work in 10 samples"),
        ({"waits": (), "hidden": True}, (), "  wait  no session that this user may see was at work in 10 samples"),
        ({"waits": (), "samples": 0}, (), "  wait  not sampled"),
    ],
)
def test_no_wait_is_told_too(change, patterns, expected):
    assert [line for line in lines(replace(SECOND, **change), patterns=patterns) if "wait" in line[:7]] == [expected]


def test_hidden_sessions_are_said_once():
    printer = Lines(Selection(), 5, 80, 24)
    hidden = replace(SECOND, hidden=True)
    first, second = (" ".join(words(line) for line in printer.of(hidden)) for _ in range(2))
    assert "! this user may not see what all sessions do" in first
    assert "may not see" not in second
    assert "seen in part" in second


def test_only_what_did_io_is_listed_and_only_kinds_of_cpu_time_that_were_used():
    found = lines()
    assert [words(line) for line in found if line.startswith("  io")] == [
        "io 12.3k reads/s 96.4 MB/s 123µs – writes/s relation/normal"
    ]
    assert found[-1] == "  host  user 60 %, system 40 %"


def test_a_gap_and_a_reset_are_told():
    found = lines(replace(SECOND, seconds=13.02, missed=12, fault="the server's statistics were reset"))
    assert found[2:4] == [
        "! 12 readings were missed: these are means over 13.0 s",
        "! the server's statistics were reset",
    ]


def test_headings_come_again_on_each_screen_and_reasons_do_not():
    printer = Lines(Selection(), 0, 80, 12)
    heads = ["logical" in printer.of(SECOND)[0] for _ in range(7)]
    assert heads == [True, False, False, True, False, False, True]
    assert not any(line.startswith("–") for line in printer.of(SECOND))


def test_instances_follow_their_sum():
    part = replace(SECOND, io={}, cpu={}, waits=())
    found = lines(replace(SECOND, by_instance={"a": part, "b": part}), top=0)
    assert [line.split()[0] for line in found[3:]] == [found[3].split()[0], "io", "host", "#1", "#2"]
