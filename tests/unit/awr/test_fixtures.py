"""Every version and every trap: the figures of the fixtures, which were made by hand for an even 10 minutes."""

from __future__ import annotations

import pytest

from factories.awr_reports import FIXTURES, READABLE, read_fixture
from factories.tables import table
from openslob.awr import ReportError, ReportKind, Scope, read_bytes
from openslob.awr.cells import Subject
from openslob.awr.columns import COLUMNS, column_of

GLOBAL = {"awrg_11.2.txt", "awrg_19c.html"}
# What a version does not print at all.
NO_DB_TIME = {"awr_10.2.txt", "sp_9.2.txt", "sp_10.2.txt", *GLOBAL}
NO_CPUS = {"awr_10.2.txt", "sp_9.2.txt"}
WITH_WARNINGS = {"awr_pdb_redacted.html"}


def value(number):
    return None if number is None else number.value


@pytest.fixture(params=READABLE, ids=lambda path: path.name)
def name_and_report(request):
    return request.param.name, read_fixture(request.param.name)


def test_the_header_of_every_version(name_and_report):
    name, report = name_and_report
    header = report.header
    assert header.db_name == "FIX"
    assert [one.name for one in header.instances] == (["fix1", "fix2"] if name in GLOBAL else ["fix1"])
    assert value(header.elapsed_min) == 10.0
    assert (header.begin_snap, header.end_snap) == (41, 42)
    redacted = name == "awr_pdb_redacted.html"
    assert header.release is None if redacted else header.release[0].isdigit()
    if name not in NO_CPUS and not redacted:
        assert header.cpus == (32 if name in GLOBAL else 16)
    assert report.complete


def test_the_load_profile_of_every_version(name_and_report):
    name, report = name_and_report
    instances = 2 if name in GLOBAL else 1
    rates = {key: value(rate.per_second) for key, rate in report.load_profile.items()}
    expected = {
        "redo_size": 1000,
        "logical_reads": 11000,
        "block_changes": 2,
        "physical_reads": 10000,
        "physical_writes": 100,
        "user_calls": 1,
        "executes": 100,
        "transactions": 1,
    }
    assert {key: rates[key] for key in expected} == {key: rate * instances for key, rate in expected.items()}
    assert rates.get("db_time") == (None if name in NO_DB_TIME else 5.0)
    assert rates.get("db_cpu") == (None if name in NO_DB_TIME else 0.9)


def test_the_single_block_read_of_every_version(name_and_report):
    name, report = name_and_report
    if name == "awr_19c.txt":
        return  # an Exadata: see the test of names that are cut alike
    event = report.foreground("db file sequential read")
    assert event is not None
    assert value(event.waits) == (12_000_000 if name in GLOBAL else 6_000_000)
    assert value(event.time_s) == (4800 if name in GLOBAL else 2400)


def test_instance_activity_of_every_version(name_and_report):
    name, report = name_and_report
    if name != "sp_9.2.txt":
        reads = report.activity["physical read total IO requests"]
        assert value(reads.per_second) == (20002 if name in GLOBAL else 10001)
        assert value(reads.total) == (12_001_200 if name in GLOBAL else 6_000_600)
    assert "logons current" not in report.activity
    assert "log switches (derived)" not in report.activity
    assert value(report.activity["redo size"].total) == (1_200_000 if name in GLOBAL else 600_000)


def test_a_whole_report_has_no_doubts(name_and_report):
    name, report = name_and_report
    assert bool(report.warnings) == (name in WITH_WARNINGS), report.warnings


@table(
    ("name", "kind"),
    [
        ("awr_11.2.txt", ReportKind.AWR),
        ("awr_23ai.html", ReportKind.AWR),
        ("awr_pdb_redacted.html", ReportKind.AWR_PDB),
        ("awr_pdb_19c_paged.txt", ReportKind.AWR_PDB),
        ("awrg_11.2.txt", ReportKind.AWR_GLOBAL),
        ("awrg_19c.html", ReportKind.AWR_GLOBAL),
        ("sp_19c.txt", ReportKind.STATSPACK),
    ],
)
def test_the_kind_of_report(name, kind):
    assert read_fixture(name).kind is kind


def test_blank_cells_shift_nothing():
    report = read_fixture("awr_11.2.txt")
    assert report.header.cores is None
    assert report.header.sockets == 2
    cpu = report.event("DB CPU", Scope.TOP)
    assert (cpu.waits, value(cpu.time_s)) == (None, 540)
    cut = report.event("control file sequential read")
    assert (cut.name, cut.timeouts_pct, value(cut.waits)) == ("control file sequential re", None, 300)


def test_a_page_break_repeats_headings_inside_a_section():
    report = read_fixture("awr_11.2.txt")
    assert len(report.list_events(Scope.FOREGROUND)) == 5
    assert len(report.activity) == 16


def test_averages_in_every_unit():
    averages = {
        "awr_11.2.txt": ("read by other session", 3000),
        "awr_12.1.txt": ("db file sequential read", 400),
        "awr_23ai.html": ("direct path read temp", 960),
        "awr_19c.txt": ("PGA memory operation", 0.25801),
    }
    for name, (event, us) in averages.items():
        assert value(read_fixture(name).foreground(event).avg_us) == pytest.approx(us)
    idle = read_fixture("awr_19c.txt").event("rdbms ipc message", Scope.BACKGROUND)
    assert value(idle.avg_us) == 30e6


def test_suffixes_in_the_top_list_tell_how_coarse_they_are():
    top = read_fixture("awr_12.1.txt").event("db file sequential read", Scope.TOP)
    assert (top.time_s.value, top.time_s.step) == (2400, 100)


def test_overflow_is_missing_with_a_reason():
    report = read_fixture("sp_12.1_wrapped.txt")
    assert report.event("smon timer", Scope.BACKGROUND).avg_us is None
    assert report.missing["Background Wait Events: smon timer: Avg wait (ms)"] == "overflowed its column (####)"


def test_a_histogram_cell_too_narrow_for_its_figure_is_not_read():
    report = read_fixture("awr_11.2.txt")
    assert report.histogram("direct path read").waits is None
    assert "cut by its column (1934.)" in report.missing["Wait Event Histogram: direct path read: Total Waits"]


def test_histogram_tables_of_several_ranges_become_one():
    buckets = read_fixture("awr_23ai.html").histogram("db file sequential read").buckets
    shares = {bucket.low_us: round(bucket.share_pct, 3) for bucket in buckets if bucket.share_pct}
    assert shares == {64: 20, 128: 10, 256: 60, 512: 0.5, 1000: 0.5, 2000: 8, 4000: 1}
    assert sum(bucket.share_pct for bucket in buckets) == pytest.approx(100)


def test_histogram_headings_without_a_unit_follow_their_neighbours():
    buckets = read_fixture("awr_19c.txt").histogram("log file sync").buckets
    assert {bucket.low_us: bucket.share_pct for bucket in buckets if bucket.share_pct} == {
        256: 90,
        1000: pytest.approx(10),
    }


def test_a_histogram_row_whose_shares_make_no_whole_is_left_out_and_told():
    data = (FIXTURES / "awr_11.2.txt").read_bytes().replace(b"  90.0    .5", b"  60.0    .5")
    report = read_bytes(data)
    assert report.histogram("db file sequential read") is None
    assert (
        "Wait Event Histogram: db file sequential read: the shares add up to 70.0 %; the row is left out"
        in report.warnings
    )


def test_histogram_rows_with_names_cut_alike_are_of_no_event_for_sure():
    data = (FIXTURES / "awr_11.2.txt").read_bytes()
    (row,) = [line for line in data.split(b"\n") if line.startswith(b"db file sequential read") and b"90.0" in line]
    report = read_bytes(data.replace(row, row + b"\n" + row))
    assert report.histogram("db file sequential read") is None
    assert "more than once" in report.missing["Wait Event Histogram: db file sequential read"]


def test_counts_below_rounding_in_a_global_histogram():
    buckets = read_fixture("awrg_19c.html").histogram("db file sequential read").buckets
    (tiny,) = [bucket for bucket in buckets if bucket.low_us == 16]
    assert tiny.share_pct == pytest.approx(100 * 3 / 12_000_000)


def test_names_that_are_cut_alike_are_not_confused():
    report = read_fixture("awr_19c.txt")
    assert report.event("cell single block physical read") is None
    found = report.foreground("cell single block physical read")
    assert (found.scope, value(found.waits)) == (Scope.TOP, 5_000_000)


def test_an_event_of_the_background_only_is_not_in_the_foreground():
    report = read_fixture("awr_11.2.txt")
    assert report.foreground("log file sync") is None
    assert value(report.background("log file sync").waits) == 9


def test_an_event_may_be_in_the_top_list_only():
    event = read_fixture("awr_23ai.html").foreground("log file sync")
    assert (event.scope, value(event.avg_us)) == (Scope.TOP, 482)


def test_of_a_cluster_the_sum_is_taken_and_redo_in_bytes():
    report = read_fixture("awrg_19c.html")
    assert value(report.time_model_s["DB CPU"]) == 1080
    assert value(report.load_profile["redo_size"].per_second) == 2000
    assert report.load_profile["redo_size"].origin == "System Statistics (Global)"
    assert value(report.event("db file sequential read", Scope.TOP).waits) == 12_000_000


def test_statspack_has_three_tables_that_look_alike():
    report = read_fixture("sp_11.2_captured_crlf.txt")
    assert value(report.event("db file sequential read").waits) == 6_000_000
    assert value(report.event("db file sequential read", Scope.ALL).waits) == 6_000_100
    assert report.header.db_name == "FIX", "the preamble lists another database, the header's name is blank"
    assert report.header.block_size == 16384


def test_a_footnote_is_no_part_of_a_name():
    assert value(read_fixture("awr_23ai.html").time_model_s["sql execute elapsed time"]) == 2990


def test_a_redacted_report_keeps_its_figures_and_guesses_nothing():
    report = read_fixture("awr_pdb_redacted.html")
    assert (report.header.db_name, report.header.release, report.header.host) == ("FIX", None, None)
    assert report.header.rac is True
    assert "Global Cache" in report.missing["header: RAC"]
    assert report.header.cpus == 1, "the limit of the pluggable database"


def test_a_section_that_nobody_reads_is_named():
    assert read_fixture("awr_23ai.html").unparsed == ("A Section Of The Future",)


def test_io_by_function_and_parameters():
    report = read_fixture("awr_11.2.txt")
    reads = report.iostat_functions[0]
    assert (value(reads.read_requests_per_s), value(reads.read_mb_per_s), value(reads.avg_us)) == (10000, 78.125, 400)
    assert report.iostat_functions[1].avg_us is None
    assert report.parameters["audit_file_dest"].begin == "/u01/app/oracle/admin/a/long/path/adump"
    assert value(report.host_cpu.idle_pct) == 87.0


@table(
    ("name", "words"),
    [
        ("empty.txt", "the file is empty"),
        ("not_a_report_ora.txt", "ORA-20019: invalid interval of snapshots"),
        ("awrdiff.txt", "compare-periods"),
        ("absent.txt", "can't be read"),
    ],
)
def test_a_file_that_is_no_report_is_one_clear_line(name, words):
    with pytest.raises(ReportError, match=words) as error:
        read_fixture(name)
    assert name in str(error.value)
    assert "\n" not in str(error.value)


@table("encoding", ["utf-16", "utf-8-sig", "cp1252"])
def test_encodings(encoding):
    text = (FIXTURES / "awr_11.2.txt").read_text().replace("dbhost ", "dbhöst ")
    assert read_bytes(text.encode(encoding)).header.host == "dbhöst"


def test_a_rate_too_wide_for_its_column_comes_from_the_total():
    rate = f"{49_161_830_400 / 600:>14,.1f}".encode()
    data = (FIXTURES / "sp_19c.txt").read_bytes()
    assert rate in data
    reading = COLUMNS["read_mb_per_s"].read(Subject(read_bytes(data.replace(rate, b"##############"))))
    assert (reading.value, reading.source) == (pytest.approx(78.140625), "total / elapsed")


def test_a_text_report_in_a_page_or_quoted_or_paged_is_read_as_it_was():
    whole = read_fixture("awr_11.2.txt")
    text = (FIXTURES / "awr_11.2.txt").read_text()
    page = f"<html><body><pre>{text.replace('<', '&lt;')}</pre></body></html>"
    quoted = "".join(f"    {line}".rstrip() + "\n" for line in text.split("\n"))
    tabbed = "".join(f"\t{line}\n" for line in text.split("\n"))
    lines = text.split("\n")
    heading = ["", "OUTPUT", "-" * 80]
    paged = "\n".join(line for at in range(0, len(lines), 11) for line in (*heading, *lines[at : at + 11]))
    for changed in (page, quoted, tabbed, paged):
        report = read_bytes(changed.encode(), "awr_11.2.txt")
        assert (report.events, report.activity, report.histograms) == (whole.events, whole.activity, whole.histograms)


def test_a_known_section_with_unknown_columns_is_named_as_unparsed():
    data = (FIXTURES / "awr_23ai.html").read_bytes().replace(b"Reqs   per sec", b"Something else")
    assert "IOStat by Function summary" in read_bytes(data).unparsed


@table(
    ("column", "expected"),
    [
        ("stat:user commits", 1.0),
        ("total:redo synch writes", 9),
        ("event:read by other session", 3000),
        ("waits:direct path read", 40000),
        ("time:background cpu time", 6),
        ("parameter:cpu_count", "1"),
    ],
)
def test_any_figure_is_a_column_by_its_own_name(column, expected):
    assert column_of(column).read(Subject(read_fixture("awr_11.2.txt"))).value == expected
    assert column_of(column.split(":")[0] + ":none").read(Subject(read_fixture("awr_11.2.txt"))).why


def test_html_in_the_sql_of_a_text_report_makes_it_no_page():
    sql = "select '<html><table><tr><td>' || x || '</td></tr></table></html>' from t\n"
    text = (FIXTURES / "awr_11.2.txt").read_text().replace("End of Report", sql * 5 + "End of Report")
    report = read_bytes(text.encode())
    assert (report.format, len(report.activity)) == ("text", 16)


@table("name", ["awr_11.2.txt", "awr_23ai.html"])
def test_of_several_reports_in_a_file_the_first_is_read_and_the_others_are_told(name):
    data = (FIXTURES / name).read_bytes()
    report = read_bytes(data + data)
    assert report.warnings == ("the file holds more than one report: an AWR report follows, which is not read",)
    assert (report.events, report.complete) == (read_fixture(name).events, True)


def test_a_host_without_sockets_keeps_its_load_and_its_idle_share():
    """The report leaves out the cell and its width: what follows is shifted to the left."""
    text = (FIXTURES / "awr_11.2.txt").read_text()
    at = text.index("Host CPU (")
    end = text.index("\n\n", at)
    host = (
        "Host CPU\n"
        "~~~~~~~~                  Load Average\n"
        " CPUs Cores Sockets     Begin       End     %User   %System      %WIO     %Idle\n"
        "----- ----- ------- --------- --------- --------- --------- --------- ---------\n"
        "   16     8      0.50      1.20      11.0       2.0       0.0      87.0"
    )
    report = read_bytes((text[:at] + host + text[end:]).encode())
    assert report.host_cpu == read_fixture("awr_11.2.txt").host_cpu
    assert report.warnings == ()
