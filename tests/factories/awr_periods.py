"""A compare-period report, as 11.2 prints it as text and 19c as a page; the figures are made up."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_TITLE = "WORKLOAD REPOSITORY COMPARE PERIOD REPORT"
_OF = ("   First DB/Inst: FIX/fix1 Snaps: 41-42 (Elapsed time: 600.5 sec  DB time: 1201 sec),  Second DB/Inst: "
       "FIX/fix1 Snaps: 43-44 (Elapsed time: 300.25 sec  DB time: 1201 sec)")  # fmt: skip
_GROUPS = ("of all", "per second (DB time)", "per second", "per transaction")
Rows = Sequence[Sequence[str]]
# Title in text, title in a page, first headings, headings of each group, and rows.
_RATE, _THREE, _DIFF = ("1st", "2nd"), ("1st", "2nd", "%Diff"), ("1st", "2nd", "Diff")
_RUNNING = ("1st", "1st Total", "2nd", "2nd Total", "Diff")
_TABLES: tuple[tuple[str, tuple[str, ...], tuple[tuple[str, ...], ...], Rows], ...] = (
    ("Time Model Statistics", ("Statistic Name",), (_DIFF, _THREE, _THREE),
     (("DB time", "100.0", "100.0", "0.0", "1,201.0", "1,201.0", "0.0", "0.1", "0.1", "0.0"),
      ("DB CPU", "50.0", "25.0", "-25.0", "600.5", "300.2", "-50.0", "0.0", "0.0", "0.0"))),
    ("Operating System Statistics", ("Statistic Name",), (_RATE, _THREE, _THREE, _THREE),
     (("BUSY_TIME", "1,000", "2,000", "1.0", "2.0", "100.0", "1.7", "6.7", "300.0", "0.1", "0.2", "100.0"),)),
    ("Wait Classes", ("Wait Class",), (_DIFF, _THREE, _THREE, _THREE),
     (("User I/O", "50.0", "75.0", "25.0", "1,000.0", "3,000.0", "200.0", "600.0", "900.0", "50.0", "1.0", "1.0",
       "0.0"),)),
    ("Wait Events", ("Event", "Wait Class"), (_DIFF, _THREE, _THREE, _THREE),
     (("db file sequential read", "User I/O", "50.0", "75.0", "25.0", "1,000.0", "3,000.0", "200.0", "600.0", "900.0",
       "50.0", "1.0", "1.0", "0.0"),
      ("log file sync", "Commit", "0.0", "0.1", "0.1", "0.0", "1.0", "100.0", "0.0", "2.0", "100.0", "0.0", "6.7",
       "100.0"))),
    ("Key Instance Activity Stats", ("Statistic",), (_THREE,) * 4,
     (("redo size", "6,005,000", "9,007,500", "50.0", "5,000.0", "7,500.0", "50.0", "10,000.0", "30,000.0", "200.0",
       "500.0", "750.0", "50.0"),
      ("physical read total IO requests", "600,500", "900,750", "50.0", "500.0", "750.0", "50.0", "1,000.0", "3,000.0",
       "200.0", "50.0", "75.0", "50.0"),
      ("user commits", "12,010", "12,010", "0.0", "10.0", "10.0", "0.0", "20.0", "40.0", "100.0", "1.0", "1.0",
       "0.0"))),
    ("Top SQL Comparison by Elapsed Time", ("SQL Id",), (_RUNNING, *(_RATE,) * 7, ("1st/2nd/Both",)),
     (("0123456789abc", "60.0", "60.0", "80.0", "80.0", "20.0", "200", "800", "5.0", "1.0", "1", "1", "9", "9", "7.0",
       "7.0", "1.0", "1.0", "3,600", "1,200", "1/  1/   1"),
      ("abcdefghijklm", "N/A", "N/A", "5.0", "85.0", "5.0", "N/A", "50", "N/A", "1.0", "N/A", "1", "N/A", "9", "N/A",
       "7.0", "N/A", "1.0", "N/A", "1,200", "/  1/   1"))),
    ("Top SQL Comparison by Buffer Gets", ("SQL Id",), (_RUNNING, *(_RATE,) * 7, ("1st/2nd/Both",)),
     (("0123456789abc", "60.0", "60.0", "80.0", "80.0", "20.0", "1,500.5", "3,001.0", "3,600", "1,200", "1", "1", "9",
       "9", "7", "7", "1.0", "1.0", "1.0", "1.0", "1/  1/   1"),)),
    ("Top Segments Comparison by Logical Reads",
     ("Owner", "Tablespace", "Object Name", "Subobject Name", "Type"), (_RUNNING, _THREE, _DIFF),
     (("SLOB", "DATA", "CF1", "", "TABLE", "60.0", "60.0", "80.0", "80.0", "20.0", "9,005,000", "9,005", "-99.9",
       "61.0", "81.0", "20.0"),
      ("SLOB", "DATA", "CF2", "", "TABLE", "N/A", "N/A", "1.0", "81.0", "1.0", "N/A", "7", "N/A", "N/A", "2.0",
       "1.0"))),
)  # fmt: skip
_LOAD = (("DB time:", "2.0", "4.0", "100.0", "0.1", "0.1", "0.0"),
         ("CPU time:", "1.0", "1.0", "0.0", "0.1", "0.0", "0.0"),
         ("Redo size:", "10,000.0", "30,000.0", "200.0", "500.0", "750.0", "50.0"),
         ("Transactions:", "20.0", "40.0", "100.0", "", "", ""))  # fmt: skip
_HOSTS = (("Number of CPUs:", "8", "16", "8", "100.0"), ("%User Time:", "20.0", "40.0", "20.0", "100.0"),
          ("%System Time:", "1.0", "2.0", "1.0", "100.0"),
          ("%Idle Time:", "79.0", "58.0", "-21.0", "-26.6"))  # fmt: skip
_TOP = (("db file sequential read", "User I/O", "600,500", "600.0", "1.0", "50.0",
         "db file sequential read", "User I/O", "900,750", "900.0", "1.0", "75.0"),
        ("CPU time", "", "N/A", "600.5", "N/A", "50.0", "-", "", "N/A", "N/A", "N/A", "N/A"))  # fmt: skip
_TOP_HEADS = ("Event", "Wait Class", "Waits", "Time(s)", "Avg Time(ms)", "%DB time") * 2
_PARAMETERS = (("cpu_count", "", "8", "", "16"), ("db_block_size", "", "8192", "", ""))
_PARAMETER_HEADS = ("Parameter Name", *("Begin Snap Value", "End Snap Value") * 2)
_STATEMENT = "select count(c2) from cf1"


def page() -> bytes:
    """The report as a page of 19c."""
    parts = [
        _html("Report Summary", ("Snapshot Set", "DB Name", "DB Id", "Release", "Cluster", "Host", "Std Block Size"),
              (("First (1st)", "FIX", "1", "19.0.0.0.0", "NO", "one", "8192"),
               ("Second (2nd)", "FIX", "1", "19.0.0.0.0", "NO", "two", "8192"))),
        _html("Report Summary", ("Snapshot Set", "Instance", "Inst num"),
              (("First (1st)", "fix1", "1"), ("Second (2nd)", "fix1", "1"))),
        _html("Report Summary", _SNAPSHOT_HEADS, _SNAPSHOTS),
        _html("Host Configuration Comparison", ("", "1st", "2nd", "Diff", "%Diff"), _HOSTS),
        _html("Load Profile", ("", "1st per sec", "2nd per sec", "%Diff", "1st per txn", "2nd per txn", "%Diff"),
              _LOAD),
        _html("Load Profile", ("", "1st", "2nd", "Diff"), (("Recursive Call %:", "6.9", "7.3", "0.4"),)),
        _html("Top Timed Events", _TOP_HEADS, _TOP),
    ]  # fmt: skip
    for title, first, groups, rows in _TABLES:
        heads = [*first, *(name for group in groups for name in group)]
        is_sql = title.startswith("Top SQL")
        lines = [[*row, *([_STATEMENT] * is_sql)] for row in rows]
        parts.append(_html(title, [*heads, *(["SQL Text"] * is_sql)], lines))
    parts.append(_html("init.ora Parameters", _PARAMETER_HEADS, _PARAMETERS))
    head = "<html><head><title>AWR Compare Period Report for (1) DB: FIX, Inst: fix1, Snaps: 41-42 (2) DB: FIX</title>"
    return f"{head}</head><body><h1>{_TITLE}</h1>{''.join(parts)}<p />\n</body></html>\n".encode()


_SNAPSHOT_HEADS = ("Snapshot Set", "Begin Snap Id", "Begin Snap Time", "End Snap Id", "End Snap Time",
                   "Avg Active Users", "Elapsed Time (min)", "DB time (min)")  # fmt: skip
_SNAPSHOTS = (
    ("1st", "41", "01-Mar-15 10:00:00 (Sun)", "42", "01-Mar-15 10:10:00 (Sun)", "2.0", "10.0", "20.0"),
    ("2nd", "43", "01-Mar-15 11:00:00 (Sun)", "44", "01-Mar-15 11:05:00 (Sun)", "4.0", "5.0", "20.0"),
)


def text() -> bytes:
    """The report as text of 11.2: names of statistics are cut, and each statement's text follows its figures."""
    parts = [
        f"\n{_TITLE}\n",
        _ruled(("Snapshot Set", "DB Id", "Instance", "Inst Num", "Release", "Cluster", "Host", "Std Block Size"),
               (("First (1st)", "1", "fix1", "1", "11.2.0.3.0", "NO", "one", "8192"),
                ("Second (2nd)", "1", "fix1", "1", "11.2.0.3.0", "NO", "two", "8192"))),
        _ruled(_SNAPSHOT_HEADS, _SNAPSHOTS).replace(" (Sun)", " (Sun) "),  # figures do not stand under their headings
        "Host Configuration Comparison\n~~~~~~~~~~~~~~~~~~~~~~~~~~~~~\n"
        + _ruled(("", "1st", "2nd", "Diff", "%Diff"), _HOSTS, 20),
        "Workload Comparison\n~~~~~~~~~~~~~~~~~~~\n"
        + _ruled(("", "1st Per Sec", "2nd Per Sec", "%Diff", "1st Per Txn", "2nd Per Txn", "%Diff"), _LOAD, 14),
        f"Top Timed Events{_OF}\n\n" + _ruled(_TOP_HEADS, _TOP) + _END,
    ]  # fmt: skip
    for title, first, groups, rows in _TABLES:
        heads = [*first, *(name for group in groups for name in group)]
        names = ("  ".join(f"group {at}".rjust(13 * len(group)) for at, group in enumerate(groups))).rjust(60) + "\n"
        rulers = "  ".join("-" * (13 * len(group)) for group in groups).rjust(60) + "\n"
        table = _ruled(heads, [[row[0][:30], *row[1:]] for row in rows])
        if title.startswith("Top SQL"):
            lines = table.split("\n")
            table = "\n".join((*lines[:2], *(f"{line}\n{_STATEMENT}\n" for line in lines[2:] if line))) + "\n"
        parts.append(f"{title}{_OF}\n-> Ordered by something\n\n{names}{rulers}{table}{_END}")
    parts.append(f"init.ora Parameters{_OF}\n\n" + _ruled(_PARAMETER_HEADS, _PARAMETERS) + _END)
    parts.append(f"init.ora Multi-Valued Parameters{_OF}\n\n" + _ruled(_PARAMETER_HEADS, _PARAMETERS[:1]) + _END)
    return "\n".join(parts).encode()


_END = " " * 26 + "-" * 110 + "\n"


def _html(title: str, heads: Sequence[str], rows: Rows) -> str:
    head = "".join(f"<th>{one}</th>" for one in heads)
    lines = "".join(
        "<tr>" + "".join(f"<td>{'' if cell == 'N/A' else escape(cell)}</td>" for cell in row) + "</tr>\n"
        for row in rows
    )
    return f"<h3>{title}</h3>\n<table><tr>{head}</tr>\n{lines}</table><p />\n"


def _ruled(heads: Sequence[str], rows: Rows, first: int = 30) -> str:
    """A table as text: names to the left, figures to the right; without a first heading its labels have no ruler."""
    columns = list(zip(heads, *rows, strict=True))
    widths = [max(9, *map(len, column)) for column in columns]  # a column of 5 may have lost a K
    widths[0] = max(first, widths[0]) if heads[0] else first
    is_name = [not any(character.isdigit() for cell in column[1:] for character in cell) for column in columns]
    lines = [
        " ".join(cell.ljust(width) if left and cell[-1:] != ":" else cell.rjust(width)
                 for cell, width, left in zip(row, widths, is_name, strict=True)).rstrip()
        for row in (heads, [("-" if head else " ") * width for head, width in zip(heads, widths, strict=True)], *rows)
    ]  # fmt: skip
    return "\n".join(lines) + "\n\n"
